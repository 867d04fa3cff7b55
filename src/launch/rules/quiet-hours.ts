/** Quiet hours: times of day in which the owner's ceiling of the volume is lower. */
import type { Config } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { minuteOf, minuteOfDay } from "../../core/local-time.ts";

type QuietConfig = Pick<Config, "audio" | "device">;

/** The highest volume at this time, in percent. */
export function volumeCeiling({ audio, device }: QuietConfig, nowMs: number): number {
  const isQuiet = minutesToQuiet({ audio, device }, nowMs) === 0;
  return isQuiet ? Math.min(audio.volumeMax, audio.quietVolumeMax) : audio.volumeMax;
}

const dayMinutes = 24 * 60;

/** 0 within quiet hours; undefined without any. */
function minutesToQuiet({ audio, device }: QuietConfig, nowMs: number): number | undefined {
  const from = minuteOf(audio.quietFrom);
  const until = minuteOf(audio.quietUntil);
  if (from === undefined || until === undefined || from === until) return undefined;
  const now = minuteOfDay(nowMs, device.timeZone);
  const since = (now - from + dayMinutes) % dayMinutes;
  return since < (until - from + dayMinutes) % dayMinutes ? 0 : dayMinutes - since;
}

interface QuietHoursParts {
  readonly config: () => QuietConfig;
  readonly clock: Clock;
  /** Turns what plays down to the ceiling. */
  readonly hold: () => void;
}

const minuteMs = 60_000;
// The clock may be set meanwhile, and days of a change to summer time are shorter.
const lookAgainMinutes = 60;

/** Turns what plays down when quiet hours begin; without any it does nothing. To be configured after each change of settings. */
export function followQuietHours({ config, clock, hold }: QuietHoursParts) {
  let timer: Disposable | undefined;
  let wasQuiet = false;
  const look = () => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const minutes = minutesToQuiet(config(), clock.now());
    if (minutes === 0 && !wasQuiet) hold();
    wasQuiet = minutes === 0;
    if (minutes !== undefined)
      timer = clock.after(Math.max(1, Math.min(minutes || 1, lookAgainMinutes)) * minuteMs, look);
  };
  look();
  return { configure: look, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
