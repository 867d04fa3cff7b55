/** What a walk through the media folders found. */
import { NameColumn, NumberColumn } from "../index/columns.ts";
import { exactText, type FileName } from "../names.ts";

export interface FoundFolder {
  /** Absolute: the system's folder. */
  readonly base: FileName;
  /** Below it; empty for the folder itself. */
  readonly path: FileName;
}

/** A folder of one system: where it lies, and the media folder that it was found in. */
export interface FoundBase {
  /** Absolute, as `FoundFolder` has it. */
  readonly path: FileName;
  /** As the settings have it; of the folder of one system, itself. */
  readonly root: string;
  /** It is on another file system than the media folder. */
  readonly isMount: boolean;
}

/** How the marks of a folder are found among those of its systems: other for one that is found in another way. */
export function markKeyOf({ path, root, isMount }: FoundBase): string {
  return `${exactText(path)}\0${root}\0${isMount ? "mounted" : ""}`;
}

export interface FoundSystem {
  readonly id: string;
  /** The same as long as the same files are found in the same order: pairs of a folder and its mark, in JSON. */
  readonly fingerprint: string;
}

/** The system of a file that does not count after all. */
export const noSystem = 0xffff_ffff;

/** Lists of what was found that grow. Files, folders and systems are known by their places. */
export class Found {
  /** Of each file: its name, its folder and its system. */
  readonly names = new NameColumn();
  readonly folderOf = new NumberColumn();
  readonly systemOf = new NumberColumn();
  readonly #systems = new Map<string, number>();
  /** Of each system: the marks of its folders, or the fingerprint of another index. */
  readonly #marks: (Map<string, bigint | string> | string)[] = [];
  readonly #bases: FoundBase[] = [];
  readonly #folders: FoundFolder[] = [];
  #hidden = 0;

  /** Files that count. */
  get files(): number {
    return this.names.length - this.#hidden;
  }

  get folders(): readonly FoundFolder[] {
    return this.#folders;
  }

  get systems(): readonly FoundSystem[] {
    return [...this.#systems].map(([id, place]) => ({ id, fingerprint: this.#fingerprint(place) }));
  }

  /** Makes the system where it is new; one of another index comes with its fingerprint. */
  system(id: string, fingerprint?: string): number {
    const known = this.#systems.get(id);
    if (known !== undefined) return known;
    this.#systems.set(id, this.#marks.length);
    return this.#marks.push(fingerprint ?? new Map()) - 1;
  }

  get bases(): readonly FoundBase[] {
    return this.#bases;
  }

  /** Known once each. */
  base(base: FoundBase): number {
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

  /** Takes back the file at this place. */
  hide(file: number): void {
    if (this.systemOf.at(file) !== noSystem) this.#hidden++;
    this.systemOf.set(file, noSystem);
  }

  /** Mixes what was found of a system in one of its folders into its fingerprint. */
  mark(system: number, base: number, text: string): void {
    const marks = this.#marks[system];
    const key = this.#keyOf(base);
    if (marks === undefined || typeof marks === "string") return;
    const before = marks.get(key);
    marks.set(key, Bun.hash.wyhash(text, typeof before === "bigint" ? before : 0n));
  }

  /** The mark of another index for a folder that was not looked at. */
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
