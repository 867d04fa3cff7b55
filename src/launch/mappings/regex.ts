/**
 * Regular expressions of people: RE2's syntax, by an engine whose time is linear in the text whatever the pattern, with
 * bounds on what one may hold of memory and on how many are held ready.
 */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { messageOf } from "../../core/errors.ts";
import { regexesReadyMax, regexMemoryBytesMax, regexRepeatsMax, regexStepsMax } from "../../core/limits.ts";
import { classEnd } from "./literals.ts";

export interface Regexes {
  /** True where the pattern matches any part of the text; false for a pattern that cannot be taken. */
  test(pattern: string, text: string): boolean;
}

/** Expressions compiled when they are first asked for; those not asked for longest are let go first. */
export function createRegexes(readyMax = regexesReadyMax): Regexes {
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
  return { test: (pattern, text) => get(pattern)?.test(text) ?? false };
}

/** Undefined where it cannot be taken: what is stored was checked, but maybe by another version of the engine. */
function compiled(pattern: string): RE2JS | undefined {
  const regex = repeats(pattern) > regexRepeatsMax ? undefined : compileOrSay(pattern);
  if (!(regex instanceof RE2JS) || regex.programSize() > regexStepsMax) return undefined;
  // Beyond this it drops states and makes them anew, or walks the program itself: slower, still linear.
  const { dfa } = regex.re2();
  dfa.stateBudget = regexMemoryBytesMax;
  dfa.memBudget = regexMemoryBytesMax;
  return regex;
}

export interface RegexFault {
  /** In UTF-16 units from the start of the pattern; undefined where the whole pattern is at fault. */
  readonly offset?: number;
  readonly sentence: string;
}

/** What is wrong with a pattern, and where; undefined where it can be taken. */
export function regexFault(pattern: string): RegexFault | undefined {
  if (repeats(pattern) > regexRepeatsMax)
    return { sentence: `the counted repetitions come to more than ${regexRepeatsMax}: make them shorter` };
  const regex = compileOrSay(pattern);
  if (!(regex instanceof RE2JS)) return located(pattern, regex);
  const steps = regex.programSize();
  return steps > regexStepsMax
    ? { sentence: `it takes ${steps} steps, and ${regexStepsMax} is the most: make it shorter` }
    : undefined;
}

/** The counts of `{n,m}` added up: a cheap bound before the engine writes each of them out. */
function repeats(pattern: string): number {
  const counts = pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g);
  return counts.reduce((sum, [, least, most]) => sum + Math.max(Number(least), Number(most ?? 0)), 0);
}

function compileOrSay(pattern: string): RE2JS | RE2JSSyntaxException {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error;
    // Not of the pattern's form, yet of the pattern: an engine that gives up must not take the caller with it.
    return new RE2JSSyntaxException(messageOf(error));
  }
}

function located(pattern: string, error: RE2JSSyntaxException): RegexFault {
  const fragment = error.getPattern() ?? "";
  const offset = offsetOf(pattern, error, fragment);
  const sentence = sentenceOf(error.getDescription(), fragment);
  return offset === undefined ? { sentence } : { offset, sentence };
}

function offsetOf(pattern: string, error: RE2JSSyntaxException, fragment: string): number | undefined {
  const why = error.getDescription();
  if (why.includes("trailing backslash")) return pattern.length - 1;
  if (/closing \)|unexpected \)/.test(why)) return unpairedBracket(pattern);
  if (fragment === "") return undefined;
  // The engine reads from the left: the fault stands where a pattern cut off behind it has the same one already.
  for (let at = pattern.indexOf(fragment); at >= 0; at = pattern.indexOf(fragment, at + 1)) {
    const same = compileOrSay(pattern.slice(0, at + fragment.length));
    if (!(same instanceof RE2JS) && same.getDescription() === why && same.getPattern() === fragment)
      return at;
  }
  const last = pattern.lastIndexOf(fragment);
  return last < 0 ? undefined : last;
}

/** The place of the first `)` that closes nothing, else of the last `(` that nothing closes. */
function unpairedBracket(pattern: string): number | undefined {
  const open: number[] = [];
  for (let at = 0; at < pattern.length; ) {
    const char = pattern[at];
    if (char === "(") open.push(at);
    if (char === ")" && open.pop() === undefined) return at;
    if (char === "\\" && pattern[at + 1] === "Q") {
      const end = pattern.indexOf("\\E", at);
      at = end < 0 ? pattern.length : end + 2;
    } else if (char === "[") at = classEnd(pattern, at) ?? pattern.length;
    else at += char === "\\" ? 2 : 1;
  }
  return open.at(-1);
}

const linear = "for no engine can promise to match them in time";

function sentenceOf(why: string, fragment: string): string {
  if (/^\\([1-9]|k)/.test(fragment)) return `back references such as ${fragment} are not taken, ${linear}`;
  if (/^\(\?(=|!|<=|<!)/.test(fragment))
    return `looking ahead or behind, ${/^\(\?<?[=!]/.exec(fragment)?.[0]}...), is not taken: match the text around it instead`;
  if (fragment.startsWith("(?>"))
    return "atomic groups, (?>...), are not taken: a plain group, (?:...), does the same";
  if (/^[*+?}]\+$/.test(fragment)) return `${fragment} is not taken: one sign of repetition is enough`;
  if (why === "missing closing )")
    return "this bracket is not closed: write ) behind it, or \\( for the sign itself";
  if (why === "unexpected )") return "this bracket closes nothing: write \\) for the sign itself";
  if (why === "missing closing ]")
    return "this [ is not closed: write ] behind it, or \\[ for the sign itself";
  return fragment === "" ? why : `${why}: ${fragment.slice(0, 40)}`;
}
