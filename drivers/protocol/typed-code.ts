/**
 * Decodes the codes that a reader types as a keyboard, without I/O: input events of Linux become keys, then characters of a layout, then a
 * code. A code ends with Enter or Tab, or when the caller ends it. A code that cannot be read for certain is dropped as a
 * whole. Reasons are a key without a character on this layout, a key held with Ctrl, Alt or Meta, lost events, and too many
 * characters.
 *
 * struct input_event on 64-bit kernels, little-endian (linux/input.h):
 *
 *   offset 0         8              16     18     20
 *          seconds   microseconds   type   code   value (signed)      24 bytes
 *
 *   type 0 SYN   code 0: the report is whole; code 3: the kernel's queue was full, and events are lost
 *   type 1 KEY   code: the key (input-event-codes.h); value 1 down, 0 up, 2 repeated
 */
import { typedCharsMax } from "../../src/core/limits.ts";

export type Typed =
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "dropped"; readonly why: string };

const endKeys: readonly number[] = [28, 96, 15]; // The keys Enter, Enter of the number pad, and Tab.
const shiftKeys: readonly number[] = [42, 54];
const altGrKey = 100;
const commandKeys: readonly number[] = [29, 97, 56, 125, 126]; // The keys Ctrl, left Alt, and Meta.
const lockKeys: readonly number[] = [58, 69, 70]; // The keys Caps, Num and Scroll Lock. Some readers toggle them before they type, to have a known state.

export function createTyping(layout: LayoutName) {
  const held = new Set<number>();
  let text = "";
  let wrong: string | undefined;
  let isLong = false;

  const level = (): Level => {
    if (held.has(altGrKey)) return "altgr";
    return shiftKeys.some((key) => held.has(key)) ? "shift" : "plain";
  };
  const end = (): Typed | undefined => {
    const typed: Typed | undefined =
      wrong !== undefined
        ? { kind: "dropped", why: wrong }
        : text === ""
          ? undefined
          : { kind: "code", text };
    text = "";
    wrong = undefined;
    isLong = false;
    return typed;
  };
  const type = (key: number) => {
    if (commandKeys.some((command) => held.has(command))) {
      wrong ??= `key ${key} was typed with Ctrl, Alt or Meta`;
      return;
    }
    const character = characterOf(layout, key, level());
    if (character === undefined) wrong ??= `key ${key} types nothing on the layout ${layout}`;
    else if (text.length >= typedCharsMax) isLong = true;
    else text += character;
    if (isLong) wrong ??= `it has more than ${typedCharsMax} characters`;
  };

  return {
    /** Takes an event, and returns the code that it ends; undefined if it ends none. */
    take(event: KeyEvent): Typed | undefined {
      if (event.kind === "lost") {
        held.clear();
        wrong = "some of its keys were lost";
        return undefined;
      }
      const { key } = event;
      if (event.kind === "up") {
        held.delete(key);
        return undefined;
      }
      if (endKeys.includes(key)) return end();
      const isModifier = key === altGrKey || shiftKeys.includes(key) || commandKeys.includes(key);
      if (isModifier) held.add(key);
      else if (!lockKeys.includes(key)) type(key);
      return undefined;
    },
    isTyping: () => text !== "" || wrong !== undefined,
    /** Ends the code that was typed so far. */
    end,
  };
}

export const eventBytes = 24;

type KeyEvent =
  | { readonly kind: "down"; readonly key: number }
  | { readonly kind: "up"; readonly key: number }
  | { readonly kind: "lost" };

const synType = 0;
const keyType = 1;
const synDropped = 3;

/** Takes bytes as they come, and returns the events in them that matter for typing. */
export function createEventCutter(): (bytes: Uint8Array) => readonly KeyEvent[] {
  let rest: Uint8Array = new Uint8Array(0);
  return (bytes) => {
    const all = rest.length === 0 ? bytes : Uint8Array.of(...rest, ...bytes);
    const whole = all.length - (all.length % eventBytes);
    // The incomplete event at the end waits for its other bytes.
    rest = all.slice(whole);
    const view = new DataView(all.buffer, all.byteOffset, whole);
    const events: KeyEvent[] = [];
    for (let at = 0; at < whole; at += eventBytes) {
      const type = view.getUint16(at + 16, true);
      const code = view.getUint16(at + 18, true);
      const value = view.getInt32(at + 20, true);
      if (type === synType && code === synDropped) events.push({ kind: "lost" });
      if (type === keyType && value === 1) events.push({ kind: "down", key: code });
      if (type === keyType && value === 0) events.push({ kind: "up", key: code });
    }
    return events;
  };
}

export const layoutNames = ["us", "de", "fr"] as const;
export type LayoutName = (typeof layoutNames)[number];
export type Level = "plain" | "shift" | "altgr";

/** The first key of each row: 1, Q, A, the key left of 1, the one beside Enter, Z, and the one beside left Shift. */
const rowStarts = [2, 16, 30, 41, 43, 44, 86] as const;
type Rows = readonly [string, string, string, string, string, string, string];

const layouts: Readonly<Record<LayoutName, Readonly<Record<Level, Rows>>>> = {
  us: {
    plain: ["1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "`", "\\", "zxcvbnm,./", "<"],
    shift: ["!@#$%^&*()_+", "QWERTYUIOP{}", 'ASDFGHJKL:"', "~", "|", "ZXCVBNM<>?", ">"],
    altgr: ["", "", "", "", "", "", ""],
  },
  de: {
    plain: ["1234567890ß ", "qwertzuiopü+", "asdfghjklöä", " ", "#", "yxcvbnm,.-", "<"],
    shift: ['!"§$%&/()=? ', "QWERTZUIOPÜ*", "ASDFGHJKLÖÄ", "°", "'", "YXCVBNM;:_", ">"],
    altgr: [" ²³   {[]}\\ ", "@ €        ~", "", "", "", "      µ", "|"],
  },
  fr: {
    plain: ["&é\"'(-è_çà)=", "azertyuiop $", "qsdfghjklmù", "²", "*", "wxcvbn,;:!", "<"],
    shift: ["1234567890°+", "AZERTYUIOP £", "QSDFGHJKLM%", " ", "µ", "WXCVBN?./§", ">"],
    altgr: ["  #{[| \\^@]}", "  €         ", "", "", "", "", ""],
  },
};

/** The number pad types the same characters on every layout; the state of Num Lock does not matter. */
const keypad: ReadonlyMap<number, string> = new Map([
  ...Array.from("789", (digit, at) => [71 + at, digit] as const),
  ...Array.from("456", (digit, at) => [75 + at, digit] as const),
  ...Array.from("1230", (digit, at) => [79 + at, digit] as const),
  [55, "*"],
  [74, "-"],
  [78, "+"],
  [83, "."],
  [98, "/"],
]);
const spaceKey = 57;

/** The character of a key; undefined if the key types none. */
export function characterOf(layout: LayoutName, key: number, level: Level): string | undefined {
  if (key === spaceKey) return " ";
  const onPad = keypad.get(key);
  if (onPad !== undefined) return onPad;
  const rows = layouts[layout][level];
  const row = rowStarts.findLastIndex((start) => start <= key);
  const character = [...(rows[row] ?? "")][key - (rowStarts[row] ?? 0)];
  return character === " " ? undefined : character;
}
