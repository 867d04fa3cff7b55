/**
 * Confinement of players and programs of cards. tapdeck-confine (watchdog/tapdeck-confine.c) starts them without access to
 * the data folder's files, the keys and the settings. It lies beside the service's program. The service probes it once, at
 * the start. If it cannot confine, players start without it, and `health` says so.
 */
import { existsSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { confineProbeMsMax } from "../core/limits.ts";
import type { Environment, ServicePlaces } from "./folders.ts";

/** The reach of a program: every file and socket, every socket, or the sockets of this machine. */
export type ProgramReach = "everything" | "network" | "offline";

export interface Confinement {
  /** The words before a program and its arguments; empty if players are not confined. */
  readonly prefixes: { readonly [Each in ProgramReach]: readonly string[] };
  /** A sentence on why players are not confined; undefined if they are. */
  readonly fault?: string;
}

const unconfined = (why: string): Confinement => ({
  prefixes: { everything: [], network: [], offline: [] },
  fault: `players are not confined and could read this service's secrets: ${why}`,
});

// Global state, set once before the first player.
let current = unconfined("the service has not set it up");

/** Why players are not confined, or an empty string. */
export function confinementFault(): string {
  return current.fault ?? "";
}

/** Confines all later players, if this machine can. */
export async function confinePlayers(places: ServicePlaces): Promise<void> {
  current = await findConfinement(places, join(dirname(process.execPath), "tapdeck-confine"));
  if (current.fault === undefined) await makeFolders(process.env);
}

/** The confinement by the program at `helper`; changes nothing. */
async function findConfinement(places: ServicePlaces, helper: string): Promise<Confinement> {
  if (!existsSync(helper)) return unconfined(`${helper} is missing: install it again`);
  const why = await refusalOf(helper);
  if (why !== undefined)
    return unconfined(`${why}: a kernel with Landlock is needed, and "landlock" in its lsm= list`);
  const hidden = await hiddenBy(places);
  return {
    prefixes: {
      everything: [],
      network: [helper, ...hidden, "--"],
      offline: [helper, "--offline", ...hidden, "--"],
    },
  };
}

/** The command that starts `argv` confined. Throws an error with a `code`, as a spawn does, if there is no such program. */
export function confined(
  argv: readonly string[],
  reach: ProgramReach,
  at: ProgramPlace = {},
): readonly string[] {
  const prefix = current.prefixes[reach];
  if (prefix.length === 0) return argv;
  return [...prefix, programOf(argv[0] ?? "", at), ...argv];
}

/**
 * The command of a helper that sets up the confinement and waits for a program at `descriptor`; empty if such a program is not
 * confined.
 */
export function waitingHelper(reach: ProgramReach, descriptor: number): readonly string[] {
  const [helper, ...options] = current.prefixes[reach];
  return helper === undefined ? [] : [helper, `--from=${descriptor}`, ...options];
}

interface ProgramPlace {
  /** The value of `PATH`; the service's own if absent. */
  readonly path?: string | undefined;
  /** The working folder. */
  readonly folder?: string | undefined;
}

/** The path of a program; null if there is none. */
export function programFor(name: string, { path, folder }: ProgramPlace): string | null {
  return Bun.which(name, {
    ...(path === undefined ? {} : { PATH: path }),
    ...(folder === undefined ? {} : { cwd: folder }),
  });
}

function programOf(name: string, at: ProgramPlace): string {
  const found = programFor(name, at);
  if (found !== null) return found;
  const { folder } = at;
  const isThere = name.includes("/") && existsSync(join(name.startsWith("/") ? "/" : (folder ?? "."), name));
  throw Object.assign(new Error(`cannot run ${name}`), { code: isThere ? "EACCES" : "ENOENT" });
}

/** Why the helper cannot confine; undefined if it can. */
async function refusalOf(helper: string): Promise<string | undefined> {
  try {
    const child = Bun.spawn([helper, "--probe"], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: confineProbeMsMax,
    });
    const said = await new Response(child.stderr).text();
    const exitCode = await child.exited;
    return exitCode === 0 ? undefined : said.trim() || `tapdeck-confine ended with code ${exitCode}`;
  } catch (error) {
    return `tapdeck-confine cannot be started (${messageOf(error)})`;
  }
}

/** The folders in the data folder that hold files of the service. */
const ownFolders = ["tls", "mappings", "backups", "tapdeck-sounds"] as const;

/** The options that hide the service's files, by real paths. */
async function hiddenBy({ configPath, configNamed, dataFolder }: ServicePlaces): Promise<readonly string[]> {
  const data = await truePath(dataFolder);
  const configFolder = await truePath(dirname(configPath));
  const ours = ownFolders.map((name) => join(data, name));
  // The folder of a named config file may hold media, or be a home folder, so only the service's files in it are hidden.
  const config = configNamed
    ? [join(configFolder, "mappings"), join(configFolder, basename(configPath)), await truePath(configPath)]
    : configFolder === data
      ? []
      : [configFolder];
  const own = configNamed ? [data, configFolder] : [data];
  return [
    ...[...new Set([...ours, ...config])].map((path) => `--hide=${path}`),
    ...[...new Set(own)].map((path) => `--own=${path}`),
  ];
}

/** The real path. For a path that does not exist yet, the folders above it are resolved. */
async function truePath(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const above = dirname(path);
    return above === path ? path : join(await truePath(above), basename(path));
  });
}

/**
 * Makes the folders that players expect, because confined players cannot create entries in folders above hidden files. A
 * person's `.config` holds the service's folder, and on an image the data folder is the home of the players.
 */
async function makeFolders(environment: Environment): Promise<void> {
  const home = environment.HOME ?? homedir();
  const base = (name: string, usual: string) => {
    const stated = environment[name];
    return stated?.startsWith("/") ? stated : join(home, usual);
  };
  const config = base("XDG_CONFIG_HOME", ".config");
  const bases = [
    config,
    base("XDG_CACHE_HOME", ".cache"),
    base("XDG_DATA_HOME", ".local/share"),
    base("XDG_STATE_HOME", ".local/state"),
  ];
  const known = ["retroarch", "mpv"].filter((name) => Bun.which(name) !== null);
  // Players can cope with a home that is read-only.
  for (const folder of [...bases, ...known.map((name) => join(config, name))])
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {});
}
