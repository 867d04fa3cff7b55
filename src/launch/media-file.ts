/**
 * From what a card says to a file: an absolute path, or `<System>/<relative path>` below a media folder. It never
 * leaves the media folders, by `..` or by link.
 */
import { readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, sep } from "node:path";
import { ServiceError } from "../core/errors.ts";
import type { System } from "../core/media.ts";
import { extensionOf } from "../core/paths.ts";
import { kindOf } from "../media/kinds.ts";

export interface MediaFile {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly system: System;
}

/** Finds the file below one of `roots`, or throws `ServiceError("failed")` with a sentence. */
export async function findMediaFile(
  wanted: string,
  roots: readonly string[],
  systemId?: string,
): Promise<MediaFile> {
  if (wanted === "" || wanted.includes("\0")) throw new ServiceError("failed", "the card names no file");
  const realRoots = (await Promise.all(roots.map(resolved))).filter((root) => root !== undefined);
  const path = isAbsolute(wanted) ? await resolved(wanted) : await findBelow(wanted, realRoots);
  if (path === undefined)
    throw new ServiceError(
      "failed",
      `there is no file ${wanted}${isAbsolute(wanted) ? "" : " below the media folders"}`,
    );
  const root = realRoots.find((candidate) => path.startsWith(candidate + sep));
  if (root === undefined) {
    throw new ServiceError(
      "failed",
      `${wanted} is not below a media folder: add its folder to systems.root_folders`,
    );
  }
  return { path, system: systemOf(path, root, systemId) };
}

/** The first folder below the root names the system; what lies there in no system is told by its extension. */
function systemOf(path: string, root: string, systemId: string | undefined): System {
  if (systemId !== undefined) return namedSystem(systemId);
  const kind = kindOf(extensionOf(path));
  const [folder, ...rest] = path.slice(root.length + 1).split(sep);
  if (kind !== undefined) return kind;
  return namedSystem(folder === undefined || rest.length === 0 ? "Unknown" : folder);
}

function namedSystem(id: string): System {
  return { id, name: id, category: "Unknown" };
}

async function findBelow(relative: string, roots: readonly string[]): Promise<string | undefined> {
  for (const root of roots) {
    const path = (await resolved(join(root, relative))) ?? (await findInsensitively(root, relative));
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Cards are written on other machines: the system's folder may be spelt with other capitals. */
async function findInsensitively(root: string, relative: string): Promise<string | undefined> {
  const [folder = "", ...rest] = relative.split("/");
  const entries = await readdir(root).catch(() => []);
  const match = entries.find((entry) => entry.toLowerCase() === folder.toLowerCase());
  return match === undefined ? undefined : resolved(join(root, match, ...rest));
}

async function resolved(path: string): Promise<string | undefined> {
  // Whatever keeps it from being resolved, there is no file to play.
  return realpath(path).catch(() => undefined);
}
