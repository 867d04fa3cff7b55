/**
 * The rates of callers: token buckets for requests and answers, blocks after failed handshakes, and the quota of remote
 * disk writes.
 */
import type { From } from "../../core/audit.ts";
import type { Clock } from "../../core/clock.ts";
import { limitReached, ServiceError } from "../../core/errors.ts";
import { toHex } from "../../core/hex.ts";
import { addressBytes } from "../../core/ip-address.ts";
import {
  anonymousWritesPerDayMax,
  anonymousWritesPerMinuteMax,
  handshakeBlockMsMax,
  handshakeBlockMsMin,
  handshakeFailuresMax,
  handshakesAfterFailuresPerSecondMax,
  handshakesPerSecondMax,
  ratedAddressesMax,
  requestBurstMax,
  requestsPerMinuteMax,
  writesPerDayMax,
  writesPerMinuteMax,
} from "../../core/limits.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Holds `burst` tokens, and gets a new one every `tokenMs`. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #tokenMs: number;
  readonly #capacityMs: number;
  /** The number of tokens, times `tokenMs`. Below 0 it is a debt. */
  #levelMs: number;
  #lastMs: number;

  constructor(clock: Clock, { tokenMs, burst }: { readonly tokenMs: number; readonly burst: number }) {
    this.#clock = clock;
    this.#tokenMs = tokenMs;
    this.#capacityMs = burst * tokenMs;
    this.#levelMs = this.#capacityMs;
    this.#lastMs = clock.now();
  }

  /** Takes one token; false if there is none. */
  take(): boolean {
    if (this.#filledMs() < this.#tokenMs) return false;
    this.#levelMs -= this.#tokenMs;
    return true;
  }

  /** Takes `tokens`, even if there are fewer. A negative number gives them back. */
  spend(tokens: number): void {
    this.#levelMs = this.#filledMs() - tokens * this.#tokenMs;
  }

  isSpent(): boolean {
    return this.#filledMs() <= 0;
  }

  #filledMs(): number {
    const nowMs = this.#clock.now();
    // A clock that was set back neither adds nor removes tokens.
    const passedMs = Math.max(0, nowMs - this.#lastMs);
    this.#levelMs = Math.min(this.#capacityMs, this.#levelMs + passedMs);
    this.#lastMs = nowMs;
    return this.#levelMs;
  }
}

/** A token bucket for each address. */
export function createRateLimit(clock: Clock) {
  /** The address that was granted a request longest ago comes first. */
  const buckets = new Map<string, TokenBucket>();
  return {
    /** Takes a token of the address; false if it has none. */
    take(address: string) {
      const bucket = buckets.get(address) ?? new TokenBucket(clock, perAddress);
      if (!bucket.take()) return false;
      moveToEnd(buckets, address, bucket);
      evictOldest(buckets);
      return true;
    },
    /** Takes tokens of the address even if it has fewer. A negative number gives them back. */
    spend: (address: string, tokens: number) => buckets.get(address)?.spend(tokens),
  };
}

const perAddress = { tokenMs: minuteMs / requestsPerMinuteMax, burst: requestBurstMax };

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

function evictOldest(map: Map<string, unknown>): void {
  if (map.size <= ratedAddressesMax) return;
  const [oldest = ""] = map.keys();
  map.delete(oldest);
}

export type FailedAttempts = ReturnType<typeof createFailedAttempts>;

/**
 * Notes addresses whose handshakes or bearer tokens fail again and again, and blocks their failures, longer each time. Nobody
 * guesses a secret of 32 bytes; the block limits the work that the attempts cost. A right secret passes during a block,
 * because a proxy or a NAT gives one address to many callers.
 */
export function createFailedAttempts(clock: Clock) {
  /** The address that failed longest ago comes first. */
  const records = new Map<string, { failures: number; untilMs: number; lastMs: number }>();
  return {
    note(address: string) {
      const nowMs = clock.now();
      const known = records.get(address);
      // Half an hour without a failure, or a clock that was set back, starts the count again.
      const isFresh = known === undefined || Math.abs(nowMs - known.lastMs) > handshakeBlockMsMax;
      const failures = isFresh ? 1 : known.failures + 1;
      const rounds = failures - handshakeFailuresMax;
      const blockMs = rounds < 0 ? 0 : Math.min(handshakeBlockMsMax, handshakeBlockMsMin * 2 ** rounds);
      moveToEnd(records, address, { failures, untilMs: nowMs + blockMs, lastMs: nowMs });
      evictOldest(records);
    },
    /** Milliseconds until the address may try again; 0 if it may now. */
    blockedMs(address: string) {
      const known = records.get(address);
      if (known === undefined || known.lastMs > clock.now()) return 0;
      return Math.max(0, known.untilMs - clock.now());
    },
  };
}

