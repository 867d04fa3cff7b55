/** The screens of the library: folders, pictures, tags, lookups, favourites and played media. Shapes are those of known apps. */
import * as v from "valibot";
import { publicError } from "../../core/errors.ts";
import {
  browseCursorCharsMax,
  browsePathCharsMax,
  browseResultsMax,
  foundFoldersMax,
  pictureEdgeMax,
  playsPageMax,
  searchQueryCharsMax,
} from "../../core/limits.ts";
import { method } from "../method.ts";
import {
  browsePage,
  favourites,
  foundFolders,
  isoTime,
  lookedUp,
  mediaTagList,
  picture,
  pictureType,
  play,
  playsPage,
  systemIds,
  tagConditions,
  topPlays,
  upTo,
} from "../schemas.ts";

const browseDefault = 100;
const playsDefault = 25;
const foldersDefault = 10;
const path = v.pipe(v.string(), v.maxLength(browsePathCharsMax));
const cursor = v.optional(v.nullable(v.pipe(v.string(), v.maxLength(browseCursorCharsMax))));
const systems = v.optional(v.nullable(systemIds));

export const libraryMethods = [
  method({
    name: "media.browse",
    right: "look",
    docs: "One page of a folder of the media index, folders first, in natural order (1, 2, 10). No `path` lists the systems; `path` is that of an entry, such as `SNES/RPG`. The folders of all media folders and USB sticks appear as one. `fileCount` counts the files in and below a folder; `totalFiles` and `totalDirs` count the entries of this folder. `durationMs`, on the first page, is the length of up to 5,000 audio files in and below it; `audio` has the tags of a file. `letter` is the start of names, `0-9`, or `#` for the rest. `tags` are conditions on files: `region:usa`, `-status:beta` (not), `~lang:en` (any of these). Inside one folder, sorting by file name gives the same order as sorting by name. `cursor` is `nextCursor` of the page before, with the same other params.",
    params: v.object({
      path: v.optional(v.nullable(path), ""),
      systems,
      maxResults: v.optional(upTo(browseResultsMax), browseDefault),
      cursor,
      tags: v.optional(tagConditions),
      letter: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(8)))),
      sort: v.optional(v.picklist(["name-asc", "name-desc", "filename-asc", "filename-desc"]), "name-asc"),
    }),
    result: browsePage,
    errors: ["not-found", "busy", "failed"],
    run: (services, { path, systems, maxResults, cursor, tags, letter, sort }, caller) =>
      services.library.browse(
        {
          path: path ?? "",
          systems: systems ?? [],
          maxResults,
          cursor: cursor || undefined,
          tags: tags ?? [],
          letter: letter || undefined,
          isDescending: sort.endsWith("-desc"),
        },
        caller,
      ),
  }),
  method({
    name: "media.folders",
    right: "look",
    docs: "Searches folders: each word of `query` must occur in the folder's own name, in any case. A folder plays as a list, so this finds albums and series. `fileCount` counts the files in and below a folder, and `total` all folders that fit.",
    params: v.object({
      query: v.pipe(v.string(), v.minLength(1), v.maxLength(searchQueryCharsMax)),
      maxResults: v.optional(upTo(foundFoldersMax), foldersDefault),
    }),
    result: foundFolders,
    errors: ["busy", "failed"],
    run: (services, { query, maxResults }, caller) => services.library.folders(query, maxResults, caller),
  }),
  method({
    name: "media.image",
    right: "look",
    docs: "The picture of a media file or of a folder, in base64. It is a PNG, JPEG or WebP file with the name of the media file, beside it or in a folder such as `images`, `media`, `covers`, `downloaded_images` or `media/screenshots`; or it is listed in the `gamelist.xml` of the system's folder. A file without a picture of its own has that of its folder: `cover`, `folder`, `front` or `poster`. `path` is the path of an entry or a result, an absolute path, or a path below the folder of `system`. `imageTypes` are the types in the order of preference. `maxSize` is the longest edge in pixels: a larger picture is made smaller, as WebP. Without `maxSize`, a picture of up to 512 KiB is sent as it is. A larger one is made smaller: its edge has 1024 pixels, or 512 and so on, until it fits. `delivery` is always `inline`. Only callers with the right `change` get photos: a photo as its own picture, and files in the folders of photos. A connection may ask for three pictures at a time.",
    params: v.object({
      mediaId: v.optional(v.nullable(v.number())),
      system: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(128)))),
      path: v.optional(v.nullable(path)),
      imageTypes: v.optional(
        v.nullable(v.pipe(v.array(pictureType), v.maxLength(pictureType.options.length))),
      ),
      maxSize: v.optional(v.nullable(upTo(pictureEdgeMax))),
      delivery: v.optional(v.nullable(v.picklist(["inline", "localPath"]))),
    }),
    result: picture,
    errors: ["not-found", "busy", "failed"],
    run(services, { path, system, imageTypes, maxSize }, caller) {
      // Known clients repeat the request with a path after an error with exactly these words.
      if (!path) throw publicError("not-found", "media id not found: name the media by system and path");
      const types = imageTypes?.length ? imageTypes : pictureType.options;
      return services.library.image(
        { path, system: system ?? "", types, maxSize: maxSize ?? undefined },
        caller,
      );
    },
  }),
  method({
    name: "media.tags",
    right: "look",
    docs: "The tags in the names of all files, or of those of the listed systems: by type, the most frequent first, at most 100 of a type.",
    params: v.object({ systems }),
    result: v.object({ tags: mediaTagList }),
    errors: ["busy", "failed"],
    run: async (services, { systems }, caller) => ({
      tags: await services.library.tags(systems ?? [], caller),
    }),
  }),
  method({
    name: "media.lookup",
    right: "look",
    docs: "The file of a system that the title names, as `@System/Title` on a card finds it; null if none is near. `confidence` is 1 for the exact title, 0.95 for another spelling, and less with slips.",
    params: v.object({
      system: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
      name: v.pipe(v.string(), v.minLength(1), v.maxLength(searchQueryCharsMax)),
    }),
    result: v.object({ match: v.nullable(lookedUp) }),
    errors: ["not-found", "failed"],
    run: async (services, { system, name }) => ({
      match: (await services.library.lookup(system, name)) ?? null,
    }),
  }),
  method({
    name: "media.favourites",
    right: "look",
    docs: "The favourites of the device, in the order in which they were chosen: files, and folders that play as a list.",
    result: v.object({ favourites }),
    run: (services) => ({ favourites: services.library.favourites() }),
  }),
  method({
    name: "media.favourites.update",
    right: "change",
    docs: "Adds a file or a folder to the favourites, or removes it. `path` is that of an entry of `media.browse`. A file that `media.move` or `media.delete` moves or deletes is followed.",
    params: v.object({ path: v.pipe(path, v.minLength(1)), favourite: v.boolean() }),
    changes: ({ path, favourite }) => `${favourite ? "add" : "remove"} ${path}`,
    errors: ["busy", "failed"],
    run: (services, { path, favourite }) => services.library.setFavourite(path, favourite),
  }),
  method({
    name: "media.history",
    // The answer is a record of people's habits over months, and callers that are not paired have `look`.
    right: "change",
    docs: "The played media, the newest first. `distinctMedia` returns only the newest play of each file. `playTime` is in seconds; `endedAt` is absent while it plays. `cursor` is `nextCursor` of the page before, with the same other params.",
    params: v.object({
      limit: v.optional(v.nullable(upTo(playsPageMax)), playsDefault),
      cursor,
      systems,
      distinctMedia: v.optional(v.nullable(v.boolean())),
    }),
    result: playsPage,
    run: (services, { limit, cursor, systems, distinctMedia }) =>
      services.library.history({
        limit: limit ?? playsDefault,
        cursor: cursor || undefined,
        systems: systems ?? [],
        isDistinct: distinctMedia ?? false,
      }),
  }),
  method({
    name: "media.history.latest",
    right: "change",
    docs: "The last entry of `media.history`, which may play yet; null if there is none.",
    result: v.object({ entry: v.nullable(play) }),
    run(services) {
      const newest = { limit: 1, cursor: undefined, systems: [], isDistinct: false };
      return { entry: services.library.history(newest).entries[0] ?? null };
    },
  }),
  method({
    name: "media.history.top",
    right: "change",
    docs: "The media that were played longest, by their time in seconds over all starts. `since` counts only starts from that time on. With `fuzzySystem`, `systems` may be ids, names or folders, in any spelling.",
    params: v.object({
      limit: v.optional(v.nullable(upTo(playsPageMax)), playsDefault),
      systems,
      fuzzySystem: v.optional(v.nullable(v.boolean())),
      since: v.optional(v.nullable(isoTime)),
    }),
    result: v.object({ entries: topPlays }),
    run: (services, { limit, systems, fuzzySystem, since }) => ({
      entries: services.library.top({
        limit: limit ?? playsDefault,
        systems: systems ?? [],
        anySpelling: fuzzySystem ?? false,
        sinceMs: since ? Date.parse(since) : 0,
      }),
    }),
  }),
] as const;
