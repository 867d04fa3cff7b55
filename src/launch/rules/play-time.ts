/**
 * Limits the play time of a day and of a session. Warnings come before the end; at the end the player is stopped, and starts
 * are refused until there is time again. Pauses that the player reports do not count. The ledger counts and writes only with a
 * limit, at most once a minute, and only while media play or after a save that failed. The ledger is opened when it is first
 * needed, and not during the start, because the first use of a time zone takes a seventh of a start.
 */
import { uptime } from "node:os";
import type { Bus } from "../../bus.ts";
import type { PlayTimeLimits } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { PlayRecord } from "../../core/playback.ts";
import { shortDuration } from "../../core/text.ts";
import { advanceLedger, type DayOf, type Ledger, openLedger, resetSession, usedOn } from "./play-ledger.ts";

interface PlayTimeParts {
  readonly limits: () => PlayTimeLimits;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: { read(): PlayRecord | undefined; save(record: PlayRecord): void };
  /** Ends the player. */
  readonly stopMedia: (why: string) => void;
  /** Milliseconds on a monotonic clock that stops while the machine sleeps. */
  readonly elapsedMs?: () => number;
  /** Milliseconds since the start of the machine, sleep included. */
  readonly uptimeMs?: () => number;
  readonly dayOf: DayOf;
}

type Limit = "day" | "session";

export type PlayTimeLimiter = ReturnType<typeof createPlayTime>;

const minuteMs = 60_000;
const saveEveryMs = minuteMs;
/** The service has answered its first caller by then. With a limit, the ledger is opened so early because a tap needs it. */
const openMs = 1000;

