/**
 * Confinement of players, of their sounds, and of programs of cards. tapdeck-confine (watchdog/tapdeck-confine.c)
 * starts them without access to the places of `player-places.ts`. The helper is in the folder of the service's program. The
 * service probes it once, at the start. If it cannot confine, players start without it, and `health` reports this.
 */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultOf, faultSentence } from "../core/faults.ts";
import { confineProbeMsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Environment, ownRunFolder, playersFolder, type ServicePlaces } from "./folders.ts";
import { type FollowedLinks, placesNow, type ReachOfPlayers } from "./player-places.ts";

/** The reach of a program: every file and socket, every socket, or the sockets of this machine. */
export type ProgramReach = "everything" | "network" | "offline";

type Confinement =
  /** The path of tapdeck-confine, the places that the settings name, and the options for them at this moment. */
  | {
      readonly helper: string;
      named(): ReachOfPlayers;
      placesOf(named: ReachOfPlayers): ReturnType<typeof placesNow>;
    }
  | { readonly fault: Fault };

const unconfined = (why: string): Confinement => ({ fault: faultOf("players-unconfined", { why }) });

// This state is global. It is set once, before the first player.
let current = unconfined("the service has not set it up");

/** The fault that players are not confined; none if they are confined. */
export function confinementFaults(): readonly Fault[] {
  return "fault" in current ? [current.fault] : [];
}

/**
 * Confines all later players, if this machine can. `named` returns the places that the settings name, and is called at each start of
 * a player.
 */
export async function confinePlayers(
  places: ServicePlaces,
  named: () => ReachOfPlayers,
  log: Log,
): Promise<void> {
  const helper = join(dirname(process.execPath), "tapdeck-confine");
  const why = await refusalOf(helper);
  current =
    why === undefined
      ? { helper, named, placesOf: (reach) => placesNow(places, reach, process.env) }
      : unconfined(why);
  for (const fault of confinementFaults()) log.warn("players", faultSentence(fault));
  // Unconfined players also put their temporary files into this folder.
  if (ownRunFolder(process.env) !== undefined)
    await mkdir(playersFolder(process.env), { recursive: true, mode: 0o700 });
  if (why === undefined) await makeFolders(process.env);
}

/** The words before a program and its arguments, and their basis; undefined if it is not confined. */
function prefixOf(reach: ProgramReach) {
  if ("fault" in current || reach === "everything") return undefined;
  const named = current.named();
  const { options, links } = current.placesOf(named);
  return {
    words: [current.helper, ...(reach === "offline" ? ["--offline"] : []), ...options, "--"],
    named,
    links,
  };
}

/**
 * The command that starts `argv` with confinement. Throws an error with a `code`, as a spawn does, if there is no such
 * program.
 */
export function confined(
  argv: readonly string[],
  reach: ProgramReach,
  at: ProgramPlace = {},
): readonly string[] {
  const prefix = prefixOf(reach)?.words;
  if (prefix === undefined) return argv;
  return [...prefix, programOf(argv[0] ?? "", at), ...argv];
}

/** A helper that sets up the confinement and waits for a program. Its command is right while its basis is. */
export interface WaitingHelper {
  readonly command: readonly string[];
  readonly named: ReachOfPlayers;
  readonly links: FollowedLinks;
}

/** The helper that waits for a program at `descriptor`; undefined if such a program is not confined. */
export function waitingHelper(reach: ProgramReach, descriptor: number): WaitingHelper | undefined {
  const prefix = prefixOf(reach);
  if (prefix === undefined) return undefined;
  const [helper = "", ...options] = prefix.words;
  return { ...prefix, command: [helper, `--from=${descriptor}`, ...options] };
}

/** Whether the settings name the same places as at the start of the helper. */
export function namesSamePlaces({ named }: WaitingHelper): boolean {
  return !("fault" in current) && current.named() === named;
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

/** The reason why the helper cannot confine players, with a remedy; undefined if it can. */
async function refusalOf(helper: string): Promise<string | undefined> {
  if (!existsSync(helper)) return `${helper} is missing: install it again`;
  const why = await complaintOf(helper);
  return why && `${why}: a kernel with Landlock is needed, and "landlock" in its lsm= list`;
}

async function complaintOf(helper: string): Promise<string | undefined> {
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

/**
 * Makes the folders that players expect, because confined players cannot create entries in folders above hidden files.
 * Hidden files are in two such folders. The folder `.config` of a person contains the service's folder. On an image, the
 * home folder of the players is the data folder.
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
  // Players work with a read-only home folder.
  for (const folder of [...bases, ...known.map((name) => join(config, name))])
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {});
}
