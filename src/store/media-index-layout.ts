/**
 * What stands in the file of the media index (`media-index.ts`).
 *
 *   file      the files, numbered from 0 in the order of their folded names; a name that is not UTF-8 is a blob
 *   folder    absolute path of a system's folder, and the path below it
 *   base      the systems' folders: the media folder that each was found in, and whether it was a mount point
 *   system    ids, and fingerprints that tell whether a new walk found the same
 *   piece     the search structure in pieces of at most 256 KiB, each with its checksum
 *   shortcut  ready answers for one or two bytes of text
 *   title     keys of titles by system and length, in pieces of some hundred, each with its checksum: the keys, which are
 *             all of that length, then a file and a signature for each, 32 bits, low byte first
 */

/** Raised with each change of the layout or of how names are folded: an index with another one is made anew. */
export const layout = 2;

export const pieceBytesMax = 256 * 1024;

export const schema = [
  "CREATE TABLE system (id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL) STRICT",
  "CREATE TABLE base (id INTEGER PRIMARY KEY, path ANY NOT NULL, root TEXT NOT NULL, mounted INTEGER NOT NULL) STRICT",
  "CREATE TABLE folder (id INTEGER PRIMARY KEY, base ANY NOT NULL, path ANY NOT NULL) STRICT",
  "CREATE TABLE file (id INTEGER PRIMARY KEY, system INTEGER NOT NULL, folder INTEGER NOT NULL, name ANY NOT NULL) STRICT",
  `CREATE TABLE piece (name TEXT NOT NULL, number INTEGER NOT NULL, sum INTEGER NOT NULL, bytes BLOB NOT NULL,
                       PRIMARY KEY (name, number)) STRICT`,
  `CREATE TABLE shortcut (key INTEGER PRIMARY KEY, sum INTEGER NOT NULL, anywhere BLOB NOT NULL, start BLOB NOT NULL) STRICT`,
  `CREATE TABLE title (system INTEGER NOT NULL, plain INTEGER NOT NULL, length INTEGER NOT NULL, number INTEGER NOT NULL,
                       sum INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (system, plain, length, number)) STRICT`,
];

/** A name as the disk has it: bytes where they are not UTF-8. */
export type StoredName = string | Uint8Array;

export interface StoredSystem {
  readonly id: string;
  readonly fingerprint: string;
}

export interface StoredFolder {
  readonly base: StoredName;
  readonly path: StoredName;
}

/** A system's folder. */
export interface StoredBase {
  readonly path: StoredName;
  /** The media folder that it was found in. */
  readonly root: string;
  readonly isMount: boolean;
}

export interface StoredFile {
  /** Places in the lists of systems and folders. */
  readonly system: number;
  readonly folder: number;
  readonly name: StoredName;
}

export interface StoredPlace extends StoredFolder {
  readonly system: number;
  readonly name: StoredName;
}

export interface StoredShortcut {
  readonly key: number;
  readonly anywhere: Uint8Array;
  readonly atStart: Uint8Array;
}

/** Titles of one system whose keys are of one length. */
export interface StoredTitles {
  readonly system: number;
  /** Numerals are letters in these keys. */
  readonly isPlain: boolean;
  /** Bytes of each key. */
  readonly length: number;
  readonly keys: Uint8Array;
  /** Of each key. */
  readonly files: Uint32Array;
  readonly signatures: Uint32Array;
}

export interface IndexContent {
  readonly systems: readonly StoredSystem[];
  readonly bases: readonly StoredBase[];
  readonly folders: readonly StoredFolder[];
  /** In their order. */
  readonly files: Iterable<StoredFile>;
  /** By system and length; asked for when the files are written. */
  readonly titles: () => Iterable<StoredTitles>;
  /** The search structure, asked for when the files are written: both at once would need much memory. */
  readonly search: () => {
    readonly pieces: Readonly<Record<string, Uint8Array>>;
    readonly shortcuts: Iterable<StoredShortcut>;
  };
}

/** Of a ready answer. */
export function sumOf(anywhere: Uint8Array, atStart: Uint8Array): number {
  return (Bun.hash.crc32(anywhere) ^ Bun.hash.crc32(atStart)) >>> 0;
}
