/** The library as the API shows it: the index, the pictures beside its files, favourites, and played media. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { LibraryService } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { limitReached, messageOf, publicError, ServiceError } from "../core/errors.ts";
import {
  favouritesMax,
  pagesPerConnectionMax,
  pictureMsMax,
  picturesPerConnectionMax,
  picturesWaitingMax,
} from "../core/limits.ts";
import { type MediaFolders, mediaNameOf, scriptOf } from "../core/media.ts";
import { allows } from "../core/rights.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import { findMediaFile } from "../launch/media-file.ts";
import { createMediaLookup, meantBy, type SearchedMedia } from "../launch/ports/media-lookup.ts";
import { fsPath } from "../media/file-names.ts";
import { systemIdsOf, systemOf } from "../media/index/answers.ts";
import { systemByName } from "../media/known-systems.ts";
import { browse, lookUp, tagFilter, tagsOf } from "../media/library-pages.ts";
import type { MediaLibrary } from "../media/media-library.ts";
import { extensionFor, findPicture, type PictureRequest } from "../media/pictures.ts";
import { parseScript } from "../script/parser.ts";
import type { Favourite, Favourites } from "../store/favourites.ts";
import type { Play, Plays } from "../store/plays.ts";

interface LibraryParts {
  readonly media: MediaLibrary;
  /** The media folders, with those of the plugged-in sticks, and the closed places. */
  readonly folders: () => MediaFolders;
  readonly plays: Plays;
  readonly favourites: Favourites;
  readonly clock: Clock;
  /** Finds pictures. Only tests set it. */
  readonly find?: typeof findPicture | undefined;
}

export function createLibrary({
  media,
  folders,
  plays,
  favourites,
  clock,
  find,
}: LibraryParts): LibraryService {
  const fewPages = perConnection("pagesPerConnectionMax", pagesPerConnectionMax);
  return {
    browse: (query, caller) => fewPages(caller, () => browse(media, query)),
    taggedSearch: (query, tags, caller) =>
      fewPages(caller, async () => media.filteredSearch(query, tagFilter(tags))),
    folders: (query, maxResults, caller) =>
      fewPages(caller, async () => {
        const found = (await media.foldersNamed(query)) ?? [];
        const folders = found.slice(0, maxResults).map(({ systemId, path, files }) => ({
          name: basename(path),
          path: `${systemId}/${path}`,
          systemId,
          systemName: systemOf(systemId).name,
          fileCount: files,
        }));
        return { folders, total: found.length };
      }),
    image: createPictures({ folders, clock, find, embedded: media.embeddedPicture }),
    tags: (systems, caller) => fewPages(caller, () => tagsOf(media, systems)),
    lookup: (system, name) => lookUp(media, system, name),
    top: ({ limit, systems, anySpelling, sinceMs }) =>
      plays
        .top({ limit, systems: systemIdsOf(systems, anySpelling), sinceMs })
        .map(({ totalS, starts, startedMs, ...played }) => ({
          ...mediaOfPlay(played),
          ...audioOfPlay(media, played),
          totalPlayTime: totalS,
          sessionCount: starts,
          lastPlayedAt: rfc3339(startedMs),
        })),
    favourites: () => favourites.list().map(favouriteOf),
    async setFavourite(path, isFavourite) {
      if (!isFavourite) return favourites.remove(path);
      const { system, path: real, bytes = real } = await findMediaFile(path, folders(), []);
      const isFolder = (await stat(fsPath(bytes))).isDirectory();
      // A folder has no extension, which would give its system.
      const named = isFolder ? systemByName(path.split("/")[0] ?? "") : system;
      // Nothing may wait between the two steps, because each of many simultaneous requests must count.
      if (favourites.count() >= favouritesMax)
        throw limitReached("favouritesMax", `there are ${favouritesMax} favourites: remove one first`);
      favourites.add({ path, systemId: named?.id ?? system.id, isFolder });
    },
    history({ limit, cursor, systems, isDistinct }) {
      const found = plays.list({ limit: limit + 1, belowId: idBelow(cursor), systems, isDistinct });
      const shown = found.slice(0, limit);
      const hasNextPage = found.length > limit;
      return {
        entries: shown.map((play) => ({ ...entryOf(play, clock.now()), ...audioOfPlay(media, play) })),
        pagination: {
          hasNextPage,
          pageSize: limit,
          ...(hasNextPage && { nextCursor: String(shown.at(-1)?.id) }),
        },
      };
    },
  };
}

/** The id below which the rows of the next page are. The cursor of a history is the id of a page's last row. */
export function idBelow(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^\d{1,15}$/.test(cursor))
    throw new ServiceError("invalid-params", "cursor: it must be the nextCursor of an earlier page");
  return Number(cursor);
}

// The search for the file ends after this time. A drive may not answer, and the mapping is already stored.
const warningMsMax = 1000;

/** The result states why a text would start nothing now: its fault, or its missing file. */
export function createWarningOf({
  media,
  clock,
  folders,
}: Pick<LibraryParts, "clock" | "folders"> & { readonly media: SearchedMedia }) {
  const index = createMediaLookup(media, folders);
  const faultOf = async (text: string): Promise<string | undefined> => {
    const script = parseScript(text);
    if (script.kind === "error") return `the text cannot run: ${script.message}`;
    for (const { name, args } of script.commands) {
      const [path, ...more] = args[0] ?? [];
      if (name !== "launch" || typeof path !== "string" || more.length > 0 || path.includes("://")) continue;
      try {
        await findMediaFile(path, folders(), []);
      } catch (error) {
        const meant = await meantBy(path, index).catch(() => undefined);
        if (meant === undefined) return messageOf(error);
      }
    }
    return undefined;
  };
  return async (text: string): Promise<string | undefined> => {
    const late = Promise.withResolvers<undefined>();
    using _timer = clock.after(warningMsMax, () => late.resolve(undefined));
    return await Promise.race([faultOf(text), late.promise]);
  };
}

