/**
 * CPace (draft-irtf-cfrg-cpace), the suite CPACE-X25519-SHA512 between an initiator and a responder: two who know the same
 * short code get the same key, and nobody who listens, or guesses wrong, learns anything to guess on with.
 *
 *   g    = elligator2(the first 32 bytes of SHA-512(generator string of PRS, CI, sid))   section "Common function ..."
 *   Y    = X25519(y, g), y being 32 random bytes                                         section "... protocol instructions"
 *   K    = X25519(own y, the other's Y); zero means a forged Y, and ends it
 *   ISK  = SHA-512(lv_cat("CPace255_ISK", sid, K) || lv_cat(Ya, ADa) || lv_cat(Yb, ADb))
 *   tags = HMAC-SHA512(SHA-512("CPaceMac" || sid || ISK), lv_cat(Y, AD)), of each its own  section "Key confirmation"
 *
 * X25519 is libsodium's. The map from hash to point is arithmetic on BigInts, whose time depends on the code a little:
 * a device does it once for each code, a client once for each exchange.
 */
import { keyBytes, type Primitives } from "./primitives.ts";
import { hmacSha512, sha512, sha512BlockBytes } from "./sha512.ts";
import { wipe } from "./wipe.ts";

const ascii = (text: string) => new TextEncoder().encode(text);
const domain = ascii("CPace255");

export interface CpaceInputs {
  /** What both know: the code. */
  readonly prs: Uint8Array;
  /** Names the use and its two roles. */
  readonly ci: Uint8Array;
  readonly sid: Uint8Array;
}

/** A public share of 32 bytes, and what its sender wants to be sure of that the other got. */
export interface CpaceMessage {
  readonly share: Uint8Array;
  readonly data: Uint8Array;
}

/** The point that both start from: 32 bytes. */
export function generatorOf({ prs, ci, sid }: CpaceInputs): Uint8Array {
  const hash = sha512(generatorString({ prs, ci, sid })).subarray(0, keyBytes);
  const generator = elligator2(hash);
  wipe(hash);
  return generator;
}

/** The share that belongs to a private scalar of 32 bytes. Undefined with a chance of 2^-250: draw another. */
export function shareOf(
  primitives: Pick<Primitives, "sharedSecret">,
  generator: Uint8Array,
  scalar: Uint8Array,
): Uint8Array | undefined {
  return primitives.sharedSecret(scalar, generator);
}

/** The same text for all bytes that X25519 reads as this share: it ignores the top bit (RFC 7748, 5). */
export function shareName(share: Uint8Array): string {
  return (bytesToNumber(share) & (2n ** 255n - 1n)).toString(16);
}

/** The key ISK of 64 bytes; undefined where the other's share is no honest one. */
export function sessionKey(
  primitives: Pick<Primitives, "sharedSecret">,
  own: { readonly scalar: Uint8Array; readonly theirs: Uint8Array },
  { sid }: Pick<CpaceInputs, "sid">,
  [initiator, responder]: readonly [CpaceMessage, CpaceMessage],
): Uint8Array | undefined {
  const shared = primitives.sharedSecret(own.scalar, own.theirs);
  if (shared === undefined) return undefined;
  const secretPart = lvCat(ascii("CPace255_ISK"), sid, shared);
  const key = sha512(secretPart, messageBytes(initiator), messageBytes(responder));
  wipe(shared, secretPart);
  return key;
}

/** The tag by which the sender of `message` shows that it has the key: 64 bytes. */
export function confirmationOf(key: Uint8Array, sid: Uint8Array, message: CpaceMessage): Uint8Array {
  const macKey = sha512(ascii("CPaceMac"), sid, key);
  const tag = hmacSha512(macKey, messageBytes(message));
  wipe(macKey);
  return tag;
}

function messageBytes({ share, data }: CpaceMessage): Uint8Array {
  return lvCat(share, data);
}

/** Zeros fill the first block of the hash, so that its time does not tell the length of the code. */
export function generatorString({ prs, ci, sid }: CpaceInputs): Uint8Array {
  const zeros = Math.max(0, sha512BlockBytes - 1 - prependLength(prs).length - prependLength(domain).length);
  return lvCat(domain, prs, new Uint8Array(zeros), ci, sid);
}

/** The parts with their lengths before them (`lv_cat`). */
export function lvCat(...parts: readonly Uint8Array[]): Uint8Array {
  const pieces = parts.map(prependLength);
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** `prepend_len`: the length as LEB128, seven bits a byte, the low ones first; the top bit says that more follow. */
export function prependLength(bytes: Uint8Array): Uint8Array {
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>= 7) length.push((left & 0x7f) | 0x80);
  return Uint8Array.of(...length, left, ...bytes);
}

const prime = 2n ** 255n - 19n;
const curveA = 486662n; // RFC 7748, 4.1.

/**
 * The u-coordinate on Curve25519 for 32 bytes of hash (RFC 9380, 6.7.1, with Z = 2; the draft's appendix "Elligator 2
 * reference implementation"): `-A / (1 + 2r²)` where that is one of the curve's, else its mirror `-A - x`.
 */
export function elligator2(bytes: Uint8Array): Uint8Array {
  const r = bytesToNumber(bytes) & (2n ** 255n - 1n); // RFC 7748, 5: the top bit is not looked at.
  const x = mod(-curveA * power(mod(1n + 2n * r * r), prime - 2n));
  const right = mod(x * x * x + curveA * x * x + x);
  // Neither `1 + 2r²` nor `right` is ever 0: -1/2 and A² - 4 are no squares in this field.
  const isOnCurve = power(right, (prime - 1n) / 2n) === 1n;
  return numberToBytes(isOnCurve ? x : mod(-curveA - x));
}

function mod(value: bigint): bigint {
  const rest = value % prime;
  return rest < 0n ? rest + prime : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, mod(base)];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * square) % prime;
    square = (square * square) % prime;
  }
  return result;
}

function bytesToNumber(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function numberToBytes(value: bigint): Uint8Array {
  return Uint8Array.from({ length: keyBytes }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
}
