/** On whose behalf a script runs: what its commands know, and to whom what they start belongs. */
import type { ActiveMedia } from "../core/media.ts";
import type { Token } from "../core/token.ts";
import type { ScriptOrigin } from "../script/command.ts";

export interface RunContext {
  /** The card that asked for it, as `cardOf` tells; undefined where none did. */
  readonly card: string | undefined;
  /** Of the tag that says it; absent or empty where none does. */
  readonly uid?: string;
  /** The source of the script; one that is not trusted learns nothing of cards. */
  readonly origin: ScriptOrigin;
  /** A script of the config's `hooks`: what it starts calls no hooks, for that would not end. */
  readonly isHook: boolean;
  /** Aborts when the script, or what it is about to start, is to be stopped. */
  readonly signal: AbortSignal;
  /** Takes a sentence on what was launched, for whoever asks why it was that. */
  readonly explain?: (why: string) => void;
  /** What a hook is told of, in the place of what was scanned and what plays now. */
  readonly event?: HookEvent;
}

export interface HookEvent {
  readonly token?: Token;
  readonly media?: ActiveMedia;
  readonly launching?: Launching;
}

/** What is about to be started. */
export interface Launching {
  readonly path: string;
  readonly systemId: string;
  readonly launcherId: string;
}
