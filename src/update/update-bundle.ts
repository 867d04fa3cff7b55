/**
 * The file of an update, read from front to back:
 *
 *   offset 0  8 bytes   `TAPDECK1`
 *          8  4 bytes   length of the manifest, little-endian
 *         12  64 bytes  Ed25519 signature (RFC 8032) of the 17 bytes `tapdeck-update-1\n`, then the manifest
 *         76  manifest  UTF-8 JSON (`manifest.ts`)
 *             parts     one behind the other, in the manifest's order; nothing follows
 *
 * The signature covers the manifest, the manifest's hashes cover the parts: nothing is trusted before its hash is known.
 */
import { updateKeysMax, updateManifestBytesMax } from "../core/limits.ts";

export const headBytes = 76;
export const keyBytes = 32;
const signatureAt = 12;
const magic = new TextEncoder().encode("TAPDECK1");
// What is signed for one purpose must not be good for another.
const purpose = new TextEncoder().encode("tapdeck-update-1\n");

export interface Head {
  readonly manifestBytes: number;
  readonly signature: Uint8Array;
}

/** `bytes` are the first 76, or all that there are. The head, or why it is none. */
export function readHead(bytes: Uint8Array): Head | string {
  if (bytes.length < headBytes || magic.some((byte, index) => bytes[index] !== byte))
    return "it is not an update of Tapdeck";
  const manifestBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(magic.length, true);
  if (manifestBytes < 2 || manifestBytes > updateManifestBytesMax)
    return `its manifest has not 2 to ${updateManifestBytesMax} bytes`;
  return { manifestBytes, signature: bytes.slice(signatureAt, headBytes) };
}

export function writeHead({ manifestBytes, signature }: Head): Uint8Array {
  const bytes = new Uint8Array(headBytes);
  bytes.set(magic);
  new DataView(bytes.buffer).setUint32(magic.length, manifestBytes, true);
  bytes.set(signature, signatureAt);
  return bytes;
}

/** The bytes whose signature stands in the head. */
export function signedBytes(manifest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(purpose.length + manifest.length);
  bytes.set(purpose);
  bytes.set(manifest, purpose.length);
  return bytes;
}

/** True where one of the keys made the signature. */
export async function isSignedBy(
  keys: readonly Uint8Array[],
  { head, manifest }: { readonly head: Head; readonly manifest: Uint8Array },
): Promise<boolean> {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  const message = signedBytes(manifest);
  return keys.some((key) => sodium.crypto_sign_verify_detached(head.signature, message, key));
}

/**
 * The public keys of a file: one a line, 64 hex digits and then, after a space, whose it is. Lines that begin with # are
 * for people. A sentence where a line is something else.
 */
export function readKeys(text: string): readonly Uint8Array[] | string {
  const keys: Uint8Array[] = [];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const [, hex] = /^([0-9a-f]{64})(?:\s.*)?$/.exec(line) ?? [];
    if (hex === undefined) return `the line "${line.slice(0, 80)}" is no key of ${2 * keyBytes} hex digits`;
    if (keys.length === updateKeysMax) return `there are more than ${updateKeysMax} keys`;
    keys.push(Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
  }
  return keys;
}
