/**
 * Changes single settings in the text of a config file and keeps every other byte: comments, order, blank lines, quotes
 * and line ends. Each result is verified by parsing it: the tree differs from the old one in just those values.
 *
 * `patch` of @decimalturn/toml-patch 3.3.0 does not replace this. Of the 1,000 random edits in
 * `test/unit/config/toml-edit.test.ts`, 895 change a value. For 657 of these, the result of `patch` is wrong. 635 of its
 * results change bytes elsewhere, 22 are a wrong config or no TOML, and 83 lose a comment. A file of 240 KB in 60,000
 * lines takes `patch` 33 s, and this 0.1 s. Only the places of values come from the library's syntax tree, by a getter
 * that it calls internal. Its version is pinned, and an edit with wrong places fails the verification.
 */
import { isDeepStrictEqual } from "node:util";
import { TomlDocument } from "@decimalturn/toml-patch";
import { tableOf } from "./checks.ts";
import {
  type ListItem,
  type ListValue,
  type Span,
  type Splice,
  spliceList,
  tomlLiteral,
} from "./toml-list-edit.ts";

export type SettingValue = boolean | ListValue | readonly ListValue[];

/** A change that gives `section.key` the value `value`. */
export interface SettingEdit {
  readonly section: string;
  readonly key: string;
  readonly value: SettingValue;
}

type EditedText =
  | { readonly kind: "edited"; readonly text: string }
  /** The text has a form that this function cannot change safely. */
  | { readonly kind: "refused"; readonly edit: SettingEdit };

/** Applies the edits to valid TOML. A value that is already there changes no byte. */
export function editToml(source: string, edits: readonly SettingEdit[]): EditedText {
  const mark = source.startsWith("\ufeff") ? "\ufeff" : "";
  let text = source.slice(mark.length);
  for (const edit of edits) {
    const next = editOne(text, edit);
    if (next === undefined) return { kind: "refused", edit };
    text = next;
  }
  return { kind: "edited", text: mark + text };
}

/**
 * Tries two ways to write the value, first the one that keeps more of a list. Returns the first text that the parser
 * confirms.
 */
function editOne(text: string, edit: SettingEdit): string | undefined {
  const source = sourceOf(text);
  const present = sectionOf(source.tree, edit.section)[edit.key];
  if (isDeepStrictEqual(present, edit.value)) return text;
  for (const splicesOf of [listSplices, plainSplices]) {
    try {
      const candidate = applied(text, splicesOf(source, edit, present));
      if (isOnlyChange(source.tree, candidate, edit)) return candidate;
    } catch {
      // The layout is unexpected, or the candidate is no TOML. The next way may work; otherwise the edit is refused.
    }
  }
  return undefined;
}

function isOnlyChange(before: unknown, candidate: string, { section, key, value }: SettingEdit): boolean {
  const expected = { ...tableOf(before, ""), [section]: { ...sectionOf(before, section), [key]: value } };
  // The parser's tables have no prototype, so a strict comparison would fail.
  return Bun.deepEquals(sourceOf(candidate).tree, expected);
}

function sectionOf(tree: unknown, section: string): Record<string, unknown> {
  return { ...tableOf(tableOf(tree, "")[section] ?? {}, section) };
}

type Block = TomlDocument["cst"][number];
type Entry = Extract<Block, { readonly equals: number }>;
type Value = Entry["value"];
type Table = Extract<Block, { readonly items: unknown }>;
type Source = ReturnType<typeof sourceOf>;

