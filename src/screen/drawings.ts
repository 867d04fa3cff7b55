/** The drawings of the graphical screen, each in a square of 100 by 100, and the colors of all. */
import type { StatePicture } from "./picture.ts";
import type { Headlined } from "./texts.ts";

export const colors = {
  background: "#14183a",
  shape: "#ffffff",
  text: "#ffffff",
  quiet: "#b9c0e8",
  tile: "#242a5c",
} as const;

/** Each state has a color of its own, for people who cannot read yet. All have a contrast of 7:1 to the background. */
export const accents: Readonly<Record<Headlined, string>> = {
  ready: "#5ee6b5",
  "no-reader": "#ffd45e",
  "reader-broken": "#ffb35e",
  empty: "#ffd45e",
  "not-found": "#ffb35e",
  failed: "#ff9d94",
  starting: "#7cd4ff",
  playlist: "#7cd4ff",
  "stick-away": "#ffb35e",
  "stick-gone": "#ffb35e",
  "time-over": "#c9b6ff",
  "switching-off": "#c9b6ff",
  restarting: "#7cd4ff",
  pairing: "#7cd4ff",
};

type Drawn = StatePicture["kind"];

/** The vertical part of its square that a drawing takes up. */
const extents: Readonly<Record<Drawn, readonly [top: number, bottom: number]>> = {
  ready: [0, 96],
  "no-reader": [10, 69],
  "reader-broken": [12, 92],
  empty: [19, 81],
  "not-found": [9, 95],
  failed: [8, 90],
  starting: [6, 94],
  playlist: [20, 80],
  "stick-away": [8, 92],
  "stick-gone": [8, 92],
  "time-over": [10, 90],
  "switching-off": [6, 94],
  restarting: [6, 94],
};

/** The height of a drawing of this width. */
export function drawingHeight(kind: Drawn, width: number): number {
  const [top, bottom] = extents[kind];
  return ((bottom - top) * width) / 100;
}

/** A drawing with its upper left corner at `x`, `y`. */
export function drawing(kind: Drawn, x: number, y: number, width: number): string {
  const scale = width / 100;
  const upper = y - extents[kind][0] * scale;
  return `<g transform="translate(${x.toFixed(1)} ${upper.toFixed(1)}) scale(${scale.toFixed(4)})" stroke-linecap="round" stroke-linejoin="round">${drawings[kind](accents[kind])}</g>`;
}

const dark = colors.background;
const white = colors.shape;

// A USB stick with its plug up.
const stick = (accent: string) => `
    <rect x="36" y="8" width="28" height="24" rx="2" fill="${white}"/>
    <rect x="42" y="15" width="6" height="8" fill="${dark}"/>
    <rect x="52" y="15" width="6" height="8" fill="${dark}"/>
    <rect x="28" y="32" width="44" height="60" rx="8" fill="${accent}"/>
    <path d="M50 48v30M50 70l-9 -7v-6M50 74l9 -9v-6" stroke="${dark}" stroke-width="4" fill="none"/>
    <circle cx="50" cy="80" r="4" fill="${dark}"/>`;

