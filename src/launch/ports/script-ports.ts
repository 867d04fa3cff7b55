/** The world as script commands see it: media and players here, and what they may do outside the device. */
import type { Config, LauncherConfig } from "../../config/shape.ts";
import { type Clock, sleep } from "../../core/clock.ts";
import { ServiceError } from "../../core/errors.ts";
import { untrustedDelayMsMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { MediaFolders } from "../../core/media.ts";
import type { TokenParams } from "../../core/token.ts";
import type { ScriptPorts } from "../../script/command.ts";
import type { LastMedia } from "../../store/play-state.ts";
import {
  availableLaunchers,
  type Choice,
  chooseLauncher,
  chooseSystemLauncher,
  isPlayed,
} from "../launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "../media-file.ts";
import { startOdd } from "../odd-start.ts";
import type { Playing } from "../playing.ts";
import type { Playlists } from "../playlist.ts";
import { isPlaylist } from "../playlist-items.ts";
import type { RunContext } from "../run-context.ts";
import type { Starting } from "../starting.ts";
import { explained } from "./away-stick.ts";
import { createBios } from "./bios.ts";
import { type ControlParts, createControlPorts, installedCores } from "./control-ports.ts";
import { createDevicePorts, type Devices } from "./device-ports.ts";
import { createIndexPort, type SearchedMedia } from "./index-port.ts";
import { createLastStarted } from "./last-started.ts";
import { createOutside } from "./network-and-programs.ts";
import { createResuming } from "./resuming.ts";
import { factsOf } from "./script-facts.ts";

export interface ScriptPortsParts {
  /** Asked at each command, so that new folders, players and lists take effect at the next one. */
  readonly config: () => Config;
  readonly folders: () => MediaFolders;
  readonly clock: Clock;
  readonly log: Log;
  readonly playing: Playing;
  readonly starting: Starting;
  readonly playlists: Playlists;
  /** Where there is no index, commands that need one say so. */
  readonly media: SearchedMedia | undefined;
  readonly devices: Devices | undefined;
  /** What was started last, over restarts; where absent, a restart forgets. */
  readonly lastMedia: LastMedia | undefined;
  /** The token that was launched last. */
  readonly token: () => TokenParams;
}

/** Makes the world of one script. */
export function createScriptPorts(parts: ScriptPortsParts): (run: RunContext) => ScriptPorts {
  const { config, folders, clock, log, playing, starting, playlists, media, token } = parts;
  const players = createPlayers(() => config().launchers);
  const control = controlOf(parts);
  const last = createLastStarted({ folders, players, playing, saved: parts.lastMedia });
  const resuming = createResuming(() => config().retroarch.resume);
  const withBios = createBios({ environment: process.env, sticks: () => folders().sticks ?? [] });
  const start = async (file: MediaFile, chosen: Choice, run: RunContext, resume?: boolean) => {
    const { choice, why } = resuming.of(file.path, await withBios(file, chosen), resume);
    if (why !== undefined) run.explain?.(why);
    if (file.bytes === undefined) await starting.start(file, choice, run);
    else await startOdd({ ...file, bytes: file.bytes }, choice, (...clean) => starting.start(...clean, run));
    resuming.note(file.path, choice, playing.lastProof());
    last.note({ file, choice });
  };
  const outside = createOutside({ config, log });
  const index = media === undefined ? {} : { index: createIndexPort(media) };
  return (run) => ({
    ...outside,
    ...createDevicePorts(parts.devices, run),
    facts: () =>
      factsOf({
        config: config(),
        token: run.origin === "untrusted" ? undefined : token(),
        media: playing.active(),
        event: run.event,
      }),
    async launch(path, how) {
      const { launchers, knownSystems } = players();
      const file = await findMediaFile(path, folders(), knownSystems, how.system).catch(
        async (error: unknown) => {
          throw await explained(error, path, media);
        },
      );
      if (how.why !== undefined) run.explain?.(how.why);
      // An album, or a list of songs, that no player takes as it is.
      const isPlain =
        file.bytes === undefined &&
        how.launcher === undefined &&
        how.isItem !== true &&
        !isPlayed(file, launchers);
      if (isPlain && (await isPlaylist(file.path)))
        return playlists.portsOf(run).play(path, { isShuffled: false, repeat: "no" });
      await start(file, chooseLauncher(file, launchers, how.launcher), run, how.resume);
    },
    async launchSystem(name) {
      const { launchers, knownSystems } = players();
      const system = findSystem(name, knownSystems);
      await start({ path: "", system }, chooseSystemLauncher(system, launchers), run);
    },
    async launchLast({ resume }) {
      const { file, choice } = await last.find();
      await start(file, choice, run, resume);
    },
    ...index,
    playlist: playlists.portsOf(run),
    stop: control.stop,
    ...createControlPorts(control, run),
    delay: createDelay(clock, run),
    echo: (text) => log.info("script", text),
  });
}

/** Waits on behalf of one script; of one that is not trusted, `untrustedDelayMsMax` in all. */
function createDelay(clock: Clock, { origin }: RunContext): ScriptPorts["delay"] {
  let leftMs = origin === "untrusted" ? untrustedDelayMsMax : Number.POSITIVE_INFINITY;
  return async (ms, signal) => {
    leftMs -= ms;
    if (leftMs < 0)
      throw new ServiceError(
        "failed",
        `a script of this source waits ${untrustedDelayMsMax / 1000} s at most`,
      );
    await sleep(clock, ms, signal);
  };
}

/** What plays, as it may be steered. */
export function controlOf({
  config,
  playing,
  playlists,
  starting,
}: Pick<ScriptPortsParts, "config" | "playing" | "playlists" | "starting">): ControlParts {
  return {
    playing,
    playlists,
    stop() {
      playlists.clear();
      return starting.stop();
    },
    volumeMax: () => config().audio.volumeMax,
  };
}

/** The players that there are, looked for when the config changes and not at each tap. */
function createPlayers(configured: () => readonly LauncherConfig[]) {
  const look = (from: readonly LauncherConfig[]) => ({
    from,
    launchers: availableLaunchers(from, Bun.which, installedCores),
    knownSystems: from.flatMap(({ systems }) => systems),
  });
  let found = look(configured());
  return () => {
    const now = configured();
    if (now !== found.from) found = look(now);
    return found;
  };
}
