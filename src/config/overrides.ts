/**
 * Settings from environment variables, for one run of the service; the config file is not changed. `anonymous` and
 * `removable` override the file. `saves` and `time_zone` apply only if the file does not set them.
 *
 *   TAPDECK_ANONYMOUS   api.anonymous; the image sets it if `tapdeck.conf` has a line `anonymous=`
 *   TAPDECK_REMOVABLE   systems.removable_folders, joined by colons; the image sets it to the folder for USB sticks
 *   TAPDECK_SAVES       retroarch.saves; the image sets it to a folder of its data partition
 *   TAPDECK_TIME_ZONE   device.time_zone; the image sets it if `tapdeck.conf` has a line `time_zone=`. An invalid one is reported.
 *   TAPDECK_SITE ...    `confWords`; the image sets those that `tapdeck.conf` has. They override the file, and an invalid one is
 *                       left out and reported, because a card with a mistake must still start.
 */
import { exitCodes, StartError } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import { SettingError } from "./checks.ts";
import type { Setting } from "./setting.ts";
import { fieldNameOf, settingsTable } from "./settings-table.ts";
import type { Config } from "./shape.ts";

/** The settings that each word of `tapdeck.conf` for fleets and for the screen sets, by section and key. */
const confWords: Readonly<Record<string, readonly (readonly [section: string, key: string])[]>> = {
  rotation: [["television", "rotation"]],
  overscan: [["television", "overscan"]],
  site: [["device", "site"]],
  metrics: [["api", "metrics"]],
  mqtt_url: [["mqtt", "url"]],
  mqtt_user: [["mqtt", "user"]],
  mqtt_password_file: [["mqtt", "password_file"]],
  mqtt_discovery: [["mqtt", "discovery"]],
  mqtt_role: [["mqtt", "role"]],
  hawkbit_url: [["fleet", "hawkbit_url"]],
  token_file: [["fleet", "token_file"]],
  update_url: [["update", "url"]],
  cards_url: [["cards", "url"]],
  cards_key: [["cards", "key"]],
  ca_file: [
    ["mqtt", "ca"],
    ["fleet", "ca_file"],
    ["cards", "ca_file"],
  ],
  certificate_file: [
    ["mqtt", "certificate"],
    ["fleet", "certificate_file"],
  ],
  key_file: [
    ["mqtt", "key"],
    ["fleet", "key_file"],
  ],
};

interface FleetOverride {
  readonly section: string;
  readonly field: string;
  readonly value: unknown;
}

export interface Overrides {
  readonly fleet?: readonly FleetOverride[];
  /** The reasons why some variables are left out. */
  readonly faults?: readonly Fault[];
  readonly anonymous?: Config["api"]["anonymous"];
  readonly removable?: readonly string[];
  readonly saves?: string;
  readonly timeZone?: string;
}

const variables = {
  anonymous: "TAPDECK_ANONYMOUS",
  removable: "TAPDECK_REMOVABLE",
  saves: "TAPDECK_SAVES",
} as const;

type Environment = Readonly<Record<string, string | undefined>>;

const variableOf = (word: string) => `TAPDECK_${word.toUpperCase()}`;

function fleetOverrides(environment: Environment): Overrides {
  const { fleet, faults, timeZone } = readFleetWords(environment);
  return {
    ...(timeZone === "" ? {} : { timeZone }),
    ...(fleet.length === 0 ? {} : { fleet }),
    ...(faults.length === 0 ? {} : { faults: faults.map((why) => faultOf("override-invalid", { why })) }),
  };
}

/**
 * The reason why the service would leave out this word of `tapdeck.conf`; empty if the service uses the word, or does not
 * read it.
 */
export function fleetWordFaults(word: string, value: string): readonly string[] {
  return readFleetWords({ [variableOf(word)]: value }).faults;
}

function readFleetWords(environment: Environment) {
  const fleet: FleetOverride[] = [];
  const faults: string[] = [];
  const sections: Readonly<Record<string, Readonly<Record<string, Setting<unknown, string>>>>> =
    settingsTable;
  for (const [word, keys] of Object.entries(confWords)) {
    const stated = environment[variableOf(word)] ?? "";
    for (const [section, key] of stated === "" ? [] : keys) {
      const setting = sections[section]?.[key];
      if (setting === undefined) continue;
      try {
        const value = setting.check(typedAs(stated, setting.default), word);
        fleet.push({ section, field: fieldNameOf(key), value });
      } catch (error) {
        if (!(error instanceof SettingError)) throw error;
        faults.push(error.message);
      }
    }
  }
  return { fleet, faults, timeZone: timeZoneOf(environment, faults) };
}

/** The time zone of the environment; empty if there is none. An invalid one is also empty, and its fault goes to `faults`. */
function timeZoneOf(environment: Environment, faults: string[]): string {
  const stated = environment[variableOf("time_zone")] ?? "";
  try {
    return settingsTable.device.time_zone.check(stated, "time_zone");
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    faults.push(error.message);
    return "";
  }
}

/** The word as a value of the kind that the setting has. The setting's check refuses a wrong kind. */
function typedAs(stated: string, standard: unknown): unknown {
  if (typeof standard === "number") return /^\d+$/.test(stated) ? Number(stated) : stated;
  if (typeof standard !== "boolean") return stated;
  return stated === "yes" ? true : stated === "no" ? false : stated;
}

/** Throws `StartError` with exit code 78 if the value of a variable is invalid. */
export function overridesOf(environment: Environment): Overrides {
  const stated = (name: keyof typeof variables) => environment[variables[name]] ?? "";
  const anonymous = stated("anonymous");
  const removable = stated("removable");
  const saves = stated("saves");
  const { api, systems, retroarch } = settingsTable;
  try {
    return {
      ...fleetOverrides(environment),
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

export function withOverrides(config: Config, overrides: Overrides): Config {
  const { anonymous, removable, saves, timeZone, fleet = [] } = overrides;
  const forced = Object.entries(config).map(([name, section]) => {
    const own = fleet.filter((one) => one.section === name).map(({ field, value }) => [field, value]);
    return [name, own.length === 0 ? section : { ...section, ...Object.fromEntries(own) }];
  });
  const sections: Config = { ...config, ...Object.fromEntries(forced) };
  const { device } = sections;
  return {
    ...sections,
    device: { ...device, timeZone: device.timeZone || (timeZone ?? "") },
    ...(anonymous === undefined ? {} : { api: { ...sections.api, anonymous } }),
    ...(removable === undefined ? {} : { systems: { ...config.systems, removableFolders: removable } }),
    ...(saves === undefined ? {} : { retroarch: { saves, ...config.retroarch } }),
  };
}

/** A sentence for the log; undefined if nothing is overridden. */
export function overrideSentence({ anonymous, removable, fleet = [] }: Overrides): string | undefined {
  const said = [
    ...(anonymous === undefined ? [] : [`${variables.anonymous} takes the place of api.anonymous`]),
    ...(removable === undefined
      ? []
      : [`${variables.removable} takes the place of systems.removable_folders`]),
    ...(fleet.length === 0 ? [] : ["settings are those of tapdeck.conf"]),
  ];
  return said.length === 0 ? undefined : said.join(", ");
}
