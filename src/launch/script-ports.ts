/** The world as script commands see it: media and players here, and what they may do outside the device. */
import { type Config, type LauncherConfig, mediaFolders } from "../config/shape.ts";
import { type Clock, sleep } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { TokenParams } from "../core/token.ts";
import type { ScriptPorts } from "../script/command.ts";
import { createIndexPort, type SearchedMedia } from "./index-port.ts";
import { availableLaunchers, type Choice, chooseLauncher, chooseSystemLauncher } from "./launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "./media-file.ts";
import { createOutside } from "./outside.ts";
import type { Playing } from "./playing.ts";
import { factsOf } from "./script-facts.ts";

export interface ScriptPortsParts {
  /** Asked at each command, so that new folders, players and lists take effect at the next one. */
  readonly config: () => Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly playing: Playing;
  /** Where there is no index, commands that need one say so. */
  readonly media: SearchedMedia | undefined;
  /** Aborts when what is being launched now is to be stopped. */
  readonly stopping: () => AbortSignal;
  /** The token that was launched last. */
  readonly token: () => TokenParams;
  /** Takes a sentence on what was launched, for whoever asks why it was that. */
  readonly explain: (why: string) => void;
}

export function createScriptPorts(parts: ScriptPortsParts): ScriptPorts {
  const { config, clock, log, playing, media, stopping, token, explain } = parts;
  const players = createPlayers(() => config().launchers);
  let last: { readonly file: MediaFile; readonly choice: Choice } | undefined;
  const start = async (file: MediaFile, choice: Choice, signal: AbortSignal) => {
    await playing.stop();
    signal.throwIfAborted();
    playing.start(file, choice);
    last = { file, choice };
  };
  return {
    ...createOutside({ config, log }),
    facts: () => factsOf({ config: config(), token: token(), media: playing.active() }),
    async launch(path, how) {
      const signal = stopping();
      const { launchers, knownSystems } = players();
      const file = await findMediaFile(path, mediaFolders(config()), knownSystems, how.system);
      if (how.why !== undefined) explain(how.why);
      await start(file, chooseLauncher(file, launchers, how.launcher), signal);
    },
    async launchSystem(name) {
      const { launchers, knownSystems } = players();
      const system = findSystem(name, knownSystems);
      await start({ path: "", system }, chooseSystemLauncher(system, launchers), stopping());
    },
    async launchLast() {
      if (last === undefined) throw new ServiceError("failed", "nothing has been started since Tapdeck was");
      await start(last.file, last.choice, stopping());
    },
    ...(media === undefined ? {} : { index: createIndexPort(media) }),
    stop: playing.stop,
    delay: (ms, signal) => sleep(clock, ms, signal),
    echo: (text) => log.info("script", text),
  };
}

/** The players that there are, looked for when the config changes and not at each tap. */
function createPlayers(configured: () => readonly LauncherConfig[]) {
  const look = (from: readonly LauncherConfig[]) => ({
    from,
    launchers: availableLaunchers(from, Bun.which),
    knownSystems: from.flatMap(({ systems }) => systems),
  });
  let found = look(configured());
  return () => {
    const now = configured();
    if (now !== found.from) found = look(now);
    return found;
  };
}
