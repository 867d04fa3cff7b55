/** The keys of a keyboard and the buttons of a gamepad, as macros name them (linux/input-event-codes.h). */
import type { InputKind } from "../core/operating-system.ts";

/** The keys of one device, by single characters and by names in braces. The codes of one entry are pressed together, in order. */
export interface InputTable {
  readonly chars: ReadonlyMap<string, readonly number[]>;
  /** Names in lower case, with the codes of each. */
  readonly names: ReadonlyMap<string, readonly number[]>;
}

const leftCtrl = 29;
const leftShift = 42;
const leftAlt = 56;

/** The rows of a keyboard with US layout: the code of the first key, and the characters without and with Shift. */
const rows: readonly (readonly [first: number, plain: string, shifted: string])[] = [
  [2, "1234567890-=", "!@#$%^&*()_+"],
  [16, "qwertyuiop[]", "QWERTYUIOP{}"],
  [30, "asdfghjkl;'`", 'ASDFGHJKL:"~'],
  [43, "\\zxcvbnm,./", "|ZXCVBNM<>?"],
];

/** SysRq is left out, because with it a card could halt the kernel. */
const keyNames: readonly (readonly [code: number, names: string])[] = [
  [1, "esc escape"],
  [14, "backspace"],
  [15, "tab"],
  [28, "enter return"],
  [leftCtrl, "ctrl lctrl"],
  [97, "rctrl"],
  [leftShift, "shift lshift"],
  [54, "rshift"],
  [leftAlt, "alt lalt"],
  [100, "ralt altgr"],
  [125, "super win meta lmeta"],
  [126, "rmeta"],
  [127, "menu"],
  [57, "space"],
  [43, "backslash"],
  [58, "caps capslock"],
  [69, "num numlock"],
  [70, "scroll scrolllock"],
  [119, "pause"],
  [102, "home"],
  [103, "up"],
  [104, "pgup pageup"],
  [105, "left"],
  [106, "right"],
  [107, "end"],
  [108, "down"],
  [109, "pgdn pagedown"],
  [110, "ins insert"],
  [111, "del delete"],
  [113, "mute"],
  [114, "voldn"],
  [115, "volup"],
  [164, "playpause"],
  [163, "next"],
  [165, "previous"],
  [96, "kpenter"],
];

const functionKeys = [
  ...Array.from({ length: 10 }, (_, index) => [59 + index, `f${index + 1}`] as const),
  [87, "f11"],
  [88, "f12"],
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
    [...keyNames, ...functionKeys].flatMap(([code, names]) =>
      names.split(" ").map((name) => [name, [code]] as const),
    ),
  ),
};

/**
 * Buttons by position, not by label (Linux, Documentation/input/gamepad.rst). A and B have the places of a Nintendo
 * gamepad.
 */
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

const buttonChars: readonly (readonly [chars: string, code: number])[] = [
  ["^", buttons.up],
  ["vV", buttons.down],
  ["<", buttons.left],
  [">", buttons.right],
  ["aA", buttons.east],
  ["bB", buttons.south],
  ["xX", buttons.north],
  ["yY", buttons.west],
  ["lL", buttons.l1],
  ["rR", buttons.r1],
];

export const gamepad: InputTable = {
  chars: new Map(buttonChars.flatMap(([chars, code]) => [...chars].map((char) => [char, [code]] as const))),
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
