/**
 * A token becomes a run: its text, or what a mapping makes of it, joins the queue as a script; scripts run one after
 * another (turns.ts). A card that switches or ends what plays ends the scripts that still wait for something. Every
 * accepted launch has one history row and one `launch.finished`.
 */
import type { Bus } from "../bus.ts";
import type { Config } from "../config/shape.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import { launchesForCardsMax, launchQueueMax, untrustedLaunchesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia, ClosedPlaces } from "../core/media.ts";
import { isPairingLink, withoutPairingSecrets, withoutSecrets } from "../core/pairing-link.ts";
import type { ControlAction } from "../core/playback.ts";
import type { Requester } from "../core/rights.ts";
import type { TagProblem, TokenParams } from "../core/token.ts";
import type { ScriptOrigin } from "../script/command.ts";
import { readyScript } from "../script/run-script.ts";
import type { History } from "../store/history.ts";
import type { LastMedia } from "../store/play-state.ts";
import { cardOf } from "./card.ts";
import { type LaunchSource, mayLaunch, originNow, originOf } from "./launch-source.ts";
import { noTextSentence } from "./no-text.ts";
import { createWorker, type WorkerParts } from "./playback-session.ts";
import type { PlaylistState } from "./playlist.ts";
import type { Devices } from "./ports/device-ports.ts";
import type { SearchedMedia } from "./ports/index-port.ts";
import { confirmMs, createGuard } from "./rules/switch-guard.ts";
import type { RunContext } from "./run-context.ts";
import { type Aside, createTurns, type Job } from "./script-queue.ts";
import { sentenceOf } from "./sentence.ts";

export interface LauncherParts extends Pick<WorkerParts, "saves"> {
  /** Asked at each launch, so that new folders and players take effect at the next one. */
  readonly config: () => Config;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly history: History;
  /** What was started last, over restarts; where absent, a restart forgets. */
  readonly lastMedia?: LastMedia;
  /** Folders of the USB sticks that are plugged in; none where absent. */
  readonly sticks?: () => readonly string[];
  /** Files and folders of the service, which are never played. */
  readonly closed?: ClosedPlaces;
  /** The media index, for the commands that look something up. */
  readonly media?: SearchedMedia;
  /** What scripts may use besides players; where absent, they are told that there is nothing. */
  readonly devices?: Devices;
  /** The text that a mapping puts in the place of the token's own; undefined where none matches. */
  readonly map: (token: TokenParams) => string | undefined;
  /** Why nothing may be started now, as a sentence; undefined where it may. */
  readonly refusal?: () => string | undefined;
  /** Milliseconds that never go back. */
  readonly elapsedMs?: () => number;
}

export interface Launcher {
  /**
   * Queues the token's script and returns. Throws `ServiceError`: `busy` where the queue is full, `invalid-params` for a
   * token that says nothing, `forbidden` for a script that an untrusted source may not run.
   */
  launch(token: TokenParams, from?: LaunchSource): void;
  /** Ends what plays and what runs, empties the queue, and returns at once. */
  stop(): void;
  /** Ends what plays, and its playlist; of `card`, where given, also the rest of the script that runs. Returns at once. */
  stopMedia(why: string, card?: string): void;
  /** As `stopMedia`, where what plays lies below the folder; `media.stopped` tells why. */
  stopMediaIn(folder: string, why: string): void;
  /** Ends the scripts of a client that was revoked: those that wait, and those that run. */
  revoke(client: string): void;
  /** Ends the scripts that run for callers whose right was taken away. Those that wait are judged when they start. */
  review(): void;
  /** Launches what the guard holds back; throws `not-found` where it holds nothing. */
  confirm(): void;
  activeMedia(): ActiveMedia | undefined;
  /** As `activeMedia`, with what the player says of itself now. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Has the player of what plays do something; rejects with `ServiceError` where nothing plays, or it cannot. */
  control(action: ControlAction): Promise<void>;
  /** What plays is turned down to the owner's ceiling, where it is louder. */
  holdVolume(): Promise<void>;
  playlist(): PlaylistState | undefined;
  /** The card whose script started what plays, or played last; undefined where no card did. */
  cardOfMedia(): string | undefined;
  /** Whether a launch of this card waits or runs, or a playlist of it plays. */
  isLaunching(card: string): boolean;
  /** As `stop`, and resolves when the player is gone; nothing is launched from then on. */
  close(): Promise<void>;
}

