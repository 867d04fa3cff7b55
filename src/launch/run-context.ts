/** The source of a launch, its token, and the context in which its script runs. */
import type { Log } from "../core/log.ts";
import type { ActiveMedia, StartedMedia } from "../core/media.ts";
import { allows, type Requester } from "../core/rights.ts";
import { isMadeUp, normalizeUid, type TagProblem, type Token, type TokenParams } from "../core/token.ts";
import type { ScriptOrigin } from "../script/command.ts";

export interface LaunchSource {
  readonly readerId?: string;
  /** The caller of the API that requested the launch, or put the token on a virtual reader. */
  readonly requester?: Requester | undefined;
  /** The reason why the reader found no text. */
  readonly problem?: TagProblem;
  /** False for a page or link by anyone: its script may not reach outside the device. */
  readonly trusted?: boolean;
  /** False for a token that the API put on a virtual or simulated reader. */
  readonly isFromReader?: boolean;
  /** True for a token on a reader. The launch guard may hold it back, and the media belong to its card. */
  readonly isTap?: boolean;
  /** True for a button of the case. Its launches are not in the history, because a knob would fill it. */
  readonly isUnlisted?: boolean;
}

/** The origin of the script of a launch, by the rights that its caller has now. */
export function originOf({ trusted = true, isFromReader = false, requester }: LaunchSource): ScriptOrigin {
  return trusted ? originNow(isFromReader ? "reader" : "trusted", requester) : "untrusted";
}

/** The origin at a later time: it becomes untrusted if the caller has lost the right `change`. */
export function originNow(origin: ScriptOrigin, requester: Requester | undefined): ScriptOrigin {
  return requester === undefined || allows(requester.grant(), "change") ? origin : "untrusted";
}

const byTrust: readonly ScriptOrigin[] = ["untrusted", "trusted", "reader"];

/** The origin of work that two callers have caused. The work may do only what both of them may do. */
export function lowerOrigin(one: ScriptOrigin, other: ScriptOrigin): ScriptOrigin {
  return byTrust.indexOf(one) < byTrust.indexOf(other) ? one : other;
}

/** False if the caller has lost the right to launch. */
export function mayLaunch(requester: Requester | undefined): boolean {
  return requester === undefined || allows(requester.grant(), "play");
}

/**
 * Identifies a card: equal for each tap of it on any reader, and different after it was rewritten. A phone is identified by
 * its text, because it makes up its UID.
 */
export function cardOf({ uid, text, data }: TokenParams): string {
  const known = normalizeUid(uid);
  const lasting = isMadeUp(known) && text !== "" ? "08" : known;
  return JSON.stringify([lasting, text, uid === "" && text === "" ? data : ""]);
}

interface TapEnd {
  /** A sentence that says why nothing started. */
  readonly error?: string;
  readonly media?: Pick<ActiveMedia, "systemId" | "launcherId"> | undefined;
  /** The texts of the card and of its mapping. */
  readonly texts: readonly string[];
}

/** Writes the line of a tap. A word of the error that is also in the texts becomes `…`. */
export function logTap(
  log: Log,
  { uid }: TokenParams,
  readerId: string,
  { error, media, texts }: TapEnd,
): void {
  const from = { uid, reader: readerId === "" ? "api" : readerId };
  if (error !== undefined)
    log.warn("launch", "nothing started", { error: withoutWordsOf(texts, error), ...from });
  else log.info("launch", "started", { ...from, system: media?.systemId, launcher: media?.launcherId });
}

// An error may quote the whole output of a player.
const loggedErrorCharsMax = 400;
// The shortest piece of a path or title that is redacted. Shorter pieces are parts of ordinary words.
const pieceChars = 5;

function withoutWordsOf(texts: readonly string[], error: string): string {
  const own = texts.join("\n").toLowerCase();
  const wordsOf = (text: string) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const words = new Set(wordsOf(own));
  const isQuoted = (shown: string) => {
    for (let at = 0; at + pieceChars <= shown.length; at++)
      if (own.includes(shown.slice(at, at + pieceChars))) return true;
    return wordsOf(shown).some((word) => words.has(word));
  };
  return error
    .slice(0, loggedErrorCharsMax)
    .split(/\s+/)
    .map((word) => (isQuoted(word.toLowerCase()) ? "…" : word))
    .join(" ")
    .replace(/…( …)+/g, "…");
}

/** The context of one script; media that it starts belong to it. */
export interface RunContext {
  /** The card that asked for the script (`cardOf`); undefined if none did. */
  readonly card: string | undefined;
  /** The UID of the tag with the script; absent or empty if there is none. */
  readonly uid?: string;
  /** The rights of the script. An untrusted script gets no facts about cards. */
  readonly origin: ScriptOrigin;
  /** The caller of the API that caused the script. A playlist asks it for its present rights before each item. */
  readonly requester?: Requester | undefined;
  /**
   * True for scripts of `hooks` in the config. Their media call no hooks, because hooks would otherwise call each other
   * without end.
   */
  readonly isHook: boolean;
  readonly signal: AbortSignal;
  /** Receives a sentence that explains the choice of media, for the answer to the user. */
  readonly explain?: (why: string) => void;
  /** Receives the proof of each player that the script starts. */
  readonly onStarted?: (proof: Proof) => void;
  /** The event of a hook, which replaces the last token and the current media in its variables. */
  readonly event?: HookEvent;
}

/** Whether a player that was started has played. */
export interface Proof {
  readonly media: ActiveMedia;
  /**
   * Resolves when the player has shown its media or has run long enough, ended with code 0, or was stopped. Rejects with
   * `ServiceError` if it failed before.
   */
  readonly settled: Promise<void>;
  /**
   * Like `settled`, but never before `proofMs` of `playing.ts`. If a player fails soon after it showed its media, the
   * media are therefore not started again.
   */
  readonly lasted: Promise<void>;
}

export interface HookEvent {
  readonly token?: Token;
  readonly media?: ActiveMedia;
  /** The media that is about to start, in the hook `before_start`. */
  readonly launching?: StartedMedia;
}

const andNoMapping = "and no mapping for it";

const problemSentences: Readonly<Record<TagProblem, string>> = {
  blank: `the tag is blank: there is no text on it yet, ${andNoMapping}`,
  unformatted: `the tag is not formatted for NFC messages: there is no text on it, ${andNoMapping}. Writing a text to it formats it`,
  "half-written": `the message on the tag is cut short, as by a write that was interrupted: write it again. There is no text on it, ${andNoMapping}`,
  "other-message": `the message on the tag is neither a text nor a link, ${andNoMapping}`,
  locked: `the tag keeps its memory locked, by a password or a key that is not known here, ${andNoMapping}`,
  unreadable: `the tag's memory could not be read, ${andNoMapping}`,
};

/** The error in `launch.finished` for a token without a text and without a mapping. */
export function noTextSentence(problem: TagProblem | undefined): string {
  return problem === undefined
    ? `there is no text on this token, ${andNoMapping}`
    : problemSentences[problem];
}
