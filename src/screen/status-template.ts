/**
 * The one picture of the graphical screen, as an SVG of the whole screen. It has a drawing and few words for people at
 * a distance of three metres, and the page's address as a QR code. Its colors are flat, for screens of 16 bits.
 */
import { encode } from "uqr";
import { screenFaultsCharsMax, screenNameCharsMax, screenReasonCharsMax } from "../core/console-limits.ts";
import { type Fault, faultSentence } from "../core/faults.ts";
import type { TelevisionLanguage } from "../core/playback.ts";
import { filled } from "../core/text.ts";
import type { WifiState } from "../core/wifi-shapes.ts";
import { accents, colors, drawing, drawingHeight } from "./drawings.ts";
import { type Box, wholeOf } from "./frame-buffer.ts";
import { frenchScreen } from "./languages/french-screen.ts";
import { germanScreen } from "./languages/german-screen.ts";
import { japaneseScreen } from "./languages/japanese-screen.ts";
import { portugueseScreen } from "./languages/portuguese-screen.ts";
import { spanishScreen } from "./languages/spanish-screen.ts";
import { levelRows } from "./level-template.ts";
import { isUpright, marginShare, px } from "./menu-parts.ts";
import { menuRows } from "./menu-template.ts";
import { isEnding, type Picture, type ShownAct, type ShownPairing, type StatePicture } from "./picture.ts";
import { escapeXml, fitText, plainText, type Room } from "./screen-lines.ts";
import { english, type ScreenTexts } from "./texts.ts";

/** The texts by the codes of the setting `television.language`. */
export const screenTexts: Readonly<Record<TelevisionLanguage, ScreenTexts>> = {
  en: english,
  de: germanScreen,
  fr: frenchScreen,
  es: spanishScreen,
  pt: portugueseScreen,
  ja: japaneseScreen,
};

export interface ScreenPlace {
  /** The address of the page, such as `http://deck.local:7497`; undefined without a network. */
  readonly base: string | undefined;
  /** The faults of the machine's start; absent means none. */
  readonly faults?: readonly Fault[];
  /** True if the device plays games. */
  readonly hasGames?: boolean;
  /** The act of an owner over the network a moment ago; undefined for none. */
  readonly act?: ShownAct | undefined;
  /** The state of the Wi-Fi; absent if the device has no Wi-Fi of its own. */
  readonly wifi?: WifiState;
  /**
   * The number of rest intervals without an event. From the first interval on the picture is dim, and it moves in each
   * interval. Absent means none.
   */
  readonly rest?: number;
}

/** The places to which the picture moves at rest, in parts of the margin, so no part leaves the screen. */
const restPlaces = [
  [0, 0],
  [0.6, 0.4],
  [-0.6, 0.4],
  [0.6, -0.4],
  [-0.6, -0.4],
] as const;
const restOpacity = 0.3;

/** The part of the screen for pictures. `x` and `y` are the free space at both sides; 0 if absent. */
type ScreenPart = Pick<Box, "width" | "height"> & Partial<Pick<Box, "x" | "y">>;

export function screenSvg(
  picture: Picture,
  place: ScreenPlace,
  part: ScreenPart,
  texts: ScreenTexts,
): string {
  const { x = 0, y = 0, width, height } = part;
  const whole = wholeOf({ x, y, width, height });
  const margin = marginShare * Math.min(width, height);
  const inside = { x: margin, y: margin, width: width - 2 * margin, height: height - 2 * margin };
  const rows =
    picture.kind === "pairing"
      ? pairing(picture, inside, texts)
      : picture.kind === "menu"
        ? [...menuRows(picture, part, texts.menu), ...(picture.hasLevel ? levelRows(part) : [])]
        : resting(state(picture, place, inside, texts), place, margin);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${whole.width}" height="${whole.height}" font-family="DejaVu Sans" font-weight="bold">`,
    `<rect width="${whole.width}" height="${whole.height}" fill="${colors.background}"/>`,
    ...(x === 0 && y === 0 ? rows : [`<g transform="translate(${x} ${y})">`, ...rows, "</g>"]),
    "</svg>",
  ].join("\n");
}

/** Moves the rows. On a screen that shows one picture for hours, the lines would burn in. */
function resting(rows: readonly string[], { rest = 0 }: ScreenPlace, margin: number): readonly string[] {
  if (rest === 0) return rows;
  const [x, y] = restPlaces[rest % restPlaces.length] ?? restPlaces[0];
  return [
    `<g opacity="${restOpacity}" transform="translate(${px(x * margin)} ${px(y * margin)})">`,
    ...rows,
    "</g>",
  ];
}

