/**
 * Finds the file that a card names: an absolute path, or `<System>/<relative path>` below a media folder. Neither `..`
 * nor a link can lead to a file outside the media folders.
 */
import { exists, lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize, relative, sep } from "node:path";
import { addressFault } from "../core/card-addresses.ts";
import { launchFailed, publicError, type ServiceError } from "../core/errors.ts";
import { filterInSlices } from "../core/long-lists.ts";
import { extensionOf, type MediaFolders, type System, uploadsFolder } from "../core/media.ts";
import { noDescriptors } from "../core/operating-system.ts";
import { type FileName, nameBytes, readable } from "../media/file-names.ts";
import { kindOf, systemByFolder, systemByName, systemFault, systemOfFile } from "../media/known-systems.ts";
import { closedNow } from "../system/closed-places.ts";
import { mayBeNonUtf8, resolvedByBytes } from "./non-utf8-paths.ts";
import { refuseStickAway } from "./ports/media-lookup.ts";

export interface MediaFile {
  /** An absolute path with its links resolved. */
  readonly path: string;
  readonly system: System;
  /** The system by folder and extension, if the card names another system. */
  readonly ownSystem?: System;
  /** The name for people, if it differs from that of the file, such as the name of a station. */
  readonly name?: string;
  /** The path in bytes, if it is not UTF-8. */
  readonly bytes?: Uint8Array;
  /** Removes the link that a player gets for a file whose name is not UTF-8. Call it once the player is gone. */
  readonly release?: () => void;
}

interface Base {
  /** An absolute path with its links resolved. */
  readonly path: string;
  /** The system of all files below the root; undefined for a root that holds a folder for each system. */
  readonly system: string | undefined;
}

/**
 * Finds the file below one of the media folders, or throws `ServiceError("failed")`. `knownSystems` are the ids that launchers
 * name. `systemId` is one of them, or any name in the table of systems.
 */
export async function findMediaFile(
  wanted: string,
  folders: MediaFolders,
  knownSystems: readonly string[],
  systemId?: string,
): Promise<MediaFile> {
  return find(wanted, folders, { knownSystems, systemId, isEntry: false });
}

/**
 * Finds the entry of this name in a folder, to delete or move it. A file whose name differs in capitals or accents is
 * another entry, and a link is an entry itself. Throws as `findMediaFile` does.
 */
export async function findMediaEntry(wanted: string, folders: MediaFolders): Promise<MediaFile> {
  return find(wanted, folders, { knownSystems: [], isEntry: true });
}

interface Sought {
  readonly knownSystems: readonly string[];
  readonly systemId?: string | undefined;
  readonly isEntry: boolean;
}

async function find(
  wanted: string,
  { sticks = [], ...stated }: MediaFolders,
  { knownSystems, systemId, isEntry }: Sought,
): Promise<MediaFile> {
  if (wanted === "" || wanted.includes("\0"))
    throw publicError("failed", "the card names no file", "script-invalid");
  refuseStickAway(wanted, stated.removable, sticks);
  const folders = { ...stated, roots: [...stated.roots, ...sticks] };
  const closed = closedNow(folders.closed);
  const names = createNames();
  const realOf = createReal();
  const isThere = createIsThere();
  const ways = isEntry ? entryWays : waysOf(names, realOf);
  // Each answer of the disk takes as long as the rest of a search, so the usual questions are asked at once.
  for (const path of isAbsolute(wanted) ? [wanted] : folders.roots.map((root) => join(root, wanted))) {
    realOf(path).catch(() => {});
    closed.readAhead(path);
    void isThere(otherSpelling(path));
  }
  const bases = await basesOf(folders, realOf);
  const spelt = isAbsolute(wanted)
    ? await findAbsolute(wanted, folders, ways)
    : await findBelow(wanted, bases, names, ways);
  if (spelt === undefined) throw await missing(wanted, folders, names);
  const base = bases
    .filter((candidate) => isBelow(latin1(spelt), latin1(candidate.path)))
    .sort((a, b) => b.path.length - a.path.length)[0];
  // The error is the same as for a missing file, so it does not reveal files outside the media folders.
  if (base === undefined) throw notBelow(wanted);
  const found = typeof spelt === "string" ? await asStored(spelt, base.path, names, isThere) : spelt;
  if (readable(found).split(sep).includes(uploadsFolder))
    throw launchFailed("uploading", "this file is being uploaded: it plays when the upload is finished");
  if (await closed.isClosed(found))
    throw launchFailed(
      "own-folder",
      "this file lies in a folder of Tapdeck itself or of the kernel, from which nothing is played",
    );
  const path = readable(found);
  const told = systemOf(path, base, knownSystems);
  const named =
    systemId === undefined || systemId === told.id ? undefined : namedByCard(systemId, folders, knownSystems);
  return {
    path,
    ...(named === undefined ? { system: told } : { system: named, ownSystem: told }),
    ...(typeof found === "string" ? {} : { bytes: found }),
  };
}

