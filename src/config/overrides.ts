/**
 * Settings from environment variables, for one run of the service; the config file is not changed. `anonymous` and
 * `removable` override the file. `saves` applies only if the file does not set it.
 *
 *   TAPDECK_ANONYMOUS   api.anonymous; the image sets it if `tapdeck.conf` has a line `anonymous=`
 *   TAPDECK_REMOVABLE   systems.removable_folders, joined by colons; the image sets it to the folder for USB sticks
 *   TAPDECK_SAVES       retroarch.saves; the image sets it to a folder of its data partition
 */
import { exitCodes, StartError } from "../core/errors.ts";
import { SettingError } from "./checks.ts";
import { settingsTable } from "./settings-table.ts";
import type { Config } from "./shape.ts";

export interface Overrides {
  readonly anonymous?: Config["api"]["anonymous"];
  readonly removable?: readonly string[];
  readonly saves?: string;
}

const variables = {
  anonymous: "TAPDECK_ANONYMOUS",
  removable: "TAPDECK_REMOVABLE",
  saves: "TAPDECK_SAVES",
} as const;

/** Throws `StartError` with exit code 78 if the value of a variable is invalid. */
export function overridesOf(environment: Readonly<Record<string, string | undefined>>): Overrides {
  const stated = (name: keyof typeof variables) => environment[variables[name]] ?? "";
  const [anonymous, removable, saves] = [stated("anonymous"), stated("removable"), stated("saves")];
  const { api, systems, retroarch } = settingsTable;
  try {
    return {
      ...(anonymous === "" ? {} : { anonymous: api.anonymous.check(anonymous, variables.anonymous) }),
      ...(removable === ""
        ? {}
        : { removable: systems.removable_folders.check(removable.split(":"), variables.removable) }),
      ...(saves === "" ? {} : { saves: retroarch.saves.check(saves, variables.saves) }),
    };
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new StartError(exitCodes.config, `in the environment, ${error.message}`, error);
  }
}

export function withOverrides(config: Config, { anonymous, removable, saves }: Overrides): Config {
  return {
    ...config,
    ...(anonymous === undefined ? {} : { api: { ...config.api, anonymous } }),
    ...(removable === undefined ? {} : { systems: { ...config.systems, removableFolders: removable } }),
    ...(saves === undefined ? {} : { retroarch: { saves, ...config.retroarch } }),
  };
}

/** A sentence for the log; undefined if nothing is overridden. */
export function overrideSentence({ anonymous, removable }: Overrides): string | undefined {
  const said = [
    ...(anonymous === undefined ? [] : [`${variables.anonymous} takes the place of api.anonymous`]),
    ...(removable === undefined
      ? []
      : [`${variables.removable} takes the place of systems.removable_folders`]),
  ];
  return said.length === 0 ? undefined : said.join(", ");
}
