/** Text on the screen: without control characters, shortened, and broken into lines of a fitting size. */

/**
 * One line without control characters, marks of direction and stacked accents, of at most `charsMax` characters. Pictures
 * that the font lacks are left out, unless the text has nothing else.
 */
export function plainText(text: string, charsMax: number): string {
  const part = text.slice(0, charsMax * 4);
  const clean = oneLine(part.replace(missingPictures, " ").replaceAll(keycap, "")) || oneLine(part);
  const characters = [...clean];
  return characters.length <= charsMax
    ? clean
    : `${characters
        .slice(0, charsMax - 1)
        .join("")
        .trimEnd()}…`;
}

/** The emoji that DejaVu Sans Bold lacks, and a few that it has. */
const missingPictures =
  /[\u2705\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u2b50\u2b55\u{1f000}-\u{1f5ff}\u{1f641}-\u{1faff}]\ufe0f?/gu;
/** It stands behind a digit, and is drawn over the next letter. */
const keycap = "\u20e3";

/** No font of the image has them, and they are compatible with the usual Katakana (Unicode, 18.4). */
const halfWidthKatakana = /[\uff61-\uff9f]+/g;

function oneLine(text: string): string {
  return text
    .replace(halfWidthKatakana, (run) => run.normalize("NFKC"))
    .normalize("NFC")
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .replace(/(\p{M}{2})\p{M}+/gu, "$1")
    .trim();
}

/** Escapes a text for the content and the attributes of XML. */
export function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

export interface Room {
  /** The width in pixels, as all sizes here. */
  readonly width: number;
  readonly linesMax: number;
  readonly sizeMax: number;
  readonly sizeMin: number;
}

interface FittedText {
  readonly size: number;
  readonly lines: readonly string[];
}

const smaller = 0.94; // The factor of one step. It is too small to be noticed.

/**
 * The largest size at which the text fits. If it does not fit at all, words that are longer than a line are broken. If
 * even the smallest size does not fit, the rest is cut off.
 */
export function fitText(text: string, room: Room): FittedText {
  const { width, linesMax, sizeMax, sizeMin } = room;
  if (text === "") return { size: sizeMax, lines: [] };
  const words = text.split(breaks);
  const widest = width / sizeMin;
  const parts = brokenOf(words, widest, joints);
  const pieces = brokenOf(parts, widest, characters);
  for (const tried of new Set([words, parts, pieces])) {
    const fitted = fitWords(tried, room);
    if (fitted !== undefined) return fitted;
  }
  const lines = wrap(pieces, widest);
  const last = lines.slice(linesMax - 1).join("");
  const whole = [...lines.slice(0, linesMax - 1), ...(last === "" ? [] : [last])].map(trimmed);
  return { size: sizeMin, lines: whole.map((line) => cut(line, widest)) };
}

/** The largest size at which the words fit; undefined if even the smallest does not fit. */
function fitWords(words: readonly string[], { width, linesMax, sizeMax, sizeMin }: Room) {
  for (let size = sizeMax; size > sizeMin; size *= smaller) {
    const lines = wrap(words, width / size);
    const fits = lines.length <= linesMax && lines.every((line) => widthOf(line.trimEnd()) <= width / size);
    if (fits) return { size, lines: balance(words, width / size, lines).map(trimmed) };
  }
  return undefined;
}

/** The places at which names of files and hosts are joined. */
const joints = /(?<=[-_.])/u;
/** All places, but not before a mark that belongs to the character before it. */
const characters = /(?=\P{M})/u;

/** The words, each of which is broken at these places if it is longer than a line. Words that all fit stay unchanged. */
function brokenOf(words: readonly string[], widthEm: number, places: RegExp): readonly string[] {
  const isLong = (word: string) => widthOf(word.trimEnd()) > widthEm;
  if (!words.some(isLong)) return words;
  return words.flatMap((word) => (isLong(word) ? word.split(places) : word));
}

/**
 * A line may break after a blank, and after each Japanese or Chinese character that no closing mark or small kana
 * follows (JIS X 4051).
 */
const breaks =
  /(?<= )|(?<=[\u3001\u3002\u3040-\u30ff\u4e00-\u9fff])(?![ 、。」』）：！？ー…ぁぃぅぇぉっゃゅょァィゥェォッャュョ])/u;

const trimmed = (line: string) => line.trimEnd();

/** The lines of the words. The pieces keep the blanks at their ends. */
function wrap(words: readonly string[], widthEm: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const longer = line + word;
    if (line === "" || widthOf(longer.trimEnd()) <= widthEm) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** The same number of lines with about the same length, so no word is alone in the last one. */
function balance(words: readonly string[], widthEm: number, lines: readonly string[]): readonly string[] {
  let best = lines;
  for (let narrower = widthEm * smaller; narrower > widthEm / 2; narrower *= smaller) {
    const tried = wrap(words, narrower);
    if (tried.length > lines.length || tried.some((line) => widthOf(line.trimEnd()) > widthEm)) break;
    best = tried;
  }
  return best;
}

function cut(line: string, widthEm: number): string {
  if (widthOf(line) <= widthEm) return line;
  const characters = [...line];
  while (characters.length > 1 && widthOf(`${characters.join("")}…`) > widthEm) characters.pop();
  return `${characters.join("").trimEnd()}…`;
}

/** The width in em in DejaVu Sans Bold, rounded up by kinds of characters. The widest letters take a little more than 1 em. */
function widthOf(text: string): number {
  let em = 0;
  for (const character of text) em += character === " " ? 0.35 : advanceOf(character);
  return em;
}

function advanceOf(character: string): number {
  if (/[ijlIJ.,:;'!|()[\]/\\]/.test(character)) return 0.46;
  if (/[frt"`*-]/.test(character)) return 0.53;
  if (/[mMwW@%…&+=<>]/.test(character)) return 1.11;
  if (/[a-z0-9_?$#]/.test(character)) return 0.72;
  return character <= "\u{2ff}" ? 0.86 : 1.1;
}
