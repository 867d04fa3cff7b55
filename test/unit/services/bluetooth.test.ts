/** Bluetooth: the reports of root's scripts, and the words that request them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bluetoothDevicesIn, bluetoothStateIn, followBluetooth } from "../../../src/services/bluetooth.ts";
import { eventually } from "../../helpers/processes.ts";

const hex = (text: string) => Buffer.from(text).toString("hex");
const pad = "00:1B:DC:00:00:02";
const keys = "00:1B:DC:00:00:03";
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-bluetooth-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the state is what the script reports, and none without a report", () => {
  expect(bluetoothStateIn("")).toEqual({ state: "none" });
  expect(bluetoothStateIn("state=off\n")).toEqual({ state: "off" });
  expect(bluetoothStateIn(`state=ready\nact=pair\naddress=${pad}\nfault=not-found\n`)).toEqual({
    state: "ready",
    address: pad,
    fault: "not-found",
  });
  expect(bluetoothStateIn(`state=pairing\nact=pair\naddress=${keys}\ncode=012345\n`)).toEqual({
    state: "pairing",
    address: keys,
    code: "012345",
  });
});

test("a report that is cut off or from another version is none", () => {
  for (const text of ["state=flying\n", "state=ready\nfault=rain\n", "state=pairing\ncode=12a\n", "stat"])
    expect(bluetoothStateIn(text)).toEqual({ state: "none" });
});

const line = (address: string, words: string, name: string) => `${address} ${words} ${hex(name)}\n`;

test("the devices are those of the script, controllers first and then by name", () => {
  const text = [
    line("00:00:00:00:00:01", "sound found away", "Speaker"),
    line(keys, "keyboard known away", "Keys"),
    line("00:00:00:00:00:02", "controller found away", "Pad B"),
    line("00:00:00:00:00:04", "controller found away", "Pad A"),
    line(pad, "controller known connected", 'Süßes "Pad"'),
  ].join("");
  expect(bluetoothDevicesIn(text)).toEqual({
    known: [
      { address: pad, name: 'Süßes "Pad"', kind: "controller", connected: true },
      { address: keys, name: "Keys", kind: "keyboard", connected: false },
    ],
    found: [
      { address: "00:00:00:00:00:04", name: "Pad A", kind: "controller" },
      { address: "00:00:00:00:00:02", name: "Pad B", kind: "controller" },
      { address: "00:00:00:00:00:01", name: "Speaker", kind: "sound" },
    ],
  });
});

test("a device may be called anything, and is one line of at most 80 characters", () => {
  const names = (name: string) => bluetoothDevicesIn(line(pad, "other found away", name)).found;
  expect(names("x\nstate=none\n")[0]?.name).toBe("x state=none");
  expect(names("\u202ekcab")[0]?.name).toBe("kcab");
  expect(names("🎮".repeat(90))[0]?.name).toBe("🎮".repeat(80));
});

test("a line that is cut off or from another version is no device", () => {
  for (const text of [
    `${pad} controller known connected`,
    `${pad} teapot known connected ${hex("Pad")}`,
    `${pad} controller lent connected ${hex("Pad")}`,
    `${pad.toLowerCase()} controller known connected ${hex("Pad")}`,
    `${pad} controller known connected 4`,
  ])
    expect(bluetoothDevicesIn(`${text}\n`)).toEqual({ known: [], found: [] });
});

/** A folder of reports, the pipe of the root script, and the words that were written into it. */
async function follow() {
  const reports = await mkdtemp(join(folder, "reports-"));
  const pipePath = join(folder, `pipe-${Math.random()}`);
  await Bun.$`mkfifo ${pipePath}`;
  const pipe = openSync(pipePath, constants.O_RDWR | constants.O_NONBLOCK);
  let changes = 0;
  const bluetooth = followBluetooth({
    folder: reports,
    pipe,
    onChanged() {
      changes++;
    },
  });
  return {
    bluetooth,
    async report(name: string, text: string) {
      await writeFile(join(reports, `.${name}`), text);
      await rename(join(reports, `.${name}`), join(reports, name));
    },
    asked() {
      const bytes = Buffer.alloc(4096);
      return bytes.toString("utf8", 0, readSync(pipe, bytes));
    },
    changes: () => changes,
    [Symbol.dispose]() {
      bluetooth.close();
      closeSync(pipe);
    },
  };
}

test("a new report is seen, with its devices", async () => {
  using followed = await follow();
  const { bluetooth, report } = followed;
  expect(bluetooth.report()).toEqual({ state: "none", known: [], found: [] });
  await report("bluetooth", "state=ready\n");
  await report("bluetooth-devices", line(pad, "controller known connected", "Pad"));
  await eventually(() =>
    expect(bluetooth.report()).toEqual({
      state: "ready",
      known: [{ address: pad, name: "Pad", kind: "controller", connected: true }],
      found: [],
    }),
  );
  expect(followed.changes()).toBeGreaterThan(0);
});

test("the script is asked by its words and an address alone", async () => {
  using followed = await follow();
  const { bluetooth, report, asked } = followed;
  await report("bluetooth", "state=off\n");
  await eventually(() => expect(bluetooth.report().state).toBe("off"));
  await bluetooth.search();
  expect(asked()).toBe("bluetooth search\n");
  await report(
    "bluetooth-devices",
    line(pad, "controller found away", "Pad") + line(keys, "keyboard known away", "Keys"),
  );
  await eventually(() => expect(bluetooth.report().known).toHaveLength(1));
  await bluetooth.pair({ address: pad });
  // A device that lost its key is paired again.
  await bluetooth.pair({ address: keys });
  await bluetooth.forget({ address: keys });
  expect(asked()).toBe(`bluetooth pair ${pad}\nbluetooth pair ${keys}\nbluetooth forget ${keys}\n`);
});

test("a device that was neither found nor paired is refused, and so is all without a radio", async () => {
  using followed = await follow();
  const { bluetooth, report } = followed;
  await expect(bluetooth.search()).rejects.toThrow("this device has no Bluetooth radio");
  await expect(bluetooth.pair({ address: pad })).rejects.toThrow("this device has no Bluetooth radio");
  await report("bluetooth-devices", line(pad, "controller found away", "Pad"));
  await report("bluetooth", "state=ready\n");
  await eventually(() => expect(bluetooth.report().state).toBe("ready"));
  const gone = { code: "not-found", message: "`bluetooth` has no such device: search for it" };
  await expect(bluetooth.pair({ address: keys })).rejects.toMatchObject(gone);
  await expect(bluetooth.forget({ address: pad })).rejects.toMatchObject(gone);
});

test("a machine that is not the image says where its Bluetooth is set up", async () => {
  const bluetooth = followBluetooth({ folder: "", pipe: 0 });
  expect(bluetooth.report()).toEqual({ state: "none", known: [], found: [] });
  await expect(bluetooth.search()).rejects.toThrow(
    "only Tapdeck's own image sets up Bluetooth: use the settings of this system",
  );
  bluetooth.close();
});