/** Listens until disposed, and then saves the ledger. */
export function createPlayTime(parts: PlayTimeParts) {
  const { limits, bus, clock, log, store, stopMedia } = parts;
  const elapsedMs = parts.elapsedMs ?? (() => performance.now());
  const uptimeMs = parts.uptimeMs ?? (() => uptime() * 1000);
  const { dayOf } = parts;
  const read = () => ({ wallMs: clock.now(), uptimeMs: uptimeMs() });
  const first = read();
  let opened: Ledger | undefined;
  /** The time up to which play is counted; undefined while nothing plays, or it is paused. */
  let countedMs: number | undefined;
  let savedMs = Number.NEGATIVE_INFINITY;
  let isDirty = false;
  let timer: Disposable | undefined;
  const warned: Record<Limit, number> = { day: Number.POSITIVE_INFINITY, session: Number.POSITIVE_INFINITY };

  const isLimited = () => {
    const { limitsEnabled, dailyMinutes, sessionMinutes } = limits();
    return limitsEnabled && (dailyMinutes > 0 || sessionMinutes > 0);
  };
  let isOn = isLimited();
  const count = () => {
    const nowMs = elapsedMs();
    const playedMs = countedMs === undefined || !isOn ? 0 : nowMs - countedMs;
    isDirty ||= playedMs > 0;
    const ledger = advanceLedger(opened ?? openLedger(store.read(), first, dayOf), read(), playedMs, dayOf);
    // While media play, a sleep of the machine is no pause.
    opened = countedMs === undefined ? resetSession(ledger, resetMs()) : ledger;
    if (countedMs !== undefined) countedMs = nowMs;
    return opened;
  };
  const resetMs = () => limits().sessionResetMinutes * minuteMs;
  const save = (ledger: Ledger) => {
    isDirty = false;
    savedMs = elapsedMs();
    try {
      store.save(ledger);
    } catch (error) {
      // A full disk must not stop the player. The save is tried again in the next minute, even if nothing plays at that
      // time.
      isDirty = true;
      log.warn("playtime", "could not be saved", { error: messageOf(error) });
    }
  };
  const warn = (limit: Limit, leftMs: number) => {
    const due = limits().warningMinutes.filter((minutes) => leftMs <= minutes * minuteMs);
    const nearest = leftMs <= 0 ? 0 : Math.min(...due, Number.POSITIVE_INFINITY);
    const isNews = nearest < warned[limit];
    warned[limit] = nearest;
    if (!isNews) return;
    bus.emit("playtime.warning", { limit, minutesLeft: Math.ceil(Math.max(0, leftMs) / minuteMs) });
    if (nearest === 0) bus.emit("playtime.limit.reached", { reason: limit === "day" ? "daily" : "session" });
    else {
      const remaining = shortDuration(Math.ceil(leftMs / 1000));
      bus.emit("playtime.limit.warning", { interval: shortDuration(nearest * 60), remaining });
    }
  };
  const look = () => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const ledger = count();
    const left = isOn ? leftOf(ledger, limits()) : {};
    const isPlaying = countedMs !== undefined;
    if (isPlaying && left.day !== undefined) warn("day", left.day);
    if (isPlaying && left.session !== undefined) warn("session", left.session);
    if (isDirty && elapsedMs() - savedMs >= saveEveryMs) save(ledger);
    const why = isOn ? refusalOf(ledger, limits()) : undefined;
    if (isPlaying && why !== undefined) stopMedia(why);
    const waitMs = nextLook(left, isPlaying && isOn && why === undefined);
    if (waitMs !== undefined) timer = clock.after(waitMs, look);
  };
  /** Milliseconds until the next warning, end or save; undefined if there is none. */
  const nextLook = (left: Left, isCounting: boolean): number | undefined => {
    const saveMs = isDirty ? savedMs + saveEveryMs - elapsedMs() : isCounting ? saveEveryMs : undefined;
    if (saveMs === undefined || !isCounting) return saveMs;
    const ends = [left.day, left.session].filter((ms) => ms !== undefined);
    const warnings = ends.flatMap((ms) => limits().warningMinutes.map((minutes) => ms - minutes * minuteMs));
    const waits = [saveMs, ...ends, ...warnings].filter((ms) => ms > 0);
    return Math.max(1, Math.ceil(Math.min(...waits)));
  };
  const begin = () => {
    count();
    countedMs = elapsedMs();
    if (isOn) look();
  };
  const rest = () => {
    count();
    countedMs = undefined;
    if (isDirty) look();
    else timer?.[Symbol.dispose]();
  };
  const openIfClosed = () => {
    if (opened === undefined) count();
  };
  const opening = isOn ? clock.after(openMs, openIfClosed) : undefined;
  const listening = [
    bus.on("media.started", begin),
    bus.on("media.resumed", begin),
    bus.on("media.paused", rest),
    bus.on("media.stopped", rest),
  ];
  return {
    /** The reason why nothing may start now; undefined if media may start. */
    refusal(): string | undefined {
      return isOn ? refusalOf(count(), limits()) : undefined;
    },
    /** The state for the API. `remainingMs` is absent without a limit. */
    state() {
      const ledger = count();
      const left = isOn ? leftOf(ledger, limits()) : {};
      const { day, isBelieved } = ledger;
      return {
        enabled: isOn,
        limits: limits(),
        day: { date: day, ...accountOf(usedOn(ledger, day), left.day) },
        session: accountOf(ledger.sessionMs, left.session),
        /** False while the wall clock shows an impossible time. */
        clockBelieved: isBelieved,
      };
    },
    /** Applies changed limits at once. */
    configure() {
      // The time until now counts by the old limits.
      count();
      isOn = isLimited();
      look();
    },
    [Symbol.dispose]() {
      for (const one of listening) one[Symbol.dispose]();
      opening?.[Symbol.dispose]();
      timer?.[Symbol.dispose]();
      if (opened === undefined) return;
      const ledger = count();
      if (isDirty) save(ledger);
    },
  };
}

/** Milliseconds left for each limit, below 0 if more was played. A limit that is not set is absent. */
type Left = Partial<Readonly<Record<Limit, number>>>;

function leftOf(ledger: Ledger, { dailyMinutes, sessionMinutes }: PlayTimeLimits): Left {
  return {
    ...(dailyMinutes === 0 ? {} : { day: dailyMinutes * minuteMs - usedOn(ledger, ledger.day) }),
    ...(sessionMinutes === 0 ? {} : { session: sessionMinutes * minuteMs - ledger.sessionMs }),
  };
}

function refusalOf(ledger: Ledger, limits: PlayTimeLimits): string | undefined {
  const { day, session } = leftOf(ledger, limits);
  if (day !== undefined && day <= 0)
    return `today's play time of ${minutesOf(limits.dailyMinutes)} is used up: there is more tomorrow`;
  if (session !== undefined && session <= 0)
    return `the play time of ${minutesOf(limits.sessionMinutes)} is used up: there is more after a pause of ${minutesOf(limits.sessionResetMinutes)}`;
  return undefined;
}

function minutesOf(count: number): string {
  return count === 1 ? "1 minute" : `${count} minutes`;
}

function accountOf(usedMs: number, leftMs: number | undefined) {
  const left = leftMs === undefined ? {} : { remainingMs: Math.max(0, Math.round(leftMs)) };
  return { usedMs: Math.round(usedMs), ...left };
}
