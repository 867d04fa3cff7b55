/** Players: the ones of the config file, then mpv where it is installed. Which one plays a file. */
import type { LauncherConfig } from "../config/shape.ts";
import { ServiceError } from "../core/errors.ts";
import type { System } from "../core/media.ts";
import { extensionOf } from "../core/paths.ts";
import { mediaExtensions } from "../media/kinds.ts";
import type { MediaFile } from "./media-file.ts";

// Sound goes nowhere where there is no device for it, and a picture stays until it is stopped.
const mpv: LauncherConfig = {
  id: "mpv",
  systems: [],
  extensions: mediaExtensions,
  command: [
    "mpv",
    "--no-terminal",
    "--no-config",
    "--fullscreen",
    "--ao=pipewire,pulse,alsa,null",
    "--image-display-duration=inf",
    "--",
    "{path}",
  ],
};

export interface Choice {
  readonly launcherId: string;
  readonly argv: readonly string[];
}

/**
 * The launchers of the config, those that name systems first, then those that name extensions, else as in the file; and
 * behind them the built-in ones whose program `find` finds. The first that plays a file is the one for it.
 */
export function availableLaunchers(
  configured: readonly LauncherConfig[],
  find: (program: string) => string | null,
): readonly LauncherConfig[] {
  const inOrder = configured.toSorted((a, b) => specificity(b) - specificity(a));
  const program = find("mpv");
  if (program === null || configured.some(({ id }) => id === mpv.id)) return inOrder;
  return [...inOrder, { ...mpv, command: [program, ...mpv.command.slice(1)] }];
}

export interface LauncherState {
  readonly id: string;
  readonly name: string;
  readonly systems: readonly string[];
  readonly extensions: readonly string[];
  readonly available: boolean;
  /** A sentence; only where it is not available. */
  readonly reason?: string;
}

/** Every launcher in the order in which they are asked, and whether its program is there; the built-in ones too. */
export function describeLaunchers(
  configured: readonly LauncherConfig[],
  find: (program: string) => string | null,
): readonly LauncherState[] {
  const known = availableLaunchers(configured, find);
  const all = known.some(({ id }) => id === mpv.id) ? known : [...known, mpv];
  return all.map(({ id, systems, extensions, command: [program = ""] }) => {
    const available = find(program) !== null;
    const why = available ? {} : { reason: `there is no program ${program}` };
    return { id, name: id, systems, extensions, available, ...why };
  });
}

/** Throws `ServiceError("failed")` with what to do where none plays it. */
export function chooseLauncher(
  file: MediaFile,
  launchers: readonly LauncherConfig[],
  wantedId: string | undefined,
): Choice {
  const launcher =
    wantedId === undefined
      ? launchers.find((candidate) => plays(candidate, file))
      : launchers.find(({ id }) => id === wantedId);
  if (launcher === undefined) {
    const what =
      wantedId === undefined
        ? `no player is set up for ${describe(file)}`
        : `there is no launcher ${wantedId}`;
    throw new ServiceError("failed", `${what}: add one to the config file under [[launchers]]`);
  }
  return {
    launcherId: launcher.id,
    argv: launcher.command.map((part) => part.replaceAll("{path}", () => file.path)),
  };
}

/** The first launcher that names the system and takes no file; throws `ServiceError("failed")` with what to do. */
export function chooseSystemLauncher(system: System, launchers: readonly LauncherConfig[]): Choice {
  const launcher = launchers.find(
    ({ systems, command }) => systems.includes(system.id) && !command.some((part) => part.includes("{path}")),
  );
  if (launcher === undefined) {
    throw new ServiceError(
      "failed",
      `no player starts ${system.id} without a file: add one under [[launchers]] whose command has no {path}`,
    );
  }
  return { launcherId: launcher.id, argv: launcher.command };
}

function specificity({ systems, extensions }: LauncherConfig): number {
  return (systems.length > 0 ? 2 : 0) + (extensions.length > 0 ? 1 : 0);
}

function plays({ systems, extensions }: LauncherConfig, { path, system }: MediaFile): boolean {
  if (systems.length > 0 && !systems.includes(system.id)) return false;
  return extensions.length === 0 || extensions.includes(extensionOf(path));
}

function describe({ path, system }: MediaFile): string {
  return `${extensionOf(path) || "files without extension"} in ${system.id}`;
}
