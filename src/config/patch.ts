/**
 * Changes single settings in the text of a config file and leaves every other byte as it is: comments, order, blank
 * lines, quotes and line ends. What comes out is proved by parsing it: the tree is the old one with just those values.
 */
import { isDeepStrictEqual } from "node:util";
import { tableOf } from "./checks.ts";
import { type Splice, spliceList } from "./patch-list.ts";
import { parseToml } from "./read-config.ts";
import { type EntrySpan, type Span, type Statement, spansOf, type ValueSpan } from "./toml-spans.ts";

export type SettingValue = boolean | number | readonly string[];

/** `section.key` gets `value`. */
export interface SettingEdit {
  readonly section: string;
  readonly key: string;
  readonly value: SettingValue;
}

export type Patched =
  | { readonly kind: "patched"; readonly text: string }
  /** The text is written in a way that this does not know how to change safely. */
  | { readonly kind: "refused"; readonly edit: SettingEdit };

/** Applies the edits to a text that the parser takes. A value that stands there already costs no byte. */
export function patchText(source: string, edits: readonly SettingEdit[]): Patched {
  let text = source;
  for (const edit of edits) {
    const next = patchOne(text, edit);
    if (next === undefined) return { kind: "refused", edit };
    text = next;
  }
  return { kind: "patched", text };
}

/** One of the two ways of writing it that the parser confirms; the gentler first. */
function patchOne(text: string, edit: SettingEdit): string | undefined {
  const present = sectionOf(parseToml(text), edit.section)[edit.key];
  if (isDeepStrictEqual(present, edit.value)) return text;
  return [gentleSplices, plainSplices]
    .map((splicesOf) => attempt(() => applied(text, splicesOf(text, edit, present))))
    .find((candidate) => candidate !== undefined && hasJustChanged(text, candidate, edit));
}

/** Where a text is not as expected, there is no candidate, and the caller says so. */
function attempt(make: () => string): string | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

function hasJustChanged(before: string, after: string, { section, key, value }: SettingEdit): boolean {
  const expected = { ...tableOf(parseToml(before), "") };
  expected[section] = { ...sectionOf(expected, section), [key]: value };
  try {
    return isDeepStrictEqual(plain(parseToml(after)), plain(expected));
  } catch {
    // What does not parse is no way of writing it.
    return false;
  }
}

