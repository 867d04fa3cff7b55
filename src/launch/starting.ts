/** Starts players with their hooks and saves. The starts run one after another, so there are never two players. */
import { publicError } from "../core/errors.ts";
import type { StartedMedia } from "../core/media.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import type { PlayerChoice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import type { Playing } from "./playing.ts";
import type { Proof, RunContext } from "./run-context.ts";
import type { SaveKeeper } from "./saves/save-keeper.ts";

export type Starting = ReturnType<typeof createStarting>;

/** Makes the queue of starts. Each start awaits `before`, and nothing starts if that rejects. */
export function createStarting(
  playing: Playing,
  saves: SaveKeeper | undefined,
  refusal: () => string | undefined,
  before: (what: StartedMedia, run: RunContext) => Promise<void> | undefined,
) {
  const inTurn = createSerialQueue();

  const refuse = () => {
    const why = refusal();
    if (why !== undefined) throw publicError("forbidden", why, "play-time-over");
  };
  const startWith = async (file: MediaFile, choice: PlayerChoice, run: RunContext) => {
    const game =
      choice.kind === "retroarch" ? await saves?.prepare(choice.discs?.content ?? file.path) : undefined;
    try {
      run.signal.throwIfAborted();
      return playing.start(file, choice, run, game);
    } catch (error) {
      game?.drop();
      throw error;
    }
  };
  return {
    /** Stops the current player, and starts the new one. Rejects with `ServiceError`, or with the reason of the run's signal. */
    async start(file: MediaFile, choice: PlayerChoice, run: RunContext): Promise<Proof> {
      refuse();
      if (!run.isHook)
        await before({ path: file.path, systemId: file.system.id, launcherId: choice.launcherId }, run);
      return inTurn(async () => {
        run.signal.throwIfAborted();
        await playing.stop();
        run.signal.throwIfAborted();
        // The play time may have run out while the player ended.
        refuse();
        return startWith(file, choice, run);
      });
    },
    /** Like `Playing.stop`, but resolves once the saves of the game are kept. */
    async stop(stick?: string): Promise<void> {
      // The stop does not wait for the saves of a game that starts meanwhile.
      const saved = saves?.settled();
      await playing.stop(stick);
      await saved;
    },
  };
}
