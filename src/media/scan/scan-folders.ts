/**
 * The folders of a scan. A media folder is away if it cannot be listed, or if it is empty but was not before. A mount
 * point without its drive is such a folder. A system's folder is away if it is empty, and was a mount point but is none
 * any more. An empty folder that never was a mount point is a system whose files were deleted.
 */
import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import type { MediaFolders } from "../../core/media.ts";
import type { StoredBase } from "../../store/media-index-write.ts";
import { exactText, type FileName, fileName, fsPath, joinNames } from "../file-names.ts";
import { systemByName } from "../known-systems.ts";
import type { Known } from "./scan-result.ts";

/** A media folder, or the folder of one system. */
export interface Root {
  /** The path as the settings have it. */
  readonly root: string;
  /** The absolute path with its links resolved; undefined if the folder is away. */
  readonly real: string | undefined;
  readonly wasEmpty: boolean;
}

export type Roots = ReturnType<typeof openRoots>;

type Complain = (path: string, why: string) => void;

export function openRoots({ roots, own }: MediaFolders, known: Known, complain: Complain) {
  const open = (root: string) => openRoot(root, known.basesIn(root).length > 0, complain);
  return {
    shared: roots.map(open),
    own: own.flatMap(({ system, folder }) => {
      const host = systemByName(system);
      if (host === undefined) complain(folder, `there is no system ${system}`);
      return host === undefined ? [] : [{ ...open(folder), host }];
    }),
  };
}

/** Throws if a folder went away since it was opened, because its scan is incomplete. */
export function assertStillThere({ shared, own }: Roots): void {
  for (const { root, real, wasEmpty } of [...shared, ...own])
    if (real !== undefined && !wasEmpty && isGone(real)) throw new Error(`${root} went away meanwhile`);
}

/** True for an empty system's folder that was a mount point and is none any more. */
export function isAway({ path, isMount }: StoredBase, real: string): boolean {
  return isMount && !isMountIn(path, real) && isGone(path);
}

/** True for a folder on another file system than its media folder. */
export function isMountIn(base: FileName, real: string): boolean {
  const [own, other] = [base, real].map((path) => statSync(fsPath(path), { throwIfNoEntry: false })?.dev);
  return own !== undefined && own !== other;
}

function openRoot(root: string, isKnown: boolean, complain: Complain): Root {
  const away: Root = { root, real: undefined, wasEmpty: true };
  const kept = isKnown ? ": its files stay in the index" : "";
  try {
    const isEmpty = readdirSync(root).length === 0;
    if (!isEmpty || !isKnown) return { root, real: realpathSync(root), wasEmpty: isEmpty };
    complain(root, `it is empty, as without its drive${kept}`);
  } catch (error) {
    complain(root, `${messageOf(error)}${kept}`);
  }
  return away;
}

function isGone(path: FileName): boolean {
  try {
    return readdirSync(fsPath(path)).length === 0;
  } catch {
    // The folder does not exist, or its drive does not answer.
    return true;
  }
}

/** A file of this name in a folder keeps the folder and all below it out of the index. */
const ignoreMark = ".tapdeckignore";

/** Names in a folder by kind, without hidden ones. `ignored` is true for a folder with the mark, which is left out. */
export type Entries = ReturnType<typeof readOddFolder>;

/** Reads a folder. Throws as `readdir` does. */
export function readFolder(path: FileName): Entries {
  const files: FileName[] = [];
  const folders: FileName[] = [];
  const links: FileName[] = [];
  let ignored = false;
  let odd = typeof path !== "string";
  for (const entry of readdirSync(fsPath(path), { withFileTypes: true })) {
    const { name } = entry;
    if (name.startsWith(".")) ignored ||= name === ignoreMark;
    else if (entry.isFile()) files.push(name);
    else if (entry.isDirectory()) folders.push(name);
    else if (entry.isSymbolicLink()) links.push(name);
    // Some file systems do not report the kind of an entry.
    else if (!(entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()))
      odd = true;
    // U+FFFD stands for bytes that are not UTF-8.
    odd ||= name.includes("\ufffd");
  }
  return odd ? readOddFolder(path, ignored) : { files, folders, links, ignored };
}

/** Like `readFolder`, but by bytes and with the kind of each entry. This is slower, and rarely needed. */
function readOddFolder(path: FileName, ignored: boolean) {
  const files: FileName[] = [];
  const folders: FileName[] = [];
  const links: FileName[] = [];
  for (const bytes of readdirSync(fsPath(path), { encoding: "buffer" })) {
    if (bytes[0] === 0x2e) continue;
    const name = fileName(bytes);
    const stat = lstatSync(fsPath(joinNames(path, name)), { throwIfNoEntry: false });
    if (stat?.isFile()) files.push(name);
    else if (stat?.isDirectory()) folders.push(name);
    else if (stat?.isSymbolicLink()) links.push(name);
  }
  return { files, folders, links, ignored };
}

export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

export function realPathOf(path: FileName): string | undefined {
  const real = realNameOf(path);
  return real && exactText(real);
}

export function realNameOf(path: FileName): FileName | undefined {
  try {
    return fileName(realpathSync(fsPath(path), { encoding: "buffer" }));
  } catch {
    // The link is broken or a loop, or there is no permission.
    return undefined;
  }
}
