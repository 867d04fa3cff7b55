/**
 * Players and programs of cards are confined: they run behind tapdeck-confine (watchdog/tapdeck-confine.c), which keeps the
 * data folder's files, the keys and the settings from them. It stands beside the service's own program, and is asked once,
 * at the start, whether it can. Where it cannot, players start without it, and `health` says so.
 */
import { existsSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { confineProbeMsMax } from "../core/limits.ts";
import type { Environment, Places } from "./folders.ts";

/** What a program may reach: every file too, or all sockets, or only the sockets of this machine. */
export type Reach = "everything" | "network" | "offline";

export interface Confinement {
  /** What stands before a program and its words; empty where players are not confined. */
  readonly prefixes: { readonly [Each in Reach]: readonly string[] };
  /** Why they are not, as a sentence; undefined where they are. */
  readonly fault?: string;
}

const unconfined = (why: string): Confinement => ({
  prefixes: { everything: [], network: [], offline: [] },
  fault: `players are not confined and could read this service's secrets: ${why}`,
});

// Set once, before the first player; the only state that is not handed from hand to hand, as the environment of players is.
let current = unconfined("the service has not set it up");

/** Why players are not confined, or an empty string. */
export function confinementFault(): string {
  return current.fault ?? "";
}

/** Has all players from now on confined, where this machine can. */
export async function confinePlayers(places: Places, environment: Environment = process.env): Promise<void> {
  current = await findConfinement(places, join(dirname(process.execPath), "tapdeck-confine"));
  if (current.fault === undefined) await makeFolders(environment);
}

/** As `confinePlayers`, with the helper at `helper`, and without any effect. */
export async function findConfinement(places: Places, helper: string): Promise<Confinement> {
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

/** `argv` as it is to be spawned. Throws an error with a `code`, as a spawn does, where there is no such program. */
export function confined(argv: readonly string[], reach: Reach, at: ProgramPlace = {}): readonly string[] {
  const prefix = current.prefixes[reach];
  if (prefix.length === 0) return argv;
  return [...prefix, programOf(argv[0] ?? "", at), ...argv];
}

/**
 * The helper that makes its rules ahead, and waits for a program and its words at `descriptor`; empty where such a program
 * is not confined.
 */
export function waitingHelper(reach: Reach, descriptor: number): readonly string[] {
  const [helper, ...options] = current.prefixes[reach];
  return helper === undefined ? [] : [helper, `--from=${descriptor}`, ...options];
}

export interface ProgramPlace {
  /** The folders of programs, as `PATH` has them; the service's own where absent. */
  readonly path?: string | undefined;
  /** The folder that it works in. */
  readonly folder?: string | undefined;
}

/** Its path; null where it is not there, or not a program. */
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

/** What it says where it cannot confine; undefined where it can. */
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

/** Folders of the service in its data folder; those of others there are none of its secrets. */
const ownFolders = ["tls", "mappings", "tapdeck-sounds"] as const;

/** The options that hide what is the service's own, by true paths. */
async function hiddenBy({ configPath, configNamed, dataFolder }: Places): Promise<readonly string[]> {
  const data = await truePath(dataFolder);
  const configFolder = await truePath(dirname(configPath));
  const ours = ownFolders.map((name) => join(data, name));
  // A folder that a person named may have media beside the config file, or be a home folder.
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

/** Without links; where the path does not exist yet, with those above it resolved. */
async function truePath(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const above = dirname(path);
    return above === path ? path : join(await truePath(above), basename(path));
  });
}

/**
 * Makes the folders that players expect, where they are missing: in the folders above hidden places players make nothing
 * new. Those of a person hold the service's own folder, and on an image the data folder is the home of the players.
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
  // A home that cannot be written to is as it was without: its players know that.
  for (const folder of [...bases, ...known.map((name) => join(config, name))])
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {});
}