/** The drawing and words of the state. The address of the page is on the right, if the page can be opened. */
function state(
  picture: StatePicture,
  place: ScreenPlace,
  inside: Box,
  texts: ScreenTexts,
): readonly string[] {
  const foot = footOf(picture, place, inside, texts);
  const footHeight = heightOf(foot, 0);
  const above = {
    ...inside,
    height: inside.height - footHeight - Math.min(footHeight, 0.05 * inside.height),
  };
  const words = textRows(foot, { ...inside, y: inside.y + inside.height - footHeight }, 0);
  // The picture of a start has no QR code, because the player soon covers the screen. The picture of an end has no QR
  // code, because the page will not answer.
  const shown = picture.kind === "starting" || isEnding(picture) ? undefined : panelOf(place, texts);
  return shown === undefined
    ? [...message(picture, above, texts), ...words]
    : [...besidePanel(picture, shown, above, texts), ...words];
}

/** A few words at the foot. An act of an owner has precedence over the faults of the machine and over advice. */
function footOf(
  picture: StatePicture,
  { base, faults = [], hasGames = false, act, wifi }: ScreenPlace,
  { width, height }: Box,
  texts: ScreenTexts,
): readonly Row[] {
  const unit = Math.min(width, height);
  const linesMax = isUpright({ width, height }) ? 2 : 1;
  const room = { width, linesMax, sizeMax: unit * 0.045, sizeMin: unit * 0.03 };
  const wide = { width, linesMax: 4 * linesMax, sizeMax: unit * 0.055, sizeMin: unit * 0.036 };
  const endGame: Row = [texts.endGame, room, colors.quiet];
  if (picture.kind === "starting") return picture.isGame === true ? [endGame] : [];
  if (isEnding(picture)) return [];
  if (act !== undefined) {
    const said = texts.acts[act.act](plainText(act.name, screenNameCharsMax));
    return [[plainText(said, screenReasonCharsMax), room, colors.text]];
  }
  if (faults.length > 0) {
    const sentences = faults.map((fault) => sentence(faultSentence(fault, texts.faults)));
    const together = sentences.map((said) => (said.endsWith(".") ? said : `${said}.`)).join(" ");
    return [[plainText(together, screenFaultsCharsMax), wide, accents.failed]];
  }
  if (base === undefined || wifi?.point !== undefined)
    return networkFoot(wifi, { ...room, linesMax: 2 * linesMax }, texts);
  return hasGames && picture.kind === "ready" ? [endGame] : [];
}

/** The way to get a network, and the reason why the Wi-Fi does not work. */
function networkFoot(wifi: WifiState | undefined, room: Room, texts: ScreenTexts): readonly Row[] {
  if (wifi?.state === "joining") {
    const network = plainText(wifi.network ?? "", screenNameCharsMax);
    return [[filled(texts.joiningWifi, { network }), room, colors.text]];
  }
  const advice: Row = [adviceOf(wifi, texts), room, colors.quiet];
  if (wifi?.fault === undefined) return [advice];
  return [[texts.wifiFaults[wifi.fault], { ...room, linesMax: room.linesMax / 2 }, accents.failed], advice];
}

function adviceOf(wifi: WifiState | undefined, texts: ScreenTexts): string {
  if (wifi?.point !== undefined) return texts.noWifi;
  return wifi === undefined || wifi.state === "none" ? texts.noNetwork : texts.wifiLater;
}

/** A QR code, with a line above and lines below. */
interface Panel {
  readonly link: string;
  readonly above: string;
  readonly below: readonly string[];
  /** True if people must type the lines below the code, and not only recognize them. */
  readonly isTyped?: true;
}

/** The way to a network if there is none, otherwise the way to the page; undefined if neither is known. */
function panelOf({ base, wifi }: ScreenPlace, texts: ScreenTexts): Panel | undefined {
  if (wifi?.point !== undefined) {
    const { name, password } = wifi.point;
    // The form that cameras of phones read. Neither part has a character that would need a backslash.
    const link = `WIFI:T:WPA;S:${name};P:${password};;`;
    const below = [name, `${texts.wifiPassword} ${password}`];
    return { link, above: texts.joinWifi, below, isTyped: true };
  }
  return base === undefined ? undefined : { link: base, above: texts.openPage, below: [shown(base)] };
}

