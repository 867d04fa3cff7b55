/**
 * SHA-512 (FIPS 180-4, 6.4) and HMAC-SHA512 (RFC 2104), for pairing by a code. They are here for the reason that SHA-256
 * is. Words are BigInts, which is slow and not constant in time: a pairing hashes a few hundred bytes, of a code that is
 * good for ten minutes and three tries.
 *
 * A block is 128 bytes: 16 words of 64 bits, big-endian. Padding: 0x80, zeros, then the length in bits as 128 bits.
 */
import { hmac, pad } from "./padded-blocks.ts";
import { wipe } from "./wipe.ts";

/** What one block takes, the `s_in_bytes` of CPace. */
export const sha512BlockBytes = 128;
const hashBytes = 64;
const rounds = 80;

/** The hash of the parts as one text of bytes: 64 bytes. */
export function sha512(...parts: readonly Uint8Array[]): Uint8Array {
  const padded = pad(parts, sha512BlockBytes);
  const blocks = new DataView(padded.buffer);
  let state = initialState;
  for (let at = 0; at < padded.length; at += sha512BlockBytes) state = mixBlock(state, blocks, at);
  const hash = new Uint8Array(hashBytes);
  const words = new DataView(hash.buffer);
  state.forEach((word, index) => {
    words.setBigUint64(index * 8, word);
  });
  wipe(padded);
  return hash;
}

/** HMAC-SHA512 of the parts: 64 bytes. The key has at most 128 bytes. */
export function hmacSha512(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  return hmac(sha512, sha512BlockBytes, key, parts);
}

/** The state behind the block at `at`. Names are those of FIPS 180-4, 6.4.2. */
function mixBlock(state: readonly bigint[], blocks: DataView, at: number): readonly bigint[] {
  const schedule: bigint[] = [];
  for (let t = 0; t < 16; t++) schedule.push(blocks.getBigUint64(at + t * 8));
  const word = (t: number) => schedule[t] ?? 0n;
  for (let t = 16; t < rounds; t++)
    schedule.push(
      BigInt.asUintN(64, smallSigma1(word(t - 2)) + word(t - 7) + smallSigma0(word(t - 15)) + word(t - 16)),
    );
  let [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = state;
  for (let t = 0; t < rounds; t++) {
    const t1 = h + bigSigma1(e) + ((e & f) ^ (not(e) & g)) + (roundConstants[t] ?? 0n) + word(t);
    const t2 = bigSigma0(a) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = BigInt.asUintN(64, d + t1);
    d = c;
    c = b;
    b = a;
    a = BigInt.asUintN(64, t1 + t2);
  }
  return [a, b, c, d, e, f, g, h].map((value, index) => BigInt.asUintN(64, value + (state[index] ?? 0n)));
}

function not(x: bigint): bigint {
  return BigInt.asUintN(64, ~x);
}

function rotate(x: bigint, bits: bigint): bigint {
  return (x >> bits) | BigInt.asUintN(64, x << (64n - bits));
}

function bigSigma0(x: bigint): bigint {
  return rotate(x, 28n) ^ rotate(x, 34n) ^ rotate(x, 39n);
}

function bigSigma1(x: bigint): bigint {
  return rotate(x, 14n) ^ rotate(x, 18n) ^ rotate(x, 41n);
}

function smallSigma0(x: bigint): bigint {
  return rotate(x, 1n) ^ rotate(x, 8n) ^ (x >> 7n);
}

function smallSigma1(x: bigint): bigint {
  return rotate(x, 19n) ^ rotate(x, 61n) ^ (x >> 6n);
}

const primes = firstPrimes(rounds);

/** The first 64 bits behind the point of the cube roots of the first 80 primes (FIPS 180-4, 4.2.3). */
const roundConstants: readonly bigint[] = primes.map((prime) => fractionOfRoot(prime, 3n));

/** The same of the square roots of the first 8 primes (FIPS 180-4, 5.3.5). */
const initialState: readonly bigint[] = primes.slice(0, 8).map((prime) => fractionOfRoot(prime, 2n));

function firstPrimes(count: number): readonly bigint[] {
  const found: bigint[] = [];
  for (let candidate = 2n; found.length < count; candidate += 1n)
    if (found.every((prime) => candidate % prime !== 0n)) found.push(candidate);
  return found;
}

/** 64 bits behind the point of the root: the root of `number * 2^(64 * degree)`, found bit by bit. */
function fractionOfRoot(number: bigint, degree: bigint): bigint {
  const scaled = number << (64n * degree);
  let root = 0n;
  // No root of a prime below 2^9 has more than 5 bits before its point.
  for (let bit = 1n << 69n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= scaled) root += bit;
  return BigInt.asUintN(64, root);
}
