/**
 * Checks a backup completely, and stages it in a folder: the settings, the mapping files, the rows and the keys that the next
 * start takes into use. Nothing else changes.
 */
import { access, constants, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MappingCheck, readMappingsToml } from "../config/mapping-file.ts";
import { breather } from "../config/mapping-files.ts";
import { targetOf } from "../config/save.ts";
import type { Config } from "../config/shape.ts";
import { systemClock } from "../core/clock.ts";
import type { BackupContent, BackupNote } from "../core/device-shapes.ts";
import { coded, codeOf, failed, messageOf, ServiceError } from "../core/errors.ts";
import { mappingFileBytesMax, mappingFilesMax } from "../core/limits.ts";
import { isRecord } from "../core/text.ts";
import { checkMapping } from "../mappings/check-mapping.ts";
import { createRegexes } from "../mappings/regex.ts";
import { type BackupRow, type BackupTable, isBackupTable, stageRows } from "../store/backup-rows.ts";
import { syncFolderAsync, writeBehind } from "../store/database-files.ts";
import { schemaVersion, schemaVersionMin } from "../store/migrations.ts";
import {
  changedSettings,
  checkStoredMappings,
  clientRowOf,
  missingHere,
  openSecrets,
  restoredSettings,
  rowOf,
} from "./backup-checks.ts";
import { backupLines, checkBackupFile } from "./backup-file.ts";
import { type BackupPlaces, backupPaths, mappingFileForm, openTables } from "./make-backup.ts";

/** The parts that a start puts in place. */
export interface RestorePlan {
  readonly tables: readonly BackupTable[];
  /** Names of the mapping files. */
  readonly mappingFiles: readonly string[];
  /** Names of the files of certificates; absent if those of the device stay. */
  readonly tls?: readonly string[];
}

/** Throws `failed` with a sentence, also for a wrong passphrase. */
export async function stageRestore(
  file: string,
  places: BackupPlaces,
  { passphrase, present, isRemote = false }: StageOptions,
): Promise<BackupContent> {
  const facts = await checkBackupFile(file);
  const { staged } = backupPaths(places);
  await rm(staged, { recursive: true, force: true });
  await mkdir(join(staged, "mappings"), { recursive: true, mode: 0o700 });
  await mkdir(join(staged, "tls"), { mode: 0o700 });
  try {
    await checkWritable(places);
    const content = await stageLines(file, staged, places, { passphrase, present, isRemote });
    for (const folder of ["mappings", "tls", "."]) await syncFolderAsync(join(staged, folder));
    return { ...facts, ...content };
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    if (error instanceof ServiceError) throw error;
    throw coded("backup-damaged", failed(`this backup cannot be restored: ${messageOf(error)}`, error));
  }
}

/**
 * Opens the encrypted part of a backup that was checked before; it does nothing for a backup without one. Throws `failed` if
 * the passphrase is wrong.
 */
export async function checkPassphrase(file: string, passphrase: string): Promise<void> {
  for await (const value of backupLines(file)) {
    if (isRecord(value) && value.sealed !== undefined) await openSecrets(value.sealed, passphrase);
  }
}

interface StageOptions {
  readonly passphrase?: string | undefined;
  /** The settings of this device. */
  readonly present: Config | undefined;
  /** True for a restore over the network: settings that only the file can change stay as they are. */
  readonly isRemote?: boolean;
}

async function stageLines(file: string, staged: string, places: BackupPlaces, options: StageOptions) {
  const lines = backupLines(file);
  const head = headOf((await lines.next()).value);
  using rows = stageRows(join(staged, "rows.db"), head.schema);
  const media = join(places.dataFolder, "media");
  const add = (table: BackupTable, row: BackupRow) => rows.add(table, moved(row, head.media, media));
  const found = await readLines(lines, staged, add);
  const secrets = await openSecrets(found.sealed, options.passphrase);
  for (const row of secrets?.clients ?? []) rows.add("clients", clientRowOf(row));
  for (const [name, pem] of Object.entries(secrets?.tls ?? {}))
    await writeBehind(join(staged, "tls", name), Buffer.from(pem));
  const { counts, mappings } = await rows.finish(breather(systemClock));
  await checkStoredMappings(mappings, breather(systemClock));
  const { present, isRemote = false } = options;
  const { text, config, notes: kept } = await restoredSettings(found.config, places, { present, isRemote });
  await writeBehind(join(staged, "config.toml"), Buffer.from(text));
  const notes = [...found.notes, ...kept, ...missingHere(config)];
  const plan: RestorePlan = {
    tables: [...openTables, ...(secrets === undefined ? [] : (["clients"] as const))],
    mappingFiles: found.mappingFiles,
    ...(secrets === undefined ? {} : { tls: Object.keys(secrets.tls) }),
  };
  await writeBehind(join(staged, "plan.json"), Buffer.from(JSON.stringify(plan)));
  const { last_media: _media, clients, ...shown } = counts;
  const sealed = secrets === undefined ? "locked" : clients;
  return {
    made: head.made,
    version: head.version,
    counts: { ...shown, mappingFiles: found.mappingFiles.length, launchers: config.launchers.length },
    clients: found.sealed === undefined ? "none" : sealed,
    changes: changedSettings(config, present),
    warnings: notes.map(({ sentence }) => sentence),
    notes: notes.map(({ code, subject }) => ({ code, subject })),
  } as const;
}

