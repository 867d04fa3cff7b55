/**
 * Reads and writes mappings as CSV (RFC 4180): a row of column names, in any order, and then a row for each mapping. The
 * columns are the keys of a mapping in TOML. An empty cell means the default of its key.
 */
import { messageOf } from "../core/errors.ts";
import { importFaultsMax, mappingsMax } from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import type { MappingParams } from "../core/token.ts";
import {
  type MappingCheck,
  MappingFileFault,
  mappingKeys,
  mappingOfTable,
  type ReadMappings,
} from "./mapping-file.ts";

/** The text of these mappings. Each value is written without a change, so reading it gives the same mappings. */
export function mappingsCsv(mappings: readonly MappingParams[]): string {
  const rows = mappings.map((mapping) => mappingKeys.map((key) => cellOf(String(mapping[key]))));
  return [mappingKeys, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

/** A cell with any separator is in quotes, so a spreadsheet of any country divides the row correctly. */
function cellOf(value: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Like `readMappingsToml`. A comma, a semicolon or a tab separates cells: the first row decides. */
export async function readMappingsCsv(
  source: string,
  check: MappingCheck,
  breathe: () => Promise<void>,
): Promise<ReadMappings> {
  const text = source.replace(/^\ufeff/, "");
  const rows = csvRows(text, /^"?\w+"?([,;\t])/.exec(text)?.[1] ?? ",");
  const first = rows.next();
  const names = first.done === true ? [] : first.value.cells.map((cell) => cell.trim().toLowerCase());
  checkNames(names);
  const mappings: ReadMappings["mappings"][number][] = [];
  const faults: MappingFileFault[] = [];
  for (const { line, cells } of rows) {
    if (faults.length >= importFaultsMax || mappings.length > mappingsMax) break;
    await breathe();
    if (cells.every((cell) => cell === "")) continue;
    try {
      const params = mappingOfCells(names, cells);
      check(params);
      mappings.push({ line, params });
    } catch (error) {
      faults.push(new MappingFileFault(line, messageOf(error), error));
    }
  }
  return { mappings, faults };
}

function checkNames(names: readonly string[]): void {
  const refuse = (sentence: string) => {
    throw new MappingFileFault(1, sentence);
  };
  const unknown = names.find((name) => !mappingKeys.some((key) => key === name));
  if (unknown !== undefined)
    refuse(`there is no column "${unknown}"${didYouMean(unknown, mappingKeys)}: ${headSentence}`);
  const missing = ["type", "pattern", "override"].find((key) => !names.includes(key));
  if (missing !== undefined) refuse(`the column ${missing} is missing: ${headSentence}`);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) refuse(`the column ${twice} is there twice`);
}

const headSentence = `the first row names the columns, out of ${mappingKeys.join(", ")}`;

function mappingOfCells(names: readonly string[], cells: readonly string[]): MappingParams {
  if (cells.length > names.length)
    throw new Error(
      `this row has ${cells.length} cells, and the first row ${names.length}: a text with a separator is in quotes`,
    );
  const table: Record<string, unknown> = Object.fromEntries(
    names.flatMap((name, at) => {
      const cell = cells[at] ?? "";
      return cell === "" && name !== "label" ? [] : [[name, name === "enabled" ? switchOf(cell) : cell]];
    }),
  );
  const mapping = mappingOfTable(table);
  if (mapping.type === "uid" && mapping.match === "exact" && /^\d+([.,]\d+)?E\+\d+$/i.test(mapping.pattern))
    throw new Error(
      "pattern: a spreadsheet has made a number of this UID: give the column the format text, and enter the UID again",
    );
  return mapping;
}

/** Spreadsheets write TRUE for true. Another text is kept, and is refused later. */
function switchOf(cell: string): unknown {
  const word = cell.trim().toLowerCase();
  if (word === "true" || word === "1") return true;
  return word === "false" || word === "0" ? false : cell;
}

interface CsvRow {
  /** The line on which the row begins, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Throws `MappingFileFault` for a quote that is not closed, or that is followed by more than a separator. */
export function* csvRows(text: string, separator: string): Generator<CsvRow, void, undefined> {
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "y");
  // A line ends with CRLF (RFC 4180, 2), LF, or CR alone.
  const mark = new RegExp(`${separator}|\\r?\\n|\\r|$`, "y");
  let at = 0;
  let line = 1;
  let start = 1;
  let cells: string[] = [];
  while (at < text.length || cells.length > 0) {
    const isQuoted = text[at] === '"';
    plain.lastIndex = at;
    const cell = isQuoted ? quotedAt(text, at) : plain.exec(text)?.[0];
    mark.lastIndex = at + (cell?.length ?? 0);
    const ending = mark.exec(text)?.[0];
    if (cell === undefined || ending === undefined) throw new MappingFileFault(line, quoteSentence);
    cells.push(isQuoted ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    at += cell.length + ending.length;
    if (isQuoted) line += cell.split("\n").length - 1;
    if (ending === separator) continue;
    line += 1;
    yield { line: start, cells };
    start = line;
    cells = [];
  }
}

const quoteSentence =
  'a quote is not closed, or something stands beside it: a text in quotes is "like this", and "" is a quote within it';

/** The cell in quotes that begins here, with its quotes; undefined if the quote is not closed. */
function quotedAt(text: string, start: number): string | undefined {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end < 0 ? undefined : text.slice(start, end + 1);
}
