/** Sentences for options that the parser of the runtime refuses; its own texts are for programmers. */
import { codeOf, messageOf } from "../core/errors.ts";
import { didYouMean } from "../core/text.ts";
import { type CommandName, commandHelp, commonOptions, isOption } from "./help.ts";
import { optionForms } from "./option-forms.ts";

/** The sentence for an error of `parseArgs`. Without a command, the options of all commands are suggested. */
export function optionFault(error: unknown, command: CommandName | undefined): string {
  const [text = ""] = messageOf(error).split("\n");
  if (codeOf(error) === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const [, typed = ""] = /'([^']*)'/.exec(text) ?? [];
    // For a group such as `-ab`, the error names each letter after the first without a dash.
    const name = typed.startsWith("-") ? typed : `-${typed}`;
    return `there is no option ${name}${didYouMean(name, flagsOf(command))}`;
  }
  const [, letter, long] = /'(?:-(\w)(?:, |'))?(?:--([\w-]+))?/.exec(text) ?? [];
  const name = long ?? Object.keys(optionForms).find((one) => letterOf(one) === letter) ?? "";
  if (!isOption(name)) return text;
  if (text.includes("does not take")) return `--${name} takes no value`;
  const form = optionForms[name];
  const value = "value" in form ? form.value : "VALUE";
  return `--${name} needs a value: --${name} ${value}, or --${name}=${value} if it begins with a dash`;
}

function letterOf(name: string): string | undefined {
  if (!isOption(name)) return undefined;
  const form = optionForms[name];
  return "short" in form ? form.short : undefined;
}

function flagsOf(command: CommandName | undefined): readonly string[] {
  const names =
    command === undefined
      ? Object.keys(optionForms)
      : Object.keys({ ...commonOptions, ...commandHelp[command].options });
  return names.map((name) => `--${name}`);
}
