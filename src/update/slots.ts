/**
 * The two slots of a system that updates itself: one runs, the other is written. A start takes the slot that is kept,
 * unless the other was armed to be tried once; what was tried stays only when somebody keeps it.
 */
export type Slot = "a" | "b";

export const slots: readonly Slot[] = ["a", "b"];

export function otherSlot(slot: Slot): Slot {
  return slot === "a" ? "b" : "a";
}

/** Where a slot's kernel and its helpers lie on the boot partition, with a slash at the end. */
export function slotFolder(slot: Slot): string {
  return `slot-${slot}/`;
}

/** What decides which slot starts. Every change is on the disk when its promise resolves, and none is ever half there. */
export interface BootControl {
  /** The slot that this system was started from. */
  running(): Promise<Slot>;
  /** The slot that a plain start takes. */
  kept(): Promise<Slot>;
  /** The next start, made by `restart`, takes this slot; the one behind it takes the kept one again. */
  tryOnce(slot: Slot): Promise<void>;
  /** No start tries anything any more. */
  disarm(): Promise<void>;
  /** From now on this slot is the one that starts. */
  keep(slot: Slot): Promise<void>;
  /** The command that ends this system in order and starts what `tryOnce` armed. */
  readonly restart: readonly string[];
  /** Files that a slot's folder must hold, or it would not start. */
  needs(slot: Slot): readonly string[];
}
