/** Starts a file whose name is not UTF-8. A player takes its arguments as text, so it gets a link with a readable name. */
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failed, messageOf } from "../core/errors.ts";
import { readable } from "../media/file-names.ts";
import { playersFolder } from "../system/folders.ts";
import type { PlayerChoice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";
import { replacement } from "./non-utf8-paths.ts";

/**
 * Calls `start`. The player gets a link for a name that is not UTF-8. The link is removed at the player's end, or after a
 * failed start.
 */
export async function startReadably<T>(
  file: MediaFile,
  choice: PlayerChoice,
  start: (file: MediaFile, choice: PlayerChoice) => Promise<T>,
): Promise<T> {
  if (file.bytes === undefined) return start(file, choice);
  const { path, release } = await linkReadably(file.bytes);
  const argv = choice.argv.map((part) => part.replaceAll(file.path, () => path));
  try {
    return await start({ ...file, release }, { ...choice, argv });
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Makes a link to the file in a folder that only this user may enter. Its name has `_` for U+FFFD. `release` removes
 * it, and is called once. Throws `ServiceError("failed")` with a remedy.
 */
async function linkReadably(file: Uint8Array): Promise<{ readonly path: string; release(): void }> {
  const clean = readable(file).replaceAll(replacement, "_");
  const name = basename(clean);
  try {
    const folder = await mkdtemp(join(playersFolder(process.env), "tapdeck-name-"));
    // RetroArch names saves after the file and its folder.
    const path = join(folder, basename(dirname(clean)), name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(Buffer.from(file), path);
    return { path, release: () => void rm(folder, { recursive: true, force: true }).catch(() => {}) };
  } catch (error) {
    const sentence = `the name of ${name} is not UTF-8, and no link to it can be made (${messageOf(error)}): rename it`;
    throw failed(sentence, error);
  }
}
