/** Keeps the media index in step with the settings. */
import type { Settings } from "../config/settings.ts";
import { mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { MediaLibrary } from "../media/media-library.ts";
import { indexWhenFree, watchMedia } from "../media/scan/indexer.ts";

// A start is for readers and taps first.
const firstIndexMs = 3000;
const watchAgainMs = 60_000;

/**
 * Brings the index up to date at the start, for cards are filled and drives are swapped while nobody looks, and when the
 * owner names other folders; takes up new files as they come.
 */
export function followFolders(
  media: MediaLibrary,
  settings: Settings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Disposable {
  let over = false;
  const index = () => {
    indexWhenFree(media, [], () => over).catch((error: unknown) => log.warn("media", messageOf(error)));
  };
  let watching: Disposable | undefined;
  let again: Disposable | undefined;
  const watch = () => {
    watching?.[Symbol.dispose]();
    again?.[Symbol.dispose]();
    try {
      watching = watchMedia({ media, folders: mediaFolders(settings.current()), log });
    } catch (error) {
      // A machine that is out of descriptors or processes has some again later.
      log.warn("media", "changes are not seen for now", { error: messageOf(error) });
      again = clock.after(watchAgainMs, watch);
    }
  };
  const first = clock.after(firstIndexMs, () => {
    // What changes during the run is seen, too.
    watch();
    index();
  });
  const changes = settings.onChange((now, before) => {
    if (JSON.stringify(mediaFolders(now)) === JSON.stringify(mediaFolders(before))) return;
    index();
    // Before the first run nothing is watched.
    if (watching !== undefined) watch();
  });
  return {
    [Symbol.dispose]() {
      over = true;
      first[Symbol.dispose]();
      changes[Symbol.dispose]();
      again?.[Symbol.dispose]();
      watching?.[Symbol.dispose]();
    },
  };
}
