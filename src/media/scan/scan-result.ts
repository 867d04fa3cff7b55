/** The result of a scan: files, folders and systems. For folders that are away it has the entries of the previous index. */
import type { MediaIndexFile } from "../../store/media-index-file.ts";
import type { StoredBase, StoredFolder, StoredSystem } from "../../store/media-index-write.ts";
import { exactText, type FileName } from "../file-names.ts";
import { NameColumn, NumberColumn } from "../index/columns.ts";

/** The key of a folder's marks; it differs for the same folder in another media folder or on another mount. */
function markKeyOf({ path, root, isMount }: StoredBase): string {
  return `${exactText(path)}\0${root}\0${isMount ? "mounted" : ""}`;
}

/** The system of a hidden file. */
export const noSystem = 0xffff_ffff;

/** Growing lists of files, folders and systems, which are numbered by their places. */
export class ScanResult {
  /** The name, the folder and the system of each file. */
  readonly names = new NameColumn();
  readonly folderOf = new NumberColumn();
  readonly systemOf = new NumberColumn();
  /** The number of audio files that the walk found. */
  songs = 0;
  readonly #systems = new Map<string, number>();
  /** The marks of the folders of each system, or the fingerprint of the old index. */
  readonly #marks: (Map<string, bigint | string> | string)[] = [];
  readonly #bases: StoredBase[] = [];
  readonly #folders: StoredFolder[] = [];
  #hidden = 0;

  /** The number of files that are not hidden. */
  get files(): number {
    return this.names.length - this.#hidden;
  }

  get folders(): readonly StoredFolder[] {
    return this.#folders;
  }

  get systems(): readonly StoredSystem[] {
    return [...this.#systems].map(([id, place]) => ({ id, fingerprint: this.#fingerprint(place) }));
  }

  /** The place of the system. A system that is not there is added, with its fingerprint if it comes from the old index. */
  system(id: string, fingerprint?: string): number {
    const known = this.#systems.get(id);
    if (known !== undefined) return known;
    this.#systems.set(id, this.#marks.length);
    return this.#marks.push(fingerprint ?? new Map()) - 1;
  }

  get bases(): readonly StoredBase[] {
    return this.#bases;
  }

  /** The place of the folder. A folder that is not there is added. */
  base(base: StoredBase): number {
    const key = markKeyOf(base);
    const known = this.#bases.findIndex((one) => markKeyOf(one) === key);
    return known >= 0 ? known : this.#bases.push(base) - 1;
  }

  folder(base: FileName, path: FileName): number {
    return this.#folders.push({ base, path }) - 1;
  }

  file(name: FileName, folder: number, system: number): void {
    this.names.add(name);
    this.folderOf.add(folder);
    this.systemOf.add(system);
  }

  /** Hides the file at this place. */
  hide(file: number): void {
    if (this.systemOf.at(file) !== noSystem) this.#hidden++;
    this.systemOf.set(file, noSystem);
  }

  /** Mixes a text into the mark of a system's folder. */
  mark(system: number, base: number, text: string): void {
    const marks = this.#marks[system];
    const key = this.#keyOf(base);
    if (marks === undefined || typeof marks === "string") return;
    const before = marks.get(key);
    marks.set(key, Bun.hash.wyhash(text, typeof before === "bigint" ? before : 0n));
  }

  /** Takes the mark of the old index for a folder that was not scanned. */
  keepMark(system: number, base: number, mark: string): void {
    const marks = this.#marks[system];
    if (typeof marks === "object") marks.set(this.#keyOf(base), mark);
  }

  #keyOf(base: number): string {
    const found = this.#bases[base];
    return found === undefined ? "" : markKeyOf(found);
  }

  #fingerprint(place: number): string {
    const marks = this.#marks[place] ?? "";
    return typeof marks === "string"
      ? marks
      : JSON.stringify([...marks].map(([key, mark]) => [key, String(mark)]));
  }
}

export type Known = ReturnType<typeof knownOf>;

export const nothingKnown: Known = { basesIn: () => [], keep() {} };

/** The folders of the old index, because the files of an unplugged drive stay in the index. */
export function knownOf(old: MediaIndexFile) {
  return {
    /** The folders of systems in a media folder. */
    basesIn: (root: string): readonly StoredBase[] => old.bases().filter((base) => base.root === root),
    /** Adds the old files of a system's folder: those of the asked systems, or of all if `asked` is empty. */
    keep(base: StoredBase, found: ScanResult, asked: ReadonlySet<string>): void {
      const place = found.base(base);
      const systems = old.systems.map(({ id, fingerprint }) => {
        const mark =
          asked.size === 0 || asked.has(id) ? marksIn(fingerprint).get(markKeyOf(base)) : undefined;
        if (mark === undefined) return undefined;
        const system = found.system(id);
        found.keepMark(system, place, mark);
        return system;
      });
      const folders = new Map<string, number>();
      for (const { system, path, name } of old.filesBelow(base.path)) {
        const to = systems[system];
        if (to === undefined) continue;
        const key = exactText(path);
        const folder = folders.get(key) ?? found.folder(base.path, path);
        folders.set(key, folder);
        found.file(name, folder, to);
      }
    },
  };
}

/** Adds the files of all other systems from the old index. */
export function takeOver(old: MediaIndexFile, found: ScanResult, asked: ReadonlySet<string>): void {
  const folders = old.folders();
  const systems = old.systems.map((system) =>
    asked.has(system.id) ? undefined : found.system(system.id, system.fingerprint),
  );
  const taken = new Map<number, number>();
  for (const { system, folder, name } of old.files()) {
    const place = systems[system];
    const from = folders[folder];
    if (place === undefined || from === undefined) continue;
    let to = taken.get(folder);
    if (to === undefined) {
      to = found.folder(from.base, from.path);
      taken.set(folder, to);
    }
    found.file(name, to, place);
  }
  for (const base of old.bases()) found.base(base);
}

/** The marks of a fingerprint, by folder. */
function marksIn(fingerprint: string): ReadonlyMap<string, string> {
  const marks: readonly (readonly [string, string])[] = JSON.parse(fingerprint);
  return new Map(marks);
}
