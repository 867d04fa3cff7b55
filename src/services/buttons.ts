/**
 * Buttons, keys and knobs of the case, which run scripts as a card on the device would. Without `[[buttons]]` no device is opened and
 * no folder is watched.
 */
import type { ButtonConfig } from "../config/button-settings.ts";
import { type ButtonCode, buttonCode } from "../core/button-codes.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { knobStepsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { OpenButtons } from "../core/operating-system.ts";
import { followInputDevices, isOwnDevice } from "./input-devices.ts";

/** The names of power keys on pins and of cases, but not those of keyboards and remote controls. */
const powerDevices = ["*button*", "gpio*"] as const;
const power = buttonCode("KEY_POWER");

/**
 * If a card may switch the machine off, the power key of the case may also do so, unless the settings give the key
 * another script.
 */
export function withPowerKey(
  buttons: readonly ButtonConfig[],
  canSwitchOff: boolean,
): readonly ButtonConfig[] {
  if (!canSwitchOff || power === undefined || buttons.some(({ code }) => code.code === power.code))
    return buttons;
  return [...buttons, ...powerDevices.map((device) => ({ device, code: power, script: "**shutdown" }))];
}

export interface ButtonsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly open: OpenButtons;
  readonly launch: (script: string) => void;
  /** The folder of the device nodes. */
  readonly folder?: string;
}

export interface Buttons extends Disposable {
  /** Runs the scripts of these buttons from now on. */
  configure(buttons: readonly ButtonConfig[]): void;
  /**
   * The next press or turn on any input device except those of macros; undefined if `signal` aborts first, or if media
   * begin to play. Until then, no button runs its script.
   */
  learn(signal: AbortSignal, playing: () => unknown): Promise<TaughtButton | undefined>;
  /** True during `learn`, and a moment after its press. A press at this time has no other effect. */
  isTeaching(): boolean;
}

export interface TaughtButton {
  /** The name of the device as the kernel reports it. */
  readonly device: string;
  readonly code: ButtonCode;
}

/** After a teaching, no press has an effect for this time. Each part reads the devices itself, so others read its press later. */
export const teachingQuietMs = 500;

/** Movements of mice and touch pads, which come without a wish of a person. */
const movements: ReadonlySet<number> = new Set([0, 1, 11, 12]); // The codes of REL_X, REL_Y, and of the wheels of high resolution.
const touches: ReadonlySet<number> = new Set([320, 325, 330, 333, 334, 335]); // The codes of BTN_TOOL_*, BTN_TOUCH and of taps of fingers.

export function followButtons({ clock, log, open, launch, folder = "/dev/input" }: ButtonsOptions): Buttons {
  let wanted: readonly ButtonConfig[] = [];

  let teachings = 0;
  const press = (script: string) => {
    if (teachings > 0) return;
    try {
      launch(script);
    } catch (error) {
      log.warn("buttons", messageOf(error), { script });
    }
  };
  const openOne = (path: string, gone: () => void) => {
    let mine: readonly ButtonConfig[] = [];
    return open(
      path,
      ({ name, has }) => {
        if (isOwnDevice(name)) return false;
        mine = wanted.filter(({ device: glob = "*", code }) => has(code) && fits(glob, name));
        return mine.length > 0;
      },
      {
        event({ kind, code, steps }) {
          const way = Math.sign(steps);
          const found = mine.find(
            (one) => one.code.kind === kind && one.code.code === code && one.code.way === way,
          );
          const times = Math.min(Math.abs(steps), knobStepsMax);
          if (found !== undefined) for (let time = 0; time < times; time++) press(found.script);
        },
        gone,
      },
    );
  };
  const devices = followInputDevices({ clock, log, part: "buttons", open: openOne, folder });
  const learn = (signal: AbortSignal, playing: () => unknown) =>
    new Promise<TaughtButton | undefined>((resolve) => {
      const end = (taught?: TaughtButton) => {
        all.rest();
        signal.removeEventListener("abort", onAbort);
        resolve(playing() === undefined ? taught : undefined);
      };
      const onAbort = () => end();
      const openAny = (path: string, gone: () => void) => {
        let device = "";
        return open(
          path,
          ({ name }) => {
            device = name;
            return !isOwnDevice(name);
          },
          {
            event({ kind, code, steps }) {
              if (kind === "turn" ? movements.has(code) : touches.has(code)) return;
              end({ device, code: { kind, code, way: Math.sign(steps) } });
            },
            gone,
          },
        );
      };
      const all = followInputDevices({ clock, log, part: "buttons", open: openAny, folder });
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) return end();
      all.hear();
    });
  return {
    async learn(signal, playing) {
      teachings += 1;
      const end = () => {
        teachings -= 1;
      };
      try {
        return await learn(signal, playing);
      } finally {
        if (signal.aborted) end();
        else clock.after(teachingQuietMs, end);
      }
    },
    isTeaching: () => teachings > 0,
    configure(buttons) {
      if (Bun.deepEquals(buttons, wanted)) return;
      wanted = buttons;
      devices.rest();
      if (wanted.length > 0) devices.hear();
    },
    [Symbol.dispose]() {
      wanted = [];
      devices.rest();
    },
  };
}

/** True if the name matches. `*` stands for any characters, and case does not matter. */
function fits(glob: string, name: string): boolean {
  const parts = glob.toLowerCase().split("*");
  const text = name.toLowerCase();
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (parts.length === 1) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
