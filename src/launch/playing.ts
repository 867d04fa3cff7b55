/**
 * What plays now: one player at a time. The new one starts only after the old one is gone. A player proves itself by
 * running for a while, and, where it tells, by showing what it was started with; one that fails before is a launch that
 * failed.
 */
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { mediaReadyMsMax } from "../core/limits.ts";
import type { ActiveMedia } from "../core/media.ts";
import { mediaNameOf } from "../core/media.ts";
import { type ControlAction, type PlayerKind, type StopHow, usualStops } from "../core/playback.ts";
import { type ControlledPlayer, startPlayer } from "../players/player.ts";
import type { Exit } from "../system/process.ts";
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import { createPlayerVolume, type PlayerVolume } from "./player-volume.ts";
import type { SavedGame } from "./saves/keeper.ts";

// The service itself has little time to end, whatever grace its players are given else.
const closeGraceMs: Readonly<Record<PlayerKind, number>> = { process: 1000, mpv: 1000, retroarch: 5000 };
// One that cannot play, or that crashes over what it was given, does so at once; what ends later has played.
export const proofMs = 3000;
// One that tells when it plays is waited for: a core or a slow disc takes its time, and a person gives it as much.
export const toldProofMs = 10_000;

export interface Playing {
  active(): ActiveMedia | undefined;
  /** As `active`, with how far it is; a player that does not answer is waited for a quarter of a second. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Starts a player; whoever plays must have been stopped. Throws where the program cannot be started. */
  start(file: MediaFile, choice: Choice, saves?: SavedGame): void;
  /**
   * Ends what plays, and resolves once nothing of it is left; does nothing if nothing plays. `media.stopped`
   * carries `why`.
   */
  stop(why?: string): Promise<void>;
  /** From now on a player has no longer to end than the service itself has. */
  hurry(): void;
  /** Of the player that was started last; another object for each start. */
  lastProof(): Proof | undefined;
  /** Resolves when what plays shows it, or has proved itself; rejects with `ServiceError` where that does not come. */
  ready(signal: AbortSignal): Promise<void>;
  /** Rejects with `ServiceError` where nothing plays, or the player cannot. `stop` is not among what it takes. */
  control(action: ControlAction): Promise<void>;
  /** Of the players; not the device's. */
  readonly volume: PlayerVolume;
}

export interface Proof {
  /**
   * Resolves when the player has proved itself, has ended well, or was stopped; rejects with `ServiceError` where it
   * failed before.
   */
  readonly settled: Promise<void>;
}

interface Current {
  readonly media: ActiveMedia;
  readonly player: ControlledPlayer;
  readonly startedMs: number;
  readonly proof: PromiseWithResolvers<void>;
  readonly kind: PlayerKind;
  readonly stop: StopHow;
  isStopping: boolean;
  why?: string | undefined;
}

/** `volumeMax` is the owner's ceiling, in percent. */
export function createPlaying(bus: Bus, clock: Clock, volumeMax: () => number): Playing {
  let current: Current | undefined;
  let proof: Proof | undefined;
  // A player that ended by itself may have left something of its group, which is being ended.
  let lastGone: Promise<void> | undefined;
  let isHurrying = false;
  const volume = createPlayerVolume(() => current?.player, volumeMax);

  const ended = (which: Current, { exitCode }: Exit) => {
    if (current !== which) return;
    current = undefined;
    const elapsed = Math.round((clock.now() - which.startedMs) / 1000);
    const reason = which.isStopping ? "stopped" : exitCode === 0 ? "ended" : "failed";
    const why = which.why === undefined ? {} : { why: which.why };
    bus.emit("media.stopped", { ...which.media, elapsed, exitCode, reason, ...why });
  };
  const playingNow = (): Current => {
    if (current === undefined) throw new ServiceError("failed", "nothing plays", { isPublic: true });
    return current;
  };
  return {
    active: () => current?.media,
    async playback() {
      const asked = current;
      if (asked === undefined) return undefined;
      const state = await asked.player.state();
      // It may have ended while it was asked.
      return current === asked ? { ...asked.media, ...state } : current?.media;
    },
    start(file, choice, saves) {
      const startedMs = clock.now();
      const media = mediaOf(file, choice, startedMs);
      const player = startPlayer(saves === undefined ? choice : { ...choice, saves }, {
        name: choice.launcherId,
        clock,
        volume: volume.first(),
        onPause(isPaused) {
          if (current?.media === media) bus.emit(isPaused ? "media.paused" : "media.resumed", media);
        },
      });
      const started: Current = {
        media,
        player,
        startedMs,
        proof: Promise.withResolvers<void>(),
        kind: choice.kind,
        stop: choice.stop ?? usualStops[choice.kind],
        isStopping: false,
      };
      current = started;
      saves?.follow(player.process);
      proof = { settled: started.proof.promise };
      lastGone = player.process.gone;
      void lastGone.finally(() => file.release?.());
      watchProof(started, clock);
      bus.emit("media.started", media);
      void player.process.exited.then((exit) => ended(started, exit));
    },
    async stop(why) {
      const stopping = current;
      if (stopping !== undefined) {
        stopping.why ??= why;
        // Whatever code it ends with now, it was asked to.
        stopping.isStopping = true;
        stopping.proof.resolve();
        ended(stopping, await end(stopping, isHurrying));
      }
      await lastGone;
    },
    hurry() {
      isHurrying = true;
    },
    lastProof: () => proof,
    ready: (signal) => untilReady(playingNow(), clock, signal),
    async control(action) {
      const { player, media } = playingNow();
      if (action.kind !== "volume") return player.control(action);
      if (await volume.change(action.change)) return;
      throw new ServiceError(
        "failed",
        `the player ${media.launcherId} has no volume of its own: **volume changes that of the device`,
      );
    },
    volume,
  };
}

