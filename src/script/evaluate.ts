/**
 * Evaluates expressions. The parser bounds the size and depth of a tree, and the evaluation reads only the given facts. The
 * result is text, and is never parsed as script again.
 */
import { ServiceError } from "../core/errors.ts";
import { scriptBytesMax } from "../core/limits.ts";
import type { Expression, Facts } from "./expression.ts";
import type { Text } from "./syntax.ts";

type Value = string | number | boolean;

/** Throws `ServiceError("failed")` if a text becomes longer than `scriptBytesMax` UTF-16 units. */
export function evaluate(expression: Expression, facts: Facts): Value {
  switch (expression.kind) {
    case "text":
    case "number":
    case "flag":
      return expression.value;
    case "variable":
      return facts[expression.name];
    case "not":
      return !evaluate(expression.of, facts);
    case "binary":
      return evaluateBinary(expression, facts);
  }
}

function evaluateBinary(
  { operator, left, right }: Extract<Expression, { kind: "binary" }>,
  facts: Facts,
): Value {
  const first = evaluate(left, facts);
  if (operator === "&&" && first === false) return false;
  if (operator === "||" && first === true) return true;
  const second = evaluate(right, facts);
  switch (operator) {
    case "&&":
    case "||":
      return second;
    case "==":
      return first === second;
    case "!=":
      return first !== second;
    case "<":
      return compare(first, second) < 0;
    case ">":
      return compare(first, second) > 0;
    case "+":
      return typeof first === "number" && typeof second === "number"
        ? first + second
        : bounded(shown(first) + shown(second));
  }
}

/** Replaces the expressions in a text by their values. Throws as `evaluate` does. */
export function fill(text: Text, facts: Facts): string {
  let filled = "";
  for (const piece of text) {
    filled += typeof piece === "string" ? piece : shown(evaluate(piece, facts));
    bounded(filled);
  }
  return filled;
}

function bounded(text: string): string {
  if (text.length > scriptBytesMax)
    throw new ServiceError("failed", `an expression comes to more than ${scriptBytesMax} characters`);
  return text;
}

// Twelve digits show 0.1 + 0.2 as 0.3.
function shown(value: Value): string {
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value);
}

/**
 * Compares numbers by value, and texts in natural order: runs of digits as numbers, so that 1.10.0 follows 1.9.0, and all
 * other characters by their UTF-16 units.
 */
function compare(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [first, second] = [runs(String(a)), runs(String(b))];
  for (let place = 0; ; place++) {
    const [one, other] = [first[place], second[place]];
    if (one === undefined || other === undefined) return first.length - second.length;
    const order = compareRuns(one, other);
    if (order !== 0) return order;
  }
}

function runs(text: string): readonly string[] {
  return text.match(/[0-9]+|[^0-9]/g) ?? [];
}

function compareRuns(a: string, b: string): number {
  const [first, second] = [a, b].map((run) => run.replace(/^0+(?=[0-9])/, ""));
  if (first === undefined || second === undefined || first === second) return 0;
  const bothNumbers = /^[0-9]/.test(first) && /^[0-9]/.test(second);
  if (bothNumbers && first.length !== second.length) return first.length - second.length;
  return first < second ? -1 : 1;
}
