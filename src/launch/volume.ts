/** How loud a player may be made. */

/** A volume in whole percent, from 0 to the owner's ceiling (`audio.volume_max`). */
export function clampVolume(percent: number, ceiling: number): number {
  return Math.round(Math.min(Math.max(percent, 0), Math.min(Math.max(ceiling, 0), 100)));
}
