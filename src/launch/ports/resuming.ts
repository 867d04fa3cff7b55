/**
 * Whether a game of RetroArch goes on where it was left: as the card says, or else the config. RetroArch leaves out a state
 * that does not load, but a core may crash over one; the next start of that game is then one without it.
 */
import type { Choice } from "../launchers.ts";
import type { Proof } from "../playing.ts";

export interface ResumingStart {
  readonly choice: Choice;
  /** Why the game starts without its state, as a sentence. */
  readonly why?: string;
}

export interface ResumingStarts {
  /** `asked` is the card's word. Any other player is left as it is. */
  of(path: string, choice: Choice, asked: boolean | undefined): ResumingStart;
  /** It was started. */
  note(path: string, choice: Choice, proof: Proof | undefined): void;
}

/** `isUsual` is the config's word. */
export function createResuming(isUsual: () => boolean): ResumingStarts {
  let failedPath: string | undefined;
  return {
    of(path, choice, asked) {
      if (choice.kind !== "retroarch") return { choice };
      const isWanted = asked ?? isUsual();
      const hasFailed = isWanted && path === failedPath;
      // A game that a card starts fresh can still be resumed later.
      const resuming = { loadsState: isWanted && !hasFailed, savesState: isWanted || isUsual() };
      const why = "it begins anew: its last start, with the state of the time before, failed";
      return { choice: { ...choice, resuming }, ...(hasFailed ? { why } : {}) };
    },
    note(path, { resuming }, proof) {
      if (path === failedPath) failedPath = undefined;
      if (resuming?.loadsState !== true) return;
      proof?.settled.catch(() => {
        failedPath = path;
      });
    },
  };
}
