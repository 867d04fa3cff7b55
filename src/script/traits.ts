/**
 * Traits: a part of a script that has `#key=value` and `#key` words only. They are kept with the run, and start nothing. A value is
 * in quotes, or ends at white space; `^` escapes as in other values. `#key` alone has the value `true`. A word of another
 * form turns the part into a path, because file names contain `#`.
 */
import { jsonOf } from "./lexer.ts";
import {
  type Command,
  type Failure,
  failure,
  isCommandEnd,
  isWhiteSpace,
  keyEnd,
  type ScriptSource,
  skipWhiteSpace,
  unescaped,
} from "./syntax.ts";

interface Traits {
  readonly kind: "traits";
  /** The traits, with keys in lower case. */
  readonly traits: readonly (readonly [key: string, value: string])[];
  /** The place of the `||` after the traits, or the end of the script. */
  readonly end: number;
}

/** Parses traits; undefined if a word of the part at `offset` is not a trait. */
export function parseTraits(source: ScriptSource, offset: number): Traits | undefined {
  const { text } = source;
  const traits: (readonly [string, string])[] = [];
  for (let at = offset; ; ) {
    const end = text[at] === "#" ? keyEnd(source, at + 1) : at;
    if (end <= at + 1) return undefined;
    const isFlag = end >= text.length || isWhiteSpace(text[end] ?? "") || isCommandEnd(text, end);
    if (!isFlag && text[end] !== "=") return undefined;
    const value = isFlag ? { text: "true", end } : readWord(source, end + 1);
    if (value === undefined) return undefined;
    traits.push([text.slice(at + 1, end).toLowerCase(), value.text]);
    at = skipWhiteSpace(source, value.end);
    if (at >= text.length || isCommandEnd(text, at)) return { kind: "traits", traits, end: at };
    if (at === value.end) return undefined;
  }
}

/** The traits of `**traits:{"key":"value"}`. A value that is not a text is kept as JSON. */
export function traitsOfJson({ args, options, offset, length }: Command): Traits | Failure {
  const [[json] = []] = args;
  const isJson = args.length === 1 && typeof json === "string" && json.startsWith("{");
  const parsed: unknown = isJson && options.size === 0 ? jsonOf(json) : undefined;
  if (typeof parsed !== "object" || parsed === null)
    return failure('**traits takes JSON, as in **traits:{"key":"value"}, and no options', offset, length);
  const traits = Object.entries(parsed).map(
    ([key, value]) => [key.toLowerCase(), typeof value === "string" ? value : JSON.stringify(value)] as const,
  );
  return { kind: "traits", traits, end: offset + length };
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