interface Run extends Job {
  readonly id: number;
  readonly time: string;
  readonly token: TokenParams;
  readonly script: string;
  readonly origin: ScriptOrigin;
  readonly problem: TagProblem | undefined;
  readonly readerId: string;
  readonly requester: Requester | undefined;
  /** Undefined where no card was put down. */
  readonly card: string | undefined;
  /** It was held back, and somebody confirmed it. */
  readonly isConfirmed: boolean;
  readonly ending: AbortController;
}

const noToken: TokenParams = { type: "", uid: "", text: "", data: "" };
const stoppedReason = new ServiceError("failed", "it was stopped", { isPublic: true });
const revoked = new ServiceError("failed", "its client was revoked");
const lostRight = new ServiceError("forbidden", "its caller may not start it any more");
const takenOver = new ServiceError("failed", "another card took over", { isPublic: true });

export function createLauncher(parts: LauncherParts): Launcher {
  const { bus, clock, log, history, map, config } = parts;
  const turns = createTurns<Run>();
  let closed = false;
  let lastToken = noToken;
  const worker = createWorker(parts, () => lastToken);
  const guard = createGuard<{ readonly card: string; readonly run: Run }>(clock);
  const unsettled = new Set<Promise<void>>();

  const finish = (run: Run, error?: unknown, said?: string) => {
    const why = error === undefined ? {} : { error: sentenceOf(error, log) };
    const { uid, text } = run.token;
    history.finish(run.id, why.error);
    const note = said === undefined ? {} : { note: said };
    bus.emit("launch.finished", { time: run.time, uid, text, success: error === undefined, ...why, ...note });
  };
  /** A launch has gone well once the player that it started has proved itself; the next one does not wait for that. */
  const settle = (run: Run, context: RunContext, said: string | undefined) => {
    const proof = worker.startedBy() === context ? worker.lastProof() : undefined;
    if (proof === undefined) return finish(run, undefined, said);
    const settling = proof.settled
      .then(
        () => finish(run, undefined, said),
        (error) => finish(run, error, said),
      )
      .finally(() => unsettled.delete(settling));
    unsettled.add(settling);
  };
  const runScript = async (run: Run, context: RunContext, aside: Aside): Promise<void> => {
    const { script, card, requester } = run;
    if (!mayLaunch(requester)) throw lostRight;
    if (script === "") throw new ServiceError("failed", noTextSentence(run.problem), { isPublic: true });
    if (isPairingLink(script))
      throw new ServiceError("failed", "this card lets a phone in: tap the phone on it, not the reader", {
        isPublic: true,
      });
    const ready = readyScript(script, context.origin);
    if (ready.switchesMedia && config().launch.guard && card !== undefined && !run.isConfirmed) {
      const playing = worker.active();
      if (playing !== undefined && guard.holds({ card, run })) throw heldBack(run, playing);
    }
    if (ready.takesOver) for (const other of turns.begun()) if (other !== run) other.ending.abort(takenOver);
    await ready.run(worker.portsOf(context), context.signal, aside);
  };
  const heldBack = ({ token, time }: Run, playing: ActiveMedia): ServiceError => {
    const { uid, text } = token;
    bus.emit("launch.guarded", { time, uid, text, playing: playing.mediaName, confirmMs });
    return new ServiceError(
      "failed",
      `${playing.mediaName} plays: put the same card on once more within ${confirmMs / 1000} seconds to switch`,
    );
  };
  const runOne = (run: Run, aside: Aside): Promise<void> => {
    let note: string | undefined;
    const explain = (why: string) => {
      note = why;
    };
    const { card, ending, token } = run;
    const origin = originNow(run.origin, run.requester);
    const context = { card, uid: token.uid, origin, isHook: false, signal: ending.signal, explain };
    return runScript(run, context, aside).then(
      () => settle(run, context, note),
      (error) => finish(run, error, note),
    );
  };
  const enqueue = (token: TokenParams, from: LaunchSource, isConfirmed: boolean) => {
    if (closed) throw new ServiceError("busy", "the service is stopping", { isPublic: true });
    const { readerId = "", isTap = false, problem, requester } = from;
    const origin = originOf(from);
    refuseBeyond(
      "launchQueueMax",
      launchQueueMax + (isTap ? launchesForCardsMax : 0),
      turns.waiting().length,
    );
    if (origin === "untrusted") {
      const all = [...turns.waiting(), ...turns.begun()];
      const others = all.filter((run) => run.origin === "untrusted").length;
      refuseBeyond("untrustedLaunchesMax", untrustedLaunchesMax, others);
    }
    const { type, uid, text, data } = token;
    const timeMs = clock.now();
    const override = map(token);
    const script = withoutPairingSecrets(override ?? text);
    // A card has no caller who could be told: its refusal is how its run ends. So is that of a mapping for a caller that may
    // not know which mappings there are.
    if (!isTap && !(origin === "untrusted" && override !== undefined)) refuseForbidden(script, origin);
    if (origin !== "untrusted") lastToken = token;
    const id = history.open({ timeMs, type, uid, text, data, script, readerId });
    const time = rfc3339(timeMs);
    const card = isTap ? cardOf(token) : undefined;
    const ending = new AbortController();
    const run: Run = {
      ...{ id, time, token, script, origin, problem, readerId, requester, card, isConfirmed, ending },
      cutsIn: isTap,
      run: (aside) => runOne(run, aside),
    };
    turns.add(run);
    bus.emit("running", { type, uid, text, data, time, script });
  };
  const stopAll = (): Promise<void> => {
    const waiting = turns.drop(() => true);
    for (const run of turns.begun()) run.ending.abort(stoppedReason);
    guard.take();
    for (const run of waiting) finish(run, stoppedReason);
    return worker.stopAll();
  };
  // What cannot be stopped is told by `media.stopped`, which then does not come.
  const behind = (stopped: Promise<void>) =>
    void stopped.catch((error) =>
      log.error("launch", "could not stop the player", { error: messageOf(error) }),
    );

  return {
    launch(token, from = {}) {
      if (token.uid === "" && token.text === "" && token.data === "")
        throw new ServiceError("invalid-params", "at least one of uid, text and data must not be empty", {
          isPublic: true,
        });
      // What lets a phone in is neither kept nor told on.
      enqueue(withoutSecrets(token), from, false);
    },
    stop: () => behind(stopAll()),
    stopMedia(why, card) {
      const ofCard = card === undefined ? [] : turns.begun().filter((run) => run.card === card);
      for (const run of ofCard) run.ending.abort(new ServiceError("failed", why));
      behind(worker.stopMedia());
    },
    stopMediaIn(folder, why) {
      if (worker.active()?.mediaPath.startsWith(`${folder}/`)) behind(worker.stopMedia(why));
    },
    revoke(client) {
      const isIts = ({ requester }: Run) => requester?.client === client;
      for (const run of turns.begun().filter(isIts)) run.ending.abort(revoked);
      for (const run of turns.drop(isIts)) finish(run, revoked);
      guard.drop((held) => isIts(held.run));
    },
    review() {
      for (const { origin, requester, ending } of turns.begun())
        if (originNow(origin, requester) !== origin || !mayLaunch(requester)) ending.abort(lostRight);
    },
    confirm() {
      const held = guard.take();
      if (held === undefined)
        throw new ServiceError("not-found", "nothing waits to be confirmed", { isPublic: true });
      const { token, readerId, origin, requester } = held.run;
      const [trusted, isFromReader] = [origin !== "untrusted", origin === "reader"];
      enqueue(token, { readerId, trusted, isFromReader, requester, isTap: true }, true);
    },
    activeMedia: worker.active,
    playback: worker.playback,
    control: worker.control,
    holdVolume: worker.holdVolume,
    playlist: worker.playlist,
    cardOfMedia: () => worker.startedBy()?.card,
    isLaunching: (card) =>
      [...turns.begun(), ...turns.waiting()].some((run) => run.card === card) || worker.isPlaylistOf(card),
    async close() {
      closed = true;
      worker.close();
      await stopAll();
      await turns.idle();
      await Promise.all(unsettled);
    },
  };
}

/** Throws `busy` where as many launches wait as may. */
function refuseBeyond(limit: string, max: number, count: number): void {
  if (count < max) return;
  throw new ServiceError("busy", `${max} launches wait already`, { data: { limit }, isPublic: true });
}

/** Refuses a forbidden command at once; other faults of the script are reported when it runs. */
function refuseForbidden(script: string, origin: ScriptOrigin): void {
  try {
    readyScript(script, origin);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "forbidden") throw error;
  }
}
