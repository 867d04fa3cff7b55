/** The files of unfinished uploads on the disk (`uploads.ts`): made, written, checked, and found again after a restart. */
import {
  type FileHandle,
  lstat,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import type { Clock } from "../core/clock.ts";
import { failed, ifThere, ServiceError } from "../core/errors.ts";
import { toHex } from "../core/hex.ts";
import { uploadChunkBytesMax, uploadKeptMs } from "../core/limits.ts";
import { type MediaFolders, uploadsFolder } from "../core/media.ts";
import { parseJson } from "../core/text.ts";
import {
  makeFolder,
  refuseLinks,
  syncFolder,
  type UploadPlace,
  uploadTarget,
  writeFailure,
} from "./upload-place.ts";
import { freeBytesOf } from "./upload-quotas.ts";

/** A file that a caller wants to send. */
export interface WantedUpload {
  readonly system: string;
  readonly path: string;
  readonly size: number;
  /** Replaces an existing file. */
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
  /** Of the bytes so far; undefined if some were written by an earlier run. */
  hash: Bun.CryptoHasher | undefined;
  /** The bytes that the last sync includes, and its end. */
  syncedTo: number;
  syncing: Promise<void>;
  /** The present write. A newer one ends it. */
  writing: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined;
  /** The present check and rename, during which no bytes are written. */
  ending: Promise<void> | undefined;
}

/** The bytes of a request. They end early when the signal aborts. */
export type Pieces = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

const syncBytes = 8 * 1024 * 1024; // A card writes as many in half a second.
const tornBytesMax = 2 * (syncBytes + uploadChunkBytesMax);
const readBytes = 1024 * 1024;

const stored = v.object({
  system: v.string(),
  path: v.string(),
  size: v.number(),
  replace: v.boolean(),
  // Earlier versions kept none.
  sender: v.optional(v.string(), ""),
  /** The id of the machine's start. */
  boot: v.string(),
});

export const storeOf = ({ top }: UploadPlace) => join(top, uploadsFolder);
const partOf = ({ place, id }: Pick<Upload, "place" | "id">) => join(storeOf(place), `${id}.part`);

/** FAT ignores capitals, and a Mac stores accents in another form. */
export function isSameFile(one: UploadPlace, other: UploadPlace): boolean {
  const key = ({ base, path }: UploadPlace) => `${base}/${path.normalize("NFC").toLowerCase()}`;
  return key(one) === key(other);
}

export async function refuseExisting(place: UploadPlace, replace: boolean): Promise<void> {
  if (!(await refuseLinks(place)) || replace) return;
  throw new ServiceError("conflict", `${place.path} is there already`, { data: { exists: true } });
}

export async function createFiles(wanted: WantedUpload, place: UploadPlace): Promise<OpenUpload> {
  const id = toHex(crypto.getRandomValues(new Uint8Array(16)));
  const upload = opened(id, wanted, place, 0, new Bun.CryptoHasher("sha256"));
  await makeFolder(storeOf(place));
  await refuseMoved(storeOf(place));
  await writeFile(partOf(upload), "", { flag: "wx" });
  const { size, replace, path, sender } = wanted;
  const [system, boot] = [place.system.id, await bootId()];
  const facts: v.InferOutput<typeof stored> = { system, path, size, replace, sender, boot };
  await writeFile(join(storeOf(place), `${id}.json`), JSON.stringify(facts));
  return upload;
}

function opened(
  id: string,
  { path, size, replace, sender }: WantedUpload,
  place: UploadPlace,
  offset: number,
  hash: OpenUpload["hash"],
): OpenUpload {
  return {
    ...{ id, system: place.system.id, path, size, replace, sender, place, offset, hash, syncedTo: offset },
    syncing: Promise.resolve(),
    writing: undefined,
    ending: undefined,
  };
}

/** The same until the machine starts again (random(4)). */
function bootId(): Promise<string> {
  return readFile("/proc/sys/kernel/random/boot_id", "utf8").then((text) => text.trim());
}

export async function writePieces(upload: OpenUpload, pieces: Pieces, signal: AbortSignal): Promise<number> {
  const free = await freeBytesOf(upload.place.top);
  const end = Math.min(upload.size, upload.offset + uploadChunkBytesMax);
  const file = await open(partOf(upload), "r+");
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

/** Syncs each few megabytes beside the next writes, so that `tornBytesMax` holds. Closes the file. */
async function beginSync(file: FileHandle, upload: OpenUpload): Promise<void> {
  if (upload.offset - upload.syncedTo < syncBytes) return file.close();
  await upload.syncing;
  upload.syncedTo = upload.offset;
  // A fault of the disk is found by the sync at the end, too.
  upload.syncing = file
    .datasync()
    .finally(() => file.close())
    .catch(() => {});
}

export async function assertWhole(upload: OpenUpload, sha256: string): Promise<void> {
  const missing = upload.size - upload.offset;
  const offset = (at: number) => ({ data: { offset: at } });
  if (missing > 0)
    throw new ServiceError("failed", `${missing} bytes are missing: send them`, offset(upload.offset));
  const file = await open(partOf(upload), "r+");
  try {
    const digest = upload.hash?.copy().digest("hex") ?? (await hashOf(file));
    if (digest === sha256.toLowerCase()) return await file.sync();
    await file.truncate(0);
  } finally {
    await file.close();
  }
  upload.offset = 0;
  upload.syncedTo = 0;
  upload.hash = new Bun.CryptoHasher("sha256");
  const sentence = "the file arrived damaged, or changed meanwhile: send it again from the start";
  throw new ServiceError("failed", sentence, offset(0));
}

/** The first bytes of the file, at most `length`. */
export async function startOf(upload: Upload, length: number): Promise<Uint8Array> {
  await using file = await open(partOf(upload), "r");
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

export async function putInPlace(upload: OpenUpload): Promise<void> {
  const { place, replace, id } = upload;
  await refuseExisting(place, replace);
  const target = uploadTarget(place);
  await makeFolder(dirname(target));
  await refuseMoved(dirname(target));
  await rename(partOf(upload), target);
  await syncFolder(dirname(target));
  await removeFiles(storeOf(place), id);
}

/** Rejects if a link in the path leads to another folder. */
async function refuseMoved(folder: string): Promise<void> {
  if ((await realpath(folder)) !== folder)
    throw failed("a folder of this path is a link now: nothing is written there");
}

/** Also removes the folder, if it is empty, because a media folder with an entry counts as a drive that is there. */
export async function removeFiles(store: string, id: string): Promise<void> {
  for (const kind of ["part", "json"]) await rm(join(store, `${id}.${kind}`), { force: true });
  await rmdir(store).catch(() => {});
}

interface LoadParts {
  readonly folders: () => MediaFolders;
  readonly clock: Clock;
  readonly place: (wanted: Pick<WantedUpload, "system" | "path">) => Promise<UploadPlace>;
}

/** Finds the uploads of earlier runs, and removes those that are too old or damaged. */
export async function loadAll(all: Map<string, OpenUpload>, parts: LoadParts): Promise<void> {
  const boot = await bootId();
  for (const store of await storesIn(parts.folders())) {
    const names = await readdir(store).catch(() => []);
    const ids = new Set(names.map((name) => name.slice(0, name.lastIndexOf("."))));
    for (const id of ids) {
      if (all.has(id)) continue;
      const upload = await loadOne(store, id, boot, parts).catch(() => undefined);
      if (upload === "gone") await removeFiles(store, id);
      else if (upload !== undefined) all.set(id, upload);
    }
  }
}

/** `gone` if it can never be finished. Rejects if its folder is not what it was, which may be temporary. */
async function loadOne(
  store: string,
  id: string,
  boot: string,
  { place, clock }: LoadParts,
): Promise<OpenUpload | "gone"> {
  const part = join(store, `${id}.part`);
  const [text, found] = [
    await ifThere(readFile(join(store, `${id}.json`), "utf8")),
    await ifThere(lstat(part)),
  ];
  const facts = v.safeParse(stored, parseJson(text ?? ""));
  if (!facts.success || !found?.isFile() || clock.now() - found.mtimeMs > uploadKeptMs) return "gone";
  const at = await place(facts.output);
  if (storeOf(at) !== store) throw failed("the settings name another folder now");
  const sound = facts.output.boot === boot ? found.size : Math.max(0, found.size - tornBytesMax);
  const offset = Math.min(sound, facts.output.size);
  if (offset < found.size) {
    const file = await open(part, "r+");
    await file.truncate(offset).finally(() => file.close());
  }
  return opened(id, facts.output, at, offset, offset === 0 ? new Bun.CryptoHasher("sha256") : undefined);
}

/** The folders of uploads in media folders. That of a system on another drive is in the system's folder. */
async function storesIn({ roots, own }: MediaFolders): Promise<readonly string[]> {
  const tops = [...roots, ...own.map(({ folder }) => folder)];
  const below = await Promise.all(
    roots.map(async (root) => {
      const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => !entry.isFile()).map(({ name }) => join(root, name));
    }),
  );
  const stores = [...tops, ...below.flat()].map((folder) =>
    realpath(join(folder, uploadsFolder)).catch(() => []),
  );
  return (await Promise.all(stores)).flat();
}