/** The names in a folder; none if it cannot be read. */
type Names = (folder: string) => Promise<readonly string[]>;

/** Lists each folder once in a search, because a list of 100,000 names takes 100 ms. */
export function createNames(list: Names = readdir): Names {
  const known = new Map<string, Promise<readonly string[]>>();
  return (folder) => {
    const names = known.get(folder) ?? list(folder).catch(() => []);
    known.set(folder, names);
    return names;
  };
}

/** The real path, as `resolved` returns it. */
type Real = (path: string) => Promise<string | undefined>;

/** Resolves each path once in a search. */
function createReal(): Real {
  const known = new Map<string, Promise<string | undefined>>();
  return (path) => {
    const real = known.get(path) ?? resolved(path);
    known.set(path, real);
    return real;
  };
}

type IsThere = (path: string) => Promise<boolean>;

/** Asks for each path once in a search. */
function createIsThere(): IsThere {
  const known = new Map<string, Promise<boolean>>();
  return (path) => {
    const answer = known.get(path) ?? lstat(path).then(Boolean, () => false);
    known.set(path, answer);
    return answer;
  };
}

/** The path with one character for each byte, because different names that are not UTF-8 may decode to the same text. */
function latin1(path: FileName): string {
  return Buffer.from(nameBytes(path)).toString("latin1");
}

