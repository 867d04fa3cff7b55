/** The keys of a keyboard and the buttons of a gamepad, as macros name them (linux/input-event-codes.h). */
import type { InputKind } from "../core/operating-system.ts";

/** The keys of one device, by single characters and by names in braces. The codes of one entry are pressed together, in order. */
export interface InputTable {
  readonly chars: ReadonlyMap<string, readonly number[]>;
  /** In lower case. */
  readonly names: ReadonlyMap<string, readonly number[]>;
}

const [leftCtrl, leftShift, leftAlt] = [29, 42, 56];

/** The rows of a keyboard with US layout: the code of the first key, and the characters without and with Shift. */
const rows: readonly (readonly [first: number, plain: string, shifted: string])[] = [
  [2, "1234567890-=", "!@#$%^&*()_+"],
  [16, "qwertyuiop[]", "QWERTYUIOP{}"],
  [30, "asdfghjkl;'`", 'ASDFGHJKL:"~'],
  [43, "\\zxcvbnm,./", "|ZXCVBNM<>?"],
];

/** SysRq is left out, because with it a card could halt the kernel. */
const keyNames: Readonly<Record<string, number>> = {
  esc: 1,
  escape: 1,
  backspace: 14,
  tab: 15,
  enter: 28,
  return: 28,
  ctrl: leftCtrl,
  lctrl: leftCtrl,
  rctrl: 97,
  shift: leftShift,
  lshift: leftShift,
  rshift: 54,
  alt: leftAlt,
  lalt: leftAlt,
  ralt: 100,
  altgr: 100,
  super: 125,
  win: 125,
  meta: 125,
  lmeta: 125,
  rmeta: 126,
  menu: 127,
  space: 57,
  backslash: 43,
  caps: 58,
  capslock: 58,
  num: 69,
  numlock: 69,
  scroll: 70,
  scrolllock: 70,
  pause: 119,
  home: 102,
  up: 103,
  pgup: 104,
  pageup: 104,
  left: 105,
  right: 106,
  end: 107,
  down: 108,
  pgdn: 109,
  pagedown: 109,
  ins: 110,
  insert: 110,
  del: 111,
  delete: 111,
  mute: 113,
  voldn: 114,
  volup: 115,
  playpause: 164,
  next: 163,
  previous: 165,
  kpenter: 96,
};

const functionKeys = [
  ...Array.from({ length: 10 }, (_, index) => [`f${index + 1}`, 59 + index] as const),
  ["f11", 87],
  ["f12", 88],
] as const;

export const keyboard: InputTable = {
  chars: new Map<string, readonly number[]>([
    ...rows.flatMap(([first, plain, shifted]) => [
      ...[...plain].map((char, index) => [char, [first + index]] as const),
      ...[...shifted].map((char, index) => [char, [leftShift, first + index]] as const),
    ]),
    [" ", [57]],
    ["\n", [28]],
    ["\t", [15]],
  ]),
  names: new Map(
    [...Object.entries(keyNames), ...functionKeys].map(([name, code]) => [name, [code]] as const),
  ),
};

/** By position, not by label (Linux, Documentation/input/gamepad.rst); A and B lie as on a Nintendo gamepad. */
const buttons = {
  south: 0x130,
  east: 0x131,
  north: 0x133,
  west: 0x134,
  l1: 0x136,
  r1: 0x137,
  l2: 0x138,
  r2: 0x139,
  select: 0x13a,
  start: 0x13b,
  menu: 0x13c,
  l3: 0x13d,
  r3: 0x13e,
  up: 0x220,
  down: 0x221,
  left: 0x222,
  right: 0x223,
} as const;

const buttonChars: Readonly<Record<string, number>> = {
  "^": buttons.up,
  v: buttons.down,
  V: buttons.down,
  "<": buttons.left,
  ">": buttons.right,
  ...bothCases({ a: buttons.east, b: buttons.south, x: buttons.north, y: buttons.west }),
  ...bothCases({ l: buttons.l1, r: buttons.r1 }),
};

export const gamepad: InputTable = {
  chars: new Map(Object.entries(buttonChars).map(([char, code]) => [char, [code]] as const)),
  names: new Map(
    Object.entries({ ...buttons, guide: buttons.menu, home: buttons.menu }).map(
      ([name, code]) => [name, [code]] as const,
    ),
  ),
};

export const inputTables: Readonly<Record<InputKind, InputTable>> = { keyboard, gamepad };

/** Every key of a table, each once, in order. */
export function codesOf({ chars, names }: InputTable): readonly number[] {
  const all = new Set([...chars.values(), ...names.values()].flat());
  return [...all].sort((a, b) => a - b);
}

function bothCases(letters: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(letters).flatMap(([letter, code]) => [
      [letter, code],
      [letter.toUpperCase(), code],
    ]),
  );
}
