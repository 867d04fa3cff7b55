/**
 * The readers that send lines, type, are files, light up, or leave the radio protocol to the host: test/transcripts, one
 * file per behaviour.
 * Covers: drivers/file.ts, drivers/hid-keyboard.ts, drivers/mfrc522-spi.ts, drivers/serial-line.ts, drivers/toypad.ts.
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { file } from "../../../drivers/file.ts";
import { createHidKeyboard } from "../../../drivers/hid-keyboard.ts";
import { createMfrc522Spi } from "../../../drivers/mfrc522-spi.ts";
import { serialLine } from "../../../drivers/serial-line.ts";
import { createToypad } from "../../../drivers/toypad.ts";
import { fromHex, spacedHex } from "../../../src/core/hex.ts";
import { createKeyboardCable, encodeEvent } from "../../emulators/keyboard-device.ts";
import { createLineReader } from "../../emulators/line-reader.ts";
import { createMfrc522Device } from "../../emulators/mfrc522-device.ts";
import type { TagAnswer } from "../../emulators/type-a.ts";
import { type CreateDevice, playReader } from "../../helpers/reader-transcript.ts";

const folder = join(import.meta.dir, "../../transcripts");

/** `< "TEXT"`, in JSON: bytes of the line. */
const lineDevice: CreateDevice = () => {
  const reader = createLineReader();
  return {
    open: (context, signal) => serialLine.open(reader.path, context, signal),
    say: (text) => reader.say(text.startsWith('"') ? JSON.parse(text) : (fromHex(text) ?? "")),
    unplug: reader.unplug,
    close: reader.close,
  };
};

/** `< +42 +30 -30`: keys down and up, by their codes; `!` if the kernel lost some. */
const keyboardDevice =
  (id: string, options: string): CreateDevice =>
  () => {
    const cable = createKeyboardCable(id);
    const list = async () => [{ path: "/dev/input/event7", id, name: "", port: "usb-1", stamp: "" }];
    const driver = createHidKeyboard({ open: cable.open, list });
    return {
      open: (context, signal) => driver.open(`${id}${options}`, context, signal),
      say: (text) =>
        cable.send(
          ...text
            .split(" ")
            .map((key) =>
              key === "!"
                ? encodeEvent(0, 3, 0)
                : encodeEvent(1, Number(key.slice(1)), key[0] === "+" ? 1 : 0),
            ),
        ),
      unplug: cable.unplug,
      close: cable.unplug,
    };
  };

/** `< hex`: a report, padded with zeros; the driver's reports are shown without them. */
const toypadDevice: CreateDevice = (sent) => {
  let onReport: (report: Uint8Array) => void = () => {};
  let onGone: (reason: Error) => void = () => {};
  const driver = createToypad(async (path) => ({
    path,
    onReport: (listener) => {
      onReport = listener;
    },
    onGone: (listener) => {
      onGone = listener;
    },
    async write(report) {
      sent(spacedHex(report.subarray(0, 3 + (report[1] ?? 0))));
    },
    close: async () => {},
  }));
  return {
    open: (context, signal) => driver.open("/dev/hidraw0", context, signal),
    say(text) {
      const report = new Uint8Array(32);
      report.set(fromHex(text) ?? []);
      onReport(report);
    },
    unplug: () => onGone(new Error("unplugged")),
    close: () => onGone(new Error("the transcript has ended")),
  };
};

/**
 * `> hex`: a frame through the air with its CRC, and `/ bits` if its last byte has not all; `< hex`: the answer of a tag, `< hex / 4`
 * one of four bits, `< -` none.
 */
const airDevice =
  (options: string): CreateDevice =>
  (sent) => {
    let answer: ((heard: TagAnswer | undefined) => void) | undefined;
    const device = createMfrc522Device({
      path: "/dev/spidev0.0",
      looks: 0,
      air(frame, lastBits, answered) {
        answer = answered;
        sent(spacedHex(frame) + (lastBits === 0 ? "" : ` / ${lastBits}`));
      },
    });
    return {
      open: (context, signal) =>
        createMfrc522Spi(device.open).open(`${device.path}${options}`, context, signal),
      say(text) {
        const bytes = fromHex(text.replace(" / 4", "")) ?? new Uint8Array();
        if (text === "-") answer?.(undefined);
        else if (text.endsWith("/ 4")) answer?.({ kind: "four-bits", value: bytes[0] ?? 0 });
        else answer?.({ kind: "frame", bytes, hasCrc: false });
      },
      unplug: device.unplug,
      close: device.unplug,
      timeMoves: true,
    };
  };

/** `< "TEXT"`, in JSON: the file's content; `< gone` removes the file. */
const fileDevice: CreateDevice = () => {
  const place = mkdtempSync(join(tmpdir(), "tapdeck-file-"));
  const path = join(place, "card");
  return {
    open: (context, signal) => file.open(path, context, signal),
    say: (text) => (text === "gone" ? rmSync(path) : writeFileSync(path, JSON.parse(text))),
    unplug: () => rmSync(place, { recursive: true }),
    close: () => rmSync(place, { recursive: true, force: true }),
    timeMoves: true,
  };
};

const devices: Readonly<Record<string, (options: string) => CreateDevice>> = {
  "serial-line": () => lineDevice,
  "hid-keyboard": (options) => {
    const [id = "", query = ""] = options.split("?");
    return keyboardDevice(id, query === "" ? "" : `?${query}`);
  },
  "mfrc522-spi": airDevice,
  toypad: () => toypadDevice,
  file: () => fileDevice,
};

for (const [driver, deviceOf] of Object.entries(devices)) {
  const names = readdirSync(join(folder, driver)).filter((name) => name.endsWith(".txt"));
  describe(driver, () => {
    test("there are transcripts", () => expect(names.length).toBeGreaterThan(2));
    for (const name of names) {
      test(name.replace(/\.txt$/, "").replaceAll("-", " "), async () => {
        const content = readFileSync(join(folder, driver, name), "utf8");
        const [, options = ""] = /^# reader (\S+)$/m.exec(content) ?? [];
        const { happened, expected } = await playReader(content, deviceOf(options));
        expect(happened).toEqual([...expected]);
      });
    }
  });
}
