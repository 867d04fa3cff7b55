/** What a walk through the media folders found. */
import { NameColumn, NumberColumn } from "./columns.ts";
import type { FileName } from "./names.ts";

export interface FoundFolder {
  /** Absolute: the system's folder. */
  readonly base: FileName;
  /** Below it; empty for the folder itself. */
  readonly path: FileName;
}

export interface FoundSystem {
  readonly id: string;
  /** The same as long as the same files are found in the same order. */
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
  readonly #marks: (bigint | string)[] = [];
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
    return [...this.#systems].map(([id, place]) => ({ id, fingerprint: String(this.#marks[place]) }));
  }

  /** Makes the system where it is new; one of another index comes with its fingerprint. */
  system(id: string, fingerprint: bigint | string = 0n): number {
    const known = this.#systems.get(id);
    if (known !== undefined) return known;
    this.#systems.set(id, this.#marks.length);
    return this.#marks.push(fingerprint) - 1;
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

  /** Mixes what was found of a system into its fingerprint. */
  mark(system: number, text: string): void {
    const before = this.#marks[system];
    this.#marks[system] = Bun.hash.wyhash(text, typeof before === "bigint" ? before : 0n);
  }
}
