/** What scripts and the API may do to what plays, whichever player it is, and to the playlist that it is of. */
import { ServiceError } from "../../core/errors.ts";
import type { ControlAction, VolumeChange } from "../../core/playback.ts";
import { coreFolders, findCores } from "../../players/retroarch-cores.ts";
import type { ScriptPorts } from "../../script/command.ts";
import { changeSystemVolume } from "../../system/mixer.ts";
import type { Playing } from "../playing.ts";
import type { Playlists } from "../playlist.ts";
import type { RunContext } from "../run-context.ts";

export interface ControlParts {
  readonly playing: Pick<Playing, "active" | "control" | "volume" | "ready">;
  readonly playlists: Pick<Playlists, "state" | "portsOf">;
  /** As the script command `stop`. */
  readonly stop: () => Promise<void>;
  /** The owner's ceiling, in percent. */
  readonly volumeMax: () => number;
  /** Finds the programs that set the device's volume; `Bun.which` where absent. */
  readonly find?: (program: string) => string | null;
}

export type ControlPorts = Pick<ScriptPorts, "control" | "changeVolume" | "mediaReady">;

export function createControlPorts(parts: ControlParts, run: RunContext): ControlPorts {
  const { playing } = parts;
  return {
    control: (action) => controlMedia(parts, action, run),
    changeVolume: (change, signal) => changeVolume(parts, change, signal),
    mediaReady: playing.ready,
  };
}

/**
 * Of the player of what plays where it has a volume of its own; between two items of a playlist, of the next one. Else of
 * the device, and players then begin as loud as they do by themselves, so that two volumes do not add up. Where nothing
 * plays and the device's cannot be set, it is kept for what starts next.
 */
async function changeVolume(
  { playing, playlists, volumeMax, find = Bun.which }: ControlParts,
  change: VolumeChange,
  signal: AbortSignal,
): Promise<void> {
  const { volume } = playing;
  if (await volume.change(change)) return;
  const isIdle = playing.active() === undefined;
  const isBetween = isIdle && playlists.state()?.state === "playing";
  if (isBetween || (isIdle && change.kind === "by" && volume.isWanted())) return volume.want(change);
  try {
    await changeSystemVolume(change, volumeMax(), find, signal);
  } catch (error) {
    if (!isIdle || signal.aborted || !(error instanceof ServiceError)) throw error;
    return volume.want(change);
  }
  if (change.kind === "to") volume.forget();
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
