/**
 * Stops the media after a time that a card or a phone has set, so that somebody can fall asleep to them. The sound
 * fades out before.
 */
import { type Clock, rfc3339 } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";

interface SleepTimerParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the player as at the end of the media: positions and states are kept. */
  readonly stopMedia: (why: string) => void;
  /** Sets the player to a share of the volume that it had before the fade, from 0 to 1. */
  readonly fade: (share: number) => Promise<void>;
  /** Milliseconds on a clock that only goes forward: a board without a battery sets its clock after the start. */
  readonly elapsedMs?: () => number;
}

const fadeMs = 20_000; // The fade is long, so nobody is woken by a sudden silence.
const stepMs = 1000;

export type SleepTimer = ReturnType<typeof createSleepTimer>;

/** A timer that stops the media. At most one timer runs, and it ends when this object is disposed. */
export function createSleepTimer({ clock, log, stopMedia, fade, ...parts }: SleepTimerParts) {
  const elapsedMs = parts.elapsedMs ?? (() => performance.now());
  let running: { readonly ms: number; readonly endsMs: number } | undefined;
  let timer: Disposable | undefined;
  let isFading = false;
  const fadeTo = (share: number) => {
    isFading = share < 1;
    fade(share).catch((error) => log.debug("sleep", "the media do not fade", { error: messageOf(error) }));
  };
  /** The end by the wall clock as it is now. */
  const endsAt = () =>
    running === undefined ? undefined : rfc3339(clock.now() + running.endsMs - elapsedMs());
  const cancel = () => {
    timer?.[Symbol.dispose]();
    running = undefined;
    if (isFading) fadeTo(1);
  };
  const end = () => {
    running = undefined;
    isFading = false;
    stopMedia("the sleep timer has ended");
  };
  /** Makes the next step of the fade. The fade takes `ofMs` in total, of which `leftMs` are left. */
  const lower = (leftMs: number, ofMs: number) => {
    if (leftMs < stepMs) return end();
    fadeTo((leftMs - stepMs) / ofMs);
    timer = clock.after(stepMs, () => lower(leftMs - stepMs, ofMs));
  };
  /** Sets a time, which replaces a running one; 0 ends it. */
  const set = (ms: number) => {
    cancel();
    if (ms <= 0) return log.info("sleep", "no timer runs");
    running = { ms, endsMs: elapsedMs() + ms };
    // A short timer fades for a third of its time, in whole steps.
    const ofMs = Math.min(fadeMs, Math.floor(ms / 3 / stepMs) * stepMs);
    timer = clock.after(ms - ofMs, () => lower(ofMs, ofMs));
    log.info("sleep", "the media stop", { at: endsAt() ?? "" });
  };
  return {
    set,
    /** Like `set`, but the same time as before ends the timer, so a second tap of a card cancels the first one. */
    toggle: (ms: number) => set(running?.ms === ms ? 0 : ms),
    /** The end of the time in RFC 3339; undefined if no time runs. */
    endsAt,
    [Symbol.dispose]: cancel,
  };
}
