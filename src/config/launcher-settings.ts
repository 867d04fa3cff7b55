/** The `[[launchers]]` of the config file, which are the owner's own players: checks, and help in the template. */
import { argvMax, launcherEnvironmentMax, launchersMax, stopGraceSecondsMax } from "../core/limits.ts";
import {
  type PlayerKind,
  playerKinds,
  type StopHow,
  type StopSignal,
  stopSignals,
  usualStops,
} from "../core/playback.ts";
import { didYouMean } from "../core/text.ts";
import {
  boolean,
  type Check,
  folder,
  known,
  launcherTexts,
  list,
  SettingError,
  seconds,
  shown,
  type Table,
  tableOf,
  text,
} from "./checks.ts";

export interface LauncherConfig {
  readonly id: string;
  /** Ids of the systems that the launcher plays; empty means any. */
  readonly systems: readonly string[];
  /** Extensions in lower case, with their dot; empty means any. */
  readonly extensions: readonly string[];
  /** The program and its arguments. `{path}` stands for the file. No shell interprets it. */
  readonly command: readonly string[];
  /** How the service controls the player; a plain process if absent. */
  readonly kind?: PlayerKind;
  /** Variables that are added to the environment of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The working directory; the service's own if absent. */
  readonly folder?: string;
  /** For RetroArch: the name of a libretro core, or its file; if absent, the default core of the system. */
  readonly core?: string;
  /** The player may read the service's own files, because the owner trusts it. */
  readonly isUnconfined?: true;
  /** How the player is stopped, if not by default. */
  readonly stop?: StopHow;
}

/** Throws `SettingError` with the index of the launcher. */
export function launchersOf(value: unknown): readonly LauncherConfig[] {
  if (typeof value === "object" && !Array.isArray(value))
    throw new SettingError("launchers", "a launcher begins with [[launchers]], in double brackets");
  const tables = list((one) => tableOf(one, "launchers"), launchersMax)(value ?? [], "launchers");
  const launchers: LauncherConfig[] = [];
  for (const [nth, table] of tables.entries()) {
    try {
      launchers.push(launcherOf(table, launchers));
    } catch (error) {
      throw error instanceof SettingError ? new SettingError(error.key, error.message, nth) : error;
    }
  }
  return launchers;
}

/** The default commands of players by kind. */
export const usualCommands: Readonly<Record<Exclude<PlayerKind, "process">, readonly string[]>> = {
  // Without an audio device the sound is dropped, and a picture stays until it is stopped.
  mpv: [
    "mpv",
    "--no-terminal",
    "--no-config",
    "--fullscreen",
    "--ao=pipewire,pulse,alsa,null",
    "--image-display-duration=inf",
    "--",
    "{path}",
  ],
  retroarch: ["retroarch", "--fullscreen", "{path}"],
};

const keys = [
  "id",
  "systems",
  "extensions",
  "command",
  "kind",
  "env",
  "cwd",
  "core",
  "confined",
  "stop_grace",
  "stop_signal",
];

function launcherOf(table: Table, earlier: readonly LauncherConfig[]): LauncherConfig {
  known(table, keys, "launchers.");
  const id = text(table.id, "launchers.id");
  if (earlier.some((other) => other.id === id))
    throw new SettingError("launchers.id", `there are two launchers with the id ${id}`);
  const kind = kindOf(table.kind ?? "process", "launchers.kind");
  const systems = launcherTexts(text)(table.systems ?? [], "launchers.systems");
  const extensions = launcherTexts(extension)(table.extensions ?? [], "launchers.extensions");
  const isOfSystem = kind === "process" && systems.length > 0 && extensions.length === 0;
  if (table.core !== undefined && kind !== "retroarch")
    throw new SettingError("launchers.core", `launchers.core is only for kind = "retroarch"`);
  if (table.confined !== undefined && kind !== "process")
    throw new SettingError("launchers.confined", 'launchers.confined is only for kind = "process"');
  const isConfined = boolean(table.confined ?? true, "launchers.confined");
  return {
    id,
    systems,
    extensions,
    command: commandOf(table.command, id, kind, isOfSystem),
    ...(kind === "process" ? {} : { kind }),
    ...(table.env === undefined ? {} : { environment: environmentOf(table.env) }),
    ...(table.cwd === undefined ? {} : { folder: folder(table.cwd, "launchers.cwd") }),
    ...(table.core === undefined ? {} : { core: text(table.core, "launchers.core") }),
    ...(isConfined ? {} : { isUnconfined: true }),
    ...(table.stop_grace === undefined && table.stop_signal === undefined
      ? {}
      : { stop: stopOf(table, kind) }),
  };
}

