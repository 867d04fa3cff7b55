/**
 * Settings that the environment states, for as long as the service runs; the file is not changed. The first takes the place
 * of what the config file says, and the file counts again once the variable is gone. The second counts where the file says
 * nothing.
 *
 *   TAPDECK_ANONYMOUS   api.anonymous; the image sets it where `tapdeck.conf` has a line `anonymous=`
 *   TAPDECK_SAVES       retroarch.saves; the image sets it to a folder of its data partition
 */
import { exitCodes, StartError } from "../core/errors.ts";
import { Refusal } from "./checks.ts";
import { sections } from "./keys.ts";
import type { Config } from "./shape.ts";

export interface Overrides {
  readonly anonymous?: Config["api"]["anonymous"];
  readonly saves?: string;
}

const variable = "TAPDECK_ANONYMOUS";
const savesVariable = "TAPDECK_SAVES";

/** Throws `StartError` with exit code 78 where a variable has a value that the setting does not take. */
export function overridesOf(environment: Readonly<Record<string, string | undefined>>): Overrides {
  const { [variable]: anonymous = "", [savesVariable]: saves = "" } = environment;
  try {
    return {
      ...(anonymous === "" ? {} : { anonymous: sections.api.anonymous(anonymous, variable) }),
      ...(saves === "" ? {} : { saves: sections.retroarch.saves(saves, savesVariable) }),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartError(exitCodes.config, `in the environment, ${error.message}`, error);
  }
}

export function withOverrides(config: Config, { anonymous, saves }: Overrides): Config {
  return {
    ...config,
    api: anonymous === undefined ? config.api : { ...config.api, anonymous },
    retroarch: saves === undefined ? config.retroarch : { saves, ...config.retroarch },
  };
}

/** A sentence for the log; undefined where nothing is overridden. */
export function overrideSentence({ anonymous }: Overrides): string | undefined {
  return anonymous === undefined ? undefined : `${variable} takes the place of api.anonymous`;
}
