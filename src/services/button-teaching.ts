/** The buttons of the settings, as an owner teaches them by a press. */
import type { MethodCaller } from "../api/connection.ts";
import type { Services } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import type { ButtonChange } from "../config/button-edit.ts";
import type { Config } from "../config/shape.ts";
import { buttonCode, buttonName, buttonNames } from "../core/button-codes.ts";
import type { Clock } from "../core/clock.ts";
import { coded, limitReached, ServiceError } from "../core/errors.ts";
import { buttonsMax, buttonTeachingsPerHourMax } from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import type { Buttons } from "./buttons.ts";

interface TeachingParts {
  readonly settings: {
    current(): Pick<Config, "buttons">;
    changeButton(change: ButtonChange): Promise<void>;
  };
  readonly buttons: Pick<Buttons, "learn">;
  /** The media that plays; undefined for none. Its player may use any input device. */
  readonly playing: () => unknown;
  readonly bus: Bus;
  readonly clock: Clock;
}

const hourMs = 3_600_000;

export function createButtonTeaching({
  settings,
  buttons,
  playing,
  bus,
  clock,
}: TeachingParts): Services["buttons"] {
  /**
   * The starts of the teachings of the last hour. Their number is limited, because each reports a key that any person presses.
   */
  let begun: readonly number[] = [];
  /** The teaching that waits for a press. */
  let waiting: AbortController | undefined;
  const refuse = () => {
    if (waiting !== undefined)
      throw coded(
        "button-taught-already",
        new ServiceError("conflict", "another caller teaches a button: try again in half a minute"),
      );
    if (playing() !== undefined)
      throw coded(
        "button-while-playing",
        new ServiceError("conflict", "its player uses the buttons: end what plays first"),
      );
    begun = begun.filter((ms) => clock.now() - ms < hourMs);
    if (begun.length >= buttonTeachingsPerHourMax)
      throw coded(
        "button-taught-often",
        limitReached("buttonTeachingsPerHourMax", "too many buttons were taught within an hour: try later"),
      );
  };
  return {
    list: () =>
      settings.current().buttons.map(({ device, code, script }) => ({
        ...(device === undefined ? {} : { device }),
        key: buttonName(code),
        script,
      })),
    async learn(caller: Pick<MethodCaller, "gone">, waitMs: number) {
      refuse();
      begun = [...begun, clock.now()];
      const ending = new AbortController();
      waiting = ending;
      using _late = clock.after(waitMs, () => ending.abort());
      using _started = bus.on("media.started", () => ending.abort());
      try {
        const heard = await buttons.learn(AbortSignal.any([ending.signal, caller.gone()]), playing);
        return heard === undefined ? {} : { device: heard.device, key: buttonName(heard.code) };
      } finally {
        waiting = undefined;
      }
    },
    cancel: () => waiting?.abort(),
    async save(button) {
      if (buttonCode(button.key) === undefined)
        throw new ServiceError(
          "invalid-params",
          `key: there is no ${button.key}${didYouMean(button.key, buttonNames)}`,
        );
      const isNew = !settings
        .current()
        .buttons.some(({ device, code }) => device === button.device && buttonName(code) === button.key);
      if (isNew && settings.current().buttons.length >= buttonsMax)
        throw limitReached("buttonsMax", `there are ${buttonsMax} buttons: remove one first`);
      await settings.changeButton(button);
    },
    remove: (place) => settings.changeButton({ ...place, script: undefined }),
  };
}
