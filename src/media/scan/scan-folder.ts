/** One folder's entries: names with their kind, links apart, hidden ones left out. */
import { lstatSync, readdirSync } from "node:fs";
import { type FileName, fileName, joinNames, pathOf } from "../names.ts";

/** A file of this name in a folder keeps the folder and all below it out of the index. */
export const ignoreMark = ".tapdeckignore";

export interface Entries {
  readonly files: readonly FileName[];
  readonly folders: readonly FileName[];
  readonly links: readonly FileName[];
  /** The folder bears the mark: what it holds does not count. */
  readonly ignored: boolean;
}

/** Reads a folder; throws as `readdir` does where that cannot be. */
export function readFolder(path: FileName): Entries {
  const files: FileName[] = [];
  const folders: FileName[] = [];
  const links: FileName[] = [];
  let ignored = false;
  let odd = typeof path !== "string";
  for (const entry of readdirSync(pathOf(path), { withFileTypes: true })) {
    const { name } = entry;
    if (name.startsWith(".")) ignored ||= name === ignoreMark;
    else if (entry.isFile()) files.push(name);
    else if (entry.isDirectory()) folders.push(name);
    else if (entry.isSymbolicLink()) links.push(name);
    // Some file systems do not say what an entry is.
    else if (!(entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()))
      odd = true;
    // A name that is not UTF-8 has lost bytes on its way here.
    odd ||= name.includes("\ufffd");
  }
  return odd ? readOddFolder(path, ignored) : { files, folders, links, ignored };
}

/** As above by bytes, asking for the kind of each: slower, and needed seldom. */
function readOddFolder(path: FileName, ignored: boolean): Entries {
  const files: FileName[] = [];
  const folders: FileName[] = [];
  const links: FileName[] = [];
  for (const bytes of readdirSync(pathOf(path), { encoding: "buffer" })) {
    if (bytes[0] === 0x2e) continue;
    const name = fileName(bytes);
    const stat = lstatSync(pathOf(joinNames(path, name)), { throwIfNoEntry: false });
    if (stat?.isFile()) files.push(name);
    else if (stat?.isDirectory()) folders.push(name);
    else if (stat?.isSymbolicLink()) links.push(name);
  }
  return { files, folders, links, ignored };
}
