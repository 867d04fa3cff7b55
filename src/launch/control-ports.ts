/** What scripts and the API may do to what plays, whichever player it is, and to the playlist that it is of. */
import type { ControlAction } from "../core/playback.ts";
import { coreFolders, findCores } from "../players/retroarch-cores.ts";
import type { ScriptPorts } from "../script/command.ts";
import { changeSystemVolume } from "../system/mixer.ts";
import type { Playing } from "./playing.ts";
import type { Playlists } from "./playlist.ts";
import type { RunContext } from "./run-context.ts";

export interface ControlParts {
  readonly playing: Pick<Playing, "active" | "control" | "changeVolume" | "ready">;
  readonly playlists: Pick<Playlists, "state" | "portsOf">;
  /** As the script command `stop`. */
  readonly stop: () => Promise<void>;
  /** The owner's ceiling, in percent. */
  readonly volumeMax: () => number;
}

export type ControlPorts = Pick<ScriptPorts, "control" | "changeVolume" | "mediaReady">;

export function createControlPorts(parts: ControlParts, run: RunContext): ControlPorts {
  const { playing, volumeMax } = parts;
  return {
    control: (action) => controlMedia(parts, action, run),
    async changeVolume(change, signal) {
      if (await playing.changeVolume(change)) return;
      await changeSystemVolume(change, volumeMax(), Bun.which, signal);
    },
    mediaReady: playing.ready,
  };
}

/** Every player can be stopped, and an item of a playlist has a next one; the rest is up to the player. */
async function controlMedia(
  { playing, playlists, stop }: ControlParts,
  action: ControlAction,
  run: RunContext,
): Promise<void> {
  const isListed = playlists.state()?.state === "playing";
  if (isListed && action.kind === "next") await playlists.portsOf(run).move(1);
  else if (isListed && action.kind === "previous") await playlists.portsOf(run).move(-1);
  else if (action.kind === "stop" && playing.active() !== undefined) await stop();
  else await playing.control(action);
}

/** The libretro cores of this device. */
export const installedCores = () => findCores(coreFolders(process.env));
