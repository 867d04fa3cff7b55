/**
 * The scan of the media folders: `<root>/<system folder>/...`, and the folders of single systems. The table of systems gives
 * the system of a folder and its extensions. Hidden entries, trees with `.tapdeckignore` and folders of the service are left
 * out. Links are followed inside the media folders only, and into each folder at most once. Files that playlists list are
 * left out, and so are all discs of a game but the first. An archive is one file.
 */
import { statSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import { folderDepthMax, indexedFilesMax } from "../../core/limits.ts";
import { extensionOf, type MediaFolders } from "../../core/media.ts";
import type { StoredBase } from "../../store/media-index-write.ts";
import { type ClosedIndex, closedFor } from "../../system/closed-places.ts";
import { laterDiscs } from "../discs.ts";
import { byReadable, exactText, type FileName, fsPath, joinNames, readable } from "../file-names.ts";
import { isAudio, type KnownSystem, systemByFolder, systemById, systemOfFile } from "../known-systems.ts";
import { isPlaylistOrSheet, type ListedParts, noteParts } from "../playlists.ts";
import {
  assertStillThere,
  type Entries,
  isAway,
  isInside,
  isMountIn,
  openRoots,
  type Root,
  type Roots,
  readFolder,
  realNameOf,
  realPathOf,
} from "./scan-folders.ts";
import { type Known, noSystem, type ScanResult } from "./scan-result.ts";

interface ScanOptions {
  readonly folders: MediaFolders;
  /** Ids of the systems; empty means all. */
  readonly systems: ReadonlySet<string>;
  /** The old index, which is used for folders that are away. */
  readonly known: Known;
  /** Called before each system. */
  readonly onSystem: (step: ScanStep) => void;
  /** Called after each folder. */
  readonly onFolder: (files: number) => void;
  /** Called for a folder or list that cannot be read; the scan continues without it. */
  readonly onComplaint: (path: string, why: string) => void;
}

export interface ScanStep {
  /** The number of the step, from 1. */
  readonly step: number;
  readonly steps: number;
  readonly name: string;
}

interface Walk extends ScanOptions {
  readonly found: ScanResult;
  readonly roots: Roots;
  /** Real paths of the present media folders: links may lead into these. */
  readonly allowed: readonly string[];
  readonly service: ClosedIndex;
}

/** Adds the files of the requested systems to `found`; if `asked` is empty, those of all systems. */
export function scan(options: ScanOptions, found: ScanResult): void {
  const { folders, known, onComplaint } = options;
  const roots = openRoots(folders, known, onComplaint);
  const allowed = [...roots.shared, ...roots.own].flatMap(({ real }) => real ?? []);
  const walk: Walk = { ...options, found, roots, allowed, service: closedFor(folders.closed) };
  const places = systemFolders(walk);
  for (const [index, { host, bases }] of places.entries()) {
    options.onSystem({ step: index + 1, steps: places.length, name: host.name });
    for (const base of bases) {
      if (base.isAway) known.keep(base, found, options.systems);
      else walkSystem(walk, host, base);
    }
  }
  assertStillThere(roots);
}

interface Base extends StoredBase {
  readonly isAway: boolean;
}

/**
 * The folders of the asked systems, and the folders of other systems that also hold their files; by system, in order of the
 * roots.
 */
function systemFolders(walk: Walk) {
  const places = new Map<string, { readonly host: KnownSystem; readonly bases: Base[] }>();
  const placeOf = (host: KnownSystem) => {
    const place = places.get(host.id) ?? { host, bases: [] };
    places.set(host.id, place);
    return place;
  };
  for (const root of walk.roots.shared) {
    for (const base of basesIn(walk, root).sort((a, b) => byReadable(a.path, b.path))) {
      const host = systemByFolder(readable(base.path).split("/").at(-1) ?? "");
      if (host !== undefined) placeOf(host).bases.push(base);
    }
  }
  for (const { host, root, real } of walk.roots.own) {
    const { bases } = placeOf(host);
    if (real === undefined)
      bases.push(...walk.known.basesIn(root).map((base) => ({ ...base, isAway: true })));
    // A folder inside another one of the walk would be found twice.
    else if (!bases.some(({ path }) => isInside(real, realPathOf(path) ?? exactText(path))))
      bases.push({ path: real, root, isMount: false, isAway: false });
  }
  const isAsked = (host: string) =>
    walk.systems.size === 0 ||
    [...walk.systems].some((id) => id === host || systemById(id)?.livesWith?.includes(host));
  return [...places.values()]
    .filter(({ host }) => isAsked(host.id))
    .sort((a, b) => (a.host.id < b.host.id ? -1 : 1));
}

/**
 * The folders of systems in a media folder. If the media folder or a drive below it is away, the files of the old index
 * are added.
 */
function basesIn(walk: Walk, { root, real }: Root): Base[] {
  const before = walk.known.basesIn(root);
  const away = before.filter((base) => real === undefined || isAway(base, real));
  const kept = away.map((base) => ({ ...base, isAway: true }));
  if (real === undefined) return kept;
  const { folders, links } = entriesOf(walk, real);
  const linked = links.filter((name) => linkedTo(walk, real, name).kind === "folder");
  const there = [...folders, ...linked]
    .filter((name) => systemByFolder(readable(name)) !== undefined)
    .map((name) => joinNames(real, name))
    .filter((path) => !away.some((base) => exactText(base.path) === exactText(path)))
    .map((path) => ({ path, root, isMount: isMountIn(path, real), isAway: false }));
  return [...kept, ...there];
}

/** One folder of one system, and all folders below it. */
interface Tree {
  readonly walk: Walk;
  readonly base: FileName;
  /** The place of the folder in the result. */
  readonly place: number;
  /** The system of an extension in this tree; undefined if files with it are left out. */
  readonly systemOf: (extension: string) => number | undefined;
  readonly parts: ListedParts;
  /** True if games of the system may have several discs, of which the first one represents all. */
  readonly hasDiscs: boolean;
  /** The real paths of folders that a link led to. */
  readonly linked: Set<string>;
}

function walkSystem(walk: Walk, host: KnownSystem, { path: base, root, isMount }: Base): void {
  const tree: Tree = {
    walk,
    base,
    place: walk.found.base({ path: base, root, isMount }),
    systemOf: extensionTable(walk, host),
    parts: new Map(),
    hasDiscs: host.extensions.includes(".m3u") && host.category !== "Media",
    linked: new Set(),
  };
  const first = walk.found.names.length;
  const real = realNameOf(base);
  const isClosed = real !== undefined && walk.service.isClosed(real);
  if (isClosed) walk.onComplaint(readable(base), "it is a folder of Tapdeck itself or of the kernel");
  if (real !== undefined) walkFolder(tree, "", { chain: [exactText(real)], isClosed }, 0);
  if (tree.parts.size > 0) hideParts(tree, first);
}

/** The way on which the walk came to a folder. */
interface Way {
  /** The real paths of the tree's top and of each link followed on the way here. */
  readonly chain: readonly string[];
  /** True for a folder of the service: only the media folder in it counts. */
  readonly isClosed: boolean;
}

function walkFolder(tree: Tree, path: FileName, { chain, isClosed }: Way, depth: number): void {
  const { walk, base } = tree;
  const full = joinNames(base, path);
  if (depth > folderDepthMax) walk.onComplaint(readable(full), "it lies too deep");
  const entries = depth > folderDepthMax ? unreadable : entriesOf(walk, full);
  if (entries.ignored) return;
  const links = isClosed ? [] : entries.links.toSorted(byReadable).map((name) => linkedTo(walk, full, name));
  const linkedFiles = links.filter(({ kind }) => kind === "file").map(({ name }) => name);
  if (!isClosed)
    keepFiles(tree, path, linkedFiles.length === 0 ? entries.files : [...entries.files, ...linkedFiles]);
  walk.onFolder(walk.found.files);
  for (const name of entries.folders) {
    const state = walk.service.stateOf(joinNames(full, name));
    if (isClosed && state !== "open") continue;
    walkFolder(tree, joinNames(path, name), { chain, isClosed: state === "closed" }, depth + 1);
  }
  for (const { name, kind, real } of links) {
    if (kind !== "folder" || tree.linked.has(real) || isAbove(real, chain, full)) continue;
    tree.linked.add(real);
    walkFolder(tree, joinNames(path, name), { chain: [...chain, real], isClosed: false }, depth + 1);
  }
}

/** Adds the files of a folder, and notes the entries of the lists among them. */
function keepFiles(tree: Tree, path: FileName, names: readonly FileName[]): void {
  const { walk, base, place, systemOf } = tree;
  const { found } = walk;
  const texts = new Map<number, string>();
  let folder: number | undefined;
  for (const name of names) {
    const extension = extensionOf(readable(name));
    const system = systemOf(extension);
    if (system === undefined) continue;
    folder ??= found.folder(base, path);
    found.file(name, folder, system);
    if (isAudio(extension)) found.songs += 1;
    texts.set(system, `${texts.get(system) ?? ""}\0${exactText(name)}`);
    if (isPlaylistOrSheet(extension)) noteList(tree, path, name, extension);
  }
  if (tree.hasDiscs) noteLaterDiscs(tree, path, names);
  if (found.names.length > indexedFilesMax) throw new Error(`there are more than ${indexedFilesMax} files`);
  for (const [system, text] of texts) found.mark(system, place, `${exactText(path)}${text}`);
}

/** Hides the files that a list names. Only files from `first` on are hidden. */
function hideParts({ walk: { found }, place, parts }: Tree, first: number): void {
  const seen = new Set<number>();
  const byFolder = new Map<number, Set<string> | undefined>();
  for (let file = first; file < found.names.length; file++) {
    const folder = found.folderOf.at(file);
    if (!byFolder.has(folder))
      byFolder.set(folder, parts.get(readable(found.folders[folder]?.path ?? "").toLowerCase()));
    seen.add(found.systemOf.at(file));
    if (byFolder.get(folder)?.has(found.names.text(file).toLowerCase())) found.hide(file);
  }
  const text = [...parts].flatMap(([folder, names]) => [folder, ...names]).join("\0");
  for (const system of seen) if (system !== noSystem) found.mark(system, place, text);
}

function noteLaterDiscs({ parts }: Tree, path: FileName, names: readonly FileName[]): void {
  const later = laterDiscs(names.map(readable));
  if (later.length === 0) return;
  const folder = readable(path).toLowerCase();
  const hidden = parts.get(folder) ?? new Set();
  for (const name of later) hidden.add(name.toLowerCase());
  parts.set(folder, hidden);
}

function noteList({ walk, base, parts }: Tree, path: FileName, name: FileName, extension: string): void {
  const full = joinNames(joinNames(base, path), name);
  try {
    noteParts(parts, full, readable(path), extension);
  } catch (error) {
    walk.onComplaint(readable(full), messageOf(error));
  }
}

function extensionTable(walk: Walk, host: KnownSystem): Tree["systemOf"] {
  const known = new Map<string, number | undefined>();
  return (extension) => {
    if (known.has(extension)) return known.get(extension);
    const system = systemOfFile(host.id, extension);
    const asked = system !== undefined && (walk.systems.size === 0 || walk.systems.has(system.id));
    const place = asked && system.extensions.includes(extension) ? walk.found.system(system.id) : undefined;
    known.set(extension, place);
    return place;
  };
}

function entriesOf(walk: Walk, path: FileName): Entries {
  try {
    return readFolder(path);
  } catch (error) {
    walk.onComplaint(readable(path), messageOf(error));
    return unreadable;
  }
}

const unreadable: Entries = { files: [], folders: [], links: [], ignored: true };

interface Linked {
  readonly name: FileName;
  readonly kind: "file" | "folder" | "nothing";
  readonly real: string;
}

/** The target of a link; nothing if it is outside the media folders, in a folder of the service, or absent. */
function linkedTo(walk: Walk, folder: FileName, name: FileName): Linked {
  const link = joinNames(folder, name);
  const path = realNameOf(link);
  const real = path === undefined ? "" : exactText(path);
  const isAllowed = walk.allowed.some((one) => isInside(real, one));
  if (path === undefined || !isAllowed || walk.service.isClosed(path)) return { name, kind: "nothing", real };
  const stat = statSync(fsPath(link), { throwIfNoEntry: false });
  return { name, kind: stat?.isFile() ? "file" : stat?.isDirectory() ? "folder" : "nothing", real };
}

/** True if the real folder contains its link, which would be a loop. */
function isAbove(real: string, chain: readonly string[], linkFolder: FileName): boolean {
  const here = realPathOf(linkFolder) ?? exactText(linkFolder);
  return isInside(here, real) || chain.some((folder) => isInside(folder, real));
}