/** Reads the lines after the first. Rows go to `add`, and mapping files to the staged folder. */
async function readLines(
  lines: AsyncIterable<unknown>,
  staged: string,
  add: (table: BackupTable, row: BackupRow) => void,
) {
  const breathe = breather(systemClock);
  const mappingFiles: string[] = [];
  const notes: BackupNote[] = [];
  let config: string | undefined;
  let sealed: unknown;
  let count = 1;
  let ended = false;
  for await (const value of lines) {
    if (!isRecord(value) || ended) throw notOurs();
    if (isOpenTable(value.table) && isRecord(value.row)) add(value.table, rowOf(value.row));
    else if (typeof value.config === "string" && config === undefined) config = value.config;
    else if (typeof value.mappingFile === "string" && typeof value.text === "string") {
      if (mappingFiles.includes(value.mappingFile)) throw notOurs();
      mappingFiles.push(value.mappingFile);
      if (mappingFiles.length > mappingFilesMax) throw new Error("it has too many mapping files");
      notes.push(...(await stageMappingFile(staged, value.mappingFile, value.text)));
    } else if (value.sealed !== undefined && sealed === undefined) sealed = value.sealed;
    else if (value.lines === count) ended = true;
    else throw notOurs();
    count += 1;
    await breathe();
  }
  if (!ended || config === undefined) throw new Error("its end is missing");
  return { config, sealed, mappingFiles, notes };
}

const notOurs = () => new Error("it has a line that is no part of a backup");

function isOpenTable(name: unknown): name is (typeof openTables)[number] {
  return isBackupTable(name) && name !== "clients";
}

function headOf(value: unknown) {
  const { tapdeck, made, schema, media } = isRecord(value) ? value : {};
  const isText = (one: unknown): one is string => typeof one === "string" && one.length <= 4096;
  if (!isText(tapdeck) || !isText(made) || !isText(media) || Number.isNaN(Date.parse(made)))
    throw new Error("its first line is not that of a backup");
  if (typeof schema !== "number" || !Number.isInteger(schema))
    throw new Error("its first line is not that of a backup");
  if (schema < schemaVersionMin)
    throw failed(
      `this backup was made by an unpublished build of Tapdeck (${schema}), which this version does not read`,
    );
  if (schema > schemaVersion)
    throw coded(
      "backup-newer",
      failed(
        `this backup was made by Tapdeck ${tapdeck}, which is newer than this version: update Tapdeck, then restore it again`,
      ),
    );
  return { version: tapdeck, made, schema, media };
}

/** A path below the media folder of the old device becomes a path below the media folder of this device. */
function moved(row: BackupRow, from: string, to: string): BackupRow {
  const values = Object.entries(row).map(([name, value]) =>
    (name === "path" || name === "item") && typeof value === "string" && value.startsWith(`${from}/`)
      ? [name, to + value.slice(from.length)]
      : [name, value],
  );
  return Object.fromEntries(values);
}

/** Returns a note for a file that the service would not use. The file is restored unchanged nevertheless. */
async function stageMappingFile(staged: string, name: string, text: string): Promise<readonly BackupNote[]> {
  if (!mappingFileForm.test(name)) throw new Error(`${JSON.stringify(name)} is no name of a mapping file`);
  const bytes = Buffer.from(text);
  if (bytes.length > mappingFileBytesMax) throw new Error(`the mapping file ${name} is too large`);
  await writeBehind(join(staged, "mappings", name), bytes);
  const regexes = createRegexes();
  const check: MappingCheck = (mapping) => checkMapping(mapping, regexes);
  const fault = await readMappingsToml(text, check, breather(systemClock)).then(
    ({ faults: [first] }) => first,
    (error: unknown) => error,
  );
  if (fault === undefined) return [];
  const sentence = `the mapping file ${name} has a fault, so its mappings are not used: ${messageOf(fault)}`;
  return [{ code: "mapping-file-invalid", subject: name, sentence }];
}

/** Throws `failed` if the settings and the mapping files of this device cannot be replaced. */
export async function checkWritable({ configPath }: BackupPlaces): Promise<void> {
  for (let path = await targetOf(configPath); ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK);
      // A file can be renamed only if its folder exists.
      if (path !== configPath) return;
    } catch (error) {
      if (codeOf(error) === "ENOENT") continue;
      throw failed(`the settings cannot be replaced: ${path}: ${messageOf(error)}`, error);
    }
  }
}
