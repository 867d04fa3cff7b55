/** The type of a script command, and the ports through which a command acts. */
import type { InputKind, InputStep } from "../core/operating-system.ts";
import type { ControlAction, VolumeChange } from "../core/playback.ts";
import type { Facts } from "./expression.ts";

/** The origin of a script: a page or link by anyone, a trusted caller or file, or a card on a reader of the device. */
export type ScriptOrigin = "untrusted" | "trusted" | "reader";

export interface LaunchHow {
  readonly launcher?: string;
  readonly system?: string;
  /** Whether the media resume where they ended; the config decides if absent. */
  readonly resume?: boolean;
  /** True if the file is an item of a playlist. Items cannot be playlists. */
  readonly isItem?: true;
  /** A sentence that says how the file was found, if the match is not exact. */
  readonly why?: string;
}

interface WebRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly content?: { readonly type: string; readonly body: string };
}

/** The parts of `System/Title (tag) (tag)`. */
export interface WantedTitle {
  /** The name of the system; absent for all systems. */
  readonly system?: string;
  readonly title: string;
  /** The tags as written, without their brackets. */
  readonly tags: readonly string[];
}

/** A search such as `System/*words*` or `*words*`: a name in which each `*` matches any text. */
export interface NameQuery {
  /** The name of the system; absent for all systems. */
  readonly system?: string;
  readonly pattern: string;
}

export type RandomSource =
  | { readonly kind: "all" }
  | { readonly kind: "system"; readonly system: string }
  | { readonly kind: "folder"; readonly path: string }
  | ({ readonly kind: "query" } & NameQuery);

/** Looks media up. Each method resolves with a path that `launch` takes, or rejects with `ServiceError`. */
export interface MediaLookup {
  /** Finds the file of a title. `why` is absent for an exact match. */
  title(wanted: WantedTitle): Promise<{ readonly path: string; readonly why?: string }>;
  search(query: NameQuery): Promise<string>;
  /** Chooses one of all files of the sources, all with the same probability. */
  random(sources: readonly RandomSource[]): Promise<string>;
}

export interface PlaylistHow extends LaunchHow {
  readonly isShuffled: boolean;
  readonly repeat: "no" | "all" | "one";
}

/**
 * The current playlist, of which there is at most one. Methods reject with `ServiceError` if no playlist is loaded, or no
 * item can be played.
 */
export interface PlaylistPorts {
  /** Starts the playlist at `path`; without a path, resumes the loaded one. */
  play(path: string | undefined, how: PlaylistHow): Promise<void>;
  /** Replaces the loaded playlist, and starts nothing. */
  load(path: string, how: PlaylistHow): Promise<void>;
  /** Shows the items of the playlist at `path`, or of the loaded one, to choose from; starts nothing. */
  open(path: string | undefined, how: PlaylistHow): Promise<void>;
  /** Ends the playlist, and stops its item. */
  stop(): Promise<void>;
  /** Stops its item, and keeps its place. */
  pause(): Promise<void>;
  /** Moves `by` items forward, or back if `by` is negative, and starts that item. */
  move(by: number): Promise<void>;
  /** Starts the item at this place, from 1. */
  goTo(place: number): Promise<void>;
}