const drawings: Readonly<Record<Drawn, (accent: string) => string>> = {
  "stick-away": stick,
  "stick-gone": stick,
  // A card that comes down on a reader.
  ready: (accent) => `
    <g transform="rotate(-12 50 30)">
      <rect x="22" y="6" width="56" height="37" rx="5" fill="${accent}"/>
      <rect x="29" y="14" width="12" height="9" rx="2" fill="${dark}"/>
      <path d="M29 34h26" stroke="${dark}" stroke-width="4" fill="none"/>
      <path d="M59 13q5 6 0 12M65 10q8 9 0 18" stroke="${dark}" stroke-width="3" fill="none"/>
    </g>
    <path d="M38 56q12 10 24 0M30 64q20 16 40 0" stroke="${white}" stroke-width="4" fill="none"/>
    <rect x="14" y="82" width="72" height="14" rx="7" fill="${white}"/>
    <circle cx="75" cy="89" r="3" fill="${accent}"/>`,
  // A plug on its cable, and its socket.
  "no-reader": (accent) => `
    <path d="M2 50h18" stroke="${white}" stroke-width="6" fill="none"/>
    <rect x="18" y="36" width="26" height="28" rx="5" fill="${white}"/>
    <rect x="44" y="41" width="15" height="18" fill="${accent}"/>
    <rect x="48" y="45" width="5" height="3.5" fill="${dark}"/>
    <rect x="48" y="51.500" width="5" height="3.5" fill="${dark}"/>
    <path d="M70 34v32M70 34h24q4 0 4 4v24q0 4 -4 4h-24" stroke="${accent}" stroke-width="5" fill="none"/>
    <rect x="76" y="41" width="12" height="18" rx="1" fill="${accent}"/>
    <path d="M50 24v-10M40 26l-6 -8M60 26l6 -8" stroke="${accent}" stroke-width="4" fill="none"/>`,
  // A reader on its cable, with a cross instead of a card.
  "reader-broken": (accent) => `
    <path d="M50 12v22" stroke="${white}" stroke-width="6" fill="none"/>
    <rect x="14" y="34" width="72" height="56" rx="9" fill="${white}"/>
    <path d="M36 48l28 28M64 48l-28 28" stroke="${dark}" stroke-width="15" fill="none"/>
    <path d="M36 48l28 28M64 48l-28 28" stroke="${accent}" stroke-width="8" fill="none"/>`,
  // The outline of a card.
  empty: (accent) => `
    <rect x="8" y="22" width="84" height="56" rx="8" fill="none" stroke="${accent}" stroke-width="5" stroke-dasharray="10 9"/>
    <circle cx="38" cy="44" r="4.500" fill="${white}"/>
    <circle cx="62" cy="44" r="4.500" fill="${white}"/>
    <path d="M37 62q13 -9 26 0" stroke="${white}" stroke-width="5" fill="none"/>`,
  // An empty magnifying glass.
  "not-found": (accent) => `
    <path d="M63 63l25 25" stroke="${white}" stroke-width="12" fill="none"/>
    <circle cx="43" cy="43" r="30" fill="none" stroke="${accent}" stroke-width="7"/>
    <path d="M33 33l20 20M53 33l-20 20" stroke="${white}" stroke-width="6" fill="none"/>`,
  failed: (accent) => `
    <path d="M50 12L93 86H7Z" fill="${accent}" stroke="${accent}" stroke-width="8"/>
    <path d="M50 38v24" stroke="${dark}" stroke-width="8" fill="none"/>
    <circle cx="50" cy="75" r="5" fill="${dark}"/>`,
  starting: (accent) => `
    <circle cx="50" cy="50" r="44" fill="${accent}"/>
    <path d="M40 29v42l34 -21z" fill="${dark}" stroke="${dark}" stroke-width="5"/>`,
  // A list, with a mark before each line.
  playlist: (accent) => `
    <path d="M36 27h52M36 50h52M36 73h52" stroke="${white}" stroke-width="9" fill="none"/>
    <path d="M12 20v14l12 -7zM12 43v14l12 -7zM12 66v14l12 -7z" fill="${accent}" stroke="${accent}" stroke-width="2"/>`,
  // The sign of a switch, and an arrow in a circle.
  "switching-off": (accent) => `
    <path d="M30 22a36 36 0 1 0 40 0" stroke="${accent}" stroke-width="10" fill="none"/>
    <path d="M50 11v36" stroke="${white}" stroke-width="10" fill="none"/>`,
  restarting: (accent) => `
    <path d="M86 52a36 36 0 1 1 -12 -27" stroke="${accent}" stroke-width="10" fill="none"/>
    <path d="M79 9v19h-19" stroke="${white}" stroke-width="10" fill="none"/>`,
  // The moon and stars.
  "time-over": (accent) => `
    <path d="M64 12a42 42 0 1 0 26 58a34 34 0 0 1 -26 -58z" fill="${accent}"/>
    <path d="M80 20l2.500 6.500l6.500 2.500l-6.500 2.500l-2.500 6.500l-2.500 -6.500l-6.500 -2.500l6.500 -2.500z" fill="${white}"/>
    <path d="M68 40l1.800 4.700l4.700 1.800l-4.700 1.800l-1.800 4.700l-1.800 -4.700l-4.700 -1.800l4.700 -1.800z" fill="${white}"/>`,
};
