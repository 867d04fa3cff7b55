/** Backup and restore without a service, on the files of its data folder. root acts as the owner of that folder. */
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { readAtMost } from "../config/read-config.ts";
import { asOwnerOf, otherOwnerOf } from "../core/as-owner.ts";
import { systemClock } from "../core/clock.ts";
import { backupFileBytesMax } from "../core/console-limits.ts";
import type { BackupContent } from "../core/device-shapes.ts";
import { failed, messageOf } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { createLog } from "../core/log.ts";
import { lockFolderOf, writeBehind } from "../store/database-files.ts";
import { openSound } from "../store/open.ts";
import { completeRestore, decideRestore } from "./apply-restore.ts";
import { presentConfig } from "./backup-checks.ts";
import { checkBackupFile } from "./backup-file.ts";
import { type BackupPlaces, backupPaths, keepBackup, type MadeBackup, makeBackup } from "./make-backup.ts";
import { stageRestore } from "./stage-restore.ts";

/** Throws `failed` if there is nothing to back up, and `StartError` if a service uses the folder. */
export function backupOffline(
  places: BackupPlaces,
  to: { readonly file: FileHandle; readonly passphrase: string | undefined } | { readonly before: "update" },
): Promise<MadeBackup> {
  return asOwnerOf(places.dataFolder, () => backUp(places, to));
}

async function backUp(places: BackupPlaces, to: Parameters<typeof backupOffline>[1]): Promise<MadeBackup> {
  if (!existsSync(backupPaths(places).database))
    throw failed(
      `there is no database in ${places.dataFolder}, so there is nothing to back up: name the folder with --data`,
    );
  using _lock = openedFolder(places);
  return "file" in to
    ? await makeBackup(to.file, places, to.passphrase)
    : await keepBackup(to.before, places);
}

/** Restores at once; with `isTrial` it only checks. Throws `failed` with a sentence. */
export async function restoreOffline(
  file: string,
  places: BackupPlaces,
  options: RestoreOptions,
): Promise<Restored> {
  if ((await otherOwnerOf(places.dataFolder)) === undefined) return restore(file, places, options);
  // The owner of the folder may not be able to read the file.
  const bytes = await asOwnerOf(dirname(file), () => contentOf(file));
  return asOwnerOf(places.dataFolder, () => restore(bytes, places, options));
}

interface RestoreOptions {
  readonly passphrase: string | undefined;
  readonly isTrial: boolean;
}

type Restored = BackupContent & { readonly kept?: string; readonly folder?: string };

async function contentOf(file: string): Promise<Uint8Array> {
  try {
    return await readAtMost(file, backupFileBytesMax);
  } catch (error) {
    throw failed(`the backup cannot be read: ${fileFault(error)}`, error);
  }
}

async function restore(
  source: string | Uint8Array,
  places: BackupPlaces,
  options: RestoreOptions,
): Promise<Restored> {
  // A wrong file makes no data folder.
  if (typeof source === "string") await checkBackupFile(source);
  const { folder, given } = backupPaths(places);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // An earlier restore may not be complete.
  await complete(places);
  try {
    if (typeof source !== "string") await writeBehind(given, source);
    const { content, kept } = await prepare(typeof source === "string" ? source : given, places, options);
    if (kept === undefined) return content;
    await complete(places);
    return { ...content, kept, folder };
  } finally {
    await rm(given, { force: true });
  }
}

async function prepare(file: string, places: BackupPlaces, { passphrase, isTrial }: RestoreOptions) {
  using _lock = openedFolder(places);
  const content = await stageRestore(file, places, { passphrase, present: await presentConfig(places) });
  if (isTrial) {
    await rm(backupPaths(places).staged, { recursive: true, force: true });
    return { content, kept: undefined };
  }
  const { kept } = await keepBackup("restore", places, passphrase);
  await decideRestore(places);
  return { content, kept };
}

/** Repairs a damaged database, and brings it up to date. */
function openedFolder(places: BackupPlaces): Disposable {
  const { database } = backupPaths(places);
  const lock = lockFolderOf(database);
  try {
    openSound(database, systemClock).database.close();
    return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw failed(`cannot use the database ${database}: ${messageOf(error)}`, error);
  }
}

async function complete(places: BackupPlaces): Promise<void> {
  const errors: string[] = [];
  const log = createLog({
    debug: false,
    write: (line) => void (line.startsWith("error") && errors.push(line)),
  });
  await completeRestore(places, log);
  if (errors.length > 0) throw failed(errors.join("; "));
}