/** Splits the screen. On an upright screen, the panel is below the rest. */
function besidePanel(
  picture: StatePicture,
  beside: Panel,
  inside: Box,
  texts: ScreenTexts,
): readonly string[] {
  if (isUpright(inside)) {
    const width = Math.min(inside.width * 0.62, inside.height * 0.33);
    const height = width / 0.6;
    const y = inside.y + inside.height - height;
    const below = { x: inside.x + (inside.width - width) / 2, y, width, height };
    return [
      ...message(picture, { ...inside, height: inside.height - height }, texts),
      ...panel(beside, below, inside.width),
    ];
  }
  const panelWidth = Math.min(inside.width * 0.34, inside.height * 0.6);
  const gap = inside.width * 0.03;
  const left = { ...inside, width: inside.width - panelWidth - gap };
  const right = { ...inside, x: inside.x + inside.width - panelWidth, width: panelWidth };
  return [...message(picture, left, texts), ...panel(beside, right)];
}

/** The drawing, with one or two texts below it, in the middle of the box. */
function message(picture: StatePicture, box: Box, texts: ScreenTexts): readonly string[] {
  const { width, height } = box;
  const accent = accents[picture.kind];
  const unit = Math.min(height, width * 1.2);
  const large = { width, linesMax: 2, sizeMax: unit * 0.13, sizeMin: unit * 0.05 };
  const small = { width, linesMax: 3, sizeMax: unit * 0.06, sizeMin: unit * 0.042 };
  const headline: Row = [texts.headline[picture.kind], large, colors.text];
  const said: Row = [wordsOf(picture, texts), small, accent];
  const line: Room = { ...small, linesMax: 1 };
  // The name of the media that starts is large, and the word above it is small.
  const rows: readonly Row[] =
    picture.kind === "playlist"
      ? [
          [texts.headline.playlist, { ...line, sizeMax: unit * 0.08 }, colors.text],
          [picture.name, line, accent],
          ...picture.items.map((item): Row => [item, line, colors.text]),
        ]
      : picture.kind === "starting" && picture.name !== ""
        ? [
            [texts.headline.starting, line, accent],
            [picture.name, large, colors.text],
          ]
        : [headline, said];
  const gap = unit * 0.02;
  const wordsHeight = heightOf(rows, gap);
  const iconGap = unit * 0.05;
  const iconMax = Math.min(height * 0.48, height - wordsHeight - iconGap);
  const iconWidth = Math.min(width * 0.6, (iconMax * iconMax) / drawingHeight(picture.kind, iconMax));
  const iconHeight = drawingHeight(picture.kind, iconWidth);
  const top = box.y + (height - iconHeight - iconGap - wordsHeight) / 2;
  const icon = drawing(picture.kind, box.x + (width - iconWidth) / 2, top, iconWidth);
  return [icon, ...textRows(rows, { ...box, y: top + iconHeight + iconGap }, gap)];
}

/** The text below the headline: a name unchanged, a reason as a sentence, or the words of the state. */
function wordsOf(picture: StatePicture, { below, causes, hasReasons }: ScreenTexts): string {
  const cause = picture.kind === "failed" && picture.cause !== undefined ? causes[picture.cause] : undefined;
  if (cause !== undefined) return cause;
  const reason = "reason" in picture && hasReasons ? sentence(picture.reason) : "";
  const said = "name" in picture ? picture.name : reason;
  return plainText(said, screenReasonCharsMax) || below[picture.kind];
}

