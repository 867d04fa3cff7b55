/** What was started last: of this run of the service, or, where it has started nothing yet, of the one before. */
import { type Config, mediaFolders } from "../config/shape.ts";
import { ServiceError } from "../core/errors.ts";
import type { LastMedia } from "../store/last-media.ts";
import { type AvailableLauncher, type Choice, chooseLauncher, chooseSystemLauncher } from "./launchers.ts";
import { findMediaFile, findSystem, type MediaFile } from "./media-file.ts";
import type { Playing } from "./playing.ts";

export interface Started {
  readonly file: MediaFile;
  readonly choice: Choice;
}

export interface LastStarted {
  /** It was started: it is the last from now on, and over restarts once its player has proved itself. */
  note(started: Started): void;
  /** Rejects with `ServiceError("failed")` where there is none, or it is no longer there. */
  find(): Promise<Started>;
}

export interface LastStartedParts {
  readonly config: () => Config;
  readonly players: () => {
    readonly launchers: readonly AvailableLauncher[];
    readonly knownSystems: readonly string[];
  };
  readonly playing: Pick<Playing, "lastProof">;
  /** Where absent, a restart forgets. */
  readonly saved: LastMedia | undefined;
}

export function createLastStarted({ config, players, playing, saved }: LastStartedParts): LastStarted {
  let last: Started | undefined;
  // Read now, and not on a tap's way.
  const before = saved?.read();
  return {
    note(started) {
      last = started;
      const { file, choice } = started;
      const media = { path: file.path, systemId: file.system.id, launcherId: choice.launcherId };
      playing.lastProof()?.settled.then(
        () => saved?.save(media),
        // What failed is not started again by a card that a child holds tomorrow.
        () => {},
      );
    },
    async find() {
      if (last !== undefined) return last;
      if (before === undefined)
        throw new ServiceError("failed", "nothing has been started yet", { isPublic: true });
      const { launchers, knownSystems } = players();
      const { path, systemId } = before;
      if (path === "") {
        const system = findSystem(systemId, knownSystems);
        return { file: { path, system }, choice: chooseSystemLauncher(system, launchers) };
      }
      const file = await findMediaFile(path, mediaFolders(config()), knownSystems, systemId);
      const isThere = launchers.some(({ id }) => id === before.launcherId);
      return { file, choice: chooseLauncher(file, launchers, isThere ? before.launcherId : undefined) };
    },
  };
}
