/**
 * Launchers: those of the config file, followed by RetroArch and mpv if they are installed; and the choice of one for a file.
 */

import type { LauncherConfig } from "../config/launcher-settings.ts";
import { usualCommands } from "../config/launcher-settings.ts";
import { launchFailed } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import { extensionOf, type System } from "../core/media.ts";
import { kindOf, mediaExtensions, systemById, systemByName } from "../media/known-systems.ts";
import type { ControlledPlayer, PlayerOrder } from "../players/player.ts";
import { type Cores, coredSystems, coreFileOf, coreNamesOf } from "../players/retroarch-cores.ts";
import type { MediaFile } from "./media-file.ts";

const mpv: LauncherConfig = {
  id: "mpv",
  systems: [],
  extensions: mediaExtensions,
  command: usualCommands.mpv,
  kind: "mpv",
};
const retroArch: LauncherConfig = {
  id: "retroarch",
  systems: coredSystems,
  extensions: [],
  command: usualCommands.retroarch,
  kind: "retroarch",
};

type FollowedPlayer = Pick<ControlledPlayer, "state" | "progress"> & {
  readonly process: Pick<ControlledPlayer["process"], "exited">;
};

/** The position at which media resume. */
export interface Resumption {
  /**
   * The position at the moment of the call, because the previous player may play the same file; undefined for the
   * beginning.
   */
  startMs(): number | undefined;
  /** Saves the position until the player ends. */
  follow(player: FollowedPlayer): void;
}

/** The order for a player, with the file in its command line. */
export interface PlayerChoice extends PlayerOrder {
  readonly launcherId: string;
  /** The file of the core, for RetroArch. */
  readonly core?: string | undefined;
  readonly resumption?: Resumption;
}

export interface AvailableLauncher extends LauncherConfig {
  /** The installed cores, for RetroArch. */
  readonly cores?: Cores;
}

type Find = (program: string) => string | null;
/** Finds the libretro cores; called only if there is a RetroArch. */
type FindCores = () => Cores;

const noCores: FindCores = () => new Map();

/**
 * The launchers of the config: those with systems first, then those with extensions, otherwise in the order of the file.
 * After them come the built-in launchers with an installed program. The first launcher of this list that plays a file is
 * chosen for it.
 */
export function availableLaunchers(
  configured: readonly LauncherConfig[],
  find: Find,
  findCores: FindCores = noCores,
): readonly AvailableLauncher[] {
  const inOrder = configured.toSorted((a, b) => specificity(b) - specificity(a));
  const builtIn = [retroArch, mpv].flatMap((launcher): readonly LauncherConfig[] => {
    const [name = "", ...rest] = launcher.command;
    const program = configured.some(({ id }) => id === launcher.id) ? null : find(name);
    return program === null ? [] : [{ ...launcher, command: [program, ...rest] }];
  });
  const all = [...inOrder, ...builtIn];
  if (!all.some(({ kind }) => kind === "retroarch")) return all;
  const cores = findCores();
  return all.flatMap((launcher): readonly AvailableLauncher[] => {
    if (launcher.kind !== "retroarch") return [launcher];
    if (!builtIn.includes(launcher)) return [{ ...launcher, cores }];
    const systems = coredSystems.filter((id) => coreFileOf(id, undefined, cores) !== undefined);
    return systems.length === 0 ? [] : [{ ...launcher, systems, cores }];
  });
}

/** Every launcher, with the built-in ones, in the order of choice; `reason` is a sentence if it is not available. */
export function describeLaunchers(
  configured: readonly LauncherConfig[],
  find: Find,
  findCores: FindCores = noCores,
) {
  const known = availableLaunchers(configured, find, findCores);
  const missing = [retroArch, mpv].filter(({ id }) => !known.some((one) => one.id === id));
  return [...known, ...missing].map((launcher) => {
    const { id, systems, extensions, kind = "process" } = launcher;
    const reason = missingOf(launcher, find);
    const why = reason === undefined ? {} : { reason };
    return { id, name: id, kind, systems, extensions, available: reason === undefined, ...why };
  });
}

/**
 * A fault for each program that is not installed and that media of these systems need. A launcher that names extensions
 * counts for a system that has one of these extensions.
 */
