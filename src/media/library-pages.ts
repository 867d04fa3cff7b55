/** Pages of the library as its screens show them: folders of the index, the tags of its names, and lookups of titles. */
import * as v from "valibot";
import { publicError, ServiceError } from "../core/errors.ts";
import { browseCursorCharsMax, tagsPerTypeMax } from "../core/limits.ts";
import { nextTurn } from "../core/long-lists.ts";
import type { BrowseQuery, Media, MediaTag } from "../core/media.ts";
import { systemOf } from "./index/answers.ts";
import { fold } from "./index/fold.ts";
import { compareKeys, type FoldedKey, foldedKey, keyOfMedia, type NameKey } from "./index/folder.ts";
import type { MediaLibrary } from "./media-library.ts";
import { slipsBetween, titleKey } from "./titles/title-key.ts";
import { mediaTagOf, splitTitle } from "./titles/titles.ts";

interface FolderEntry {
  readonly type: "root" | "directory";
  readonly name: string;
  readonly path: string;
  readonly fileCount: number;
  readonly systemId: string;
  readonly systemIds: readonly string[];
  /** The category of a system. */
  readonly category?: string;
}

interface FileEntry extends Pick<Media, "name" | "path" | "tags" | "zapScript" | "audio"> {
  readonly type: "media";
  readonly systemId: string;
  readonly systemName: string;
}

export type BrowseEntry = FolderEntry | FileEntry;

/** The end of the previous page: a folder, or a file, which comes after all folders. */
interface Cursor extends NameKey {
  readonly kind: "folder" | "file";
}

/** One page of a folder, folders first. Throws `invalid-params`, and `not-found` for a folder that the index does not have. */
export async function browse(
  library: Pick<MediaLibrary, "folder" | "filesOfSystems">,
  { path: asked, systems, maxResults, isDescending, ...query }: BrowseQuery,
) {
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor);
  const hasLetter = query.letter === undefined ? undefined : startsWith(query.letter);
  const hasTags = query.tags.length === 0 ? undefined : tagFilter(query.tags);
  const path = asked.endsWith("/") ? asked.slice(0, -1) : asked;
  const [system = "", ...below] = path.split("/");
  const isOut = path !== "" && systems.length > 0 && !systems.includes(system);
  const way = isDescending ? -1 : 1;
  const most = maxResults + 1;
  const content =
    path === "" || isOut
      ? undefined
      : await library.folder({
          system,
          path: below.join("/"),
          way,
          most,
          after: after?.kind === "file" ? after : undefined,
          keeps:
            hasLetter === undefined && hasTags === undefined
              ? undefined
              : (name) => hasLetter?.(name) !== false && hasTags?.(name) !== false,
        });
  const folders =
    path === ""
      ? rootsOf((await library.filesOfSystems()) ?? new Map(), systems)
      : [...(content?.folders ?? [])].map(([name, count]) =>
          folderEntry("directory", name, path, count, system),
        );
  if (path !== "" && !isOut && content?.isThere !== true)
    throw publicError("not-found", `there is no folder ${path.slice(0, 256)} in the media index`);
  const fitting = folders.filter(({ name }) => hasLetter?.(name) !== false);
  const first = after?.kind === "file" ? [] : await firstOf(fitting, { after, most, way });
  const entries = [...first, ...(content?.files ?? []).map(fileEntry)].slice(0, maxResults);
  const hasNextPage = first.length + (content?.files.length ?? 0) > maxResults;
  const last = entries.at(-1);
  return {
    path,
    entries,
    totalFiles: content?.total ?? 0,
    totalDirs: fitting.length,
    ...(content !== undefined && content.durationMs > 0 && { durationMs: content.durationMs }),
    pagination: {
      hasNextPage,
      pageSize: maxResults,
      ...(hasNextPage && last !== undefined && { nextCursor: cursorAt(last) }),
    },
  };
}

function rootsOf(files: ReadonlyMap<string, number>, systems: readonly string[]): readonly FolderEntry[] {
  return [...files]
    .filter(([id]) => systems.length === 0 || systems.includes(id))
    .map(([id, count]) => {
      const { name, category } = systemOf(id);
      return { ...folderEntry("root", id, "", count, id), name, category };
    });
}

function folderEntry(
  type: FolderEntry["type"],
  name: string,
  parent: string,
  fileCount: number,
  systemId: string,
): FolderEntry {
  const path = parent === "" ? name : `${parent}/${name}`;
  return { type, name, path, fileCount, systemId, systemIds: [systemId] };
}

function fileEntry({ system, ...file }: Media): FileEntry {
  return { type: "media", ...file, systemId: system.id, systemName: system.name };
}

const foldersAStep = 500;

