/** Patterns of the config file, one of which must match a whole text: by an engine whose time is linear in the text. */
import type { RE2JS } from "re2js";
import { patternMemoryBytesMax, patternsReadyMax } from "../core/limits.ts";
import { compileRegex } from "../mappings/regex.ts";

export interface Patterns {
  /** True where the pattern matches the whole text, whatever flags and lines there are; false for one that cannot be taken. */
  test(pattern: string, text: string): boolean;
}

/** Patterns compiled when they are first asked for; those not asked for longest are let go first. */
export function createPatterns(readyMax = patternsReadyMax): Patterns {
  const ready = new Map<string, RE2JS | undefined>();
  const get = (pattern: string): RE2JS | undefined => {
    const known = ready.get(pattern);
    if (known === undefined && !ready.has(pattern) && ready.size >= readyMax) {
      const oldest = ready.keys().next();
      if (!oldest.done) ready.delete(oldest.value);
    }
    const regex = known ?? (ready.has(pattern) ? undefined : compiled(pattern));
    ready.delete(pattern);
    ready.set(pattern, regex);
    return regex;
  };
  return { test: (pattern, text) => get(`\\A(?:${pattern})\\z`)?.test(text) ?? false };
}

function compiled(pattern: string): RE2JS | undefined {
  const regex = compileRegex(pattern);
  if ("sentence" in regex) return undefined;
  // Beyond this it drops states and makes them again, or walks the program itself: slower, still linear.
  const { dfa } = regex.re2();
  dfa.stateBudget = patternMemoryBytesMax;
  dfa.memBudget = patternMemoryBytesMax;
  return regex;
}
