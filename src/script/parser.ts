/**
 * The parser of launch scripts: text to tree, or a sentence with the place of the fault. It never throws and takes linear time.
 *
 *   script    part { "||" part } [ "||" | "|" ]
 *   part      command | traits
 *   command   "**" name [ ":" [ value { "," value } ] ] [ options ]
 *             "@" value [ options ]                           one argument to `launch.title`, in which commas are literal
 *             value [ options ]                               one argument to `launch`, in which commas are literal
 *             "**" name ":" macro [ options ]                 of `macroCommands`: one argument, in which commas are literal
 *             "**" name ":" typed [ "?when=" value ]          of `typedCommand`: one argument, in which all else is literal
 *   options   "?" key "=" value { "&" key "=" value }
 *   traits    "**traits:" JSON
 *             "#" key "=" word { white space "#" key "=" word }   (`traits.ts`)
 *
 * Values, macros and typed texts are defined in `lexer.ts`. A value that begins with "{" is JSON if its command has a name. A
 * "?" without options of this form belongs to the value, because file names have it. After a name without ":", an option may
 * lack its "=" and value, and a "?" without options begins the values.
 */
import { scriptBytesMax, scriptCommandsMax } from "../core/limits.ts";
import type { Text } from "./expression.ts";
import { lexJson, lexMacro, lexTyped, lexValue } from "./lexer.ts";
import {
  type Command,
  type Failure,
  failure,
  isCommandEnd,
  keyEnd,
  type ParsedScript,
  type ScriptSource,
  skipWhiteSpace,
  sourceOf,
} from "./syntax.ts";
import { parseTraits, traitsOfJson } from "./traits.ts";

/**
 * In the one argument of these commands, which is a macro, `^` is a direction, quotes and commas are keys, and a
 * backslash escapes.
 */
export const macroCommands: ReadonlySet<string> = new Set(["input.keyboard", "input.gamepad"]);

/** In the one argument of this command, every character is literal, and only `when` is an option. */
export const typedCommand = "input.text";

/** In the argument of these commands, braces are around the name of a key. */
const keyCommands: ReadonlySet<string> = new Set(["input.key", "key"]);

const nameForm = /^[a-zA-Z0-9._]+$/;

