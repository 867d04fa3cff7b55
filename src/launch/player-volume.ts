/** The volume of players, which outlives each of them. */
import { clampVolume, type VolumeChange } from "../core/playback.ts";
import type { ControlledPlayer } from "../players/player.ts";

// Players start at the volume of the file.
const fullVolume = 100;

/**
 * The volume of players that have one. A volume that was set for one player applies to later ones, until the device's
 * volume is set instead. `playing` returns the current player. `ceiling` returns the owner's ceiling in percent, which
 * applies to all players. `start` returns the volume of players for which none was set.
 */
export function createPlayerVolume(
  playing: () => ControlledPlayer | undefined,
  ceiling: () => number,
  start: () => number,
) {
  /** The volume that was set, without the ceiling, so it applies again when the ceiling is raised. */
  let wanted: number | undefined;
  /** The player whose volume is being faded, its volume before the fade, and its present volume. */
  let fading: { readonly player: ControlledPlayer; readonly from: number; now: number } | undefined;

  /** Keeps the change for the next player. */
  const want = ({ kind, percent }: VolumeChange) => {
    const before = kind === "to" ? 0 : Math.min(wanted ?? start(), ceiling());
    wanted = clampVolume(before + percent, fullVolume);
  };
  const next = () => clampVolume(wanted ?? start(), ceiling());
  return {
    want,
    /** The volume of the next player, in percent. */
    next,
    /**
     * Changes the volume of the current player. Resolves with false if there is none, or it has no volume. Rejects with
     * `ServiceError` if the change failed.
     */
    async change(change: VolumeChange): Promise<boolean> {
      const player = playing();
      if (player?.changeVolume === undefined) return false;
      try {
        const set = await player.changeVolume(change, ceiling());
        wanted = change.kind === "to" ? change.percent : set;
      } catch (error) {
        if (playing() === player) throw error;
        // The player has ended meanwhile, so the change is kept for the next one.
        want(change);
      }
      return true;
    },
    isWanted: () => wanted !== undefined,
    /** The next player starts at its default volume. */
    forget() {
      wanted = undefined;
    },
    /** Turns the current player down to the owner's ceiling if it is louder, also if it loads and does not answer yet. */
    async hold(): Promise<void> {
      const player = playing();
      const lower = async () => void (await player?.changeVolume?.({ kind: "by", percent: 0 }, ceiling()));
      try {
        await lower();
      } catch (error) {
        if (player?.ready === undefined || playing() !== player) throw error;
        await player.ready;
        if (playing() === player) await lower();
      }
    },
    /**
     * Turns the current player down to a share of the volume that it had before, from 0 to 1. Later players start with
     * their usual volume. A volume that is set meanwhile is kept.
     */
    async fade(share: number): Promise<void> {
      const player = playing();
      if (player?.changeVolume === undefined || (share === 1 && fading?.player !== player)) return;
      const now = await player.changeVolume({ kind: "by", percent: 0 }, ceiling());
      if (fading?.player !== player) fading = { player, from: now, now };
      const kept = fading;
      if (share === 1) fading = undefined;
      if (kept.now !== now) return;
      kept.now = await player.changeVolume({ kind: "to", percent: Math.round(kept.from * share) }, ceiling());
    },
    /** The volume at a player's start, in percent; undefined for the player's default. */
    first(): number | undefined {
      const first = next();
      return wanted === undefined && first === fullVolume ? undefined : first;
    },
  };
}
