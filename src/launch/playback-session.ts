/** What scripts act on, joined: one player at a time, its playlist, and the hooks around it. */
import type { Bus } from "../bus.ts";
import { type Config, mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia, ClosedPlaces } from "../core/media.ts";
import type { ControlAction } from "../core/playback.ts";
import type { TokenParams } from "../core/token.ts";
import type { ScriptPorts } from "../script/command.ts";
import type { LastMedia } from "../store/play-state.ts";
import { findMediaFile } from "./media-file.ts";
import { createPlaying, type Proof } from "./playing.ts";
import { createPlaylists, type PlaylistState } from "./playlist.ts";
import type { Devices } from "./ports/device-ports.ts";
import type { SearchedMedia } from "./ports/index-port.ts";
import { createScriptPorts } from "./ports/script-ports.ts";
import { createHooks } from "./rules/hooks.ts";
import type { RunContext } from "./run-context.ts";
import type { SaveKeeper } from "./saves/keeper.ts";
import { createStarting } from "./starting.ts";

export interface WorkerParts {
  readonly config: () => Config;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly media?: SearchedMedia;
  readonly devices?: Devices;
  readonly lastMedia?: LastMedia;
  /** Of games; where absent, RetroArch's own settings decide where these are kept. */
  readonly saves?: SaveKeeper;
  /** Of the service, never played. */
  readonly closed?: ClosedPlaces | undefined;
  /** Folders of the USB sticks that are plugged in. */
  readonly sticks?: (() => readonly string[]) | undefined;
  readonly refusal?: () => string | undefined;
  readonly elapsedMs?: () => number;
}

export interface Worker {
  portsOf(run: RunContext): ScriptPorts;
  active(): ActiveMedia | undefined;
  /** As `active`, with what the player says of itself now. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Has the player of what plays do something, on nobody's card's behalf. */
  control(action: ControlAction): Promise<void>;
  /** What plays is turned down to the owner's ceiling, where it is louder. */
  holdVolume(): Promise<void>;
  /** Of the player that was started last. */
  lastProof(): Proof | undefined;
  playlist(): PlaylistState | undefined;
  isPlaylistOf(card: string): boolean;
  /** On whose behalf the player runs that was started last. */
  startedBy(): RunContext | undefined;
  /** Ends what plays and its playlist; resolves when the player is gone. `media.stopped` carries `why`. */
  stopMedia(why?: string): Promise<void>;
  /** As `stopMedia`, and ends the hooks that run, and a playlist that is paused. */
  stopAll(): Promise<void>;
  /** Calls no hook and starts no item of a playlist from now on. */
  close(): void;
}

/** `token` is the one that was launched last. */
export function createWorker(parts: WorkerParts, token: () => TokenParams): Worker {
  const { config, bus, clock, log, media, refusal = () => undefined } = parts;
  const elapsedMs = parts.elapsedMs ?? (() => performance.now());
  const folders = () => ({
    ...mediaFolders(config()),
    ...(parts.closed && { closed: parts.closed }),
    ...(parts.sticks && { sticks: parts.sticks() }),
  });
  let stopping = new AbortController();
  const playing = createPlaying(bus, clock, () => config().audio.volumeMax);
  const starting = createStarting({
    ...{ playing, saves: parts.saves, refusal },
    before: (what, run) => hooks.before(what, run),
  });
  const playlists = createPlaylists({
    clock,
    log,
    elapsedMs,
    async find(path) {
      const known = config().launchers.flatMap((launcher) => launcher.systems);
      return (await findMediaFile(path, folders(), known)).path;
    },
    launch: (path, how, run) => portsOf(run).launch(path, { ...how, isItem: true }),
    stop: starting.stop,
    startedBy: starting.startedBy,
  });
  const portsOf = createScriptPorts({
    config,
    folders,
    clock,
    log,
    playing,
    starting,
    playlists,
    media,
    devices: parts.devices,
    lastMedia: parts.lastMedia,
    token,
  });
  const { startedBy } = starting;
  const hooks = createHooks({
    hooks: () => config().hooks,
    bus,
    log,
    portsOf,
    stopping: () => stopping.signal,
    startedBy,
  });
  const following = [
    bus.on("media.started", () => playlists.started()),
    bus.on("media.stopped", ({ exitCode }) => {
      if (!starting.isStopping()) playlists.ended(exitCode);
    }),
  ];
  const stopMedia = (why?: string) => {
    // One that is paused has nothing to do with what plays now.
    if (playlists.state()?.state === "playing") playlists.clear();
    return starting.stop(why);
  };
  return {
    portsOf,
    active: playing.active,
    playback: playing.playback,
    control(action) {
      const signal = stopping.signal;
      return portsOf({ card: undefined, origin: "trusted", isHook: false, signal }).control(action);
    },
    holdVolume: playing.volume.hold,
    lastProof: playing.lastProof,
    playlist: playlists.state,
    isPlaylistOf: playlists.isOf,
    startedBy,
    stopMedia,
    stopAll() {
      stopping.abort(new ServiceError("failed", "it was stopped", { isPublic: true }));
      stopping = new AbortController();
      playlists.clear();
      return starting.stop();
    },
    close() {
      playing.hurry();
      hooks[Symbol.dispose]();
      for (const one of following) one[Symbol.dispose]();
    },
  };
}