function mediaOf({ path, system }: MediaFile, { launcherId }: Choice, startedMs: number): ActiveMedia {
  return {
    systemId: system.id,
    systemName: system.name,
    mediaPath: path,
    mediaName: mediaNameOf(path),
    launcherId,
    started: rfc3339(startedMs),
  };
}

/** Asks it to end in its own way first, where it has one: three quarters of the grace are for that. */
async function end({ player, kind, stop }: Current, isHurrying: boolean): Promise<Exit> {
  const graceMs = Math.min(stop.graceMs, isHurrying ? closeGraceMs[kind] : Number.POSITIVE_INFINITY);
  const beganMs = performance.now();
  await player.quit?.(graceMs * 0.75);
  const tookMs = performance.now() - beganMs;
  return player.process.stop(Math.max(0, graceMs - tookMs), stop.signal);
}

function watchProof({ media, player, proof }: Current, clock: Clock): void {
  const startedMs = performance.now();
  const [hasRun, hasShown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const timers = [clock.after(proofMs, hasRun.resolve), clock.after(toldProofMs, hasShown.resolve)];
  // Nobody may be waiting for it.
  proof.promise.catch(() => {});
  void (player.ready ?? Promise.resolve()).then(hasShown.resolve);
  const proved = Promise.all([hasRun.promise, hasShown.promise]).then(() => undefined);
  const ended = player.process.exited;
  void Promise.race([proved, ended]).then(async (exit) => {
    for (const timer of timers) timer[Symbol.dispose]();
    if (exit === undefined || exit.exitCode === 0) return proof.resolve();
    const ms = performance.now() - startedMs;
    const words = [player.complaint(), await player.process.lastWords()].filter(Boolean).join("\n");
    proof.reject(new ServiceError("failed", failure(media.launcherId, exit.exitCode, ms, words)));
  });
}

function failure(launcherId: string, exitCode: number | null, ms: number, words: string): string {
  const how = exitCode === null ? "was ended by a signal" : `ended with code ${exitCode}`;
  const said = words === "" ? "" : `: ${words}`;
  return `the player ${launcherId} ${how} after ${(ms / 1000).toFixed(1)} s${said}`;
}

async function untilReady({ player, proof }: Current, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const late = clock.after(mediaReadyMsMax, () =>
    reject(
      new ServiceError("failed", `it was not ready within ${mediaReadyMsMax / 1000} s`, { isPublic: true }),
    ),
  );
  const isReady = player.ready ?? proof.promise;
  isReady.then(resolve, reject);
  // How it failed says more than that it has ended.
  void player.process.exited
    .then(() => proof.promise)
    .then(
      () => reject(new ServiceError("failed", "it ended before it was ready", { isPublic: true })),
      reject,
    );
  try {
    await promise;
  } finally {
    late[Symbol.dispose]();
    signal.removeEventListener("abort", onAbort);
  }
}
