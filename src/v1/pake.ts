/**
 * The password exchange of the secure layer's version 1: SPAKE2 on P-256 with the constants and the messages that known
 * clients use. Whoever listens, or guesses a wrong PIN, learns nothing of the PIN but that one guess was wrong.
 *
 *   pw   the digits of the PIN, their ASCII bytes read as one big-endian number
 *   X = pw·U + a·G     the client's, role 0
 *   Y = pw·V + b·G     the service's, role 1
 *   Z = b·(X - pw·U) = a·(Y - pw·V)
 *   K = SHA-256(pw ‖ Xx ‖ Xy ‖ Yx ‖ Yy ‖ Zx ‖ Zy), numbers big-endian without leading zeros
 *
 * A message is JSON: `{"role":0,"ux":"...","uy":...,"vx","vy","xx","xy","yx","yy"}`, coordinates as decimal texts, those
 * that are not known yet as "0".
 */
import { assert } from "../core/errors.ts";
import { v1PakeBytesMax } from "../core/limits.ts";
import { sha256 } from "../secure/sha256.ts";
import { add, generator, isOnCurve, multiply, negative, order, type Point } from "./p256.ts";

/** The points that the PIN is multiplied with; nobody knows their logarithms. */
export const constantU: Point = {
  x: 793136080485469241208656611513609866400481671852n,
  y: 59748757929350367369315811184980635230185250460108398961713395032485227207304n,
};
export const constantV: Point = {
  x: 1086685267857089638167386722555472967068468061489n,
  y: 9157340230202296554417312816309453883742349874205386245733062928888341584123n,
};

export interface PakeAnswer {
  /** The service's message, as bytes: both sides hash what went over the wire. */
  readonly message: Uint8Array;
  /** 32 bytes, the same on both sides where both knew the PIN. */
  readonly key: Uint8Array;
}

/** Answers a client's message. `random` is 48 bytes. Undefined where the message is none, or its point is not on the curve. */
export function answerPake(pin: string, message: Uint8Array, random: Uint8Array): PakeAnswer | undefined {
  const X = clientPointOf(message);
  if (X === undefined) return undefined;
  const pw = numberOf(new TextEncoder().encode(pin));
  const b = scalarOf(random);
  const [pwU, pwV] = [multiply(pw, constantU), multiply(pw, constantV)];
  const bG = multiply(b, generator);
  assert(pwU !== undefined && pwV !== undefined && bG !== undefined, "scalars are from 1 to below the order");
  const Y = add(pwV, bG);
  const masked = add(X, negative(pwU));
  const Z = masked === undefined ? undefined : multiply(b, masked);
  if (Y === undefined || Z === undefined) return undefined;
  const key = sha256(...[pw, X.x, X.y, Y.x, Y.y, Z.x, Z.y].map(bytesOf));
  return { message: new TextEncoder().encode(messageText(X, Y)), key };
}

/** A scalar from 1 to below the order, even enough: 384 bits are reduced to 256 (FIPS 186-5, A.2.1). */
export function scalarOf(random: Uint8Array): bigint {
  assert(random.length === 48, "a scalar is drawn from 48 bytes");
  return (numberOf(random) % (order - 1n)) + 1n;
}

function messageText(X: Point, Y: Point): string {
  const [u, v] = [constantU, constantV];
  const numbers = { ux: u.x, uy: u.y, vx: v.x, vy: v.y, xx: X.x, xy: X.y, yx: Y.x, yy: Y.y };
  const texts = Object.entries(numbers).map(([name, number]) => [name, number.toString()]);
  return JSON.stringify({ role: 1, ...Object.fromEntries(texts) });
}

/** X of a message of role 0. */
function clientPointOf(message: Uint8Array): Point | undefined {
  if (message.length > v1PakeBytesMax) return undefined;
  try {
    const { role, xx, xy } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(message)) ?? {};
    if (role !== 0 || !isDecimal(xx) || !isDecimal(xy)) return undefined;
    const point = { x: BigInt(xx), y: BigInt(xy) };
    return isOnCurve(point) ? point : undefined;
  } catch {
    // Not JSON is all that there is to say of it.
    return undefined;
  }
}

/** Two to the 256th has 78 digits. */
function isDecimal(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,78}$/.test(value);
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytes.toHex()}`);
}

/** Big-endian, without leading zeros. */
function bytesOf(number: bigint): Uint8Array {
  const hex = number.toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}
