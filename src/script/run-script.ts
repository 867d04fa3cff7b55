/** Runs a script: checks the arguments of all commands, then runs the commands in order until one fails. */
import { addressFault } from "../core/card-addresses.ts";
import { launchFailed, publicError, type ServiceError, wrongScript } from "../core/errors.ts";
import { scriptBytesMax } from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import { type Call, readFlag, type ScriptCommand, type ScriptOrigin, type ScriptPorts } from "./command.ts";
import { misterCommands, scriptCommands } from "./commands/index.ts";
import { type Facts, fill } from "./expression.ts";
import { parseScript } from "./parser.ts";
import type { Command } from "./syntax.ts";

export type ReadyScript = ReturnType<typeof readyScript>;

/** Reads a script and checks each command. Throws `ServiceError`: `forbidden` for the origin, `failed` for other faults. */
export function readyScript(text: string, origin: ScriptOrigin) {
  const parsed = parseScript(text);
  if (parsed.kind === "error") throw wrongScript(`script, character ${parsed.offset + 1}: ${parsed.message}`);
  const steps = parsed.commands.map((command) => ({ command, meaning: meaningOf(command) }));
  for (const { command, meaning } of steps) {
    const why = refusalOf(command.name, meaning, origin);
    if (why !== undefined) throw publicError("forbidden", why);
  }
  // Background media never replace other media: they start only while nothing plays.
  const forPrimary = steps.filter(
    ({ command }) => !isBackground(command.options.get("slot")?.join("") ?? ""),
  );
  const switchesMedia = forPrimary.some(({ meaning }) => meaning.startsMedia && meaning.goesOn !== true);
  return {
    traits: parsed.traits,
    names: parsed.commands.map(({ name }) => name),
    startsMedia: steps.some(({ meaning }) => meaning.startsMedia),
    /** Whether one of the commands replaces the current media by other media. */
    switchesMedia,
    /** Whether the script ends the scripts before it, because it starts or stops media. */
    takesOver: switchesMedia || forPrimary.some(({ meaning }) => meaning.endsMedia === true),
    /**
     * Runs the commands. Rejects at the first command that fails, and with the signal's reason. `aside` runs the
     * commands that wait.
     */
    async run(
      ports: ScriptPorts,
      signal: AbortSignal,
      aside: (wait: () => Promise<void>) => Promise<void> = (wait) => wait(),
    ): Promise<void> {
      for (const { command, meaning } of steps) {
        signal.throwIfAborted();
        const facts = onceFor(ports);
        const call = callOf(command, facts);
        if (call === undefined || isLeftOut(call, meaning, facts)) continue;
        if (meaning.waits === true) await aside(() => meaning.run(call, ports, signal));
        else await meaning.run(call, ports, signal);
      }
    },
  };
}

/** The reason why a script of this origin may not use the command; undefined if it may. */
function refusalOf(
  name: string,
  { allowedUntrusted, needsReader }: ScriptCommand,
  origin: ScriptOrigin,
): string | undefined {
  if (needsReader === true && origin !== "reader")
    return `**${name} works from a card on a reader of this device only: tap one there`;
  if (!allowedUntrusted && origin === "untrusted")
    return `**${name} reaches outside this device, so that no link or page may run it: put it on a card`;
  return undefined;
}

const byName = new Map(
  scriptCommands.flatMap((command) => command.names.map((name) => [name, command] as const)),
);

function meaningOf(command: Command): ScriptCommand {
  const meaning = byName.get(command.name);
  if (meaning === undefined) throw unknownCommand(command.name);
  const { argsMin, argsMax, args, options, ignores = {}, takesSlot } = meaning;
  const given = command.args.length;
  if (given < argsMin || given > argsMax) {
    const wanted = argsMin === argsMax ? `${argsMin}` : `${argsMin} to ${argsMax}`;
    const which = args === "" ? "" : ` (${args})`;
    throw wrongScript(
      `**${command.name} takes ${wanted} ${argsMax === 1 ? "argument" : "arguments"}${which}, not ${given}${given > argsMax && argsMax > 0 ? "; a comma that separates nothing is written ^," : ""}`,
    );
  }
  for (const [key, only] of Object.entries(ignores)) {
    const value = command.options.get(key)?.join("").toLowerCase();
    if (value !== undefined && only !== "" && value !== only)
      throw wrongScript(`**${command.name}: ${key}= can only be ${only} here`);
  }
  const known = [...Object.keys(options), "when", ...(takesSlot ? ["slot"] : [])];
  const taken = [...known, ...Object.keys(ignores)];
  const unknown = [...command.options.keys()].find((key) => !taken.includes(key));
  if (unknown !== undefined) {
    const [first = []] = command.args;
    const fault =
      command.name === "launch"
        ? addressFault(first.filter((part) => typeof part === "string").join(""), true)
        : undefined;
    if (fault !== undefined) throw launchFailed("outside-media", fault);
    const help = didYouMean(unknown, known) || "; a ? that begins no options is written ^?";
    throw wrongScript(`**${command.name} has no option ${unknown.slice(0, 64)}${help}`);
  }
  return meaning;
}

function unknownCommand(name: string): ServiceError {
  if (misterCommands.includes(name))
    return wrongScript(`**${name} works on a MiSTer only: take this command off the card`);
  const meant = didYouMean(name, [...byName.keys()]);
  return wrongScript(`this version knows no command **${name.slice(0, 64)}${meant}`);
}

/** The facts of one command. They are read at their first use, because few commands have expressions. */
function onceFor(ports: Pick<ScriptPorts, "facts">): () => Facts {
  let known: Facts | undefined;
  return () => (known ??= ports.facts());
}

/** The command with its expressions evaluated; undefined if its `when` is false. */
function callOf({ name, args, options }: Command, facts: () => Facts): Call | undefined {
  const when = options.get("when");
  if (when !== undefined && !holds(fill(when, facts))) return undefined;
  const call = {
    name,
    args: args.map((text) => fill(text, facts)),
    hasExpressions: args.some((text) => text.some((piece) => typeof piece !== "string")),
    options: new Map([...options].map(([key, text]) => [key, fill(text, facts)])),
  };
  const length = [...call.args, ...call.options.values()].reduce((sum, text) => sum + text.length, 0);
  if (length > scriptBytesMax)
    throw wrongScript(`the arguments of **${name} have more than ${scriptBytesMax} characters`);
  return call;
}

/**
 * Whether the command is left out, because its `slot` is the background and it must not act on the present media.
 * Throws for a slot that no device has.
 */
function isLeftOut({ options }: Call, { startsMedia, goesOn }: ScriptCommand, facts: () => Facts): boolean {
  const slot = options.get("slot") ?? "";
  if (isBackground(slot)) return !startsMedia || goesOn === true || facts().media_playing;
  if (["", "primary"].includes(slot.toLowerCase())) return false;
  throw wrongScript(`slot is primary or background, not "${slot.slice(0, 64)}"`);
}

function isBackground(slot: string): boolean {
  return ["background", "bg"].includes(slot.toLowerCase());
}

function holds(text: string): boolean {
  const truth = text === "" ? false : readFlag(text);
  if (truth === undefined)
    throw wrongScript(
      `when= must come to true or false, not "${text.slice(0, 64)}": compare it, as in when=[[platform == "linux"]]`,
    );
  return truth;
}
