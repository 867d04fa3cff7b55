/**
 * Changes of settings over the API: fields of `settings.update` with their checks, and their places in the config file.
 * Settings that open the device to others have no field, so only the file can change them. Those of the broker have fields for
 * `broker.update`, and `settings.update` does not take them.
 */
import { join } from "node:path";
import { coded, ServiceError } from "../core/errors.ts";
import { SettingError } from "./checks.ts";
import type { Setting } from "./setting.ts";
import { fieldNameOf, type SettingsTable, settingsTable } from "./settings-table.ts";
import type { Config } from "./shape.ts";
import type { SettingEdit, SettingValue } from "./toml-edit.ts";

type Changeable = {
  [Section in keyof SettingsTable]: {
    [Key in keyof SettingsTable[Section]]: SettingsTable[Section][Key] extends Setting<infer Value, infer Api>
      ? { readonly api: Api; readonly value: Value }
      : never;
  }[keyof SettingsTable[Section]];
}[keyof SettingsTable];

/** New values by the `api` field of `settingsTable`; a field that is absent or undefined stays as it is. */
export type SettingsPatch = { readonly [One in Changeable as One["api"]]?: One["value"] | undefined };

interface Field extends Omit<SettingEdit, "value"> {
  readonly check: Setting<unknown, string>["check"];
  /** The name of the field in the API. */
  readonly name: string;
}

const fields: ReadonlyMap<string, Field> = new Map(
  Object.entries(settingsTable).flatMap(([section, settings]) =>
    Object.entries<Setting<unknown, string>>(settings).flatMap(([key, { check, api, apiName }]) =>
      api === undefined ? [] : [[api, { section, key, check, name: apiName ?? api }] as const],
    ),
  ),
);

/** The names of `settings.update` and `playtime.limits.update`, without members of other fields. */
export function changeableSettings(): readonly string[] {
  const names = [...fields.values()].filter(({ section }) => section !== "mqtt").map(({ name }) => name);
  return names.filter((name) => !name.includes("."));
}

/** Checks that depend on other parts of the service. Each returns why a text is invalid; undefined if it is valid. */
interface PatchFaults {
  /** Checks a connection string of a reader. */
  readonly reader: (connection: string) => string | undefined;
  /** Checks the name of a system. */
  readonly system: (name: string) => string | undefined;
}

/**
 * The known fields of a patch, checked as in the config file. Throws `ServiceError("invalid-params")` with the name of an
 * invalid field.
 */
export function checkPatch(patch: SettingsPatch, faults: PatchFaults): SettingsPatch {
  try {
    for (const edit of editsOf(patch)) edit.check(edit.value, edit.name);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw coded("setting-invalid", new ServiceError("invalid-params", error.message, { cause: error }), {
      field: error.key,
    });
  }
  refuseFaults("reader", patch.reader, faults.reader);
  refuseFaults("insertModeBlocklist", patch.insertModeBlocklist, faults.system);
  return stated(patch);
}

function refuseFaults(
  field: string,
  texts: readonly string[] = [],
  faultOf: (text: string) => string | undefined,
): void {
  for (const text of texts) {
    const fault = faultOf(text);
    if (fault === undefined) continue;
    const error = new ServiceError("invalid-params", `${field}: ${fault}`);
    throw field === "reader"
      ? coded("setting-invalid", error, { field })
      : coded("system-unknown", error, { field, name: text });
  }
}

/** One change of the file for each field that the patch states. */
export function editsOf(patch: SettingsPatch): readonly (SettingEdit & Field)[] {
  return Object.entries<SettingValue>(stated(patch)).flatMap(([api, value]) => {
    const field = fields.get(api);
    return field === undefined ? [] : [{ ...field, value }];
  });
}

/** The known fields that have a value. Lists are copied, so the caller cannot change them later. */
function stated(patch: SettingsPatch): SettingsPatch & Readonly<Record<string, SettingValue>> {
  return Object.fromEntries(
    Object.entries(patch).flatMap(([api, value]) =>
      value === undefined || !fields.has(api)
        ? []
        : [[api, typeof value === "object" ? [...value] : value] as const],
    ),
  );
}

/** The config with the patch applied. */
export function withPatch(config: Config, patch: SettingsPatch, dataFolder: string): Config {
  const { rootFolder: roots, ...others } = patch;
  const patched = editsOf(others).reduce<Config>(
    (sum, { section, key, value }) => withValue(sum, section, fieldNameOf(key), value),
    config,
  );
  if (roots === undefined) return patched;
  const rootFolders = roots.length > 0 ? roots : [join(dataFolder, "media")];
  return { ...patched, systems: { ...patched.systems, rootFolders, statedRootFolders: roots } };
}

function withValue(config: Config, section: string, field: string, value: SettingValue): Config {
  const before = Object.entries(config).find(([name]) => name === section)?.[1];
  return { ...config, [section]: { ...before, [field]: value } };
}
