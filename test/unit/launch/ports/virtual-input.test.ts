/**
 * Macros on virtual devices: they run one after another, every key is released however a macro ends, and all share one
 * device.
 */
import { expect, test } from "bun:test";
import { ServiceError } from "../../../../src/core/errors.ts";
import { macrosWaitingMax } from "../../../../src/core/limits.ts";
import { silentLog } from "../../../../src/core/log.ts";
import type { InputDevice, InputDeviceShape, InputKind } from "../../../../src/core/operating-system.ts";
import { createVirtualInput } from "../../../../src/launch/ports/virtual-input.ts";
import { gamepad, keyboard } from "../../../../src/script/input-keys.ts";
import { readMacro } from "../../../../src/script/input-macro.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const never = new AbortController().signal;
const always = () => true;

function steps(kind: InputKind, text: string) {
  const macro = readMacro(text, { keyboard, gamepad }[kind]);
  if (macro.kind === "error") throw new Error(macro.message);
  return macro.steps;
}

/** Continues everything that waits for a promise, or for a timer that is due. */
async function pass(clock: ReturnType<typeof createManualClock>, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await Bun.sleep(0);
    clock.advance(10);
  }
  await Bun.sleep(0);
}

function bench({ refusals = 0 } = {}) {
  const clock = createManualClock();
  const said: string[] = [];
  const permission = { isGiven: true };
  let refused = 0;
  let isGone = false;
  const open = async ({ name }: InputDeviceShape): Promise<InputDevice> => {
    if (refused++ < refusals) throw new ServiceError("failed", "there is no /dev/uinput");
    said.push(`open ${name}`);
    isGone = false;
    return {
      turn(codes, isDown) {
        if (isGone) throw new ServiceError("failed", "the device is gone");
        said.push(...codes.map((code) => `${isDown ? "+" : "-"}${code}`));
      },
      close: () => void said.push("close"),
    };
  };
  const input = createVirtualInput({ open, isAllowed: () => permission.isGiven, clock, log: silentLog });
  return { clock, said, input, permission, pull: () => (isGone = true) };
}

test("macros that come together are played one after another, on a device that is made once", async () => {
  const { clock, said, input } = bench();
  const all = Promise.all([
    input.play("keyboard", steps("keyboard", "{ctrl+c}"), never),
    input.play("keyboard", steps("keyboard", "a"), never),
  ]);
  await pass(clock, 300);
  await all;
  expect(said.join(" ")).toBe("open Tapdeck keyboard +29 +46 -46 -29 +30 -30");
});

test("nothing is pressed without permission, which is asked for at each use", async () => {
  const { clock, said, input, permission } = bench();
  permission.isGiven = false;
  const key = steps("keyboard", "a");
  const refusal = { code: "forbidden", message: expect.stringContaining("script.allow_input = true") };
  await expect(input.play("keyboard", key, never)).rejects.toMatchObject(refusal);
  await expect(input.playText("gamepad", "A", always)).rejects.toMatchObject(refusal);
  await expect(input.playText("keyboard", "{entr}", always)).rejects.toMatchObject(refusal);
  expect(said).toEqual([]);
  permission.isGiven = true;
  const first = input.play("keyboard", key, never);
  const second = input.play("keyboard", key, never);
  // The second macro waits for its turn, and is refused then.
  await pass(clock, 1);
  permission.isGiven = false;
  await Promise.all([pass(clock, 300), first, expect(second).rejects.toMatchObject(refusal)]);
  expect(said.join(" ")).toBe("open Tapdeck keyboard +30 -30");
});

test("keyboard and gamepad are two devices, and play side by side", async () => {
  const { clock, said, input } = bench();
  const all = Promise.all([input.playText("keyboard", "a", always), input.playText("gamepad", "A", always)]);
  await pass(clock, 200);
  await all;
  expect(said.filter((line) => line.startsWith("open"))).toEqual([
    "open Tapdeck keyboard",
    "open Tapdeck gamepad",
  ]);
  // A is BTN_EAST; it is pressed before the keyboard's key is released.
  expect(said).toContain("+305");
  expect(said.indexOf("+305")).toBeLessThan(said.indexOf("-30"));
});