function favouriteOf({ path, systemId, isFolder }: Favourite) {
  return {
    type: isFolder ? ("directory" as const) : ("media" as const),
    name: isFolder ? basename(path) : mediaNameOf(path),
    path,
    systemId,
    systemName: systemOf(systemId).name,
    zapScript: scriptOf(path),
  };
}

function mediaOfPlay({ path, systemId }: Pick<Play, "path" | "systemId">) {
  const systemName = systemOf(systemId).name;
  return { systemId, systemName, mediaName: path === "" ? systemName : mediaNameOf(path), mediaPath: path };
}

function audioOfPlay(media: Pick<MediaLibrary, "audioOf">, { path }: Pick<Play, "path">) {
  const audio = path === "" ? undefined : media.audioOf(path);
  return audio && { audio };
}

function entryOf({ launcherId, startedMs, playedS, ...media }: Play, nowMs: number) {
  return {
    ...mediaOfPlay(media),
    launcherId,
    startedAt: rfc3339(startedMs),
    ...(playedS !== null && { endedAt: rfc3339(startedMs + playedS * 1000) }),
    playTime: playedS ?? Math.max(0, Math.round((nowMs - startedMs) / 1000)),
  };
}

/** Rejects with `busy` if a connection already has `max` running requests. */
function perConnection(limit: Parameters<typeof limitReached>[0], max: number) {
  const asking = new WeakMap<object, number>();
  return async <T>(caller: object, ask: () => Promise<T>): Promise<T> => {
    const mine = asking.get(caller) ?? 0;
    if (mine >= max)
      throw limitReached(limit, `ask for the next one after the answer to one of these ${max}`);
    asking.set(caller, mine + 1);
    try {
      return await ask();
    } finally {
      asking.set(caller, (asking.get(caller) ?? 1) - 1);
    }
  };
}

interface PictureParts extends Pick<LibraryParts, "folders" | "clock" | "find"> {
  readonly embedded: NonNullable<PictureRequest["embedded"]>;
}

/** Finds pictures one after another, because making one smaller may take 50 MB. */
function createPictures({
  folders,
  clock,
  find = findPicture,
  embedded,
}: PictureParts): LibraryService["image"] {
  const inTurn = createSerialQueue();
  const few = perConnection("picturesPerConnectionMax", picturesPerConnectionMax);
  let waiting = 0;
  type Asked = Parameters<LibraryService["image"]>;
  const answer = async ({ path, system, types, maxSize }: Asked[0], caller: Asked[1]) => {
    caller.gone().throwIfAborted();
    const now = folders();
    const file = await findMediaFile(path, now, []).catch((error: unknown) => {
      if (system === "" || path.startsWith("/")) throw notFound(path, error);
      return findMediaFile(`${system}/${path}`, now, []).catch((why: unknown) => {
        throw notFound(path, why);
      });
    });
    const found = await find({
      embedded,
      file: file.path,
      folders: now,
      types,
      maxSize,
      // Photos are private, so callers without the right `change` do not get them.
      showsPhotos: allows(caller.grant(), "change"),
    });
    // Known clients show no error for this sentence.
    if (found === undefined) throw publicError("not-found", `no image found for media ${path}`);
    return {
      delivery: "inline" as const,
      contentType: found.contentType,
      extension: extensionFor(found.contentType),
      data: Buffer.from(found.bytes).toString("base64"),
      typeTag: `property:image-${found.type}`,
    };
  };
  // A drive that hangs must not delay the pictures of other drives.
  const answerInTime = async (...asked: Asked) => {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = publicError("failed", "the picture was not read in time: its drive may not answer");
    using _timer = clock.after(pictureMsMax, () => reject(late));
    return await Promise.race([answer(...asked), promise]);
  };
  const inPlace = async (...asked: Asked) => {
    const most = allows(asked[1].grant(), "change") ? picturesWaitingMax : picturesWaitingMax / 2;
    if (waiting >= most)
      throw limitReached("picturesWaitingMax", "too many pictures are asked for: try again in a moment");
    waiting += 1;
    try {
      return await inTurn(() => answerInTime(...asked));
    } finally {
      waiting -= 1;
    }
  };
  return (request, caller) => few(caller, () => inPlace(request, caller));
}

function notFound(path: string, error: unknown): unknown {
  const isMissing = error instanceof ServiceError && error.code === "failed";
  return isMissing ? publicError("not-found", `media not found: ${path}`) : error;
}

/** Notes each start of a player and its end. */
export function keepPlays(bus: Bus, plays: Plays): Disposable {
  const following = new DisposableStack();
  following.use(
    bus.on("media.started", ({ mediaPath, systemId, launcherId, started }) =>
      plays.begin({ path: mediaPath, systemId, launcherId, startedMs: Date.parse(started) }),
    ),
  );
  following.use(bus.on("media.stopped", ({ elapsed }) => plays.end(elapsed)));
  return following;
}
