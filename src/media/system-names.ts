/** Whether a name that somebody gives stands for a system. */
import { didYouMean } from "../core/text.ts";
import { knownSystems, systemByName } from "./systems.ts";

// Longer than every name of a system.
const shownCharsMax = 64;

/**
 * Says why a name stands for no system; undefined where the table has it in any of its spellings, or where it is one of
 * `configured`, the names that the config gives to systems of its own.
 */
export function systemFault(name: string, configured: readonly string[]): string | undefined {
  const isConfigured = configured.some((one) => one.toLowerCase() === name.toLowerCase());
  if (isConfigured || systemByName(name) !== undefined) return undefined;
  const shown = name.slice(0, shownCharsMax);
  const names = [...configured, ...knownSystems().map(({ id }) => id)];
  return `there is no system ${shown}${didYouMean(shown, names)}`;
}
