/** Reads the config file: TOML to `Config`, or one sentence that says where it is wrong and what would be right. */
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { parse } from "@decimalturn/toml-patch";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { argvMax, configBytesMax, launchersMax } from "../core/limits.ts";
import { didYouMean } from "../core/nearest.ts";
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
    const bytes = await readFile(path);
    if (bytes.length > configBytesMax) throw new Error(`it is larger than ${configBytesMax} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isAbsent && !mustExist) return undefined;
    throw new StartError(exitCodes.config, `cannot read the config file ${path}: ${messageOf(error)}`, error);
  }
}

/** A place in the file and what stands there. */
class Refusal extends Error {
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.key = key;
  }
}

function configOf(text: string, path: string): Config {
  try {
    return checked(parse(text));
  } catch (error) {
    const line = error instanceof Refusal ? lineOf(text, error.key) : syntaxLineOf(error);
    const place = line === undefined ? path : `${path}, line ${line}`;
    // The parser draws the place first; its reason is the last line.
    const sentence = messageOf(error).split("\n").at(-1);
    throw new StartError(exitCodes.config, `${place}: ${sentence}`, error);
  }
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
  const seen = new Set<string>();
  const launcher: Check<LauncherConfig> = (one) => {
    const table = tableOf(one, "launchers");
    known(table, ["id", "systems", "extensions", "command", "kind"], "launchers.");
    const id = text(table.id, "launchers.id");
    if (seen.has(id)) throw new Refusal("launchers.id", `there are two launchers with the id ${id}`);
    seen.add(id);
    if (table.kind !== undefined && table.kind !== "process") {
      throw new Refusal(
        "launchers.kind",
        `launchers.kind can only be "process" so far, not ${shown(table.kind)}`,
      );
    }
    const command = list(text, argvMax)(table.command, "launchers.command");
    if (!command.some((part) => part.includes("{path}"))) {
      throw new Refusal(
        "launchers.command",
        `the command of the launcher ${id} must name the file: put "{path}" where it belongs`,
      );
    }
    const extensions = list(text)(table.extensions ?? [], "launchers.extensions");
    return {
      id,
      systems: list(text)(table.systems ?? [], "launchers.systems"),
      extensions: extensions.map((extension) => `.${extension.replace(/^\./, "").toLowerCase()}`),
      command,
    };
  };
  return list(launcher, launchersMax)(value ?? [], "launchers");
}

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
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value)).slice(0, 60);
}

/** The line of a key: the first that sets it behind its section's head; undefined where it cannot be told. */
function lineOf(source: string, key: string): number | undefined {
  const [section = "", name] = key.split(".");
  const lines = source.split("\n");
  const head = lines.findIndex((line) => new RegExp(`^\\s*\\[+\\s*${escaped(section)}\\s*\\]+`).test(line));
  if (name === undefined) return head >= 0 ? head + 1 : lineWith(lines, 0, section);
  return lineWith(lines, Math.max(head, 0), name) ?? (head >= 0 ? head + 1 : undefined);
}

function lineWith(lines: readonly string[], from: number, name: string): number | undefined {
  const index = lines.findIndex(
    (line, at) => at >= from && new RegExp(`(^|[\\s.{,])"?${escaped(name)}"?\\s*=`).test(line),
  );
  return index < 0 ? undefined : index + 1;
}

function escaped(name: string): string {
  return name.replace(/[^\w]/g, "\\$&");
}

function syntaxLineOf(error: unknown): number | undefined {
  return error instanceof Error && "line" in error && typeof error.line === "number" ? error.line : undefined;
}
