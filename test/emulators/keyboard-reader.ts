/** A reader that types, on a German layout for the letters of the suite's cards. */
import { createHidKeyboard } from "../../drivers/hid-keyboard.ts";
import type { KeyLink } from "../../drivers/io/evdev.ts";
import type { EmulatedReader } from "./index.ts";
import { createKeyboardCable, encodeEvent, enterKey, stroke, strokesOf } from "./keyboard-device.ts";

const id = "05e0:1200";

export function keyboardReader(): EmulatedReader {
  const cable = createKeyboardCable(id);
  let onceReading: (() => void) | undefined;
  let noise = false;
  const list = async () => [
    { path: "/dev/input/event7", id, name: "Scanner", port: "usb-1/input0", stamp: "1" },
  ];
  let other: KeyLink | undefined;
  return {
    path: `${id}?layout=de`,
    found: {
      isCertain: true,
      fault: "reader-failed",
      async deafen() {
        other = await cable.open("/dev/input/event7", [id]);
      },
      heal: () => other?.close(),
    },
    driver: createHidKeyboard({ open: cable.open, list }),
    expected: ({ text }) => ({ type: "Barcode", uid: "", text, data: "", removable: false }),
    lay(_session, { text }) {
      const strokes = [...text].flatMap((character) => strokesOf("de", character));
      const half = Math.floor(strokes.length / 2);
      if (noise) cable.send(...otherEvents());
      cable.send(...strokes.slice(0, half));
      const run = onceReading;
      onceReading = undefined;
      if (run !== undefined) setImmediate(run);
      cable.send(...strokes.slice(half), ...stroke(enterKey));
    },
    // The reader does not report removal: the tap ends by itself.
    lift: () => {},
    line: {
      kind: "line",
      speaksOnly: true,
      plug: cable.plug,
      unplug: async () => cable.unplug(),
      onCommand: () => {},
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

/** Events that type no character: a repeated key, toggled locks, a light, a movement. */
function otherEvents(): readonly Uint8Array[] {
  return [
    encodeEvent(1, 30, 2),
    ...stroke(58),
    ...stroke(69),
    encodeEvent(0x11, 1, 1),
    encodeEvent(2, 0, -5),
    encodeEvent(0, 0, 0),
  ];
}
