/** Expressions, `[[ a == "b" && !c ]]`, as trees, and the variables that they can read. The parser checks all types. */

export type ValueType = "text" | "number" | "flag";

export const variables = {
  platform: { type: "text", docs: "What Tapdeck runs on: `linux`." },
  version: { type: "text", docs: "The version of Tapdeck: `1.2.3`." },
  scan_mode: { type: "text", docs: "`tap`, or `hold` where taking the card off stops what it started." },
  "device.hostname": { type: "text", docs: "The name of this device in the network." },
  "device.os": { type: "text", docs: "Its operating system: `linux`." },
  "device.arch": { type: "text", docs: "Its processor: `arm64` or `amd64`." },
  "last_scanned.id": {
    type: "text",
    docs: "The UID of the card that was read last, in lower-case hex. Empty, as the next two, in a script that came over a link or from a caller without the right `change`.",
  },
  "last_scanned.value": { type: "text", docs: "Its text." },
  "last_scanned.data": { type: "text", docs: "Its memory, in lower-case hex." },
  media_playing: { type: "flag", docs: "Whether anything plays." },
  "active_media.launcher_id": {
    type: "text",
    docs: "The player of what plays; empty where nothing does. In the hook `on_stop`, these are of what has ended.",
  },
  "active_media.system_id": { type: "text", docs: "Its system, such as `SNES`." },
  "active_media.system_name": { type: "text", docs: "The same in words." },
  "active_media.path": { type: "text", docs: "Its file." },
  "active_media.name": { type: "text", docs: "Its name." },
  "launching.path": {
    type: "text",
    docs: "In the hook `before_start`: the file that is about to be started; empty elsewhere.",
  },
  "launching.system_id": { type: "text", docs: "In that hook: its system." },
  "launching.launcher_id": { type: "text", docs: "In that hook: its player." },
} as const satisfies Readonly<Record<string, { readonly type: ValueType; readonly docs: string }>>;

export type VariableName = keyof typeof variables;

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

/** Precedences; all operators are left-associative. `!` and brackets bind tighter. */
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
