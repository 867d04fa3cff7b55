/**
 * The current player: one at a time. A new player starts only after the old one is gone. A start succeeds once the player
 * has shown its media or, if the player does not report that, has run for a while. A failure before that is a failed launch.
 */
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339, sleep } from "../core/clock.ts";
import { failed, launchFailed, publicError } from "../core/errors.ts";
import { mediaReadyMsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type ActiveMedia, mediaNameOf } from "../core/media.ts";
import {
  type ControlAction,
  type PlayerKind,
  type ScreenView,
  type StopHow,
  usualStops,
} from "../core/playback.ts";
import type { ControlledPlayer } from "../players/player.ts";
import { startPlayer } from "../players/start-player.ts";
import type { Exit } from "../system/process.ts";
import type { PlayerChoice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import { createPlayerVolume } from "./player-volume.ts";
import type { Proof, RunContext } from "./run-context.ts";
import type { SavedGame } from "./saves/save-keeper.ts";

// While the service stops, these times replace a longer grace.
const closeGraceMs: Readonly<Record<PlayerKind, number>> = { process: 1000, mpv: 1000, retroarch: 5000 };
// A player that cannot play its file fails within this time.
export const proofMs = 3000;
// A player that reports when it shows its media gets this much time, because cores and slow discs take seconds.
const reportedProofMs = 10_000;

export type Playing = ReturnType<typeof createPlaying>;

interface PlayingParts {
  readonly bus: Bus;
  readonly log: Log;
  readonly clock: Clock;
  /** Milliseconds on a clock that only goes forward: a board without a battery sets its clock while media play. */
  readonly elapsedMs: () => number;
  /** The owner's ceiling, in percent. */
  readonly volumeMax: () => number;
  /** The volume of a player's start, in percent, unless one was set. */
  readonly volumeStart: () => number;
  /** How pictures are placed on the screen. */
  readonly view: () => ScreenView;
  /** How much later than players assume sound is heard, in milliseconds. */
  readonly latenessMs: () => number;
  readonly onStarted: (media: ActiveMedia, owner: RunContext) => void;
  /** Called when the player has ended. `exitCode` is null if a signal ended it. */
  readonly onEnded: (
    media: ActiveMedia,
    owner: RunContext,
    exitCode: number | null,
    wasStopped: boolean,
  ) => void;
}

interface Current {
  readonly media: ActiveMedia;
  /** The run that started the player, or that of the card whose disc was inserted last. */
  owner: RunContext;
  readonly player: ControlledPlayer;
  /** The start by `elapsedMs`. */
  readonly startedMs: number;
  readonly settled: PromiseWithResolvers<void>;
  readonly lasted: PromiseWithResolvers<void>;
  readonly kind: PlayerKind;
  readonly discs: readonly string[];
  readonly stop: StopHow;
  isStopping: boolean;
  /** The name of the USB stick whose removal stops the media. */
  stick?: string | undefined;
}

export function createPlaying(parts: PlayingParts) {
  const { bus, log, clock, elapsedMs, volumeMax, volumeStart, view, latenessMs } = parts;
  const { onStarted, onEnded } = parts;
  let current: Current | undefined;
  // Resolves when the player and the processes of its group are gone. The processes may outlive the player.
  let lastGone: Promise<void> | undefined;
  let isHurrying = false;
  const volume = createPlayerVolume(() => current?.player, volumeMax, volumeStart);

  /** A player that fails before its proof is a failed launch, whose sentence has the same words. */
  const logFailure = async (which: Current, { exitCode, signal }: Exit) => {
    const { media, player, startedMs, lasted } = which;
    await lasted.promise;
    const why = failure(media.launcherId, exitCode, elapsedMs() - startedMs, await wordsOf(player));
    log.warn("launch", why, { signal });
  };
  const ended = (which: Current, exit: Exit) => {
    if (current !== which) return;
    current = undefined;
    const { exitCode } = exit;
    const elapsed = Math.round((elapsedMs() - which.startedMs) / 1000);
    const reason = which.isStopping ? "stopped" : exitCode === 0 ? "ended" : "failed";
    if (reason === "failed") logFailure(which, exit).catch(() => {});
    const { stick } = which;
    const why = stick === undefined ? {} : { why: `the USB stick ${stick} was removed`, stick };
    onEnded(which.media, which.owner, exitCode, which.isStopping);
    bus.emit("media.stopped", { ...which.media, elapsed, exitCode, reason, ...why });
  };
  const playingNow = (): Current => {
    if (current === undefined) throw publicError("failed", "nothing plays", "nothing-plays");
    return current;
  };
  return {
    active: () => current?.media,
    /** The run to which the current player belongs. */
    owner: () => current?.owner,
    canPause: () => current !== undefined && current.kind !== "process",
    /** Like `active`, with the position; it waits up to a quarter of a second for the player's answer. */
    async playback(): Promise<ActiveMedia | undefined> {
      const asked = current;
      if (asked === undefined) return undefined;
      const state = await asked.player.state();
      // The player may have ended while it was asked.
      return current === asked ? { ...asked.media, ...state } : current?.media;
    },
    /**
     * Starts a player on behalf of `owner`. The player before must have been stopped. Throws if the program cannot be started.
     */
    start(file: MediaFile, choice: PlayerChoice, owner: RunContext, saves?: SavedGame): Proof {
      const startedMs = elapsedMs();
      const media = mediaOf(file, choice, clock.now());
      const positionMs = choice.resumption?.startMs();
      const order = {
        ...choice,
        ...(saves && { saves }),
        ...(positionMs !== undefined && { startMs: positionMs }),
      };
      const player = startPlayer(order, {
        name: choice.launcherId,
        clock,
        volume: volume.first(),
        view: view(),
        latenessMs: latenessMs(),
        onPause(isPaused) {
          if (current?.media === media) bus.emit(isPaused ? "media.paused" : "media.resumed", media);
        },
      });
      const started: Current = {
        media,
        owner,
        player,
        startedMs,
        settled: Promise.withResolvers<void>(),
        lasted: Promise.withResolvers<void>(),
        kind: choice.kind,
        discs: choice.discs?.paths ?? [],
        stop: choice.stop ?? usualStops[choice.kind],
        isStopping: false,
      };
      current = started;
      saves?.follow(player.process);
      choice.resumption?.follow(player);
      lastGone = player.process.gone;
      void lastGone.finally(() => file.release?.());
      watchProof(started, clock);
      onStarted(media, owner);
      bus.emit("media.started", media);
      void player.process.exited.then((exit) => ended(started, exit));
      return { media, settled: started.settled.promise, lasted: started.lasted.promise };
    },
    /** Ends the player, and resolves once all of its processes are gone. `media.stopped` carries the `stick` that was removed. */
    async stop(stick?: string): Promise<void> {
      const stopping = current;
      if (stopping !== undefined) {
        stopping.stick ??= stick;
        stopping.isStopping = true;
        prove(stopping);
        ended(stopping, await end(stopping, isHurrying));
      }
      await lastGone;
    },
    /** Limits the time that players have to end, because the service is stopping. */
    hurry() {
      isHurrying = true;
    },
    /** Resolves when the player shows its media, or its start has succeeded; rejects with `ServiceError`. */
    ready: async (signal: AbortSignal): Promise<void> => untilReady(playingNow(), clock, signal),
    /** Takes every action but `stop`; rejects with `ServiceError` if nothing plays, or the player cannot do it. */
    async control(action: ControlAction): Promise<void> {
      const { player, media } = playingNow();
      if (action.kind !== "volume") return player.control(action);
      if (await volume.change(action.change)) return;
      throw failed(
        `the player ${media.launcherId} has no volume of its own: **volume changes that of the device`,
      );
    },
    /**
     * Inserts this file into the running game, if it is another disc of it; resolves with false otherwise. The game then
     * belongs to the card of `by`, if it has one.
     */
    async insertDisc(path: string, by: RunContext): Promise<boolean> {
      const asked = current;
      const place = asked?.discs.indexOf(path) ?? -1;
      if (asked?.player.insertDisc === undefined || place < 0) return false;
      const { disc } = await asked.player.state();
      // The game may have ended while it was asked.
      if (current !== asked || disc?.number === place + 1) return false;
      const { owner } = asked;
      // The card of the disc before may have been removed a moment ago.
      if (by.card !== undefined) asked.owner = by;
      try {
        await asked.player.insertDisc(place);
      } catch (error) {
        asked.owner = owner;
        throw error;
      }
      return true;
    },
    /** The path of a picture that the player saves of its media; rejects as `control` does. */
    async picture(): Promise<string> {
      const { player, media } = playingNow();
      if (player.picture === undefined) throw failed(`the player ${media.launcherId} saves no pictures`);
      return player.picture();
    },
    /** The volume of players, which is not the device's. */
    volume,
    /** Delays the picture of the current player by the present lateness of the sound. */
    async followLateness(): Promise<void> {
      await current?.player.changeLateness?.(latenessMs());
    },
  };
}

function mediaOf(
  { path, system, name }: MediaFile,
  { launcherId }: PlayerChoice,
  startedMs: number,
): ActiveMedia {
  return {
    systemId: system.id,
    systemName: system.name,
    mediaPath: path,
    mediaName: name ?? mediaNameOf(path),
    launcherId,
    started: rfc3339(startedMs),
  };
}

/** The player's own way to quit, if it has one, gets three quarters of the grace time. */
async function end({ player, kind, stop }: Current, isHurrying: boolean): Promise<Exit> {
  const graceMs = Math.min(stop.graceMs, isHurrying ? closeGraceMs[kind] : Number.POSITIVE_INFINITY);
  const beganMs = performance.now();
  await player.quit?.(graceMs * 0.75);
  const tookMs = performance.now() - beganMs;
  return player.process.stop(Math.max(0, graceMs - tookMs), stop.signal);
}

function prove({ settled, lasted }: Pick<Current, "settled" | "lasted">): void {
  settled.resolve();
  lasted.resolve();
}

function watchProof({ media, player, settled, lasted }: Current, clock: Clock): void {
  const startedMs = performance.now();
  const hasRun = Promise.withResolvers<void>();
  const isLate = Promise.withResolvers<void>();
  const timers = [clock.after(proofMs, hasRun.resolve), clock.after(reportedProofMs, isLate.resolve)];
  // The caller may ignore these promises.
  for (const { promise } of [settled, lasted]) promise.catch(() => {});
  const shown = Promise.race([player.ready ?? hasRun.promise, isLate.promise]);
  const proved = Promise.all([shown.then(settled.resolve), hasRun.promise]).then(() => undefined);
  const ended = player.process.exited;
  void Promise.race([proved, ended]).then(async (exit) => {
    for (const timer of timers) timer[Symbol.dispose]();
    if (exit === undefined || exit.exitCode === 0) return prove({ settled, lasted });
    const ms = performance.now() - startedMs;
    const sentence = failure(media.launcherId, exit.exitCode, ms, await wordsOf(player));
    const why = launchFailed("player-failed", sentence);
    for (const { reject } of [settled, lasted]) reject(why);
  });
}

/** The last lines that the player has reported on its control line or in its error output. */
async function wordsOf({ complaint, process }: ControlledPlayer): Promise<string> {
  return `${complaint() ?? ""}\n${await process.lastWords()}`;
}

function failure(launcherId: string, exitCode: number | null, ms: number, words: string): string {
  const how = exitCode === null ? "was ended by a signal" : `ended with code ${exitCode}`;
  // A player may report one error both on its control line and in its error output.
  const lines = new Set(words.split("\n").map((line) => line.trim()));
  lines.delete("");
  const said = lines.size === 0 ? "" : `: ${[...lines].join("; ")}`;
  return `the player ${launcherId} ${how} after ${(ms / 1000).toFixed(1)} s${said}`;
}

async function untilReady(
  { player, settled, lasted }: Current,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const done = new AbortController();
  const late = sleep(clock, mediaReadyMsMax, AbortSignal.any([signal, done.signal])).then(() => {
    throw publicError("failed", `it was not ready within ${mediaReadyMsMax / 1000} s`, "player-not-ready");
  });
  // Rejects with the reason of the failure if there is one, otherwise with a general sentence.
  const ended = player.process.exited
    .then(() => lasted.promise)
    .then(() => {
      throw publicError("failed", "it ended before it was ready", "player-not-ready");
    });
  try {
    await Promise.race([late, player.ready ?? settled.promise, ended]);
  } finally {
    done.abort();
  }
}
