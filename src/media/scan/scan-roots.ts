/**
 * The media folders of a walk, and which of them are away: one that cannot be listed, and one that was not empty and has no
 * entry at all now, as a mount point that stays behind. A system's folder below a media folder is away where it was a
 * mount point, and now is none and holds nothing: whoever deletes all games of a system leaves such a folder, too.
 */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import type { MediaFolders } from "../../core/media.ts";
import { type FileName, pathOf, readable } from "../names.ts";
import { type KnownSystem, systemByName } from "../systems.ts";
import type { Known } from "./previous-index.ts";
import type { FoundBase } from "./scan-result.ts";

/** A media folder, or the folder of one system. */
export interface Root {
  /** As the settings have it. */
  readonly root: string;
  /** Absolute, links resolved; undefined where it is away. */
  readonly real: string | undefined;
  readonly wasEmpty: boolean;
}

export interface OwnRoot extends Root {
  readonly host: KnownSystem;
}

export interface Roots {
  readonly shared: readonly Root[];
  readonly own: readonly OwnRoot[];
}

type Complain = (path: string, why: string) => void;

export function openRoots({ roots, own }: MediaFolders, known: Known, complain: Complain): Roots {
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

/** Throws where one went away since it was opened: what was seen of it is not what is on it. */
export function assertStillThere({ shared, own }: Roots): void {
  for (const { root, real, wasEmpty } of [...shared, ...own])
    if (real !== undefined && !wasEmpty && isGone(real)) throw new Error(`${root} went away meanwhile`);
}

/** True for a system's folder that was a mount point, and now is none. */
export function isAway({ path, isMount }: FoundBase, real: string): boolean {
  return isMount && !isMountIn(path, real) && isGone(path);
}

/** True for a folder on another file system than its media folder. */
export function isMountIn(base: FileName, real: string): boolean {
  const [own, other] = [base, real].map((path) => statSync(pathOf(path), { throwIfNoEntry: false })?.dev);
  return own !== undefined && own !== other;
}

function openRoot(root: string, isKnown: boolean, complain: Complain): Root {
  const away: Root = { root, real: undefined, wasEmpty: true };
  const kept = isKnown ? ": what was found there stays in the index" : "";
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
    return readdirSync(pathOf(path)).length === 0;
  } catch {
    // Not there, or its drive does not answer any more.
    return true;
  }
}

/** In the order in which the folders of a root are walked. */
export function byReadable(a: FileName, b: FileName): number {
  const [left, right] = [readable(a), readable(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
