/** The config as the service holds it, and its making from the parsed file. */

import { launchersMax } from "../core/limits.ts";
import type { MediaFolders, TitlePreferences } from "../core/media.ts";
import { isRecord } from "../core/text.ts";
import { type ButtonConfig, buttonsOf } from "./button-settings.ts";
import { known, type Table, tableOf } from "./checks.ts";
import { type LauncherConfig, launchersOf } from "./launcher-settings.ts";
import type { Setting } from "./setting.ts";
import { type FieldName, fieldNameOf, type SettingsTable, settingsTable } from "./settings-table.ts";

type Sections = {
  readonly [Section in keyof SettingsTable]: {
    readonly [Key in keyof SettingsTable[Section] as FieldName<
      Key & string
    >]: SettingsTable[Section][Key] extends Setting<infer Value, string> ? Value : never;
  };
};

/** The config: each setting of `settingsTable` by section and field name; a few have another form here. */
export interface Config extends Omit<Sections, "systems" | "retroarch" | "hooks"> {
  readonly systems: Pick<Sections["systems"], "folders" | "removableFolders"> & {
    /** Absolute folders that hold media, in order of preference: the file's, or the default. */
    readonly rootFolders: readonly string[];
    /** The root folders that the file states; may be empty. */
    readonly statedRootFolders: readonly string[];
    readonly prefer: TitlePreferences;
  };
  /** `saves` is absent if the settings of RetroArch decide on the folder. */
  readonly retroarch: Omit<Sections["retroarch"], "saves"> & Partial<Pick<Sections["retroarch"], "saves">>;
  readonly hooks: Hooks;
  readonly launchers: readonly LauncherConfig[];
  readonly buttons: readonly ButtonConfig[];
}

/** Limits of play time in minutes; 0 means none. */
export type PlayTimeLimits = Sections["playtime"];

/** Launch scripts that run beside a tap or a launch; each may be absent. */
export type Hooks = Partial<Sections["hooks"]>;

/** The folders of media in the config. */
export function mediaFolders({ systems }: Config): MediaFolders {
  const { rootFolders, folders, removableFolders } = systems;
  return {
    roots: rootFolders,
    own: folders,
    ...(removableFolders.length === 0 ? {} : { removable: removableFolders }),
  };
}

/** The names of systems in launchers and folders. */
export function configuredSystems({ launchers, systems }: Config): readonly string[] {
  return [
    ...launchers.flatMap((launcher) => launcher.systems),
    ...systems.folders.map(({ system }) => system),
  ];
}

/**
 * The config that a parsed file states, with the defaults for the rest, and `defaultRoots` if it states no root folders.
 * Throws `SettingError`.
 */
export function configOfTable(file: unknown, defaultRoots: readonly string[]): Config {
  const table = tableOf(file, "the file");
  known(table, [...Object.keys(settingsTable), "launchers", "buttons"], "");
  const { systems, retroarch, hooks, ...sections } = sectionsOf(table);
  const { rootFolders: stated, preferRegions, preferLanguages, ...folders } = systems;
  const { saves, ...ofRetroArch } = retroarch;
  return {
    ...sections,
    systems: {
      ...folders,
      rootFolders: stated.length > 0 ? stated : defaultRoots,
      statedRootFolders: stated,
      prefer: { regions: preferRegions, languages: preferLanguages },
    },
    retroarch: { ...ofRetroArch, ...(saves === "" ? {} : { saves }) },
    hooks: Object.fromEntries(Object.entries(hooks).filter(([, script]) => script !== "")),
    launchers: launchersOf(table.launchers),
    buttons: buttonsOf(table.buttons),
  };
}

function sectionsOf(table: Table): Sections {
  const stated = Object.keys(settingsTable).map((name) => [name, tableOf(table[name] ?? {}, name)] as const);
  const given = new Map(stated);
  for (const [name, settings] of Object.entries(settingsTable))
    known(given.get(name) ?? {}, Object.keys(settings), `${name}.`);
  const sections = Object.entries(settingsTable).map(([name, settings]) => {
    const values = Object.entries<Setting<unknown, string>>(settings).map(
      ([key, { check, default: usual }]) => {
        const value = given.get(name)?.[key];
        return [fieldNameOf(key), value === undefined ? usual : check(value, `${name}.${key}`)];
      },
    );
    return [name, Object.fromEntries(values)];
  });
  // Each value comes from the check or default of its entry.
  return Object.fromEntries(sections) as Sections;
}

/**
 * The tree of the device's own file with valid settings of others. These are keys that the file does not state, and
 * launchers with ids that it does not have, up to the limit. The result is valid if the file is.
 */
export function withShared(file: unknown, shared: Table): unknown {
  if (!isRecord(file)) return file;
  const { launchers: others = [], ...sections } = shared;
  const own = file.launchers ?? [];
  const merged = Object.entries(sections).map(([name, section]) => {
    const stated = file[name] ?? {};
    return [name, isRecord(stated) && isRecord(section) ? { ...section, ...stated } : stated];
  });
  if (!Array.isArray(own) || !Array.isArray(others)) return { ...file, ...Object.fromEntries(merged) };
  const ids = new Set(own.map((launcher) => (isRecord(launcher) ? launcher.id : undefined)));
  const fresh = others.filter((launcher) => isRecord(launcher) && !ids.has(launcher.id));
  const launchers = [...own, ...fresh.slice(0, Math.max(0, launchersMax - own.length))];
  return { ...file, ...Object.fromEntries(merged), ...(launchers.length === 0 ? {} : { launchers }) };
}