function sentence(reason: string): string {
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

/** A panel. `wordsWidth` is the width for the words, in the middle of the box. */
function panel({ link, ...words }: Panel, box: Box, wordsWidth = box.width): readonly string[] {
  const size = box.width;
  const top = box.y + (box.height - size) / 2;
  const room = { width: wordsWidth, linesMax: 1, sizeMax: box.height * 0.055, sizeMin: box.height * 0.025 };
  // An address may be long, and is typed as a whole.
  const wide = { ...room, linesMax: addressLinesMax };
  const above: readonly Row[] = [[words.above, room, colors.text]];
  const color = words.isTyped ? colors.text : colors.quiet;
  const below = words.below.map((line): Row => [line, wide, color]);
  const gap = box.height * 0.025;
  return [
    ...textRows(above, { ...box, y: top - heightOf(above, 0) - gap }, 0),
    qrCode(link, box.x, top, size),
    ...textRows(below, { ...box, y: top + size + gap }, 0),
  ];
}

function pairing({ link, base, code }: ShownPairing, box: Box, texts: ScreenTexts): readonly string[] {
  const isBelow = isUpright(box);
  const across = isBelow ? box.height : box.width;
  const codeSize = Math.min((isBelow ? box.width : box.height) * 0.82, across * 0.46);
  const between = across * 0.045;
  const width = isBelow ? box.width : box.width - codeSize - between;
  const height = isBelow ? box.height - codeSize - between : box.height;
  const unit = Math.min(height, width * 1.4);
  const room = (share: number, linesMax: number): Room => ({
    width,
    linesMax,
    sizeMax: unit * share,
    sizeMin: unit * 0.035,
  });
  const digits = `${code.slice(0, 3)} ${code.slice(3)}`;
  const address = `${texts.atAddress} ${shown(base)}`;
  const isShort = fitText(address, room(0.06, 1)).lines[0] === address;
  const rows: readonly Row[] = [
    [texts.headline.pairing, room(0.12, 2), colors.text],
    [texts.below.pairing, room(0.065, 2), accents.pairing],
    [texts.typeDigits, room(0.055, 1), colors.quiet],
    [digits, room(0.2, 1), colors.text],
    [address, isShort ? room(0.06, 1) : room(0.04, addressLinesMax), colors.quiet],
  ];
  const gap = unit * 0.035;
  const free = height - heightOf(rows, gap);
  if (isBelow)
    return [
      qrCode(link, box.x + (box.width - codeSize) / 2, box.y + free / 3, codeSize),
      ...textRows(rows, { ...box, y: box.y + codeSize + between + (free * 2) / 3 }, gap),
    ];
  return [
    qrCode(link, box.x, box.y + (box.height - codeSize) / 2, codeSize),
    ...textRows(rows, { ...box, x: box.x + codeSize + between, y: box.y + free / 2, width }, gap),
  ];
}

const addressLinesMax = 3;

/** The address in the form that people type. */
function shown(base: string): string {
  return plainText(base.replace(/^http:\/\//, ""), screenReasonCharsMax);
}

const lineHeight = 1.2;
const ascent = 0.95; // The distance from a line's upper end to its baseline, in parts of the font's size.

type Row = readonly [text: string, room: Room, color: string];

function heightOf(rows: readonly Row[], gap: number): number {
  const heights = rows.map(([text, room]) => {
    const { lines, size } = fitText(text, room);
    return lines.length * size * lineHeight;
  });
  return heights.reduce((sum, height) => sum + height, gap * (rows.length - 1));
}

/** Texts below each other, each line in the middle of the box, from its upper end down. */
function textRows(rows: readonly Row[], box: Box, gap: number): readonly string[] {
  const middle = box.x + box.width / 2;
  let top = box.y;
  return rows.flatMap(([text, room, color]) => {
    const { size, lines } = fitText(text, room);
    const from = top;
    top += lines.length * size * lineHeight + gap;
    return lines.map(
      (line, index) =>
        `<text x="${px(middle)}" y="${px(from + size * (ascent + index * lineHeight))}" font-size="${px(size)}" text-anchor="middle" fill="${color}">${escapeXml(line)}</text>`,
    );
  });
}

const quietModules = 4; // The width of the border that a camera needs (ISO/IEC 18004).

/** A QR code: the dark modules as one path on a white card. Modules have whole pixels, so no edge is blurred. */
function qrCode(text: string, x: number, y: number, size: number): string {
  const { data, size: modules } = encode(text, { ecc: "M", border: quietModules });
  const module = Math.max(1, Math.floor(size / modules));
  const inset = Math.floor((size - module * modules) / 2);
  const left = Math.round(x) + inset;
  const top = Math.round(y) + inset;
  let path = "";
  for (const [row, line] of data.entries())
    for (const [column, isDark] of line.entries())
      if (isDark) path += `M${left + column * module} ${top + row * module}h${module}v${module}h-${module}z`;
  return [
    `<rect x="${px(x)}" y="${px(y)}" width="${px(size)}" height="${px(size)}" rx="${px(size * 0.05)}" fill="#ffffff"/>`,
    `<path shape-rendering="crispEdges" fill="#000000" d="${path}"/>`,
  ].join("\n");
}