/** The first `most` entries after the key. They are sorted a few at a time, because a folder may hold very many. */
async function firstOf(
  entries: readonly FolderEntry[],
  { after, most, way }: { readonly after: NameKey | undefined; readonly most: number; readonly way: 1 | -1 },
): Promise<readonly FolderEntry[]> {
  const compare = (a: FoldedKey, b: FoldedKey) => way * compareKeys(a, b);
  const start = after && foldedKey(after);
  let first: { readonly entry: FolderEntry; readonly key: FoldedKey }[] = [];
  for (let from = 0; from < entries.length; from += foldersAStep) {
    if (from > 0) await nextTurn();
    const some = entries
      .slice(from, from + foldersAStep)
      .map((entry) => ({ entry, key: foldedKey(keyOfMedia(entry)) }));
    const later = some.filter(({ key }) => start === undefined || compare(key, start) > 0);
    first = [...first, ...later].sort((a, b) => compare(a.key, b.key)).slice(0, most);
  }
  return first.map(({ entry }) => entry);
}

const cursorText = v.tuple([v.picklist(["folder", "file"]), v.string(), v.string()]);

function cursorAt(entry: BrowseEntry): string {
  const { name, tie } = keyOfMedia(entry);
  const kind = entry.type === "media" ? "file" : "folder";
  return Buffer.from(JSON.stringify([kind, name, tie])).toString("base64url");
}

function readCursor(text: string): Cursor {
  try {
    if (text.length > browseCursorCharsMax) throw new Error("it is too long");
    const [kind, name, tie] = v.parse(cursorText, JSON.parse(Buffer.from(text, "base64url").toString()));
    return { kind, name, tie };
  } catch {
    throw new ServiceError("invalid-params", "cursor: it must be the nextCursor of an earlier page");
  }
}

function startsWith(letter: string): (name: string) => boolean {
  const start = fold(letter);
  if (start === "0-9") return (name) => /^\d/.test(fold(name));
  if (start === "#") return (name) => !/^[a-z\d]/.test(fold(name));
  return (name) => fold(name).startsWith(start);
}

/** True for names that meet the conditions, as the API names them. Throws `invalid-params`. */
export function tagFilter(conditions: readonly string[]): (name: string) => boolean {
  const read = conditions.map((text) => {
    const [, sign = "", type, tag] = /^([+~-]?)([a-z]+):(.+)$/.exec(text.trim().toLowerCase()) ?? [];
    if (type !== undefined && tag !== undefined) return { sign, type, tag };
    throw new ServiceError("invalid-params", 'tags: a condition is written type:tag, such as "region:usa"');
  });
  const any = read.filter(({ sign }) => sign === "~");
  return (name) => {
    const tags = splitTitle(name).tags.map(mediaTagOf);
    const has = (one: MediaTag | (typeof read)[number]) =>
      tags.some(({ type, tag }) => type === one.type && tag === one.tag);
    return (
      read.every((one) => one.sign === "~" || has(one) === (one.sign !== "-")) &&
      (any.length === 0 || any.some(has))
    );
  };
}

const tagTypes: readonly MediaTag["type"][] = ["region", "lang", "rev", "disc", "status", "unknown"];

/** The tags in the names of these systems, or of all: by type, the most frequent first, at most `tagsPerTypeMax` of a type. */
export async function tagsOf(
  library: Pick<MediaLibrary, "tags">,
  systems: readonly string[],
): Promise<readonly MediaTag[]> {
  const found = new Map<string, MediaTag & { count: number }>();
  for (const [text, count] of (await library.tags(systems)) ?? []) {
    const tag = mediaTagOf(text);
    const key = `${tag.type}:${tag.tag}`;
    found.set(key, { ...tag, count: count + (found.get(key)?.count ?? 0) });
  }
  const byType = Map.groupBy(found.values(), ({ type }) => type);
  return tagTypes.flatMap((type) =>
    (byType.get(type) ?? [])
      .sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      .slice(0, tagsPerTypeMax)
      .map(({ tag }) => ({ type, tag })),
  );
}

/** The media that the title names, with a confidence from 0 to 1; undefined if no title is near. */
export async function lookUp(library: Pick<MediaLibrary, "findTitle">, system: string, title: string) {
  const found = await library.findTitle(system, title);
  if (found === undefined) return undefined;
  return { ...found.media, confidence: confidenceOf(found, title) };
}

/**
 * The confidence in a title: 1 for an exact one, and 0.95 for another spelling. A slip lowers it by the share of the slip
 * in the title.
 */
function confidenceOf(
  { how, media }: NonNullable<Awaited<ReturnType<MediaLibrary["findTitle"]>>>,
  wanted: string,
): number {
  if (how !== "close") return how === "exact" ? 1 : 0.95;
  const [key, other] = [wanted, media.name].map((name) => titleKey(splitTitle(name).title));
  const length = Math.max(key?.length ?? 0, 1);
  return Math.round(90 * (1 - slipsBetween(key ?? "", other ?? "", length) / length)) / 100;
}
