/**
 * What expressions come to. A tree is walked once, its size and depth were bounded when it was read, and nothing but the
 * facts it is given can be reached from it. What comes out is text: it is never read as script again.
 */
import { ServiceError } from "../core/errors.ts";
import { scriptBytesMax } from "../core/limits.ts";
import type { Expression } from "./expression.ts";
import type { Text } from "./tree.ts";
import type { Facts } from "./variables.ts";

type Value = string | number | boolean;

/** Throws `ServiceError("failed")` where a text becomes longer than a script may be, in UTF-16 units. */
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
  // The right-hand side of && and || has no effects, so that leaving it out is a matter of speed alone.
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

/** A text with its expressions worked out. Throws as `evaluate` does. */
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

// Twelve digits: a sum such as 0.1 + 0.2 then reads as people expect.
function shown(value: Value): string {
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value);
}

/**
 * Numbers by size; texts as people sort them: runs of digits by the number that they write, so that 1.10.0 comes behind
 * 1.9.0, and all else by its UTF-16 units.
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
