/** The ports of a script: it starts and controls media, acts on the world outside, and reads facts. */
import { hostname } from "node:os";
import type { LauncherConfig } from "../../config/launcher-settings.ts";
import type { Config } from "../../config/shape.ts";
import { type Clock, sleep } from "../../core/clock.ts";
import { failed, launchFailed, ServiceError } from "../../core/errors.ts";
import type { LaunchReason } from "../../core/faults.ts";
import { untrustedDelayMsMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { type ActiveMedia, type MediaFolders, mediaNameOf } from "../../core/media.ts";
import type { ControlAction, VolumeChange } from "../../core/playback.ts";
import { normalizeUid, type TokenParams } from "../../core/token.ts";
import { kindOf } from "../../media/known-systems.ts";
import { coreFolders, findCores } from "../../players/retroarch-cores.ts";
import { shownTitle } from "../../players/web-stream.ts";
import type { ScriptPorts } from "../../script/command.ts";
import type { Facts } from "../../script/expression.ts";
import type { LastMedia } from "../../store/play-state.ts";
import type { Plays } from "../../store/plays.ts";
import type { Positions } from "../../store/positions.ts";
import { changeSystemVolume, readSystemVolume } from "../../system/mixer.ts";
import { platform, tapdeckVersion } from "../../system/own-program.ts";
import { checkSpare } from "../../system/spare-player.ts";
import {
  type AvailableLauncher,
  availableLaunchers,
  chooseLauncher,
  chooseStreamPlayer,
  chooseSystemLauncher,
  isPlayed,
  type PlayerChoice,
} from "../launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "../media-file.ts";
import type { Playing } from "../playing.ts";
import type { Playlists } from "../playlist.ts";
import { isFolderOrList } from "../playlist-items.ts";
import { startReadably } from "../readable-start.ts";
import type { SleepTimer } from "../rules/sleep-timer.ts";
import type { HookEvent, RunContext } from "../run-context.ts";
import type { Starting } from "../starting.ts";
import { createBios } from "./bios.ts";
import { createDevicePorts, type Devices } from "./device-ports.ts";
import { createDiscs } from "./disc-lists.ts";
import { createLastStarted } from "./last-started.ts";
import { createMediaLookup, meantBy, type SearchedMedia, withStickName } from "./media-lookup.ts";
import { createOutside } from "./network-and-programs.ts";
import { createResuming } from "./resuming.ts";

/** The parts of the service that the ports reach. */
export interface PortParts {
  /** It is called at each use, so new folders and players take effect at the next launch. */
  readonly config: () => Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly media?: SearchedMedia;
  readonly devices?: Devices;
  readonly sleepTimer?: Pick<SleepTimer, "toggle">;
  /** Stores the media that were started last over restarts of the service. */
  readonly lastMedia?: LastMedia;
  /** The history of played media; absent for none. */
  readonly plays?: Pick<Plays, "list">;
  /** Stores the positions of sounds, films and playlists. Without it they start at their beginning. */
  readonly positions?: Positions;
}

interface ScriptPortsParts extends PortParts {
  readonly folders: () => MediaFolders;
  readonly playing: Playing;
  readonly starting: Starting;
  readonly playlists: Playlists;
  /** The token that was launched last. */
  readonly token: () => TokenParams;
  /** The ceiling of the volume in percent. */
  readonly volumeMax: () => number;
}

/** The result makes the ports of one script. */
export function createScriptPorts(parts: ScriptPortsParts): (run: RunContext) => ScriptPorts {
  const { config, folders, clock, log, playing, starting, playlists, media, token } = parts;
  const players = createPlayers(() => config().launchers);
  const stop = () => {
    playlists.clear();
    return starting.stop();
  };
  const control: ControlParts = {
    playing,
    playlists,
    stop,
    volumeMax: parts.volumeMax,
    beforeScreenshot: async () => parts.devices?.refuseFullScreenshots?.(),
  };
  const last = createLastStarted({ folders, players, saved: parts.lastMedia, plays: parts.plays });
  const resuming = createResuming({ config, clock, positions: parts.positions });
  const withBios = createBios(process.env, () => folders().sticks ?? []);
  const withDiscs = createDiscs(process.env);
  const start = async (file: MediaFile, chosen: PlayerChoice, run: RunContext, resume?: boolean) => {
    const ready = await withDiscs(file, await withBios(file, chosen));
    const { choice, why } = resuming.of(file, ready, resume);
    if (why !== undefined) run.explain?.(why);
    const proof = await startReadably(file, choice, (...named) => starting.start(...named, run));
    resuming.note(file.path, choice, proof);
    last.note(file, choice, proof);
    run.onStarted?.(proof);
  };
  const { openStream, ...outside } = createOutside({ config, log });
  const startStream = async (url: string, launcher: string | undefined, run: RunContext) => {
    const system = kindOf(".mp3") ?? { id: "Audio", name: "Audio", category: "Media" };
    const choice = players.choose((launchers) => chooseStreamPlayer(system, launchers, launcher));
    const stream = await openStream(url, run.signal);
    try {
      const file = { path: url, system, name: streamNameOf(url, stream.fields) };
      const proof = await starting.start(file, { ...choice, stream }, run);
      last.note(file, choice, proof);
      run.onStarted?.(proof);
    } catch (error) {
      stream.close();
      throw error;
    }
  };
  const index = media === undefined ? {} : { index: createMediaLookup(media, folders) };
  return (run) => ({
    ...outside,
    ...createDevicePorts(parts.devices, run),
    facts: () =>
      factsNow(config(), run.origin === "untrusted" ? undefined : token(), playing.active(), run.event),
    async launch(path, how) {
      const { launchers, knownSystems } = players.now();
      if (isStream.test(path) && config().script.allowStream.length > 0)
        return startStream(path, how.launcher, run);
      checkSpare();
      const find = (named: string) => findMediaFile(named, folders(), knownSystems, how.system);
      const file = await find(path).catch(async (error: unknown) => {
        const meant = await meantBy(path, index.index);
        if (meant === undefined) throw await withStickName(error, path, media);
        if (meant.why !== undefined) run.explain?.(meant.why);
        return find(meant.path);
      });
      if (how.why !== undefined) run.explain?.(how.why);
      const isPlain = how.launcher === undefined && how.isItem !== true;
      if (isPlain && how.system === undefined && (await playing.insertDisc(file.path, run))) return;
      // A folder or list that no player takes as a whole, such as an album, is played item by item.
      const mayBeList = isPlain && file.bytes === undefined && !isPlayed(file, launchers);
      if (mayBeList && (await isFolderOrList(file.path)))
        return playlists.portsOf(run).play(path, { isShuffled: false, repeat: "no" });
      const choice = players.choose((found) => chooseLauncher(file, found, how.launcher));
      await start(file, choice, run, how.resume);
    },
    async launchSystem(name) {
      const { launchers, knownSystems } = players.now();
      const system = findSystem(name, knownSystems);
      await start({ path: "", system }, chooseSystemLauncher(system, launchers), run);
    },
    async launchLast({ nth, resume }) {
      const media = last.media(nth);
      if (isStream.test(media.path)) {
        const isThere = players.now().launchers.some(({ id }) => id === media.launcherId);
        return startStream(media.path, isThere ? media.launcherId : undefined, run);
      }
      const { file, choice } = await last.find(media);
      await start(file, choice, run, resume);
    },
    ...index,
    playlist: playlists.portsOf(run),
    stop,
    ...createControlPorts(control, run),
    async screenshot() {
      if ((await parts.devices?.captureScreen?.()) !== undefined) return;
      if (playing.active() === undefined)
        throw launchFailed("nothing-plays", "nothing plays, and there is no screen to save");
      await createControlPorts(control, run).control({ kind: "screenshot" });
    },
    sleep: (ms) => parts.sleepTimer?.toggle(ms),
    delay: createDelay(clock, run),
    echo: (text) => log.info("script", text),
  });
}

const isStream = /^https?:\/\//i;

/** The name of the station, or of the file of a podcast. */
function streamNameOf(url: string, fields: ReadonlyMap<string, string>): string {
  const named = Buffer.from(fields.get("icy-name") ?? "", "latin1")
    .toString("utf8")
    .trim();
  const { pathname, host } = new URL(url);
  // An address may hold other bytes than UTF-8.
  const file = /%(?![0-7][0-9a-f])/i.test(pathname) ? pathname : decodeURIComponent(pathname);
  return shownTitle(named || mediaNameOf(file) || host);
}

/** The delays of one script. All delays of an untrusted script together are limited to `untrustedDelayMsMax`. */
function createDelay(clock: Clock, { origin }: RunContext): ScriptPorts["delay"] {
  let leftMs = origin === "untrusted" ? untrustedDelayMsMax : Number.POSITIVE_INFINITY;
  return async (ms, signal) => {
    leftMs -= ms;
    if (leftMs < 0) throw failed(`a script of this source waits ${untrustedDelayMsMax / 1000} s at most`);
    await sleep(clock, ms, signal);
  };
}

/** The available players. They are found again when the config changes, and before a launch fails because none fits. */
function createPlayers(configured: () => readonly LauncherConfig[]) {
  const look = (from: readonly LauncherConfig[]) => ({
    from,
    launchers: availableLaunchers(from, Bun.which, installedCores),
    knownSystems: from.flatMap(({ systems }) => systems),
  });
  let found = look(configured());
  const now = () => {
    const from = configured();
    if (from !== found.from) found = look(from);
    return found;
  };
  return {
    now,
    /** Chooses a player. A program or core may have been installed since the last look. */
    choose(pick: (launchers: readonly AvailableLauncher[]) => PlayerChoice): PlayerChoice {
      try {
        return pick(now().launchers);
      } catch (error) {
        const isMissing = error instanceof ServiceError && missing.has(error.reason);
        if (!isMissing) throw error;
        found = look(configured());
        return pick(found.launchers);
      }
    },
  };
}

const missing: ReadonlySet<LaunchReason | undefined> = new Set(["launcher-missing", "core-missing"]);

/** The facts for expressions. `last` is the token that was launched last; undefined for an untrusted script. */
function factsNow(
  config: Config,
  last: TokenParams | undefined,
  active: ActiveMedia | undefined,
  event: HookEvent | undefined,
): Facts {
  const token = event?.token ?? last;
  const media = event?.media ?? active;
  return {
    platform,
    version: tapdeckVersion,
    scan_mode: config.readers.insertMode ? "hold" : "tap",
    "device.hostname": hostname(),
    "device.os": process.platform,
    // Cards use the architecture names of Go and Debian.
    "device.arch": process.arch === "x64" ? "amd64" : process.arch,
    "last_scanned.id": normalizeUid(token?.uid ?? ""),
    "last_scanned.value": token?.text ?? "",
    "last_scanned.data": token?.data ?? "",
    media_playing: active !== undefined,
    "active_media.launcher_id": media?.launcherId ?? "",
    "active_media.system_id": media?.systemId ?? "",
    "active_media.system_name": media?.systemName ?? "",
    "active_media.path": media?.mediaPath ?? "",
    "active_media.name": media?.mediaName ?? "",
    "launching.path": event?.launching?.path ?? "",
    "launching.system_id": event?.launching?.systemId ?? "",
    "launching.launcher_id": event?.launching?.launcherId ?? "",
  };
}

interface ControlParts {
  readonly playing: Pick<Playing, "active" | "control" | "volume" | "ready">;
  readonly playlists: Pick<Playlists, "state" | "portsOf">;
  readonly stop: () => Promise<void>;
  readonly volumeMax: () => number;
  /** Rejects with `ServiceError` if a player may not save a picture. */
  readonly beforeScreenshot?: () => Promise<void>;
  /** Finds the programs that set the device's volume. */
  readonly find?: (program: string) => string | null;
}

export function createControlPorts(
  { playing, playlists, stop, volumeMax, beforeScreenshot, find = Bun.which }: ControlParts,
  run: RunContext,
) {
  return {
    mediaReady: playing.ready,
    /** Handles `stop` for all players, and `next` and `previous` for a playlist. The player handles the other actions. */
    async control(action: ControlAction): Promise<void> {
      if (action.kind === "screenshot") await beforeScreenshot?.();
      const isListed = playlists.state()?.state === "playing";
      if (isListed && action.kind === "next") await playlists.portsOf(run).move(1);
      else if (isListed && action.kind === "previous") await playlists.portsOf(run).move(-1);
      else if (action.kind === "stop" && playing.active() !== undefined) await stop();
      else await playing.control(action);
    },
    /**
     * Changes the volume of the current player if it has one. Between two items of a playlist, the change is kept for the next
     * item. Otherwise the device's volume changes, and players start at their default, so two volumes do not add up. If
     * nothing plays and the device has no volume, the change applies to the next player.
     */
    async changeVolume(change: VolumeChange, signal: AbortSignal): Promise<void> {
      const { volume } = playing;
      if (await volume.change(change)) return;
      const isIdle = playing.active() === undefined;
      const isBetween = isIdle && playlists.state()?.state === "playing";
      if (isBetween || (isIdle && change.kind === "by" && volume.isWanted())) return volume.want(change);
      try {
        await changeSystemVolume(change, volumeMax(), find, signal);
      } catch (error) {
        if (!isIdle || signal.aborted || !(error instanceof ServiceError) || error.reason === "busy")
          throw error;
        return volume.want(change);
      }
      if (change.kind === "to") volume.forget();
    },
  };
}

/**
 * The volume in percent that `changeVolume` changes while nothing plays: the next player's, or the device's. Rejects with
 * `ServiceError` if the device has one that is not known at present.
 */
export async function idleVolume(
  { playing: { volume }, find = Bun.which }: Pick<ControlParts, "playing" | "find">,
  signal: AbortSignal,
): Promise<number> {
  const ofDevice = volume.isWanted() ? undefined : await readSystemVolume(find, signal);
  return ofDevice ?? volume.next();
}

export const installedCores = () => findCores(coreFolders(process.env));
