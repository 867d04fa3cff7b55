/**
 * From what a card says to a file: an absolute path, or `<System>/<relative path>` below a media folder. It never
 * leaves the media folders, by `..` or by link.
 */
import { access, readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { ServiceError } from "../core/errors.ts";
import type { MediaFolders, System } from "../core/media.ts";
import { extensionOf } from "../core/media.ts";
import { noDescriptors } from "../core/operating-system.ts";
import { filterInSlices } from "../core/slices.ts";
import { type FileName, nameBytes, readable } from "../media/file-names.ts";
import { kindOf, systemByFolder, systemByName, systemFault, systemOfFile } from "../media/known-systems.ts";
import { closedNow } from "../system/closed-places.ts";
import { mayBeOdd, resolvedByBytes } from "./non-utf8-paths.ts";
import { refuseStickAway } from "./ports/away-stick.ts";

export interface MediaFile {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly system: System;
  /** Where a card names the system: the one that folder and extension tell. */
  readonly toldSystem?: System;
  /** The path as the disk has it, where that is not UTF-8. */
  readonly bytes?: Uint8Array;
  /** To be called once nobody plays it any more. */
  readonly release?: () => void;
}

/** A folder that files may be launched from. */
interface Base {
  /** Absolute, links resolved. */
  readonly path: string;
  /** Of a folder of one system; undefined for one that holds a folder a system. */
  readonly system: string | undefined;
}

/**
 * Finds the file below one of the media folders, or throws `ServiceError("failed")` with a sentence. `knownSystems` are the
 * ids that players were set up for. `systemId` is one of them, or any name of a system of the table.
 */
export async function findMediaFile(
  wanted: string,
  { sticks = [], ...stated }: MediaFolders,
  knownSystems: readonly string[],
  systemId?: string,
): Promise<MediaFile> {
  if (wanted === "" || wanted.includes("\0"))
    throw new ServiceError("failed", "the card names no file", { isPublic: true });
  refuseStickAway(wanted, stated.removable, sticks);
  const folders = { ...stated, roots: [...stated.roots, ...sticks] };
  const closed = closedNow(folders.closed);
  const bases = await basesOf(folders);
  const names = createNames();
  const found = isAbsolute(wanted)
    ? await findAbsolute(wanted, folders)
    : await findBelow(wanted, bases, names);
  if (found === undefined) throw await missing(wanted, folders, names);
  const base = bases
    .filter((candidate) => isBelow(latin1(found), latin1(candidate.path)))
    .sort((a, b) => b.path.length - a.path.length)[0];
  // As for a file that is not there: of other places it is not told whether there is such a file.
  if (base === undefined) throw notBelow(wanted);
  if (await closed.isClosed(found))
    throw new ServiceError(
      "failed",
      "this file lies in a folder of Tapdeck itself or of the kernel, from which nothing is played",
    );
  const path = readable(found);
  const told = systemOf(path, base, knownSystems);
  const named =
    systemId === undefined || systemId === told.id ? undefined : namedByCard(systemId, folders, knownSystems);
  return {
    path,
    ...(named === undefined ? { system: told } : { system: named, toldSystem: told }),
    ...(typeof found === "string" ? {} : { bytes: found }),
  };
}

/** The names in a folder; none where it cannot be read: whatever keeps it from that, nothing is found there. */
type Names = (folder: string) => Promise<readonly string[]>;

/** Lists each folder once, however often one search comes by: a list of 100,000 names is 100 ms of work. */
export function createNames(list: Names = readdir): Names {
  const known = new Map<string, Promise<readonly string[]>>();
  return (folder) => {
    const names = known.get(folder) ?? list(folder).catch(() => []);
    known.set(folder, names);
    return names;
  };
}

/** Paths are compared as bytes: a name that is not UTF-8 may read as another one. */
function latin1(path: FileName): string {
  return Buffer.from(nameBytes(path)).toString("latin1");
}

async function findAbsolute(wanted: string, { roots, own }: MediaFolders): Promise<FileName | undefined> {
  const path = await resolved(wanted);
  if (path !== undefined || !mayBeOdd(wanted)) return path;
  for (const folder of [...roots, ...own.map((one) => one.folder)]) {
    if (!isBelow(wanted, folder)) continue;
    const odd = await resolvedByBytes(folder, relative(folder, wanted).split(sep));
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function notBelow(wanted: string): ServiceError {
  const sentence = `${wanted} is not below a media folder: add its folder to systems.root_folders`;
  return new ServiceError("failed", sentence);
}

async function missing(wanted: string, { roots, own }: MediaFolders, names: Names): Promise<ServiceError> {
  if (/^[a-z][\w+.-]*:\/\//i.test(wanted))
    return new ServiceError("failed", `${wanted} is an address and no file, and Tapdeck opens none`);
  const folders = [...roots, ...own.map(({ folder }) => folder)];
  // Of other places it is not told whether there is such a file.
  if (isAbsolute(wanted) && !folders.some((folder) => isBelow(wanted, folder))) return notBelow(wanted);
  const where = isAbsolute(wanted) ? "" : " below the media folders";
  const asked = folders.filter((folder) => !isAbsolute(wanted) || isBelow(wanted, folder));
  const systems = roots.map((root) => join(root, wanted.split("/")[0] ?? ""));
  const there = await Promise.all(systems.map(isThere));
  const [away] = await emptyOnes([...asked, ...systems.filter((_, at) => there[at])], names);
  const why = away === undefined ? "" : `: there is nothing at ${away}, its drive may not be plugged in`;
  return new ServiceError("failed", `there is no file ${wanted}${where}${why}`);
}

/** Those that cannot be listed, and the empty mount points that a drive leaves behind. */
async function emptyOnes(folders: readonly string[], names: Names): Promise<readonly string[]> {
  const entries = await Promise.all(folders.map(names));
  return folders.filter((_, at) => entries[at]?.length === 0);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // Whatever keeps it from being looked at, it is none to speak of.
    () => false,
  );
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The system that a card names, in any of its spellings, with the id that players know it by. */
export function findSystem(name: string, knownSystems: readonly string[]): System {
  return namedSystem(name, systemByName(name), knownSystems);
}

/** Throws `ServiceError("failed")` for a name that neither the table of systems nor the config has. */
function namedByCard(name: string, { own }: MediaFolders, knownSystems: readonly string[]): System {
  const fault = systemFault(name, [...knownSystems, ...own.map(({ system }) => system)]);
  if (fault !== undefined) throw new ServiceError("failed", fault);
  return findSystem(name, knownSystems);
}

/** The first folder below the root names the system; what lies in no known one is told by its extension. */
function systemOf(path: string, base: Base, knownSystems: readonly string[]): System {
  const extension = extensionOf(path);
  const [folder] =
    base.system === undefined ? relative(base.path, path).split(sep).slice(0, -1) : [base.system];
  if (folder === undefined) return kindOf(extension) ?? unknownSystem;
  const host = systemByFolder(folder);
  const own = systemOfFile(folder, extension) ?? host;
  // A player for the very system of the file comes before one for the system that the folder is named after.
  const nearest = namedSystem(own?.id ?? folder, own, knownSystems);
  const systems = [nearest, namedSystem(folder, host, knownSystems)];
  return systems.find(({ id }) => knownSystems.includes(id)) ?? kindOf(extension) ?? nearest;
}

const unknownSystem: System = { id: "Unknown", name: "Unknown", category: "Unknown" };

/** With the id as players know it: they, folders and cards may spell it in other ways, or use another of its names. */
function namedSystem(name: string, system: System | undefined, knownSystems: readonly string[]): System {
  const id =
    knownSystems.find((known) => known.toLowerCase() === name.toLowerCase()) ??
    knownSystems.find((known) => system !== undefined && systemByName(known)?.id === system.id) ??
    system?.id ??
    name;
  return { id, name: system?.name ?? id, category: system?.category ?? "Unknown" };
}

async function basesOf({ roots, own }: MediaFolders): Promise<readonly Base[]> {
  const named: readonly Base[] = [
    ...roots.map((path) => ({ path, system: undefined })),
    ...own.map(({ folder, system }) => ({ path: folder, system: systemByName(system)?.id ?? system })),
  ];
  const real = await Promise.all(named.map(({ path }) => resolved(path)));
  return named.flatMap(({ system }, at) => {
    const path = real[at];
    return path === undefined ? [] : [{ path, system }];
  });
}

async function findBelow(
  wanted: string,
  bases: readonly Base[],
  names: Names,
): Promise<FileName | undefined> {
  const [folder = "", ...rest] = wanted.split("/");
  // The very name, in any media folder, comes before one that is spelt otherwise.
  const loosely: Resolve = (base, segments) => resolvedLoosely(base, segments, names);
  const ways = [resolvedBelow, loosely, ...(mayBeOdd(wanted) ? [resolvedByBytes] : [])];
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

const resolvedBelow: Resolve = (base, segments) => resolved(join(base, ...segments));

/**
 * Names that differ in capitals only are one on the FAT and exFAT disks that cards were written for, and a Mac writes accents
 * apart from their letters (NFD). Of several such names the first in the order of their characters is taken.
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

function unified(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** Cards are written on other machines: the system's folder may be called otherwise here, or be that of another system. */
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

/** True where files of the system that a card names may lie in a folder of this name. */
function isFolderOf(folder: string, system: string): boolean {
  const host = systemByFolder(folder) ?? systemByName(folder);
  const wanted = systemByName(system);
  if (host === undefined || wanted === undefined) return folder.toLowerCase() === system.toLowerCase();
  return host.id === wanted.id || wanted.livesWith?.includes(host.id) === true;
}

/** Undefined where there is no such file that this user may read. */
async function resolved(path: string): Promise<string | undefined> {
  return realpath(path).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EMFILE" && code !== "ENFILE") return undefined;
    throw new ServiceError("failed", noDescriptors, { cause: error });
  });
}
