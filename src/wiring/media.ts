/** Keeps the media index in step with the settings. */
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { MediaLibrary } from "../media/media.ts";

// A start is for taps first.
const firstIndexMs = 3000;

/** Makes the index where there is none yet, and brings it up to date when the owner names other folders. */
export function followRoots(
  media: MediaLibrary,
  settings: Settings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Disposable {
  const index = () => {
    media.index([]).catch((error: unknown) => log.warn("media", messageOf(error)));
  };
  const first = clock.after(firstIndexMs, () => {
    if (!media.status().exists) index();
  });
  const changes = settings.onChange((now, before) => {
    if (now.systems.rootFolders.join("\n") !== before.systems.rootFolders.join("\n")) index();
  });
  return {
    [Symbol.dispose]() {
      first[Symbol.dispose]();
      changes[Symbol.dispose]();
    },
  };
}
