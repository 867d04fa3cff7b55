/** What was started last: of this run of the service, or, where it has started nothing yet, of the one before. */
import { ServiceError } from "../../core/errors.ts";
import type { MediaFolders, StartedMedia } from "../../core/media.ts";
import type { LastMedia } from "../../store/play-state.ts";
import { type AvailableLauncher, type Choice, chooseLauncher, chooseSystemLauncher } from "../launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "../media-file.ts";
import type { Playing } from "../playing.ts";

export interface Started {
  readonly file: MediaFile;
  readonly choice: Choice;
}

export interface LastStarted {
  /** It was started: it is the last from now on, and over restarts once its player has proved itself. */
  note(started: Started): void;
  /** Looks for it once more. Rejects with `ServiceError` where there is none, or it may no longer be started. */
  find(): Promise<Started>;
}

export interface LastStartedParts {
  readonly folders: () => MediaFolders;
  readonly players: () => {
    readonly launchers: readonly AvailableLauncher[];
    readonly knownSystems: readonly string[];
  };
  readonly playing: Pick<Playing, "lastProof">;
  /** Where absent, a restart forgets. */
  readonly saved: LastMedia | undefined;
}

export function createLastStarted({ folders, players, playing, saved }: LastStartedParts): LastStarted {
  // Read now, and not on a tap's way.
  let last: StartedMedia | undefined = saved?.read();
  return {
    note({ file, choice }) {
      const media = { path: file.path, systemId: file.system.id, launcherId: choice.launcherId };
      last = media;
      playing.lastProof()?.settled.then(
        () => saved?.save(media),
        // What failed is not started again by a card that a child holds tomorrow.
        () => {},
      );
    },
    async find() {
      if (last === undefined)
        throw new ServiceError("failed", "nothing has been started yet", { isPublic: true });
      const { launchers, knownSystems } = players();
      const { path, systemId, launcherId } = last;
      if (path === "") {
        const system = findSystem(systemId, knownSystems);
        return { file: { path, system }, choice: chooseSystemLauncher(system, launchers) };
      }
      const file = await findMediaFile(path, folders(), knownSystems, systemId);
      const isThere = launchers.some(({ id }) => id === launcherId);
      return { file, choice: chooseLauncher(file, launchers, isThere ? launcherId : undefined) };
    },
  };
}
