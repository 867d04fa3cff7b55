/** Runs of the index that nobody waits for: one at a time, so each waits until the one before is over. */
import { ServiceError } from "../../core/errors.ts";
import type { MediaLibrary } from "../media-library.ts";

/** How often a run is asked for again while another is under way. */
const againMs = 2000;

/** As `media.index`, but later where a run is under way; does nothing once it `isOver`. */
export async function indexWhenFree(
  media: Pick<MediaLibrary, "index">,
  systems: readonly string[],
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    try {
      return await media.index(systems);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "conflict")) throw error;
      await Bun.sleep(againMs);
    }
  }
}
