/**
 * What keys type on three keyboards, by the key codes of Linux (input-event-codes.h), which name places and not letters. A
 * reader types as if it were such a keyboard; most are delivered as a US one.
 *
 * Each row is the characters of consecutive keys; a space stands for a key that types none alone (dead keys among them).
 */
export const layoutNames = ["us", "de", "fr"] as const;
export type LayoutName = (typeof layoutNames)[number];
export type Level = "plain" | "shift" | "altgr";

/** The first key of each row: 1, Q, A, the key left of 1, the one beside Enter, Z, the one beside left Shift. */
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

/** The number pad types the same everywhere; whether Num Lock is on is not the reader's affair. */
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

/** The character; undefined where the key types none. */
export function characterOf(layout: LayoutName, key: number, level: Level): string | undefined {
  if (key === spaceKey) return " ";
  const onPad = keypad.get(key);
  if (onPad !== undefined) return onPad;
  const rows = layouts[layout][level];
  const row = rowStarts.findLastIndex((start) => start <= key);
  const character = [...(rows[row] ?? "")][key - (rowStarts[row] ?? 0)];
  return character === " " ? undefined : character;
}
