/**
 * The lexer of launch scripts: it reads one value up to the separator that the caller names.
 *
 *   quoted   ' or " as the first character: everything up to the same character is kept, with white space and separators
 *   plain    anything else: white space at its ends is dropped, unless it is escaped
 *   ^x       x itself, without any meaning; ^n ^t ^r are the control characters; a ^ at the end of the script is a ^
 *   [[ ]]    an expression, inside quotes too
 *
 * A macro (`input-macro.ts`) is kept as written. Escaped characters, and characters between { and }, do not end the
 * macro. A text to type is also kept as written, and nothing escapes in it. Neither has expressions, so no card presses
 * keys that the text of another card names. A JSON argument, from { to its }, is also kept as written.
 */

import type { Text } from "./expression.ts";
import { parseExpression } from "./expression-parser.ts";
import { braceEnd } from "./input-macro.ts";
import {
  type Failure,
  failure,
  isWhiteSpace,
  type ScriptSource,
  skipWhiteSpace,
  unescaped,
} from "./syntax.ts";

export interface Value {
  readonly kind: "value";
  /** The text with its quotes and escapes resolved. */
  readonly text: Text;
  /** The place of the value's separator, or the end of the script. */
  readonly end: number;
}

/**
 * Reads the value that begins at `start`. `endsAt` returns true at an unquoted, unescaped separator. Where `isKept`
 * returns true, a `^` is a plain character.
 */
export function lexValue(
  source: ScriptSource,
  start: number,
  endsAt: (at: number) => boolean,
  isKept: (at: number) => boolean = () => false,
): Value | Failure {
  const open = skipWhiteSpace(source, start);
  const quote = source.text[open];
  const reading: Reading = { source, pieces: [], at: open, text: "", keptLength: 0 };
  if (quote === '"' || quote === "'") {
    reading.at++;
    while (source.text[reading.at] !== quote) {
      if (reading.at >= source.text.length)
        return failure(
          `a quoted text has no end: close it with ${quote}, or write ^${quote}`,
          open,
          reading.at - open,
        );
      const fault = readPiece(reading);
      if (fault !== undefined) return fault;
    }
    reading.at++;
    reading.keptLength = reading.text.length;
  }
  while (reading.at < source.text.length && !endsAt(reading.at)) {
    const fault = readPiece(reading, isKept(reading.at));
    if (fault !== undefined) return fault;
  }
  const last = reading.text.slice(0, reading.keptLength);
  return { kind: "value", text: last === "" ? reading.pieces : [...reading.pieces, last], end: reading.at };
}

/** Reads the macro that begins at `start`, with white space at its start; `endsAt` as in `lexValue`. */
export function lexMacro(
  source: ScriptSource,
  start: number,
  endsAt: (at: number) => boolean,
): Value | Failure {
  const { text } = source;
  let at = start;
  let keptEnd = start;
  while (at < text.length && !endsAt(at)) {
    const char = text[at] ?? "";
    const end = char === "{" ? braceEnd(text, at) : Math.min(at + (char === "\\" ? 2 : 1), text.length);
    if (end === undefined)
      return failure("a { has no end: close it with }, or write \\{", at, text.length - at);
    source.steps += end - at;
    at = end;
    if (!isWhiteSpace(char)) keptEnd = end;
  }
  return written(text.slice(start, keptEnd), at);
}

/** Reads the text to type that begins at `start`, with all white space; `endsAt` as in `lexValue`. */
export function lexTyped(source: ScriptSource, start: number, endsAt: (at: number) => boolean): Value {
  let at = start;
  while (at < source.text.length && !endsAt(at)) at++;
  source.steps += at - start;
  return written(source.text.slice(start, at), at);
}

/** Reads the JSON object that begins at `open`; `endsAt` as in `lexValue`. */
export function lexJson(
  source: ScriptSource,
  open: number,
  endsAt: (at: number) => boolean,
): Value | Failure {
  const { text } = source;
  const close = jsonEnd(text, open);
  source.steps += (close ?? text.length) - open;
  if (close === undefined)
    return failure("a JSON argument has no end: close it with }, or write ^{", open, text.length - open);
  const json = text.slice(open, close);
  if (jsonOf(json) === undefined)
    return failure("an argument that begins with { is JSON, which this is not: write ^{", open, close - open);
  const end = skipWhiteSpace(source, close);
  if (end < text.length && !endsAt(end))
    return failure("only a comma, options or || may follow a JSON argument", end, 1);
  return written(json, end);
}

/** The place after the } that closes the { at `open`; undefined if there is none. */
function jsonEnd(text: string, open: number): number | undefined {
  let depth = 0;
  let isQuoted = false;
  for (let at = open; at < text.length; at++) {
    const char = text[at];
    if (char === '"') isQuoted = !isQuoted;
    else if (isQuoted && char === "\\") at++;
    else if (!isQuoted && char === "{") depth++;
    else if (!isQuoted && char === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}

/** The value of a JSON text; undefined if the text is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function written(text: string, end: number): Value {
  return { kind: "value", text: text === "" ? [] : [text], end };
}

interface Reading {
  readonly source: ScriptSource;
  readonly pieces: Text[number][];
  at: number;
  text: string;
  /** The length of `text` without white space at its end. */
  keptLength: number;
}

// Characters that can have a meaning in a value; the run between two of them is read at once.
const special = /[\^[|,?&'"]/g;

/** Reads an expression, an escape, or a run of plain characters. */
function readPiece(reading: Reading, isKept = false): Failure | undefined {
  const { source, at } = reading;
  const { text } = source;
  if (text[at] === "[" && text[at + 1] === "[") {
    source.steps += 2;
    const parsed = parseExpression(source, at);
    if (parsed.kind === "error") return parsed;
    if (reading.text !== "") reading.pieces.push(reading.text);
    reading.pieces.push(parsed.expression);
    reading.at = parsed.end;
    reading.text = "";
    reading.keptLength = 0;
    return undefined;
  }
  if (text[at] === "^" && at + 1 < text.length) {
    source.steps += 2;
    reading.text += isKept ? text.slice(at, at + 2) : unescaped(text[at + 1] ?? "");
    reading.at += 2;
    reading.keptLength = reading.text.length;
    return undefined;
  }
  special.lastIndex = at + 1;
  const run = text.slice(at, special.test(text) ? special.lastIndex - 1 : text.length);
  source.steps += run.length;
  reading.at += run.length;
  reading.text += run;
  const kept = run.trimEnd().length;
  if (kept > 0) reading.keptLength = reading.text.length - run.length + kept;
  return undefined;
}
