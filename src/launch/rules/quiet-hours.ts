/** The owner's ceiling of the volume. It is lower in quiet hours, and can be lower at the place where sound plays. */
import type { Config } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { minuteOf, minuteOfDay } from "../../core/local-time.ts";
import type { SoundPlace } from "../../core/playback.ts";

type QuietConfig = Pick<Config, "audio" | "device">;

/** The highest volume at this time and at this place, in percent. */
export function volumeCeiling(
  { audio, device }: QuietConfig,
  nowMs: number,
  place: SoundPlace | undefined,
): number {
  const everywhere =
    quietNow({ audio, device }, nowMs)?.isQuiet === true
      ? Math.min(audio.volumeMax, audio.quietVolumeMax)
      : audio.volumeMax;
  return place === undefined ? everywhere : Math.min(everywhere, audio[ceilings[place]]);
}

const ceilings = {
  television: "televisionVolumeMax",
  usb: "usbVolumeMax",
  jack: "jackVolumeMax",
  bluetooth: "bluetoothVolumeMax",
} as const satisfies Record<SoundPlace, keyof Config["audio"]>;

const dayMinutes = 24 * 60;

/** Whether it is quiet now, and for how long; undefined without quiet hours. */
function quietNow({ audio, device }: QuietConfig, nowMs: number) {
  const from = minuteOf(audio.quietFrom);
  const until = minuteOf(audio.quietUntil);
  if (from === undefined || until === undefined || from === until) return undefined;
  const now = minuteOfDay(nowMs, device.timeZone);
  const since = (now - from + dayMinutes) % dayMinutes;
  const length = (until - from + dayMinutes) % dayMinutes;
  const isQuiet = since < length;
  /** `minutesLeft` is the time until quiet hours end, or until the next ones begin. */
  return { isQuiet, minutesLeft: isQuiet ? length - since : dayMinutes - since };
}

interface QuietHoursParts {
  readonly config: () => QuietConfig;
  readonly clock: Clock;
  /** Turns the current player down to the ceiling. */
  readonly hold: () => void;
}

const minuteMs = 60_000;
// A board without a battery sets its clock soon after the start, without an event.
const lookAgainMinutes = 1;

/**
 * Turns the player down when quiet hours begin; without quiet hours it does nothing. Call `configure` after each change of
 * settings.
 */
export function followQuietHours({ config, clock, hold }: QuietHoursParts) {
  let timer: Disposable | undefined;
  let wasQuiet = false;
  const look = () => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    const now = quietNow(config(), clock.now());
    const isQuiet = now?.isQuiet === true;
    if (isQuiet && !wasQuiet) hold();
    wasQuiet = isQuiet;
    if (now !== undefined) timer = clock.after(Math.min(now.minutesLeft, lookAgainMinutes) * minuteMs, look);
  };
  look();
  return { configure: look, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
