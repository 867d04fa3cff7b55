/** Starts a player on a file whose name is not UTF-8. */
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import { linkCleanly } from "./non-utf8-paths.ts";

/** Puts a link with a clean name in the file's place, which is gone when its player is, or when nothing was started. */
export async function startOdd(
  file: MediaFile & { readonly bytes: Uint8Array },
  choice: Choice,
  start: (file: MediaFile, choice: Choice) => Promise<void>,
): Promise<void> {
  const { path, release } = await linkCleanly(file.bytes);
  const argv = choice.argv.map((part) => part.replaceAll(file.path, () => path));
  try {
    await start({ ...file, release }, { ...choice, argv });
  } catch (error) {
    release();
    throw error;
  }
}
