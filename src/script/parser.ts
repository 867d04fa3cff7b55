/**
 * The parser of launch scripts: text to tree, or a sentence with the place of the fault. It never throws and takes linear time.
 *
 *   script    command { "||" command }
 *   command   "**" name [ ":" value { "," value } ] [ options ]
 *             "@" value [ options ]                           one argument to `launch.title`, in which commas are literal
 *             value [ options ]                               one argument to `launch`, in which commas are literal
 *             "**" name ":" macro [ options ]                 of `macroCommands`: one argument, in which commas are literal
 *   options   "?" key "=" value { "&" key "=" value }
 *
 * Values and macros are defined in `lexer.ts`. A "?" without options of this form belongs to the value, because file names have it.
 */
import { scriptBytesMax, scriptCommandsMax } from "../core/limits.ts";
import { lexMacro, lexValue } from "./lexer.ts";
import {
  type Command,
  type Failure,
  failure,
  type ParsedScript,
  type ScriptSource,
  skipWhiteSpace,
  sourceOf,
  type Text,
} from "./syntax.ts";

/** In the one argument of these commands, a macro, `^` is a direction, quotes and commas are keys, and a backslash escapes. */
export const macroCommands: ReadonlySet<string> = new Set(["input.keyboard", "input.gamepad"]);

const nameForm = /^[a-zA-Z0-9._]+$/;
const keyForm = /[a-zA-Z][a-zA-Z0-9_]*/y;

/** Refuses a script that is longer than `scriptBytesMax` or has more commands than `scriptCommandsMax`. */
export function parseScript(script: string): ParsedScript {
  return parseSource(sourceOf(script));
}

/** As `parseScript`; afterwards `source.steps` holds the number of steps. */
export function parseSource(source: ScriptSource): ParsedScript {
  const { text } = source;
  if (text.length > scriptBytesMax || new TextEncoder().encode(text).length > scriptBytesMax)
    return failure(`the script is longer than ${scriptBytesMax} bytes`, 0, text.length);
  const commands: Command[] = [];
  for (let at = 0; ; at += 2) {
    if (commands.length === scriptCommandsMax)
      return failure(`the script has more than ${scriptCommandsMax} commands`, at, text.length - at);
    const parsed = parseCommand(source, at);
    if (parsed.kind === "error") return parsed;
    commands.push(parsed.command);
    at = parsed.end;
    if (at >= text.length) return { kind: "script", commands };
  }
}

/** `end` is the place of its `||`, or the end of the script. */
function parseCommand(source: ScriptSource, start: number) {
  const { text } = source;
  const offset = skipWhiteSpace(source, start);
  if (offset >= text.length || isCommandEnd(text, offset))
    return failure("a command is missing here: there is nothing between two ||, or nothing at all", start, 0);
  const head = parseHead(source, offset);
  if (head.kind === "error") return head;
  const rest = parseValues(source, head);
  if (rest.kind === "error") return rest;
  const { args, options, end } = rest;
  const length = text.slice(offset, end).trimEnd().length;
  return { kind: "command" as const, command: { name: head.name, args, options, offset, length }, end };
}

interface Head {
  readonly kind: "head";
  readonly name: string;
  /** The start of its first value; undefined if it has none. */
  readonly valuesAt: number | undefined;
  readonly end: number;
  readonly commasSeparate: boolean;
  readonly takesMacro: boolean;
}

function parseHead(source: ScriptSource, offset: number): Head | Failure {
  if (source.text.startsWith("**", offset)) return parseName(source, offset);
  const isTitle = source.text[offset] === "@";
  const valuesAt = isTitle ? offset + 1 : offset;
  const name = isTitle ? "launch.title" : "launch";
  return { kind: "head", name, valuesAt, end: valuesAt, commasSeparate: false, takesMacro: false };
}

function parseName(source: ScriptSource, offset: number): Head | Failure {
  const { text } = source;
  let end = offset + 2;
  while (end < text.length && !":?".includes(text[end] ?? "") && !isCommandEnd(text, end)) end++;
  source.steps += end - offset;
  const name = text.slice(offset + 2, end).trim();
  if (!nameForm.test(name))
    return failure('"**" must be followed by the name of a command, as in **stop', offset, end - offset);
  const valuesAt = text[end] === ":" ? end + 1 : undefined;
  const takesMacro = macroCommands.has(name.toLowerCase());
  return { kind: "head", name: name.toLowerCase(), valuesAt, end, commasSeparate: !takesMacro, takesMacro };
}

function parseValues(source: ScriptSource, { valuesAt, end: nameEnd, commasSeparate, takesMacro }: Head) {
  const { text } = source;
  const optionsAt = optionsFinder(source);
  const args: Text[] = [];
  let end = nameEnd;
  const endsAt = (at: number) =>
    isCommandEnd(text, at) ||
    (commasSeparate && text[at] === ",") ||
    (text[at] === "?" && optionsAt(at) !== undefined);
  for (
    let next = valuesAt;
    next !== undefined;
    next = commasSeparate && text[end] === "," ? end + 1 : undefined
  ) {
    const value = (takesMacro ? lexMacro : lexValue)(source, next, endsAt);
    if (value.kind === "error") return value;
    args.push(value.text);
    end = value.end;
  }
  if (text[end] !== "?") return { kind: "values" as const, args, options: new Map<string, Text>(), end };
  const found = optionsAt(end);
  if (found === undefined) return failure('"?" must be followed by key=value', end, 1);
  return found.kind === "error" ? found : { ...found, kind: "values" as const, args };
}

interface Options {
  readonly kind: "options";
  readonly options: ReadonlyMap<string, Text>;
  readonly end: number;
}

/** Returns a function that reads the options at a "?", or undefined if none begin there. It remembers the last result. */
function optionsFinder(source: ScriptSource): (at: number) => Options | Failure | undefined {
  let last: { readonly at: number; readonly found: Options | Failure | undefined } | undefined;
  // Options that end at a bad "&" end there again from any "?" before it. Skipping those keeps the time linear.
  let literalUntil = 0;
  return (at) => {
    if (at < literalUntil) return undefined;
    if (last?.at === at) return last.found;
    const found = parseOptions(source, at);
    if (found.kind === "broken") literalUntil = found.at;
    last = { at, found: found.kind === "broken" ? undefined : found };
    return last.found;
  };
}

function parseOptions(
  source: ScriptSource,
  start: number,
): Options | Failure | { readonly kind: "broken"; readonly at: number } {
  const { text } = source;
  let key = keyAt(source, start + 1);
  if (key === undefined) return { kind: "broken", at: start };
  const endsAt = (at: number) => text[at] === "&" || isCommandEnd(text, at);
  const options = new Map<string, Text>();
  let at = start;
  for (;;) {
    const value = lexValue(source, at + 1 + key.length + 1, endsAt);
    if (value.kind === "error") return value;
    options.set(key, value.text);
    at = value.end;
    if (text[at] !== "&") return { kind: "options", options, end: at };
    key = keyAt(source, at + 1);
    if (key === undefined) return { kind: "broken", at };
  }
}

/** The key at `start` before a "="; undefined if there is none. */
function keyAt(source: ScriptSource, start: number): string | undefined {
  const { text } = source;
  keyForm.lastIndex = start;
  const end = keyForm.test(text) ? keyForm.lastIndex : start;
  source.steps += end - start + 1;
  return end > start && text[end] === "=" ? text.slice(start, end) : undefined;
}

function isCommandEnd(text: string, at: number): boolean {
  return text[at] === "|" && text[at + 1] === "|";
}
