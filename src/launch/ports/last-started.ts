/** The media that were started last, for `launch.last`. */
import { publicError } from "../../core/errors.ts";
import type { MediaFolders, StartedMedia } from "../../core/media.ts";
import type { LastMedia } from "../../store/play-state.ts";
import type { Plays } from "../../store/plays.ts";
import {
  type AvailableLauncher,
  chooseLauncher,
  chooseSystemLauncher,
  type PlayerChoice,
} from "../launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "../media-file.ts";
import type { Proof } from "../run-context.ts";

interface LastStartedParts {
  readonly folders: () => MediaFolders;
  readonly players: {
    now(): {
      readonly launchers: readonly AvailableLauncher[];
      readonly knownSystems: readonly string[];
    };
    choose(pick: (launchers: readonly AvailableLauncher[]) => PlayerChoice): PlayerChoice;
  };
  /** Stores the media over restarts of the service. */
  readonly saved: LastMedia | undefined;
  readonly plays: Pick<Plays, "list"> | undefined;
}

interface FoundMedia {
  readonly file: MediaFile;
  readonly choice: PlayerChoice;
}

export function createLastStarted({ folders, players, saved, plays }: LastStartedParts) {
  // The media are read at the start of the service, so no tap waits for the file.
  let last: StartedMedia | undefined = saved?.read();
  const before = (nth: number): StartedMedia => {
    const all = { limit: nth, belowId: Number.MAX_SAFE_INTEGER, systems: [], isDistinct: true };
    const found = plays?.list(all)[nth - 1];
    if (found !== undefined) return found;
    throw publicError("failed", `fewer than ${nth} different media have been played`);
  };
  return {
    /** Call it after a start. Once the player has proved itself, its media are stored over a restart of the service. */
    note(file: MediaFile, choice: PlayerChoice, proof: Proof): void {
      const media = { path: file.path, systemId: file.system.id, launcherId: choice.launcherId };
      last = media;
      proof.lasted.then(
        () => saved?.save(media),
        // Media that failed are not started again after a restart.
        () => {},
      );
    },
    /**
     * The media that was started last, or the `nth` last. Media that were started twice count once. Throws
     * `ServiceError` if there are none.
     */
    media(nth = 1): StartedMedia {
      const wanted = nth === 1 ? last : before(nth);
      if (wanted === undefined) throw publicError("failed", "nothing has been started yet");
      return wanted;
    },
    /** Finds the file of such media; rejects with `ServiceError` if they may no longer start. */
    async find({ path, systemId, launcherId }: StartedMedia): Promise<FoundMedia> {
      const { launchers, knownSystems } = players.now();
      if (path === "") {
        const system = findSystem(systemId, knownSystems);
        return { file: { path, system }, choice: chooseSystemLauncher(system, launchers) };
      }
      const file = await findMediaFile(path, folders(), knownSystems, systemId);
      const isThere = launchers.some(({ id }) => id === launcherId);
      const wanted = isThere ? launcherId : undefined;
      return { file, choice: players.choose((found) => chooseLauncher(file, found, wanted)) };
    },
  };
}
