/**
 * Turns the text of one TOML list of texts into another list, keeping what it can: entries that stay keep their
 * spelling and place, comments and line breaks stay, and an entry that changes does so where it stands.
 */
import type { Member, ValueSpan } from "./toml-spans.ts";

/** Puts `text` in the place of `start..end` (UTF-16 offsets; equal for an insertion). */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type ArraySpan = Extract<ValueSpan, { kind: "array" }>;
type Item = Member<ValueSpan>;

/**
 * The splices that make `wanted` of the list at `span`, which holds `present`. `literal` spells one entry. The caller
 * proves the outcome by parsing it: layouts that nobody thought of are written anew as a whole.
 */
export function spliceList(
  source: string,
  span: ArraySpan,
  present: readonly string[],
  wanted: readonly string[],
  literal: (entry: string) => string,
): readonly Splice[] {
  const first = span.items[0];
  const inner = source.slice(span.start + 1, span.end - 1);
  if (first === undefined) {
    const end = inner.trim() === "" ? span.end - 1 : span.start + 1;
    return [{ start: span.start + 1, end, text: wanted.map(literal).join(", ") }];
  }
  const splices: Splice[] = [];
  let before: Item | undefined;
  for (const { removed, added, kept } of steps(present, wanted)) {
    const items = removed.map((index) => span.items[index]).filter((item) => item !== undefined);
    for (const [nth, item] of items.entries()) {
      const entry = added[nth];
      if (entry === undefined) splices.push(...removal(source, span, item));
      else {
        splices.push({ start: item.member.start, end: item.member.end, text: literal(entry) });
        before = item;
      }
    }
    const rest = added.slice(items.length).map(literal);
    if (rest.length > 0)
      splices.push(
        ...(before === undefined ? insertionFirst(source, first, rest) : insertion(source, before, rest)),
      );
    if (kept !== undefined) before = span.items[kept];
  }
  return splices;
}

interface Step {
  /** Indices of the entries that go. */
  readonly removed: readonly number[];
  /** What comes in their place. */
  readonly added: readonly string[];
  /** Index of the entry that stays behind them; undefined at the end. */
  readonly kept: number | undefined;
}

/** The way from one list to the other that keeps most entries (longest common subsequence). */
function steps(present: readonly string[], wanted: readonly string[]): readonly Step[] {
  const width = wanted.length + 1;
  const common = new Uint32Array((present.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = present.length - 1; i >= 0; i--)
    for (let j = wanted.length - 1; j >= 0; j--)
      common[i * width + j] =
        present[i] === wanted[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const all: Step[] = [];
  let removed: number[] = [];
  let added: string[] = [];
  let j = 0;
  for (let i = 0; i < present.length; i++) {
    while (j < wanted.length && present[i] !== wanted[j] && at(i, j + 1) >= at(i + 1, j)) {
      added.push(wanted[j] ?? "");
      j++;
    }
    if (j < wanted.length && present[i] === wanted[j]) {
      all.push({ removed, added, kept: i });
      [removed, added] = [[], []];
      j++;
    } else removed.push(i);
  }
  all.push({ removed, added: [...added, ...wanted.slice(j)], kept: undefined });
  return all;
}

/** Takes an entry and its comma out, with the line where nothing else stands on it. */
function removal(source: string, span: ArraySpan, { member, comma }: Item): readonly Splice[] {
  const end = comma === undefined ? member.end : comma + 1;
  // A comma after a comment or line break goes by itself.
  if (comma !== undefined && source.slice(member.end, comma).trim() !== "")
    return [
      { start: member.start, end: member.end, text: "" },
      { start: comma, end, text: "" },
    ];
  const lineStart = source.lastIndexOf("\n", member.start - 1) + 1;
  const lineEnd = source.indexOf("\n", end) + 1;
  const isAlone =
    lineStart > span.start &&
    lineEnd > 0 &&
    lineEnd < span.end &&
    source.slice(lineStart, member.start).trim() === "" &&
    source.slice(end, lineEnd).trim() === "";
  if (isAlone) return [{ start: lineStart, end: lineEnd, text: "" }];
  const spaces = /^[ \t]*/.exec(source.slice(end))?.[0].length ?? 0;
  return [{ start: member.start, end: comma === undefined ? end : end + spaces, text: "" }];
}

function insertionFirst(source: string, { member }: Item, entries: readonly string[]): readonly Splice[] {
  const { start } = member;
  const between = isFirstOnLine(source, start) ? `,${lineBreakBefore(source, start)}` : ", ";
  return [{ start, end: start, text: entries.map((entry) => entry + between).join("") }];
}

/** Behind an entry: on lines of their own where that one stands on one. */
function insertion(source: string, { member, comma }: Item, entries: readonly string[]): readonly Splice[] {
  const end = comma === undefined ? member.end : comma + 1;
  const separate: Splice[] = comma === undefined ? [{ start: end, end, text: "," }] : [];
  const restOfLine = /^[ \t]*(?:#[^\r\n]*)?(?=\r?\n)/.exec(source.slice(end))?.[0];
  const tail = comma === undefined ? "" : ",";
  if (restOfLine === undefined || !isFirstOnLine(source, member.start))
    return [...separate, { start: end, end, text: ` ${entries.join(", ")}${tail}` }];
  const at = end + restOfLine.length;
  const lineBreak = lineBreakBefore(source, member.start);
  return [...separate, { start: at, end: at, text: `${lineBreak}${entries.join(`,${lineBreak}`)}${tail}` }];
}

function isFirstOnLine(source: string, place: number): boolean {
  return /\n[ \t]*$/.test(source.slice(0, place));
}

/** The line end and indentation before `place`. */
function lineBreakBefore(source: string, place: number): string {
  return /\r?\n[ \t]*$/.exec(source.slice(0, place))?.[0] ?? "\n";
}
