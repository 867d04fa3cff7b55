/**
 * Starts the process of a player: confined, in a session of its own, and with a fixed list of variables. A mark in the
 * environment of the process identifies its family (descendants.ts). The spare (spare-player.ts) replaces this start for
 * most players.
 */
import { codeOf, launchFailed, messageOf } from "../core/errors.ts";
import { noDescriptors } from "../core/operating-system.ts";
import { confined, type ProgramReach } from "./confine.ts";
import { type Family, markName, nextMark } from "./descendants.ts";
import { ownRunFolder, playersFolder } from "./folders.ts";

export interface StartOptions {
  /** Variables that are added to the service's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The working folder of the player; the service's own if absent. */
  readonly folder?: string | undefined;
  /** The standard input of the player, as a file in memory. */
  readonly input?: Uint8Array | undefined;
  /** True to give the player a socket to the service as descriptor 3. */
  readonly hasLine?: boolean;
  /** True to make the player's standard input and output pipes to the service. In that case `input` has no effect. */
  readonly hasTalk?: boolean;
  /** The reach of the player; "network" if absent. */
  readonly reach?: ProgramReach;
}

export type Child = ReturnType<typeof spawn>;

export interface StartedProcess {
  readonly child: Child;
  readonly family: Family;
}

/** Starts `argv`. Throws `ServiceError("failed")` with a sentence if the program cannot be started. */
export function startProcess(argv: readonly string[], options: StartOptions): StartedProcess {
  const { environment, folder, reach = "network" } = options;
  const path = environment?.PATH ?? playerEnvironment.PATH;
  try {
    return startCommand(confined(argv, reach, { path, folder }), options);
  } catch (error) {
    const why = startFaultOf(error);
    const where = folder === undefined ? "" : ` in the folder ${folder}`;
    throw launchFailed("player-not-started", `the player ${argv[0]} could not be started${where}: ${why}`, {
      cause: error,
    });
  }
}

/** Starts `command` without confinement, with `extra` descriptors after those of the options. Throws the runtime's error. */
export function startCommand(
  command: readonly string[],
  options: StartOptions,
  extra: "pipe"[] = [],
): StartedProcess {
  const birth = nextMark();
  const child = spawn(command, birth.mark, options, extra);
  return { child, family: { groupId: child.pid, ...birth } };
}

function spawn(
  command: readonly string[],
  mark: string,
  { environment, folder, input, hasLine = false, hasTalk = false }: StartOptions,
  extra: readonly "pipe"[],
) {
  // The runtime makes a file in memory from bytes.
  const standard = [hasTalk ? "pipe" : (input ?? "ignore"), hasTalk ? "pipe" : "ignore", "pipe"] as const;
  return Bun.spawn([...command], {
    stdio: hasLine ? [...standard, "pipe", ...extra] : [...standard, ...extra],
    env: { ...playerEnvironment, ...environment, [markName]: mark },
    ...(folder === undefined ? {} : { cwd: folder }),
    detached: true,
  });
}

/** Sends a signal to a process, or to the group `-target`. It does nothing if the target has ended. */
export function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // The error ESRCH means that no process of it is left.
  }
}

/** The reason why a program could not be started, as half a sentence. */
export function startFaultOf(error: unknown): string {
  return startFaults[codeOf(error)] ?? messageOf(error);
}

const startFaults: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program",
  EACCES: "it is not a program that this user may run",
  ENOEXEC: "it is not a program for this machine",
  EMFILE: noDescriptors,
  ENFILE: noDescriptors,
};

/**
 * The variables, or prefixes of variables (with a `*`), that players and programs of cards get: user, folders,
 * language, screen, sound, and drivers. Variables of the runtime, secrets and `LD_PRELOAD` are left out. The session
 * bus is also left out, because it starts programs without confinement.
 */
const kept = [
  ...["HOME", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*"],
  ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DESKTOP_SESSION"],
  ...["ALSA_*", "PULSE_*", "PIPEWIRE_*", "JACK_*"],
  ...["SDL_*", "QT_QPA_*", "GDK_BACKEND", "MESA_*", "LIBGL_*", "GBM_*", "EGL_*", "LIBVA_*", "VDPAU_*"],
] as const;

const exact: ReadonlySet<string> = new Set(kept.filter((name) => !name.endsWith("*")));
const prefixes = kept.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));

const ownRun = ownRunFolder(process.env);

/**
 * The environment of players. It is a copy that is made at the start, because the service does not change its
 * environment. If the service has a run folder of its own, players get the folder in it that is theirs.
 */
export const playerEnvironment: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix)),
    ),
  ),
  ...(ownRun === undefined
    ? {}
    : { TMPDIR: playersFolder(process.env), XDG_RUNTIME_DIR: playersFolder(process.env) }),
};
