/** JSON from outside, and text for people: escaped for terminals, the age of a time, and the word that a typo probably means. */

// Control characters of both sets, and the marks that change the direction of writing (Unicode, 23.2 and 23.3).
const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The same JSON value with each character that can control a terminal as an escape such as `\u001b`. */
export function printableJson(json: string): string {
  return json.replace(steering, (character) =>
    character === "\n" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The text on one line, with each character that can control a terminal as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(steering, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

/** The text, or its start with an ellipsis: at most `charsMax` characters, and no half of a surrogate pair. */
export function clipped(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`;
}

/** The value of a JSON text; undefined if the text is malformed, or nested too deep for the parser. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports the fault.
    return undefined;
  }
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * The age of a time, such as `just now`, `5 minutes ago` or `3 days ago`. `time` is RFC 3339; a time after `nowMs` is
 * `just now`.
 */
export function ago(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time);
  if (ms < minuteMs) return "just now";
  if (ms < hourMs) return inWords(ms / minuteMs, "minute");
  if (ms < dayMs) return inWords(ms / hourMs, "hour");
  return inWords(ms / dayMs, "day");
}

function inWords(count: number, unit: string): string {
  const whole = Math.floor(count);
  return `${whole} ${unit}${whole === 1 ? "" : "s"} ago`;
}

/** The nearest of `known` to `word`; undefined if none is near enough for a typo. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const typed = word.slice(0, 64);
  const best = known
    .map((candidate) => ({ candidate, distance: editDistance(typed, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.candidate.length / 3))
    ? best.candidate
    : undefined;
}

/** A hint such as `; did you mean X?`. It is empty if no word is near, or if the word is known. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined || meant === word ? "" : `; did you mean ${meant}?`;
}

/** Insertions, deletions, changes and swaps of neighbours, each of one character (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const change = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const isSwap = i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j];
      const swap = isSwap ? (before[j - 1] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The text with the values of the words in braces. */
export function filled(text: string, values: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
}

/** A duration as Go writes it, of whole seconds: `45s`, `5m0s`, `1h30m0s`. */
export function shortDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds}s`;
  return `${minutes < 60 ? "" : `${Math.floor(minutes / 60)}h`}${minutes % 60}m${seconds % 60}s`;
}
