/** A launch script as text, as lexer and parser read it, and as a tree: commands with their arguments (docs/SCRIPT.md). */
import type { Expression, Text } from "./expression.ts";

export interface ScriptSource {
  readonly text: string;
  /** The number of characters read so far. Tests use it to prove that the work grows linearly with the text. */
  steps: number;
  /** The number of operands and operators in all expressions so far. */
  expressionParts: number;
  /** The expressions so far, by the place of their `[[`, because options that turn out to be text are read twice. */
  readonly expressions: Map<number, ParsedExpression>;
}

export interface ParsedExpression {
  readonly kind: "expression";
  readonly expression: Expression;
  /** The place after the `]]` of the expression. */
  readonly end: number;
}

export function sourceOf(text: string): ScriptSource {
  return { text, steps: 0, expressionParts: 0, expressions: new Map() };
}

export interface Failure {
  readonly kind: "error";
  readonly message: string;
  /** The place of the fault, in UTF-16 units. */
  readonly offset: number;
  readonly length: number;
}

export function failure(message: string, offset: number, length: number): Failure {
  return { kind: "error", message, offset, length };
}

export function skipWhiteSpace(source: ScriptSource, from: number): number {
  let at = from;
  while (at < source.text.length && isWhiteSpace(source.text[at] ?? "")) at++;
  source.steps += at - from + 1;
  return at;
}

export function isWhiteSpace(char: string): boolean {
  // Most characters are printable ASCII, which this comparison excludes quickly.
  return (char <= " " || char > "~") && char.trim() === "";
}

const keyForm = /[a-zA-Z][a-zA-Z0-9_]*/y;

/** The place after the key of an option or a trait at `start`; `start` if there is none. */
export function keyEnd(source: ScriptSource, start: number): number {
  keyForm.lastIndex = start;
  const end = keyForm.test(source.text) ? keyForm.lastIndex : start;
  source.steps += end - start + 1;
  return end;
}

/** True at a `||`, and at a `|` that is the last character of the script. */
export function isCommandEnd(text: string, at: number): boolean {
  return text[at] === "|" && (text[at + 1] ?? "|") === "|";
}

/** The character that `^` and `char` mean. */
export function unescaped(char: string): string {
  if (char === "n") return "\n";
  if (char === "t") return "\t";
  return char === "r" ? "\r" : char;
}

export interface Command {
  /** The name in lower case. */
  readonly name: string;
  readonly args: readonly Text[];
  /** The options `?key=value&key=value`, with keys as written. Of two equal keys the last one counts. */
  readonly options: ReadonlyMap<string, Text>;
  /** The place of the command in the script, in UTF-16 units. */
  readonly offset: number;
  readonly length: number;
}

export type ParsedScript =
  | {
      readonly kind: "script";
      readonly commands: readonly Command[];
      /** The traits `#key=value`, with keys in lower case. Of two equal keys the last one counts. Traits start nothing. */
      readonly traits: ReadonlyMap<string, string>;
    }
  | Failure;
