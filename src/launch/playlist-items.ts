/** The items of a playlist: the entries of a list, or the files of a folder, as absolute paths. They may not be playable. */
import { constants } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ServiceError } from "../core/errors.ts";
import { playlistBytesMax, playlistItemsMax } from "../core/limits.ts";
import { extensionOf } from "../core/media.ts";
import { eachInSlices, sortInSlices } from "../core/slices.ts";
import { kindOf } from "../media/known-systems.ts";
import { playlistEntries } from "../media/playlists.ts";

const lists = [".m3u", ".m3u8", ".pls"];

export async function isFolderOrList(path: string): Promise<boolean> {
  return lists.includes(extensionOf(path)) || (await stat(path)).isDirectory();
}

/** By name, numbers as numbers. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * At most `playlistItemsMax` items: as listed, or sorted by `compare`. Throws `ServiceError("failed")` if there are none.
 */
export async function playlistItems(path: string, compare = byName): Promise<readonly string[]> {
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !lists.includes(extensionOf(path)))
    throw new ServiceError("failed", `${path} is no playlist: it takes a folder, .m3u, .m3u8 or .pls`);
  const items = (isFolder ? await inFolder(path, compare) : await inList(path)).slice(0, playlistItemsMax);
  if (items.length === 0) throw new ServiceError("failed", `the playlist ${path} names nothing to play`);
  return items;
}

async function inList(path: string): Promise<readonly string[]> {
  const items: string[] = [];
  await eachInSlices(playlistEntries(await textOf(path), extensionOf(path)), (listed) => {
    const entry = listed.replaceAll("\\", "/");
    // URLs are left out.
    if (/^\w[\w+.-]+:/.test(entry) || entry.includes("\0")) return;
    items.push(entry.startsWith("/") ? entry : join(dirname(path), entry));
  });
  return items;
}

/**
 * Reads `playlistBytesMax` at most; a line that is cut there names no file, and is left out later. An open pipe would block,
 * and `path` may have become a link since its check, so the open file must still be that plain file.
 */
async function textOf(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!(await file.stat()).isFile() || (await realpath(`/proc/self/fd/${file.fd}`)) !== path)
    throw new ServiceError("failed", `${path} is no plain file, or was replaced while it was read`);
  const bytes = new Uint8Array(playlistBytesMax);
  const { bytesRead } = await file.read(bytes, 0, playlistBytesMax, 0);
  return new TextDecoder().decode(bytes.subarray(0, bytesRead));
}

/** Only sounds and films if there are any, so that a cover beside songs is left out. */
async function inFolder(folder: string, compare: typeof byName): Promise<readonly string[]> {
  const names: string[] = [];
  const runs: string[] = [];
  await eachInSlices(await readdir(folder, { withFileTypes: true }), (entry) => {
    const { name } = entry;
    const extension = extensionOf(name);
    if (entry.isDirectory() || name.startsWith(".") || lists.includes(extension)) return;
    names.push(name);
    if (["Audio", "Video"].includes(kindOf(extension)?.id ?? "")) runs.push(name);
  });
  const inOrder = await sortInSlices(runs.length > 0 ? runs : names, compare);
  return inOrder.slice(0, playlistItemsMax).map((name) => join(folder, name));
}
