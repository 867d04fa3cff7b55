/** Every key of the config file with its check, and the way from the file's table to `Config` (decisions, "The config file"). */
import {
  exitDelaySecondsMax,
  mappingPatternBytesMax,
  playTimeMinutesMax,
  playTimeWarningsMax,
  readersMax,
  scriptBytesMax,
  settingsListMax,
} from "../core/limits.ts";
import type { SystemFolder } from "../core/media.ts";
import {
  boolean,
  type Check,
  folder,
  known,
  list,
  oneOf,
  Refusal,
  seconds,
  type Table,
  tableOf,
  text,
  textOf,
  texts,
  wholeNumber,
} from "./checks.ts";
import { launchersOf } from "./launcher-settings.ts";
import { type Config, defaultConfig, type Hooks, type PlayTimeLimits } from "./shape.ts";

/** A launch script; an empty one stands for none. */
const hook: Check<string> = (value, key) => {
  if (value === "") return "";
  const script = textOf(scriptBytesMax)(value, key);
  if (Buffer.byteLength(script) > scriptBytesMax)
    throw new Refusal(key, `${key} must be at most ${scriptBytesMax} bytes long`);
  return script;
};
const patterns = list(textOf(mappingPatternBytesMax), settingsListMax);
const allowLaunch: Check<boolean | readonly string[]> = (value, key) =>
  typeof value === "boolean" ? value : patterns(value, key);

const anonymous = oneOf(["none", "look", "play", "change"] as const);

/** `{ SNES = ["/games/snes"] }`: folders of single systems. */
const systemFolders: Check<readonly SystemFolder[]> = (value, key) => {
  const folders = list(folder, settingsListMax);
  const all = Object.entries(tableOf(value, key)).flatMap(([system, paths]) =>
    folders(paths, `${key}.${system}`).map((path) => ({ system, folder: path })),
  );
  if (all.length > settingsListMax)
    throw new Refusal(key, `${key} names more than ${settingsListMax} folders`);
  return all;
};

