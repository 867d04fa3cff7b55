/**
 * The rights of callers. Each right includes those before it. A method or notification names the right that it requires,
 * and a caller has one grant.
 */

/**
 * - `look`: see the state of the device and its media, but nothing about cards.
 * - `play`: start and stop the owner's media.
 * - `change`: work with cards and their meaning.
 * - `own`: administer the device.
 */
export const allRights = ["look", "play", "change", "own"] as const;
export type Right = (typeof allRights)[number];

/** The highest right that a caller has. */
export type Grant = Right | "none";

/** The caller of work that continues after the answer, such as a script in the queue. */
export interface Requester {
  /** The paired client of the caller; absent for a caller without an identity. */
  readonly client?: string;
  /** The present grant of the caller; changed settings and revocations take effect at once. */
  grant(): Grant;
}

/** The roles of paired clients. */
export const roles = ["member", "player", "owner"] as const;
export type Role = (typeof roles)[number];

export const grantOfRole: Readonly<Record<Role, Right>> = { member: "change", player: "play", owner: "own" };

const rank: Readonly<Record<Grant, number>> = { none: 0, look: 1, play: 2, change: 3, own: 4 };

export function allows(grant: Grant, required: Right): boolean {
  return rank[grant] >= rank[required];
}

/** The lower of two grants. */
export function lowerGrant(one: Grant, other: Grant): Grant {
  return rank[one] <= rank[other] ? one : other;
}

/** The rights that a grant includes, the lowest first. */
export function rightsOf(grant: Grant): readonly Right[] {
  return allRights.filter((right) => allows(grant, right));
}
