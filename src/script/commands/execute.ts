/** `**execute:program,argument`: runs a program. No shell reads what it is given. */
import { ServiceError } from "../../core/errors.ts";
import { argvMax } from "../../core/limits.ts";
import type { ScriptCommand } from "../command.ts";

export const execute: ScriptCommand = {
  names: ["execute", "command", "shell"],
  argsMin: 1,
  argsMax: argvMax,
  args: "program, argument, ...",
  options: {},
  startsMedia: false,
  waits: true,
  allowedUntrusted: false,
  docs: "Runs a program to its end, at most a minute, and fails where it does. One argument is split at its spaces, but for those in quotes; several are taken as they are, and so it must be where an expression is among them. No shell is involved. The command line must match `script.allow_execute` in the config file.",
  example: '**execute:/usr/bin/logger "a card was read"',
  async run({ args, hasExpressions }, ports, signal) {
    // What a card says must not become more arguments than the one that it stands in.
    if (args.length === 1 && hasExpressions)
      throw new ServiceError(
        "failed",
        "execute: where there is an expression, commas go between program and arguments",
      );
    await ports.execute(argvOf(args), signal);
  },
};

/** Throws `ServiceError("failed")` where no program is named, or a quote is not closed. */
export function argvOf(args: readonly string[]): readonly string[] {
  const [first = "", ...others] = args;
  const argv = others.length === 0 ? wordsOf(first) : args;
  if (argv[0] === undefined || argv[0] === "" || argv.length > argvMax)
    throw new ServiceError("failed", `execute takes a program and at most ${argvMax - 1} arguments`);
  return argv;
}

/** Words between white space; what stands between two ' or two " belongs to one word. */
function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  const piece = /(\s+)|'([^']*)'|"([^"]*)"|([^\s'"]+)|(['"])/g;
  let begun = false;
  for (const [, blank, single, double, plain, stray] of line.matchAll(piece)) {
    if (stray !== undefined)
      throw new ServiceError("failed", `execute: ${stray} opens a text that has no end`);
    if (blank !== undefined) {
      begun = false;
      continue;
    }
    const text = single ?? double ?? plain ?? "";
    words.push(begun ? (words.pop() ?? "") + text : text);
    begun = true;
  }
  return words;
}
