/** Resumes media: games of RetroArch at their save state, sounds and films of mpv at their last position. */
import type { Config } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { type Progress, resumedMsMin } from "../../core/playback.ts";
import type { Positions } from "../../store/positions.ts";
import type { PlayerChoice, Resumption } from "../launchers.ts";
import type { MediaFile } from "../media-file.ts";
import type { Proof } from "../run-context.ts";

// A power cut loses at most this much of a position. An hour of a film takes 720 writes, 5.3 MB in all, and a paused
// film takes none.
export const savedApartMs = 5000;
// A position that differs less is not written.
const changeMsMin = 1000;
// A position this near to the end is forgotten: within the last 2 %, but at most 30 s, because 2 % of an audio book is a
// chapter.
const endPart = 0.02;
const endMsMax = 30_000;

interface ResumingParts {
  readonly config: () => Pick<Config, "playback" | "retroarch">;
  readonly clock: Clock;
  /** Stores positions; absent if they are not kept. */
  readonly positions: Positions | undefined;
}

/** Decides whether media resume: by the card, or otherwise by the config. */
export function createResuming({ config, clock, positions }: ResumingParts) {
  // The game whose last start with a state failed. RetroArch ignores a state that does not load, but a core may crash
  // because of one.
  let failedPath: string | undefined;
  const ofGame = (path: string, choice: PlayerChoice, asked: boolean | undefined) => {
    const isUsual = config().retroarch.resume;
    const isWanted = asked ?? isUsual;
    const hasFailed = isWanted && path === failedPath;
    // A game that starts fresh still saves its state if the config resumes games.
    const resuming = { loadsState: isWanted && !hasFailed, savesState: isWanted || isUsual };
    const why = "it starts fresh: its last start, with a saved state, failed";
    return { choice: { ...choice, resuming }, why: hasFailed ? why : undefined };
  };
  return {
    /** `asked` is the option of the card; `why` explains a start without the state. Other players stay unchanged. */
    of({ path, bytes }: MediaFile, choice: PlayerChoice, asked: boolean | undefined) {
      if (choice.kind === "retroarch") return ofGame(path, choice, asked);
      // Two different names that are not UTF-8 may give the same path.
      if (choice.kind !== "mpv" || positions === undefined || bytes !== undefined)
        return { choice, why: undefined };
      const mode = () => config().playback.resume;
      return {
        choice: { ...choice, resumption: resumptionOf(path, asked, mode, positions, clock) },
        why: undefined,
      };
    },
    /** Call it after a start. After a failure, the next start of this game loads no state. */
    note(path: string, { resuming }: PlayerChoice, proof: Proof): void {
      if (path === failedPath) failedPath = undefined;
      if (resuming?.loadsState !== true) return;
      proof.lasted.catch(() => {
        failedPath = path;
      });
    },
  };
}

/** A start at the beginning by `resume=no` still saves its position if the config resumes the file. */
function resumptionOf(
  path: string,
  asked: boolean | undefined,
  mode: () => Config["playback"]["resume"],
  positions: Positions,
  clock: Clock,
): Resumption {
  const isUsual = (durationMs: number) =>
    mode() === "always" || (mode() === "long" && durationMs > resumedMsMin);
  const save = (progress: Progress | undefined) => {
    if (progress === undefined || !(asked === true || isUsual(progress.durationMs))) return;
    const { positionMs, durationMs, isOver } = progress;
    if (isOver || durationMs - positionMs <= Math.min(endMsMax, durationMs * endPart))
      return positions.forget(path);
    const savedMs = positions.get(path)?.positionMs ?? 0;
    if (Math.abs(positionMs - savedMs) >= changeMsMin)
      positions.save(path, { positionMs, durationMs, item: "" });
  };
  return {
    startMs() {
      const last = positions.get(path);
      return last !== undefined && (asked ?? isUsual(last.durationMs)) ? last.positionMs : undefined;
    },
    follow(player) {
      let timer: Disposable | undefined;
      let hasEnded = false;
      const wait = () => {
        timer = clock.after(savedApartMs, async () => {
          await player.state();
          if (hasEnded) return;
          save(player.progress?.());
          wait();
        });
      };
      wait();
      void player.process.exited.then(() => {
        hasEnded = true;
        timer?.[Symbol.dispose]();
        save(player.progress?.());
      });
    },
  };
}
