/**
 * The settings that may be changed from afar, and where each stands in the config file (decisions, "The config file").
 * What opens the device to others is not among them: it stands in the file only.
 */
import { join } from "node:path";
import { ServiceError } from "../core/errors.ts";
import { type Check, Refusal } from "./checks.ts";
import { sections } from "./config-keys.ts";
import type { Config } from "./shape.ts";
import type { SettingEdit, SettingValue } from "./toml-edit.ts";

/** New values; what is absent or undefined stays as it is. */
export interface SettingsPatch {
  /** Connection strings `driver:path`. */
  readonly reader?: readonly string[] | undefined;
  readonly audioFeedback?: boolean | undefined;
  readonly detectReaders?: boolean | undefined;
  readonly insertMode?: boolean | undefined;
  readonly insertModeBlocklist?: readonly string[] | undefined;
  /** Seconds. */
  readonly insertModeExitDelay?: number | undefined;
  readonly consoleLogging?: boolean | undefined;
  readonly debug?: boolean | undefined;
  /** Absolute folders; an empty list goes back to the data folder's `media`. */
  readonly rootFolder?: readonly string[] | undefined;
  /** Limits of play time, 0 for none; callers on the device only. */
  readonly dailyMinutes?: number | undefined;
  readonly sessionMinutes?: number | undefined;
  readonly sessionResetMinutes?: number | undefined;
  /** Percent; likewise. */
  readonly volumeMax?: number | undefined;
}

interface Field {
  readonly section: string;
  readonly key: string;
  readonly check: Check<SettingValue>;
  /** The name that callers know. */
  readonly name: string;
}

const { readers, audio, log, systems, playtime } = sections;
const fields: Readonly<Record<keyof SettingsPatch, Field>> = {
  reader: { section: "readers", key: "connect", check: readers.connect, name: "reader" },
  audioFeedback: { section: "audio", key: "feedback", check: audio.feedback, name: "audioFeedback" },
  detectReaders: { section: "readers", key: "detect", check: readers.detect, name: "detectReaders" },
  insertMode: { section: "readers", key: "insert_mode", check: readers.insert_mode, name: "insertMode" },
  insertModeBlocklist: {
    section: "readers",
    key: "insert_mode_blocklist",
    check: readers.insert_mode_blocklist,
    name: "insertModeBlocklist",
  },
  insertModeExitDelay: {
    section: "readers",
    key: "insert_mode_exit_delay",
    check: readers.insert_mode_exit_delay,
    name: "insertModeExitDelay",
  },
  consoleLogging: { section: "log", key: "console", check: log.console, name: "consoleLogging" },
  debug: { section: "log", key: "debug", check: log.debug, name: "debug" },
  rootFolder: {
    section: "systems",
    key: "root_folders",
    check: systems.root_folders,
    name: "systems.rootFolder",
  },
  dailyMinutes: {
    section: "playtime",
    key: "daily_minutes",
    check: playtime.daily_minutes,
    name: "dailyMinutes",
  },
  sessionMinutes: {
    section: "playtime",
    key: "session_minutes",
    check: playtime.session_minutes,
    name: "sessionMinutes",
  },
  sessionResetMinutes: {
    section: "playtime",
    key: "session_reset_minutes",
    check: playtime.session_reset_minutes,
    name: "sessionResetMinutes",
  },
  volumeMax: { section: "audio", key: "volume_max", check: audio.volume_max, name: "volumeMax" },
};

/** What this folder cannot judge by itself. Each says why a text is wrong; undefined where it is right. */
export interface PatchFaults {
  /** Of a connection string that names no reader. */
  readonly reader: (connection: string) => string | undefined;
  /** Of a name that stands for no system. */
  readonly system: (name: string) => string | undefined;
}

/**
 * The known fields of a patch, each as the file's reader would take it, and lists of systems with known ones only. Throws
 * `ServiceError("invalid-params")` with the name of the field that is refused.
 */
export function checkPatch(patch: SettingsPatch, faults: PatchFaults): SettingsPatch {
  try {
    for (const edit of editsOf(patch)) edit.check(edit.value, edit.name);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new ServiceError("invalid-params", error.message, { cause: error });
  }
  refuseFaults("reader", patch.reader, faults.reader);
  refuseFaults("insertModeBlocklist", patch.insertModeBlocklist, faults.system);
  return stated(patch);
}

function refuseFaults(
  field: string,
  texts: readonly string[] = [],
  faultOf: (text: string) => string | undefined,
): void {
  for (const text of texts) {
    const fault = faultOf(text);
    if (fault !== undefined) throw new ServiceError("invalid-params", `${field}: ${fault}`);
  }
}

/** One change of the file for each field that the patch states. */
export function editsOf(patch: SettingsPatch): readonly (SettingEdit & Field)[] {
  return Object.entries(stated(patch)).flatMap(([name, value]) => {
    const field = isField(name) ? fields[name] : undefined;
    return field === undefined ? [] : [{ ...field, value }];
  });
}

/** The fields that are ours and have a value. Lists are copies, so that who gave them can no longer change them. */
function stated(patch: SettingsPatch): SettingsPatch & Readonly<Record<string, SettingValue>> {
  const entries = Object.entries(patch).filter(([name, value]) => isField(name) && value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}

function isField(name: string): name is keyof SettingsPatch {
  return Object.hasOwn(fields, name);
}

/** The config with the patch laid over it. */
export function withPatch(config: Config, patch: SettingsPatch, dataFolder: string): Config {
  const { readers, audio, log, systems, playtime } = config;
  const roots = patch.rootFolder;
  return {
    ...config,
    readers: {
      connect: patch.reader ?? readers.connect,
      detect: patch.detectReaders ?? readers.detect,
      insertMode: patch.insertMode ?? readers.insertMode,
      insertModeBlocklist: patch.insertModeBlocklist ?? readers.insertModeBlocklist,
      insertModeExitDelay: patch.insertModeExitDelay ?? readers.insertModeExitDelay,
    },
    audio: {
      feedback: patch.audioFeedback ?? audio.feedback,
      volumeMax: patch.volumeMax ?? audio.volumeMax,
    },
    log: { console: patch.consoleLogging ?? log.console, debug: patch.debug ?? log.debug },
    playtime: {
      ...playtime,
      dailyMinutes: patch.dailyMinutes ?? playtime.dailyMinutes,
      sessionMinutes: patch.sessionMinutes ?? playtime.sessionMinutes,
      sessionResetMinutes: patch.sessionResetMinutes ?? playtime.sessionResetMinutes,
    },
    systems:
      roots === undefined
        ? systems
        : {
            ...systems,
            rootFolders: roots.length > 0 ? roots : [join(dataFolder, "media")],
            statedRootFolders: roots,
          },
  };
}