/** An empty one stands for none. A settings file of RetroArch holds it in quotes. */
const savesFolder: Check<string> = (value, key) => {
  if (value === "") return "";
  const path = folder(value, key);
  if (/["\n\r]/.test(path)) throw new Refusal(key, `${key} must not hold quotes or line ends`);
  return path;
};

const minutes = wholeNumber(0, playTimeMinutesMax);

/** The sections but `[[launchers]]`. */
export const sections = {
  api: {
    port: wholeNumber(1, 65_535),
    listen: texts,
    tls_port: wholeNumber(0, 65_535),
    allow_launch: allowLaunch,
    allowed_hosts: texts,
    allowed_origins: texts,
    allow_anonymous_local: boolean,
    anonymous,
    allow_v1_clients: boolean,
  },
  readers: {
    connect: list(text, readersMax),
    detect: boolean,
    insert_mode: boolean,
    insert_mode_blocklist: texts,
    insert_mode_exit_delay: seconds(exitDelaySecondsMax),
  },
  audio: { feedback: boolean, volume_max: wholeNumber(0, 100) },
  log: { console: boolean, debug: boolean },
  systems: {
    root_folders: list(folder, settingsListMax),
    folders: systemFolders,
    removable_folders: list(folder, settingsListMax),
    prefer_regions: texts,
    prefer_languages: texts,
  },
  script: { allow_execute: patterns, allow_http: patterns, allow_input: boolean },
  launch: { guard: boolean },
  retroarch: { resume: boolean, saves: savesFolder },
  playtime: {
    daily_minutes: minutes,
    session_minutes: minutes,
    session_reset_minutes: minutes,
    warning_minutes: list(wholeNumber(1, playTimeMinutesMax), playTimeWarningsMax),
  },
  hooks: { on_scan: hook, on_remove: hook, before_start: hook, on_start: hook, on_stop: hook },
} as const;

type Section = keyof typeof sections;

/**
 * The config that a parsed file states, with the defaults for the rest, and `defaultRoots` where it states no root
 * folders. Throws `Refusal`.
 */
export function configOfTable(file: unknown, defaultRoots: readonly string[]): Config {
  const table = tableOf(file, "the file");
  known(table, [...Object.keys(sections), "launchers"], "");
  for (const [name, keys] of Object.entries(sections))
    known(tableOf(table[name] ?? {}, name), Object.keys(keys), `${name}.`);
  const { api, readers, audio, log, systems, script } = sections;
  const d = defaultConfig;
  const a = taker(table, "api");
  const r = taker(table, "readers");
  const s = taker(table, "script");
  const l = taker(table, "log");
  const m = taker(table, "systems");
  const statedRootFolders = m("root_folders", systems.root_folders, []);
  return {
    api: {
      port: a("port", api.port, d.api.port),
      listen: a("listen", api.listen, d.api.listen),
      tlsPort: a("tls_port", api.tls_port, d.api.tlsPort),
      allowLaunch: a("allow_launch", api.allow_launch, d.api.allowLaunch),
      allowedHosts: a("allowed_hosts", api.allowed_hosts, d.api.allowedHosts),
      allowedOrigins: a("allowed_origins", api.allowed_origins, d.api.allowedOrigins),
      allowAnonymousLocal: a("allow_anonymous_local", api.allow_anonymous_local, d.api.allowAnonymousLocal),
      anonymous: a("anonymous", api.anonymous, d.api.anonymous),
      allowV1Clients: a("allow_v1_clients", api.allow_v1_clients, d.api.allowV1Clients),
    },
    readers: {
      connect: r("connect", readers.connect, d.readers.connect),
      detect: r("detect", readers.detect, d.readers.detect),
      insertMode: r("insert_mode", readers.insert_mode, d.readers.insertMode),
      insertModeBlocklist: r(
        "insert_mode_blocklist",
        readers.insert_mode_blocklist,
        d.readers.insertModeBlocklist,
      ),
      insertModeExitDelay: r(
        "insert_mode_exit_delay",
        readers.insert_mode_exit_delay,
        d.readers.insertModeExitDelay,
      ),
    },
    audio: {
      feedback: taker(table, "audio")("feedback", audio.feedback, d.audio.feedback),
      volumeMax: taker(table, "audio")("volume_max", audio.volume_max, d.audio.volumeMax),
    },
    log: { console: l("console", log.console, d.log.console), debug: l("debug", log.debug, d.log.debug) },
    systems: {
      rootFolders: statedRootFolders.length > 0 ? statedRootFolders : defaultRoots,
      statedRootFolders,
      folders: m("folders", systems.folders, d.systems.folders),
      removableFolders: m("removable_folders", systems.removable_folders, d.systems.removableFolders),
      prefer: {
        regions: m("prefer_regions", systems.prefer_regions, d.systems.prefer.regions),
        languages: m("prefer_languages", systems.prefer_languages, d.systems.prefer.languages),
      },
    },
    script: {
      allowExecute: s("allow_execute", script.allow_execute, d.script.allowExecute),
      allowHttp: s("allow_http", script.allow_http, d.script.allowHttp),
      allowInput: s("allow_input", script.allow_input, d.script.allowInput),
    },
    launch: { guard: taker(table, "launch")("guard", sections.launch.guard, d.launch.guard) },
    retroarch: retroArchOf(table),
    playtime: playTimeOf(table),
    hooks: hooksOf(table),
    launchers: launchersOf(table.launchers),
  };
}

/** Takes values out of one section, each checked, or its default. */
function taker(table: Table, name: Section) {
  const section = tableOf(table[name] ?? {}, name);
  return <T>(key: string, check: Check<T>, fallback: T): T =>
    section[key] === undefined ? fallback : check(section[key], `${name}.${key}`);
}

function retroArchOf(table: Table): Config["retroarch"] {
  const take = taker(table, "retroarch");
  const saves = take("saves", sections.retroarch.saves, "");
  return {
    resume: take("resume", sections.retroarch.resume, defaultConfig.retroarch.resume),
    ...(saves === "" ? {} : { saves }),
  };
}

function playTimeOf(table: Table): PlayTimeLimits {
  const take = taker(table, "playtime");
  const { playtime } = sections;
  const d = defaultConfig.playtime;
  return {
    dailyMinutes: take("daily_minutes", playtime.daily_minutes, d.dailyMinutes),
    sessionMinutes: take("session_minutes", playtime.session_minutes, d.sessionMinutes),
    sessionResetMinutes: take("session_reset_minutes", playtime.session_reset_minutes, d.sessionResetMinutes),
    warningMinutes: take("warning_minutes", playtime.warning_minutes, d.warningMinutes),
  };
}

function hooksOf(table: Table): Hooks {
  const take = taker(table, "hooks");
  const script = (key: keyof typeof sections.hooks) => take(key, sections.hooks[key], "");
  const [onScan, onRemove, beforeStart] = [script("on_scan"), script("on_remove"), script("before_start")];
  const [onStart, onStop] = [script("on_start"), script("on_stop")];
  return {
    ...(onScan === "" ? {} : { onScan }),
    ...(onRemove === "" ? {} : { onRemove }),
    ...(beforeStart === "" ? {} : { beforeStart }),
    ...(onStart === "" ? {} : { onStart }),
    ...(onStop === "" ? {} : { onStop }),
  };
}
