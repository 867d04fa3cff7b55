/**
 * The places of confined players, as options of tapdeck-confine (watchdog/places.h). The folders of the service are
 * hidden as a whole: its data, its settings and its run folder. Single folders in them are open to players.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Environment, ownRunFolder, playersFolder, type ServicePlaces } from "./folders.ts";

/** Absolute paths that are not the service's own; they may have links, and may not exist. */
export interface ReachOfPlayers {
  /** Places that players can neither read nor change. */
  readonly hidden: readonly string[];
  /** Places that players cannot change. A hidden place stays hidden. */
  readonly kept: readonly string[];
  /**
   * Folders that are for players, so no restriction applies inside them. A hidden place stays hidden, because callers of
   * the API may name folders of media.
   */
  readonly open: readonly string[];
}

/** Paths on the way to places, with their targets; undefined for a path that is no link. */
export type FollowedLinks = ReadonlyMap<string, string | undefined>;

/** The folders in the data folder that are for players. Everything else there is hidden, unless its name begins with a dot. */
export const dataOfPlayers = ["media", "saves", "states", "bios", "screenshots"] as const;

/** The folder of the generated sounds (sound.ts). */
export function soundsFolder({ socketPath }: Pick<ServicePlaces, "socketPath">): string {
  return join(dirname(socketPath), "tapdeck-sounds");
}

// Folders that the rights of the system protect. Listing them would take time at each start of a player.
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/dev", "/proc", "/sys"];
/**
 * Devices that the service's groups open, and that reach beyond a player. They are keys for any other program (Linux,
 * Documentation/input/uinput.rst and hid/uhid.rst), the television (HDMI CEC), readers and other chips on the buses of
 * the header, and the firmware of a Raspberry Pi, which reads and writes all memory for its callers
 * (Linux, drivers/char/broadcom/vcio.c).
 */
const closedDevices = [
  ...["/dev/uinput", "/dev/uhid", "/dev/vcio", "/dev/cec0", "/dev/cec1"],
  ...["/dev/i2c-1", "/dev/spidev0.0", "/dev/spidev0.1"],
];
/** Each process may write in this folder about other processes of its user: `oom_score_adj` and `autogroup` (proc(5)). */
const processes = "/proc";
// The value of `places_max` in watchdog/places.h.
const placesMax = 512;

/**
 * The options at this moment, by real paths, and the links that they depend on. A link that leads to a hidden place is also
 * hidden. The function reads links only, and takes well under a millisecond.
 */
export function placesNow(
  { configPath, configNamed, dataFolder, socketPath, savesMemory }: ServicePlaces,
  named: ReachOfPlayers,
  environment: Environment,
): { readonly options: readonly string[]; readonly links: FollowedLinks } {
  const { follow, links } = linkFollower();
  const realOf = (path: string) => follow(path).real;
  const data = follow(dataFolder);
  const config = follow(dirname(configPath));
  const run = ownRunFolder(environment);
  // The folder of a named config file may hold media, or be a home folder, so only the service's files in it are hidden.
  const settings = configNamed
    ? [join(config.real, "mappings"), join(config.real, basename(configPath)), configPath]
    : config.real === data.real
      ? []
      : [config.real];
  const hidden = [...named.hidden, ...settings, socketPath, ...(run === undefined ? [] : [run])].map(follow);
  const hide = unique([
    ...hidden.map(({ real }) => real),
    ...[data, config, ...hidden].flatMap(({ links }) => links),
    ...closedDevices,
  ]);
  const own = configNamed && config.real !== data.real ? [config.real] : [];
  const isHidden = isBelowOneOf([...hide, data.real]);
  const open = [
    ...dataOfPlayers.map((name) => join(data.real, name)),
    ...[savesMemory, ...(run === undefined ? [] : [playersFolder(environment)])].map(realOf),
  ];
  const isOpen = isBelowOneOf([...open, ...named.open.map(realOf)]);
  const isOfSystem = isBelowOneOf(systemFolders);
  const isLeft = (path: string) =>
    isHidden(path) || own.includes(dirname(path)) || isOpen(path) || isOfSystem(path);
  const kept = named.kept.map(realOf).filter((path) => !isLeft(path));
  const options = [
    ...hide.map((path) => `--hide=${path}`),
    ...own.map((path) => `--own=${path}`),
    `--home=${data.real}`,
    ...open.filter(isHidden).map((path) => `--open=${path}`),
    ...unique([realOf(soundsFolder({ socketPath })), processes, ...kept]).map((path) => `--keep=${path}`),
  ];
  return { options: options.slice(0, placesMax), links };
}

/** Whether the links still lead to the same targets. The disk is read without blocking. */
export async function areUnchanged(links: FollowedLinks): Promise<boolean> {
  const targets = await Promise.all([...links.keys()].map((path) => readlink(path).catch(() => undefined)));
  return [...links.values()].every((target, at) => target === targets[at]);
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}

function isBelowOneOf(places: readonly string[]): (path: string) => boolean {
  return (path) => places.some((place) => path === place || path.startsWith(`${place}/`));
}

// The kernel has the same limit (path_resolution(7)).
const linksMax = 40;

/** Resolves paths, and reads each link once. For a path that does not exist, the part that exists is resolved. */
function linkFollower() {
  const known = new Map<string, string | undefined>();
  const targetOf = (path: string): string | undefined => {
    if (!known.has(path)) known.set(path, linkAt(path));
    return known.get(path);
  };
  const follow = (path: string): { readonly real: string; readonly links: readonly string[] } => {
    const links: string[] = [];
    let at = "";
    let left = path.split("/");
    while (left.length > 0) {
      const [name = "", ...rest] = left;
      left = rest;
      if (name === "" || name === ".") continue;
      if (name === "..") {
        at = at.slice(0, at.lastIndexOf("/"));
        continue;
      }
      const next = `${at}/${name}`;
      const target = links.length < linksMax ? targetOf(next) : undefined;
      if (target === undefined) at = next;
      else {
        links.push(next);
        if (target.startsWith("/")) at = "";
        left = [...target.split("/"), ...left];
      }
    }
    return { real: at, links };
  };
  return { follow, links: known };
}

/** The target of a link; undefined if the path is no link. */
function linkAt(path: string): string | undefined {
  try {
    const found: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
    return found?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    // A folder above the path cannot be searched, and players cannot search it either.
    return undefined;
  }
}
