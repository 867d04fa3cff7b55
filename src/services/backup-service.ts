/** Backups and restores of the running service. A restore is prepared and decided here. The next start completes it. */
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import type { BackupService } from "../api/services.ts";
import { decideRestore } from "../backup/apply-restore.ts";
import { checkBackupFile } from "../backup/backup-file.ts";
import {
  type BackupPlaces,
  backupPaths,
  keepBackup,
  makeBackup,
  mappingFileThere,
  mappingsFolderOf,
} from "../backup/make-backup.ts";
import { stageRestore } from "../backup/stage-restore.ts";
import type { Settings } from "../config/settings.ts";
import type { Config } from "../config/shape.ts";
import { backupFileBytesMax, backupPartBytesMax } from "../core/console-limits.ts";
import { coded, failed, ifThere, messageOf, publicError, ServiceError } from "../core/errors.ts";
import { faultLine } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import { countRows } from "../store/backup-rows.ts";
import type { Store } from "../store/open.ts";

interface BackupParts {
  readonly places: BackupPlaces;
  readonly settings: Pick<Settings, "current" | "faults">;
  readonly store: Pick<Store, "history">;
  readonly log: Log;
  /** Stops the service, and soon starts it again. */
  readonly restart: () => void;
}

const chunkBytes = 64 * 1024;

export function createBackupService({ places, settings, store, log, restart }: BackupParts): BackupService {
  const paths = backupPaths(places);
  const inTurn = createSerialQueue();
  let isDecided = false;
  const task = <T>(run: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      if (isDecided)
        throw new ServiceError(
          "conflict",
          "a backup is being restored: wait until the service has started again",
        );
      // A row of the history waits in memory for a moment before it is written.
      store.history.flush();
      try {
        return await run();
      } catch (error) {
        throw error instanceof ServiceError ? error : failed(messageOf(error), error);
      }
    });
  const stage = (passphrase: string | undefined, isRemote: boolean) =>
    stageRestore(paths.given, places, { passphrase, present: settings.current(), isRemote });
  const preview = async (isRemote: boolean) => {
    const content = await stage(undefined, isRemote);
    await rm(paths.staged, { recursive: true, force: true });
    return { ...content, now: await presentCounts(places, settings.current()) };
  };

  return {
    make: (passphrase, before) =>
      task(async () => {
        if (before !== undefined) return await keepBackup(before, places, passphrase);
        const faults = settings.faults();
        if (faults.length > 0)
          throw coded(
            "backup-settings",
            failed(
              `repair the settings first, because this backup could not be restored: ${faultLine(faults)}`,
            ),
          );
        const made = await makeBackup(paths.made, places, passphrase);
        log.info("backup", "made", { bytes: made.bytes, clients: passphrase !== undefined });
        return made;
      }),
    take: () =>
      task(async () => {
        if (!existsSync(paths.made)) throw noneMade();
        const file = await open(paths.made);
        await rm(paths.made);
        return { bytes: (await file.stat()).size, stream: streamOf(file) };
      }),
    read: (offset) =>
      task(async () => {
        if (!existsSync(paths.made)) throw noneMade();
        await using file = await open(paths.made);
        const { size: bytes } = await file.stat();
        const { bytesRead, buffer } = await file.read(new Uint8Array(backupPartBytesMax), {
          position: offset,
        });
        if (offset + bytesRead >= bytes) await rm(paths.made);
        return { bytes, data: buffer.subarray(0, bytesRead) };
      }),
    give: (body, isRemote) =>
      task(async () => {
        await mkdir(paths.folder, { recursive: true, mode: 0o700 });
        try {
          await receive(body, paths.given);
          return await preview(isRemote);
        } catch (error) {
          await rm(paths.given, { force: true });
          throw error;
        }
      }),
    send: (offset, part) =>
      task(async () => {
        await mkdir(paths.folder, { recursive: true, mode: 0o700 });
        if (offset + part.length > backupFileBytesMax) throw tooLong();
        await using file = await open(paths.given, offset === 0 ? "w" : "r+", 0o600);
        const { size } = await file.stat();
        if (size !== offset)
          throw new ServiceError(
            "conflict",
            `the next part of the backup begins at ${size}, not at ${offset}`,
          );
        await file.write(part, 0, part.length, offset);
      }),
    preview: (isRemote) => task(() => preview(isRemote)),
    restore: (sha256, passphrase, isRemote) =>
      task(async () => {
        if (!existsSync(paths.given) || (await checkBackupFile(paths.given)).sha256 !== sha256)
          throw new ServiceError(
            "not-found",
            "this backup was not sent, or another one after it: send it by PUT /backup or backup.send first",
          );
        const content = await stage(passphrase, isRemote);
        const { kept } = await keepBackup("restore", places, passphrase);
        await decideRestore(places);
        isDecided = true;
        log.info("backup", "a restore is decided, and the service starts again", {
          made: content.made,
          kept,
        });
        // The restart comes after the answer.
        setImmediate(restart);
        return { ...content, kept, folder: paths.folder };
      }),
  };
}

async function presentCounts(places: BackupPlaces, { launchers }: Config) {
  const { last_media: _media, clients: _clients, ...rows } = countRows(backupPaths(places).database);
  const names = (await ifThere(readdir(mappingsFolderOf(places)))) ?? [];
  const mappingFiles = names.filter((name) => mappingFileThere.test(name)).length;
  return { ...rows, mappingFiles, launchers: launchers.length };
}

const noneMade = () => new ServiceError("not-found", "no backup is ready: call the method backup first");
const tooLong = () => publicError("invalid-params", `a backup has at most ${backupFileBytesMax} bytes`);

/** Reads the open file in chunks, and closes it at the end. */
function streamOf(file: Awaited<ReturnType<typeof open>>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(chunkBytes));
      if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
      controller.close();
      await file.close();
    },
    cancel: () => file.close(),
  });
}

/** Writes a body to a file, a chunk at a time. Throws `busy` for a body that is too long. */
async function receive(body: ReadableStream<Uint8Array>, path: string): Promise<void> {
  await using file = await open(path, "w", 0o600);
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > backupFileBytesMax) throw tooLong();
    await file.write(chunk);
  }
}
