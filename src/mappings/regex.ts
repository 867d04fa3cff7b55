/** Regular expressions of users, in RE2's syntax: an engine of linear time, with limits for its work and memory. */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { messageOf } from "../core/errors.ts";
import {
  mappingRegexStepsMax,
  regexMappingsMax,
  regexMemoryBytesMax,
  regexPropertiesMax,
  regexStepsMax,
  regexWrittenOutMax,
} from "../core/limits.ts";

export type Regexes = ReturnType<typeof createRegexes>;

// Three full sets: the mappings of the database, those of the files, and those of files that are about to replace them.
const mappingRegexesReadyMax = 3 * regexMappingsMax;

/** Compiles each expression once, and evicts the least recently used. */
export function createRegexes(readyMax = mappingRegexesReadyMax, stepsMax = mappingRegexStepsMax) {
  const ready = new Map<string, RE2JS | RegexFault>();
  return {
    /** The compiled expression, or its fault. */
    get(pattern: string): RE2JS | RegexFault {
      const regex = ready.get(pattern) ?? compileRegex(pattern, stepsMax);
      ready.delete(pattern);
      const [oldest] = ready.keys();
      if (ready.size >= readyMax && oldest !== undefined) ready.delete(oldest);
      ready.set(pattern, regex);
      return regex;
    },
  };
}

export function isFault(regex: RE2JS | RegexFault): regex is RegexFault {
  return "sentence" in regex;
}

interface RegexFault {
  /** The place of the fault in UTF-16 units from the start of the pattern; undefined if the whole pattern is at fault. */
  readonly offset?: number;
  readonly sentence: string;
}

/** The fault of a pattern; undefined if it has none. */
export function regexFault(pattern: string): RegexFault | undefined {
  const regex = compileRegex(pattern, regexStepsMax);
  return isFault(regex) ? regex : undefined;
}

function compileRegex(pattern: string, stepsMax: number): RE2JS | RegexFault {
  if (writtenOut(pattern) > regexWrittenOutMax)
    return {
      sentence: `the counted repetitions come to more than ${regexWrittenOutMax} steps: make them shorter`,
    };
  if ((pattern.match(/\\[pP]/g)?.length ?? 0) > regexPropertiesMax)
    return { sentence: `it has more than ${regexPropertiesMax} classes such as \\pL: use fewer` };
  const regex = compileOrSay(pattern);
  if (!(regex instanceof RE2JS)) return located(pattern, regex);
  const steps = regex.programSize();
  if (steps > stepsMax)
    return { sentence: `it takes ${steps} steps, and ${stepsMax} is the most: make it shorter` };
  // Beyond this budget the engine drops states and computes them again, which is slower but still linear.
  const { dfa } = regex.re2();
  dfa.stateBudget = regexMemoryBytesMax;
  dfa.memBudget = regexMemoryBytesMax;
  return regex;
}

/** Estimates the steps of a pattern with its counted repetitions written out, before the engine does that. */
function writtenOut(pattern: string): number {
  // The steps of each open group so far, the outermost first.
  const open = [0];
  let last = 0;
  const add = (steps: number) => open.push((open.pop() ?? 0) + steps);
  const form = /\\x\{[^}\\]*\}|\\[pP]\{[^}\\]*\}|\\[\s\S]|\{(\d+)(?:,(\d*))?\}|[\s\S]/y;
  for (let at = 0; at < pattern.length; at = form.lastIndex) {
    form.lastIndex = at;
    const [part = "", least, most] = form.exec(pattern) ?? [];
    if (least !== undefined) {
      const times = Math.max(1, Number(least), Number(most ?? 0));
      add(last * (times - 1));
      last *= times;
    } else if (part === "(") open.push(0);
    else if (part === ")" && open.length > 1) {
      last = (open.pop() ?? 0) + 2;
      add(last);
    } else {
      last = 1;
      add(1);
      if (part === "[") form.lastIndex = classEnd(pattern, at) ?? pattern.length;
    }
  }
  return open.reduce((sum, steps) => sum + steps, 0);
}

function compileOrSay(pattern: string): RE2JS | RE2JSSyntaxException {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error;
    // The engine gave up for another reason, which must not be an error for the caller.
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
  // The engine reads from the left, so the pattern up to the fault has the same fault.
  let at = pattern.indexOf(fragment);
  for (let tries = 0; at >= 0 && tries < placesTriedMax; at = pattern.indexOf(fragment, at + 1), tries++) {
    const same = compileOrSay(pattern.slice(0, at + fragment.length));
    if (!(same instanceof RE2JS) && same.getDescription() === why && same.getPattern() === fragment)
      return at;
  }
  const last = pattern.lastIndexOf(fragment);
  return last < 0 ? undefined : last;
}

// Each try compiles a pattern, which takes some milliseconds.
const placesTriedMax = 4;

/** The place of the first `)` that closes nothing, otherwise of the last `(` that nothing closes. */
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

/** The place after the class `[...]` at `start`; undefined if it does not end. */
function classEnd(pattern: string, start: number): number | undefined {
  const form = /\[\^?\]?(?:\\[\s\S]|\[:\^?[a-z]*:\]|[^\]\\])*\]/y;
  form.lastIndex = start;
  return form.test(pattern) ? form.lastIndex : undefined;
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
    return "this bracket is not closed: write ) after it, or \\( for the sign itself";
  if (why === "unexpected )") return "this bracket closes nothing: write \\) for the sign itself";
  if (why === "missing closing ]")
    return "this [ is not closed: write ] after it, or \\[ for the sign itself";
  return fragment === "" ? why : `${why}: ${fragment.slice(0, 40)}`;
}
