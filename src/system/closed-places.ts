/**
 * Tells whether a file belongs to the service itself, or is one of the kernel's. Both sides are compared as real paths, and
 * by device and inode, because links may change after the start, and a bind mount shows a folder under a second path.
 */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import type { ClosedPlaces } from "../core/media.ts";

/** One file or folder: its absolute path with each byte as one character, and its device and inode where it has some. */
interface Place {
  readonly path: string;
  readonly id: string | undefined;
}

/** Real places, compared by path or by id. */
interface Walls {
  readonly closed: Places;
  readonly open: Places;
}

interface Places {
  readonly paths: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

/** What is there is no medium, and much of it answers differently each time that it is read. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/** The places, with the real path of each that a link stands for. It reads the disk: to be called once, at the start. */
export function withRealPaths({ folders, files, open }: ClosedPlaces): ClosedPlaces {
  const both = (paths: readonly string[]) => [
    ...new Set(paths.flatMap((path) => [path, orNothing(() => realpathSync(path)) ?? path])),
  ];
  return { folders: both(folders), files: both(files), open };
}

/** What is closed at this moment, to be asked about real paths, as bytes or text. */
export interface ClosedNow {
  isClosed(path: string | Uint8Array): Promise<boolean>;
}

/** It reads the disk without blocking, from now on: see `closedFor` for the synchronous form. */
export function closedNow(places: ClosedPlaces | undefined): ClosedNow {
  const looking = wallsOf(places);
  return {
    async isClosed(path) {
      const chain = await Promise.all(
        ancestorsOf(latin1(path)).map(async (one) => ({ path: one, id: idOf(await statOf(one)) })),
      );
      return judge(chain, await looking);
    },
  };
}

/** Whether a folder is closed by itself; undefined where that is up to the folder that it lies in. */
export type FolderState = "closed" | "open" | undefined;

/** The synchronous form, for the process that builds the index. It resolves the closed places once. */
export interface ClosedIndex {
  /** For a real path. */
  isClosed(path: string | Uint8Array): boolean;
  /** For one folder, without those above it; the path need not be a real one. */
  stateOf(folder: string | Uint8Array): FolderState;
}

export function closedFor(places: ClosedPlaces | undefined): ClosedIndex {
  const walls = wallsNow(places);
  const look = (path: string): Place => ({
    path,
    id: idOf(orNothing(() => statSync(bytes(path), { bigint: true }))),
  });
  return {
    isClosed: (path) => judge(ancestorsOf(latin1(path)).map(look), walls),
    stateOf: (folder) => stateOf(look(latin1(folder)), walls),
  };
}

/** The nearest folder that is closed or open decides. */
function judge(chain: readonly Place[], walls: Walls): boolean {
  for (const place of chain) {
    const state = stateOf(place, walls);
    if (state !== undefined) return state === "closed";
  }
  return false;
}

function stateOf(place: Place, { closed, open }: Walls): FolderState {
  if (isAmong(place, closed)) return "closed";
  return isAmong(place, open) ? "open" : undefined;
}

function isAmong({ path, id }: Place, { paths, ids }: Places): boolean {
  return paths.has(path) || (id !== undefined && ids.has(id));
}

async function wallsOf(places: ClosedPlaces | undefined): Promise<Walls> {
  if (places === undefined) return makeWalls([], undefined);
  const { folders, files, open } = places;
  const [closed, opened] = await Promise.all([
    Promise.all([...folders, ...files].map(async (path) => placeOf(path, await statOf(latin1(path))))),
    // Whatever keeps the folder from being looked at, nothing below it is found.
    lstat(open, { bigint: true }).catch(() => undefined),
  ]);
  return makeWalls(closed, openPlace(open, opened));
}

function wallsNow(places: ClosedPlaces | undefined): Walls {
  if (places === undefined) return makeWalls([], undefined);
  const { folders, files, open } = withRealPaths(places);
  const closed = [...folders, ...files].map((path) =>
    placeOf(
      path,
      orNothing(() => statSync(path, { bigint: true })),
    ),
  );
  const opened = orNothing(() => lstatSync(open, { bigint: true }));
  return makeWalls(closed, openPlace(open, opened));
}

function placeOf(path: string, found: Found | undefined): Place {
  return { path: latin1(path), id: idOf(found) };
}

/** Undefined for a link, and where there is nothing. */
function openPlace(open: string, found: Found | undefined): Place | undefined {
  return found?.isDirectory() ? placeOf(open, found) : undefined;
}

function makeWalls(closed: readonly Place[], open: Place | undefined): Walls {
  const kernel = kernelFolders.map((path) => placeOf(path, undefined));
  return { closed: placesOf([...closed, ...kernel]), open: placesOf(open === undefined ? [] : [open]) };
}

function placesOf(places: readonly Place[]): Places {
  return {
    paths: new Set(places.map(({ path }) => path)),
    ids: new Set(places.flatMap(({ id }) => id ?? [])),
  };
}

interface Found {
  readonly dev: bigint;
  readonly ino: bigint;
  isDirectory(): boolean;
}

function idOf(found: Found | undefined): string | undefined {
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function statOf(path: string): Promise<Found | undefined> {
  // A folder that cannot be looked at is judged by its path alone.
  return stat(bytes(path), { bigint: true }).catch(() => undefined);
}

function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    // As in `statOf`.
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

/** Each byte as one character, so that a name that is not UTF-8 stays what it is. */
function latin1(path: string | Uint8Array): string {
  const raw =
    typeof path === "string"
      ? Buffer.from(path, "utf8")
      : Buffer.from(path.buffer, path.byteOffset, path.byteLength);
  return raw.toString("latin1");
}

function bytes(path: string): Buffer {
  return Buffer.from(path, "latin1");
}
