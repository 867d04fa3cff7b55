/** The keys of a menu, from the events of the kernel. */
import { expect, test } from "bun:test";
import { hasMenuKeys, menuKeyReader, openMenuKeys } from "../../../../drivers/io/menu-keys.ts";

const key = 1;
const axis = 3;

function eventBytes(...events: readonly (readonly [type: number, code: number, value: number])[]) {
  const bytes = new Uint8Array(24 * events.length);
  const view = new DataView(bytes.buffer);
  for (const [at, [type, code, value]] of events.entries()) {
    view.setUint16(24 * at + 16, type, true);
    view.setUint16(24 * at + 18, code, true);
    view.setInt32(24 * at + 20, value, true);
  }
  return bytes;
}

const noAxis = () => undefined;

test("buttons of a gamepad, of a pad that counts them, and of a remote control do the same", () => {
  const read = menuKeyReader(noAxis);
  for (const code of [0x130, 0x121, 352])
    expect(read(eventBytes([key, code, 1], [key, code, 2], [key, code, 0]))).toEqual([
      { key: "ok", isDown: true },
      { key: "ok", isDown: false },
    ]);
  expect(read(eventBytes([key, 28, 1]))).toEqual([{ key: "enter", isDown: true }]);
  expect(read(eventBytes([key, 0x131, 1], [key, 30, 1], [0, 0, 0]))).toEqual([{ key: "back", isDown: true }]);
});

test("a stick counts as arrows from half of its way on, and never twice", () => {
  const read = menuKeyReader((code) => (code === 0 ? { min: 0, max: 255 } : { min: -1, max: 1 }));
  expect(read(eventBytes([axis, 0, 128], [axis, 0, 190]))).toEqual([]);
  expect(read(eventBytes([axis, 0, 200], [axis, 0, 255]))).toEqual([{ key: "right", isDown: true }]);
  expect(read(eventBytes([axis, 0, 0]))).toEqual([
    { key: "right", isDown: false },
    { key: "left", isDown: true },
  ]);
  expect(read(eventBytes([axis, 0, 128]))).toEqual([{ key: "left", isDown: false }]);
  // The hat of the controller (D-pad) works beside the stick.
  expect(read(eventBytes([axis, 17, -1], [axis, 17, 0], [axis, 2, 255]))).toEqual([
    { key: "up", isDown: true },
    { key: "up", isDown: false },
  ]);
});

test("events that the kernel has dropped end what is held", () => {
  const read = menuKeyReader(() => ({ min: -1, max: 1 }));
  expect(read(eventBytes([axis, 16, 1]))).toEqual([{ key: "right", isDown: true }]);
  expect(read(eventBytes([0, 3, 0]))).toEqual([{ key: "back", isDown: false }]);
  expect(read(eventBytes([axis, 16, 1]))).toEqual([{ key: "right", isDown: true }]);
});

test("a mouse, a power key and a file have no keys for a menu", () => {
  const having = (...codes: readonly number[]) => hasMenuKeys((code) => codes.includes(code));
  expect(having(0x110, 0x111)).toBe(false);
  expect(having(116)).toBe(false);
  expect(having(103, 108, 28)).toBe(true);
  expect(having(0x130)).toBe(true);
  const listener = { event() {}, gone() {} };
  expect(openMenuKeys(import.meta.path, () => true, listener)).toBeUndefined();
  expect(openMenuKeys("/nowhere", () => true, listener)).toBeUndefined();
});
