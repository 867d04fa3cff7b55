/**
 * Files that are closed to media: those of the service and of the kernel. Paths are compared as real paths, and by device
 * and inode. Links may change after the start, and a bind mount shows a folder under a second path.
 */
import { type BigIntStats, lstatSync, realpathSync, statSync } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import type { ClosedPlaces } from "../core/media.ts";

/** A file or folder: its absolute path with each byte as one character, and its device and inode if it exists. */
interface Place {
  readonly path: string;
  readonly id: string | undefined;
}

/** The closed places, and the open one inside them. */
interface PlaceRules {
  readonly closed: PlaceSet;
  readonly open: PlaceSet;
}

interface PlaceSet {
  readonly paths: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

/** The kernel's folders hold no media, and many of their files change with each read. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/** The places with their real paths. The function reads the disk, so the caller calls it once, at the start. */
export function withRealPaths({ folders, files, open }: ClosedPlaces): ClosedPlaces {
  const both = (paths: readonly string[]) => [
    ...new Set(paths.flatMap((path) => [path, orNothing(() => realpathSync(path)) ?? path])),
  ];
  return { folders: both(folders), files: both(files), open };
}

/** The places that are closed at this moment. The disk is read without blocking. `isClosed` takes a real path. */
export function closedNow(places: ClosedPlaces | undefined) {
  const loading = rulesOf(places);
  const ahead = new Map<string, Promise<string | undefined>>();
  const idAt = async (path: string) => idOf(await statOf(path));
  // A place that was missing before its file was found may have been made meanwhile.
  const placeAt = async (path: string): Promise<Place> => ({
    path,
    id: (await ahead.get(path)) ?? (await idAt(path)),
  });
  return {
    /** Reads the place and the folders above it ahead, so that `isClosed` does not wait for them. */
    readAhead(path: string): void {
      for (const one of ancestorsOf(latin1(path))) if (!ahead.has(one)) ahead.set(one, idAt(one));
    },
    async isClosed(path: string | Uint8Array): Promise<boolean> {
      const chain = await Promise.all(ancestorsOf(latin1(path)).map(placeAt));
      return judge(chain, await loading);
    },
  };
}

/** Whether a folder is closed or open; undefined if the folder above it decides that. */
type FolderState = "closed" | "open" | undefined;

export type ClosedIndex = ReturnType<typeof closedFor>;

/** The same as `closedNow`, without promises, for the process that builds the index. */
export function closedFor(places: ClosedPlaces | undefined) {
  const rules = rulesNow(places);
  const look = (path: string): Place => ({ path, id: idOf(statNow(path)) });
  return {
    /** True if the place is closed. Takes a real path. */
    isClosed: (path: string | Uint8Array): boolean => judge(ancestorsOf(latin1(path)).map(look), rules),
    /** The state of one folder without the folders above it. Its path may contain links. */
    stateOf: (folder: string | Uint8Array): FolderState => stateOf(look(latin1(folder)), rules),
  };
}

/** The nearest folder that is closed or open decides. */
function judge(chain: readonly Place[], rules: PlaceRules): boolean {
  for (const place of chain) {
    const state = stateOf(place, rules);
    if (state !== undefined) return state === "closed";
  }
  return false;
}

function stateOf(place: Place, { closed, open }: PlaceRules): FolderState {
  if (isAmong(place, closed)) return "closed";
  return isAmong(place, open) ? "open" : undefined;
}

function isAmong({ path, id }: Place, { paths, ids }: PlaceSet): boolean {
  return paths.has(path) || (id !== undefined && ids.has(id));
}

async function rulesOf(places: ClosedPlaces | undefined): Promise<PlaceRules> {
  if (places === undefined) return makeRules([], undefined);
  const paths = [...places.folders, ...places.files];
  const [opened, ...closed] = await Promise.all([
    // If the open folder cannot be read, no file below it counts as found.
    lstat(places.open, { bigint: true }).catch(() => undefined),
    ...paths.map(async (path) => placeOf(path, await statOf(latin1(path)))),
  ]);
  return makeRules(closed, openPlace(places.open, opened));
}

function rulesNow(places: ClosedPlaces | undefined): PlaceRules {
  if (places === undefined) return makeRules([], undefined);
  const { folders, files, open } = withRealPaths(places);
  const closed = [...folders, ...files].map((path) => placeOf(path, statNow(latin1(path))));
  const opened = orNothing(() => lstatSync(open, { bigint: true }));
  return makeRules(closed, openPlace(open, opened));
}

function placeOf(path: string, found: BigIntStats | undefined): Place {
  return { path: latin1(path), id: idOf(found) };
}

/** The open place; undefined if the path is not a folder. */
function openPlace(open: string, found: BigIntStats | undefined): Place | undefined {
  return found?.isDirectory() ? placeOf(open, found) : undefined;
}

function makeRules(closed: readonly Place[], open: Place | undefined): PlaceRules {
  const kernel = kernelFolders.map((path) => placeOf(path, undefined));
  return { closed: placesOf([...closed, ...kernel]), open: placesOf(open === undefined ? [] : [open]) };
}

function placesOf(places: readonly Place[]): PlaceSet {
  return {
    paths: new Set(places.map(({ path }) => path)),
    ids: new Set(places.flatMap(({ id }) => id ?? [])),
  };
}

function idOf(found: BigIntStats | undefined): string | undefined {
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function statOf(path: string): Promise<BigIntStats | undefined> {
  // An unreadable folder is compared by its path alone.
  return stat(bytes(path), { bigint: true }).catch(() => undefined);
}

function statNow(path: string): BigIntStats | undefined {
  return orNothing(() => statSync(bytes(path), { bigint: true }));
}

function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    // The same as in `statOf`.
    return undefined;
  }
}

/** The path itself, then each folder above it. */
function ancestorsOf(path: string): readonly string[] {
  const all = [path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    all.push(path.slice(0, at));
  return all;
}

/** The path with each byte as one character, because a name may not be UTF-8. */
function latin1(path: string | Uint8Array): string {
  return Buffer.from(path).toString("latin1");
}

function bytes(path: string): Buffer {
  return Buffer.from(path, "latin1");
}
