/**
 * The files and folders that settings and the service's variables name, by the reach of confined players (`setting.ts`).
 * A place that is named only here needs no line in any other list. A setting states the reach in its entry. A variable
 * `TAPDECK_*` with a full path is hidden unless it is one of `openVariables`.
 */
import { resolve } from "node:path";
import type { LauncherConfig } from "./launcher-settings.ts";
import type { PlayerReach, Setting } from "./setting.ts";
import { fieldNameOf, settingsTable } from "./settings-table.ts";
import type { Config } from "./shape.ts";

type NamedPlaces = Readonly<Record<PlayerReach, readonly string[]>>;

/** The television, USB sticks and saved games (`overrides.ts`). */
const openVariables: readonly string[] = ["TAPDECK_SCREEN", "TAPDECK_REMOVABLE", "TAPDECK_SAVES"];

/** The places of the present settings. They are found again only after a change, because each tap asks for them. */
export function createNamedPlaces(
  config: () => Config,
  environment: Readonly<Record<string, string | undefined>>,
  dataFolder: string,
): () => NamedPlaces {
  const find = (of: Config) => ({ of, places: namedPlaces(of, environment, dataFolder) });
  let found: ReturnType<typeof find> | undefined;
  return () => {
    const now = config();
    if (found?.of !== now) found = find(now);
    return found.places;
  };
}

/** Absolute paths, which may have links, and may not exist. */
export function namedPlaces(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  dataFolder: string,
): NamedPlaces {
  const all = [...ofSettings(config), ...ofVariables(environment), ...config.launchers.flatMap(ofLauncher)];
  const those = (reach: PlayerReach) => [
    ...new Set(all.filter((one) => one.reach === reach).map(({ path }) => resolve(dataFolder, path))),
  ];
  return { hidden: those("hidden"), kept: those("kept"), open: those("open") };
}

interface Named {
  readonly reach: PlayerReach;
  readonly path: string;
}

function ofSettings(config: Config): readonly Named[] {
  const sections: Readonly<Record<string, unknown>> = { ...config };
  return Object.entries(settingsTable).flatMap(([section, settings]) => {
    const values = new Map(Object.entries(sections[section] ?? {}));
    return Object.entries<Setting<unknown, string>>(settings).flatMap(([key, { check, players }]) => {
      const value = values.get(fieldNameOf(key));
      if (players === undefined || value === undefined) return [];
      return check.placesIn(value).map((path) => ({ reach: players, path }));
    });
  });
}

function ofVariables(environment: Readonly<Record<string, string | undefined>>): readonly Named[] {
  return Object.entries(environment).flatMap(([name, value = ""]) => {
    if (!name.startsWith("TAPDECK_")) return [];
    const reach = openVariables.includes(name) ? "open" : "hidden";
    return value.split(":").flatMap((path) => (path.startsWith("/") ? [{ reach, path } as const] : []));
  });
}

/**
 * Players cannot change the program of a launcher. If the launcher is not confined, players also cannot change the other
 * files of its command, because a script among them has the whole reach of the service.
 */
function ofLauncher({ command, core, folder, isUnconfined }: LauncherConfig): readonly Named[] {
  const programs = isUnconfined ? command : command.slice(0, 1);
  const kept = [...programs, ...(core === undefined ? [] : [core])].filter((word) => word.startsWith("/"));
  return [
    ...kept.map((path) => ({ reach: "kept", path }) as const),
    ...(folder === undefined ? [] : [{ reach: "open", path: folder } as const]),
  ];
}
