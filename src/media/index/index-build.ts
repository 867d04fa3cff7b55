/** From what a walk found to an index on the disk. */
import { type StoredFile, writeMediaIndex } from "../../store/media-index-write.ts";
import { readable } from "../names.ts";
import { type Found, noSystem } from "../scan/scan-result.ts";
import { buildTitles } from "../titles/title-table.ts";
import { NameColumn } from "./columns.ts";
import { buildDictionary, type Dictionary } from "./dictionary.ts";
import { addFolded } from "./folded-name.ts";

/** Sorts, builds and writes, and empties `found` meanwhile; the old index is whole until the new one has taken its place. Returns the number of files. */
export function buildIndex(path: string, found: Found): number {
  const folded = foldAll(found);
  const order = sortedFiles(found, folded);
  writeMediaIndex(path, {
    systems: found.systems,
    bases: found.bases,
    folders: found.folders,
    files: inOrder(found, order),
    titles: () => buildTitles(folded, order, (file) => found.systemOf.at(order[file] ?? 0)),
    search: () => {
      // The names are written by now, and the most memory is needed next.
      found.names.drop();
      Bun.gc(true);
      const systemOf = Uint16Array.from(order, (file) => found.systemOf.at(file));
      return pieced(buildDictionary(folded, order, systemOf, found.systems.length));
    },
  });
  return order.length;
}

function foldAll({ names }: Found): NameColumn {
  const folded = new NameColumn();
  for (let file = 0; file < names.length; file++) addFolded(folded, names, file);
  return folded;
}

/** By folded name, then by name, system and folder; of two that would be called the same, the first root's stays. */
function sortedFiles(found: Found, folded: NameColumn): Uint32Array {
  const heads = Float64Array.from({ length: folded.length }, (_, file) => folded.head(file));
  const compareNames = namesComparer(found);
  const counting: number[] = [];
  for (let file = 0; file < folded.length; file++) {
    if (found.systemOf.at(file) !== noSystem) counting.push(file);
  }
  counting.sort(
    (a, b) =>
      (heads[a] ?? 0) - (heads[b] ?? 0) ||
      folded.compare(a, b) ||
      compareNames(a, b) ||
      found.folderOf.at(a) - found.folderOf.at(b),
  );
  const isFirst = (file: number, at: number) => at === 0 || compareNames(counting[at - 1] ?? 0, file) !== 0;
  return Uint32Array.from(counting.filter(isFirst));
}

/** Zero where two files would be called the same. */
function namesComparer({ names, systemOf, folderOf, systems, folders }: Found) {
  const ids = systems.map(({ id }) => id);
  const path = (file: number) => readable(folders[folderOf.at(file)]?.path ?? "");
  return (a: number, b: number): number =>
    names.compare(a, b) ||
    byText(ids[systemOf.at(a)] ?? "", ids[systemOf.at(b)] ?? "") ||
    byText(path(a), path(b));
}

function* inOrder(found: Found, order: Uint32Array): Generator<StoredFile> {
  for (const file of order) {
    yield { system: found.systemOf.at(file), folder: found.folderOf.at(file), name: found.names.name(file) };
  }
}

function pieced({ words, starts, files, systems, shortcuts }: Dictionary) {
  const pieces = {
    words,
    starts: bytesOf(starts),
    lists: files.bytes,
    "list-starts": bytesOf(files.starts),
    systems: systems.bytes,
    "system-starts": bytesOf(systems.starts),
  };
  return { pieces, shortcuts };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function bytesOf(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
