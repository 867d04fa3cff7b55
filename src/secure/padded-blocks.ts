/** What SHA-256 and SHA-512 have in common: the padding of FIPS 180-4, 5.1, and HMAC of RFC 2104. */
import { wipe } from "./wipe.ts";

/**
 * The parts as one text of bytes, in whole blocks: 0x80, zeros, and the length in bits in the last eighth of a block,
 * big-endian, of which 64 bits are enough for whatever memory holds.
 */
export function pad(parts: readonly Uint8Array[], blockBytes: number): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const lengthBytes = blockBytes / 8;
  const padded = new Uint8Array(Math.ceil((length + 1 + lengthBytes) / blockBytes) * blockBytes);
  let at = 0;
  for (const part of parts) {
    padded.set(part, at);
    at += part.length;
  }
  padded[length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(length) * 8n);
  return padded;
}

export type Hash = (...parts: readonly Uint8Array[]) => Uint8Array;

/** HMAC of the parts. The key is no longer than a block. */
export function hmac(
  hash: Hash,
  blockBytes: number,
  key: Uint8Array,
  parts: readonly Uint8Array[],
): Uint8Array {
  const inner = new Uint8Array(blockBytes).fill(0x36);
  const outer = new Uint8Array(blockBytes).fill(0x5c);
  key.forEach((byte, index) => {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  });
  const innerHash = hash(inner, ...parts);
  const result = hash(outer, innerHash);
  wipe(inner, outer, innerHash);
  return result;
}
