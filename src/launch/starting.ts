/**
 * From a file that was chosen to its player: may it start now, what comes before, and whose it is. One start at a time,
 * whoever asks: cards, hooks and playlists never leave two players.
 */
import { ServiceError } from "../core/errors.ts";
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import type { Playing } from "./playing.ts";
import type { Launching, RunContext } from "./run-context.ts";
import type { SaveKeeper } from "./saves/keeper.ts";

export interface StartingParts {
  readonly playing: Playing;
  /** Of games; where absent, RetroArch's own settings decide where these are kept. */
  readonly saves?: SaveKeeper | undefined;
  /** Why nothing may be started now, as a sentence; undefined where it may. */
  readonly refusal: () => string | undefined;
  /** What is to be done before, if anything; its rejection is why nothing starts. */
  readonly before: (what: Launching, run: RunContext) => Promise<void> | undefined;
}

export interface Starting {
  /** Stops what plays, and starts the player. Rejects with `ServiceError`, or with the reason of the run's signal. */
  start(file: MediaFile, choice: Choice, run: RunContext): Promise<void>;
  /** As `Playing.stop`, and resolves once what a game saved is kept. */
  stop(why?: string): Promise<void>;
  /** On whose behalf the player runs that was started last. */
  startedBy(): RunContext | undefined;
  /** Whether what ends now was stopped, and did not end by itself. */
  isStopping(): boolean;
}

export function createStarting({ playing, saves, refusal, before }: StartingParts): Starting {
  let by: RunContext | undefined;
  let stops = 0;
  let turn: Promise<void> = Promise.resolve();

  const stop = async (why?: string) => {
    stops++;
    try {
      await playing.stop(why);
    } finally {
      stops--;
    }
  };
  const refuse = () => {
    const why = refusal();
    if (why !== undefined) throw new ServiceError("forbidden", why, { isPublic: true });
  };
  /** A game brings its saves; nothing else waits for saves. */
  const startWith = async (file: MediaFile, choice: Choice, run: RunContext) => {
    const game = choice.kind === "retroarch" ? await saves?.bring(file.path) : undefined;
    try {
      run.signal.throwIfAborted();
      by = run;
      playing.start(file, choice, game);
    } catch (error) {
      game?.drop();
      throw error;
    }
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
        await startWith(file, choice, run);
      } finally {
        resolve();
      }
    },
    async stop(why) {
      // Of what plays now, and not of what is started meanwhile.
      const saved = saves?.settled();
      await stop(why);
      await saved;
    },
    startedBy: () => by,
    isStopping: () => stops > 0,
  };
}
