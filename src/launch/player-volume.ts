/**
 * How loud players are that have a volume of their own. What was wanted of one is wanted of those that come after it,
 * until the device's volume takes its place; the owner's ceiling holds for all of them.
 */
import { clampVolume, type VolumeChange } from "../core/playback.ts";
import type { ControlledPlayer } from "../players/player.ts";

export interface PlayerVolume {
  /** Tells whether what plays has a volume of its own, and so took it; rejects with `ServiceError` where that failed. */
  change(change: VolumeChange): Promise<boolean>;
  /** Keeps it for what starts next. */
  want(change: VolumeChange): void;
  isWanted(): boolean;
  /** What starts next is as loud as it is by itself. */
  forget(): void;
  /** What plays is turned down to the owner's ceiling, where it is louder. */
  hold(): Promise<void>;
  /** What a player begins with, in percent; undefined where it may begin as it does by itself. */
  first(): number | undefined;
}

// What players begin with by themselves: the sound as it is in the file.
const fullVolume = 100;

/** `playing` is the player of what plays; `ceiling` is the owner's, in percent. */
export function createPlayerVolume(
  playing: () => ControlledPlayer | undefined,
  ceiling: () => number,
): PlayerVolume {
  /** As it was asked for: where the ceiling is raised, it holds again. */
  let wanted: number | undefined;

  const want = ({ kind, percent }: VolumeChange) => {
    const before = kind === "to" ? 0 : Math.min(wanted ?? fullVolume, ceiling());
    wanted = clampVolume(before + percent, fullVolume);
  };
  return {
    want,
    async change(change) {
      const player = playing();
      if (player?.changeVolume === undefined) return false;
      try {
        const set = await player.changeVolume(change, ceiling());
        wanted = change.kind === "to" ? change.percent : set;
      } catch (error) {
        if (playing() === player) throw error;
        // It ended while it was asked: it is what comes next that is to be so loud.
        want(change);
      }
      return true;
    },
    isWanted: () => wanted !== undefined,
    forget() {
      wanted = undefined;
    },
    async hold() {
      await playing()?.changeVolume?.({ kind: "by", percent: 0 }, ceiling());
    },
    first() {
      const loudest = ceiling();
      if (wanted !== undefined) return clampVolume(wanted, loudest);
      return loudest < fullVolume ? clampVolume(fullVolume, loudest) : undefined;
    },
  };
}
