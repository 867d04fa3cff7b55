/** The emulated Toy Pad as a reader of the conformance suite. */

import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import { padCommands } from "../../drivers/protocol/toypad-report.ts";
import { wrapMessage } from "../../drivers/protocol/type2-tag.ts";
import { createToypad } from "../../drivers/toypad.ts";
import { toHex } from "../../src/core/hex.ts";
import { createType2Tag } from "./emulated-tags.ts";
import type { EmulatedReader } from "./index.ts";
import { createCable, createToypadDevice } from "./toypad-device.ts";

export function toypadReader(): EmulatedReader {
  const device = createToypadDevice();
  const cable = createCable(device);
  let index: number | undefined;
  let onCommand = () => {};
  let onceReading: (() => void) | undefined;
  let noise = false;
  let isDeaf = false;
  device.onCommand((command) => {
    onCommand();
    if (isDeaf) return false;
    if (noise) sayNoise(device);
    if (command !== padCommands.read) return true;
    const run = onceReading;
    onceReading = undefined;
    run?.();
    return true;
  });
  const lift = () => {
    if (index !== undefined) device.take(index);
    index = undefined;
  };
  const list = async () => [
    { path: "/dev/hidraw0", id: "0e6f:0241", name: "LEGO READER V2.10", port: "usb-1/input0", stamp: "1" },
  ];
  return {
    path: "/dev/hidraw0",
    driver: createToypad(cable.open, list),
    found: {
      isCertain: true,
      fault: "reader-failed",
      deafen: () => {
        isDeaf = true;
      },
      heal: () => {
        isDeaf = false;
      },
    },
    expected({ uid, text }) {
      const data = toHex(wrapMessage(encodeTextMessage(text)).slice(0, -1));
      return { type: "NTAG", uid, text, data };
    },
    lay(_session, { uid, text }) {
      lift();
      index = device.put(createType2Tag("ntag215", { uid: Uint8Array.fromHex(uid), text }), 1);
    },
    lift,
    line: {
      kind: "line",
      plug: cable.plug,
      unplug: async () => cable.unplug(),
      onCommand: (run) => {
        onCommand = run;
      },
      onceReading: (run) => {
        onceReading = run;
      },
      noise: (seed) => {
        noise = seed !== 0;
      },
    },
    close: async () => cable.unplug(),
  };
}

/** Sends malformed reports: too short, with a wrong sum, of another magic, and an event of an unknown zone. */
function sayNoise(device: ReturnType<typeof createToypadDevice>): void {
  device.say(new Uint8Array(7));
  device.say(new Uint8Array(32).fill(0xff));
  device.say(Uint8Array.from({ length: 32 }, (_, at) => (at * 37) & 0xff));
  const wrongSum = new Uint8Array(32);
  wrongSum.set([0x56, 0x0b, 1, 0, 0, 1, 4, 1, 2, 3, 4, 5, 6, 0x99]);
  device.say(wrongSum);
}
