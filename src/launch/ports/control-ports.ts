/** Controls the current player and its playlist, for scripts and the API. */
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
  readonly stop: () => Promise<void>;
  /** The owner's ceiling, in percent. */
  readonly volumeMax: () => number;
  /** Finds the programs that set the device's volume. */
  readonly find?: (program: string) => string | null;
}

export function createControlPorts(
  parts: ControlParts,
  run: RunContext,
): Pick<ScriptPorts, "control" | "changeVolume" | "mediaReady"> {
  return {
    control: (action) => controlMedia(parts, action, run),
    changeVolume: (change, signal) => changeVolume(parts, change, signal),
    mediaReady: parts.playing.ready,
  };
}

/**
 * Changes the volume of the current player if it has one. Between two items of a playlist, the change is kept for the next
 * item. Otherwise the device's volume changes, and players start at their default, so that two volumes do not add up. If
 * nothing plays and the device's volume cannot be set, the change is kept for the next player.
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

/** Handles `stop`, and `next` and `previous` of a playlist, for all players; the player handles the rest. */
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
