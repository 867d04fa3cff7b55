/**
 * Tables of launch scripts with their parsed form. `>` the script as it is, or `>"` one as JSON, `<` a command of its tree or,
 * before all commands, a trait, `!` its error (place, length, sentence), `#` why.
 *
 *   > a, b?launcher=x || **echo:[[1 + 2]]
 *   < launch "a, b" ?launcher="x"
 *   < echo [[(1 + 2)]]
 *   > **stop||#mood=calm
 *   < #mood="calm"
 *   < stop
 *   > **echo:'a
 *   ! 7+2 a quoted text has no end: close it with ', or write ^'
 */
import type { Expression, Text } from "../../src/script/expression.ts";
import { parseScript } from "../../src/script/parser.ts";

export interface Row {
  readonly script: string;
  /** The lines `<` and `!` of the script. */
  readonly expected: readonly string[];
}

export function readTable(text: string): readonly Row[] {
  const rows: { script: string; expected: string[] }[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith('>"')) rows.push({ script: String(JSON.parse(line.slice(1))), expected: [] });
    else if (line.startsWith("> ")) rows.push({ script: line.slice(2), expected: [] });
    else if (/^[<!] /.test(line)) rows.at(-1)?.expected.push(line);
    else throw new Error(`line ${index + 1} begins with none of > < ! #`);
  }
  return rows;
}

/** The lines of a script in a table. */
export function readAs(script: string): readonly string[] {
  const parsed = parseScript(script);
  if (parsed.kind === "error") return [`! ${parsed.offset}+${parsed.length} ${parsed.message}`];
  const traits = [...parsed.traits].map(([key, value]) => `< #${key}=${JSON.stringify(value)}`);
  const commands = parsed.commands.map(({ name, args, options }) => {
    const pairs = [...options].map(
      ([key, value], place) => `${place === 0 ? "?" : "&"}${key}=${shown(value)}`,
    );
    return ["<", name, ...args.map(shown), ...pairs].join(" ");
  });
  return [...traits, ...commands];
}

function shown(text: Text): string {
  if (text.length === 0) return '""';
  return text
    .map((piece) => (typeof piece === "string" ? JSON.stringify(piece) : `[[${tree(piece)}]]`))
    .join("");
}

/** An expression as text, with brackets around every operator, so its operands are visible. */
function tree(expression: Expression): string {
  switch (expression.kind) {
    case "text":
      return JSON.stringify(expression.value);
    case "number":
    case "flag":
      return String(expression.value);
    case "variable":
      return expression.name;
    case "not":
      return `!${tree(expression.of)}`;
    case "binary":
      return `(${tree(expression.left)} ${expression.operator} ${tree(expression.right)})`;
  }
}
