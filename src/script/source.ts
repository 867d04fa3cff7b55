/** The text that lexer and parser read, and how they say that something in it is wrong. */
import type { Expression } from "./expression.ts";

export interface Source {
  readonly text: string;
  /** Characters looked at so far. It grows with the length of the text and no faster, whatever the text: tests count it. */
  steps: number;
  /** Operands and operators of all expressions read so far. */
  expressionParts: number;
  /** The expressions read so far, by where they open: options that break off are read twice. */
  readonly expressions: Map<number, ParsedExpression>;
}

export interface ParsedExpression {
  readonly kind: "expression";
  readonly expression: Expression;
  /** Behind its `]]`. */
  readonly end: number;
}

export function sourceOf(text: string): Source {
  return { text, steps: 0, expressionParts: 0, expressions: new Map() };
}

export interface Failure {
  readonly kind: "error";
  readonly message: string;
  /** Where the fault stands, in UTF-16 units. */
  readonly offset: number;
  readonly length: number;
}

export function failure(message: string, offset: number, length: number): Failure {
  return { kind: "error", message, offset, length };
}

export function skipWhiteSpace(source: Source, from: number): number {
  let at = from;
  while (at < source.text.length && isWhiteSpace(source.text[at] ?? "")) at++;
  source.steps += at - from + 1;
  return at;
}

export function isWhiteSpace(char: string): boolean {
  // Most are letters of ASCII, and quickly told.
  return (char <= " " || char > "~") && char.trim() === "";
}

/** The character that `^` and `char` stand for. */
export function unescaped(char: string): string {
  if (char === "n") return "\n";
  if (char === "t") return "\t";
  return char === "r" ? "\r" : char;
}
