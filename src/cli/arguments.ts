/** Parses the command line, or reports its fault in a sentence. */
import { parseArgs } from "node:util";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import { auditPageMax } from "../core/limits.ts";
import { type KeptLevel, keptLevels } from "../core/log-ring.ts";
import { type Role, roles } from "../core/rights.ts";
import { didYouMean } from "../core/text.ts";
import { type CommandName, commandHelp, commandNames, commonOptions, isCommand, isOption } from "./help.ts";
import { optionFault } from "./option-faults.ts";
import { optionForms } from "./option-forms.ts";
import type { UpdateAction } from "./update-command.ts";

export interface Common {
  readonly config: string | undefined;
  readonly data: string | undefined;
}

export type CommandLine = Extract<Invocation, { readonly kind: "command" }>;
export type Invocation = ReturnType<typeof parseArguments>;

/** Throws `StartError` with exit code 64. */
export function parseArguments(argv: readonly string[]) {
  const { values, positionals } = parse(argv);
  const [first, ...words] = positionals;
  if (first !== undefined && !isCommand(first)) {
    throw noCommand(first);
  }
  if (values.help) return { kind: "help", command: first } as const;
  if (first === "help") {
    const [about] = words;
    if (about !== undefined && !isCommand(about)) throw noCommand(about);
    return { kind: "help", command: about } as const;
  }
  if (values.version || first === "version") return { kind: "version", json: values.json ?? false } as const;
  const common = { config: values.config, data: values.data };
  if (first === undefined) {
    const { config: _config, data: _data, ...ofCommands } = values;
    const [stray] = Object.keys(ofCommands);
    if (stray !== undefined) throw usage(`--${stray} belongs to a command: tapdeck --help lists them`);
    return { kind: "serve", ...common } as const;
  }
  const { options: own = {}, words: [wordsMin, wordsMax] = [0, 0], usage: form } = commandHelp[first];
  const stray = Object.keys(values).find(
    (name) => !Object.hasOwn(own, name) && !Object.hasOwn(commonOptions, name),
  );
  if (stray !== undefined) throw usage(strayOption(stray, form));
  if (words.length > wordsMax) throw usage(`use it as: tapdeck ${form}${quotesFor(first)}`);
  if (words.length < wordsMin) throw usage(`use it as: tapdeck ${form}`);
  if (first === "write" && (words.length === 1) === (values.list !== undefined))
    throw usage(`use it as: tapdeck ${form}`);
  if (first === "write" && words[0] === "") throw usage("the text is empty, so nothing would be written");
  if (first === "map" && !isMapForm(words.length, values))
    throw usage(`use it as: tapdeck ${form}${words.length > 1 ? quotesFor(first) : ""}`);
  return {
    kind: "command" as const,
    ...common,
    command: first,
    words,
    host: hostOf(first, words, values),
    port: wholeNumber("port", values.port, 1, 65_535),
    uid: values.uid,
    durationMs: wholeNumber("for", values.for, 1, 3_600_000),
    timeoutMs: wholeNumber("timeout", values.timeout, 1, 3_600_000),
    json: values.json ?? false,
    next: values.next ?? false,
    export: values.export,
    import: values.import,
    replace: values.replace ?? false,
    write: values.write ?? false,
    list: typeof values.list === "string" ? values.list : undefined,
    reader: values.reader,
    force: values.force ?? false,
    check: values.check ?? false,
    passphraseFile: values["passphrase-file"],
    lines: wholeNumber("lines", values.lines, 1, auditPageMax, typedAs(argv, "lines", "-n")),
    follow: values.follow ?? false,
    level: levelOf(values.level),
    pair: pairFlags(values, words),
    /** The params of `call`. */
    params: first === "call" && words[1] !== undefined ? parseJson(words[1]) : undefined,
    /** The action of `update`; undefined for other commands. */
    update: first === "update" ? updateAction(words, values) : undefined,
  };
}

// The commands that work with files of this machine, or that need no service.
const localOnly: readonly CommandName[] = ["join", "backup", "restore", "update", "config", "completions"];

/** The deck on another machine; for `pair`, `--host` is a part of the link. */
function hostOf(command: CommandName, words: readonly string[], { host, port }: Values): string | undefined {
  if (host === undefined || command === "pair") return undefined;
  if (localOnly.includes(command) || (command === "cards" && words[0] !== "status"))
    throw usage(`tapdeck ${command} works on this machine only, without --host`);
  if (port !== undefined) throw usage("with --host, write the port behind the host: --host deck.local:7498");
  return host;
}

