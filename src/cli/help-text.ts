/** The output of `tapdeck --help`, and the options as completions and the man page show them. */
import { type CommandName, commandHelp, commonOptions, isOption } from "./help.ts";
import { type OptionName, optionForms } from "./option-forms.ts";

export interface OptionHelp {
  readonly name: OptionName;
  readonly letter: string | undefined;
  /** The name of the option's value; undefined for a flag. */
  readonly value: string | undefined;
  readonly text: string;
}

/** The options of a command that are shown, or those of every command. */
export function optionsOf(command: CommandName | undefined): readonly OptionHelp[] {
  const texts = command === undefined ? commonOptions : (commandHelp[command].options ?? {});
  return Object.entries(texts).flatMap(([name, text]) =>
    isOption(name) && text !== "" ? [{ name, text, ...formOf(name, command) }] : [],
  );
}

function formOf(name: OptionName, command: CommandName | undefined) {
  const form = optionForms[name];
  const value = "value" in form && !(name === "list" && command === "pair") ? form.value : undefined;
  return { letter: "short" in form ? form.short : undefined, value };
}

/** The option as help shows it, such as `-n, --lines N`. */
export function spelt({ name, letter, value }: OptionHelp): string {
  return `${letter === undefined ? "" : `-${letter}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

const columnsMax = 100;

/**
 * Breaks each line that is longer than a terminal of 100 columns at a space. The rest continues on the next line,
 * indented.
 */
function wrapped(text: string, indent = 0): string {
  const lines: string[] = [];
  let rest = "";
  for (const line of text.split("\n")) {
    let open = rest === "" ? line : `${rest} ${line.trimStart()}`;
    while (open.length > columnsMax) {
      const at = open.lastIndexOf(" ", columnsMax);
      if (at <= indent) break;
      lines.push(open.slice(0, at));
      open = " ".repeat(indent) + open.slice(at + 1);
    }
    const isBroken = rest !== "" || line.length > columnsMax;
    if (!isBroken || open.endsWith(".")) {
      lines.push(open);
      rest = "";
    } else rest = open;
  }
  return [...lines, ...(rest === "" ? [] : [rest])].join("\n");
}

function optionLines(command: CommandName | undefined): string {
  const rows = optionsOf(command).map((option) => [spelt(option), option.text] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, text]) => `${wrapped(`  ${left.padEnd(width)}   ${text}`, width + 5)}\n`).join("");
}

export const exitCodeText = `Exit codes: 0 success, 1 refused or failed, 64 wrong usage, 69 service not reachable or port in use,
73 no place for data, 78 wrong settings.`;

const usageCharsMax = 31;

export function helpText(command: CommandName | undefined): string {
  if (command !== undefined) {
    const { usage, summary, more } = commandHelp[command];
    const options = optionLines(command);
    const first = `${wrapped(`tapdeck ${usage}`, "tapdeck ".length)}\n`;
    return [first, `${summary}\n`, more === "" ? "" : `${wrapped(more)}\n`, options]
      .filter(Boolean)
      .join("\n");
  }
  // `tapdeck help COMMAND` has the whole form.
  const list = Object.entries(commandHelp).map(([name, { usage, summary }]) => {
    const form = usage.length > usageCharsMax ? `${name} ...` : usage;
    return `  tapdeck ${form.padEnd(usageCharsMax)} ${summary}`;
  });
  return `Tap a card, and the game, song or film on it starts.

  ${"tapdeck".padEnd(usageCharsMax + 8)} start the service
${list.join("\n")}

${optionLines(undefined)}
${exitCodeText}
`;
}