async function findAbsolute(
  wanted: string,
  { roots, own }: MediaFolders,
  { exactly, byBytes }: Ways,
): Promise<FileName | undefined> {
  const path = await exactly(wanted);
  if (path !== undefined || !mayBeNonUtf8(wanted)) return path;
  for (const folder of [...roots, ...own.map((one) => one.folder)]) {
    if (!isBelow(wanted, folder)) continue;
    const odd = await byBytes(folder, relative(folder, wanted).split(sep));
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function notBelow(wanted: string): ServiceError {
  const sentence = `${wanted} is not below a media folder: add its folder to systems.root_folders`;
  return launchFailed("outside-media", sentence);
}

async function missing(wanted: string, { roots, own }: MediaFolders, names: Names): Promise<ServiceError> {
  const fault = addressFault(wanted);
  if (fault !== undefined) return launchFailed("outside-media", fault);
  const ownFolders = own.map(({ folder }) => folder);
  const folders = [...roots, ...ownFolders];
  // The error does not reveal files outside the media folders.
  if (meantPaths(wanted, roots, ownFolders).some((path) => !folders.some((folder) => isBelow(path, folder))))
    return notBelow(wanted);
  const where = isAbsolute(wanted) ? "" : " below the media folders";
  const asked = folders.filter((folder) => !isAbsolute(wanted) || isBelow(wanted, folder));
  const systems = roots.map((root) => join(root, wanted.split("/")[0] ?? ""));
  const there = await Promise.all(systems.map((path) => exists(path)));
  const mayBeAway = [...asked, ...systems.filter((_, at) => there[at])];
  const entries = await Promise.all(mayBeAway.map(names));
  // A folder that is unreadable or empty may be the mount point of an absent drive.
  const away = mayBeAway.find((_, at) => entries[at]?.length === 0);
  const why = away === undefined ? "" : `: there is nothing at ${away}, its drive may not be plugged in`;
  return launchFailed("media-not-found", `there is no file ${wanted}${where}${why}${unseenIn(wanted)}`);
}

/** The places that an absolute path, or a path with `..`, names in the folders; none for any other path. */
function meantPaths(wanted: string, roots: readonly string[], own: readonly string[]): readonly string[] {
  if (isAbsolute(wanted)) return [normalize(wanted)];
  const segments = wanted.split("/");
  if (!segments.includes("..")) return [];
  return [
    ...roots.map((root) => join(root, wanted)),
    ...own.map((folder) => join(folder, ...segments.slice(1))),
  ];
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The system for any of its names, with the id that launchers use. */
export function findSystem(name: string, knownSystems: readonly string[]): System {
  return namedSystem(name, systemByName(name), knownSystems);
}

/** Throws `ServiceError("failed")` for a name that is neither in the table of systems nor in the config. */
function namedByCard(name: string, { own }: MediaFolders, knownSystems: readonly string[]): System {
  const fault = systemFault(name, [...knownSystems, ...own.map(({ system }) => system)]);
  if (fault !== undefined) throw launchFailed("system-unknown", fault);
  return findSystem(name, knownSystems);
}

/** The first folder below the root names the system; without a known folder, the extension decides. */
function systemOf(path: string, base: Base, knownSystems: readonly string[]): System {
  const extension = extensionOf(path);
  const [folder] =
    base.system === undefined ? relative(base.path, path).split(sep).slice(0, -1) : [base.system];
  if (folder === undefined) return kindOf(extension) ?? unknownSystem;
  const host = systemByFolder(folder);
  const own = systemOfFile(folder, extension) ?? host;
  // A launcher for the file's own system comes before one for the system of the folder.
  const nearest = namedSystem(own?.id ?? folder, own, knownSystems);
  const systems = [nearest, namedSystem(folder, host, knownSystems)];
  return systems.find(({ id }) => knownSystems.includes(id)) ?? kindOf(extension) ?? nearest;
}

const unknownSystem: System = { id: "Unknown", name: "Unknown", category: "Unknown" };

/** Uses the id of the launchers, because folders and cards may use other spellings or names. */
function namedSystem(name: string, system: System | undefined, knownSystems: readonly string[]): System {
  const id =
    knownSystems.find((known) => known.toLowerCase() === name.toLowerCase()) ??
    knownSystems.find((known) => system !== undefined && systemByName(known)?.id === system.id) ??
    system?.id ??
    name;
  return { id, name: system?.name ?? id, category: system?.category ?? "Unknown" };
}

async function basesOf({ roots, own }: MediaFolders, realOf: Real): Promise<readonly Base[]> {
  const named: readonly Base[] = [
    ...roots.map((path) => ({ path, system: undefined })),
    ...own.map(({ folder, system }) => ({ path: folder, system: systemByName(system)?.id ?? system })),
  ];
  const real = await Promise.all(named.map(({ path }) => realOf(path)));
  return named.flatMap(({ system }, at) => {
    const path = real[at];
    return path === undefined ? [] : [{ path, system }];
  });
}

async function findBelow(
  wanted: string,
  bases: readonly Base[],
  names: Names,
  { exactly, loosely, byBytes }: Ways,
): Promise<FileName | undefined> {
  const [folder = "", ...rest] = wanted.split("/");
  // The exact name in any media folder comes before another spelling.
  const ways: readonly Resolve[] = [
    (base, segments) => exactly(join(base, ...segments)),
    ...(loosely === undefined ? [] : [loosely]),
    ...(mayBeNonUtf8(wanted) ? [byBytes] : []),
  ];
  for (const at of ways)
    for (const { path: base, system } of bases) {
      const path =
        system === undefined
          ? ((await at(base, [folder, ...rest])) ??
            (await findSpeltOtherwise(base, [folder, ...rest], at, names)))
          : isFolderOf(system, folder)
            ? await at(base, rest)
            : undefined;
      if (path !== undefined) return path;
    }
  return undefined;
}

type Resolve = (base: string, segments: readonly string[]) => Promise<FileName | undefined>;

/** The ways to find a name. */
interface Ways {
  /** Finds a path in this spelling. */
  readonly exactly: Real;
  /** Absent if only the exact spelling counts. */
  readonly loosely?: Resolve;
  readonly byBytes: Resolve;
}

function waysOf(names: Names, realOf: Real): Ways {
  return {
    exactly: realOf,
    loosely: (base, segments) => resolvedLoosely(base, segments, names),
    byBytes: resolvedByBytes,
  };
}

/** Only the links above the last name are resolved. */
const entryWays: Ways = {
  async exactly(path) {
    const folder = await resolved(dirname(path));
    const entry = folder && join(folder, basename(path));
    // An error means that there is no such entry, or that this user may not look.
    return entry && (await lstat(entry).catch(() => undefined)) && entry;
  },
  byBytes: (base, segments) => resolvedByBytes(base, segments, true),
};

/**
 * Finds a file whose name differs in case (FAT and exFAT ignore it), in the form of accents (a Mac stores them
 * decomposed, NFD), or in characters that cannot be seen. Of several names, the first in order counts.
 */
async function resolvedLoosely(
  base: string,
  segments: readonly string[],
  names: Names,
): Promise<string | undefined> {
  let path = base;
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") return undefined;
    const entries = await names(path);
    const name = unified(segment);
    const found = entries.includes(segment)
      ? segment
      : (await filterInSlices(entries, (entry) => unified(entry) === name)).sort()[0];
    if (found === undefined) return undefined;
    path = join(path, found);
  }
  return resolved(path);
}

/**
 * The path below `base` in the spelling of its folders. FAT, exFAT and many network shares find a file by other capitals
 * too. Its position, its history and its saves belong to the stored spelling.
 */
export async function asStored(path: string, base: string, names: Names, isThere: IsThere): Promise<string> {
  // Most file systems tell capitals apart, and need no list of their folders, which takes long.
  const other = otherSpelling(path);
  if (other === path || !(await isThere(other))) return path;
  let stored = base;
  for (const segment of relative(base, path).split(sep)) {
    const entries = await names(stored);
    const isSame = (entry: string) => entry.toLowerCase() === segment.toLowerCase();
    stored = join(stored, entries.includes(segment) ? segment : (entries.find(isSame) ?? segment));
  }
  return stored;
}

/** The path with the other capitals in its last name. */
function otherSpelling(path: string): string {
  const name = basename(path).replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return join(dirname(path), name);
}

function unified(name: string): string {
  const composed = name.normalize("NFC");
  // Most names are plain, and a folder may have 100,000 of them.
  const isPlain = /^[ -~]*$/.test(composed);
  const seen = isPlain ? composed : composed.replace(unseen, (char) => (/\p{Zs}/u.test(char) ? " " : ""));
  return seen.toLowerCase();
}

// Unusual blanks, and characters without a width, which an app leaves in a text that was copied (Unicode, 23.2 and 23.8).
const unseen = /(?! )[\p{Zs}\u00ad\u200b-\u200f\u2060\ufeff]/gu;

/** Names the first character that looks like a blank or is invisible. */
function unseenIn(text: string): string {
  const at = text.search(unseen);
  if (at < 0) return "";
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, "0");
  return `; its character ${at + 1} is not a plain blank but U+${code}: write the card again without it`;
}

/** On the machine that wrote the card, the folder of the system may have had another name, or have held several systems. */
async function findSpeltOtherwise(
  root: string,
  [folder = "", ...rest]: readonly string[],
  at: Resolve,
  names: Names,
): Promise<FileName | undefined> {
  const isSame = (entry: string) => entry.toLowerCase() === folder.toLowerCase();
  const entries = await filterInSlices(
    await names(root),
    (entry) => isSame(entry) || isFolderOf(entry, folder),
  );
  const same = entries.filter(isSame);
  const others = entries.filter((entry) => !isSame(entry));
  for (const entry of [...same, ...others]) {
    const path = await at(root, [entry, ...rest]);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Whether a folder of this name may hold files of the system. */
function isFolderOf(folder: string, system: string): boolean {
  const host = systemByFolder(folder) ?? systemByName(folder);
  const wanted = systemByName(system);
  if (host === undefined || wanted === undefined) return folder.toLowerCase() === system.toLowerCase();
  return host.id === wanted.id || wanted.livesWith?.includes(host.id) === true;
}

/** The real path; undefined if there is no such file, or this user may not read it. */
async function resolved(path: string): Promise<string | undefined> {
  return realpath(path).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EMFILE" && code !== "ENFILE") return undefined;
    throw launchFailed("busy", noDescriptors, { cause: error });
  });
}
