/** The playback that scripts act on: starts one player at a time, with its playlist, its saves and the hooks around it. */
import type { Bus } from "../bus.ts";
import { mediaFolders } from "../config/shape.ts";
import { publicError } from "../core/errors.ts";
import type { ClosedPlaces } from "../core/media.ts";
import { type ControlAction, type SoundPlace, soundLatenessMs } from "../core/playback.ts";
import type { Requester } from "../core/rights.ts";
import type { TokenParams } from "../core/token.ts";
import { readyScript } from "../script/run-script.ts";
import { findMediaFile } from "./media-file.ts";
import { createPlaying } from "./playing.ts";
import { createPlaylists } from "./playlist.ts";
import { createScriptPorts, idleVolume, type PortParts } from "./ports/script-ports.ts";
import { createHooks } from "./rules/hooks.ts";
import { volumeCeiling } from "./rules/quiet-hours.ts";
import { originNow } from "./run-context.ts";
import type { SaveKeeper } from "./saves/save-keeper.ts";
import { createStarting } from "./starting.ts";

export interface SessionParts extends PortParts {
  readonly bus: Bus;
  /** Keeps the saves of games; without it, RetroArch's own settings decide. */
  readonly saves?: SaveKeeper;
  /** Files and folders of the service, which are never played. */
  readonly closed?: ClosedPlaces;
  readonly sticks?: () => readonly string[];
  /** The reason why nothing may start at present, as a sentence; undefined if media may start. */
  readonly refusal?: () => string | undefined;
  readonly elapsedMs?: () => number;
  /** The place where sound plays, if it is known. */
  readonly soundPlace?: () => SoundPlace | undefined;
}

/** `token` returns the token that was launched last. */
export function createPlaybackSession(parts: SessionParts, token: () => TokenParams) {
  const { config, bus, clock, log, refusal = () => undefined } = parts;
  const { elapsedMs = () => performance.now() } = parts;
  const folders = () => ({
    ...mediaFolders(config()),
    ...(parts.closed && { closed: parts.closed }),
    ...(parts.sticks && { sticks: parts.sticks() }),
  });
  const volumeMax = () => volumeCeiling(config(), clock.now(), parts.soundPlace?.());
  let stopping = new AbortController();
  let isClosed = false;
  const playing = createPlaying({
    bus,
    log,
    clock,
    elapsedMs,
    volumeMax,
    volumeStart: () => config().audio.volumeStart,
    view: () => config().television,
    latenessMs() {
      const place = parts.soundPlace?.();
      return place === undefined ? 0 : soundLatenessMs[place];
    },
    onStarted(media, owner) {
      if (isClosed) return;
      hooks.started(media, owner);
      playlists.started(owner);
    },
    onEnded(media, owner, exitCode, wasStopped) {
      if (isClosed) return;
      hooks.ended(media, owner);
      if (!wasStopped) playlists.ended(exitCode);
    },
  });
  const starting = createStarting(playing, parts.saves, refusal, (what, run) => hooks.before(what, run));
  const playlists = createPlaylists({
    clock,
    log,
    elapsedMs,
    async find(path) {
      const known = config().launchers.flatMap((launcher) => launcher.systems);
      return (await findMediaFile(path, folders(), known)).path;
    },
    launch: (path, how, run) => portsOf(run).launch(path, { ...how, isItem: true }),
    async runScript(script, run) {
      const ports = portsOf(run);
      const launch: typeof ports.launch = (path, how) => ports.launch(path, { ...how, isItem: true });
      await readyScript(script, run.origin).run({ ...ports, launch }, run.signal);
    },
    onOpened: (list) => bus.emit("playlist.opened", list),
    stop: starting.stop,
    isIdle: () => playing.active() === undefined,
    positions: parts.positions,
    resumes: () => config().playback.resume !== "never",
  });
  const portsOf = createScriptPorts({ ...parts, folders, playing, starting, playlists, token, volumeMax });
  const hooks = createHooks({
    hooks: () => config().hooks,
    bus,
    log,
    portsOf,
    stopping: () => stopping.signal,
  });
  return {
    portsOf,
    active: playing.active,
    playback: playing.playback,
    /**
     * Controls the player without a card, with the rights that the caller has now. Rejects with `ServiceError` if
     * nothing plays, or the player cannot do it.
     */
    control(action: ControlAction, requester?: Requester): Promise<void> {
      const origin = originNow("trusted", requester);
      const signal = stopping.signal;
      return portsOf({ card: undefined, origin, requester, isHook: false, signal }).control(action);
    },
    picture: playing.picture,
    holdVolume: playing.volume.hold,
    followLateness: playing.followLateness,
    fadeVolume: playing.volume.fade,
    idleVolume: () => idleVolume({ playing }, stopping.signal),
    playlist: playlists.state,
    reviewPlaylist: playlists.review,
    isPlaylistOf: playlists.isOf,
    owner: playing.owner,
    canPause: playing.canPause,
    /**
     * Ends the player and its playlist, and resolves when the player is gone. `media.stopped` carries the `stick` that
     * was removed.
     */
    stopMedia(stick?: string): Promise<void> {
      // A paused playlist does not end by this, so it is kept.
      if (playlists.state()?.state === "playing") playlists.clear();
      return starting.stop(stick);
    },
    /** Like `stopMedia`, and ends the hooks that run, and a playlist that is paused. */
    stopAll(): Promise<void> {
      stopping.abort(publicError("failed", "it was stopped", "stopped"));
      stopping = new AbortController();
      playlists.clear();
      return starting.stop();
    },
    /** From now on, calls no hook and starts no item of a playlist. */
    close() {
      isClosed = true;
      playing.hurry();
      hooks[Symbol.dispose]();
    },
  };
}
