/**
 * Files whose names are not UTF-8. A text holds U+FFFD for such bytes, so the entries of a folder are compared after the
 * same replacement. A player takes its arguments as text, so it gets a link with a readable name.
 */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failed, messageOf } from "../core/errors.ts";
import { filterInSlices } from "../core/slices.ts";
import { type FileName, fileName, fsPath, joinNames, readable } from "../media/file-names.ts";
import { playersFolder } from "../system/folders.ts";
import type { PlayerChoice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";

/** Replaces bytes that are not UTF-8. */
const replacement = "\ufffd";

export function mayBeNonUtf8(wanted: string): boolean {
  return wanted.includes(replacement);
}

/** The file below `base`, links resolved; of names that read the same, the first by bytes. Undefined if there is none. */
export async function resolvedByBytes(
  base: string,
  segments: readonly string[],
): Promise<FileName | undefined> {
  let path: FileName = base;
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") return undefined;
    // A folder that cannot be read counts as empty.
    const entries = await readdir(fsPath(path), { encoding: "buffer" }).catch(() => []);
    const same = await filterInSlices(entries, (entry) => readable(fileName(entry)) === segment);
    const found = same.sort(Buffer.compare)[0];
    if (found === undefined) return undefined;
    path = joinNames(path, fileName(found));
  }
  const real = await realpath(fsPath(path), { encoding: "buffer" }).catch(() => undefined);
  return real && fileName(real);
}

/**
 * Makes a link to the file in a folder that only this user may enter. Its name has `_` for U+FFFD. `release` removes it; to
 * be called once. Throws `ServiceError("failed")` with a remedy.
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

/** Calls `start`. For a name that is not UTF-8, the player gets a link, removed at its end or after a failed start. */
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
