/** Teachings of buttons: one at a time, not while media play, and not more than a limit. */
import { expect, test } from "bun:test";
import { createBus } from "../../../src/bus.ts";
import { type ButtonCode, buttonCode } from "../../../src/core/button-codes.ts";
import type { ServiceError } from "../../../src/core/errors.ts";
import { buttonsMax, buttonTeachingMs, buttonTeachingsPerHourMax } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import { createButtonTeaching } from "../../../src/services/button-teaching.ts";
import type { TaughtButton } from "../../../src/services/buttons.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

interface Kept {
  readonly code: ButtonCode;
  readonly script: string;
}

function scene() {
  const clock = createManualClock();
  const bus = createBus(createLog({ debug: false, write: () => {} }));
  const kept: Kept[] = [];
  let playing: unknown;
  let next = Promise.withResolvers<TaughtButton | undefined>();
  const gone = new AbortController();
  const teaching = createButtonTeaching({
    clock,
    bus,
    playing: () => playing,
    settings: { current: () => ({ buttons: kept }), changeButton: async () => {} },
    buttons: {
      learn: (signal) => {
        next = Promise.withResolvers();
        signal.addEventListener("abort", () => next.resolve(undefined));
        return next.promise;
      },
    },
  });
  return {
    clock,
    bus,
    gone,
    teaching,
    kept,
    learn: () => teaching.learn({ gone: () => gone.signal }, buttonTeachingMs),
    press(name: string) {
      const code = buttonCode(name);
      if (code !== undefined) next.resolve({ device: "Pad", code });
    },
    play(media: unknown) {
      playing = media;
    },
  };
}

const refusalIn = ({ data }: ServiceError) => data?.refusal;

test("a press is named for the settings, and a second teaching waits for its end", async () => {
  const { learn, press } = scene();
  const first = learn();
  expect(await learn().catch(refusalIn)).toBe("button-taught-already");
  press("REL_DIAL-");
  expect(await first).toEqual({ device: "Pad", key: "REL_DIAL-" });
  const second = learn();
  press("KEY_530");
  expect(await second).toEqual({ device: "Pad", key: "KEY_530" });
});

test("a teaching ends after its time, when its caller is gone, and when media begin", async () => {
  const { clock, bus, gone, learn, play } = scene();
  const late = learn();
  clock.advance(buttonTeachingMs);
  expect(await late).toEqual({});
  const interrupted = learn();
  bus.emit("media.started", {
    systemId: "SNES",
    systemName: "SNES",
    mediaPath: "/a",
    mediaName: "a",
    launcherId: "x",
    started: "2026-01-01T00:00:00Z",
  });
  expect(await interrupted).toEqual({});
  play("media");
  expect(await learn().catch(refusalIn)).toBe("button-while-playing");
  play(undefined);
  const left = learn();
  gone.abort();
  expect(await left).toEqual({});
});

test("an owner's phone could read a password by one teaching after another", async () => {
  const { clock, learn, press } = scene();
  for (let count = 0; count < buttonTeachingsPerHourMax; count++) {
    const one = learn();
    press("KEY_A");
    await one;
  }
  const refused = await learn().catch(({ data }: ServiceError) => data);
  expect(refused).toEqual({ refusal: "button-taught-often", limit: "buttonTeachingsPerHourMax" });
  clock.advance(3_600_000);
  const again = learn();
  press("KEY_A");
  expect(await again).toEqual({ device: "Pad", key: "KEY_A" });
});

test("one button more than the most is refused, and a known one is changed all the same", async () => {
  const { teaching, kept } = scene();
  const code = buttonCode("KEY_A");
  if (code === undefined) throw new Error("KEY_A has a code");
  kept.push(...Array.from({ length: buttonsMax }, () => ({ code, script: "**stop" })));
  const refused = await teaching.save({ key: "KEY_B", script: "x" }).catch(({ data }: ServiceError) => data);
  expect(refused).toEqual({ limit: "buttonsMax" });
  await teaching.save({ key: "KEY_A", script: "x" });
  expect(teaching.list()[0]).toEqual({ key: "KEY_A", script: "**stop" });
});
