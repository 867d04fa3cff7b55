/**
 * SHA-256 (FIPS 180-4, 6.2), HMAC (RFC 2104) and Noise's HKDF (Noise revision 34, 4.3). They are here because the
 * libsodium that is small enough for a web page leaves SHA-256 out, and a page that came over plain HTTP has no
 * `crypto.subtle`. There is no table look-up and no branch that depends on the data, so secrets do not show in its time.
 *
 * A block is 64 bytes: 16 words of 32 bits, big-endian. Padding: 0x80, zeros, then the length in bits as 64 bits.
 */
import { hmac, pad } from "./padded-blocks.ts";
import { wipe } from "./wipe.ts";

const blockBytes = 64;
export const hashBytes = 32;

/** The hash of the parts as one text of bytes: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const padded = pad(parts, blockBytes);
  const state = Int32Array.from(initialState);
  const blocks = new DataView(padded.buffer);
  const schedule = new Int32Array(64);
  for (let at = 0; at < padded.length; at += blockBytes) mixBlock(state, blocks, at, schedule);
  const hash = new Uint8Array(hashBytes);
  const words = new DataView(hash.buffer);
  state.forEach((word, index) => {
    words.setInt32(index * 4, word);
  });
  wipe(padded);
  schedule.fill(0);
  state.fill(0);
  return hash;
}

/** HMAC-SHA256 of the parts: 32 bytes. The key has at most 64 bytes. */
export function hmacSha256(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  return hmac(sha256, blockBytes, key, parts);
}

/** Three keys of 32 bytes from a chaining key and what is mixed in; who needs two wipes the third. */
export function hkdf(
  chainingKey: Uint8Array,
  input: Uint8Array,
): readonly [Uint8Array, Uint8Array, Uint8Array] {
  const seed = hmacSha256(chainingKey, input);
  const first = hmacSha256(seed, Uint8Array.of(1));
  const second = hmacSha256(seed, first, Uint8Array.of(2));
  const third = hmacSha256(seed, second, Uint8Array.of(3));
  wipe(seed);
  return [first, second, third];
}

/** The block at `at` into the state. Names are those of FIPS 180-4, 6.2.2; words are signed, as bit operations want. */
function mixBlock(state: Int32Array, blocks: DataView, at: number, schedule: Int32Array): void {
  for (let t = 0; t < 16; t++) schedule[t] = blocks.getInt32(at + t * 4);
  for (let t = 16; t < 64; t++) {
    const sum =
      smallSigma1(schedule[t - 2] ?? 0) + (schedule[t - 7] ?? 0) + smallSigma0(schedule[t - 15] ?? 0);
    schedule[t] = sum + (schedule[t - 16] ?? 0);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t++) {
    const t1 = (h + bigSigma1(e) + ((e & f) ^ (~e & g)) + (roundConstants[t] ?? 0) + (schedule[t] ?? 0)) | 0;
    const t2 = (bigSigma0(a) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = (state[index] ?? 0) + value;
  });
}

function rotate(x: number, bits: number): number {
  return (x >>> bits) | (x << (32 - bits));
}

function bigSigma0(x: number): number {
  return rotate(x, 2) ^ rotate(x, 13) ^ rotate(x, 22);
}

function bigSigma1(x: number): number {
  return rotate(x, 6) ^ rotate(x, 11) ^ rotate(x, 25);
}

function smallSigma0(x: number): number {
  return rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
}

function smallSigma1(x: number): number {
  return rotate(x, 17) ^ rotate(x, 19) ^ (x >>> 10);
}

/** The initial hash value (FIPS 180-4, 5.3.3). */
const initialState = Int32Array.of(
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
);

/** FIPS 180-4, 4.2.2. */
const roundConstants = Int32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2,
);
