/** One entry of `settingsTable`: its check and default, its field of the API, and its comment in the template. */
import type { Check } from "./checks.ts";

interface Facts<T, Api extends string> {
  readonly check: Check<T>;
  readonly default: NoInfer<T>;
  /** The default in TOML, if that is not the value's own form. */
  readonly literal?: string;
  /** The field of `SettingsPatch`; a setting without it can be changed in the file only. */
  readonly api?: Api;
  /** The name of that field in the API, if it is another. */
  readonly apiName?: string;
}

export interface Setting<T, Api extends string> extends Facts<T, Api> {
  /** The lines of its comment in the template. */
  readonly docs: readonly string[];
}

export function setting<T, const Api extends string = never>(
  facts: Facts<T, Api>,
  docs: readonly string[],
): Setting<T, Api> {
  return { ...facts, docs };
}