/**
 * Limits hellos, each of which costs a handshake. Addresses with many failures share a rate of their own. They do not use
 * up the rate of the others, and a right secret from such an address still passes. The returned function takes a token of
 * the address's rate, and returns the refusal if no token is left.
 */
export function createHandshakeRate(clock: Clock, failures: Pick<FailedAttempts, "blockedMs">) {
  const bucketOf = (perSecond: number) =>
    new TokenBucket(clock, { tokenMs: 1000 / perSecond, burst: perSecond });
  const usual = bucketOf(handshakesPerSecondMax);
  const afterFailures = bucketOf(handshakesAfterFailuresPerSecondMax);
  return (address: string): ServiceError | undefined => {
    const hasFailed = failures.blockedMs(address) > 0;
    if ((hasFailed ? afterFailures : usual).take()) return undefined;
    const limit = hasFailed ? "handshakesAfterFailuresPerSecondMax" : "handshakesPerSecondMax";
    return limitReached(limit, "too many handshakes: try again");
  };
}

export type WriteQuota = ReturnType<typeof createWriteQuota>;

/**
 * Disk writes that remote callers cause: an SD card wears, and each launch adds a row to the history. A client is counted by
 * its id. A caller without an identity is counted by its address (IPv6: by its /64 network), and with all such callers.
 */
export function createWriteQuota(clock: Clock) {
  /** The account that wrote longest ago comes first. */
  const accounts = new Map<string, WriteAccount>();
  const anonymous = newAccount();
  return {
    /** Counts a write. Throws `busy` with the name of the limit if the caller has used up its minute or its day. */
    take({ address, client }: From): void {
      const nowMs = clock.now();
      const key = client ?? `address ${networkOf(address)}`;
      const account = accounts.get(key) ?? newAccount();
      refuseBeyond(account, perClient, nowMs);
      if (client === undefined) refuseBeyond(anonymous, perAnonymous, nowMs);
      countWrite(account, nowMs);
      if (client === undefined) countWrite(anonymous, nowMs);
      moveToEnd(accounts, key, account);
      evictOldest(accounts);
    },
  };
}

// Each minute has at most `perMinute` writes. A token bucket would allow twice as many in its first minute, or only half
// of them at once.
const perClient = { perMinute: writesPerMinuteMax, perDay: writesPerDayMax };
const perAnonymous = { perMinute: anonymousWritesPerMinuteMax, perDay: anonymousWritesPerDayMax };

interface WriteAccount {
  /** The times of the writes of the last minute, in ms. */
  recentMs: readonly number[];
  dayStartMs: number;
  inDay: number;
}

function newAccount(): WriteAccount {
  return { recentMs: [], dayStartMs: Number.NEGATIVE_INFINITY, inDay: 0 };
}

function refuseBeyond(account: WriteAccount, { perMinute, perDay }: typeof perClient, nowMs: number): void {
  account.recentMs = account.recentMs.filter((ms) => isWithin(ms, nowMs, minuteMs));
  if (account.recentMs.length >= perMinute) throw tooManyWrites("a minute", perMinute, "writesPerMinuteMax");
  if (account.inDay >= perDay && isWithin(account.dayStartMs, nowMs, dayMs))
    throw tooManyWrites("a day", perDay, "writesPerDayMax");
}

function countWrite(account: WriteAccount, nowMs: number): void {
  account.recentMs = [...account.recentMs, nowMs];
  if (!isWithin(account.dayStartMs, nowMs, dayMs)) {
    account.dayStartMs = nowMs;
    account.inDay = 0;
  }
  account.inDay += 1;
}

/** A clock that was set back ends a window early, so it never locks a caller out. */
function isWithin(sinceMs: number, nowMs: number, windowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < windowMs;
}

function tooManyWrites(span: string, max: number, limit: string): ServiceError {
  const sentence = `a remote client may launch or change something ${max} times ${span}: wait`;
  return new ServiceError("busy", sentence, { data: { limit } });
}

/** An IPv6 host can use every address of its /64 network. */
function networkOf(address: string): string {
  const bytes = addressBytes(address);
  return bytes?.length === 16 ? toHex(bytes.subarray(0, 8)) : address;
}
