/** The media index as commands use it: the sentence where there is none, and queries as cards write them. */
import { ServiceError } from "../core/errors.ts";
import type { MediaIndex, NameQuery, ScriptPorts } from "./command.ts";

/** Throws `ServiceError("failed")` where there is no index; `why` says who needs it. */
export function indexOf({ index }: ScriptPorts, why: string): MediaIndex {
  if (index === undefined)
    throw new ServiceError("failed", `there is no media index here, and ${why}: write the path of a file`, {
      isPublic: true,
    });
  return index;
}

/** `System/pattern`, or a pattern for all systems, which may also be called `all`. */
export function queryOf(text: string): NameQuery {
  const slash = text.indexOf("/");
  const [system, pattern] = [text.slice(0, Math.max(0, slash)).trim(), text.slice(slash + 1).trim()];
  if (pattern === "")
    throw new ServiceError("failed", `a search says what to look for, not "${text.slice(0, 64)}"`);
  return system === "" || system.toLowerCase() === "all" ? { pattern } : { system, pattern };
}