/** `map` takes a UID and a text, a text for the next card, or one file. */
function isMapForm(
  words: number,
  { next = false, force = false, replace = false, ...files }: Values,
): boolean {
  if ((replace && files.import === undefined) || (force && files.export === undefined)) return false;
  if (files.export === undefined && files.import === undefined) return words === (next ? 1 : 2);
  return words === 0 && !next && (files.export === undefined) !== (files.import === undefined);
}

/** Advice on too many words: a shell divides a text with spaces. */
function quotesFor(command: CommandName): string {
  if (command === "tap" || command === "write" || command === "map") return "; put the text in quotes";
  if (command === "unmap") return "; put the UID in quotes";
  return command === "backup" || command === "restore" || command === "update" || command === "pair"
    ? "; put the name in quotes"
    : "";
}

function noCommand(word: string): StartError {
  return usage(`there is no command ${word}${didYouMean(word, commandNames)}`);
}

function strayOption(name: string, form: string): string {
  const owners = commandNames.filter(
    (command) => isOption(name) && commandHelp[command].options?.[name] !== undefined,
  );
  return `--${name} belongs to tapdeck ${owners.join(", ")}: use it as: tapdeck ${form}`;
}

type Values = ReturnType<typeof parse>["values"];

/** The options of `pair`; at most one of its modes is set. `bearer` is the name of the program that gets a token. */
function pairFlags(
  { card = false, code = false, pin = false, list, revoke, change, host, bearer, role }: Values,
  words: readonly string[],
) {
  const flags = { card, code, pin, list: list === true, revoke, change, host, bearer, role: roleOf(role) };
  const modes = [code, pin, flags.list, ...[revoke, change, bearer].map((one) => one !== undefined)];
  const own = modes.filter(Boolean).length;
  if (own + (card ? 1 : 0) > 1 || (own === 1 && words.length > 0 && typeof list !== "string"))
    throw usage(`use it as: tapdeck ${commandHelp.pair.usage}`);
  if (role !== undefined && (pin || flags.list || revoke !== undefined))
    throw usage(
      "--role belongs to a new phone or program, or to --change, and an app that pairs by a PIN is always a member",
    );
  if (change !== undefined && role === undefined)
    throw usage(`name the new role: tapdeck pair --change ID --role ${roles.join("|")}`);
  return flags;
}

function levelOf(text: string | undefined): KeptLevel | undefined {
  const level = keptLevels.find((known) => known === text);
  if (text !== undefined && level === undefined)
    throw usage(`--level must be ${keptLevels.join(", ")}, not "${text}"`);
  return level;
}

function roleOf(text: string | undefined): Role {
  if (text === undefined) return "member";
  const role = roles.find((known) => known === text);
  if (role === undefined) throw usage(`--role must be one of ${roles.join(", ")}, not "${text}"`);
  return role;
}

function parse(typed: readonly string[]) {
  // A number below zero is not read as an option: tapdeck seek -10.
  const below = typed.filter((word) => /^-\d/.test(word));
  const takesNumbers = typed.some((word) => word === "volume" || word === "seek");
  const argv =
    takesNumbers && below.length > 0
      ? [...typed.filter((word) => !below.includes(word)), "--", ...below]
      : typed;
  // `write --list` takes a file, `pair --list` takes nothing.
  const [first] = parseArgs({
    args: [...argv],
    options: optionForms,
    allowPositionals: true,
    strict: false,
  }).positionals;
  const list = { type: first === "pair" ? "boolean" : "string" } as const;
  try {
    return parseArgs({ args: [...argv], options: { ...optionForms, list }, allowPositionals: true });
  } catch (error) {
    if (first !== undefined && !isCommand(first)) throw noCommand(first);
    throw usage(optionFault(error, first));
  }
}

/** The action of `update`: its file, or one of the flags without a file. */
function updateAction([path]: readonly string[], values: Values): UpdateAction {
  const flags = (["status", "undo", "confirm"] as const).filter((name) => values[name]);
  const [kind] = flags;
  if (flags.length + (path === undefined ? 0 : 1) !== 1)
    throw usage(`use it as: tapdeck ${commandHelp.update.usage}`);
  if (kind !== undefined) return { kind };
  return { kind: "install", path: path ?? "", allowOlder: values["allow-older"] ?? false };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartError(exitCodes.usage, `the params are not JSON: ${messageOf(error)}`, error);
  }
}

function wholeNumber(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
  typed = `--${name}`,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw usage(`${typed} must be a whole number from ${min} to ${max}, not "${text}"`);
}

/** The form in which an option with a letter was typed. */
function typedAs(argv: readonly string[], name: string, letter: string): string {
  const long = argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
  return long ? `--${name}` : letter;
}

function usage(sentence: string): StartError {
  return new StartError(exitCodes.usage, `${sentence} (tapdeck --help)`);
}
