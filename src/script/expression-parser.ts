/**
 * The parser of expressions, from `[[` to `]]`: text to a tree whose types fit, or a sentence with the place of the fault. It
 * never throws, takes one pass, and does not recurse: operators that wait for their right-hand side are on a stack.
 *
 *   expression  operand { operator operand }        for operators see `precedences`
 *   operand     { "!" } ( variable | literal | "(" expression ")" )
 *   literal     true, false, digits [ "." digits ], or a text in ' or " with ^ as in the rest of the script
 */
import {
  expressionDepthMax,
  expressionPartsMax,
  numberDecimalsMax,
  numberDigitsMax,
} from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import {
  type BinaryOperator,
  type Expression,
  isVariable,
  precedences,
  typeOfBinary,
  type ValueType,
  variableNames,
  variables,
} from "./expression.ts";
import {
  type Failure,
  failure,
  type ParsedExpression,
  type ScriptSource,
  skipWhiteSpace,
  unescaped,
} from "./syntax.ts";

interface Operand {
  readonly kind: "operand";
  readonly expression: Expression;
  readonly type: ValueType;
  readonly end: number;
}

interface Waiting {
  readonly operator: BinaryOperator | "!" | "(";
  readonly offset: number;
}

interface Stacks {
  readonly operands: Operand[];
  readonly waiting: Waiting[];
}

const binaryOperators = Object.keys(precedences).filter(isBinaryOperator);

/**
 * Parses an expression. `open` is the place of its `[[`. All expressions of a script together may have
 * `expressionPartsMax` parts.
 */
export function parseExpression(source: ScriptSource, open: number): ParsedExpression | Failure {
  const { expressions } = source;
  const known = expressions.get(open);
  if (known !== undefined) return known;
  const parsed = parseUnknown(source, open);
  if (parsed.kind === "expression") expressions.set(open, parsed);
  return parsed;
}

function parseUnknown(source: ScriptSource, open: number): ParsedExpression | Failure {
  const stacks: Stacks = { operands: [], waiting: [] };
  for (let at = open + 2; ; ) {
    const operand = readOperand(source, skipWhiteSpace(source, at), open, stacks);
    if (operand.kind === "error") return operand;
    stacks.operands.push(operand);
    source.expressionParts++;
    if (source.expressionParts > expressionPartsMax)
      return failure(`the expressions have more than ${expressionPartsMax} parts`, open, operand.end - open);
    const next = readOperator(source, operand.end, open, stacks);
    if (next.kind !== "operator") return next;
    source.expressionParts++;
    at = next.end;
  }
}

/** Reads an operand, and pushes each `!` and `(` before it. */
function readOperand(
  source: ScriptSource,
  start: number,
  open: number,
  { waiting }: Stacks,
): Operand | Failure {
  const { text } = source;
  for (let at = start; ; at = skipWhiteSpace(source, at + 1)) {
    const char = text[at] ?? "";
    if (char === "!" || char === "(") {
      if (waiting.length >= expressionDepthMax)
        return failure(
          `an expression is nested too deep: ${expressionDepthMax} is the most`,
          open,
          at - open,
        );
      waiting.push({ operator: char, offset: at });
      continue;
    }
    if (char === '"' || char === "'") return readText(source, at);
    if (/[0-9]/.test(char)) return readNumber(source, at);
    if (/[a-zA-Z_]/.test(char)) return readWord(source, at);
    if (at >= text.length) return noEnd(source, open);
    return failure(
      "a variable, a number or a text in quotes is missing here: for two plain brackets write ^[^[",
      at,
      1,
    );
  }
}

function noEnd({ text }: ScriptSource, open: number): Failure {
  return failure(
    "an expression has no end: close it with ]], or write ^[^[ for two plain brackets",
    open,
    text.length - open,
  );
}

function readText(source: ScriptSource, open: number): Operand | Failure {
  const quote = source.text[open];
  let value = "";
  let at = open + 1;
  for (; source.text[at] !== quote; at++) {
    const char = source.text[at];
    if (char === undefined)
      return failure(`a quoted text has no end: close it with ${quote}, or write ^${quote}`, open, at - open);
    const next = source.text[at + 1];
    const isEscape = char === "^" && next !== undefined;
    value += isEscape ? unescaped(next) : char;
    if (isEscape) at++;
  }
  source.steps += at - open;
  return { kind: "operand", expression: { kind: "text", value }, type: "text", end: at + 1 };
}

function readNumber(source: ScriptSource, start: number): Operand | Failure {
  const digits = wordAt(source, start, digitsForm);
  const [, whole = "", , decimals = ""] = /^([0-9]+)(\.([0-9]+))?$/.exec(digits) ?? [];
  if (whole === "" || decimals.length > numberDecimalsMax || whole.length + decimals.length > numberDigitsMax)
    return failure(
      `a number has at most ${numberDigitsMax} digits, at most ${numberDecimalsMax} of them after one point`,
      start,
      digits.length,
    );
  const expression = { kind: "number", value: Number(digits) } as const;
  return { kind: "operand", expression, type: "number", end: start + digits.length };
}

