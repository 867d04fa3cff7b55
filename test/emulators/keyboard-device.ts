/**
 * A reader that types. It turns texts into events of the kernel's input layer, as keys of a keyboard of a given layout.
 * It does not depend on the tests, so it can also work behind `uinput`.
 */
import type { KeyLink, OpenKeys } from "../../drivers/io/evdev.ts";
import { characterOf, eventBytes, type LayoutName, type Level } from "../../drivers/protocol/typed-code.ts";
import { ServiceError } from "../../src/core/errors.ts";

const [syn, key, msc] = [0, 1, 4];
const modifiers: Readonly<Record<Level, number | undefined>> = { plain: undefined, shift: 42, altgr: 100 };
export const enterKey = 28;
export const tabKey = 15;

/** One event of the kernel's input layer as bytes. */
export function encodeEvent(type: number, code: number, value: number): Uint8Array {
  const bytes = new Uint8Array(eventBytes);
  const view = new DataView(bytes.buffer);
  view.setUint16(16, type, true);
  view.setUint16(18, code, true);
  view.setInt32(20, value, true);
  return bytes;
}

/** The strokes that type a character. Throws if the layout has no strokes for it. */
export function strokesOf(layout: LayoutName, character: string): readonly Uint8Array[] {
  for (const level of ["plain", "shift", "altgr"] as const) {
    const modifier = modifiers[level];
    for (let code = 2; code < 100; code++) {
      if (characterOf(layout, code, level) !== character) continue;
      return modifier === undefined
        ? stroke(code)
        : [...press(modifier, 1), ...stroke(code), ...press(modifier, 0)];
    }
  }
  throw new Error(`no key types ${character} on ${layout}`);
}

/** The events of a key that is pressed and released, in the kernel's form: with its scan code, and the end of each report. */
export function stroke(code: number): readonly Uint8Array[] {
  return [...press(code, 1), ...press(code, 0)];
}

function press(code: number, value: 0 | 1): readonly Uint8Array[] {
  return [encodeEvent(msc, 4, 0x70000 + code), encodeEvent(key, code, value), encodeEvent(syn, 0, 0)];
}

/** The link to such a reader, in memory: it behaves like a real node, and can be pulled out. */
export interface KeyboardCable {
  readonly open: OpenKeys;
  /** Sends each run of events as one run of bytes, a turn after the run before. */
  send(...events: readonly Uint8Array[]): void;
  /** Whether a program has opened it. */
  isTaken(): boolean;
  plug(): void;
  unplug(): void;
}

export function createKeyboardCable(id: string): KeyboardCable {
  let holder: { bytes: (bytes: Uint8Array) => void; gone: (reason: Error) => void } | undefined;
  let isPlugged = true;
  return {
    async open(path, ids) {
      if (!isPlugged) throw new ServiceError("reader-gone", `${path}: there is no such device`);
      if (!ids.includes(id)) throw new ServiceError("reader-gone", `${path}: the device there is ${id}`);
      if (holder !== undefined)
        throw new ServiceError("reader-gone", `${path}: another program has taken it`);
      let gone: Error | undefined;
      let onGone: (reason: Error) => void = () => {};
      const mine = {
        bytes: (_bytes: Uint8Array) => {},
        gone(reason: Error) {
          gone = reason;
          onGone(reason);
        },
      };
      holder = mine;
      const link: KeyLink = {
        path,
        id,
        onBytes: (listener) => {
          mine.bytes = listener;
        },
        onGone(listener) {
          onGone = listener;
          if (gone !== undefined) listener(gone);
        },
        async close() {
          mine.bytes = () => {};
          if (holder === mine) holder = undefined;
        },
      };
      return link;
    },
    send(...events) {
      const to = holder;
      const bytes = Uint8Array.from(events.flatMap((event) => [...event]));
      setImmediate(() => {
        if (holder === to) to?.bytes(bytes);
      });
    },
    isTaken: () => holder !== undefined,
    plug() {
      isPlugged = true;
    },
    unplug() {
      isPlugged = false;
      const to = holder;
      holder = undefined;
      to?.gone(new ServiceError("reader-gone", "the device went away"));
    },
  };
}
