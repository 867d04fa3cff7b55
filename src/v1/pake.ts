/**
 * The password exchange of the secure layer's version 1: SPAKE2 on P-256 with the constants and the messages of known
 * clients. A listener learns nothing about the PIN, and a wrong guess excludes one PIN only.
 *
 *   pw   the digits of the PIN, their ASCII bytes read as one big-endian number
 *   X = pw·U + a·G     the client's, role 0
 *   Y = pw·V + b·G     the service's, role 1
 *   Z = b·(X - pw·U) = a·(Y - pw·V)
 *   K = SHA-256(pw ‖ Xx ‖ Xy ‖ Yx ‖ Yy ‖ Zx ‖ Zy), numbers big-endian without leading zeros
 *
 * A message is JSON: `{"role":0,"ux":"...","uy":...,"vx","vy","xx","xy","yx","yy"}`. Coordinates are decimal texts, and
 * unknown coordinates are "0".
 */
import { createHash } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { bytesToNumberBE } from "@noble/curves/utils.js";
import { assert } from "../core/errors.ts";
import { v1PakeBytesMax } from "../core/limits.ts";

type Point = typeof p256.Point.BASE;

/** The points that the PIN is multiplied with. Nobody knows their logarithms. */
export const constantU = p256.Point.fromAffine({
  x: 793136080485469241208656611513609866400481671852n,
  y: 59748757929350367369315811184980635230185250460108398961713395032485227207304n,
});
export const constantV = p256.Point.fromAffine({
  x: 1086685267857089638167386722555472967068468061489n,
  y: 9157340230202296554417312816309453883742349874205386245733062928888341584123n,
});

// The time of a multiplication depends on its scalar, as it does in known clients. Each scalar is used once: the PIN of
// one pairing with three tries, and a key that is dropped. Multiplications in constant time take 20 MB more memory in a
// flood of pairings.

/**
 * Answers a client's message. `random` has 48 bytes. `message` is the service's message as bytes, because both sides
 * hash the bytes on the wire; `key` has 32 bytes. The result is undefined for a malformed message and for a point that
 * is not on the curve.
 */
export function answerPake(
  pin: string,
  message: Uint8Array,
  random: Uint8Array,
): { readonly message: Uint8Array; readonly key: Uint8Array } | undefined {
  const X = clientPointOf(message);
  if (X === undefined) return undefined;
  const pw = bytesToNumberBE(new TextEncoder().encode(pin));
  const b = scalarOf(random);
  const Y = constantV.multiplyUnsafe(pw).add(p256.Point.BASE.multiplyUnsafe(b));
  const unmasked = X.subtract(constantU.multiplyUnsafe(pw));
  if (Y.is0() || unmasked.is0()) return undefined;
  const Z = unmasked.multiplyUnsafe(b);
  const hash = createHash("sha256");
  for (const number of [pw, X.x, X.y, Y.x, Y.y, Z.x, Z.y]) hash.update(bytesOf(number));
  return { message: new TextEncoder().encode(messageText(X, Y)), key: hash.digest() };
}

/**
 * A scalar from 1 to below the order. 384 random bits that are reduced to 256 are distributed evenly enough (FIPS
 * 186-5, A.2.1).
 */
export function scalarOf(random: Uint8Array): bigint {
  assert(random.length === 48, "a scalar is drawn from 48 bytes");
  return (bytesToNumberBE(random) % (p256.Point.Fn.ORDER - 1n)) + 1n;
}

/** The point with these coordinates; undefined if it is not on the curve. The curve has no points of small order. */
export function pointOf(x: bigint, y: bigint): Point | undefined {
  try {
    const point = p256.Point.fromAffine({ x, y });
    point.assertValidity();
    return point;
  } catch {
    // The library throws for coordinates beyond the prime and for points off the curve.
    return undefined;
  }
}

function messageText(X: Point, Y: Point): string {
  const u = constantU;
  const v = constantV;
  const numbers = { ux: u.x, uy: u.y, vx: v.x, vy: v.y, xx: X.x, xy: X.y, yx: Y.x, yy: Y.y };
  const texts = Object.entries(numbers).map(([name, number]) => [name, number.toString()]);
  return JSON.stringify({ role: 1, ...Object.fromEntries(texts) });
}

/** The point X of a message of role 0. */
function clientPointOf(message: Uint8Array): Point | undefined {
  if (message.length > v1PakeBytesMax) return undefined;
  try {
    const { role, xx, xy } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(message)) ?? {};
    return role === 0 && isDecimal(xx) && isDecimal(xy) ? pointOf(BigInt(xx), BigInt(xy)) : undefined;
  } catch {
    // The message is not JSON.
    return undefined;
  }
}

/** A number below 2^256 has at most 78 digits. */
function isDecimal(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,78}$/.test(value);
}

/** The bytes of a number, big-endian and without leading zeros. */
function bytesOf(number: bigint): Uint8Array {
  const hex = number.toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}
