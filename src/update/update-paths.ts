/**
 * What an update reads and writes, in the steps that reach a disk one by one: so that a test can cut the power between
 * any two of them. A step is on the disk only after the `sync` behind it.
 */
export interface OpenFile {
  write(bytes: Uint8Array): Promise<void>;
  /** All that was written is on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Files of the boot partition, by paths below its root. */
export interface BootFiles {
  /** The whole of a small file; undefined where there is none. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** All files below a folder; empty where there is none. */
  list(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
  /** Bytes that are still free on it. */
  freeBytes(): Promise<number>;
  /** A new, empty file in the place of what is there; makes the folders that it lacks. */
  create(path: string): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Names that changed in a folder are on the disk. */
  syncFolder(folder: string): Promise<void>;
  chunks(path: string): AsyncIterable<Uint8Array>;
}

/** The partition of a slot's root file system. */
export interface RootPartition {
  readonly bytes: number;
  /** From its first byte on. */
  open(): Promise<OpenFile>;
  /** Its first `bytes` bytes. */
  chunks(bytes: number): AsyncIterable<Uint8Array>;
}

/** Puts a small file in the place of another: whenever the power goes, one of the two is there as a whole. */
export async function replaceFile(files: BootFiles, path: string, text: string): Promise<void> {
  const fresh = path.replace(/\.[^./]*$/, ".new");
  const file = await files.create(fresh);
  await file.write(new TextEncoder().encode(text));
  await file.sync();
  await file.close();
  await files.rename(fresh, path);
  await files.syncFolder(folderOf(path));
}

/** Removes a file, for good. One that is not there is no fault. */
export async function removeFile(files: BootFiles, path: string): Promise<void> {
  if ((await files.read(path)) === undefined) return;
  await files.remove(path);
  await files.syncFolder(folderOf(path));
}

export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
