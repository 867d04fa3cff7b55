/** Reads the config file: TOML to `Config`, or one sentence that says where it is wrong and what would be right. */
import { open } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { parse } from "@decimalturn/toml-patch";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { argvMax, configBytesMax, launchersMax } from "../core/limits.ts";
import { didYouMean } from "../core/nearest.ts";
import { lineOf } from "./line-of.ts";
import { type Config, defaultConfig, type LauncherConfig } from "./shape.ts";

export interface ReadOptions {
  /** Its `media` is the default root folder. */
  readonly dataFolder: string;
  /** False: an absent file stands for the defaults. */
  readonly mustExist: boolean;
}

/** Throws `StartError` with exit code 78 for anything that is not right. */
export async function readConfig(path: string, { dataFolder, mustExist }: ReadOptions): Promise<Config> {
  const text = await readText(path, mustExist);
  const config = text === undefined ? defaultConfig : configOf(text, path);
  const rootFolders =
    config.systems.rootFolders.length > 0 ? config.systems.rootFolders : [join(dataFolder, "media")];
  return { ...config, systems: { rootFolders } };
}

async function readText(path: string, mustExist: boolean): Promise<string | undefined> {
  try {
    const bytes = await readBytes(path);
    if (bytes.length > configBytesMax) throw new Error(`it is larger than ${configBytesMax} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isAbsent && !mustExist) return undefined;
    throw new StartError(exitCodes.config, `cannot read the config file ${path}: ${messageOf(error)}`, error);
  }
}

/** All of a file, or of a larger one just enough to know that it is too large. */
async function readBytes(path: string): Promise<Uint8Array> {
  await using file = await open(path);
  const chunks: Uint8Array[] = [];
  for (let length = 0; length <= configBytesMax; ) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(configBytesMax + 1 - length));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}

/** A place in the file and what stands there. */
class Refusal extends Error {
  readonly key: string;
  /** Of several sections with one name, which: from 0. */
  readonly nth: number;

  constructor(key: string, message: string, nth = 0) {
    super(message);
    this.key = key;
    this.nth = nth;
  }
}

function configOf(text: string, path: string): Config {
  const file = parsed(text, path);
  try {
    return checked(file);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw refusedAt(path, lineOf(text, error), error.message, error);
  }
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const line =
      error instanceof Error && "line" in error && typeof error.line === "number" ? error.line : undefined;
    // The parser draws the place first; its reason is the last line.
    const reason = messageOf(error).split("\n").at(-1);
    throw refusedAt(path, line, `this is not TOML: ${reason}`, error);
  }
}

function refusedAt(path: string, line: number | undefined, sentence: string, cause: unknown): StartError {
  const place = line === undefined ? path : `${path}, line ${line}`;
  return new StartError(exitCodes.config, `${place}: ${sentence}`, cause);
}

type Check<T> = (value: unknown, key: string) => T;

const boolean: Check<boolean> = (value, key) => {
  if (typeof value !== "boolean") throw new Refusal(key, `${key} must be true or false, not ${shown(value)}`);
  return value;
};
const text: Check<string> = (value, key) => {
  if (typeof value !== "string" || value === "")
    throw new Refusal(key, `${key} must be a text, not ${shown(value)}`);
  return value;
};
const number =
  (min: number, max: number): Check<number> =>
  (value, key) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new Refusal(key, `${key} must be a whole number from ${min} to ${max}, not ${shown(value)}`);
  };
const list =
  <T>(item: Check<T>, most = 1000): Check<readonly T[]> =>
  (value, key) => {
    if (!Array.isArray(value)) throw new Refusal(key, `${key} must be a list in [ ], not ${shown(value)}`);
    if (value.length > most) throw new Refusal(key, `${key} has more than ${most} entries`);
    return value.map((one) => item(one, key));
  };
const folder: Check<string> = (value, key) => {
  const path = text(value, key);
  if (!isAbsolute(path))
    throw new Refusal(key, `${key} must be a full path that begins with /, not ${shown(value)}`);
  return path;
};
const allowLaunch: Check<unknown> = (value, key) =>
  typeof value === "boolean" ? value : list(text)(value, key);

/** Keys of later parts of the service: their form is checked, so that a file written for them is not refused. */
const sections = {
  api: {
    port: number(1, 65_535),
    listen: list(text),
    tls_port: number(0, 65_535),
    allow_launch: allowLaunch,
    allowed_hosts: list(text),
    allowed_origins: list(text),
    allow_anonymous_local: boolean,
  },
  readers: {
    connect: list(text),
    detect: boolean,
    insert_mode: boolean,
    insert_mode_blocklist: list(text),
    insert_mode_exit_delay: number(0, 3600),
  },
  audio: { feedback: boolean },
  log: { console: boolean, debug: boolean },
  systems: { root_folders: list(folder) },
  script: { allow_execute: list(text), allow_http: list(text) },
  hooks: { on_scan: text, on_remove: text, before_start: text, on_start: text, on_stop: text },
} as const;

function checked(file: unknown): Config {
  const table = tableOf(file, "the file");
  known(table, [...Object.keys(sections), "launchers"], "");
  for (const [name, keys] of Object.entries(sections)) {
    const section = tableOf(table[name] ?? {}, name);
    known(section, Object.keys(keys), `${name}.`);
    for (const [key, check] of Object.entries(keys))
      if (section[key] !== undefined) check(section[key], `${name}.${key}`);
  }
  const [api, readers, log, systems] = [table.api, table.readers, table.log, table.systems].map((part) =>
    tableOf(part ?? {}, ""),
  );
  const { api: a, readers: r, log: l, systems: s } = defaultConfig;
  const take = <T>(section: Table | undefined, key: string, check: Check<T>, fallback: T): T =>
    section?.[key] === undefined ? fallback : check(section[key], key);
  return {
    api: {
      port: take(api, "port", sections.api.port, a.port),
      listen: take(api, "listen", sections.api.listen, a.listen),
      allowedHosts: take(api, "allowed_hosts", sections.api.allowed_hosts, a.allowedHosts),
      allowedOrigins: take(api, "allowed_origins", sections.api.allowed_origins, a.allowedOrigins),
      allowAnonymousLocal: take(api, "allow_anonymous_local", boolean, a.allowAnonymousLocal),
    },
    readers: {
      connect: take(readers, "connect", sections.readers.connect, r.connect),
      detect: take(readers, "detect", boolean, r.detect),
    },
    log: { console: take(log, "console", boolean, l.console), debug: take(log, "debug", boolean, l.debug) },
    systems: { rootFolders: take(systems, "root_folders", sections.systems.root_folders, s.rootFolders) },
    launchers: launchersOf(table.launchers),
  };
}

function launchersOf(value: unknown): readonly LauncherConfig[] {
  if (typeof value === "object" && !Array.isArray(value))
    throw new Refusal("launchers", "a launcher begins with [[launchers]], in double brackets");
  const launchers: LauncherConfig[] = [];
  for (const [nth, table] of list((one) => tableOf(one, "launchers"), launchersMax)(
    value ?? [],
    "launchers",
  ).entries()) {
    try {
      launchers.push(launcherOf(table, launchers));
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(error.key, error.message, nth) : error;
    }
  }
  return launchers;
}

function launcherOf(table: Table, earlier: readonly LauncherConfig[]): LauncherConfig {
  known(table, ["id", "systems", "extensions", "command", "kind"], "launchers.");
  const id = text(table.id, "launchers.id");
  if (earlier.some((other) => other.id === id))
    throw new Refusal("launchers.id", `there are two launchers with the id ${id}`);
  if (table.kind !== undefined && table.kind !== "process")
    throw new Refusal("launchers.kind", kindSentence(table.kind));
  const command = list(text, argvMax)(table.command, "launchers.command");
  if (!command.slice(1).some((part) => part.includes("{path}"))) {
    const sentence = `the command of the launcher ${id} must name the file: put "{path}" where it belongs, behind the program`;
    throw new Refusal("launchers.command", sentence);
  }
  return {
    id,
    systems: list(text)(table.systems ?? [], "launchers.systems"),
    extensions: list(extension)(table.extensions ?? [], "launchers.extensions"),
    command,
  };
}

function kindSentence(kind: unknown): string {
  return kind === "mpv" || kind === "retroarch"
    ? `launchers.kind "${kind}" is not supported yet: leave it out, and write the program in command`
    : `launchers.kind can only be "process" so far, not ${shown(kind)}`;
}

const extension: Check<string> = (value, key) => {
  const name = text(value, key).replace(/^\./, "").toLowerCase();
  if (/^[^./\s]+$/.test(name)) return `.${name}`;
  throw new Refusal(key, `${key} must hold endings of file names such as ".sfc", not ${shown(value)}`);
};

type Table = Readonly<Record<string, unknown>>;

function tableOf(value: unknown, key: string): Table {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Table;
  throw new Refusal(key, `${key} must be a section, [${key}], not ${shown(value)}`);
}

function known(table: Table, keys: readonly string[], prefix: string): void {
  const wrong = Object.keys(table).find((key) => !keys.includes(key));
  if (wrong === undefined) return;
  throw new Refusal(`${prefix}${wrong}`, `there is no setting ${prefix}${wrong}${didYouMean(wrong, keys)}`);
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "bigint") return String(value).slice(0, 60);
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
