/**
 * CPace (draft-irtf-cfrg-cpace), the suite CPACE-X25519-SHA512 between an initiator and a responder. Two sides that know
 * the same short code get the same key. A listener learns nothing, and a wrong guess excludes one code only.
 *
 *   g    = elligator2(the first 32 bytes of SHA-512(generator string of PRS, CI, sid))   section "Common function ..."
 *   Y    = X25519(y, g), y being 32 random bytes                                         section "... protocol instructions"
 *   K    = X25519(own y, the other's Y); zero means a forged Y and ends the exchange
 *   ISK  = SHA-512(lv_cat("CPace255_ISK", sid, K) || lv_cat(Ya, ADa) || lv_cat(Yb, ADb))
 *   tags = HMAC-SHA512(SHA-512("CPaceMac" || sid || ISK), lv_cat(Y, AD)), one per side     section "Key confirmation"
 *
 * X25519 comes from `primitives.ts`. The map from hash to point computes with BigInts, so its time depends a little on
 * the code. A device computes it once for each code, and a client once for each exchange.
 */
import { invert, mod, pow } from "@noble/curves/abstract/modular.js";
import { bytesToNumberLE, numberToBytesLE } from "@noble/curves/utils.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { clean, concatBytes } from "@noble/hashes/utils.js";
import { hashOf, keyBytes, type Primitives } from "./primitives.ts";

const ascii = (text: string) => new TextEncoder().encode(text);
const domain = ascii("CPace255");

export interface CpaceInputs {
  /** The code that both sides know. */
  readonly prs: Uint8Array;
  /** The name of the use and of its two roles. */
  readonly ci: Uint8Array;
  readonly sid: Uint8Array;
}

/** A public share of 32 bytes, and the data that the confirmation covers. */
export interface CpaceMessage {
  readonly share: Uint8Array;
  readonly data: Uint8Array;
}

/** The point from which both sides start: 32 bytes. */
export function generatorOf({ prs, ci, sid }: CpaceInputs): Uint8Array {
  const hash = hashOf(sha512, generatorString({ prs, ci, sid })).subarray(0, keyBytes);
  const generator = elligator2(hash);
  clean(hash);
  return generator;
}

/** The share of a private scalar of 32 bytes; undefined with a chance of 2^-250. The caller then draws another scalar. */
export function shareOf(
  primitives: Pick<Primitives, "sharedSecret">,
  generator: Uint8Array,
  scalar: Uint8Array,
): Uint8Array | undefined {
  return primitives.sharedSecret(scalar, generator);
}

/** A text that is the same for all spellings of a share: with and without the top bit. */
export function shareName(share: Uint8Array): string {
  return (bytesToNumberLE(share) & withoutTopBit).toString(16);
}

/** The key ISK of 64 bytes; undefined if the other side's share is forged. */
export function sessionKey(
  primitives: Pick<Primitives, "sharedSecret">,
  own: { readonly scalar: Uint8Array; readonly theirs: Uint8Array },
  { sid }: Pick<CpaceInputs, "sid">,
  [initiator, responder]: readonly [CpaceMessage, CpaceMessage],
): Uint8Array | undefined {
  const shared = primitives.sharedSecret(own.scalar, own.theirs);
  if (shared === undefined) return undefined;
  const secretPart = lvCat(ascii("CPace255_ISK"), sid, shared);
  const key = hashOf(sha512, secretPart, messageBytes(initiator), messageBytes(responder));
  clean(shared, secretPart);
  return key;
}

/** The tag that proves that the sender of `message` has the key: 64 bytes. */
export function confirmationOf(key: Uint8Array, sid: Uint8Array, message: CpaceMessage): Uint8Array {
  const macKey = hashOf(sha512, ascii("CPaceMac"), sid, key);
  const tag = hmac(sha512, macKey, messageBytes(message));
  clean(macKey);
  return tag;
}

function messageBytes({ share, data }: CpaceMessage): Uint8Array {
  return lvCat(share, data);
}

/** Zeros fill the first block of the hash, so the time of the hash does not depend on the length of the code. */
export function generatorString({ prs, ci, sid }: CpaceInputs): Uint8Array {
  const zeros = Math.max(0, sha512.blockLen - 1 - prependLength(prs).length - prependLength(domain).length);
  return lvCat(domain, prs, new Uint8Array(zeros), ci, sid);
}

/** The parts with their lengths before them (`lv_cat`). */
export function lvCat(...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...parts.map(prependLength));
}

/**
 * The length as LEB128 (`prepend_len`): seven bits in each byte, the low ones first. The top bit is set if more bytes follow.
 */
export function prependLength(bytes: Uint8Array): Uint8Array {
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>= 7) length.push((left & 0x7f) | 0x80);
  return Uint8Array.of(...length, left, ...bytes);
}

const prime = 2n ** 255n - 19n;
const withoutTopBit = 2n ** 255n - 1n; // A mask, because X25519 ignores the top bit (RFC 7748, 5).
const curveA = 486662n; // The constant A of the curve (RFC 7748, 4.1).

/**
 * The u-coordinate on Curve25519 for 32 bytes of hash (RFC 9380, 6.7.1, with Z = 2; the draft's appendix "Elligator 2
 * reference implementation"). It is `-A / (1 + 2r²)` if that is on the curve, else its mirror `-A - x`.
 */
export function elligator2(bytes: Uint8Array): Uint8Array {
  const r = bytesToNumberLE(bytes) & withoutTopBit;
  const x = mod(-curveA * invert(1n + 2n * r * r, prime), prime);
  const right = mod(x * x * x + curveA * x * x + x, prime);
  // Neither `1 + 2r²` nor `right` is ever 0, because -1/2 and A² - 4 are no squares in this field.
  const isOnCurve = pow(right, (prime - 1n) / 2n, prime) === 1n;
  return numberToBytesLE(isOnCurve ? x : mod(-curveA - x, prime), keyBytes);
}
