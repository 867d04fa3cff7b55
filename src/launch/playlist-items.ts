/** The items of a playlist: the files of a folder or a list, or the scripts of a JSON text on the card. */
import { constants } from "node:fs";
import { exists, open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { codeOf, failed, launchFailed, messageOf, ServiceError, wrongScript } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { playlistBytesMax, playlistItemsMax } from "../core/limits.ts";
import { eachInSlices, sortInSlices } from "../core/long-lists.ts";
import { extensionOf, mediaNameOf } from "../core/media.ts";
import { kindOf } from "../media/known-systems.ts";
import { playlistEntries, readingsOf } from "../media/playlists.ts";
import type { ScriptOrigin } from "../script/command.ts";
import { jsonOf } from "../script/lexer.ts";
import { readyScript } from "../script/run-script.ts";

/** An item is a file with its `path`, or a launch `script`. */
export type PlaylistItem = { readonly name: string } & (
  | { readonly path: string }
  | { readonly script: string }
);

export interface ReadPlaylist {
  /** The path of the folder or list; empty for a JSON text. */
  readonly path: string;
  readonly name: string;
  /** The items, at most `playlistItemsMax`. */
  readonly items: readonly PlaylistItem[];
}

/**
 * Reads the playlist that a card names: JSON, or a path, which `find` makes absolute. Throws `ServiceError`, also for an item
 * that this origin may not run.
 */
export async function readPlaylist(
  text: string,
  origin: ScriptOrigin,
  find: (path: string) => Promise<string>,
): Promise<ReadPlaylist> {
  const json = text.trimStart().startsWith("{") ? jsonOf(text) : undefined;
  if (json !== undefined) return playlistOfJson(json, origin);
  const path = await find(text);
  const items = (await playlistItems(path)).map((item) => ({ name: mediaNameOf(item), path: item }));
  return { path, name: mediaNameOf(path), items };
}

const jsonForm = v.object({
  id: v.optional(v.string(), ""),
  name: v.optional(v.string(), ""),
  items: v.pipe(
    v.array(v.object({ name: v.optional(v.string(), ""), zapscript: v.string() })),
    v.minLength(1),
    v.maxLength(playlistItemsMax),
  ),
});

function playlistOfJson(json: unknown, origin: ScriptOrigin): ReadPlaylist {
  const read = v.safeParse(jsonForm, json);
  if (!read.success)
    throw wrongScript(
      'a playlist in JSON is {"name":"…","items":[{"name":"…","zapscript":"…"}]}, with an item',
    );
  const { id, name, items } = read.output;
  const checked = items.map((item, at) => {
    const fault = refusalOf(item.zapscript, origin);
    if (fault !== undefined)
      throw new ServiceError(
        fault.code,
        `item ${at + 1}: ${fault.message}`,
        fault.reason && { reason: fault.reason },
      );
    return { name: item.name || mediaNameOf(item.zapscript), script: item.zapscript };
  });
  return { path: "", name: name || id, items: checked };
}

/** Each item starts one media, so the end of that media starts the next item. */
function refusalOf(script: string, origin: ScriptOrigin): ServiceError | undefined {
  try {
    const { startsMedia, names } = readyScript(script, origin);
    if (names.some((name) => name.startsWith("playlist.")))
      return wrongScript("a playlist cannot be an item");
    return startsMedia ? undefined : wrongScript("it starts no media");
  } catch (error) {
    return error instanceof ServiceError ? error : failed(messageOf(error), error);
  }
}

const listedPathCharsMax = 4096; // A longer path opens no file (limits.h, PATH_MAX).

const lists = [".m3u", ".m3u8", ".pls"];

export async function isFolderOrList(path: string): Promise<boolean> {
  if (lists.includes(extensionOf(path))) return true;
  // A file that is gone by now is no folder.
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Compares by name, and digits as numbers. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * The items of a list in its order, or of a folder sorted by `compare`; at most `playlistItemsMax`. Throws
 * `ServiceError("failed")` if there are none, or the list cannot be read.
 */
export async function playlistItems(path: string, compare = byName): Promise<readonly string[]> {
  try {
    return await itemsOf(path, compare);
  } catch (error) {
    if (error instanceof ServiceError || codeOf(error) === "") throw error;
    const sentence = `the playlist ${path} cannot be read: ${fileFault(error)}`;
    throw launchFailed("playlist-invalid", sentence, { cause: error });
  }
}

async function itemsOf(path: string, compare: typeof byName): Promise<readonly string[]> {
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !lists.includes(extensionOf(path)))
    throw launchFailed("playlist-invalid", `${path} is no playlist: it takes a folder, .m3u, .m3u8 or .pls`);
  const items = (isFolder ? await inFolder(path, compare) : await inList(path)).slice(0, playlistItemsMax);
  if (items.length === 0)
    throw launchFailed("playlist-invalid", `the playlist ${path} names nothing to play`);
  return items;
}

async function inList(path: string): Promise<readonly string[]> {
  const extension = extensionOf(path);
  const readings = readingsOf(await bytesOf(path)).map((text) => playlistEntries(text, extension));
  const [entries = [], others = entries] = readings;
  const items: { readonly path: string; readonly other: string | undefined }[] = [];
  await eachInSlices([...entries.entries()], ([at, listed]) => {
    const item = pathOf(listed, path);
    if (item !== undefined) items.push({ path: item, other: pathOf(others[at] ?? "", path) });
  });
  const found: string[] = [];
  for (const { path: item, other } of items.slice(0, playlistItemsMax))
    found.push(other !== undefined && other !== item && (await exists(other)) ? other : item);
  return found;
}

/** The absolute path of an entry of the list; undefined for an address, and for a text that is no path. */
function pathOf(listed: string, list: string): string | undefined {
  const entry = listed.replaceAll("\\", "/");
  if (/^\w[\w+.-]+:/.test(entry) || entry.includes("\0") || entry.length > listedPathCharsMax)
    return undefined;
  return entry.startsWith("/") ? entry : join(dirname(list), entry);
}

/**
 * Reads `playlistBytesMax` at most; a line that is cut there names no file, and is left out later. An open pipe would
 * block, and `path` may have become a link since its check. The opened file must therefore still be that plain file.
 */
async function bytesOf(path: string): Promise<Uint8Array> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  // The kernel names a file on FAT by the spelling by which it was opened first.
  const opened = await realpath(`/proc/self/fd/${file.fd}`);
  if (!(await file.stat()).isFile() || opened.toLowerCase() !== path.toLowerCase())
    throw failed(`${path} is no plain file, or was replaced while it was read`);
  const bytes = new Uint8Array(playlistBytesMax);
  const { bytesRead } = await file.read(bytes, 0, playlistBytesMax, 0);
  return bytes.subarray(0, bytesRead);
}

/** The files of a folder. If there are sounds or films, only these, so a cover beside songs is left out. */
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
