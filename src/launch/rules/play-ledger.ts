/**
 * Play time as a ledger: how long was played today and in this session, by a clock that may be wrong. Pure: readings of
 * the clocks in, a new ledger out.
 *
 * What was played is measured by a clock that only goes forward; the clock on the wall decides nothing but the day. A
 * board without a battery starts it anywhere, and the network sets it a while later:
 *
 *   it starts before the last time that was believed, or     not believed: the day goes on that was counted on last, so
 *   before this program existed                              that pulling the plug opens no new one
 *   it jumps beside the uptime                               somebody set it: it is believed, and what was played on
 *                                                            this day since the start is carried to the right day
 *   it passes midnight                                       a new day, where it is believed
 *   it is not believed for 24 hours of uptime                a new day all the same, under the old name
 */
import type { PlayRecord } from "../../core/playback.ts";

export interface Reading {
  /** Milliseconds since 1970, right or not. */
  readonly wallMs: number;
  /** Milliseconds since the start of the machine, sleep included. */
  readonly uptimeMs: number;
}

export interface Ledger extends PlayRecord {
  readonly last: Reading;
  readonly isBelieved: boolean;
  /** Played on this day since the start: where the clock is set, it is carried. */
  readonly carriedMs: number;
  /** Uptime on this day while the clock was not believed. */
  readonly doubtedMs: number;
  /** Since something was played last, as far as it is known. */
  readonly pauseMs: number;
}

/** The local date of a time, `2031-05-08`. */
export type DayOf = (wallMs: number) => string;

// A right clock never shows less: this program did not exist.
const plausibleMs = Date.UTC(2026, 0, 1);
// A time server shifts a clock that is nearly right by slowing it; what is set at one go is more than this. The uptime
// comes in whole seconds.
const clockSetMs = 30_000;
const dayMs = 24 * 60 * 60 * 1000;

/** The ledger at a start. `saved` is undefined at the very first. */
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

/** Up to a reading; `playedMs` of the time since the last one something played. */
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

/** A new session, where the pause was long enough. */
export function resetSession(ledger: Ledger, resetMs: number): Ledger {
  return ledger.sessionMs > 0 && ledger.pauseMs >= resetMs ? { ...ledger, sessionMs: 0 } : ledger;
}

/** Milliseconds that were played on a day. */
export function usedOn({ days }: Pick<PlayRecord, "days">, day: string): number {
  return days.get(day) ?? 0;
}

/** The clock was set, by a time server or a person. */
function carry(ledger: Ledger, { wallMs }: Reading, dayOf: DayOf): Ledger {
  // Set to a time that cannot be: it is as wrong as before, or worse.
  if (wallMs < plausibleMs) return { ...ledger, isBelieved: false };
  const { day: before, carriedMs } = ledger;
  const day = dayOf(wallMs);
  const believed = { ...ledger, isBelieved: true, seenMs: wallMs, doubtedMs: 0 };
  if (day === before) return believed;
  const days = new Map(ledger.days).set(before, Math.max(0, usedOn(ledger, before) - carriedMs));
  return { ...believed, day, days: days.set(day, usedOn(ledger, day) + carriedMs) };
}

/** The clock went on by itself. */
function pass(ledger: Ledger, { wallMs }: Reading, upMs: number, dayOf: DayOf): Ledger {
  const isBelieved = ledger.isBelieved || (wallMs >= plausibleMs && wallMs >= ledger.seenMs);
  if (isBelieved)
    return { ...passMidnight(ledger, dayOf(wallMs)), isBelieved, seenMs: Math.max(wallMs, ledger.seenMs) };
  const doubtedMs = ledger.doubtedMs + upMs;
  if (doubtedMs < dayMs) return { ...ledger, doubtedMs };
  const days = new Map(ledger.days).set(ledger.day, 0);
  return { ...ledger, days, doubtedMs: 0, carriedMs: 0 };
}

/** A day never goes back by itself: another time zone opens none twice. */
function passMidnight(ledger: Ledger, day: string): Ledger {
  return day > ledger.day ? { ...ledger, day, carriedMs: 0, doubtedMs: 0 } : ledger;
}
