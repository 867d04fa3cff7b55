/** Makes a backup of the present state: settings, mappings, history, positions, and with a passphrase clients and keys. */
import { type FileHandle, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { breather } from "../config/mapping-files.ts";
import { readConfigText } from "../config/read-config.ts";
import { giveToOwnerOf } from "../core/as-owner.ts";
import { rfc3339, systemClock } from "../core/clock.ts";
import { backupsKeptMax } from "../core/console-limits.ts";
import { failed, ifThere, messageOf } from "../core/errors.ts";
import { mappingFileBytesMax, mappingFilesMax } from "../core/limits.ts";
import { type BackupRow, readBackupRows } from "../store/backup-rows.ts";
import { syncFolderAsync } from "../store/database-files.ts";
import { schemaVersion } from "../store/migrations.ts";
import type { ServicePlaces } from "../system/folders.ts";
import { tapdeckVersion } from "../system/own-program.ts";
import { type BackupFacts, writeBackup, writeBackupTo } from "./backup-file.ts";
import { sealPart } from "./sealed-part.ts";

export type BackupPlaces = Pick<ServicePlaces, "configPath" | "dataFolder">;

/** The paths of backups and restores in the data folder. */
export const backupPaths = ({ dataFolder }: Pick<BackupPlaces, "dataFolder">) => ({
  folder: join(dataFolder, "backups"),
  /** The last backup that was asked for, until it is downloaded. */
  made: join(dataFolder, "backups/made"),
  /** The file of the next restore. */
  given: join(dataFolder, "backups/given"),
  /** A restore that is being prepared; a start deletes it. */
  staged: join(dataFolder, "backups/restore.new"),
  /** A restore that is decided; a start completes it. */
  decided: join(dataFolder, "backups/restore"),
  database: join(dataFolder, "tapdeck.db"),
});

export const mappingsFolderOf = ({ configPath }: Pick<BackupPlaces, "configPath">) =>
  join(dirname(configPath), "mappings");

/** The files of the data folder's `tls` (`src/system/certificate.ts`). */
export const tlsFiles = ["owner.pem", "owner-key.pem", "device.pem", "device-key.pem"] as const;

/** The tables that need no passphrase. */
export const openTables = ["mappings", "history", "plays", "positions", "favourites", "last_media"] as const;

/** The name of a mapping file in a backup. A control character in it would forge lines of the log and of a terminal. */
export const mappingFileForm = /^[^./\p{Cc}][^/\p{Cc}]{0,250}\.toml$/u;

/** The name of a mapping file in its folder, where anybody with a shell may have given it any name. */
export const mappingFileThere = /^[^.].*\.toml$/s;

export interface MadeBackup extends BackupFacts {
  /** Sentences about the things that the backup does not hold. */
  readonly leftOut: readonly string[];
  /** The name of a backup that stays on the device. */
  readonly kept?: string;
}

/** Writes a backup to a path, or to an open file. With a passphrase it holds clients and keys. */
export async function makeBackup(
  to: string | FileHandle,
  places: BackupPlaces,
  passphrase?: string,
): Promise<MadeBackup> {
  const leftOut: string[] = [];
  const lines = linesOf(places, passphrase, (why) => leftOut.push(why));
  if (typeof to !== "string") return { ...(await writeBackupTo(to, lines)), leftOut };
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  return { ...(await writeBackup(to, lines)), leftOut };
}

async function* linesOf(
  places: BackupPlaces,
  passphrase: string | undefined,
  leaveOut: (why: string) => void,
): AsyncGenerator<string> {
  const breathe = breather(systemClock);
  let count = 0;
  const line = (value: unknown) => {
    count += 1;
    return JSON.stringify(value);
  };
  yield line({
    tapdeck: tapdeckVersion,
    made: rfc3339(systemClock.now()),
    schema: schemaVersion,
    media: join(places.dataFolder, "media"),
  });
  yield line({ config: (await readConfigText(places.configPath, false)) ?? "" });
  for await (const [name, text] of mappingFiles(mappingsFolderOf(places), leaveOut))
    yield line({ mappingFile: name, text });
  using reading = readBackupRows(backupPaths(places).database);
  for (const table of openTables)
    for await (const row of reading.rows(table, breathe)) yield line({ table, row });
  if (passphrase !== undefined) {
    const clients: BackupRow[] = [];
    for await (const row of reading.rows("clients", breathe)) clients.push(row);
    const tls = await tlsIn(join(places.dataFolder, "tls"));
    yield line({ sealed: await sealPart({ clients, tls }, passphrase) });
  }
  yield JSON.stringify({ lines: count });
}

/** The mapping files that a service would read, by name. */
export async function* mappingFiles(
  folder: string,
  leaveOut: (why: string) => void,
): AsyncGenerator<readonly [string, string]> {
  const names = ((await ifThere(readdir(folder))) ?? []).filter((name) => mappingFileThere.test(name)).sort();
  if (names.length > mappingFilesMax)
    leaveOut(`of the mapping files, all after the first ${mappingFilesMax}`);
  for (const name of names.slice(0, mappingFilesMax)) {
    if (!mappingFileForm.test(name)) {
      leaveOut(`the mapping file ${JSON.stringify(name)}: its name has a control character, so rename it`);
      continue;
    }
    try {
      const { size } = await stat(join(folder, name));
      if (size > mappingFileBytesMax) throw new Error(`it is larger than ${mappingFileBytesMax} bytes`);
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      yield [name, text.decode(await readFile(join(folder, name)))];
    } catch (error) {
      leaveOut(
        `the mapping file ${name}: ${error instanceof TypeError ? "it is not UTF-8 text" : messageOf(error)}`,
      );
    }
  }
}

async function tlsIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const name of tlsFiles) {
    const text = await ifThere(readFile(join(folder, name), "utf8"));
    if (text !== undefined) found[name] = text;
  }
  return found;
}

/**
 * Keeps a backup of the state before an update or a restore, in the folder of backups, and deletes the oldest. The numbers
 * in the names give the order, because a board may have no clock.
 */
export async function keepBackup(
  before: "update" | "restore",
  places: BackupPlaces,
  passphrase?: string,
): Promise<MadeBackup & { readonly kept: string }> {
  const { folder } = backupPaths(places);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const form = new RegExp(`^before-${before}-(\\d{1,9})\\.tapdeck$`);
  const numbers = (await readdir(folder)).flatMap((name) => form.exec(name)?.slice(1).map(Number) ?? []);
  const next = Math.max(0, ...numbers) + 1;
  const pathOf = (number: number) => join(folder, `before-${before}-${number}.tapdeck`);
  const fresh = join(folder, `before-${before}.new`);
  let made: MadeBackup;
  try {
    made = await makeBackup(fresh, places, passphrase);
    await rename(fresh, pathOf(next));
    await syncFolderAsync(folder);
  } catch (error) {
    await rm(fresh, { force: true });
    throw failed(`the present state could not be kept as a backup: ${messageOf(error)}`, error);
  }
  const oldestFirst = numbers.sort((one, other) => one - other);
  const excess = oldestFirst.slice(0, Math.max(0, numbers.length + 1 - backupsKeptMax));
  for (const number of excess) await rm(pathOf(number), { force: true });
  // After a power cut none of the deleted backups may come back.
  if (excess.length > 0) await syncFolderAsync(folder);
  const kept = basename(pathOf(next));
  // The backup is made, even if another user has replaced it already.
  await giveToOwnerOf(places.dataFolder, folder, kept).catch(() => {});
  return { ...made, kept };
}
