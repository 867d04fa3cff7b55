/**
 * Expressions, `[[ a == "b" && !c ]]`: their trees, the variables that they can read, and their evaluation. The parser checks
 * types, and bounds the size and depth of a tree. The result is text, and is never parsed as script again.
 */
import { wrongScript } from "../core/errors.ts";
import { scriptBytesMax } from "../core/limits.ts";

export type ValueType = "text" | "number" | "flag";

export const variables = {
  platform: { type: "text", docs: "The operating system: `linux`." },
  version: { type: "text", docs: "The version of Tapdeck: `1.2.3`." },
  scan_mode: { type: "text", docs: "`tap`, or `hold` if removing the card stops its media." },
  "device.hostname": { type: "text", docs: "The name of this device in the network." },
  "device.os": { type: "text", docs: "Its operating system: `linux`." },
  "device.arch": { type: "text", docs: "Its processor: `arm64` or `amd64`." },
  "last_scanned.id": {
    type: "text",
    docs: "The UID of the card that was read last, in lower-case hex. It and the next two are empty in a script from a link, or from a caller without the right `change`.",
  },
  "last_scanned.value": { type: "text", docs: "Its text." },
  "last_scanned.data": { type: "text", docs: "Its memory, in lower-case hex." },
  media_playing: { type: "flag", docs: "Whether a player runs." },
  "active_media.launcher_id": {
    type: "text",
    docs: "The id of the player; empty if nothing plays. In the hook `on_stop`, all members of `active_media` are those of the media that has ended.",
  },
  "active_media.system_id": { type: "text", docs: "Its system, such as `SNES`." },
  "active_media.system_name": { type: "text", docs: "The full name of that system." },
  "active_media.path": { type: "text", docs: "Its file." },
  "active_media.name": { type: "text", docs: "Its name." },
  "launching.path": {
    type: "text",
    docs: "In the hook `before_start`: the file that is about to start; empty elsewhere.",
  },
  "launching.system_id": { type: "text", docs: "The system of that media, in the same hook." },
  "launching.launcher_id": { type: "text", docs: "The player of that media, in the same hook." },
} as const satisfies Readonly<Record<string, { readonly type: ValueType; readonly docs: string }>>;

type VariableName = keyof typeof variables;

/** The values of the variables at one moment. */
export type Facts = {
  readonly [Name in VariableName]: (typeof variables)[Name]["type"] extends "flag" ? boolean : string;
};

export const variableNames: readonly string[] = Object.keys(variables);

export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(variables, name);
}

export type BinaryOperator = "||" | "&&" | "==" | "!=" | "<" | ">" | "+";

export type Expression =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "flag"; readonly value: boolean }
  | { readonly kind: "variable"; readonly name: VariableName }
  | { readonly kind: "not"; readonly of: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    };

/** The value of an argument or an option: texts and expressions. No two texts are adjacent, and none is empty. */
export type Text = readonly (string | Expression)[];

/** The precedence of each operator. All operators are left-associative. `!` and brackets bind tighter. */
export const precedences: Readonly<Record<BinaryOperator, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 4,
  ">": 4,
  "+": 5,
};

/** The type of the result; undefined if the operator does not take these operands. */
export function typeOfBinary(
  operator: BinaryOperator,
  left: ValueType,
  right: ValueType,
): ValueType | undefined {
  switch (operator) {
    case "||":
    case "&&":
      return left === "flag" && right === "flag" ? "flag" : undefined;
    case "==":
    case "!=":
      return left === right ? "flag" : undefined;
    case "<":
    case ">":
      return left === right && left !== "flag" ? "flag" : undefined;
    case "+":
      if (left === "text" || right === "text") return "text";
      return left === "number" && right === "number" ? "number" : undefined;
  }
}

type Value = string | number | boolean;

/** The value of an expression. Throws `ServiceError("failed")` if a text becomes longer than `scriptBytesMax` UTF-16 units. */
function evaluate(expression: Expression, facts: () => Facts): Value {
  switch (expression.kind) {
    case "text":
    case "number":
    case "flag":
      return expression.value;
    case "variable":
      return facts()[expression.name];
    case "not":
      return !evaluate(expression.of, facts);
    case "binary":
      return evaluateBinary(expression, facts);
  }
}

function evaluateBinary(
  { operator, left, right }: Extract<Expression, { kind: "binary" }>,
  facts: () => Facts,
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
export function fill(text: Text, facts: () => Facts): string {
  let filled = "";
  for (const piece of text) {
    filled += typeof piece === "string" ? piece : shown(evaluate(piece, facts));
    bounded(filled);
  }
  return filled;
}

function bounded(text: string): string {
  if (text.length > scriptBytesMax)
    throw wrongScript(`an expression comes to more than ${scriptBytesMax} characters`);
  return text;
}

// A value as text. Twelve digits show 0.1 + 0.2 as 0.3.
function shown(value: Value): string {
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value);
}

/**
 * Compares numbers by value, and texts in natural order. Runs of digits count as numbers, so 1.10.0 follows 1.9.0. All
 * other characters are compared by their UTF-16 units.
 */
function compare(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const first = runs(String(a));
  const second = runs(String(b));
  for (let place = 0; ; place++) {
    const one = first[place];
    const other = second[place];
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
