/**
 * A level below the tiles of a menu page: a bar, and its percent in digits of seven segments. The service draws both itself, as
 * filled boxes; the drawing has only the sign.
 */
import { accents, colors } from "./drawings.ts";
import type { Box } from "./frame-buffer.ts";
import { menuMeasures, words } from "./menu-parts.ts";
import { secondRow } from "./menu-template.ts";

type Size = Pick<Box, "width" | "height">;

/** A box that is filled with one color. */
interface Filled {
  readonly box: Box;
  readonly color: string;
}

const digits = 3;
/** The height of a digit of the font, in parts of its size. */
const capHeight = 0.73;

function measures(size: Size) {
  const { unit } = menuMeasures(size);
  const row = secondRow(size);
  const digitHeight = Math.round(unit * 0.08);
  const digitWidth = Math.round(digitHeight * 0.6);
  const gap = Math.round(digitWidth * 0.35);
  const signWidth = digitHeight * 1.4;
  const numberWidth = digits * (digitWidth + gap) + signWidth;
  const middle = row.y + row.height / 2;
  const barHeight = Math.round(unit * 0.06);
  const numberX = Math.round(row.x + row.width - numberWidth);
  return {
    digit: { y: Math.round(middle - digitHeight / 2), width: digitWidth, height: digitHeight },
    digitX: (place: number) => numberX + place * (digitWidth + gap),
    sign: {
      x: numberX + digits * (digitWidth + gap) + signWidth / 2,
      y: Math.round(middle - digitHeight / 2) + digitHeight,
    },
    bar: {
      x: Math.round(row.x),
      y: Math.round(middle - barHeight / 2),
      width: Math.round(row.width - numberWidth - 2 * gap),
      height: barHeight,
    },
  };
}

/** The part of the level that does not change. */
export function levelRows(size: Size): readonly string[] {
  const { sign, digit } = measures(size);
  return [words("%", { ...sign, size: digit.height / capHeight, color: colors.text, anchor: "middle" })];
}

/** The boxes of a level from 0 to 100, in the order in which they are filled. They cover the boxes of every other level. */
export function levelBoxes(percent: number, size: Size): readonly Filled[] {
  const { bar, digit, digitX } = measures(size);
  const whole = Math.min(100, Math.max(0, Math.round(percent)));
  const full = Math.round((bar.width * whole) / 100);
  const text = `${whole}`.padStart(digits, " ");
  return [
    { box: { ...bar, width: full }, color: accents.ready },
    { box: { ...bar, x: bar.x + full, width: bar.width - full }, color: colors.tile },
    ...[...text].flatMap((letter, place) => digitBoxes(letter, { ...digit, x: digitX(place) })),
  ].filter(({ box }) => box.width > 0);
}

/** The segments that are lit: `a` at the top, then clockwise to `f`, and `g` in the middle. */
const segments: Readonly<Record<string, string>> = {
  "0": "abcdef",
  "1": "bc",
  "2": "abdeg",
  "3": "abcdg",
  "4": "bcfg",
  "5": "acdfg",
  "6": "acdefg",
  "7": "abc",
  "8": "abcdefg",
  "9": "abcdfg",
};

function digitBoxes(digit: string, cell: Box): readonly Filled[] {
  const { x, y, width, height } = cell;
  const thickness = Math.max(2, Math.round(width * 0.28));
  const half = Math.round((height + thickness) / 2);
  const right = x + width - thickness;
  const lower = y + height - half;
  const across = { x, width, height: thickness };
  const down = { width: thickness, height: half };
  const boxes: Readonly<Record<string, Box>> = {
    a: { ...across, y },
    b: { ...down, x: right, y },
    c: { ...down, x: right, y: lower },
    d: { ...across, y: y + height - thickness },
    e: { ...down, x, y: lower },
    f: { ...down, x, y },
    g: { ...across, y: lower },
  };
  const lit = segments[digit] ?? "";
  const isLit = ([name]: readonly [string, Box]) => lit.includes(name);
  const all = Object.entries(boxes);
  // Segments share their corners, so the lit segments are drawn last.
  return [
    ...all.filter((one) => !isLit(one)).map(([, box]) => ({ box, color: colors.background })),
    ...all.filter(isLit).map(([, box]) => ({ box, color: colors.text })),
  ];
}
