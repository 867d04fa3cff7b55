/** What a script command is, and the ports through which it sees the world. */
import type { Command } from "./tree.ts";

/** The world as commands see it; the launcher builds one for each script. */
export interface ScriptPorts {
  /** Starts media and resolves once its player runs; rejects with `ServiceError` where it cannot. */
  launch(path: string, how: { readonly launcher?: string; readonly system?: string }): Promise<void>;
  /** Stops what plays, and resolves once it has ended. */
  stop(): Promise<void>;
  /** Resolves after `ms` milliseconds. */
  delay(ms: number, signal: AbortSignal): Promise<void>;
  /** Says something in the log. */
  echo(text: string): void;
}

export interface ScriptCommand {
  /** Lower case; the first is the one in messages, the others are aliases. */
  readonly names: readonly string[];
  readonly argsMin: number;
  readonly argsMax: number;
  /** Names of its options. */
  readonly options: readonly string[];
  readonly startsMedia: boolean;
  /** May run when the script came from a page or a link that anybody may have made. */
  readonly allowedUntrusted: boolean;
  /** One line for people. */
  readonly docs: string;
  /** Rejects with `ServiceError("failed")` and a sentence. */
  run(command: Command, ports: ScriptPorts, signal: AbortSignal): Promise<void>;
}
