/**
 * Finds files whose names are not UTF-8. A text holds U+FFFD for such bytes, so the entries of a folder are compared after the
 * same replacement.
 */
import { readdir, realpath } from "node:fs/promises";
import { filterInSlices } from "../core/long-lists.ts";
import { type FileName, fileName, fsPath, joinNames, readable } from "../media/file-names.ts";

/** The character that replaces bytes that are not UTF-8. */
export const replacement = "\ufffd";

export function mayBeNonUtf8(wanted: string): boolean {
  return wanted.includes(replacement);
}

/**
 * The file below `base`, with its links resolved; undefined if there is none. Of several names that decode to one text,
 * the first by bytes counts. With `isEntry`, a link at the end stays.
 */
export async function resolvedByBytes(
  base: string,
  segments: readonly string[],
  isEntry = false,
): Promise<FileName | undefined> {
  let folder: FileName = base;
  let path: FileName = base;
  let name: FileName = "";
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") return undefined;
    // A folder that cannot be read counts as empty.
    const entries = await readdir(fsPath(path), { encoding: "buffer" }).catch(() => []);
    const same = await filterInSlices(entries, (entry) => readable(fileName(entry)) === segment);
    const found = same.sort(Buffer.compare)[0];
    if (found === undefined) return undefined;
    folder = path;
    path = joinNames(path, fileName(found));
    name = fileName(found);
  }
  const real = await realpath(fsPath(isEntry ? folder : path), { encoding: "buffer" }).catch(() => undefined);
  if (real === undefined) return undefined;
  return isEntry ? joinNames(fileName(real), name) : fileName(real);
}