test("a macro that is stopped lets go of its keys, and the device serves the next one", async () => {
  const { clock, said, input } = bench();
  const ending = new AbortController();
  const playing = input.play("keyboard", steps("keyboard", "{_shift}{hold:a:10s}"), ending.signal);
  await pass(clock, 500);
  ending.abort(new ServiceError("failed", "it was stopped"));
  await expect(playing).rejects.toThrow("it was stopped");
  expect(said.join(" ")).toBe("open Tapdeck keyboard +42 +30 -30 -42");
  const next = input.playText("keyboard", "b", always);
  await pass(clock, 200);
  await next;
  expect(said.slice(-2)).toEqual(["+48", "-48"]);
});

test("keys of a caller that was revoked, or that the owner forbids meanwhile, go on for minutes", async () => {
  const { clock, said, input, permission } = bench();
  let mayPress = true;
  const refusal = expect.objectContaining({ code: "forbidden" });
  const first = input.playText("keyboard", "{_shift}{hold:a:5s}bbbb", () => mayPress).catch((error) => error);
  const waits = input.playText("keyboard", "cc", () => mayPress).catch((error) => error);
  const other = input.playText("keyboard", "{hold:d:5s}ee", always).catch((error) => error);
  await pass(clock, 500);
  mayPress = false;
  await pass(clock, 5500);
  expect([await first, await waits]).toEqual([refusal, refusal]);
  permission.isGiven = false;
  await pass(clock, 6000);
  expect(await other).toEqual(refusal);
  // All keys are released, and the device stays for other macros.
  expect(said.join(" ")).toBe("open Tapdeck keyboard +42 +30 -30 -42 +32 -32");
});

test("if no device can be made, that is reported, and tried again for the next macro", async () => {
  const { clock, said, input } = bench({ refusals: 1 });
  await expect(input.playText("keyboard", "a", always)).rejects.toThrow("there is no /dev/uinput");
  const next = input.playText("keyboard", "a", always);
  await pass(clock, 200);
  await next;
  expect(said).toEqual(["open Tapdeck keyboard", "+30", "-30"]);
});

test("a device that went away is made again for the next macro", async () => {
  const { clock, said, input, pull } = bench();
  const first = input.playText("keyboard", "a", always);
  await pass(clock, 200);
  await first;
  pull();
  await expect(input.playText("keyboard", "a", always)).rejects.toThrow("the device is gone");
  const next = input.playText("keyboard", "b", always);
  await pass(clock, 200);
  await next;
  expect(said).toEqual([
    "open Tapdeck keyboard",
    "+30",
    "-30",
    "close",
    "open Tapdeck keyboard",
    "+48",
    "-48",
  ]);
});

test("only so many macros wait, and text that nothing can press is refused before any key", async () => {
  const { clock, said, input } = bench();
  const macro = steps("keyboard", "a");
  const waiting = Array.from({ length: macrosWaitingMax }, () => input.play("keyboard", macro, never));
  const refused = await input.play("keyboard", macro, never).catch((error) => error);
  expect(refused).toMatchObject({ code: "busy", data: { limit: "macrosWaitingMax" } });
  await expect(input.playText("gamepad", "ABC", always)).rejects.toMatchObject({ code: "invalid-params" });
  await pass(clock, 200 * macrosWaitingMax);
  await Promise.all(waiting);
  expect(said.filter((line) => line === "+30")).toHaveLength(macrosWaitingMax);
});

test("closing ends what is played and takes the devices away", async () => {
  const { clock, said, input } = bench();
  const playing = input.playText("gamepad", "{hold:A:10s}", always);
  await pass(clock, 100);
  input.close();
  await expect(playing).rejects.toThrow("the service is stopping");
  expect(said).toContain("close");
  await expect(input.playText("gamepad", "A", always)).rejects.toThrow("the service is stopping");
});
