/** The events of buttons and knobs, as the kernel writes them. The device itself is that of `make test-vm`. */
import { expect, test } from "bun:test";
import { buttonEvents, openButtons } from "../../../../drivers/io/pressed-keys.ts";

/** struct input_event of a 64-bit machine. */
function event(type: number, code: number, value: number): Uint8Array {
  const bytes = new Uint8Array(24);
  const view = new DataView(bytes.buffer);
  view.setUint16(16, type, true);
  view.setUint16(18, code, true);
  view.setInt32(20, value, true);
  return bytes;
}

test("presses and steps count; releases, repetitions and other events do not", () => {
  const bytes = Buffer.concat([
    event(1, 115, 1),
    event(0, 0, 0),
    event(1, 115, 2),
    event(1, 115, 0),
    event(2, 7, -2),
    event(3, 0, 5),
  ]);
  expect(buttonEvents(bytes)).toEqual([
    { kind: "key", code: 115, steps: 1 },
    { kind: "turn", code: 7, steps: -2 },
  ]);
});

test.each(["/dev/null", "/nowhere/event0"])("%s is no input device", (path) => {
  const listener = { event: () => {}, gone: () => {} };
  expect(openButtons(path, () => true, listener)).toBeUndefined();
});
