/**
 * What plays now: one player at a time. The new one starts only after the old one is gone. A player proves itself by
 * showing what it was started with, or, where it does not tell, by running for a while; one that fails before is a launch
 * that failed.
 */
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { mediaReadyMsMax } from "../core/limits.ts";
import type { ActiveMedia } from "../core/media.ts";
import { mediaNameOf } from "../core/paths.ts";
import type { ControlAction, VolumeChange } from "../core/playback.ts";
import type { ControlledPlayer } from "../players/contract.ts";
import { startPlayer } from "../players/start.ts";
import type { Exit } from "../system/process.ts";
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";

// Players save their games when they are asked to end; a second is what a hand takes to change cards.
export const stopGraceMs = 1000;
// A player that does not tell whether it plays has proved it by then: one that cannot play says so at once.
export const proofMs = 3000;
// One that does is waited for: a core or a slow disc takes its time, and a person gives it as much.
export const toldProofMs = 10_000;

export interface Playing {
  active(): ActiveMedia | undefined;
  /** As `active`, with how far it is; a player that does not answer is waited for a quarter of a second. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Starts a player; whoever plays must have been stopped. Throws where the program cannot be started. */
  start(file: MediaFile, choice: Choice): void;
  /** Ends what plays, and resolves once nothing of it is left; does nothing where nothing plays. */
  stop(): Promise<void>;
  /** Of the player that was started last; another object for each start. */
  lastProof(): Proof | undefined;
  /** Resolves when what plays shows it, or has proved itself; rejects with `ServiceError` where that does not come. */
  ready(signal: AbortSignal): Promise<void>;
  /** Rejects with `ServiceError` where nothing plays, or the player cannot. `stop` is not among what it takes. */
  control(action: ControlAction): Promise<void>;
  /** Tells whether what plays has a volume of its own, and so took it; rejects where that failed. */
  changeVolume(change: VolumeChange): Promise<boolean>;
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
  isStopping: boolean;
}

/** `volumeMax` is the owner's ceiling, in percent. */
export function createPlaying(bus: Bus, clock: Clock, volumeMax: () => number): Playing {
  let current: Current | undefined;
  let proof: Proof | undefined;
  // A player that ended by itself may have left something of its group, which is being ended.
  let lastGone: Promise<void> | undefined;

  const ended = (which: Current, { exitCode }: Exit) => {
    if (current !== which) return;
    current = undefined;
    const elapsed = Math.round((clock.now() - which.startedMs) / 1000);
    const reason = which.isStopping ? "stopped" : exitCode === 0 ? "ended" : "failed";
    bus.emit("media.stopped", { ...which.media, elapsed, exitCode, reason });
  };
  const playingNow = (): Current => {
    if (current === undefined) throw new ServiceError("failed", "nothing plays");
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
    start(file, choice) {
      const player = startPlayer(choice, { name: choice.launcherId, clock, volumeMax: volumeMax() });
      const startedMs = clock.now();
      const media = mediaOf(file, choice, startedMs);
      const started: Current = {
        media,
        player,
        startedMs,
        proof: Promise.withResolvers<void>(),
        isStopping: false,
      };
      current = started;
      proof = { settled: started.proof.promise };
      lastGone = player.process.gone;
      void lastGone.finally(() => file.release?.());
      watchProof(started, clock);
      bus.emit("media.started", media);
      void player.process.exited.then((exit) => ended(started, exit));
    },
    async stop() {
      const stopping = current;
      if (stopping !== undefined) {
        // Whatever code it ends with now, it was asked to.
        stopping.isStopping = true;
        stopping.proof.resolve();
        ended(stopping, await stopping.player.process.stop(stopGraceMs));
      }
      await lastGone;
    },
    lastProof: () => proof,
    ready: (signal) => untilReady(playingNow(), clock, signal),
    async control(action) {
      await playingNow().player.control(action);
    },
    async changeVolume(change) {
      if (current?.player.changeVolume === undefined) return false;
      await current.player.changeVolume(change, volumeMax());
      return true;
    },
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

function watchProof({ media, player, proof }: Current, clock: Clock): void {
  const startedMs = performance.now();
  const timer = clock.after(player.ready === undefined ? proofMs : toldProofMs, proof.resolve);
  const settle = (settled: () => void) => {
    timer[Symbol.dispose]();
    settled();
  };
  // Nobody may be waiting for it.
  proof.promise.catch(() => {});
  void player.ready?.then(() => settle(proof.resolve));
  void player.process.exited.then(async ({ exitCode }) => {
    if (exitCode === 0) return settle(proof.resolve);
    const ms = performance.now() - startedMs;
    const words = [player.complaint(), await player.process.lastWords()].filter(Boolean).join("\n");
    settle(() => proof.reject(new ServiceError("failed", failure(media.launcherId, exitCode, ms, words))));
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
    reject(new ServiceError("failed", `it was not ready within ${mediaReadyMsMax / 1000} s`)),
  );
  const isReady = player.ready ?? proof.promise;
  isReady.then(resolve, reject);
  // How it failed says more than that it has ended.
  void player.process.exited
    .then(() => proof.promise)
    .then(() => reject(new ServiceError("failed", "it ended before it was ready")), reject);
  try {
    await promise;
  } finally {
    late[Symbol.dispose]();
    signal.removeEventListener("abort", onAbort);
  }
}
