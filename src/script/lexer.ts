/**
 * The launch script's lexer: one value, from where it begins to where its surroundings say that it ends.
 *
 *   quoted   ' or " as the first character: all up to the same character is kept, white space and separators too
 *   plain    anything else: white space at its ends is dropped, unless it was escaped
 *   ^x       x itself, without any meaning; ^n ^t ^r are the control characters; a ^ at the very end is a ^
 */

export interface Failure {
  readonly kind: "error";
  readonly message: string;
  /** Where the fault stands, in UTF-16 units. */
  readonly offset: number;
  readonly length: number;
}

export interface Value {
  readonly kind: "value";
  /** Quotes and escapes resolved. */
  readonly text: string;
  /** Where its separator stands, or the end of the script. */
  readonly end: number;
}

const controls: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Reads the value that begins at `start`; `endsAt` tells where an unquoted, unescaped separator stands. */
export function lexValue(script: string, start: number, endsAt: (at: number) => boolean): Value | Failure {
  let at = skipWhiteSpace(script, start);
  let text = "";
  let keptLength = 0;
  const take = () => {
    const char = script[at] ?? "";
    const next = script[at + 1];
    const isEscape = char === "^" && next !== undefined;
    text += isEscape ? (controls[next] ?? next) : char;
    at += isEscape ? 2 : 1;
    return isEscape || !isWhiteSpace(char);
  };

  const [open, quote] = [at, script[at]];
  if (quote === '"' || quote === "'") {
    at++;
    while (script[at] !== quote) {
      if (at >= script.length)
        return failure(
          `a quoted text has no end: close it with ${quote}, or write ^${quote}`,
          open,
          at - open,
        );
      if (isExpression(script, at)) return expressionFailure(at);
      take();
    }
    at++;
    keptLength = text.length;
  }
  while (at < script.length && !endsAt(at)) {
    if (isExpression(script, at)) return expressionFailure(at);
    if (take()) keptLength = text.length;
  }
  return { kind: "value", text: text.slice(0, keptLength), end: at };
}

export function skipWhiteSpace(script: string, from: number): number {
  let at = from;
  while (isWhiteSpace(script[at] ?? "x")) at++;
  return at;
}

export function failure(message: string, offset: number, length: number): Failure {
  return { kind: "error", message, offset, length };
}

function isWhiteSpace(char: string): boolean {
  return char.trim() === "";
}

function isExpression(script: string, at: number): boolean {
  return script[at] === "[" && script[at + 1] === "[";
}

function expressionFailure(at: number): Failure {
  return failure("expressions in [[ ]] are not supported yet: for two plain brackets write ^[^[", at, 2);
}
