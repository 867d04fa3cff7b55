/**
 * From a file that was chosen to its player: may it start now, what comes before, and whose it is. One start at a time,
 * whoever asks: cards, hooks and playlists never leave two players.
 */
import { ServiceError } from "../core/errors.ts";
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import type { Playing } from "./playing.ts";
import type { Launching, RunContext } from "./run-context.ts";

export interface StartingParts {
  readonly playing: Playing;
  /** Why nothing may be started now, as a sentence; undefined where it may. */
  readonly refusal: () => string | undefined;
  /** What is to be done before, if anything; its rejection is why nothing starts. */
  readonly before: (what: Launching, run: RunContext) => Promise<void> | undefined;
}

export interface Starting {
  /** Stops what plays, and starts the player. Rejects with `ServiceError`, or with the reason of the run's signal. */
  start(file: MediaFile, choice: Choice, run: RunContext): Promise<void>;
  /** As `Playing.stop`. */
  stop(): Promise<void>;
  /** On whose behalf the player runs that was started last. */
  startedBy(): RunContext | undefined;
  /** Whether what ends now was stopped, and did not end by itself. */
  isStopping(): boolean;
}

export function createStarting({ playing, refusal, before }: StartingParts): Starting {
  let by: RunContext | undefined;
  let stops = 0;
  let turn: Promise<void> = Promise.resolve();

  const stop = async () => {
    stops++;
    try {
      await playing.stop();
    } finally {
      stops--;
    }
  };
  const refuse = () => {
    const why = refusal();
    if (why !== undefined) throw new ServiceError("forbidden", why, { isPublic: true });
  };
  return {
    async start(file, choice, run) {
      refuse();
      if (!run.isHook) {
        await before({ path: file.path, systemId: file.system.id, launcherId: choice.launcherId }, run);
      }
      const mine = turn;
      const { promise, resolve } = Promise.withResolvers<void>();
      turn = promise;
      try {
        await mine;
        run.signal.throwIfAborted();
        await stop();
        run.signal.throwIfAborted();
        // The end of what played may have used up the time.
        refuse();
        by = run;
        playing.start(file, choice);
      } finally {
        resolve();
      }
    },
    stop,
    startedBy: () => by,
    isStopping: () => stops > 0,
  };
}
