/**
 * Turns the text of one TOML list into another. Entries that stay keep their spelling and place, and so do comments and
 * line breaks. An entry that changes is changed in place. Offsets are UTF-16 units.
 */

export interface Span {
  readonly start: number;
  /** The offset after the last unit. */
  readonly end: number;
}

/** Replaces the text of the span; an empty span is an insertion. */
export interface Splice extends Span {
  readonly text: string;
}

/** A member of a list or inline table. */
export interface ListItem extends Span {
  /** The offset of the comma that follows; undefined if there is none. */
  readonly comma: number | undefined;
  /** The offset after the item and its comma. */
  readonly after: number;
}

interface List extends Span {
  readonly items: readonly ListItem[];
}

export type ListValue = string | number;

/** A number, or a basic string of TOML, which has the escapes of JSON and also needs one for DEL (TOML 1.0, "String"). */
export function tomlLiteral(value: ListValue): string {
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}

/** The splices that turn `list`, which holds `present`, into `wanted`. The caller verifies the result by parsing it. */
export function spliceList(
  text: string,
  list: List,
  present: readonly unknown[],
  wanted: readonly ListValue[],
): readonly Splice[] {
  const [first] = list.items;
  if (first === undefined) {
    const isBlank = text.slice(list.start + 1, list.end - 1).trim() === "";
    const end = isBlank ? list.end - 1 : list.start + 1;
    return [{ start: list.start + 1, end, text: wanted.map(tomlLiteral).join(", ") }];
  }
  const splices: Splice[] = [];
  let before: ListItem | undefined;
  for (const { removed, added, kept } of stepsBetween(present, wanted)) {
    const items = removed.flatMap((index) => list.items[index] ?? []);
    for (const [nth, item] of items.entries()) {
      const entry = added[nth];
      if (entry === undefined) splices.push(...removal(text, list, item));
      else {
        splices.push({ start: item.start, end: item.end, text: tomlLiteral(entry) });
        before = item;
      }
    }
    const rest = added.slice(items.length).map(tomlLiteral);
    if (rest.length > 0)
      splices.push(
        ...(before === undefined ? insertionFirst(text, first, rest) : insertion(text, before, rest)),
      );
    if (kept !== undefined) before = list.items[kept];
  }
  return splices;
}

interface Step {
  /** Indices of the entries to remove. */
  readonly removed: readonly number[];
  /** The entries in their place. */
  readonly added: readonly ListValue[];
  /** Index of the entry that follows and stays; undefined at the end. */
  readonly kept: number | undefined;
}

/** The steps from one list to the other that keep most entries (longest common subsequence). */
function stepsBetween(present: readonly unknown[], wanted: readonly ListValue[]): readonly Step[] {
  const width = wanted.length + 1;
  const common = new Uint32Array((present.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = present.length - 1; i >= 0; i--)
    for (let j = wanted.length - 1; j >= 0; j--)
      common[i * width + j] =
        present[i] === wanted[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const steps: Step[] = [];
  let removed: number[] = [];
  let from = 0;
  let j = 0;
  for (let i = 0; i < present.length; i++) {
    while (j < wanted.length && present[i] !== wanted[j] && at(i, j + 1) >= at(i + 1, j)) j++;
    if (j < wanted.length && present[i] === wanted[j]) {
      steps.push({ removed, added: wanted.slice(from, j), kept: i });
      removed = [];
      from = ++j;
    } else removed.push(i);
  }
  return [...steps, { removed, added: wanted.slice(from), kept: undefined }];
}

/** Removes an entry and its comma, and the line if nothing else is on it. */
function removal(text: string, list: List, { start, end, comma, after }: ListItem): readonly Splice[] {
  // A comma after a comment or line break is removed by itself.
  if (comma !== undefined && text.slice(end, comma).trim() !== "")
    return [
      { start, end, text: "" },
      { start: comma, end: after, text: "" },
    ];
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const lineEnd = text.indexOf("\n", after) + 1;
  const isAlone =
    lineStart > list.start &&
    lineEnd > 0 &&
    lineEnd < list.end &&
    text.slice(lineStart, start).trim() === "" &&
    text.slice(after, lineEnd).trim() === "";
  if (isAlone) return [{ start: lineStart, end: lineEnd, text: "" }];
  const spaces = comma === undefined ? 0 : (/^[ \t]*/.exec(text.slice(after))?.[0].length ?? 0);
  return [{ start, end: after + spaces, text: "" }];
}

function insertionFirst(text: string, { start }: ListItem, entries: readonly string[]): readonly Splice[] {
  const between = isFirstOnLine(text, start) ? `,${lineBreakBefore(text, start)}` : ", ";
  return [{ start, end: start, text: entries.map((entry) => entry + between).join("") }];
}

/** Inserts entries after an entry; each gets a line of its own if that entry has one. */
function insertion(
  text: string,
  { start, comma, after }: ListItem,
  entries: readonly string[],
): readonly Splice[] {
  const separate: Splice[] = comma === undefined ? [{ start: after, end: after, text: "," }] : [];
  const restOfLine = /^[ \t]*(?:#[^\r\n]*)?(?=\r?\n)/.exec(text.slice(after))?.[0];
  const tail = comma === undefined ? "" : ",";
  if (restOfLine === undefined || !isFirstOnLine(text, start))
    return [...separate, { start: after, end: after, text: ` ${entries.join(", ")}${tail}` }];
  const at = after + restOfLine.length;
  const lineBreak = lineBreakBefore(text, start);
  return [...separate, { start: at, end: at, text: `${lineBreak}${entries.join(`,${lineBreak}`)}${tail}` }];
}

function isFirstOnLine(text: string, place: number): boolean {
  return /\n[ \t]*$/.test(text.slice(0, place));
}

/** The line end and indentation before `place`. */
function lineBreakBefore(text: string, place: number): string {
  return /\r?\n[ \t]*$/.exec(text.slice(0, place))?.[0] ?? "\n";
}
