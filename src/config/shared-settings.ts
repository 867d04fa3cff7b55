/** Launchers and limits that a bundle of shared cards brings (docs/FLEET.md). `withShared` joins them to those of a device. */
import { parse } from "@decimalturn/toml-patch";
import { didYouMean } from "../core/text.ts";
import { SettingError, type Table, tableOf } from "./checks.ts";
import { lineOf, tomlFault } from "./read-config.ts";
import { configOfTable } from "./shape.ts";

/** The files of a bundle that hold settings, and the keys that each may state; `true` stands for all keys of a section. */
const kinds = {
  "launchers.toml": { launchers: true },
  "limits.toml": { playtime: true, audio: ["volume_max"] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, true | readonly string[]>>>>;

const takes = {
  "launchers.toml": "[[launchers]]",
  "limits.toml": "[playtime], and volume_max of [audio]",
} as const;

export type SettingsFile = keyof typeof kinds;

export function isSettingsFile(name: string): name is SettingsFile {
  return Object.hasOwn(kinds, name);
}

/** The settings of a file of a bundle. Throws an error whose sentence names the file and the line. */
export function readSharedSettings(name: SettingsFile, source: string): Table {
  const table = treeOf(name, source);
  try {
    allow(name, table, Object.keys(kinds[name]), "");
    for (const [section, keys] of Object.entries<true | readonly string[]>(kinds[name]))
      if (keys !== true) allow(name, tableOf(table[section] ?? {}, section), keys, `${section}.`);
    // The settings are checked like those of a device, so no device has to refuse them.
    configOfTable(table, ["/"]);
    return table;
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new Error(`${name}, line ${lineOf(source, error) ?? 1}: ${error.message}`, { cause: error });
  }
}

/** Most settings are those of a device alone. */
function allow(name: SettingsFile, table: Table, keys: readonly string[], prefix: string): void {
  const wrong = Object.keys(table).find((key) => !keys.includes(key));
  if (wrong === undefined) return;
  const sentence = `${prefix}${wrong} has no place here: this file takes ${takes[name]}${didYouMean(wrong, keys)}`;
  throw new SettingError(`${prefix}${wrong}`, sentence);
}

function treeOf(name: string, source: string): Table {
  try {
    return tableOf(parse(source), name);
  } catch (error) {
    const { line, sentence } = tomlFault(error);
    throw new Error(`${name}, line ${line ?? 1}: ${sentence}`, { cause: error });
  }
}