/** A text with its tree and its statements. The library counts lines from 1, and columns in UTF-16 units from 0. */
function sourceOf(text: string) {
  const document = new TomlDocument(text);
  const lineStarts = [0, 0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const offsetOf = ({ line, column }: Block["loc"]["start"]) => (lineStarts[line] ?? 0) + column;
  const spanOf = ({ loc }: Pick<Block, "loc">): Span => ({
    start: offsetOf(loc.start),
    end: offsetOf(loc.end),
  });
  const isTable = (block: Block): block is Table =>
    "items" in block && !text.startsWith("[[", offsetOf(block.loc.start));
  const tree: unknown = document.toJsObject;
  // Entries before the first header, and tables with theirs. Arrays of tables hold no settings.
  const top = document.cst.filter(isEntry);
  const tables = document.cst.filter(isTable);
  return { text, tree, spanOf, top, tables };
}

function isEntry(node: object): node is Entry {
  return "equals" in node;
}

function entriesIn(value: Value): readonly Entry[] {
  return "items" in value ? value.items.map(({ item }) => item).filter(isEntry) : [];
}

/** The value of `section.key` in any spelling: below `[section]`, dotted, or in an inline table. */
function valueAt({ top, tables }: Source, { section, key }: SettingEdit): Value | undefined {
  const path = [section, key];
  const within = (entry: Entry, table: readonly string[]): readonly Value[] => {
    const own = [...table, ...entry.key.value];
    if (isDeepStrictEqual(own, path)) return [entry.value];
    return entriesIn(entry.value).flatMap((inner) => within(inner, own));
  };
  return [
    ...top.flatMap((entry) => within(entry, [])),
    ...tables.flatMap((table) =>
      table.items.filter(isEntry).flatMap((entry) => within(entry, table.key.item.value)),
    ),
  ][0];
}

function listSplices(source: Source, edit: SettingEdit, present: unknown): readonly Splice[] {
  const list = valueAt(source, edit);
  return list !== undefined && Array.isArray(present) && typeof edit.value === "object"
    ? spliceList(source.text, { ...source.spanOf(list), items: itemsOf(source, list) }, present, edit.value)
    : plainSplices(source, edit);
}

function literalOf(value: SettingValue): string {
  if (typeof value === "object") return `[${value.map(tomlLiteral).join(", ")}]`;
  return typeof value === "string" ? tomlLiteral(value) : `${value}`;
}

function plainSplices(source: Source, edit: SettingEdit): readonly Splice[] {
  const { text, spanOf, top, tables } = source;
  const { section, key } = edit;
  const literal = literalOf(edit.value);
  const value = valueAt(source, edit);
  if (value !== undefined) return [{ ...spanOf(value), text: literal }];
  const line = `${key} = ${literal}`;

  const inline = top.find((entry) => isDeepStrictEqual(entry.key.value, [section]))?.value;
  if (inline !== undefined) return [intoInlineTable(source, inline, line)];
  const table = tables.find(({ key }) => isDeepStrictEqual(key.item.value, [section]));
  if (table !== undefined) return [lineAfter(text, spanOf(table.items.findLast(isEntry) ?? table.key), line)];
  const dotted = top.findLast((entry) => entry.key.value[0] === section);
  if (dotted === undefined) return [newSection(text, section, line)];
  const spelling = /^(?:"(?:\\.|[^"\\])*"|'[^']*'|[\w-]+)/.exec(text.slice(spanOf(dotted).start))?.[0];
  return [lineAfter(text, spanOf(dotted), `${spelling}.${line}`)];
}

/** Inserts `line` below the line of `statement`, with the same indentation. */
function lineAfter(text: string, statement: Span, line: string): Splice {
  const lineStart = text.lastIndexOf("\n", statement.start - 1) + 1;
  const indent = /^[ \t]*/.exec(text.slice(lineStart, statement.start))?.[0] ?? "";
  const lineEnd = text.indexOf("\n", statement.end);
  const at = lineEnd < 0 ? text.length : lineEnd - (text[lineEnd - 1] === "\r" ? 1 : 0);
  return { start: at, end: at, text: `${lineEndAt(text, at)}${indent}${line}` };
}

function intoInlineTable(source: Source, table: Value, line: string): Splice {
  const last = itemsOf(source, table).at(-1);
  if (last === undefined) return { ...source.spanOf(table), text: `{ ${line} }` };
  const at = last.after;
  return { start: at, end: at, text: last.comma === undefined ? `, ${line}` : ` ${line}` };
}

function newSection(text: string, section: string, line: string): Splice {
  const at = text.length;
  const lineEnd = lineEndAt(text, at);
  const gap = text === "" || /\n\r?\n$/.test(text) ? "" : text.endsWith("\n") ? lineEnd : lineEnd + lineEnd;
  return { start: at, end: at, text: `${gap}[${section}]${lineEnd}${line}${lineEnd}` };
}

/** The line end at `place`, otherwise the text's first one. */
function lineEndAt(text: string, place: number): string {
  return /^\r?\n/.exec(text.slice(place))?.[0] ?? /\r?\n/.exec(text)?.[0] ?? "\n";
}

function applied(text: string, splices: readonly Splice[]): string {
  let out = "";
  let place = 0;
  for (const { start, end, text: inserted } of splices.toSorted((a, b) => a.start - b.start)) {
    if (start < place) throw new Error("two changes of one place");
    out += text.slice(place, start) + inserted;
    place = end;
  }
  return out + text.slice(place);
}

/** The members of an array or inline table, each with the offset of its comma. */
function itemsOf({ spanOf }: Source, value: Value): readonly ListItem[] {
  if (!("items" in value)) return [];
  return value.items.map((member) => {
    const span = spanOf(member.item);
    const comma = member.comma ? spanOf(member).end : undefined;
    return { ...span, comma, after: comma === undefined ? span.end : comma + 1 };
  });
}
