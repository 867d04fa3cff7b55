/**
 * How often a remote caller may cause a write to the disk: an SD card wears, and each launch has a row in the history. A
 * client is counted by its id; strangers by their address, IPv6 by its network of 64 bits, and all strangers together.
 */
import type { From } from "../../core/audit.ts";
import type { Clock } from "../../core/clock.ts";
import { ServiceError } from "../../core/errors.ts";
import {
  ratedAddressesMax,
  strangerWritesPerDayMax,
  strangerWritesPerMinuteMax,
  writesPerDayMax,
  writesPerMinuteMax,
} from "../../core/limits.ts";

export interface WriteQuota {
  /** Counts a write. Throws `busy` with the name of the limit where the caller has used up its minute or its day. */
  take(from: From): void;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

interface Limits {
  readonly perMinute: number;
  readonly perDay: number;
}

interface Account {
  /** The times of the last writes, in ms: a ring of `perMinute` entries. */
  readonly recentMs: number[];
  next: number;
  dayStartMs: number;
  inDay: number;
}

const ofClient: Limits = { perMinute: writesPerMinuteMax, perDay: writesPerDayMax };
const ofStrangers: Limits = { perMinute: strangerWritesPerMinuteMax, perDay: strangerWritesPerDayMax };

export function createWriteQuota(clock: Clock): WriteQuota {
  /** In the order in which they wrote last. */
  const accounts = new Map<string, Account>();
  const strangers = newAccount();
  return {
    take({ address, client }) {
      const nowMs = clock.now();
      const key = client ?? `address ${networkOf(address)}`;
      const account = accounts.get(key) ?? newAccount();
      refuseBeyond(account, ofClient, nowMs);
      if (client === undefined) refuseBeyond(strangers, ofStrangers, nowMs);
      note(account, ofClient, nowMs);
      if (client === undefined) note(strangers, ofStrangers, nowMs);
      accounts.delete(key);
      accounts.set(key, account);
      const [oldest] = accounts.keys();
      if (accounts.size > ratedAddressesMax && oldest !== undefined) accounts.delete(oldest);
    },
  };
}

function newAccount(): Account {
  return { recentMs: [], next: 0, dayStartMs: Number.NEGATIVE_INFINITY, inDay: 0 };
}

/** A clock that was set back ends a window early; it never locks a caller out. */
function isWithin(sinceMs: number, nowMs: number, windowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < windowMs;
}

function refuseBeyond({ recentMs, next, dayStartMs, inDay }: Account, limits: Limits, nowMs: number): void {
  const oldestMs = recentMs.length < limits.perMinute ? undefined : recentMs[next];
  if (oldestMs !== undefined && isWithin(oldestMs, nowMs, minuteMs))
    throw tooMany("a minute", limits.perMinute, "writesPerMinuteMax");
  if (inDay >= limits.perDay && isWithin(dayStartMs, nowMs, dayMs))
    throw tooMany("a day", limits.perDay, "writesPerDayMax");
}

function note(account: Account, { perMinute }: Limits, nowMs: number): void {
  account.recentMs[account.next] = nowMs;
  account.next = (account.next + 1) % perMinute;
  if (!isWithin(account.dayStartMs, nowMs, dayMs)) {
    account.dayStartMs = nowMs;
    account.inDay = 0;
  }
  account.inDay += 1;
}

function tooMany(span: string, max: number, limit: string): ServiceError {
  return new ServiceError(
    "busy",
    `a remote client may launch or change something ${max} times ${span}: wait`,
    {
      data: { limit },
    },
  );
}

/** An IPv6 host has all addresses of its network to choose from. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const rest = tail === undefined ? [] : tail.split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => "0");
  return [...groups, ...zeros, ...rest].slice(0, 4).join(":");
}