export function missingPrograms(
  configured: readonly LauncherConfig[],
  find: Find,
  systemIds: readonly string[],
): readonly Fault[] {
  const builtIn = [retroArch, mpv].filter(({ id }) => !configured.some((one) => one.id === id));
  const all = [...configured.toSorted((a, b) => specificity(b) - specificity(a)), ...builtIn];
  const needed = Map.groupBy(systemIds, (id) => all.find((launcher) => playsSystem(launcher, id)));
  return [...needed].flatMap(([launcher, ids]) => {
    const [subject = ""] = launcher?.command ?? [];
    if (launcher === undefined || find(subject) !== null) return [];
    return [faultOf("program-missing", { subject, launcher: launcher.id, systems: listed(ids) })];
  });
}

function playsSystem(launcher: LauncherConfig, systemId: string): boolean {
  const { systems, extensions, kind } = launcher;
  if (systems.length > 0)
    return (
      systems.some((name) => systemIdOf(name) === systemId) && (kind !== undefined || takesFile(launcher))
    );
  if (extensions.length > 0)
    return systemById(systemId)?.extensions.some((extension) => extensions.includes(extension)) === true;
  return kind === "retroarch" ? coredSystems.includes(systemId) : takesFile(launcher);
}

/** The reason why a launcher can play nothing; undefined if it can play. */
function missingOf(launcher: AvailableLauncher, find: Find): string | undefined {
  const { command, kind, systems, core, cores = noCores() } = launcher;
  const [program = ""] = command;
  if (find(program) === null) return `there is no program ${program}`;
  if (kind !== "retroarch") return undefined;
  if (core !== undefined)
    return coreFileOf("", core, cores) === undefined ? `there is no libretro core ${core}` : undefined;
  const asked = systems.length === 0 ? coredSystems : systems;
  return asked.some((id) => coreFileOf(systemIdOf(id), undefined, cores) !== undefined)
    ? undefined
    : "none of the libretro cores for its systems is installed";
}

export function isPlayed(file: MediaFile, launchers: readonly AvailableLauncher[]): boolean {
  return launchers.some((candidate) => plays(candidate, file));
}

/**
 * The first launcher that plays the file; with `wantedId`, that launcher if it plays the file. Throws
 * `ServiceError("failed")` with a remedy.
 */
export function chooseLauncher(
  file: MediaFile,
  launchers: readonly AvailableLauncher[],
  wantedId: string | undefined,
): PlayerChoice {
  const launcher =
    wantedId === undefined
      ? launchers.find((candidate) => plays(candidate, file))
      : launchers.find(({ id }) => id === wantedId);
  if (launcher === undefined) {
    const what =
      wantedId === undefined
        ? `no player is set up for ${describe(file)}`
        : `there is no launcher ${wantedId}`;
    throw launchFailed("launcher-missing", `${what}: add one to the config file under [[launchers]]`);
  }
  if (!plays(launcher, file))
    throw launchFailed(
      "launcher-missing",
      `the launcher ${launcher.id} does not take ${describe(file)}: it takes ${takenBy(launcher)}`,
    );
  return orderOf(launcher, file);
}

/** The first launcher that names the system and takes no file; throws `ServiceError("failed")` with a remedy. */
export function chooseSystemLauncher(system: System, launchers: readonly LauncherConfig[]): PlayerChoice {
  const launcher = launchers.find(
    (candidate) => candidate.systems.includes(system.id) && !takesFile(candidate),
  );
  if (launcher === undefined)
    throw launchFailed(
      "launcher-missing",
      `no player starts ${system.id} without a file: add one under [[launchers]] whose command has no {path}`,
    );
  return orderOf(launcher, { path: "", system });
}

/**
 * The mpv that plays a stream from its standard input: the first one, or that of `wantedId`. Throws
 * `ServiceError("failed")`.
 */
export function chooseStreamPlayer(
  system: System,
  launchers: readonly AvailableLauncher[],
  wantedId: string | undefined,
): PlayerChoice {
  const isWanted = ({ id }: LauncherConfig) => wantedId === undefined || id === wantedId;
  const launcher = launchers.find((one) => one.kind === "mpv" && isWanted(one));
  if (launcher !== undefined) return orderOf(launcher, { path: "-", system });
  throw launchFailed(
    "launcher-missing",
    'no mpv is set up, which streams need: install it, or add a launcher with kind = "mpv"',
  );
}

