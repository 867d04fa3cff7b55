/** Updates the media after changes of the settings, the folders and the USB sticks. */
import type { Settings } from "../config/settings.ts";
import { mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { OpenFolderWatches } from "../core/operating-system.ts";
import type { LaunchQueue } from "../launch/launch-queue.ts";
import type { MediaLibrary } from "../media/media-library.ts";
import { indexWhenFree } from "../media/scan/indexer.ts";
import { watchMedia } from "../media/scan/watch-folders.ts";
import { watchRemovable } from "../media/sticks/removable.ts";
import type { MediaWithSticks } from "../media/sticks/stick-library.ts";

// The first run of the index waits for this time, so readers and taps come first.
const firstIndexMs = 3000;
const watchAgainMs = 60_000;

/**
 * Updates the index at the start, because files change while the service is off. Also updates it when the owner changes the
 * folders, and adds new files as they come.
 */
export function followFolders(
  media: MediaLibrary,
  settings: Settings,
  { clock, log, open }: { readonly clock: Clock; readonly log: Log; readonly open: OpenFolderWatches },
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
      watching = watchMedia({ media, folders: mediaFolders(settings.current()), log, open, clock });
    } catch (error) {
      // The watch is tried again later, because the machine may have free descriptors at that time.
      log.warn("media", "changes are not seen for now", { error: messageOf(error) });
      again = clock.after(watchAgainMs, watch);
    }
  };
  const first = clock.after(firstIndexMs, () => {
    // The watch begins before the indexing, so changes during the indexing are seen.
    watch();
    index();
  });
  const changes = settings.onChange((now, before) => {
    if (JSON.stringify(mediaFolders(now)) === JSON.stringify(mediaFolders(before))) return;
    index();
    // No folder is watched before the first run.
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

interface StickParts {
  readonly media: Pick<MediaWithSticks, "plug">;
  readonly settings: Settings;
  readonly launchQueue: Pick<LaunchQueue, "stopMediaIn">;
  readonly clock: Clock;
}

/** Adds USB sticks to the media while they are plugged in, and stops the player when its stick is removed. */
export function followSticks({ media, settings, launchQueue, clock }: StickParts): Disposable {
  const changed = (present: readonly string[]) => stopPlayersOn(launchQueue, media.plug(present));
  const following = new DisposableStack();
  const watching = following.use(watchRemovable({ clock, changed }));
  const aim = () => watching.aim(settings.current().systems.removableFolders);
  aim();
  following.use(settings.onChange(aim));
  return following;
}

export function stopPlayersOn(launchQueue: StickParts["launchQueue"], gone: readonly string[]): void {
  for (const folder of gone) launchQueue.stopMediaIn(folder);
}
