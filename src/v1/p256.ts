/**
 * Points of the curve P-256 (FIPS 186-5, SP 800-186, 3.2.1.3): y² = x³ - 3x + b modulo a prime. No runtime offers the sums
 * of points that a password exchange takes.
 *
 * The time that it takes depends on the scalars. They are used once: the PIN of one pairing, and a key that is thrown
 * away after it.
 */

/** A point in affine coordinates; undefined is the point at infinity. */
export interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

const p = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
/** How many points there are; a scalar is below it. */
export const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
export const generator: Point = {
  x: 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
  y: 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
};

/** True for a point on the curve with both coordinates below the prime. The curve has no points of small order. */
export function isOnCurve({ x, y }: Point): boolean {
  if (x < 0n || x >= p || y < 0n || y >= p) return false;
  return mod(y * y - (x * x * x - 3n * x + b)) === 0n;
}

export function add(one: Point, other: Point): Point | undefined {
  if (one.x !== other.x) return chord(one, other, (other.y - one.y) * inverse(mod(other.x - one.x)));
  if (one.y !== other.y || one.y === 0n) return undefined;
  return chord(one, other, (3n * one.x * one.x - 3n) * inverse(mod(2n * one.y)));
}

export function negative({ x, y }: Point): Point {
  return { x, y: mod(-y) };
}

function chord(one: Point, other: Point, slope: bigint): Point {
  const s = mod(slope);
  const x = mod(s * s - one.x - other.x);
  return { x, y: mod(s * (one.x - x) - one.y) };
}

/** The scalar times the point, in Jacobian coordinates: one inversion in all instead of one for each step. */
export function multiply(scalar: bigint, { x, y }: Point): Point | undefined {
  let [X, Y, Z] = [0n, 1n, 0n];
  for (let bit = BigInt(order.toString(2).length) - 1n; bit >= 0n; bit--) {
    [X, Y, Z] = doubled(X, Y, Z);
    if (((scalar >> bit) & 1n) === 1n) [X, Y, Z] = joined(X, Y, Z, { x, y });
  }
  if (Z === 0n) return undefined;
  const inverted = inverse(Z);
  const squared = mod(inverted * inverted);
  return { x: mod(X * squared), y: mod(Y * mod(squared * inverted)) };
}

type Jacobian = [X: bigint, Y: bigint, Z: bigint];

/** `dbl-2001-b` of the Explicit-Formulas Database, for a = -3. */
function doubled(X: bigint, Y: bigint, Z: bigint): Jacobian {
  if (Z === 0n) return [0n, 1n, 0n];
  const delta = mod(Z * Z);
  const gamma = mod(Y * Y);
  const beta = mod(X * gamma);
  const alpha = mod(3n * (X - delta) * (X + delta));
  const X3 = mod(alpha * alpha - 8n * beta);
  const Z3 = mod((Y + Z) * (Y + Z) - gamma - delta);
  return [X3, mod(alpha * (4n * beta - X3) - 8n * gamma * gamma), Z3];
}

/** A Jacobian and an affine point (`madd`). */
function joined(X: bigint, Y: bigint, Z: bigint, { x, y }: Point): Jacobian {
  if (Z === 0n) return [x, y, 1n];
  const squared = mod(Z * Z);
  const H = mod(x * squared - X);
  const R = mod(y * mod(squared * Z) - Y);
  if (H === 0n) return R === 0n ? doubled(X, Y, Z) : [0n, 1n, 0n];
  const H2 = mod(H * H);
  const H3 = mod(H2 * H);
  const V = mod(X * H2);
  const X3 = mod(R * R - H3 - 2n * V);
  return [X3, mod(R * (V - X3) - Y * H3), mod(Z * H)];
}

function mod(value: bigint): bigint {
  const rest = value % p;
  return rest < 0n ? rest + p : rest;
}

/** By the extended algorithm of Euclid; `value` is not 0. */
function inverse(value: bigint): bigint {
  let [old, now] = [value, p];
  let [oldFactor, factor] = [1n, 0n];
  while (now !== 0n) {
    const quotient = old / now;
    [old, now] = [now, old - quotient * now];
    [oldFactor, factor] = [factor, oldFactor - quotient * factor];
  }
  return mod(oldFactor);
}
