/** Buttons of the case over a folder of nodes; the devices behind them are those of the test. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buttonsOf } from "../../../src/config/button-settings.ts";
import { SettingError } from "../../../src/config/checks.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createLog, silentLog } from "../../../src/core/log.ts";
import type { ButtonEvent, OpenButtons } from "../../../src/core/operating-system.ts";
import { type Buttons, followButtons, withPowerKey } from "../../../src/services/buttons.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

interface FakeDevice {
  readonly name: string;
  readonly codes: readonly number[];
}

const [volumeUp, power, dial] = [115, 116, 7];
let folder = "";
let buttons: Buttons;
const launched: string[] = [];
const logged: string[] = [];
const open = new Map<string, Parameters<OpenButtons>[2]>();
const devices = new Map<string, FakeDevice>();

const openDevice: OpenButtons = (path, isWanted, listener) => {
  const device = devices.get(path);
  if (device === undefined) return undefined;
  const { name, codes } = device;
  if (!isWanted({ name, has: ({ code }) => codes.includes(code) })) return undefined;
  open.set(path, listener);
  return { name, close: () => void open.delete(path) };
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-buttons-"));
  launched.length = logged.length = 0;
  open.clear();
  devices.clear();
  buttons = followButtons({
    clock: systemClock,
    log: createLog({ debug: false, write: (line) => logged.push(line) }),
    open: openDevice,
    folder,
    launch(script) {
      if (script === "**busy") throw new Error("the queue is full");
      launched.push(script);
    },
  });
});
afterEach(async () => {
  buttons[Symbol.dispose]();
  await rm(folder, { recursive: true });
});

async function plug(node: string, device: FakeDevice): Promise<string> {
  const path = join(folder, node);
  devices.set(path, device);
  await writeFile(path, "");
  return path;
}

const press = (path: string, code: number) => tell(path, { kind: "key", code, steps: 1 });
const tell = (path: string, event: ButtonEvent) => open.get(path)?.event(event);

test("a key, and each step of a knob, runs its script; other devices are not opened", async () => {
  const keys = await plug("event0", { name: "gpio-keys", codes: [volumeUp, power] });
  const knob = await plug("event1", { name: "rotary@11", codes: [dial] });
  const other = await plug("event2", { name: "Some keyboard", codes: [30] });
  buttons.configure(
    buttonsOf([
      { key: "KEY_VOLUMEUP", script: "**volume:+5" },
      { key: "REL_DIAL+", script: "**volume:+1" },
      { key: "REL_DIAL-", script: "**volume:-1" },
      { key: "KEY_POWER", script: "**busy" },
    ]),
  );
  press(keys, volumeUp);
  tell(knob, { kind: "turn", code: dial, steps: -2 });
  tell(knob, { kind: "turn", code: dial, steps: 100 });
  press(keys, power);
  expect(launched).toEqual(["**volume:+5", "**volume:-1", "**volume:-1", ...Array(4).fill("**volume:+1")]);
  expect(open.has(other)).toBe(false);
  expect(logged.at(-1)).toContain("the queue is full");
});

test("only the device that is named is heard, and never one of a macro", async () => {
  const cased = await plug("event0", { name: "Case Buttons v2", codes: [power] });
  const board = await plug("event1", { name: "Keyboard", codes: [power] });
  const own = await plug("event2", { name: "Tapdeck keyboard", codes: [power] });
  buttons.configure(buttonsOf([{ device: "case*buttons*", key: "KEY_POWER", script: "**shutdown" }]));
  expect([open.has(cased), open.has(board)]).toEqual([true, false]);
  buttons.configure(buttonsOf([{ key: "KEY_POWER", script: "**shutdown" }]));
  expect([open.has(cased), open.has(board), open.has(own)]).toEqual([true, true, false]);
});

test("a device that is plugged in later is heard, and one that is gone is heard again", async () => {
  buttons.configure(buttonsOf([{ key: "KEY_POWER", script: "**stop" }]));
  const path = await plug("event3", { name: "USB keypad", codes: [power] });
  await eventually(() => expect(open.has(path)).toBe(true));
  open.get(path)?.gone();
  expect(open.has(path)).toBe(false);
  await writeFile(join(folder, "event3.changed"), "");
  await eventually(() => expect(open.has(path)).toBe(true));
});

test("the first device of all, and one that came back after the last was unplugged, were not heard", async () => {
  // The kernel has the folder only as long as there is an input device.
  await rm(folder, { recursive: true });
  buttons.configure(buttonsOf([{ key: "KEY_POWER", script: "**stop" }]));
  for (let times = 0; times < 2; times++) {
    await mkdir(folder);
    const path = await plug("event0", { name: "USB keypad", codes: [power] });
    await eventually(() => expect(open.has(path)).toBe(true));
    open.get(path)?.gone();
    await rm(folder, { recursive: true });
  }
  await mkdir(folder);
});

test("the power key of a case switches the machine off, unless the settings give it a script", () => {
  const own = buttonsOf([{ key: "KEY_POWER", script: "**stop" }]);
  expect(withPowerKey([], false)).toEqual([]);
  expect(withPowerKey(own, true)).toBe(own);
  const code = { kind: "key" as const, code: power, way: 1 };
  expect(withPowerKey([], true)).toEqual([
    { device: "*button*", code, script: "**shutdown" },
    { device: "gpio*", code, script: "**shutdown" },
  ]);
});

test("the next press on any device but those of macros is taught, and no script runs until then", async () => {
  const keys = await plug("event0", { name: "gpio-keys", codes: [volumeUp] });
  const pad = await plug("event1", { name: "USB keypad", codes: [30, dial] });
  const own = await plug("event2", { name: "Tapdeck gamepad", codes: [power] });
  buttons.configure(buttonsOf([{ key: "KEY_VOLUMEUP", script: "**volume:+5" }]));
  const hearing = open.get(keys);
  const ending = new AbortController();
  const taught = buttons.learn(ending.signal, () => undefined);
  expect([open.has(pad), open.has(own)]).toEqual([true, false]);
  hearing?.event({ kind: "key", code: volumeUp, steps: 1 });
  // A mouse that moves, and a finger on its pad.
  tell(pad, { kind: "turn", code: 0, steps: 4 });
  press(pad, 330);
  tell(pad, { kind: "turn", code: dial, steps: -3 });
  press(pad, 30);
  expect(await taught).toEqual({ device: "USB keypad", code: { kind: "turn", code: dial, way: -1 } });
  expect(open.has(pad)).toBe(false);
  expect(launched).toEqual([]);
});

test("a press that was taught also ran the script that the button had, if the kernel told of it a moment later", async () => {
  const clock = createManualClock();
  using mine = followButtons({
    clock,
    log: silentLog,
    open: openDevice,
    folder,
    launch: (script) => void launched.push(script),
  });
  const keys = await plug("event0", { name: "gpio-keys", codes: [volumeUp] });
  mine.configure(buttonsOf([{ key: "KEY_VOLUMEUP", script: "**volume:+5" }]));
  // The device is open twice, and each of the two has the event.
  const hearing = open.get(keys);
  const taught = mine.learn(new AbortController().signal, () => undefined);
  expect(mine.isTeaching()).toBe(true);
  press(keys, volumeUp);
  await taught;
  hearing?.event({ kind: "key", code: volumeUp, steps: 1 });
  expect([launched, mine.isTeaching()]).toEqual([[], true]);
  clock.advance(500);
  hearing?.event({ kind: "key", code: volumeUp, steps: 1 });
  expect([launched, mine.isTeaching()]).toEqual([["**volume:+5"], false]);
});

test("a teaching ends without a press, and one during which media began tells nothing", async () => {
  const pad = await plug("event1", { name: "USB keypad", codes: [30] });
  const ending = new AbortController();
  const none = buttons.learn(ending.signal, () => undefined);
  ending.abort();
  expect(await none).toBeUndefined();
  expect(buttons.isTeaching()).toBe(false);
  expect(open.has(pad)).toBe(false);
  const late = buttons.learn(new AbortController().signal, () => "media");
  press(pad, 30);
  expect(await late).toBeUndefined();
  expect(await buttons.learn(AbortSignal.abort(), () => undefined)).toBeUndefined();
});

test("without buttons nothing is opened, and what was open is closed", async () => {
  const path = await plug("event0", { name: "gpio-keys", codes: [power] });
  buttons.configure(buttonsOf([{ key: "KEY_POWER", script: "**stop" }]));
  expect(open.has(path)).toBe(true);
  buttons.configure([]);
  expect(open.has(path)).toBe(false);
  // Events of new devices are read again after that.
  buttons.configure(buttonsOf([{ key: "KEY_VOLUMEUP", script: "**volume:+5" }]));
  const later = await plug("event1", { name: "Later", codes: [volumeUp] });
  await eventually(() => expect(open.has(later)).toBe(true));
});

test.each([
  [[{ key: "KEY_VOLUMEUPP", script: "**stop" }], "did you mean KEY_VOLUMEUP?"],
  [[{ key: "KEY_POWER" }], "buttons.script"],
  [[{ key: "KEY_POWER", script: "**stop", pin: 3 }], "pin"],
  [{ key: "KEY_POWER", script: "**stop" }, "[[buttons]]"],
  [Array(65).fill({ key: "KEY_POWER", script: "**stop" }), "64"],
])("%j is refused with a sentence", (value, words) => {
  const read = () => buttonsOf(value);
  expect(read).toThrow(SettingError);
  expect(read).toThrow(words);
});