/** Puts the file into the command line, and for RetroArch the core. */
function orderOf(launcher: AvailableLauncher, { path, system }: MediaFile): PlayerChoice {
  const { id, kind = "process", command, environment, folder, isUnconfined, stop } = launcher;
  const optionsAt = placeOfOptions(command);
  const core = kind === "retroarch" ? coreOf(launcher, system) : undefined;
  const options = core === undefined ? [] : ["-L", core];
  return {
    launcherId: id,
    kind,
    argv: command.toSpliced(optionsAt, 0, ...options).map((part) => part.replaceAll("{path}", () => path)),
    optionsAt: optionsAt + options.length,
    core,
    environment,
    folder,
    isUnconfined,
    stop,
  };
}

/** The place for options: before the file, and before a `--`. A wrapper at the start of the command does not matter. */
function placeOfOptions(command: readonly string[]): number {
  const file = command.findIndex((part, index) => index > 0 && part.includes("{path}"));
  if (file === -1) return command.length;
  return file > 1 && command[file - 1] === "--" ? file - 1 : file;
}

function coreOf({ id, core, cores = noCores() }: AvailableLauncher, system: System): string {
  const systemId = systemIdOf(system.id);
  const file = coreFileOf(systemId, core, cores);
  if (file !== undefined) return file;
  const [usual] = coreNamesOf(systemId);
  throw launchFailed(
    "core-missing",
    core !== undefined
      ? `there is no libretro core ${core}: install it, or name another one in the launcher ${id}`
      : usual === undefined
        ? `no libretro core is known for ${system.id}: name one with core = "..." in the launcher ${id}`
        : `no libretro core for ${system.id} is installed: install one, such as ${usual}`,
  );
}

/** The system's id in the table of cores, for any spelling. */
function systemIdOf(name: string): string {
  return systemByName(name)?.id ?? name;
}

function specificity({ systems, extensions }: LauncherConfig): number {
  return (systems.length > 0 ? 2 : 0) + (extensions.length > 0 ? 1 : 0);
}

/**
 * A card may name another system for a file, but only one that fits. The launcher must play the file as one of the
 * named system. A launcher without a list of extensions must also play the file as one of the file's own system, unless
 * the named system has the extension.
 */
function plays(launcher: AvailableLauncher, file: MediaFile): boolean {
  const { path, system, ownSystem } = file;
  if (!playsIn(launcher, path, system)) return false;
  if (ownSystem === undefined || launcher.extensions.length > 0) return true;
  if (systemByName(system.id)?.extensions.includes(extensionOf(path)) === true) return true;
  // If the launcher names no systems, RetroArch chooses the core by the system alone.
  const { kind, core, cores = noCores() } = launcher;
  const hasCore = kind !== "retroarch" || coreFileOf(systemIdOf(ownSystem.id), core, cores) !== undefined;
  return hasCore && playsIn(launcher, path, ownSystem);
}

function playsIn(launcher: LauncherConfig, path: string, system: System): boolean {
  const { systems, extensions, kind } = launcher;
  if (systems.length > 0 && !systems.includes(system.id)) return false;
  if (extensions.length > 0) return extensions.includes(extensionOf(path));
  // A launcher of a system may have no place for a file in its command, and then plays no file. RetroArch plays no sound,
  // film or picture that lies beside a game.
  return kind === "retroarch"
    ? kindOf(extensionOf(path)) === undefined
    : systems.length === 0 || takesFile(launcher);
}

function takesFile({ command }: LauncherConfig): boolean {
  return command.some((part) => part.includes("{path}"));
}

function takenBy(launcher: LauncherConfig): string {
  const { systems, extensions, kind } = launcher;
  const where = systems.length === 0 ? "" : ` in ${listed(systems)}`;
  if (extensions.length > 0) return `${listed(extensions)}${where}`;
  if (kind !== "retroarch" && systems.length > 0 && !takesFile(launcher)) return `no file${where}`;
  return systems.length === 0 ? "games of systems that have a libretro core" : `the usual files${where}`;
}

function listed(words: readonly string[]): string {
  const shown = words.slice(0, 8).join(", ");
  return words.length > 8 ? `${shown} and ${words.length - 8} more` : shown;
}

function describe({ path, system }: MediaFile): string {
  return `${extensionOf(path) || "files without extension"} in ${system.id}`;
}
