/** One entry of `settingsTable`: its check and default, its field of the API, and its comment in the template. */
import type { Check, PlaceCheck } from "./checks.ts";

/**
 * The reach of a confined player into a place that a setting names. With "hidden" the player can neither read nor change
 * it, and with "kept" it cannot change it. "open" means that the place is for players.
 */
export type PlayerReach = "hidden" | "kept" | "open";

interface Facts<T, Api extends string> {
  readonly default: NoInfer<T>;
  /** The default in TOML, if that is not the value's own form. */
  readonly literal?: string;
  /** The field of `SettingsPatch`; a setting without it can be changed in the file only. */
  readonly api?: Api;
  /** The name of that field in the API, if it differs. */
  readonly apiName?: string;
}

/** A setting that names files or folders does not compile without the reach of players. */
type Checked<T> =
  | { readonly check: Check<T>; readonly players?: undefined }
  | { readonly check: PlaceCheck<T>; readonly players: PlayerReach };

export type Setting<T, Api extends string> = Facts<T, Api> &
  Checked<T> & {
    /** The lines of its comment in the template. */
    readonly docs: readonly string[];
  };

export function setting<T, const Api extends string = never>(
  facts: Facts<T, Api> & Checked<T>,
  docs: readonly string[],
): Setting<T, Api> {
  return { ...facts, docs };
}
