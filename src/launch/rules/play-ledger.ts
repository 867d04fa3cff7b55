/**
 * The ledger of play time: the time played today and in this session, with a wall clock that may be wrong. These
 * functions are pure: they take readings of the clocks, and return a new ledger.
 *
 * A monotonic clock measures the play time; the wall clock decides only the day. On a board without a battery the wall clock
 * starts with an arbitrary time, and the network sets it later:
 *
 *   it starts before the last believed time, or before       not believed: the last day continues, so that a loss of power
 *   this program existed                                     does not start a new one
 *   it jumps relative to the uptime                          it was set: it is believed, and the time played on this day
 *                                                            since the start moves to the right day
 *   it passes midnight                                       a new day, if it is believed
 *   it is not believed for 24 hours of uptime                a new day, with the old date
 */
import type { PlayRecord } from "../../core/playback.ts";

export interface Reading {
  /** The wall clock in milliseconds since 1970, which may be wrong. */
  readonly wallMs: number;
  /** Milliseconds since the start of the machine, sleep included. */
  readonly uptimeMs: number;
}

export interface Ledger extends PlayRecord {
  readonly last: Reading;
  readonly isBelieved: boolean;
  /** The time played on this day since the start. This time moves to another day when the clock is set. */
  readonly carriedMs: number;
  /** The uptime on this day during which the clock was not believed. */
  readonly doubtedMs: number;
  /** The time since the last play, as far as it is known. */
  readonly pauseMs: number;
}

/** The local date of a time, `2031-05-08`. */
export type DayOf = (wallMs: number) => string;

// A correct clock never shows an earlier time, because this program did not exist at that time.
const plausibleMs = Date.UTC(2026, 0, 1);
// Time servers slew small differences and step larger ones. The uptime comes in whole seconds.
const clockSetMs = 30_000;
const dayMs = 24 * 60 * 60 * 1000;

/** The ledger at a start of the service. `saved` is undefined at the first start. */
export function openLedger(saved: PlayRecord | undefined, reading: Reading, dayOf: DayOf): Ledger {
  const { wallMs } = reading;
  const record = saved ?? { day: dayOf(wallMs), days: new Map(), sessionMs: 0, seenMs: 0 };
  const isBelieved = wallMs >= plausibleMs && wallMs >= record.seenMs;
  const opened: Ledger = {
    ...record,
    last: reading,
    isBelieved,
    carriedMs: 0,
    doubtedMs: 0,
    pauseMs: isBelieved && record.seenMs > 0 ? wallMs - record.seenMs : 0,
  };
  return isBelieved ? { ...passMidnight(opened, dayOf(wallMs)), seenMs: wallMs } : opened;
}

/** Advances the ledger to a reading. `playedMs` is the time played since the last reading. */
export function advanceLedger(ledger: Ledger, reading: Reading, playedMs: number, dayOf: DayOf): Ledger {
  const upMs = Math.max(0, reading.uptimeMs - ledger.last.uptimeMs);
  const wallMs = reading.wallMs - ledger.last.wallMs;
  const wasSet = Math.abs(wallMs - upMs) > clockSetMs;
  const dated = wasSet ? carry(ledger, reading, dayOf) : pass(ledger, reading, upMs, dayOf);
  const { day, days, sessionMs, carriedMs, pauseMs } = dated;
  if (playedMs <= 0) return { ...dated, last: reading, pauseMs: pauseMs + upMs };
  return {
    ...dated,
    last: reading,
    days: new Map(days).set(day, usedOn(dated, day) + playedMs),
    sessionMs: sessionMs + playedMs,
    carriedMs: carriedMs + playedMs,
    pauseMs: 0,
  };
}

/** Starts a new session if the pause was long enough. */
export function resetSession(ledger: Ledger, resetMs: number): Ledger {
  return ledger.sessionMs > 0 && ledger.pauseMs >= resetMs ? { ...ledger, sessionMs: 0 } : ledger;
}

/** Milliseconds played on a day. */
export function usedOn({ days }: Pick<PlayRecord, "days">, day: string): number {
  return days.get(day) ?? 0;
}

/** The ledger after the clock was set. */
function carry(ledger: Ledger, { wallMs }: Reading, dayOf: DayOf): Ledger {
  // An impossible time is not believed.
  if (wallMs < plausibleMs) return { ...ledger, isBelieved: false };
  const { day: before, carriedMs } = ledger;
  const day = dayOf(wallMs);
  const believed = { ...ledger, isBelieved: true, seenMs: wallMs, doubtedMs: 0 };
  if (day === before) return believed;
  const days = new Map(ledger.days).set(before, Math.max(0, usedOn(ledger, before) - carriedMs));
  return { ...believed, day, days: days.set(day, usedOn(ledger, day) + carriedMs) };
}

/** The ledger after the clock advanced with the uptime. */
function pass(ledger: Ledger, { wallMs }: Reading, upMs: number, dayOf: DayOf): Ledger {
  const isBelieved = ledger.isBelieved || (wallMs >= plausibleMs && wallMs >= ledger.seenMs);
  if (isBelieved)
    return { ...passMidnight(ledger, dayOf(wallMs)), isBelieved, seenMs: Math.max(wallMs, ledger.seenMs) };
  const doubtedMs = ledger.doubtedMs + upMs;
  if (doubtedMs < dayMs) return { ...ledger, doubtedMs };
  const days = new Map(ledger.days).set(ledger.day, 0);
  return { ...ledger, days, doubtedMs: 0, carriedMs: 0 };
}

/** A day never goes back, so a change of the time zone starts no day twice. */
function passMidnight(ledger: Ledger, day: string): Ledger {
  return day > ledger.day ? { ...ledger, day, carriedMs: 0, doubtedMs: 0 } : ledger;
}
