/** The checks of a backup's settings, mappings, clients and keys. They are the same as those of the API and of a start. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { configOf, readConfig } from "../config/read-config.ts";
import { editsOf } from "../config/settings-patch.ts";
import { fieldNameOf, settingsTable } from "../config/settings-table.ts";
import type { Config } from "../config/shape.ts";
import { editToml } from "../config/toml-edit.ts";
import type { BackupNote } from "../core/device-shapes.ts";
import { coded, failed, ifThere, messageOf } from "../core/errors.ts";
import { clientNameCharsMax, configBytesMax, mappingsCharsMax } from "../core/limits.ts";
import { isRecord } from "../core/text.ts";
import type { MappingParams } from "../core/token.ts";
import { charsOf, checkMapping } from "../mappings/check-mapping.ts";
import { createRegexes } from "../mappings/regex.ts";
import type { BackupRow } from "../store/backup-rows.ts";
import { certificateFault } from "../system/certificate.ts";
import { type BackupPlaces, tlsFiles } from "./make-backup.ts";
import { openPart } from "./sealed-part.ts";

export function rowOf(row: Readonly<Record<string, unknown>>): BackupRow {
  const values = Object.entries(row).map(([name, value]) => {
    if (value !== null && typeof value !== "string" && typeof value !== "number")
      throw new Error(`${name}: a value is a text, a number or null`);
    return [name, value] as const;
  });
  return Object.fromEntries(values);
}

/** The clients and keys; undefined if there are none, or no passphrase is given. Throws `failed` for a wrong passphrase. */
export async function openSecrets(sealed: unknown, passphrase: string | undefined) {
  if (passphrase === undefined) return undefined;
  if (sealed === undefined)
    throw coded(
      "backup-passphrase-needless",
      failed("this backup holds no clients and keys, so it has no passphrase"),
    );
  const opened = await openPart(sealed, passphrase);
  if (opened === undefined)
    throw coded("backup-passphrase-wrong", failed("the passphrase is wrong, and nothing was changed"));
  const { clients, tls } = isRecord(opened) ? opened : {};
  if (!Array.isArray(clients) || !isRecord(tls)) throw new Error("its encrypted part is not valid");
  const pems: Record<string, string> = {};
  for (const name of tlsFiles) {
    const pem = tls[name];
    if (typeof pem === "string") pems[name] = pem;
  }
  for (const whose of ["owner", "device"] as const) {
    const certificatePem = pems[`${whose}.pem`];
    const keyPem = pems[`${whose}-key.pem`];
    const fault = certificatePem && keyPem ? certificateFault({ certificatePem, keyPem }) : undefined;
    if (fault !== undefined) throw new Error(`${whose}.pem: ${fault}`);
  }
  return { clients, tls: pems };
}

export function clientRowOf(value: unknown): BackupRow {
  const row = rowOf(isRecord(value) ? value : {});
  const { id, name, secret, expires_ms } = row;
  const isClient =
    typeof id === "string" &&
    /^[0-9A-Za-z-]{1,64}$/.test(id) &&
    typeof name === "string" &&
    name.length <= clientNameCharsMax &&
    typeof secret === "string" &&
    /^[0-9a-f]{64}$/.test(secret) &&
    (expires_ms ?? null) === null;
  if (!isClient) throw new Error("a client in it is not valid");
  return row;
}

/** Checks enabled mappings as `mappings.new` does: a disabled one may have been stored with other limits. */
export async function checkStoredMappings(
  mappings: readonly MappingParams[],
  breathe: () => Promise<void>,
): Promise<void> {
  const regexes = createRegexes();
  let chars = 0;
  for (const mapping of mappings) {
    chars += charsOf(mapping);
    if (chars > mappingsCharsMax)
      throw new Error(`the texts of its mappings have more than ${mappingsCharsMax} characters`);
    if (
      !["uid", "text", "data"].includes(mapping.type) ||
      !["exact", "partial", "regex"].includes(mapping.match)
    )
      throw new Error(`a mapping has the type ${mapping.type} and the match ${mapping.match}`);
    try {
      if (mapping.enabled) checkMapping(mapping, regexes);
    } catch (error) {
      throw new Error(
        `the mapping of ${JSON.stringify(mapping.pattern.slice(0, 80))} is not valid: ${messageOf(error)}`,
        { cause: error },
      );
    }
    await breathe();
  }
}

/**
 * These settings belong to the device. With the addresses and ports of another device the service might not start. With
 * the name of another device at the broker, the broker would take the two for one device.
 */
const ofDevice = [
  { section: "api", key: "port" },
  { section: "api", key: "listen" },
  { section: "api", key: "tls_port" },
  { section: "mqtt", key: "id" },
] as const;

const isOfDevice = (section: string, key: string) =>
  ofDevice.some((one) => one.section === section && one.key === key);

/** The text of the settings after a restore; `present` are those of this device. */
export async function restoredSettings(
  given: string,
  places: BackupPlaces,
  { present, isRemote }: { readonly present: Config | undefined; readonly isRemote: boolean },
) {
  if (isRemote) return settingsByApi(given, places);
  return { ...settingsOfBackup(given, places, present), notes: [] };
}

