/**
 * The files of unfinished uploads on the disk (`uploads.ts`). They are made, written, checked, and found again after a
 * restart.
 */
import { constants } from "node:fs";
import { type FileHandle, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import * as v from "valibot";
import type { Clock } from "../../core/clock.ts";
import { coded, failed, ifThere, ServiceError } from "../../core/errors.ts";
import { uploadChunkBytesMax, uploadKeptMs } from "../../core/limits.ts";
import { type MediaFolders, uploadsFolder } from "../../core/media.ts";
import { parseJson } from "../../core/text.ts";
import { refuseLinks, syncFolder, type UploadPlace, uploadTarget, writeFailure } from "./upload-place.ts";
import { freeBytesOf } from "./upload-quotas.ts";
import {
  inFolder,
  isStill,
  makeFile,
  newUploadId,
  openFile,
  openTargetFolder,
  openUploadsFolder,
  shareWithGroup,
  topsIn,
} from "./upload-store.ts";

/** A file that a caller wants to send. */
export interface WantedUpload {
  readonly system: string;
  readonly path: string;
  readonly size: number;
  /** True to replace an existing file. */
  readonly replace: boolean;
  /** The id of the client that sends it; empty for a caller with the right `own`. */
  readonly sender: string;
}

export interface Upload extends WantedUpload {
  readonly id: string;
  readonly place: UploadPlace;
  /** The bytes that are in the file. */
  readonly offset: number;
}

export interface OpenUpload extends Upload {
  replace: boolean;
  sender: string;
  offset: number;
  /** The hash of the bytes so far; undefined if some were written by an earlier run. */
  hash: Bun.CryptoHasher | undefined;
  /** The number of bytes that the last sync includes, and the end of this sync. */
  syncedTo: number;
  syncing: Promise<void>;
  /** The present write. A newer write ends this one. */
  writing: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined;
  /** The running check and rename, during which no bytes are written. */
  ending: Promise<void> | undefined;
}

/** The bytes of a request. They end early when the signal aborts. */
export type Pieces = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

const syncBytes = 8 * 1024 * 1024; // A card writes this many bytes in half a second.
const tornBytesMax = 2 * (syncBytes + uploadChunkBytesMax);
const readBytes = 1024 * 1024;
const factsBytesMax = 64 * 1024; // The facts with the longest path, escaped.

const stored = v.object({
  system: v.string(),
  path: v.string(),
  size: v.number(),
  replace: v.boolean(),
  // Earlier versions stored no sender.
  sender: v.optional(v.string(), ""),
  /** The id of the machine's start. */
  boot: v.string(),
});

/** True for one file in spite of another spelling: FAT ignores capitals, and a Mac stores accents in another form. */
export function isSameFile(one: UploadPlace, other: UploadPlace): boolean {
  const key = ({ base, path }: UploadPlace) => `${base}/${path.normalize("NFC").toLowerCase()}`;
  return key(one) === key(other);
}

export async function refuseExisting(place: UploadPlace, replace: boolean): Promise<void> {
  if (!(await refuseLinks(place)) || replace) return;
  throw coded(
    "upload-there",
    new ServiceError("conflict", `${place.path} is there already`, { data: { exists: true } }),
  );
}

export async function createFiles(wanted: WantedUpload, place: UploadPlace): Promise<OpenUpload> {
  const id = newUploadId();
  const upload = opened(id, wanted, place, 0, new Bun.CryptoHasher("sha256"));
  const { size, replace, path, sender } = wanted;
  const system = place.system.id;
  const boot = await bootId();
  const facts: v.InferOutput<typeof stored> = { system, path, size, replace, sender, boot };
  await using store = await openUploadsFolder(place.top, true);
  await using _ = await makeFile(store, `${id}.part`);
  await using file = await makeFile(store, `${id}.json`);
  await file.writeFile(JSON.stringify(facts));
  return upload;
}

/** Opens the bytes so far. Rejects if another file is in their place. */
export async function openUnfinished({ place, id }: Upload): Promise<FileHandle> {
  await using store = await openUploadsFolder(place.top);
  return await openFile(store, `${id}.part`, constants.O_RDWR);
}

function opened(
  id: string,
  { path, size, replace, sender }: WantedUpload,
  place: UploadPlace,
  offset: number,
  hash: OpenUpload["hash"],
): OpenUpload {
  return {
    id,
    system: place.system.id,
    path,
    size,
    replace,
    sender,
    place,
    offset,
    hash,
    syncedTo: offset,
    syncing: Promise.resolve(),
    writing: undefined,
    ending: undefined,
  };
}

/** The id of this start of the machine, which stays the same until the next one (random(4)). */
function bootId(): Promise<string> {
  return readFile("/proc/sys/kernel/random/boot_id", "utf8").then((text) => text.trim());
}

export async function writePieces(upload: OpenUpload, pieces: Pieces, signal: AbortSignal): Promise<number> {
  const free = await freeBytesOf(upload.place.top);
  const end = Math.min(upload.size, upload.offset + uploadChunkBytesMax);
  const file = await openUnfinished(upload);
  try {
    for await (const piece of pieces(signal)) {
      signal.throwIfAborted();
      if (upload.offset + piece.length > end)
        throw new ServiceError("invalid-params", "more bytes came than the file has, or than one PUT takes");
      if (free < uploadChunkBytesMax) throw writeFailure(Object.assign(new Error(), { code: "ENOSPC" }));
      await writeAll(file, upload, piece);
    }
    signal.throwIfAborted();
  } finally {
    await beginSync(file, upload);
  }
  return upload.offset;
}

async function writeAll(file: FileHandle, upload: OpenUpload, piece: Uint8Array): Promise<void> {
  let rest = piece;
  while (rest.length > 0) {
    const { bytesWritten } = await file.write(rest, 0, rest.length, upload.offset);
    upload.hash?.update(rest.subarray(0, bytesWritten));
    upload.offset += bytesWritten;
    rest = rest.subarray(bytesWritten);
  }
}

/** Syncs every few megabytes while the next bytes are written, so `tornBytesMax` holds. Closes the file. */
async function beginSync(file: FileHandle, upload: OpenUpload): Promise<void> {
  if (upload.offset - upload.syncedTo < syncBytes) return file.close();
  await upload.syncing;
  upload.syncedTo = upload.offset;
  // The sync at the end also detects a fault of the disk.
  upload.syncing = file
    .datasync()
    .finally(() => file.close())
    .catch(() => {});
}

/** Syncs `file`, which has the bytes of the upload. Throws if bytes are missing, or the hash differs. */
export async function assertWhole(upload: OpenUpload, file: FileHandle, sha256: string): Promise<void> {
  const missing = upload.size - upload.offset;
  const offset = (at: number) => ({ data: { offset: at } });
  if (missing > 0)
    throw new ServiceError("failed", `${missing} bytes are missing: send them`, offset(upload.offset));
  const digest = upload.hash?.copy().digest("hex") ?? (await hashOf(file));
  if (digest === sha256.toLowerCase()) return await file.sync();
  await file.truncate(0);
  upload.offset = 0;
  upload.syncedTo = 0;
  upload.hash = new Bun.CryptoHasher("sha256");
  const sentence = "the file arrived damaged, or changed meanwhile: send it again from the start";
  throw coded("upload-damaged", new ServiceError("failed", sentence, offset(0)));
}

/** The first bytes of the file, at most `length`. */
export async function startOf(file: FileHandle, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, 0);
  return bytes.subarray(0, bytesRead);
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const buffer = new Uint8Array(readBytes);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Makes the bytes in `file`, which were checked, a media file. */
export async function putInPlace({ place, replace, id }: OpenUpload, file: FileHandle): Promise<void> {
  await refuseExisting(place, replace);
  await using store = await openUploadsFolder(place.top);
  await using folder = await openTargetFolder(place);
  const target = inFolder(folder, basename(uploadTarget(place)));
  await shareWithGroup(file, folder);
  await rename(inFolder(store, `${id}.part`), target);
  if (!(await isStill(target, file)))
    throw failed("another program has put its own file in the place of this one: send it again");
  await syncFolder(inFolder(folder, "."));
  await removeFiles(place.top, id);
}

/**
 * Removes the files of an upload. It also removes the folder if it is empty, because a media folder with an entry counts
 * as a present drive.
 */
export async function removeFiles(top: string, id: string): Promise<void> {
  // Files in a folder that belongs to another user are not files of the service.
  await using store = await openUploadsFolder(top).catch(() => undefined);
  if (store === undefined) return;
  for (const kind of ["part", "json"]) await rm(inFolder(store, `${id}.${kind}`), { force: true });
  await rmdir(join(top, uploadsFolder)).catch(() => {});
}

interface LoadParts {
  readonly folders: () => MediaFolders;
  readonly clock: Clock;
  readonly place: (wanted: Pick<WantedUpload, "system" | "path">) => Promise<UploadPlace>;
}

/** Finds the uploads of earlier runs, and removes those that are too old or damaged. */
export async function loadAll(all: Map<string, OpenUpload>, parts: LoadParts): Promise<void> {
  const boot = await bootId();
  for (const top of await topsIn(parts.folders())) {
    await using store = await openUploadsFolder(top).catch(() => undefined);
    if (store === undefined) continue;
    const names = await readdir(inFolder(store, ".")).catch(() => []);
    const ids = new Set(names.map((name) => name.slice(0, name.lastIndexOf("."))));
    for (const id of ids) {
      if (all.has(id)) continue;
      const upload = await loadOne(store, { top, id, boot }, parts).catch(() => undefined);
      // If a folder has replaced a file, the folder stays. Such a folder does not hinder other uploads.
      if (upload === "gone") await removeFiles(top, id).catch(() => {});
      else if (upload !== undefined) all.set(id, upload);
    }
  }
}

interface Left {
  readonly top: string;
  readonly id: string;
  /** The id of this start of the machine. */
  readonly boot: string;
}

/** Loads an upload; `gone` if it can never be finished. Rejects if its folder has changed, which may be temporary. */
async function loadOne(
  store: FileHandle,
  { top, id, boot }: Left,
  { place, clock }: LoadParts,
): Promise<OpenUpload | "gone"> {
  await using file = await leftFile(store, `${id}.part`, constants.O_RDWR);
  await using described = await leftFile(store, `${id}.json`, constants.O_RDONLY);
  if (file === undefined || described === undefined) return "gone";
  const found = await file.stat();
  const isShort = (await described.stat()).size <= factsBytesMax;
  const facts = v.safeParse(stored, parseJson(isShort ? await described.readFile("utf8") : ""));
  if (!facts.success || clock.now() - found.mtimeMs > uploadKeptMs) return "gone";
  const at = await place(facts.output);
  if (at.top !== top) throw failed("the settings name another folder now");
  const sound = facts.output.boot === boot ? found.size : Math.max(0, found.size - tornBytesMax);
  const offset = Math.min(sound, facts.output.size);
  if (offset < found.size) await file.truncate(offset);
  return opened(id, facts.output, at, offset, offset === 0 ? new Bun.CryptoHasher("sha256") : undefined);
}

/** The file; undefined if there is no such file, or something else is in its place. */
function leftFile(store: FileHandle, name: string, access: number): Promise<FileHandle | undefined> {
  return ifThere(openFile(store, name, access)).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
}
