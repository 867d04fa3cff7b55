/** Runs a script: checks all of its commands against what they take, then runs them in order until one fails. */
import { ServiceError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import type { ScriptCommand, ScriptPorts } from "./command.ts";
import { commands } from "./commands/index.ts";
import { parseScript } from "./parser.ts";
import type { Command } from "./tree.ts";

export interface ReadyScript {
  /** Rejects with `ServiceError` at the first command that fails, and with the signal's reason when it aborts. */
  run(ports: ScriptPorts, signal: AbortSignal): Promise<void>;
}

/** A script whose every command is known and has what it takes; throws `ServiceError("failed")` with a sentence. */
export function readyScript(text: string): ReadyScript {
  const parsed = parseScript(text);
  if (parsed.kind === "error")
    throw new ServiceError("failed", `script, character ${parsed.offset + 1}: ${parsed.message}`);
  const steps = parsed.commands.map((command) => ({ command, meaning: meaningOf(command) }));
  return {
    async run(ports, signal) {
      for (const { command, meaning } of steps) {
        signal.throwIfAborted();
        await meaning.run(command, ports, signal);
      }
    },
  };
}

const byName = new Map(commands.flatMap((command) => command.names.map((name) => [name, command] as const)));

function meaningOf(command: Command): ScriptCommand {
  const meaning = byName.get(command.name);
  if (meaning === undefined) {
    throw new ServiceError(
      "failed",
      `this version knows no command **${command.name}${didYouMean(command.name, [...byName.keys()])}`,
    );
  }
  const { argsMin, argsMax, options } = meaning;
  const given = command.args.length;
  if (given < argsMin || given > argsMax) {
    const wanted = argsMin === argsMax ? `${argsMin}` : `${argsMin} to ${argsMax}`;
    throw new ServiceError("failed", `**${command.name} takes ${wanted} arguments, not ${given}`);
  }
  const unknown = [...command.options.keys()].find((key) => !options.includes(key));
  if (unknown !== undefined) {
    throw new ServiceError(
      "failed",
      `**${command.name} has no option ${unknown}${didYouMean(unknown, options)}`,
    );
  }
  return meaning;
}
