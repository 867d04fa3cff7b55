/** Finds media for scripts, and names the USB stick if media are missing because it is unplugged. */
import { basename, isAbsolute, relative, sep } from "node:path";
import { launchFailed, publicError, ServiceError } from "../../core/errors.ts";
import type { MediaFolders } from "../../core/media.ts";
import type { MediaSource } from "../../media/index/answers.ts";
import { systemByName } from "../../media/known-systems.ts";
import type { MediaLibrary } from "../../media/media-library.ts";
import type { MediaWithSticks } from "../../media/sticks/stick-library.ts";
import type { MediaLookup, NameQuery, RandomSource } from "../../script/command.ts";
import { queryOf, titleOf } from "../../script/commands/launch-commands.ts";

export type SearchedMedia = Pick<MediaLibrary, "any" | "findTitle" | "search"> &
  Partial<Pick<MediaWithSticks, "stickWith">>;

/** Makes the lookup. `random` returns a number from 0 up to 1, without 1. */
export function createMediaLookup(
  media: SearchedMedia,
  folders: () => MediaFolders,
  random: () => number = Math.random,
): MediaLookup {
  return {
    async title({ system, title, tags }) {
      const wanted = [title, ...tags.map((tag) => `(${tag})`)].join(" ");
      const found = await media.findTitle(system, wanted);
      if (found === undefined) {
        const name = system === undefined ? wanted : `${system}/${wanted}`;
        const sought = { kind: "title", title: wanted, ...(system === undefined ? {} : { system }) } as const;
        const stick = await media.stickWith?.(sought);
        if (stick !== undefined) throw stickAway(name, stick);
        throw launchFailed("media-not-found", `there is no ${name} in the media index`);
      }
      const isPlain = found.how === "exact" && found.rivals === 0;
      return { path: found.media.path, ...(isPlain ? {} : { why: found.why }) };
    },
    async search(query) {
      const [best] = media.search({ ...wordsOf(query), maxResults: 1 }).results;
      if (best === undefined)
        throw launchFailed("media-not-found", `nothing in the media index fits ${query.pattern}`);
      return best.path;
    },
    async random(sources) {
      const found = await media.any(
        sources.map((source) => mediaSourceOf(source, folders())),
        random,
      );
      if (found === undefined)
        throw publicError("failed", "there is nothing in the media index to choose from", "index-missing");
      return found.path;
    },
  };
}

/** A `*` matches any text, as a space between words does. */
function wordsOf({ system, pattern }: NameQuery) {
  return { query: pattern.replaceAll("*", " "), systems: system === undefined ? [] : [idOf(system)] };
}

function mediaSourceOf(source: RandomSource, folders: MediaFolders): MediaSource {
  switch (source.kind) {
    case "all":
      return { kind: "search", query: "", systems: [] };
    case "system":
      return { kind: "search", query: "", systems: [idOf(source.system)] };
    case "query":
      return { kind: "search", ...wordsOf(source) };
    case "folder":
      return isAbsolute(source.path) ? absoluteFolderOf(source.path, folders) : folderOf(source.path);
  }
}

/** The source of `System/folder`, in all media folders or in this one. */
function folderOf(path: string, root?: string): MediaSource {
  const [system = "", ...rest] = path.split("/");
  const id = idOf(system);
  const folder = rest.filter((part) => part !== "").join("/");
  if (folder === "" && root === undefined) return { kind: "search", query: "", systems: [id] };
  return { kind: "folder", system: id, folder, ...(root === undefined ? {} : { root }) };
}

/** The source of an absolute path: a media folder, or a folder below one. */
function absoluteFolderOf(path: string, { roots, own, sticks = [] }: MediaFolders): MediaSource {
  const below = (folder: string) => {
    const rest = relative(folder, path);
    return rest === ".." || rest.startsWith(`..${sep}`) ? undefined : rest;
  };
  for (const { folder, system } of own) {
    const rest = below(folder);
    if (rest !== undefined) return folderOf(`${system}/${rest}`, folder);
  }
  for (const root of [...roots, ...sticks]) {
    const rest = below(root);
    if (rest !== undefined) return rest === "" ? { kind: "folder", folder: "", root } : folderOf(rest, root);
  }
  throw launchFailed("outside-media", `${path} is not below a media folder: add it to systems.root_folders`);
}

/**
 * The file for a text that is not a path: `System/*words*`, or `System/Title` without an extension. The result
 * is undefined if the text has neither form, or no title is near.
 */
export async function meantBy(text: string, lookup: MediaLookup | undefined) {
  if (lookup === undefined || isAbsolute(text)) return undefined;
  if (text.includes("*")) return { path: await lookup.search(queryOf(text)) };
  const [system = "", ...title] = text.split("/");
  if (title.join("") === "" || systemByName(system) === undefined || /\.\w{1,8}$/.test(text))
    return undefined;
  return lookup.title(titleOf(text)).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
}

function idOf(name: string): string {
  const known = systemByName(name);
  if (known !== undefined) return known.id;
  throw publicError("not-found", `there is no system ${name.slice(0, 64)}`, "system-unknown");
}

/** Throws `ServiceError` for an absolute path on a stick that is not among `sticks`; `removable` are the folders of sticks. */
export function refuseStickAway(
  wanted: string,
  removable: readonly string[] = [],
  sticks: readonly string[] = [],
): void {
  const folder = removable.find((one) => wanted.startsWith(`${one}/`));
  const [name = ""] = folder === undefined ? [] : relative(folder, wanted).split(sep);
  const isThere = sticks.some((stick) => basename(stick) === name);
  if (name !== "" && name !== ".." && !isThere) throw stickAway(wanted, name);
}

/** Replaces the error of a search for `<System>/<path>` if the file is on an unplugged stick. */
export async function withStickName(error: unknown, path: string, media?: SearchedMedia): Promise<unknown> {
  if (!(error instanceof ServiceError) || isAbsolute(path)) return error;
  const stick = await media?.stickWith?.({ kind: "path", path });
  return stick === undefined ? error : stickAway(path, stick);
}

function stickAway(wanted: string, stick: string): ServiceError {
  return launchFailed(
    "stick-away",
    `there is no file ${wanted}: it is on the USB stick ${stick}, which is not plugged in`,
    { subject: stick },
  );
}
