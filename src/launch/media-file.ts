/**
 * From what a card says to a file: an absolute path, or `<System>/<relative path>` below a media folder. It never
 * leaves the media folders, by `..` or by link.
 */
import { readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { ServiceError } from "../core/errors.ts";
import type { System } from "../core/media.ts";
import { extensionOf } from "../core/paths.ts";
import { kindOf } from "../media/kinds.ts";
import { systemByFolder, systemByName, systemOfFile } from "../media/systems.ts";

export interface MediaFile {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly system: System;
}

/**
 * Finds the file below one of `roots`, or throws `ServiceError("failed")` with a sentence. `knownSystems` are the ids that
 * players were set up for; `systemId`, where given, is taken as it is.
 */
export async function findMediaFile(
  wanted: string,
  roots: readonly string[],
  knownSystems: readonly string[],
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
  const root = realRoots
    .filter((candidate) => path.startsWith(candidate.endsWith(sep) ? candidate : candidate + sep))
    .sort((a, b) => b.length - a.length)[0];
  if (root === undefined) {
    throw new ServiceError(
      "failed",
      `${wanted} is not below a media folder: add its folder to systems.root_folders`,
    );
  }
  const system =
    systemId === undefined ? systemOf(path, root, knownSystems) : findSystem(systemId, knownSystems);
  return { path, system };
}

/** The system that a card names, in any of its spellings, with the id that players know it by. */
export function findSystem(name: string, knownSystems: readonly string[]): System {
  return namedSystem(name, systemByName(name), knownSystems);
}

/** The first folder below the root names the system; what lies in no known one is told by its extension. */
function systemOf(path: string, root: string, knownSystems: readonly string[]): System {
  const extension = extensionOf(path);
  const [folder] = relative(root, path).split(sep).slice(0, -1);
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

async function findBelow(wanted: string, roots: readonly string[]): Promise<string | undefined> {
  for (const root of roots) {
    const path = (await resolved(join(root, wanted))) ?? (await findInsensitively(root, wanted));
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Cards are written on other machines: the system's folder may be spelt with other capitals. */
async function findInsensitively(root: string, wanted: string): Promise<string | undefined> {
  const [folder = "", ...rest] = wanted.split("/");
  const entries = await readdir(root).catch(() => []);
  const match = entries.find((entry) => entry.toLowerCase() === folder.toLowerCase());
  return match === undefined ? undefined : resolved(join(root, match, ...rest));
}

async function resolved(path: string): Promise<string | undefined> {
  // Whatever keeps it from being resolved, there is no file to play.
  return realpath(path).catch(() => undefined);
}
