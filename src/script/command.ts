/** What a script command is, and the ports through which it sees the world. */
import type { InputKind, InputStep } from "../core/operating-system.ts";
import type { ControlAction, VolumeChange } from "../core/playback.ts";
import type { Facts } from "./variables.ts";

/**
 * Where a script came from: a page or a link that anybody may have made, a caller or a file that the owner trusts, or a card
 * on a reader of the device.
 */
export type ScriptOrigin = "untrusted" | "trusted" | "reader";

export interface LaunchHow {
  readonly launcher?: string;
  readonly system?: string;
  /** Whether a game goes on where it was left; as the config says where absent. */
  readonly resume?: boolean;
  /** It is an item of a playlist, which holds no other one. */
  readonly isItem?: true;
  /** How the file was found, where that is not plain: a sentence for whoever wonders. */
  readonly why?: string;
}

/** What a title means. */
export interface FoundPath {
  /** As `launch` takes it. */
  readonly path: string;
  /** Absent where it is plain. */
  readonly why?: string;
}

export interface WebRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Only with POST. */
  readonly content?: { readonly type: string; readonly body: string };
}

/** `System/Title (tag) (tag)`, taken apart. */
export interface WantedTitle {
  readonly system: string;
  readonly title: string;
  /** Without their brackets, as written. */
  readonly tags: readonly string[];
}

/** `System/*words*` or `*words*`: a name in which each `*` stands for anything. */
export interface NameQuery {
  /** Absent where it may be of every system. */
  readonly system?: string;
  readonly pattern: string;
}

export type RandomSource =
  | { readonly kind: "all" }
  | { readonly kind: "system"; readonly system: string }
  | { readonly kind: "folder"; readonly path: string }
  | ({ readonly kind: "query" } & NameQuery);

/** Looks media up. Each resolves with a path that `launch` takes, or rejects with `ServiceError` where there is none. */
export interface MediaIndex {
  title(wanted: WantedTitle): Promise<FoundPath>;
  /** The best of what fits. */
  search(query: NameQuery): Promise<string>;
  /** Any file of any of the sources, each with even odds. */
  random(sources: readonly RandomSource[]): Promise<string>;
}

export interface PlaylistHow extends LaunchHow {
  readonly isShuffled: boolean;
  readonly repeat: "no" | "all" | "one";
}

/** The playlist: one at a time. Each rejects with `ServiceError` where there is none, or nothing that can be played. */
export interface PlaylistPorts {
  /** Starts the playlist at `path`, or, where none is given, goes on with the one that is loaded. */
  play(path: string | undefined, how: PlaylistHow): Promise<void>;
  /** Takes the place of what was loaded, and starts nothing. */
  load(path: string, how: PlaylistHow): Promise<void>;
  /** Ends it, and stops its item. */
  stop(): Promise<void>;
  /** Stops its item, and keeps the place. */
  pause(): Promise<void>;
  /** Starts the item so many places on, or back. */
  move(by: number): Promise<void>;
  /** Starts the item at this place, from 1. */
  goTo(place: number): Promise<void>;
}

/** The world as commands see it; the launcher builds one for each script. */
export interface ScriptPorts {
  /** What the variables of expressions hold now. */
  facts(): Facts;
  /** Starts media and resolves once its player runs; rejects with `ServiceError` where it cannot. */
  launch(path: string, how: LaunchHow): Promise<void>;
  /** Starts a system without media. */
  launchSystem(system: string): Promise<void>;
  /** Starts what was started last once more. */
  launchLast(how: Pick<LaunchHow, "resume">): Promise<void>;
  /** Stops what plays, and resolves once it has ended. */
  stop(): Promise<void>;
  /** Resolves after `ms` milliseconds. */
  delay(ms: number, signal: AbortSignal): Promise<void>;
  /** Says something in the log. */
  echo(text: string): void;
  /** Resolves once a server has answered well; rejects with `ServiceError`, `forbidden` where the owner did not allow it. */
  request(request: WebRequest, signal: AbortSignal): Promise<void>;
  /** Runs a program to its end, without a shell; rejects as `request` does, and where it ends with a code other than 0. */
  execute(argv: readonly string[], signal: AbortSignal): Promise<void>;
  /** Resolves once the player of what plays shows it, or has run for as long as one that works; bounded. */
  mediaReady(signal: AbortSignal): Promise<void>;
  /** Has the player of what plays do something; rejects where nothing plays, or it cannot. */
  control(action: ControlAction): Promise<void>;
  /** Of the player of what plays where it has a volume, else of the device; rejects where neither can be had. */
  changeVolume(change: VolumeChange, signal: AbortSignal): Promise<void>;
  /** Presses keys of a virtual device, and resolves once all are up again; rejects where there can be none. */
  input(kind: InputKind, steps: readonly InputStep[], signal: AbortSignal): Promise<void>;
  /** Writes to the next tag that is not the one whose script this is, and resolves once it was read back equal. */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** Shows on the device's own screen how a phone is let in; rejects where there is none. */
  pair(): Promise<void>;
  readonly playlist: PlaylistPorts;
  /** Absent where there is none. */
  readonly index?: MediaIndex;
}

/** A command of a script with its expressions worked out. */
export interface Call {
  /** The name under which the script called it, in lower case. */
  readonly name: string;
  readonly args: readonly string[];
  /** Whether anything in `args` came out of an expression, and so perhaps from a card. */
  readonly hasExpressions: boolean;
  readonly options: ReadonlyMap<string, string>;
}

export interface ScriptCommand {
  /** Lower case; the first is the one in messages, the others are aliases. */
  readonly names: readonly string[];
  readonly argsMin: number;
  readonly argsMax: number;
  /** What its arguments are, for people: `url, type, body`; empty where it has none. */
  readonly args: string;
  /** Its options, each with a line for people. Every command takes `when` besides. */
  readonly options: Readonly<Record<string, string>>;
  readonly startsMedia: boolean;
  /** What it starts belongs to what plays already: the launch guard lets it through. */
  readonly goesOn?: true;
  /** It ends what plays. */
  readonly endsMedia?: true;
  /** It takes its time, in which another card may take over. */
  readonly waits?: true;
  /** May run when the script came from a page or a link that anybody may have made: it reaches nothing outside the device. */
  readonly allowedUntrusted: boolean;
  /** Only a card on a reader of the device may say it. */
  readonly needsReader?: true;
  /** Needs the media index. */
  readonly needsIndex?: true;
  /** A sentence or more for people. */
  readonly docs: string;
  /** A script that shows it. */
  readonly example: string;
  /** Rejects with `ServiceError("failed")` and a sentence. */
  run(call: Call, ports: ScriptPorts, signal: AbortSignal): Promise<void>;
}
