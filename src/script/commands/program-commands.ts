/** Commands that write to the log, send web requests and run programs. No shell reads their arguments. */
import { wrongScript } from "../../core/errors.ts";
import { argvMax } from "../../core/limits.ts";
import type { ScriptCommand } from "../command.ts";

const common = { options: {}, startsMedia: false, waits: true, allowedUntrusted: false } as const;

export const programCommands: readonly ScriptCommand[] = [
  {
    names: ["echo"],
    argsMin: 0,
    argsMax: 64,
    args: "text, ...",
    options: {},
    startsMedia: false,
    allowedUntrusted: true,
    docs: "Writes its arguments to the log.",
    example: "**echo:[[last_scanned.id]] was read on [[device.hostname]]",
    async run({ args }, ports) {
      ports.echo(args.join(", "));
    },
  },
  {
    ...common,
    names: ["http.get", "get"],
    argsMin: 1,
    argsMax: 1,
    args: "url",
    docs: "Sends a request to a server, and fails unless it succeeds. The address must match `script.allow_http` in the config file. The body of the answer is dropped.",
    example: '**http.get:"https://example.com/lamp?on=1"',
    run: ({ args: [url = ""] }, ports, signal) => ports.request({ method: "GET", url }, signal),
  },
  {
    ...common,
    names: ["http.post"],
    argsMin: 3,
    argsMax: 3,
    args: "url, content type, body",
    docs: "Sends a body to a server, and fails unless the request succeeds. The address must match `script.allow_http` in the config file.",
    example: "**http.post:https://example.com/lamp,application/json,'{\"on\":true}'",
    run: ({ args: [url = "", type = "", body = ""] }, ports, signal) =>
      ports.request({ method: "POST", url, content: { type, body } }, signal),
  },
  {
    ...common,
    names: ["execute", "command", "shell"],
    argsMin: 1,
    argsMax: argvMax,
    args: "program, argument, ...",
    docs: "Runs a program to its end, at most a minute, and fails if the program fails. A single argument is split at spaces outside quotes. Several arguments are passed as they are, which is required if one has an expression. No shell is involved. The command line must match `script.allow_execute` in the config file.",
    example: '**execute:/usr/bin/logger "a card was read"',
    async run({ args, hasExpressions }, ports, signal) {
      // The text of a card must stay within the argument that contains its expression.
      if (args.length === 1 && hasExpressions)
        throw wrongScript("execute: with an expression, commas must separate program and arguments");
      await ports.execute(argvOf(args), signal);
    },
  },
];

/** The words of a command line. Throws `ServiceError("failed")` if the program is missing, or a quote is not closed. */
function argvOf(args: readonly string[]): readonly string[] {
  const [first = "", ...others] = args;
  const argv = others.length === 0 ? wordsOf(first) : args;
  if (argv[0] === undefined || argv[0] === "" || argv.length > argvMax)
    throw wrongScript(`execute takes a program and at most ${argvMax - 1} arguments`);
  return argv;
}

/** Splits at white space, but not between two ' or two ". */
function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  const piece = /(\s+)|'([^']*)'|"([^"]*)"|([^\s'"]+)|(['"])/g;
  let begun = false;
  for (const [, blank, single, double, plain, stray] of line.matchAll(piece)) {
    if (stray !== undefined) throw wrongScript(`execute: ${stray} opens a text that has no end`);
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