function settingsOfBackup(given: string, { dataFolder }: BackupPlaces, present: Config | undefined) {
  if (Buffer.byteLength(given) > configBytesMax)
    throw new Error(`its settings are larger than ${configBytesMax} bytes`);
  const config = checkedConfig(given, dataFolder);
  if (present === undefined) return { text: given, config };
  const edits = ofDevice.flatMap(({ section, key }) => {
    const value = keptValue(key, present);
    return isDeepStrictEqual(value, keptValue(key, config)) ? [] : [{ section, key, value }];
  });
  const edited = editToml(given, edits);
  if (edited.kind === "refused")
    throw new Error(
      `${edited.edit.section}.${edited.edit.key} is written in a way that a program cannot change, and this device needs its own value`,
    );
  return { text: edited.text, config: checkedConfig(edited.text, dataFolder) };
}

/**
 * The settings of this device with those values of the backup that the API can change. A restore over the network uses
 * them, because not even an owner may change over the network which programs run, or who has access.
 */
async function settingsByApi(given: string, { configPath, dataFolder }: BackupPlaces) {
  if (Buffer.byteLength(given) > configBytesMax)
    throw new Error(`its settings are larger than ${configBytesMax} bytes`);
  const wanted = checkedConfig(given, dataFolder);
  const before = (await ifThere(readFile(configPath, "utf8"))) ?? "";
  const present = checkedConfig(before, dataFolder);
  const values = apiSettings().flatMap(({ section, key, api }) => {
    const value = valueIn(wanted, section, key);
    return isDeepStrictEqual(value, valueIn(present, section, key)) ? [] : [[api, value] as const];
  });
  const edited = editToml(before, editsOf(Object.fromEntries(values)));
  if (edited.kind === "refused")
    throw new Error(
      `${edited.edit.section}.${edited.edit.key} is written on this device in a way that a program cannot change`,
    );
  const config = checkedConfig(edited.text, dataFolder);
  const kept = changedSettings(wanted, config).filter(
    (key) => !ofDevice.some((one) => `${one.section}.${one.key}` === key),
  );
  const subject = kept.join(", ");
  const sentence = `these stay as they are here, because only a restore on the device itself changes them: ${subject}`;
  const notes = kept.length === 0 ? [] : [{ code: "settings-kept", subject, sentence } as const];
  return { text: edited.text, config, notes };
}

function apiSettings() {
  const sections: Readonly<Record<string, Readonly<Record<string, { readonly api?: string }>>>> =
    settingsTable;
  return Object.entries(sections).flatMap(([section, settings]) =>
    Object.entries(settings).flatMap(([key, { api }]) =>
      // A file that mqtt.password_file names would be sent to the broker that the same backup names.
      api === undefined || section === "mqtt" || isOfDevice(section, key) ? [] : [{ section, key, api }],
    ),
  );
}

function keptValue(key: (typeof ofDevice)[number]["key"], { api, mqtt }: Config) {
  return { port: api.port, listen: api.listen, tls_port: api.tlsPort, id: mqtt.id }[key];
}

function checkedConfig(text: string, dataFolder: string): Config {
  try {
    return configOf(text, "config.toml", dataFolder);
  } catch (error) {
    throw new Error(`its settings have a fault: ${messageOf(error)}`, { cause: error });
  }
}

/** The settings of this device; undefined if they cannot be read. */
export async function presentConfig({ configPath, dataFolder }: BackupPlaces): Promise<Config | undefined> {
  return readConfig(configPath, { dataFolder, mustExist: false }).catch(() => undefined);
}

export function changedSettings(next: Config, present: Config | undefined): readonly string[] {
  if (present === undefined) return [];
  const changed = Object.entries(settingsTable).flatMap(([section, settings]) =>
    Object.keys(settings).flatMap((key) =>
      isDeepStrictEqual(valueIn(next, section, key), valueIn(present, section, key))
        ? []
        : [`${section}.${key}`],
    ),
  );
  return [...changed, ...(isDeepStrictEqual(next.launchers, present.launchers) ? [] : ["launchers"])];
}

function valueIn(config: Config, section: string, key: string): unknown {
  const values: unknown = Object.entries(config).find(([name]) => name === section)?.[1];
  const field =
    { prefer_regions: "prefer", prefer_languages: "prefer", root_folders: "statedRootFolders" }[key] ??
    fieldNameOf(key);
  return isRecord(values) ? values[field] : undefined;
}

/** The paths of the settings that this device does not have. */
export function missingHere({ systems, readers }: Config): readonly BackupNote[] {
  const folders = [...systems.statedRootFolders, ...systems.folders.map(({ folder }) => folder)];
  const ports = readers.connect.map((connection) => /^[^:]*:(\/[^?]*)/.exec(connection)?.[1] ?? "/");
  return [
    ...[...new Set(folders)]
      .filter((path) => !existsSync(path))
      .map((path) => ({
        code: "media-folder-missing" as const,
        subject: path,
        sentence: `this device has no media folder ${path}`,
      })),
    ...ports
      .filter((path) => !existsSync(path))
      .map((path) => ({
        code: "reader-missing" as const,
        subject: path,
        sentence: `this device has no reader at ${path}`,
      })),
  ];
}
