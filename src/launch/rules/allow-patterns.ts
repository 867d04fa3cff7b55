/** Patterns of the config file, each of which must match a whole text, and the rule `api.allow_launch` for remote launches. */
import { patternsReadyMax, regexStepsMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { createRegexes, isFault, regexFault } from "../../mappings/regex.ts";

/** Reads `rule` at each call, because the owner may change it. An invalid pattern matches nothing and is logged. */
export function createAllowLaunch(
  rule: () => boolean | readonly string[],
  log: Log,
): (text: string) => boolean {
  const patterns = createPatterns();
  let checked: boolean | readonly string[] = false;
  return (text) => {
    const allowed = rule();
    if (typeof allowed === "boolean") return allowed;
    if (allowed !== checked) {
      checked = allowed;
      for (const pattern of allowed) {
        const fault = regexFault(pattern);
        if (fault !== undefined) log.warn("config", `api.allow_launch: ${fault.sentence}`, { pattern });
      }
    }
    const isMatched = (part: string) => allowed.some((pattern) => patterns.test(pattern, part));
    if (!isMatched(text) || leadsUp.test(text) || hasEscapes.test(text)) return false;
    // A pattern for one command allows no further commands after it. A pattern with `||` allows only the number of
    // commands that it names, although its `.*` could match more.
    const parts = text.split("||");
    const isForAll = (pattern: string) =>
      partsNamed(pattern) === parts.length && patterns.test(pattern, text);
    return parts.every(isMatched) || (parts.length > 1 && allowed.some(isForAll));
  };
}

/** The number of commands that a pattern allows: one, and one more for each `\|\|` in it. */
function partsNamed(pattern: string): number {
  return pattern.replaceAll("\\\\", "").split("\\|\\|").length;
}

// Escapes and expressions become other characters when the script runs, and `..` may be among these.
const hasEscapes = /\^|\[\[/;
// `SNES/../Audio/x` matches a pattern for SNES, such as `SNES/.*`.
const leadsUp = /(^|[/\\])\.\.([/\\]|$)/;

/** Compiles patterns at their first use, in an engine of linear time, and evicts the least recently used. */
export function createPatterns(readyMax = patternsReadyMax) {
  const regexes = createRegexes(readyMax, regexStepsMax);
  return {
    /** True if the pattern matches the whole text, with any flags and line ends; false for an invalid pattern. */
    test(pattern: string, text: string): boolean {
      const regex = regexes.get(`\\A(?:${pattern})\\z`);
      return !isFault(regex) && regex.test(text);
    },
  };
}
