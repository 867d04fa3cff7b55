/**
 * The sealed body of an upload's PUT (docs/API.md, "Uploads"), for callers without TLS. The key is random; the answer to
 * `uploads.start` carries it through the sealed session. Each start makes a new one.
 *
 *   body    frames, one after the other
 *   frame   16 KiB of the file, or the rest of them in the last frame, sealed by ChaCha20-Poly1305 (RFC 8439), and its tag
 *   nonce   4 bytes of zero, then the offset of the frame in the file (64 bits, little-endian)
 *   data    the id of the upload in ASCII, authenticated and not sent
 *
 * Nobody can therefore change, reorder, replay or inject frames. A sender seals each offset at most once with a key:
 * before it sends one again, it calls `uploads.start`.
 */
import { concatBytes } from "@noble/hashes/utils.js";
import { toBase64 } from "./frames.ts";
import { type Primitives, tagBytes } from "./primitives.ts";

const frameBytes = 16 * 1024;
const sealedBytes = frameBytes + tagBytes;
/** The number of frames that are opened and written together, because a disk is faster with few large writes. */
const blockFrames = 8;

export interface UploadSeal {
  /** A key of 32 bytes. */
  readonly key: Uint8Array;
  readonly id: string;
}

/** Seals and opens the frame at an offset of the file. */
interface FrameCipher {
  seal(at: number, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
  /** The bytes of a frame; undefined if the tag does not match. */
  open(at: number, sealed: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined>;
}

const name = "ChaCha20-Poly1305";

/**
 * The cipher of the runtime takes a third of libsodium's time, and does not block this thread. Browsers and older
 * runtimes do not have this cipher.
 */
async function cipherOf({ encrypt, decrypt }: Primitives, { key, id }: UploadSeal): Promise<FrameCipher> {
  const data = new TextEncoder().encode(id);
  // A page that came over plain HTTP has no `subtle`.
  const { subtle }: Partial<Crypto> = crypto;
  const jwk = { kty: "oct", k: toBase64(key).replaceAll("+", "-").replaceAll("/", "_").replace("=", "") };
  const own = await subtle?.importKey("jwk", jwk, name, false, ["encrypt", "decrypt"]).catch(() => undefined);
  if (subtle === undefined || own === undefined)
    return {
      seal: async (at, bytes) => encrypt(key, nonceOf(at), data, bytes),
      open: async (at, sealed) => decrypt(key, nonceOf(at), data, sealed),
    };
  const as = (at: number) => ({ name, iv: nonceOf(at), additionalData: data, tagLength: 8 * tagBytes });
  return {
    seal: async (at, bytes) => new Uint8Array(await subtle.encrypt(as(at), own, bytes)),
    open: (at, sealed) =>
      subtle.decrypt(as(at), own, sealed).then(
        (bytes) => new Uint8Array(bytes),
        () => undefined,
      ),
  };
}

/** The body for `bytes`, which are at `offset` in the file. */
export async function sealUpload(
  primitives: Primitives,
  upload: UploadSeal,
  offset: number,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const { seal } = await cipherOf(primitives, upload);
  const count = Math.ceil(bytes.length / frameBytes);
  const body = new Uint8Array(bytes.length + count * tagBytes);
  const frames = Array.from({ length: count }, async (_, place) => {
    const at = place * frameBytes;
    body.set(await seal(offset + at, bytes.subarray(at, at + frameBytes)), place * sealedBytes);
  });
  await Promise.all(frames);
  return body;
}

/** A frame that cannot be decrypted. */
export class ForgedFrame extends Error {
  override readonly name = "ForgedFrame";
}

/**
 * The bytes of the file in a body, some frames at a time. Throws `ForgedFrame` at the first frame that does not open, after
 * the bytes before it. Keeps `blockFrames` in memory.
 */
export async function* openUpload(
  primitives: Primitives,
  upload: UploadSeal,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { open } = await cipherOf(primitives, upload);
  const block = new Uint8Array(blockFrames * sealedBytes);
  let filled = 0;
  let at = offset;
  const openBlock = async function* () {
    const count = Math.ceil(filled / sealedBytes);
    const frames = Array.from({ length: count }, (_, place) => {
      const from = place * sealedBytes;
      return open(at + place * frameBytes, block.subarray(from, Math.min(from + sealedBytes, filled)));
    });
    const sound: Uint8Array[] = [];
    for (const bytes of await Promise.all(frames)) {
      if (bytes === undefined) break;
      sound.push(bytes);
    }
    const bytes = concatBytes(...sound);
    filled = 0;
    at += bytes.length;
    if (bytes.length > 0) yield bytes;
    if (sound.length < count) throw new ForgedFrame("a frame of the upload does not open");
  };
  for await (const piece of body) {
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + block.length - filled);
      block.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled === block.length) yield* openBlock();
    }
  }
  if (filled > 0) yield* openBlock();
}

function nonceOf(offset: number): Uint8Array<ArrayBuffer> {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(4, BigInt(offset), true);
  return nonce;
}
