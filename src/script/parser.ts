/**
 * The launch script's parser: text to tree, or a sentence with the place of the fault. Never throws, takes linear time.
 *
 *   script    command { "||" command }
 *   command   "**" name [ ":" value { "," value } ] [ options ]
 *             value [ options ]                               one argument to `launch`, in which commas are literal
 *   options   "?" key "=" value { "&" key "=" value }
 *
 * What a value is stands in the lexer. Where "?" is not followed by options of this form, it belongs to the value: file
 * names have it.
 */
import { scriptBytesMax, scriptCommandsMax } from "../core/limits.ts";
import { type Failure, failure, lexValue, skipWhiteSpace } from "./lexer.ts";
import type { Command, ParsedScript } from "./tree.ts";

const nameForm = /^[a-zA-Z0-9._]+$/;
const optionKey = /[a-zA-Z][a-zA-Z0-9_]*(?==)/y;

export function parseScript(script: string): ParsedScript {
  if (script.length > scriptBytesMax || new TextEncoder().encode(script).length > scriptBytesMax)
    return failure(`the script is longer than ${scriptBytesMax} bytes`, 0, script.length);
  const commands: Command[] = [];
  for (let at = 0; ; at += 2) {
    if (commands.length === scriptCommandsMax)
      return failure(`the script has more than ${scriptCommandsMax} commands`, at, script.length - at);
    const parsed = parseCommand(script, at);
    if (parsed.kind === "error") return parsed;
    commands.push(parsed.command);
    at = parsed.end;
    if (at >= script.length) return { kind: "script", commands };
  }
}

interface ParsedCommand {
  readonly kind: "command";
  readonly command: Command;
  /** Where its `||` stands, or the end of the script. */
  readonly end: number;
}

function parseCommand(script: string, start: number): ParsedCommand | Failure {
  const offset = skipWhiteSpace(script, start);
  if (offset >= script.length || isCommandEnd(script, offset))
    return failure("a command is missing here: there is nothing between two ||, or nothing at all", start, 0);
  if (script[offset] === "@")
    return failure("titles (@System/Title) are not supported yet: write the path of the file", offset, 1);

  const head = script.startsWith("**", offset) ? parseName(script, offset) : parseLaunch(offset);
  if (head.kind === "error") return head;
  const rest = parseValues(script, head);
  if (rest.kind === "error") return rest;
  const { args, options, end } = rest;
  const length = script.slice(offset, end).trimEnd().length;
  if (options.has("when")) return failure("conditions (when=) are not supported yet", offset, length);
  return { kind: "command", command: { name: head.name, args, options, offset, length }, end };
}

interface Head {
  readonly kind: "head";
  readonly name: string;
  /** Where its first value begins; undefined where it has none. */
  readonly valuesAt: number | undefined;
  /** Where its name ends. */
  readonly end: number;
  readonly commasSeparate: boolean;
}

function parseLaunch(offset: number): Head {
  return { kind: "head", name: "launch", valuesAt: offset, end: offset, commasSeparate: false };
}

function parseName(script: string, offset: number): Head | Failure {
  let end = offset + 2;
  while (end < script.length && !":?".includes(script[end] ?? "") && !isCommandEnd(script, end)) end++;
  const name = script.slice(offset + 2, end).trim();
  if (!nameForm.test(name))
    return failure('"**" must be followed by the name of a command, as in **stop', offset, end - offset);
  const valuesAt = script[end] === ":" ? end + 1 : undefined;
  return { kind: "head", name: name.toLowerCase(), valuesAt, end, commasSeparate: true };
}

interface Values {
  readonly kind: "values";
  readonly args: readonly string[];
  readonly options: ReadonlyMap<string, string>;
  readonly end: number;
}

function parseValues(script: string, { valuesAt, end: nameEnd, commasSeparate }: Head): Values | Failure {
  const optionsAt = optionsFinder(script);
  const args: string[] = [];
  let end = nameEnd;
  const endsAt = (at: number) =>
    isCommandEnd(script, at) ||
    (commasSeparate && script[at] === ",") ||
    (script[at] === "?" && optionsAt(at) !== undefined);
  for (let next = valuesAt; next !== undefined; next = script[end] === "," ? end + 1 : undefined) {
    const value = lexValue(script, next, endsAt);
    if (value.kind === "error") return value;
    args.push(value.text);
    end = value.end;
  }
  if (script[end] !== "?") return { kind: "values", args, options: new Map(), end };
  const found = optionsAt(end);
  if (found === undefined) return failure('"?" must be followed by key=value', end, 1);
  return found.kind === "error" ? found : { kind: "values", args, options: found.options, end: found.end };
}

interface Options {
  readonly kind: "options";
  readonly options: ReadonlyMap<string, string>;
  readonly end: number;
}

/** Tells what options begin at a "?"; undefined where none do. The answer for one place is worked out once. */
function optionsFinder(script: string): (at: number) => Options | Failure | undefined {
  const answers = new Map<number, Options | Failure | undefined>();
  // Options that broke off at a bad "&" would break off there again from any "?" before it: this keeps time linear.
  let literalUntil = 0;
  return (at) => {
    if (at < literalUntil) return undefined;
    if (!answers.has(at)) {
      const found = parseOptions(script, at);
      if (found.kind === "broken") literalUntil = found.at;
      answers.set(at, found.kind === "broken" ? undefined : found);
    }
    return answers.get(at);
  };
}

function parseOptions(
  script: string,
  start: number,
): Options | Failure | { readonly kind: "broken"; readonly at: number } {
  const options = new Map<string, string>();
  const endsAt = (at: number) => script[at] === "&" || isCommandEnd(script, at);
  let at = start;
  do {
    optionKey.lastIndex = at + 1;
    const key = optionKey.exec(script)?.[0];
    if (key === undefined) return { kind: "broken", at };
    const value = lexValue(script, at + 1 + key.length + 1, endsAt);
    if (value.kind === "error") return value;
    options.set(key, value.text);
    at = value.end;
  } while (script[at] === "&");
  return { kind: "options", options, end: at };
}

function isCommandEnd(script: string, at: number): boolean {
  return script[at] === "|" && script[at + 1] === "|";
}
