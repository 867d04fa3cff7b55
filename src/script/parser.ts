/**
 * The launch script's parser: text to tree, or a sentence with the place of the fault. Never throws, takes linear time.
 *
 *   script    command { "||" command }
 *   command   "**" name [ ":" arg { "," arg } ] [ "?" key "=" value { "&" key "=" value } ]
 *             or any other text: one argument to `launch`, in which commas are literal
 *   arg       quoted by ' or " (its white space stays), or plain (trimmed)
 *   ^x        x itself; ^n ^t ^r are the control characters
 *
 * Where the name of an option is not a name, the "?" was part of the argument: file names have them.
 */
import { scriptBytesMax, scriptCommandsMax } from "../core/limits.ts";
import type { Command, ParsedScript } from "./tree.ts";

const nameForm = /^[a-zA-Z0-9.]+$/;
const optionStart = /^[a-zA-Z][a-zA-Z0-9_]*=/;
const optionForm = /^[a-zA-Z][a-zA-Z0-9_]*$/;
const controls: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

interface Failure {
  readonly kind: "error";
  readonly message: string;
  readonly offset: number;
  readonly length: number;
}

export function parseScript(text: string): ParsedScript {
  if (new TextEncoder().encode(text).length > scriptBytesMax) {
    return failure(`the script is longer than ${scriptBytesMax} bytes`, 0, text.length);
  }
  const pieces = split(text, "||");
  if (pieces.length > scriptCommandsMax) {
    return failure(`the script has more than ${scriptCommandsMax} commands`, 0, text.length);
  }
  const commands: Command[] = [];
  let offset = 0;
  for (const piece of pieces) {
    const parsed = parseCommand(piece, offset);
    if (parsed.kind === "error") return parsed;
    commands.push(parsed.command);
    offset += piece.length + 2;
  }
  return { kind: "script", commands };
}

type ParsedCommand = { readonly kind: "command"; readonly command: Command } | Failure;

function parseCommand(source: string, start: number): ParsedCommand {
  const offset = start + (source.length - source.trimStart().length);
  const body = source.trim();
  const length = body.length;
  if (body === "")
    return failure("there is nothing between two commands, or nothing at all", start, source.length);
  if (body.includes("[["))
    return failure("expressions in [[ ]] are not supported yet: write the text itself", offset, length);
  if (body.startsWith("@"))
    return failure(
      "titles (@System/Title) are not supported yet: write the path of the file",
      offset,
      length,
    );
  if (!body.startsWith("**")) return autoLaunch(body, offset);

  const rest = body.slice(2);
  const nameEnd = rest.search(/[:?]/);
  const name = (nameEnd < 0 ? rest : rest.slice(0, nameEnd)).trim();
  if (!nameForm.test(name))
    return failure(`"**" must be followed by the name of a command, as in **stop`, offset, length);
  const tail = nameEnd < 0 ? "" : rest.slice(nameEnd);
  const { head, options } = cutOptions(tail);
  if (options.has("when")) return failure("conditions (when=) are not supported yet", offset, length);
  const sources = head.startsWith(":")
    ? split(`**${head}`, ",").map((source, at) => (at === 0 ? source.slice(3) : source))
    : [];
  const args: string[] = [];
  for (const source of sources) {
    const value = argument(source);
    if (value === undefined) return failure("a quoted argument has no end", offset, length);
    args.push(value);
  }
  return { kind: "command", command: { name: name.toLowerCase(), args, options, offset, length } };
}

function autoLaunch(body: string, offset: number): ParsedCommand {
  const { head, options } = cutOptions(body);
  const value = argument(head);
  if (value === undefined) return failure("a quoted argument has no end", offset, body.length);
  return {
    kind: "command",
    command: { name: "launch", args: [value], options, offset, length: body.length },
  };
}

/** Cuts `?key=value&...` off the end; where nothing of that form stands there, everything is head. */
function cutOptions(text: string): { readonly head: string; readonly options: ReadonlyMap<string, string> } {
  const pieces = split(text, "?");
  const first = pieces.findIndex((piece, index) => index > 0 && optionStart.test(piece));
  const options = new Map<string, string>();
  if (first < 0) return { head: text, options };
  for (const pair of split(`**=${pieces.slice(first).join("?")}`, "&").map((pair, at) =>
    at === 0 ? pair.slice(3) : pair,
  )) {
    const equals = pair.indexOf("=");
    const value = argument(pair.slice(equals + 1));
    if (equals < 0 || !optionForm.test(pair.slice(0, equals)) || value === undefined)
      return { head: text, options: new Map() };
    options.set(pair.slice(0, equals), value);
  }
  return { head: pieces.slice(0, first).join("?"), options };
}

/** An argument's value: quotes and escapes resolved; undefined where a quote has no end. */
function argument(source: string): string | undefined {
  const trimmed = trimUnescaped(source);
  const quote = trimmed[0];
  if (quote !== '"' && quote !== "'") return resolveEscapes(trimmed);
  const end = endOfQuote(trimmed, 0);
  if (end === undefined) return undefined;
  return resolveEscapes(trimmed.slice(1, end)) + resolveEscapes(trimmed.slice(end + 1));
}

/** Without white space at the ends, but for an escaped one. */
function trimUnescaped(source: string): string {
  const trimmed = source.trim();
  const hats = /\^+$/.exec(trimmed)?.[0].length ?? 0;
  const next = source[source.indexOf(trimmed) + trimmed.length];
  return hats % 2 === 1 && next !== undefined ? trimmed + next : trimmed;
}

function resolveEscapes(text: string): string {
  return text.replace(/\^([\s\S])/g, (_, next: string) => controls[next] ?? next);
}

/**
 * The pieces of `text` between unescaped, unquoted separators. A quote counts where an argument begins: at the start of
 * a piece, and in a `**` command behind ":", "," and "=".
 */
function split(text: string, separator: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  let before = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (text.startsWith(separator, at)) {
      pieces.push(text.slice(start, at));
      at += separator.length - 1;
      start = at + 1;
      before = "";
      continue;
    }
    if (char === "^") at++;
    else if ((char === '"' || char === "'") && mayQuote(before, text, start))
      at = endOfQuote(text, at) ?? text.length;
    if (char.trim() !== "") before = char;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function mayQuote(before: string, text: string, pieceStart: number): boolean {
  if (before === "") return true;
  return (
    ":,=".includes(before) &&
    text
      .slice(pieceStart, pieceStart + 64)
      .trimStart()
      .startsWith("**")
  );
}

/** Where the quote that begins at `start` ends; undefined where it does not. */
function endOfQuote(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "^") at++;
    else if (text[at] === text[start]) return at;
  }
  return undefined;
}

function failure(message: string, offset: number, length: number): Failure {
  return { kind: "error", message, offset, length };
}
