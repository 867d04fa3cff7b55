/** Reads and writes mappings as TOML with `[[mapping]]` tables. A fault is a sentence with its line. */
import { parse } from "@decimalturn/toml-patch";
import { messageOf } from "../core/errors.ts";
import { importFaultsMax, mappingDotsMax, mappingLinesMax, mappingListMarksMax } from "../core/limits.ts";
import { didYouMean, isRecord } from "../core/text.ts";
import { type MappingMatch, type MappingParams, mappingTypeNames, mappingTypeOf } from "../core/token.ts";
import { lineOf, tomlFault } from "./read-config.ts";
import { tomlLiteral } from "./toml-list-edit.ts";

/** The reason why a file is refused; `line` counts from 1. */
export class MappingFileFault extends Error {
  readonly line: number | undefined;

  constructor(line: number | undefined, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.line = line;
  }
}

/** Throws an error for an invalid mapping; its sentence begins with the key's name and a colon. */
export type MappingCheck = (mapping: MappingParams) => void;

/** The valid mappings of a text, in order, and the faults of the others. */
export interface ReadMappings {
  readonly mappings: readonly { readonly line: number; readonly params: MappingParams }[];
  readonly faults: readonly MappingFileFault[];
}

/**
 * The mappings of a text. Throws `MappingFileFault` if it is no TOML, or holds anything else. Awaits `breathe` often, so
 * other work can run meanwhile.
 */
export async function readMappingsToml(
  source: string,
  check: MappingCheck,
  breathe: () => Promise<void>,
): Promise<ReadMappings> {
  const tables: unknown[] = [];
  const parts = partsOf(source);
  for (let at = 0, line = 0; at < parts.length; ) {
    const { text, count, some } = await nextTables(parts, at, breathe);
    tables.push(...(some ?? tablesIn(text, line)));
    at += count;
    line += text.split("\n").length - 1;
    await breathe();
  }
  return checkedAll(tables, source, check, breathe);
}

// The parser takes 40 ms for 100 KiB, and 60 ms for 12 KiB of long patterns. Taps must not wait that long, so a file is
// parsed in parts.
const partChars = 2048;
// The most bytes that are parsed at once: the longest mapping with each character as an escape.
const partCharsMax = 64 * 1024;

/**
 * Some parts from index `at`, and their tables; undefined if they are invalid. A part that is invalid by itself may end
 * within a long text; then it is valid together with the parts after it.
 */
async function nextTables(parts: readonly string[], at: number, breathe: () => Promise<void>) {
  let text = "";
  let count = 0;
  let some: readonly unknown[] | undefined;
  while (some === undefined && at + count < parts.length) {
    const longer = text + (parts[at + count] ?? "");
    if (count > 0 && longer.length > partCharsMax) break;
    text = longer;
    count = count + 1;
    some = tablesOf(longer);
    await breathe();
  }
  return { text, count, some };
}

const mappingHeads = /^[ \t]*\[\[[ \t]*mapping[ \t]*\]\]/gm;

/** Splits the text before lines that begin a mapping. */
function partsOf(source: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  for (const { index } of source.matchAll(mappingHeads)) {
    if (index - start < partChars) continue;
    parts.push(source.slice(start, index));
    start = index;
  }
  return [...parts, source.slice(start)];
}

