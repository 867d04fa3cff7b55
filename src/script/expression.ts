/** Expressions as trees. `[[ a == "b" && !c ]]`; what types go together was checked when they were read. */
import type { ValueType, VariableName } from "./variables.ts";

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

/** How tightly each binds; all of them bind to the left. `!` and brackets bind tighter than any. */
export const precedences: Readonly<Record<BinaryOperator, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 4,
  ">": 4,
  "+": 5,
};

/** The type of what an operator makes of two values; undefined where it does not take them. */
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
