/**
 * Starts a player: checks whether it may start, calls the hook, stops what plays and brings the saves. Starts of cards, hooks
 * and playlists run one at a time, so that there are never two players.
 */
import { ServiceError } from "../core/errors.ts";
import type { PlayerChoice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import type { Playing, Proof } from "./playing.ts";
import type { Launching, RunContext } from "./run-context.ts";
import type { SaveKeeper } from "./saves/keeper.ts";

export interface StartingParts {
  readonly playing: Playing;
  readonly saves: SaveKeeper | undefined;
  /** The reason why nothing may start now, as a sentence, or undefined. */
  readonly refusal: () => string | undefined;
  /** Runs before a start; its rejection prevents the start. */
  readonly before: (what: Launching, run: RunContext) => Promise<void> | undefined;
}

export type Starting = ReturnType<typeof createStarting>;

export function createStarting({ playing, saves, refusal, before }: StartingParts) {
  let turn: Promise<void> = Promise.resolve();

  const refuse = () => {
    const why = refusal();
    if (why !== undefined) throw new ServiceError("forbidden", why, { isPublic: true });
  };
  const startWith = async (file: MediaFile, choice: PlayerChoice, run: RunContext) => {
    const game = choice.kind === "retroarch" ? await saves?.bring(file.path) : undefined;
    try {
      run.signal.throwIfAborted();
      return playing.start(file, choice, run, game);
    } catch (error) {
      game?.drop();
      throw error;
    }
  };
  return {
    /** Stops what plays, and starts the player. Rejects with `ServiceError`, or with the reason of the run's signal. */
    async start(file: MediaFile, choice: PlayerChoice, run: RunContext): Promise<Proof> {
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
        await playing.stop();
        run.signal.throwIfAborted();
        // The play time may have run out while the player ended.
        refuse();
        return await startWith(file, choice, run);
      } finally {
        resolve();
      }
    },
    /** As `Playing.stop`, and resolves once the saves of the game are kept. */
    async stop(why?: string): Promise<void> {
      // Saves of a game that starts meanwhile are not waited for.
      const saved = saves?.settled();
      await playing.stop(why);
      await saved;
    },
  };
}
