/**
 * Prints trees as text that is parsed as the same tree. Every command is written with its name, and every special character
 * is escaped. A printed script may therefore be longer than its source.
 */

import type { Text } from "../../src/script/expression.ts";
import { type Expression, precedences } from "../../src/script/expression.ts";
import { macroCommands, typedCommand } from "../../src/script/parser.ts";
import type { Command } from "../../src/script/syntax.ts";

export function printScript(
  commands: readonly Command[],
  traits: ReadonlyMap<string, string> = new Map(),
): string {
  const isNothing = traits.size === 0 && commands.length === 0;
  const printed = isNothing ? ["**traits:{}"] : traits.size === 0 ? [] : [printTraits([...traits])];
  return [...printed, ...commands.map(printCommand)].join("||");
}

/** The long form can name traits that the short form cannot. */
function printTraits(traits: readonly (readonly [key: string, value: string])[]): string {
  if (!traits.every(([key]) => /^[a-z][a-z0-9_]*$/.test(key)))
    return `**traits:${JSON.stringify(Object.fromEntries(traits))}`;
  return traits.map(([key, value]) => `#${key}="${value.replace(/[\^"\n\t\r]/g, escaped)}"`).join(" ");
}

function printCommand({ name, args, options }: Command): string {
  const print = macroCommands.has(name) ? printMacro : name === typedCommand ? printTyped : printText;
  const [only] = args;
  // Without quotes, a single empty argument would be no argument.
  const isBlank = args.length === 1 && only?.length === 0;
  const values = args.length === 0 ? "" : `:${isBlank ? '""' : args.map(print).join(",")}`;
  const pairs = [...options].map(([key, value]) => `${key}=${printText(value)}`);
  return `**${name}${values}${pairs.length === 0 ? "" : `?${pairs.join("&")}`}`;
}

/**
 * The tree holds a macro as it was written. A `|` at the end of the macro must not become part of the `||` that ends the
 * command.
 */
function printMacro(text: Text): string {
  const macro = text.join("");
  return macro.endsWith("|") ? `${macro} ` : macro;
}

/** The tree holds a text to type as it was written. */
function printTyped(text: Text): string {
  return text.join("");
}

function printText(text: Text): string {
  return text
    .map((piece, place) =>
      typeof piece === "string"
        ? printPlain(piece, place === 0, place === text.length - 1)
        : `[[${printExpression(piece)}]]`,
    )
    .join("");
}

/** White space has a meaning only at the ends of a value, and quotes and a brace only at its start. */
function printPlain(text: string, isFirst: boolean, isLast: boolean): string {
  const blankFrom = isLast ? text.trimEnd().length : text.length;
  const blankTo = isFirst ? text.length - text.trimStart().length : 0;
  let printed = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    const isPlain = !/[\^,|?&[\n\t\r]/.test(char) && at >= blankTo && at < blankFrom;
    const opens = isFirst && at === 0 && /["'{]/.test(char);
    printed += isPlain && !opens ? char : escaped(char);
  }
  return printed;
}

const controls: Readonly<Record<string, string>> = { "\n": "^n", "\t": "^t", "\r": "^r" };

function escaped(char: string): string {
  return controls[char] ?? `^${char}`;
}

/** An expression as text, with as few brackets as possible. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case "text":
      return `"${expression.value.replace(/[\^"\n\t\r]/g, escaped)}"`;
    case "number":
    case "flag":
      return String(expression.value);
    case "variable":
      return expression.name;
    case "not":
      return `!${bracketed(expression.of, expression.of.kind === "binary")}`;
    case "binary": {
      const { operator, left, right } = expression;
      const own = precedences[operator];
      const binds = (side: Expression) => (side.kind === "binary" ? precedences[side.operator] : own + 1);
      return `${bracketed(left, binds(left) < own)} ${operator} ${bracketed(right, binds(right) <= own)}`;
    }
  }
}

function bracketed(expression: Expression, needed: boolean): string {
  return needed ? `(${printExpression(expression)})` : printExpression(expression);
}
