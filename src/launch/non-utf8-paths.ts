/**
 * Files whose names are not UTF-8: texts hold U+FFFD for what cannot be read, so they are found by what the folder's
 * entries would be read as, and a player, which takes its arguments as text, gets a link with a clean name.
 */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { messageOf, ServiceError } from "../core/errors.ts";
import { filterInSlices } from "../core/slices.ts";
import { type FileName, fileName, fsPath, joinNames, readable } from "../media/file-names.ts";

/** What stands for bytes that are not UTF-8. */
const replacement = "\ufffd";

export function mayBeOdd(wanted: string): boolean {
  return wanted.includes(replacement);
}

/** The file below `base`, links resolved; of names that read the same, the first by bytes. Undefined where there is none. */
export async function resolvedByBytes(
  base: string,
  segments: readonly string[],
): Promise<FileName | undefined> {
  let path: FileName = base;
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") return undefined;
    // Whatever keeps it from being read, nothing is found there.
    const entries = await readdir(fsPath(path), { encoding: "buffer" }).catch(() => []);
    const same = await filterInSlices(entries, (entry) => readable(fileName(entry)) === segment);
    const found = same.sort(Buffer.compare)[0];
    if (found === undefined) return undefined;
    path = joinNames(path, fileName(found));
  }
  const real = await realpath(fsPath(path), { encoding: "buffer" }).catch(() => undefined);
  return real && fileName(real);
}

export interface CleanLink {
  /** Absolute: the file's name with `_` for what cannot be read, and its own extension. */
  readonly path: string;
  /** Takes it away again; call it once. */
  release(): void;
}

/** Makes a link to the file in a folder that only this user may enter; throws `ServiceError("failed")` with what to do. */
export async function linkCleanly(file: Uint8Array): Promise<CleanLink> {
  const clean = readable(file).replaceAll(replacement, "_");
  const name = basename(clean);
  try {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-name-"));
    // RetroArch names saves after the folder around the file, too.
    const path = join(folder, basename(dirname(clean)), name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(Buffer.from(file), path);
    // Nothing depends on when it is gone.
    return { path, release: () => void rm(folder, { recursive: true, force: true }).catch(() => {}) };
  } catch (error) {
    const sentence = `the name of ${name} is not UTF-8, and no link to it can be made (${messageOf(error)}): rename it`;
    throw new ServiceError("failed", sentence, { cause: error });
  }
}
