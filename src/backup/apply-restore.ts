/**
 * The end of a restore, at a start. The rename of its folder turns a prepared restore into a decided one. Before the
 * rename, a power cut leaves the old state. After it, each start continues until the whole new state is in place. No step
 * depends on an earlier start, so each may be cut off anywhere.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { saveFile, targetOf } from "../config/save.ts";
import { systemClock } from "../core/clock.ts";
import { ifThere, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isRecord, parseJson } from "../core/text.ts";
import { isBackupTable, replaceRows } from "../store/backup-rows.ts";
import { lockFolderOf, syncFolderAsync } from "../store/database-files.ts";
import { openSound } from "../store/open.ts";
import {
  type BackupPlaces,
  backupPaths,
  mappingFileForm,
  mappingFileThere,
  mappingsFolderOf,
  tlsFiles,
} from "./make-backup.ts";
import type { RestorePlan } from "./stage-restore.ts";

/** Decides a prepared restore: from here on, the next start completes it. */
export async function decideRestore(places: BackupPlaces): Promise<void> {
  const { folder, staged, decided } = backupPaths(places);
  await rename(staged, decided);
  await syncFolderAsync(folder);
}

/**
 * Completes a decided restore, and deletes the remains of other restores. It runs before the settings are read. If the
 * disk refuses a restore before anything has changed, the restore is given up. After that it is tried again at the next
 * start. Throws `StartError` if another service uses the data folder.
 */
export async function completeRestore(places: BackupPlaces, log: Log): Promise<void> {
  const { folder, staged, decided, made, given, database } = backupPaths(places);
  if (!existsSync(folder)) return;
  using _lock = lockFolderOf(database);
  let plan: RestorePlan | undefined;
  try {
    for (const path of [staged, made, given]) await rm(path, { recursive: true, force: true });
    plan = await planOf(decided);
    if (plan === undefined) return await rm(decided, { recursive: true, force: true });
  } catch (error) {
    // The path is a file, or a link to a folder that is closed to this user. An error here would make each start fail.
    log.error("backup", "the folder of backups cannot be used", { folder, error: messageOf(error) });
    return;
  }
  const rows = join(decided, "rows.db");
  try {
    if (existsSync(rows)) {
      // Repairs a damaged database, and brings it up to date.
      openSound(database, systemClock).database.close();
      replaceRows(database, rows, plan.tables);
      await rm(rows);
      await syncFolderAsync(decided);
    }
  } catch (error) {
    log.error("backup", "a restore was given up, and nothing was changed", { error: messageOf(error) });
    return await forget(places);
  }
  try {
    await placeFiles(places, decided, plan);
    log.info("backup", "a backup was restored");
    await forget(places);
  } catch (error) {
    const sentence = "a restore is not complete: the next start tries again";
    log.error("backup", sentence, { error: messageOf(error) });
  }
}

/**
 * The plan of a decided restore; undefined if there is none. An incomplete folder also gives undefined, but a rename
 * never leaves one.
 */
async function planOf(decided: string): Promise<RestorePlan | undefined> {
  const text = await ifThere(readFile(join(decided, "plan.json"), "utf8"));
  const plan = text === undefined ? undefined : parseJson(text);
  if (!isRecord(plan) || !Array.isArray(plan.tables) || !Array.isArray(plan.mappingFiles)) return undefined;
  const names = (list: readonly unknown[]) => list.filter((name) => typeof name === "string");
  return {
    tables: plan.tables.filter(isBackupTable),
    mappingFiles: names(plan.mappingFiles).filter((name) => mappingFileForm.test(name)),
    ...(Array.isArray(plan.tls) ? { tls: names(plan.tls) } : {}),
  };
}

async function placeFiles(
  places: BackupPlaces,
  decided: string,
  { mappingFiles, tls }: RestorePlan,
): Promise<void> {
  await put(join(decided, "config.toml"), await targetOf(places.configPath));
  const mappings = mappingsFolderOf(places);
  for (const name of mappingFiles) await put(join(decided, "mappings", name), join(mappings, name));
  const present = (await ifThere(readdir(mappings))) ?? [];
  const gone = present.filter((name) => mappingFileThere.test(name) && !mappingFiles.includes(name));
  for (const name of gone) await rm(join(mappings, name));
  if (present.length > 0 || mappingFiles.length > 0) await syncFolderAsync(mappings);
  if (tls === undefined) return;
  const folder = join(places.dataFolder, "tls");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of tlsFiles) {
    if (tls.includes(name)) await put(join(decided, "tls", name), join(folder, name));
    else await rm(join(folder, name), { force: true });
  }
  await syncFolderAsync(folder);
}

/** Replaces a file by a staged one, unless they are equal; an empty one is not made. */
async function put(staged: string, target: string): Promise<void> {
  const text = await readFile(staged, "utf8");
  const present = await ifThere(readFile(target, "utf8"));
  if (text !== (present ?? "")) await saveFile(target, text, async () => true);
}

/** The rename is one step, and a deletion takes several. */
async function forget(places: BackupPlaces): Promise<void> {
  const { folder, staged, decided } = backupPaths(places);
  await rm(staged, { recursive: true, force: true });
  await rename(decided, staged);
  await syncFolderAsync(folder);
  await rm(staged, { recursive: true, force: true });
}
