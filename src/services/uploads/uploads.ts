/**
 * Uploads of media: bytes go to a hidden file beside the systems' folders, and one rename makes it a media file. An
 * unfinished upload is therefore never indexed or played, and it survives a restart of the service.
 *
 *   .tapdeck-uploads/<id>.part   the bytes so far
 *   .tapdeck-uploads/<id>.json   its system, path and size, and the start of the machine in which it was written
 *
 * After another start of the machine, such as a power cut, the end of the bytes may be torn. That end is sent again, from
 * the last sync but one on. A file whose hash differs begins again.
 */

import type { Clock } from "../../core/clock.ts";
import { coded, codeOf, failed, publicError, ServiceError } from "../../core/errors.ts";
import type { MediaFolders } from "../../core/media.ts";
import { createSerialQueue } from "../../core/serial-queue.ts";
import { programStartBytes } from "../../media/program-files.ts";
import {
  assertWhole,
  createFiles,
  isSameFile,
  loadAll,
  type OpenUpload,
  openUnfinished,
  type Pieces,
  putInPlace,
  refuseExisting,
  removeFiles,
  startOf,
  type Upload,
  type WantedUpload,
  writePieces,
} from "./upload-files.ts";
import { uploadPlace, writeFailure } from "./upload-place.ts";
import { freeBytesOf, refuseBeyondShare, refuseWithoutRoom } from "./upload-quotas.ts";

interface UploadParts {
  readonly folders: () => MediaFolders;
  /** Whether the index has files of this media folder. */
  readonly isIndexed: (root: string) => boolean;
  readonly clock: Clock;
}

export type Uploads = ReturnType<typeof createUploads>;

export function createUploads({ folders, isIndexed, clock }: UploadParts) {
  const all = new Map<string, OpenUpload>();
  const inTurn = createSerialQueue();
  let loaded: Promise<void> | undefined;
  const place = (wanted: Pick<WantedUpload, "system" | "path">) => uploadPlace(wanted, folders(), isIndexed);
  const load = () => inTurn(() => loadAll(all, { folders, place, clock }));
  const ready = () => (loaded ??= load());
  const known = async (id: string): Promise<OpenUpload> => {
    await ready();
    const upload = all.get(id);
    if (upload !== undefined) return upload;
    throw new ServiceError(
      "not-found",
      "there is no such upload: it was finished, cancelled or left for a week",
    );
  };
  const drop = async (upload: OpenUpload) => {
    all.delete(upload.id);
    await stopWriting(upload);
    await removeFiles(upload.place.top, upload.id);
  };
  const begin = async (wanted: WantedUpload): Promise<Upload> => {
    const at = await place(wanted);
    const same = [...all.values()].find(({ place: other }) => isSameFile(other, at));
    if (same !== undefined && same.path !== wanted.path)
      throw coded(
        "upload-name",
        failed(`${same.path} is being uploaded, and differs in capitals or accents only: use another name`),
      );
    if (same !== undefined) refuseOthers(same, wanted.sender);
    await refuseExisting(at, wanted.replace);
    if (same?.size === wanted.size) {
      same.replace = wanted.replace;
      same.sender = wanted.sender;
      return same;
    }
    // A refusal leaves the upload that this one would replace.
    const others = [...all.values()].filter((upload) => upload !== same);
    const freedBytes = same?.offset ?? 0;
    await refuseBeyondShare(wanted, at.top, others, freedBytes);
    await refuseWithoutRoom(at.top, wanted.size, freedBytes);
    if (same !== undefined) await drop(same);
    const upload = await createFiles(wanted, at);
    all.set(upload.id, upload);
    return upload;
  };
  return {
    /**
     * The upload of this file, which continues if it was begun before. Rejects with a sentence, with `busy`, and with `forbidden`
     * if another client has begun it.
     */
    async start(wanted: WantedUpload): Promise<Upload> {
      await ready();
      return inTurn(() => begin(wanted).catch(rethrown));
    },
    find: known,
    /** Whether there is such an unfinished upload. */
    has: (id: string) => all.has(id),
    /** All unfinished uploads. Those of a drive that has come back are found first. */
    async list(): Promise<readonly Upload[]> {
      await load();
      return [...all.values()];
    },
    async freeBytes(): Promise<number> {
      const [root] = folders().roots;
      return root === undefined ? 0 : freeBytesOf(root).catch(() => 0);
    },
    /**
     * Writes at `offset`, which must be the end of the bytes so far, and returns the new end; undefined for another
     * offset. Rejects if the disk refuses, the pieces reject, or a newer write takes over.
     */
    async write(
      id: string,
      offset: number,
      pieces: Pieces,
      signal: AbortSignal,
    ): Promise<number | undefined> {
      const upload = await known(id);
      let last: OpenUpload["writing"];
      do {
        last = upload.writing;
        await stopWriting(upload);
        // Another write may have begun during this wait.
      } while (upload.writing !== last);
      if (upload.ending !== undefined) throw publicError("conflict", "this upload is being finished");
      if (offset !== upload.offset) return undefined;
      const stop = new AbortController();
      const written = writePieces(upload, pieces, AbortSignal.any([signal, stop.signal]));
      upload.writing = { stop, ended: written.catch(() => {}) };
      try {
        return await written;
      } catch (error) {
        throw rethrown(error);
      }
    },
    /**
     * Makes the complete file a media file. The file is on the disk when the promise resolves. `check` gets the first
     * bytes before the file is visible. Rejects with the error that `check` throws, and with `data.offset` if bytes are
     * missing.
     */
    async finish(id: string, sha256: string, check: (start: Uint8Array) => void): Promise<Upload> {
      let upload = await known(id);
      while (upload.ending !== undefined) {
        await upload.ending;
        upload = await known(id);
      }
      // No byte changes between the checks and the rename.
      const ending = Promise.withResolvers<void>();
      upload.ending = ending.promise;
      try {
        await stopWriting(upload);
        await using file = await openUnfinished(upload);
        await assertWhole(upload, file, sha256);
        check(await startOf(file, programStartBytes));
        await inTurn(() => putInPlace(upload, file));
        all.delete(id);
      } catch (error) {
        throw rethrown(error);
      } finally {
        upload.ending = undefined;
        ending.resolve();
      }
      return upload;
    },
    async cancel(id: string): Promise<Upload> {
      const upload = await known(id);
      await inTurn(() => drop(upload));
      return upload;
    },
    /**
     * Runs a change of media files while no upload becomes one. No upload can then take a name between the check of
     * that name and its use.
     */
    inTurn,
    /** Ends all writes. */
    async close() {
      await Promise.all([...all.values()].map(stopWriting));
    },
  };
}

/** Throws `forbidden` unless the upload belongs to the sender, or the sender has an owner's rights (an empty `sender`). */
export function refuseOthers(upload: Upload, sender: string): void {
  if (sender !== "" && upload.sender !== sender)
    throw coded(
      "upload-of-other",
      publicError(
        "forbidden",
        "another client sends this file: it may finish or cancel it, and an owner may",
      ),
    );
}

function rethrown(error: unknown): never {
  throw error instanceof Error && codeOf(error) !== "" && !(error instanceof ServiceError)
    ? writeFailure(error)
    : error;
}

async function stopWriting(upload: OpenUpload): Promise<void> {
  upload.writing?.stop.abort(new ServiceError("conflict", "another connection continues this upload"));
  await upload.writing?.ended;
  await upload.syncing;
}
