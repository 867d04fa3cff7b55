/** Keeps the media index in step with the settings. */
import type { Settings } from "../config/settings.ts";
import { mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { MediaLibrary } from "../media/media.ts";
import { watchMedia } from "../media/watching.ts";

// A start is for taps first.
const firstIndexMs = 3000;

/**
 * Makes the index where there is none yet, brings it up to date when the owner names other folders, and takes up new
 * files as they come.
 */
export function followFolders(
  media: MediaLibrary,
  settings: Settings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Disposable {
  const index = () => {
    media.index([]).catch((error: unknown) => log.warn("media", messageOf(error)));
  };
  let watching: Disposable | undefined;
  const watch = () => {
    watching?.[Symbol.dispose]();
    watching = watchMedia({ media, folders: mediaFolders(settings.current()), log });
  };
  const first = clock.after(firstIndexMs, () => {
    if (!media.status().exists) index();
    watch();
  });
  const changes = settings.onChange((now, before) => {
    if (JSON.stringify(mediaFolders(now)) === JSON.stringify(mediaFolders(before))) return;
    index();
    // Before the first index nothing is watched.
    if (watching !== undefined) watch();
  });
  return {
    [Symbol.dispose]() {
      first[Symbol.dispose]();
      changes[Symbol.dispose]();
      watching?.[Symbol.dispose]();
    },
  };
}