/** All that commands may act on; the launch queue builds one for each script. */
export interface ScriptPorts {
  /** The present values of the variables of expressions. */
  facts(): Facts;
  /** Starts media and resolves once its player runs; rejects with `ServiceError`. */
  launch(path: string, how: LaunchHow): Promise<void>;
  launchSystem(system: string): Promise<void>;
  /** Starts media that were played before. `nth` counts different media, and the last one is 1. */
  launchLast(how: Pick<LaunchHow, "resume"> & { readonly nth?: number }): Promise<void>;
  /** Stops the player, and resolves once it has ended. */
  stop(): Promise<void>;
  delay(ms: number, signal: AbortSignal): Promise<void>;
  echo(text: string): void;
  /**
   * Sends a web request, and resolves after a successful response. Rejects with `ServiceError`, with `forbidden` if the
   * owner did not allow it.
   */
  request(request: WebRequest, signal: AbortSignal): Promise<void>;
  /** Runs a program to its end, without a shell; rejects as `request` does, and for an exit code other than 0. */
  execute(argv: readonly string[], signal: AbortSignal): Promise<void>;
  /** Resolves once the player shows its media, or has run long enough to count as working; rejects after a time-out. */
  mediaReady(signal: AbortSignal): Promise<void>;
  /** Controls the current player; rejects if nothing plays, or the player cannot do this. */
  control(action: ControlAction): Promise<void>;
  /** Changes the volume of the player if it has one, otherwise of the device; rejects if neither has one. */
  changeVolume(change: VolumeChange, signal: AbortSignal): Promise<void>;
  /** Presses keys of a virtual device, and resolves once all are released; rejects if there is no such device. */
  input(kind: InputKind, steps: readonly InputStep[], signal: AbortSignal): Promise<void>;
  /** Writes to the next tag that is not the script's own, and resolves once the tag was read back equal. */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** Saves a picture of the player, or otherwise of the device's own screen; rejects if neither is possible. */
  screenshot(): Promise<void>;
  /** Stops the media after this time. The same time again, or 0, ends the timer. */
  sleep(ms: number): void;
  /** Stops the media and switches the device off; rejects if the service may not do that. */
  shutdown(): Promise<void>;
  /** Shows the pairing code on the screen of the device; rejects if there is no screen. */
  pair(): Promise<void>;
  readonly playlist: PlaylistPorts;
  /** The media index; absent if there is none. */
  readonly index?: MediaLookup;
}

/** Reads `yes`, `true`, `1`, `no`, `false` and `0` in any case; undefined for any other text. */
export function readFlag(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (["yes", "true", "1"].includes(word)) return true;
  return ["no", "false", "0"].includes(word) ? false : undefined;
}

/** A command of a script with its expressions evaluated. */
export interface Call {
  /** The name in the script, in lower case. */
  readonly name: string;
  readonly args: readonly string[];
  /** Whether any of `args` contains the value of an expression, which may come from a card. */
  readonly hasExpressions: boolean;
  readonly options: ReadonlyMap<string, string>;
}

export interface ScriptCommand {
  /** The names in lower case. The first is the name in messages, and the others are aliases. */
  readonly names: readonly string[];
  readonly argsMin: number;
  readonly argsMax: number;
  /** The arguments of the command, for people: `url, type, body`; empty if it has none. */
  readonly args: string;
  /** The options of the command, each with a line for people. Every command also takes `when`. */
  readonly options: Readonly<Record<string, string>>;
  /** Options that have no effect here, for cards of other devices: each with its only value, or `""` for any. */
  readonly ignores?: Readonly<Record<string, string>>;
  /**
   * The command starts media. A script with such a command ends the scripts of other cards that still run, and the launch
   * guard holds it back while media play. `goesOn` is the exception to both rules. A script that is an item of a playlist
   * must have such a command.
   */
  readonly startsMedia: boolean;
  /** The command acts on media, so it takes the option `slot`. */
  readonly takesSlot?: true;
  /** The command continues the current media, so the launch guard does not hold it back. */
  readonly goesOn?: true;
  /**
   * The command stops the current media. Its script ends the running scripts of other cards. The launch guard does not
   * hold it back.
   */
  readonly endsMedia?: true;
  /** The command may take long. Meanwhile another card may run its script. */
  readonly waits?: true;
  /** The command reaches nothing outside the device, so a script of an untrusted origin may run it. */
  readonly allowedUntrusted: boolean;
  /** Only a card on a reader of the device may run it. */
  readonly needsReader?: true;
  /** The command finds media by the index. The manual states this, and the command itself fails if there is no index. */
  readonly needsIndex?: true;
  readonly docs: string;
  readonly example: string;
  /** Runs the command. Rejects with `ServiceError("failed")` and a sentence. */
  run(call: Call, ports: ScriptPorts, signal: AbortSignal): Promise<void>;
}
