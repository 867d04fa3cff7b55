/**
 * The sealed body of an upload's PUT (docs/API.md, "Uploads"), for callers without TLS. The key is random; the answer to
 * `uploads.start` carries it through the sealed session. Each start makes a new one.
 *
 *   body    frames, one after the other
 *   frame   16 KiB of the file, or the rest of them in the last frame, sealed by ChaCha20-Poly1305 (RFC 8439), and its tag
 *   nonce   4 bytes of zero, then the offset of the frame in the file (64 bits, little-endian)
 *   data    the id of the upload in ASCII, authenticated and not sent
 *
 * So nobody can change, reorder, replay or inject frames. A sender seals each offset at most once with a key: before it
 * sends one again, it calls `uploads.start`.
 */
import { type Primitives, tagBytes } from "./primitives.ts";

const frameBytes = 16 * 1024;

export interface UploadSeal {
  /** 32 bytes. */
  readonly key: Uint8Array;
  readonly id: string;
}

/** The body for `bytes`, which are at `offset` in the file. */
export function sealUpload(
  { encrypt }: Primitives,
  { key, id }: UploadSeal,
  offset: number,
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(bytes.length + Math.ceil(bytes.length / frameBytes) * tagBytes);
  const data = new TextEncoder().encode(id);
  for (let at = 0, to = 0; at < bytes.length; at += frameBytes) {
    const frame = encrypt(key, nonceOf(offset + at), data, bytes.subarray(at, at + frameBytes));
    body.set(frame, to);
    to += frame.length;
  }
  return body;
}

/** A frame that does not open. */
export class ForgedFrame extends Error {
  override readonly name = "ForgedFrame";
}

/** The bytes of the file in a body. Throws `ForgedFrame` at the first frame that does not open. Keeps one frame in memory. */
export async function* openUpload(
  { decrypt }: Primitives,
  { key, id }: UploadSeal,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const data = new TextEncoder().encode(id);
  const frame = new Uint8Array(frameBytes + tagBytes);
  let [filled, at] = [0, offset];
  const open = () => {
    const bytes = decrypt(key, nonceOf(at), data, frame.subarray(0, filled));
    if (bytes === undefined) throw new ForgedFrame("a frame of the upload does not open");
    filled = 0;
    at += bytes.length;
    return bytes;
  };
  for await (const piece of body) {
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + frame.length - filled);
      frame.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled === frame.length) yield open();
    }
  }
  if (filled > 0) yield open();
}

function nonceOf(offset: number): Uint8Array {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(4, BigInt(offset), true);
  return nonce;
}
