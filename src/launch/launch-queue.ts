/**
 * Launches tokens: the text of a token, or of its mapping, joins the queue as a script (`script-queue.ts`). A script that
 * switches or stops media ends the scripts that wait. Each accepted launch has one history row and one `launch.finished`.
 */
import { basename } from "node:path";
import { homeAssistantTag, textOfLaunchLink } from "../core/card-addresses.ts";
import { rfc3339 } from "../core/clock.ts";
import { coded, launchFailed, messageOf, publicError, ServiceError } from "../core/errors.ts";
import { isLaunchReason } from "../core/faults.ts";
import {
  launchErrorCharsMax,
  launchesForCardsMax,
  launchQueueMax,
  untrustedLaunchesMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia } from "../core/media.ts";
import { isPairingLink, withoutPairingSecrets, withoutSecrets } from "../core/pairing-link.ts";
import type { Requester } from "../core/rights.ts";
import { clipped } from "../core/text.ts";
import type { TagProblem, TokenParams } from "../core/token.ts";
import type { LaunchFinished } from "../events.ts";
import type { ScriptOrigin } from "../script/command.ts";
import { type ReadyScript, readyScript } from "../script/run-script.ts";
import type { History } from "../store/history.ts";
import { confirmMs, createLaunchGuard } from "./launch-guard.ts";
import { createPlaybackSession, type SessionParts } from "./playback-session.ts";
import type { Proof } from "./run-context.ts";
import {
  cardOf,
  type LaunchSource,
  logTap,
  mayLaunch,
  noTextSentence,
  originNow,
  originOf,
  type RunContext,
} from "./run-context.ts";
import { type Aside, createScriptQueue, type QueuedScript } from "./script-queue.ts";

export interface LaunchQueueParts extends SessionParts {
  readonly history: History;
  /** The text of a mapping that replaces the token's own text; undefined if no mapping matches. */
  readonly map: (token: TokenParams) => string | undefined;
}

export type LaunchQueue = ReturnType<typeof createLaunchQueue>;

interface Run extends QueuedScript {
  /** The id of the launch's row in the history; undefined if the launch has no row. */
  readonly id: number | undefined;
  readonly time: string;
  readonly token: TokenParams;
  readonly script: string;
  /** The script as it was checked for `origin`; undefined if it was not, or has a fault. */
  readonly checked: ReadyScript | undefined;
  readonly origin: ScriptOrigin;
  readonly problem: TagProblem | undefined;
  readonly readerId: string;
  readonly requester: Requester | undefined;
  /** The card of the tap; undefined for a launch without one. */
  readonly card: string | undefined;
  /** True if the launch guard held the launch back, and it was confirmed. */
  readonly isConfirmed: boolean;
  readonly ending: AbortController;
}

/** The fields of `launch.finished` on a failure. */
type Failure = Required<Pick<LaunchFinished, "error" | "reason">> & Pick<LaunchFinished, "subject">;

/** Fields of `launch.finished` besides the result. */
interface Remarks {
  /** A sentence that says how the media was chosen. */
  note?: string;
  traits?: Readonly<Record<string, string>>;
}

const noToken: TokenParams = { type: "", uid: "", text: "", data: "" };
const stoppedReason = publicError("failed", "it was stopped", "stopped");
const revoked = launchFailed("revoked", "its client was revoked, or has another role now");
const lostRight = new ServiceError("forbidden", "its caller may not start it any more", {
  reason: "revoked",
});
const takenOver = publicError("failed", "another card took over", "taken-over");

