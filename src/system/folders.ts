/** The paths of the service's files and folders (XDG Base Directory Specification). */
import { createHash } from "node:crypto";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { ClosedPlaces } from "../core/media.ts";

export interface PlaceOptions {
  /** The config file, from `--config`. */
  readonly config?: string | undefined;
  /** The data folder, from `--data`. */
  readonly data?: string | undefined;
}

export interface ServicePlaces {
  readonly configPath: string;
  /** True if a person named the file, which must then exist. */
  readonly configNamed: boolean;
  readonly dataFolder: string;
  /** The socket for callers on the device: in the run folder, or in the folder of `--data`. */
  readonly socketPath: string;
  /** A folder in memory for the saves of running games, for this data folder alone. */
  readonly savesMemory: string;
}

/** With `--data` alone, the config file is also in that folder, so a second service needs one flag. */
export function placesOf({ config, data }: PlaceOptions, environment: Environment): ServicePlaces {
  const dataFolder = resolve(data ?? join(base(environment.XDG_DATA_HOME, ".local/share"), "tapdeck"));
  const configFolder = data === undefined ? ownConfigFolder(environment) : dataFolder;
  return {
    configPath: resolve(config ?? join(configFolder, "config.toml")),
    configNamed: config !== undefined,
    dataFolder,
    socketPath: join(data === undefined ? runFolder(environment, dataFolder) : dataFolder, "tapdeck.sock"),
    savesMemory: join(
      runFolder(environment, "/dev/shm"),
      `tapdeck-saves-${createHash("sha256").update(dataFolder).digest("hex").slice(0, 8)}`,
    ),
  };
}

/**
 * The service's files and folders, which are never played. A named config file may be in a folder with media. Only the
 * file and the `mappings` folder beside it are then closed.
 */
export function closedPlaces(places: ServicePlaces, environment: Environment): ClosedPlaces {
  const { configPath, configNamed, dataFolder, socketPath } = places;
  const configFolder = dirname(configPath);
  const isOwn = !configNamed || [ownConfigFolder(environment), dataFolder].includes(configFolder);
  return {
    folders: [
      dataFolder,
      dirname(socketPath),
      ...runFoldersOf(environment),
      ...(environment.TAPDECK_MACHINE ? [environment.TAPDECK_MACHINE] : []),
      isOwn ? configFolder : join(configFolder, "mappings"),
    ],
    files: [configPath],
    open: join(dataFolder, "media"),
  };
}

/**
 * The run folder that belongs to the service alone; undefined if it has none. The run folder that a login makes is for all
 * programs of that person, so it does not count.
 */
export function ownRunFolder(environment: Environment): string | undefined {
  return runFoldersOf(environment)[0];
}

/**
 * The folder for the temporary files of players. In a run folder that belongs to the service alone, everything else is
 * hidden from players.
 */
export function playersFolder(environment: Environment): string {
  const run = ownRunFolder(environment);
  return run === undefined ? tmpdir() : join(run, "players");
}

/** The run folders: several are separated by colons (systemd.exec(5), RuntimeDirectory=). */
function runFoldersOf({ RUNTIME_DIRECTORY }: Environment): readonly string[] {
  return (RUNTIME_DIRECTORY ?? "").split(":").filter((path) => path.startsWith("/"));
}

function ownConfigFolder({ XDG_CONFIG_HOME }: Environment): string {
  return join(base(XDG_CONFIG_HOME, ".config"), "tapdeck");
}

/**
 * The run folder. systemd makes one for a system service (systemd.exec(5), RuntimeDirectory=), and a login makes one
 * for a person.
 */
function runFolder(environment: Environment, otherwise: string): string {
  const { XDG_RUNTIME_DIR: ofLogin } = environment;
  return ownRunFolder(environment) ?? (ofLogin?.startsWith("/") ? ofLogin : otherwise);
}

export type Environment = Readonly<Record<string, string | undefined>>;

// A path that is not absolute counts as not set (XDG Base Directory Specification).
function base(variable: string | undefined, fallback: string): string {
  return variable?.startsWith("/") ? variable : join(homedir(), fallback);
}
