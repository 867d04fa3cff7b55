/**
 * Traits: a part of a script that has `#key=value` words only. They are kept with the run, and start nothing. A value is in
 * quotes, or ends at white space; `^` escapes as in other values. A word of another form makes the part a path, because file
 * names contain `#`.
 */
import {
  isCommandEnd,
  isWhiteSpace,
  keyEnd,
  type ScriptSource,
  skipWhiteSpace,
  unescaped,
} from "./syntax.ts";

interface Traits {
  readonly kind: "traits";
  /** Keys in lower case. */
  readonly traits: readonly (readonly [key: string, value: string])[];
  /** The place of the `||` after them, or the end of the script. */
  readonly end: number;
}

/** Returns undefined if a word of the part at `offset` is not a trait. */
export function parseTraits(source: ScriptSource, offset: number): Traits | undefined {
  const { text } = source;
  const traits: (readonly [string, string])[] = [];
  for (let at = offset; ; ) {
    const end = text[at] === "#" ? keyEnd(source, at + 1) : at;
    if (end <= at + 1 || text[end] !== "=") return undefined;
    const value = readWord(source, end + 1);
    if (value === undefined) return undefined;
    traits.push([text.slice(at + 1, end).toLowerCase(), value.text]);
    at = skipWhiteSpace(source, value.end);
    if (at >= text.length || isCommandEnd(text, at)) return { kind: "traits", traits, end: at };
    if (at === value.end) return undefined;
  }
}

/** Reads up to the closing quote, or up to white space; undefined if the quote is not closed. */
function readWord(source: ScriptSource, start: number) {
  const { text } = source;
  const quote = ['"', "'"].find((one) => one === text[start]);
  let word = "";
  let at = quote === undefined ? start : start + 1;
  const isOver = () =>
    quote === undefined ? isWhiteSpace(text[at] ?? "") || isCommandEnd(text, at) : text[at] === quote;
  for (; at < text.length && !isOver(); at++) {
    const isEscape = text[at] === "^" && at + 1 < text.length;
    if (isEscape) at++;
    word += isEscape ? unescaped(text[at] ?? "") : text[at];
  }
  source.steps += at - start;
  if (quote === undefined) return { text: word, end: at };
  return at < text.length ? { text: word, end: at + 1 } : undefined;
}
