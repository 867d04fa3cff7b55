/** Reads the config file: TOML to `Config`, or one sentence with the line of the fault and the valid values. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "@decimalturn/toml-patch";
import { codeOf, exitCodes, messageOf, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { configBytesMax } from "../core/limits.ts";
import { SettingError, type Table } from "./checks.ts";
import { type Config, configOfTable, withShared } from "./shape.ts";

export interface ConfigDefaults {
  /** The folder whose `media` is the default root folder. */
  readonly dataFolder: string;
  /** If false, an absent file means the defaults. */
  readonly mustExist: boolean;
}

/** Throws `StartError` with exit code 78 for every fault. */
export async function readConfig(path: string, { dataFolder, mustExist }: ConfigDefaults): Promise<Config> {
  return configOf((await readConfigText(path, mustExist)) ?? "", path, dataFolder);
}

/** The text of the file, at most `configBytesMax` bytes of UTF-8; undefined if it is absent and need not exist. */
export async function readConfigText(path: string, mustExist: boolean): Promise<string | undefined> {
  try {
    const bytes = await readAtMost(path, configBytesMax);
    if (bytes.length > configBytesMax) throw new Error(`it is larger than ${configBytesMax} bytes`);
    // A byte order mark stays in the text, so the saved text also has it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (codeOf(error) === "ENOENT" && !mustExist) return undefined;
    throw new StartError(exitCodes.config, `cannot read the config file ${path}: ${fileFault(error)}`, error);
  }
}

/** The bytes of a file or a pipe. A file above the limit is read only until it is certain that it is too large. */
export async function readAtMost(path: string, bytesMax: number): Promise<Uint8Array> {
  await using file = await open(path);
  const bytes = new Uint8Array(bytesMax + 1);
  let count = 0;
  for (let read = -1; read !== 0 && count < bytes.length; count += read)
    read = (await file.read(bytes, count, bytes.length - count, null)).bytesRead;
  return bytes.subarray(0, count);
}

/** The config that a text states, with the settings that others share. Throws `StartError` with `path` and the line of the fault. */
export function configOf(text: string, path: string, dataFolder: string, shared: Table = {}): Config {
  const file = parsed(text, path);
  try {
    return configOfTable(withShared(file, shared), [join(dataFolder, "media")]);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw refusedAt(path, lineOf(text, error), error.message, error);
  }
}

function parsed(text: string, path: string): unknown {
  try {
    return parseToml(text);
  } catch (error) {
    const { line, sentence } = tomlFault(error);
    throw refusedAt(path, line, sentence, error);
  }
}

/** The line and the sentence of an error of the TOML parser. */
export function tomlFault(error: unknown) {
  const line =
    error instanceof Error && "line" in error && typeof error.line === "number" ? error.line : undefined;
  // The parser's message shows the place first; its reason is the last line.
  return { line, sentence: `this is not TOML: ${messageOf(error).split("\n").at(-1)}` };
}

/** The tree of a TOML text, with or without a byte order mark. Throws the parser's own error. */
export function parseToml(text: string): unknown {
  return parse(text.startsWith("\ufeff") ? text.slice(1) : text);
}

function refusedAt(path: string, line: number | undefined, sentence: string, cause: unknown): StartError {
  const place = line === undefined ? path : `${path}, line ${line}`;
  return new StartError(exitCodes.config, `${place}: ${sentence}`, cause);
}

export interface Place {
  /** `section.key`, or the name of a section or of a key of the file itself. */
  readonly key: string;
  /** The index, from 0, among several sections of one name. */
  readonly nth: number;
}

/** The line, from 1, that sets the key, otherwise that of its section's header; undefined if neither is found. */
export function lineOf(source: string, { key, nth }: Place): number | undefined {
  const [section = "", name] = key.split(".");
  const lines = source.split("\n").map((line) => (/^\s*#/.test(line) ? "" : line));
  const heads = lines.flatMap((line, at) => (headOf(line) === undefined ? [] : [at]));
  const own = heads.filter((at) => headOf(lines[at] ?? "") === section)[nth];
  const last = heads.find((at) => own !== undefined && at > own) ?? lines.length;
  const found =
    own === undefined || name === undefined ? undefined : lineSetting(lines.slice(own, last), name);
  if (own !== undefined) return own + 1 + (found ?? 0);
  // `section.key = 1` and `section = { key = 1 }` come before the first header.
  const top = lines.slice(0, heads[0]);
  const at = lineSetting(top, key) ?? lineSetting(top, section);
  return at === undefined ? undefined : at + 1;
}

/** `name` of `[name]` and `[[name]]`. */
function headOf(line: string): string | undefined {
  const between = /^\s*\[\[?([^\]]*)\]/.exec(line)?.[1]?.trim();
  return between === undefined ? undefined : /^["']?([^"']*)["']?$/.exec(between)?.[1];
}

function lineSetting(lines: readonly string[], name: string): number | undefined {
  const form = new RegExp(`^\\s*["']?${RegExp.escape(name)}["']?\\s*[=.]`);
  const index = lines.findIndex((line) => form.test(line));
  return index < 0 ? undefined : index;
}
