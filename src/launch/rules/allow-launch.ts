/** What `api.allow_launch` says of a text: nobody may launch it from afar, anybody may, or a pattern matches it as a whole. */
import type { Log } from "../../core/log.ts";
import { regexFault } from "../../mappings/regex.ts";
import { createPatterns } from "../patterns.ts";

/** `rule` is asked each time: the owner may have changed it. A pattern that cannot be taken matches nothing, and the log says so. */
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
    if (!isMatched(text) || leadsUp.test(text) || isWorkedOut.test(text)) return false;
    // A pattern for one command says nothing of those that somebody puts behind it; one that names `||` is for as many as
    // it names, whatever its `.*` could swallow.
    const parts = text.split("||");
    const isForAll = (pattern: string) =>
      partsNamed(pattern) === parts.length && patterns.test(pattern, text);
    return parts.every(isMatched) || (parts.length > 1 && allowed.some(isForAll));
  };
}

/** How many commands a pattern is for: one, and one more for each `\|\|` in it. */
function partsNamed(pattern: string): number {
  return pattern.replaceAll("\\\\", "").split("\\|\\|").length;
}

// Escapes and expressions become other characters when the script runs, `..` among them.
const isWorkedOut = /\^|\[\[/;
// `SNES/../Audio/x` begins as a pattern for SNES may want it.
const leadsUp = /(^|[/\\])\.\.([/\\]|$)/;