// TOML 1.0, "String" and "Comment". An unclosed string ends with the text.
const textsAndComments =
  /"""(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"{3,5}|$)|'''[\s\S]*?(?:'{3,5}|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|#[^\n]*/g;

/** True for a text that takes the parser long, and that is no mapping. */
function isIntricate(part: string): boolean {
  const bare = part.replace(textsAndComments, "");
  const mappings = bare.match(mappingHeads)?.length ?? 0;
  const rest = bare.replace(mappingHeads, "");
  const count = (mark: RegExp) => rest.match(mark)?.length ?? 0;
  const keysAndTables = count(/^[^\n={[]*[=[]/gm);
  if (keysAndTables > (mappings + 1) * mappingLinesMax) return true;
  return count(/\./g) > mappingDotsMax || count(/[,{[]/g) > mappingListMarksMax;
}

/** The mappings of a part of a file; undefined if it holds anything else, or is no TOML. */
function tablesOf(part: string): readonly unknown[] | undefined {
  try {
    return tablesIn(part, 0);
  } catch {
    // The caller parses more of the file next, or reports the fault.
    return undefined;
  }
}

/** Like `tablesOf`, but throws `MappingFileFault`; `before` is the number of lines before this part. */
function tablesIn(source: string, before: number): readonly unknown[] {
  const place = (key: string) => before + (lineOf(source, { key, nth: 0 }) ?? 1);
  if (source.length > partCharsMax) {
    const sentence = `no mapping begins in the ${partCharsMax} characters from here on: each begins with [[mapping]], on a line of its own`;
    throw new MappingFileFault(before + 1, sentence);
  }
  if (isIntricate(source)) {
    const sentence =
      "a mapping has one text, or true or false, for each key: no long lists, no keys with dots, and no other keys";
    throw new MappingFileFault(before + 1, sentence);
  }
  const file = treeOf(source, before);
  if (!isRecord(file)) throw new MappingFileFault(undefined, "this is not a file of [[mapping]] tables");
  const wrong = Object.keys(file).find((key) => key !== "mapping");
  if (wrong !== undefined) {
    const sentence = `there is no ${wrong} in a file of mappings${didYouMean(wrong, ["mapping"])}: each begins with [[mapping]]`;
    throw new MappingFileFault(place(wrong), sentence);
  }
  const list = file.mapping ?? [];
  if (Array.isArray(list)) return list;
  throw new MappingFileFault(place("mapping"), "a mapping begins with [[mapping]], in double brackets");
}

function treeOf(source: string, before: number): unknown {
  try {
    return parse(source);
  } catch (error) {
    const { line, sentence } = tomlFault(error);
    throw new MappingFileFault(line === undefined ? undefined : before + line, sentence, error);
  }
}

async function checkedAll(
  tables: readonly unknown[],
  source: string,
  check: MappingCheck,
  breathe: () => Promise<void>,
): Promise<ReadMappings> {
  const mappings: ReadMappings["mappings"][number][] = [];
  const faults: MappingFileFault[] = [];
  const lines = source.split("\n");
  const heads = lines.flatMap((line, at) => (/^\s*\[\[\s*["']?mapping["']?\s*\]\]/.test(line) ? [at] : []));
  for (const [nth, table] of tables.entries()) {
    if (faults.length >= importFaultsMax) break;
    const head = heads[nth] ?? 0;
    try {
      const params = mappingOfTable(table);
      check(params);
      mappings.push({ line: head + 1, params });
    } catch (error) {
      const sentence = messageOf(error);
      const key = /^(\w+):/.exec(sentence)?.[1];
      const own = lines.slice(head, heads[nth + 1]).join("\n");
      const within = key === undefined ? undefined : lineOf(own, { key: `mapping.${key}`, nth: 0 });
      faults.push(new MappingFileFault(head + (within ?? 1), sentence, error));
    }
    await breathe();
  }
  return { mappings, faults };
}

/** The text of these mappings. Keys with their default are left out. */
export function mappingsToml(mappings: readonly MappingParams[]): string {
  return mappings
    .map(({ enabled, label, type, match, pattern, override }) => {
      const lines = [
        "[[mapping]]",
        enabled ? "" : "enabled = false",
        label === "" ? "" : `label = ${tomlLiteral(label)}`,
        `type = "${type}"`,
        match === "exact" ? "" : `match = "${match}"`,
        `pattern = ${tomlLiteral(pattern)}`,
        `override = ${tomlLiteral(override)}`,
      ];
      return `${lines.filter((line) => line !== "").join("\n")}\n`;
    })
    .join("\n");
}

export const mappingKeys = ["enabled", "label", "type", "match", "pattern", "override"] as const;
const ways: readonly MappingMatch[] = ["exact", "partial", "regex"];

/** Throws an error whose sentence begins with the key. */
export function mappingOfTable(table: unknown): MappingParams {
  if (!isRecord(table)) throw new Error('a mapping is a table of keys and values, such as type = "uid"');
  const wrong = Object.keys(table).find((key) => !mappingKeys.some((known) => known === key));
  if (wrong !== undefined)
    throw new Error(`${wrong}: a mapping has no such key${didYouMean(wrong, mappingKeys)}`);
  const { enabled = true, label = "", type, match = "exact", pattern, override } = table;
  if (typeof enabled !== "boolean") throw new Error("enabled: it must be true or false");
  return {
    enabled,
    label: text("label", label),
    type: mappingTypeOf(oneOf("type", type, mappingTypeNames)),
    match: oneOf("match", match, ways),
    pattern: text("pattern", pattern),
    override: text("override", override),
  };
}

function text(key: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error(`${key}: ${value === undefined ? "it is missing" : "it must be a text, in quotes"}`);
}

function oneOf<Word extends string>(key: string, value: unknown, words: readonly Word[]): Word {
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  throw new Error(
    `${key}: ${value === undefined ? "it is missing, and is" : "it must be"} one of ${words.join(", ")}`,
  );
}