function readWord(source: ScriptSource, start: number): Operand | Failure {
  const word = wordAt(source, start, wordForm);
  const end = start + word.length;
  if (word === "true" || word === "false")
    return { kind: "operand", expression: { kind: "flag", value: word === "true" }, type: "flag", end };
  if (isVariable(word)) {
    const { type } = variables[word];
    return { kind: "operand", expression: { kind: "variable", name: word }, type, end };
  }
  const meant = didYouMean(word, variableNames);
  const group = variableNames.filter((name) => name.startsWith(`${word.split(".")[0]}.`));
  const help =
    meant === ""
      ? `: there are ${(group.length > 0 ? group : variableNames).join(", ")}; for two plain brackets write ^[^[`
      : meant;
  return failure(`there is no variable ${word.slice(0, 64)}${help}`, start, word.length);
}

const digitsForm = /[0-9.]+/y;
const wordForm = /[a-zA-Z0-9_.]+/y;

/** The match of `letters`, a sticky expression, at `start`. */
function wordAt(source: ScriptSource, start: number, letters: RegExp): string {
  letters.lastIndex = start;
  const end = letters.test(source.text) ? letters.lastIndex : start;
  source.steps += end - start;
  return source.text.slice(start, end);
}

/** Reads closing brackets after an operand, and then an operator or the end. */
function readOperator(
  source: ScriptSource,
  start: number,
  open: number,
  stacks: Stacks,
): { readonly kind: "operator"; readonly end: number } | ParsedExpression | Failure {
  const { text } = source;
  for (let at = skipWhiteSpace(source, start); ; at = skipWhiteSpace(source, at + 1)) {
    if (at >= text.length) return noEnd(source, open);
    if (text.startsWith("]]", at)) return finished(stacks, at);
    if (text[at] === ")") {
      const fault = reduce(stacks, 0);
      if (fault !== undefined) return fault;
      if (stacks.waiting.pop() === undefined) return failure("this bracket closes nothing", at, 1);
      continue;
    }
    const [one = "", two = ""] = [text[at], text.slice(at, at + 2)];
    const operator = isBinaryOperator(two)
      ? two
      : isBinaryOperator(one) && text[at + 1] !== "="
        ? one
        : undefined;
    if (operator === undefined) return noOperator(source, at);
    const fault = reduce(stacks, precedences[operator]);
    if (fault !== undefined) return fault;
    stacks.waiting.push({ operator, offset: at });
    return { kind: "operator", end: at + operator.length };
  }
}

const instead: readonly (readonly [operator: string, help: string])[] = [
  ["<=", "there is no <=: write !(a > b)"],
  [">=", "there is no >=: write !(a < b)"],
  ["=", "to compare, write == with two signs"],
  ["&", "for both, write && with two signs"],
  ["|", "for either, write || with two signs"],
  ["]", "an expression ends with two brackets: ]]"],
];

function noOperator({ text }: ScriptSource, at: number): Failure {
  const [sign = "", help] = instead.find(([one]) => text.startsWith(one, at)) ?? [];
  return failure(
    help ?? `an operator (${binaryOperators.join(" ")}) or ]] is missing here`,
    at,
    Math.max(1, sign.length),
  );
}

function finished(stacks: Stacks, at: number): ParsedExpression | Failure {
  const fault = reduce(stacks, 0);
  if (fault !== undefined) return fault;
  const open = stacks.waiting.at(-1);
  if (open !== undefined) return failure("this bracket is not closed: write ) after it", open.offset, 1);
  const [operand] = stacks.operands;
  if (operand === undefined) return failure("an expression is empty", at, 2);
  return { kind: "expression", expression: operand.expression, end: at + 2 };
}

/** Applies the waiting operators of at least this precedence, down to the next open bracket. */
function reduce({ operands, waiting }: Stacks, precedence: number): Failure | undefined {
  for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
    const { operator, offset } = last;
    if (operator === "(" || (operator !== "!" && precedences[operator] < precedence)) return undefined;
    waiting.pop();
    const right = operands.pop();
    const made = operator === "!" ? negated(right, offset) : joined(operator, operands.pop(), right, offset);
    if (made.kind === "error") return made;
    operands.push(made);
  }
  return undefined;
}

const typeWords: Readonly<Record<ValueType, string>> = {
  text: "a text",
  number: "a number",
  flag: "a condition",
};

function negated(of: Operand | undefined, offset: number): Operand | Failure {
  if (of?.type !== "flag")
    return failure(`! takes a condition, not ${typeWords[of?.type ?? "text"]}: compare it first`, offset, 1);
  return { ...of, expression: { kind: "not", of: of.expression } };
}

function joined(
  operator: BinaryOperator,
  left: Operand | undefined,
  right: Operand | undefined,
  offset: number,
): Operand | Failure {
  if (left === undefined || right === undefined) return failure("an operand is missing", offset, 1);
  const type = typeOfBinary(operator, left.type, right.type);
  if (type === undefined) {
    const what = `${typeWords[left.type]} and ${typeWords[right.type]}`;
    return failure(`${operator} does not take ${what}`, offset, operator.length);
  }
  const sides = { left: left.expression, right: right.expression };
  return { kind: "operand", expression: { kind: "binary", operator, ...sides }, type, end: right.end };
}

function isBinaryOperator(text: string): text is BinaryOperator {
  return Object.hasOwn(precedences, text);
}
