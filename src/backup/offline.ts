/** Backup and restore without a service, on the files of its data folder. */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { systemClock } from "../core/clock.ts";
import type { BackupContent } from "../core/device-shapes.ts";
import { failed } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { lockFolderOf } from "../store/database-files.ts";
import { openSound } from "../store/open.ts";
import { completeRestore, decideRestore } from "./apply-restore.ts";
import { presentConfig } from "./backup-checks.ts";
import { type BackupPlaces, backupPaths, keepBackup, type MadeBackup, makeBackup } from "./make-backup.ts";
import { stageRestore } from "./stage-restore.ts";

/** Throws `failed` if there is nothing to back up, and `StartError` if a service uses the folder. */
export async function backupOffline(
  places: BackupPlaces,
  to: { readonly file: string; readonly passphrase: string | undefined } | { readonly before: "update" },
): Promise<MadeBackup> {
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
  { passphrase, isTrial }: { readonly passphrase: string | undefined; readonly isTrial: boolean },
): Promise<BackupContent & { readonly kept?: string; readonly folder?: string }> {
  await mkdir(backupPaths(places).folder, { recursive: true, mode: 0o700 });
  // An earlier one may not be complete.
  await complete(places);
  const { content, kept } = await prepare(file, places, { passphrase, isTrial });
  if (kept === undefined) return content;
  await complete(places);
  return { ...content, kept, folder: backupPaths(places).folder };
}

async function prepare(
  file: string,
  places: BackupPlaces,
  { passphrase, isTrial }: Parameters<typeof restoreOffline>[2],
) {
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
  openSound(database, systemClock).database.close();
  return lock;
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