// The parser's tables have no prototype, ours have one.
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return new Map(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

function sectionOf(tree: unknown, section: string): Record<string, unknown> {
  return { ...tableOf(tableOf(tree, "")[section] ?? {}, section) };
}

function gentleSplices(text: string, edit: SettingEdit, present: unknown): readonly Splice[] {
  const value = valueSpanOf(spansOf(text), edit);
  const isList = value?.kind === "array" && Array.isArray(edit.value) && Array.isArray(present);
  return isList
    ? spliceList(text, value, present.map(String), edit.value, textLiteral)
    : plainSplices(text, edit);
}

function plainSplices(text: string, edit: SettingEdit): readonly Splice[] {
  const statements = spansOf(text);
  const { section, key } = edit;
  const literal = literalOf(edit.value);
  const value = valueSpanOf(statements, edit);
  if (value !== undefined) return [{ start: value.start, end: value.end, text: literal }];
  const line = `${key} = ${literal}`;

  const inline = topEntries(statements).find((entry) => isKey(entry.key, [section]))?.value;
  if (inline?.kind === "table") return [intoInlineTable(inline, line)];
  const header = statements.findIndex((one) => isHeaderOf(one, section));
  if (header >= 0) return [lineBehind(text, lastOfTable(statements, header), line)];
  const dotted = topEntries(statements).findLast((entry) => entry.key.length > 1 && entry.key[0] === section);
  if (dotted === undefined) return [newSection(text, section, line)];
  const { start, end } = dotted.firstPart;
  return [lineBehind(text, dotted, `${text.slice(start, end)}.${line}`)];
}

/** The value of `section.key` in any spelling: below `[section]`, dotted, or in an inline table. */
function valueSpanOf(statements: readonly Statement[], { section, key }: SettingEdit): ValueSpan | undefined {
  const path = [section, key];
  let table: readonly string[] | undefined = [];
  for (const statement of statements) {
    if (statement.kind === "header") table = statement.isArray ? undefined : statement.key;
    else if (table !== undefined) {
      const found = within(statement.entry, table, path);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function within(entry: EntrySpan, table: readonly string[], path: readonly string[]): ValueSpan | undefined {
  const own = [...table, ...entry.key];
  if (isKey(own, path)) return entry.value;
  if (entry.value.kind !== "table" || own.length >= path.length) return undefined;
  return entry.value.entries
    .map(({ member }) => within(member, own, path))
    .find((found) => found !== undefined);
}

/** The entries before the first header. */
function topEntries(statements: readonly Statement[]): readonly EntrySpan[] {
  const end = statements.findIndex(({ kind }) => kind === "header");
  return statements
    .slice(0, end < 0 ? statements.length : end)
    .flatMap((statement) => (statement.kind === "entry" ? [statement.entry] : []));
}

function isHeaderOf(statement: Statement, section: string): boolean {
  return statement.kind === "header" && !statement.isArray && isKey(statement.key, [section]);
}

function isKey(key: readonly string[], path: readonly string[]): boolean {
  return key.length === path.length && key.every((part, nth) => part === path[nth]);
}

/** The last statement of the table whose header is given: that header itself where the table is empty. */
function lastOfTable(statements: readonly Statement[], header: number): Span {
  const next = statements.findIndex(({ kind }, nth) => nth > header && kind === "header");
  const last = statements[(next < 0 ? statements.length : next) - 1];
  if (last === undefined) throw new Error("a table without a header");
  return last;
}

/** A line of its own behind that of `statement`, indented as that one. */
function lineBehind(text: string, statement: Span, line: string): Splice {
  const lineStart = text.lastIndexOf("\n", statement.start - 1) + 1;
  const indent = /^[ \t]*/.exec(text.slice(lineStart, statement.start))?.[0] ?? "";
  const lineEnd = text.indexOf("\n", statement.end);
  const at = lineEnd < 0 ? text.length : lineEnd - (text[lineEnd - 1] === "\r" ? 1 : 0);
  return { start: at, end: at, text: `${lineEndOf(text, at)}${indent}${line}` };
}

function intoInlineTable(table: Extract<ValueSpan, { kind: "table" }>, line: string): Splice {
  const last = table.entries.at(-1);
  if (last === undefined) return { start: table.start, end: table.end, text: `{ ${line} }` };
  const at = last.comma === undefined ? last.member.end : last.comma + 1;
  return { start: at, end: at, text: last.comma === undefined ? `, ${line}` : ` ${line}` };
}

function newSection(text: string, section: string, line: string): Splice {
  const lineEnd = lineEndOf(text, text.length);
  const isEmpty = text === "" || text === "\ufeff";
  const gap = isEmpty || /\n\r?\n$/.test(text) ? "" : text.endsWith("\n") ? lineEnd : lineEnd + lineEnd;
  const at = text.length;
  return { start: at, end: at, text: `${gap}[${section}]${lineEnd}${line}${lineEnd}` };
}

/** The line end that stands at `place`, else the text's first one. */
function lineEndOf(text: string, place: number): string {
  return /^\r?\n/.exec(text.slice(place))?.[0] ?? /\r?\n/.exec(text)?.[0] ?? "\n";
}

function applied(text: string, splices: readonly Splice[]): string {
  const inOrder = splices.toSorted((a, b) => a.start - b.start);
  let [out, place] = ["", 0];
  for (const { start, end, text: inserted } of inOrder) {
    if (start < place) throw new Error("two changes of one place");
    out += text.slice(place, start) + inserted;
    place = end;
  }
  return out + text.slice(place);
}

function literalOf(value: SettingValue): string {
  return typeof value === "object" ? `[${value.map(textLiteral).join(", ")}]` : String(value);
}

/** A TOML basic string: JSON's escapes are among TOML's, which also wants DEL escaped (TOML 1.0, String). */
function textLiteral(value: string): string {
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}