/** A script that is one path, without any character that has a meaning in the language. Most cards have one. */
const plainPath = /^[A-Za-z0-9_/][A-Za-z0-9_/.()!',+&~ -]*[A-Za-z0-9_)!]$/;

/** Refuses a script that is longer than `scriptBytesMax` or has more parts than `scriptCommandsMax`. */
export function parseScript(script: string): ParsedScript {
  return parseSource(sourceOf(script));
}

/** Like `parseScript`; afterwards `source.steps` holds the number of steps. */
export function parseSource(source: ScriptSource): ParsedScript {
  const { text } = source;
  if (text.length > scriptBytesMax || Buffer.byteLength(text) > scriptBytesMax)
    return failure(`the script is longer than ${scriptBytesMax} bytes`, 0, text.length);
  if (plainPath.test(text)) return plainScript(source);
  const commands: Command[] = [];
  const traits = new Map<string, string>();
  for (let [at, parts] = [0, 0]; ; at += 2, parts++) {
    const offset = skipWhiteSpace(source, at);
    const isOver = offset >= text.length || (parts > 0 && offset === text.length - 1 && text[offset] === "|");
    if (isOver && parts > 0) return { kind: "script", commands, traits };
    if (parts === scriptCommandsMax)
      return failure(`the script has more than ${scriptCommandsMax} commands`, at, text.length - at);
    if (isOver || isCommandEnd(text, offset))
      return failure("a command is missing here: there is nothing between two ||, or nothing at all", at, 0);
    const parsed = parseTraits(source, offset) ?? parseCommand(source, offset);
    if (parsed.kind === "error") return parsed;
    at = parsed.end;
    const isLong = parsed.kind === "command" && parsed.command.name === "traits";
    const meant = isLong ? traitsOfJson(parsed.command) : parsed;
    if (meant.kind === "error") return meant;
    if (meant.kind === "command") commands.push(meant.command);
    else for (const [key, value] of meant.traits) traits.set(key, value);
    if (at >= text.length) return { kind: "script", commands, traits };
  }
}

function plainScript(source: ScriptSource): ParsedScript {
  const { text } = source;
  source.steps += text.length;
  const command = { name: "launch", args: [[text]], options: new Map(), offset: 0, length: text.length };
  return { kind: "script", commands: [command], traits: new Map() };
}

/** Parses a command. `end` is the place of its `||`, or the end of the script. */
function parseCommand(source: ScriptSource, offset: number) {
  const head = parseHead(source, offset);
  if (head.kind === "error") return head;
  const rest = parseRest(source, head);
  if (rest.kind === "error") return rest;
  const { args, options, end } = rest;
  const length = source.text.slice(offset, end).trimEnd().length;
  return { kind: "command" as const, command: { name: head.name, args, options, offset, length }, end };
}

interface Head {
  readonly kind: "head";
  readonly name: string;
  /** The start of the first value of the command; undefined if it has none. */
  readonly valuesAt: number | undefined;
  readonly end: number;
  readonly takes: "values" | "path" | "macro" | "typed";
}

function parseHead(source: ScriptSource, offset: number): Head | Failure {
  if (source.text.startsWith("**", offset)) return parseName(source, offset);
  const isTitle = source.text[offset] === "@";
  const valuesAt = isTitle ? offset + 1 : offset;
  const name = isTitle ? "launch.title" : "launch";
  return { kind: "head", name, valuesAt, end: valuesAt, takes: "path" };
}

function parseName(source: ScriptSource, offset: number): Head | Failure {
  const { text } = source;
  let end = offset + 2;
  while (end < text.length && !":?".includes(text[end] ?? "") && !isCommandEnd(text, end)) end++;
  source.steps += end - offset;
  const name = text
    .slice(offset + 2, end)
    .trim()
    .toLowerCase();
  if (!nameForm.test(name))
    return failure('"**" must be followed by the name of a command, as in **stop', offset, end - offset);
  const valuesAt = text[end] === ":" ? end + 1 : undefined;
  const takes = name === typedCommand ? "typed" : macroCommands.has(name) ? "macro" : "values";
  return { kind: "head", name, valuesAt, end, takes };
}

interface Rest {
  readonly kind: "rest";
  readonly args: readonly Text[];
  readonly options: ReadonlyMap<string, Text>;
  /** The place of the command's `||`, or the end of the script. */
  readonly end: number;
}

function parseRest(source: ScriptSource, head: Head): Rest | Failure {
  const { text } = source;
  const { valuesAt, end } = head;
  if (valuesAt !== undefined) return parseValues(source, valuesAt, head);
  if (text[end] !== "?") return { kind: "rest", args: [], options: new Map(), end };
  const found = parseOptions(source, end, { takesFlags: true });
  if (found.kind !== "broken") return found.kind === "error" ? found : { ...found, kind: "rest", args: [] };
  const next = skipWhiteSpace(source, found.at + 1);
  if (next >= text.length || isCommandEnd(text, next))
    return failure('"?" must be followed by key=value', end, 1);
  return parseValues(source, end, head);
}

function parseValues(source: ScriptSource, start: number, { name, takes }: Head): Rest | Failure {
  const { text } = source;
  const { optionsAt, isInBroken } = optionsFinder(source, takes === "typed" ? { only: "when" } : {});
  const separates = (at: number) => takes === "values" && text[at] === ",";
  const endsCommand = (at: number) =>
    isCommandEnd(text, at) && !(takes === "typed" && at === text.length - 1);
  const endsAt = (at: number) =>
    endsCommand(at) || separates(at) || (text[at] === "?" && optionsAt(at) !== undefined);
  const lexAt = (at: number) => {
    if (takes === "macro") return lexMacro(source, at, endsAt);
    if (takes === "typed") return lexTyped(source, at, endsAt);
    const open = skipWhiteSpace(source, at);
    const isJson = takes === "values" && text[open] === "{" && !keyCommands.has(name);
    return isJson ? lexJson(source, open, endsAt) : lexValue(source, open, endsAt, isInBroken);
  };
  const args: Text[] = [];
  let end = start - 1;
  do {
    const value = lexAt(end + 1);
    if (value.kind === "error") return value;
    args.push(value.text);
    end = value.end;
  } while (separates(end));
  // An argument that is empty, but in quotes, counts as an argument.
  const isEmpty = takes !== "path" && args.length === 1 && text.slice(start, end).trim() === "";
  const rest = { kind: "rest", args: isEmpty ? [] : args, options: new Map<string, Text>(), end } as const;
  const found = text[end] === "?" ? optionsAt(end) : undefined;
  if (found === undefined || found.kind === "error") return found ?? rest;
  return { ...found, kind: "rest", args: rest.args };
}

interface Options {
  readonly kind: "options";
  readonly options: ReadonlyMap<string, Text>;
  readonly end: number;
}

interface OptionsForm {
  /** True if the key may have neither "=" nor a value. */
  readonly takesFlags?: boolean;
  /** The only key that is an option; absent if any key is one. */
  readonly only?: string;
}

/**
 * Finds options. `optionsAt` reads the options at a "?"; undefined if none begin there. It remembers the last result.
 * `isInBroken` is true between a "?" and the bad "&" that ends its options: that text is kept as written, as the
 * language demands.
 */
function optionsFinder(source: ScriptSource, form: OptionsForm) {
  let last: { readonly at: number; readonly found: Options | Failure | undefined } | undefined;
  // Options that end at a bad "&" end there again from any "?" before it. Skipping those keeps the time linear.
  let literalUntil = 0;
  const optionsAt = (at: number): Options | Failure | undefined => {
    if (at < literalUntil) return undefined;
    if (last?.at === at) return last.found;
    const found = parseOptions(source, at, form);
    if (found.kind === "broken") literalUntil = found.at;
    last = { at, found: found.kind === "broken" ? undefined : found };
    return last.found;
  };
  return { optionsAt, isInBroken: (at: number) => at < literalUntil };
}

/** Parses options. `broken` has the place of the "?" or "&" after which there is no option. */
function parseOptions(
  source: ScriptSource,
  start: number,
  { takesFlags = false, only }: OptionsForm,
): Options | Failure | { readonly kind: "broken"; readonly at: number } {
  const { text } = source;
  const endsAt = (at: number) => text[at] === "&" || isCommandEnd(text, at);
  const options = new Map<string, Text>();
  for (let at = start; ; ) {
    const keyStart = at + 1;
    const end = keyEnd(source, keyStart);
    const key = text.slice(keyStart, end);
    const flagEnd = takesFlags && text[end] !== "=" ? skipWhiteSpace(source, end) : undefined;
    const isFlag = flagEnd !== undefined && (flagEnd >= text.length || endsAt(flagEnd));
    if (key === "" || key !== (only ?? key) || (text[end] !== "=" && !isFlag)) return { kind: "broken", at };
    const value = isFlag
      ? ({ kind: "value", text: [], end: flagEnd } as const)
      : lexValue(source, end + 1, endsAt);
    if (value.kind === "error") return value;
    options.set(key, value.text);
    at = value.end;
    if (text[at] !== "&") return { kind: "options", options, end: at };
  }
}
