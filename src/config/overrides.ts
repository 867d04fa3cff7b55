/**
 * Settings that the environment states. They take the place of what the config file says, for as long as the service runs;
 * the file is not changed, and counts again once the variable is gone.
 *
 *   TAPDECK_ANONYMOUS   api.anonymous; the image sets it where `tapdeck.conf` has a line `anonymous=`
 */
import { exitCodes, StartError } from "../core/errors.ts";
import { Refusal } from "./checks.ts";
import { sections } from "./keys.ts";
import type { Config } from "./shape.ts";

export interface Overrides {
  readonly anonymous?: Config["api"]["anonymous"];
}

const variable = "TAPDECK_ANONYMOUS";

/** Throws `StartError` with exit code 78 where a variable has a value that the setting does not take. */
export function overridesOf(environment: Readonly<Record<string, string | undefined>>): Overrides {
  const { [variable]: anonymous } = environment;
  if (anonymous === undefined || anonymous === "") return {};
  try {
    return { anonymous: sections.api.anonymous(anonymous, variable) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartError(exitCodes.config, `in the environment, ${error.message}`, error);
  }
}

export function withOverrides(config: Config, { anonymous }: Overrides): Config {
  return anonymous === undefined ? config : { ...config, api: { ...config.api, anonymous } };
}

/** A sentence for the log; undefined where nothing is overridden. */
export function overrideSentence({ anonymous }: Overrides): string | undefined {
  return anonymous === undefined ? undefined : `${variable} takes the place of api.anonymous`;
}
