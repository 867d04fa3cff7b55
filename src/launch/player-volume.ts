/**
 * The volume of players that have one. A volume that was set for one player applies to later ones, until the device's volume
 * is set instead. The owner's ceiling applies to all of them.
 */
import { clampVolume, type VolumeChange } from "../core/playback.ts";
import type { ControlledPlayer } from "../players/player.ts";

export interface PlayerVolume {
  /** Resolves with whether the current player has a volume and took it; rejects with `ServiceError` if that failed. */
  change(change: VolumeChange): Promise<boolean>;
  /** Keeps the change for the next player. */
  want(change: VolumeChange): void;
  isWanted(): boolean;
  /** The next player starts at its default. */
  forget(): void;
  /** Turns the current player down to the owner's ceiling if it is louder. */
  hold(): Promise<void>;
  /** The volume at a player's start, in percent; undefined for its default. */
  first(): number | undefined;
}

// The default of players: the sound as it is in the file.
const fullVolume = 100;

/** `playing` returns the current player, `ceiling` the owner's ceiling in percent. */
export function createPlayerVolume(
  playing: () => ControlledPlayer | undefined,
  ceiling: () => number,
): PlayerVolume {
  /** Before the ceiling, so that it applies again when the ceiling is raised. */
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
        // The player ended meanwhile, so the change is for the next one.
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
