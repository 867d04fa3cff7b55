/**
 * Buttons, keys and knobs of the case, which run scripts as a card on the device would. Without `[[buttons]]` no device is opened and
 * no folder is watched.
 */
import type { ButtonConfig } from "../config/button-settings.ts";
import { buttonCode } from "../core/button-codes.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { knobStepsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { OpenButtons } from "../core/operating-system.ts";
import { followInputDevices, isOwnDevice } from "./input-devices.ts";

/** The names of power keys on pins and of cases, but not those of keyboards and remote controls. */
const powerDevices = ["*button*", "gpio*"] as const;
const power = buttonCode("KEY_POWER");

/** On a machine that a card may switch off, the power key of its case does so too, unless the settings give it another script. */
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
  /** Folder of the device nodes. */
  readonly folder?: string;
}

export interface Buttons extends Disposable {
  /** Hears these buttons from now on. */
  configure(buttons: readonly ButtonConfig[]): void;
}

export function followButtons({ clock, log, open, launch, folder = "/dev/input" }: ButtonsOptions): Buttons {
  let wanted: readonly ButtonConfig[] = [];

  const press = (script: string) => {
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
  return {
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

/** `*` stands for any characters; case does not matter. */
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
