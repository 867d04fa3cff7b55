/** Takes up new files without being asked: changes in the media folders start runs of the index for their systems. */
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { MediaFolders } from "../../core/media.ts";
import type { MediaLibrary } from "../media-library.ts";
import { indexWhenFree } from "./index-when-free.ts";
import { linesOf, spawnGently, watchArgument } from "./indexer.ts";
import type { WatchLine } from "./watch-job.ts";

export interface WatchingOptions {
  readonly media: Pick<MediaLibrary, "index">;
  /** As they are now: who changes them watches anew. */
  readonly folders: MediaFolders;
  readonly log: Log;
  /** The program and its arguments; absent: this program's own. */
  readonly command?: readonly string[];
}

/** Watches until disposed. Where the kernel has no room for the watches, the log says so and nothing else happens. */
export function watchMedia({ media, folders, log, command }: WatchingOptions): Disposable {
  const child = spawnGently(watchArgument, command);
  child.stdin.write(`${JSON.stringify({ folders })}\n`);
  child.stdin.flush();
  let over = false;
  const follow = async () => {
    for await (const line of linesOf<WatchLine>(child.stdout)) {
      if ("failed" in line) log.warn("media", "changes are not seen", { why: line.failed });
      else
        await indexWhenFree(media, line.systems, () => over).catch((error: unknown) =>
          log.warn("media", messageOf(error)),
        );
    }
    if (!over) log.warn("media", "changes are not seen any more");
  };
  void follow().catch((error: unknown) => log.warn("media", messageOf(error)));
  return {
    [Symbol.dispose]() {
      over = true;
      child.kill("SIGKILL");
    },
  };
}