export function createLaunchQueue(parts: LaunchQueueParts) {
  const { bus, clock, log, history, map, config } = parts;
  const queue = createScriptQueue<Run>();
  let closed = false;
  let lastToken = noToken;
  const session = createPlaybackSession(parts, () => lastToken);
  const guard = createLaunchGuard<{ readonly card: string; readonly run: Run }>(clock);
  const unsettled = new Set<Promise<void>>();

  const finish = (run: Run, error?: unknown, remarks: Remarks = {}, media?: ActiveMedia) => {
    const why = error === undefined ? {} : failureOf(error, log);
    const { uid, text } = run.token;
    if (run.card !== undefined)
      logTap(log, run.token, run.readerId, { ...why, media, texts: [text, run.script] });
    if (run.id !== undefined) history.finish(run.id, why);
    bus.emit("launch.finished", {
      time: run.time,
      uid,
      text,
      success: error === undefined,
      ...why,
      ...remarks,
    });
  };
  /** A launch succeeds once its player has proved itself. The next launch does not wait for that proof. */
  const settle = (run: Run, proof: Proof | undefined, remarks: Remarks) => {
    if (proof === undefined) return finish(run, undefined, remarks);
    const settling = proof.settled
      .then(
        () => finish(run, undefined, remarks, proof.media),
        (error) => finish(run, error, remarks),
      )
      .finally(() => unsettled.delete(settling));
    unsettled.add(settling);
  };
  const runScript = async (run: Run, context: RunContext, aside: Aside, remarks: Remarks): Promise<void> => {
    const { script, card, requester } = run;
    if (!mayLaunch(requester)) throw lostRight;
    if (script.trim() === "")
      throw publicError("failed", noTextSentence(run.problem), run.problem ?? "no-text");
    if (isPairingLink(script))
      throw publicError(
        "failed",
        "this card lets a phone in: tap the phone on it, not the reader",
        "pairing-card",
      );
    if (homeAssistantTag(script) !== undefined) {
      if (config().mqtt.url !== "") return;
      const sentence = `${script.trim()} is a tag of Home Assistant: the deck tells it of the tag once mqtt.url names its broker`;
      throw launchFailed("outside-media", sentence);
    }
    const isChecked = run.checked !== undefined && context.origin === run.origin;
    const ready = isChecked ? run.checked : readyScript(script, context.origin);
    if (ready.traits.size > 0) remarks.traits = Object.fromEntries(ready.traits);
    if (ready.switchesMedia && config().launch.guard && card !== undefined && !run.isConfirmed) {
      const playing = session.active();
      if (playing !== undefined && guard.holds({ card, run })) throw heldBack(run, playing);
    }
    if (ready.takesOver) for (const other of queue.begun()) if (other !== run) other.ending.abort(takenOver);
    await ready.run(session.portsOf(context), context.signal, aside);
  };
  const heldBack = ({ token, time }: Run, playing: ActiveMedia): ServiceError => {
    const { uid, text } = token;
    bus.emit("launch.guarded", { time, uid, text, playing: playing.mediaName, confirmMs });
    return launchFailed(
      "held-back",
      `${playing.mediaName} plays: put the same card on once more within ${confirmMs / 1000} seconds to switch`,
    );
  };
  const runOne = (run: Run, aside: Aside): Promise<void> => {
    const remarks: Remarks = {};
    let proof: Proof | undefined;
    const context: RunContext = {
      card: run.card,
      uid: run.token.uid,
      origin: originNow(run.origin, run.requester),
      requester: run.requester,
      isHook: false,
      signal: run.ending.signal,
      explain(why) {
        remarks.note = why;
      },
      onStarted(started) {
        proof = started;
      },
    };
    return runScript(run, context, aside, remarks).then(
      () => settle(run, proof, remarks),
      (error) => finish(run, error, remarks),
    );
  };
  const enqueue = (token: TokenParams, from: LaunchSource, isConfirmed: boolean) => {
    if (closed) throw publicError("busy", "the service is stopping");
    const { readerId = "", isTap = false, isUnlisted = false, problem, requester } = from;
    const origin = originOf(from);
    refuseBeyond(
      "launchQueueMax",
      launchQueueMax + (isTap ? launchesForCardsMax : 0),
      queue.waiting().length,
    );
    if (origin === "untrusted") {
      const all = [...queue.waiting(), ...queue.begun()];
      const others = all.filter((run) => run.origin === "untrusted").length;
      refuseBeyond("untrustedLaunchesMax", untrustedLaunchesMax, others);
    }
    const { type, uid, text, data } = token;
    const timeMs = clock.now();
    const override = map(token);
    const { port, tlsPort } = config().api;
    // Other callers name the text themselves, so api.allow_launch may judge it.
    const own = isTap ? textOfLaunchLink(text, [port, tlsPort]) : text;
    const script = withoutPairingSecrets(override ?? own);
    // A tap has no caller to answer, so its run ends with the refusal. The run of an untrusted caller's mapping ends in
    // the same way, because an answer would show that the mapping exists.
    const isRefusable = !isTap && !(origin === "untrusted" && override !== undefined);
    const checked = isRefusable ? checkedScript(script, origin) : undefined;
    if (origin !== "untrusted" && !isUnlisted) lastToken = token;
    const id = isUnlisted ? undefined : history.open({ timeMs, type, uid, text, data, script, readerId });
    const time = rfc3339(timeMs);
    const card = isTap ? cardOf(token) : undefined;
    const ending = new AbortController();
    const run: Run = {
      id,
      time,
      token,
      script,
      checked,
      origin,
      problem,
      readerId,
      requester,
      card,
      isConfirmed,
      ending,
      cutsIn: isTap,
      run: (aside) => runOne(run, aside),
    };
    queue.add(run);
    bus.emit("running", { type, uid, text, data, time, script });
  };
  const stopAll = (): Promise<void> => {
    const waiting = queue.drop(() => true);
    for (const run of queue.begun()) run.ending.abort(stoppedReason);
    guard.take();
    for (const run of waiting) finish(run, stoppedReason);
    return session.stopAll();
  };
  const logFailure = (done: Promise<void>, what = "stop") =>
    void done.catch((error) =>
      log.error("launch", `could not ${what} the player`, { error: messageOf(error) }),
    );
  /** Ends the player and its playlist, and the running script of `card`. Returns at once. */
  const stopMedia = (why: string, card?: string): void => {
    const ofCard = card === undefined ? [] : queue.begun().filter((run) => run.card === card);
    for (const run of ofCard) run.ending.abort(launchFailed("stopped", why));
    logFailure(session.stopMedia());
  };

  return {
    /**
     * Queues the script. Throws `busy` for a full queue, `invalid-params` for an empty token, and `forbidden` for its
     * origin.
     */
    launch(token: TokenParams, from: LaunchSource = {}): void {
      if (token.uid === "" && token.text === "" && token.data === "")
        throw publicError("invalid-params", "at least one of uid, text and data must not be empty");
      // Pairing secrets are neither stored nor sent in events.
      enqueue(withoutSecrets(token), from, false);
    },
    /** Ends the player and all scripts, empties the queue, and returns at once. */
    stop: () => logFailure(stopAll()),
    /** Like `stop`, but resolves when the player is gone and its saves are kept. */
    stopAll,
    stopMedia,
    /** Pauses the player, or stops it (`stopMedia`) if that fails. Returns at once. */
    pauseMedia: (why: string, card: string): void =>
      void session.control({ kind: "pause" }).catch(() => {
        if (session.owner()?.card === card) stopMedia(why, card);
      }),
    resumeMedia: (): void => logFailure(session.control({ kind: "resume" }), "resume"),
    canPauseMedia: session.canPause,
    /**
     * Like `stopMedia`, but only if the current media is on the USB stick that was at the folder. `media.stopped`
     * carries the name of the stick.
     */
    stopMediaIn(folder: string): void {
      if (session.active()?.mediaPath.startsWith(`${folder}/`))
        logFailure(session.stopMedia(basename(folder)));
    },
    /**
     * Ends the waiting and running scripts of a client that was revoked or has another role, and the scripts of its
     * playlist.
     */
    revoke(client: string): void {
      const isIts = ({ requester }: Run) => requester?.client === client;
      for (const run of queue.begun().filter(isIts)) run.ending.abort(revoked);
      for (const run of queue.drop(isIts)) finish(run, revoked);
      guard.drop((held) => isIts(held.run));
      session.reviewPlaylist(revoked, client);
    },
    /** Ends the running scripts of callers that lost their right. Waiting scripts are checked when they start. */
    review(): void {
      for (const { origin, requester, ending } of queue.begun())
        if (originNow(origin, requester) !== origin || !mayLaunch(requester)) ending.abort(lostRight);
      session.reviewPlaylist(lostRight);
    },
    /** Launches the card that the guard holds back; throws `not-found` if there is none. */
    confirm(): void {
      const held = guard.take();
      if (held === undefined) throw publicError("not-found", "nothing waits to be confirmed");
      const { token, readerId, origin, requester } = held.run;
      const trusted = origin !== "untrusted";
      const isFromReader = origin === "reader";
      enqueue(token, { readerId, trusted, isFromReader, requester, isTap: true }, true);
    },
    activeMedia: session.active,
    playback: session.playback,
    control: session.control,
    picture: session.picture,
    holdVolume: session.holdVolume,
    followLateness: session.followLateness,
    fadeVolume: session.fadeVolume,
    idleVolume: session.idleVolume,
    playlist: session.playlist,
    /** The card whose script started the current media; undefined if no card did. */
    cardOfMedia: () => session.owner()?.card,
    /** Whether a launch of this card waits or runs, or a playlist of it plays. */
    isLaunching: (card: string) =>
      [...queue.begun(), ...queue.waiting()].some((run) => run.card === card) || session.isPlaylistOf(card),
    /** Like `stop`, but resolves when the player is gone, and refuses launches from now on. */
    async close(): Promise<void> {
      closed = true;
      session.close();
      await stopAll();
      await queue.idle();
      await Promise.all(unsettled);
    },
  };
}

function refuseBeyond(limit: string, max: number, count: number): void {
  if (count < max) return;
  throw coded(
    "launches-waiting",
    new ServiceError("busy", `${max} launches wait already`, { data: { limit }, isPublic: true }),
  );
}

/** Throws for a forbidden command. Other faults of the script are reported when it runs; it is undefined until then. */
function checkedScript(script: string, origin: ScriptOrigin): ReadyScript | undefined {
  try {
    return readyScript(script, origin);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "forbidden") throw error;
    return undefined;
  }
}

/** The sentence and the reason of a refusal; an internal error goes to the log. */
function failureOf(error: unknown, log: Log): Failure {
  if (error instanceof ServiceError) {
    const { message, code, subject } = error;
    const reason = error.reason ?? (isLaunchReason(code) ? code : "failed");
    return {
      error: clipped(message, launchErrorCharsMax),
      reason,
      ...(subject === undefined ? {} : { subject }),
    };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log.error("launch", "internal error", { error: text });
  return { error: "internal error: see the log", reason: "internal-error" };
}