/** `isOfSystem`: the launcher may start a system without a file, such as its menu. */
function commandOf(value: unknown, id: string, kind: PlayerKind, isOfSystem: boolean): readonly string[] {
  if (value === undefined && kind !== "process") return usualCommands[kind];
  const command = list(text, argvMax)(value, "launchers.command");
  if (command.length > 0 && (isOfSystem || command.slice(1).some((part) => part.includes("{path}"))))
    return command;
  const sentence = `the command of the launcher ${id} must name the file: put "{path}" in its place, after the program`;
  throw new SettingError("launchers.command", sentence);
}

function stopOf({ stop_grace: grace, stop_signal: signal }: Table, kind: PlayerKind): StopHow {
  return {
    signal: signal === undefined ? usualStops[kind].signal : signalOf(signal, "launchers.stop_signal"),
    graceMs:
      grace === undefined
        ? usualStops[kind].graceMs
        : seconds(stopGraceSecondsMax)(grace, "launchers.stop_grace") * 1000,
  };
}

const signalOf: Check<StopSignal> = (value, key) => {
  const name = typeof value === "string" ? value.toUpperCase().replace(/^SIG/, "") : "";
  const signal = stopSignals.find((one) => one === name);
  if (signal !== undefined) return signal;
  throw new SettingError(key, `${key} can only be "TERM", "INT", "QUIT" or "HUP", not ${shown(value)}`);
};

const kindOf: Check<PlayerKind> = (value, key) => {
  const kind = playerKinds.find((one) => one === value);
  if (kind !== undefined) return kind;
  const meant = typeof value === "string" ? didYouMean(value, playerKinds) : "";
  throw new SettingError(
    key,
    `${key} can only be "process", "mpv" or "retroarch", not ${shown(value)}${meant}`,
  );
};

function environmentOf(value: unknown): Readonly<Record<string, string>> {
  const table = tableOf(value, "launchers.env");
  const entries = Object.entries(table);
  if (entries.length > launcherEnvironmentMax)
    throw new SettingError("launchers.env", `launchers.env has more than ${launcherEnvironmentMax} entries`);
  for (const [name, one] of entries) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw new SettingError(
        "launchers.env",
        `launchers.env must hold names such as SDL_VIDEODRIVER, not ${shown(name)}`,
      );
    if (one !== "") text(one, "launchers.env");
  }
  return Object.fromEntries(entries.map(([name, one]) => [name, String(one)]));
}

const extension: Check<string> = (value, key) => {
  const name = text(value, key).replace(/^\./, "").toLowerCase();
  if (/^[^./\s]+$/.test(name)) return `.${name}`;
  throw new SettingError(key, `${key} must hold endings of file names such as ".sfc", not ${shown(value)}`);
};

/** The part of the template about launchers. */
export const launchersHelp = `# Players of your own come before the built-in ones, each in a part like these. {path} stands for the file, no shell
# reads the command, and an empty list of systems or extensions, or none, means all. cwd is the folder that it works in.
# kind says how a player is spoken with: "mpv" and "retroarch" can be paused, asked how far they are, and more; they need
# no command of their own. A "process" can be started and stopped. core names the libretro core of a "retroarch", or its
# file, where the usual one of the system is not what you want. A "process" that names systems and no extensions may do
# without {path}: **launch.system starts it. Players cannot read Tapdeck's own files, nor those that settings such as mqtt.key name, nor
# make new entries in the folders above them, your home folder for instance. confined = false lifts that for a "process" that does not start with it, such as one
# in a flatpak. stop_signal ("TERM", "INT", "QUIT" or "HUP") asks a player to end, and it has
# stop_grace seconds, up to 30, to save what it must before it is made to end: "TERM" and 1 where you say nothing, and 5
# for a "retroarch".
#
# [[launchers]]
# id = "snes9x"
# systems = ["SNES"]
# extensions = [".sfc", ".smc"]
# command = ["snes9x", "-fullscreen", "{path}"]
# kind = "process"
# cwd = "/srv/games"
# env = { SDL_VIDEODRIVER = "kmsdrm" }
# confined = true
# stop_grace = 5
# stop_signal = "INT"
#
# [[launchers]]
# id = "nes"
# systems = ["NES"]
# kind = "retroarch"
# core = "nestopia"
`;
