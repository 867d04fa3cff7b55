/** The media index, its systems, the current media, and the players: `media`, `media.*`, `systems`, `launchers`. */
import * as v from "valibot";
import { failed, ServiceError } from "../../core/errors.ts";
import {
  pictureEdgeMax,
  playlistItemsMax,
  searchPlacesMax,
  searchQueryCharsMax,
  searchResultsMax,
} from "../../core/limits.ts";
import type { MediaAnswer, MediaQuery } from "../../core/media.ts";
import { readAction } from "../../core/playback.ts";
import { allows, type Grant } from "../../core/rights.ts";
import {
  activeMedia,
  count,
  indexStatus,
  type LoadedPlaylist,
  loadedPlaylist,
  mediaItem,
  system,
} from "../../core/shapes.ts";
import { method } from "../method.ts";
import { mediaFor } from "../notifications.ts";
import {
  absentCountsAs,
  launcherEntry,
  pagination,
  ruleSchemas,
  screenshot,
  systemIds,
  tagConditions,
  upTo,
} from "../schemas.ts";

const resultsDefault = 250;

/** Digits of the place of a result. */
const cursorCharsMax = 8;

/** The number of results before a page. */
function placeOfCursor(cursor: string): number {
  if (/^\d+$/.test(cursor) && Number(cursor) <= searchPlacesMax) return Number(cursor);
  throw new ServiceError("invalid-params", "cursor: it must be the nextCursor of an earlier page");
}

function pageOf(answer: MediaAnswer, { skip = 0, maxResults }: MediaQuery, isPaged: boolean) {
  if (!isPaged) return answer;
  const end = skip + answer.results.length;
  // With USB sticks a file of two libraries counts twice in the total, and once in the results.
  const hasNextPage = answer.results.length === maxResults && end < Math.min(answer.total, searchPlacesMax);
  const next = hasNextPage ? { nextCursor: String(end) } : {};
  return { ...answer, pagination: { hasNextPage, pageSize: maxResults, ...next } };
}

interface Asked {
  readonly query?: string | undefined;
  readonly systems?: readonly string[] | undefined;
  readonly tags?: readonly string[] | null | undefined;
}

function asksForSomething<Input extends Asked>() {
  const rule = v.check<Input, string>(
    ({ query = "", systems = [], tags }) => /\S/.test(query) || systems.length > 0 || (tags ?? []).length > 0,
    "query or system is required",
  );
  ruleSchemas.set(rule, {
    anyOf: [
      { properties: { query: { pattern: "\\S" } }, required: ["query"] },
      { properties: { systems: { minItems: 1 } }, required: ["systems"] },
      { properties: { tags: { type: "array", minItems: 1 } }, required: ["tags"] },
    ],
  });
  return rule;
}

const controlArgument = (min: number, max = 999_999) =>
  v.union([v.pipe(v.string(), v.maxLength(64)), v.pipe(v.number(), v.minValue(min), v.maxValue(max))]);
const namedArgument = v.record(
  v.pipe(v.string(), v.maxLength(64)),
  controlArgument(-999_999_000, 999_999_000),
);

/** The argument in the form of a script: `{ offset: 10 }` becomes `+10`, and `{ positionMs: 1500 }` becomes `1.5`. */
function argumentOf(args: readonly (string | number)[] | v.InferOutput<typeof namedArgument>) {
  const [name = "", value] = Array.isArray(args) ? ["", args[0]] : (Object.entries(args)[0] ?? []);
  if (typeof value !== "number") return value;
  const sign = /^(?:by|delta|offset)/i.test(name) && value >= 0 ? "+" : "";
  return `${sign}${Number((name.endsWith("Ms") ? value / 1000 : value).toFixed(3))}`;
}

/** If a list is on a card, its texts are texts of the card. */
function shownPlaylist(list: LoadedPlaylist | undefined, grant: Grant): LoadedPlaylist | undefined {
  if (list === undefined || list.path !== "" || allows(grant, "change")) return list;
  const { items: _items, ...facts } = list;
  return { ...facts, name: "" };
}

export const mediaMethods = [
  method({
    name: "media",
    right: "look",
    docs: "State and statistics of the media index, the media that plays, and the loaded playlist. After a run of the index the tags of new and changed audio files are read: meanwhile `tagsRead` counts them, of `tagsTotal`. After `**playlist.open` it has `items` to choose from: up to 100 from `place` on, or the last ones. `**playlist.goto` starts one. The names of a list that is on a card require `change`.",
    result: v.object({
      database: indexStatus,
      active: v.array(activeMedia),
      playlists: v.array(loadedPlaylist),
    }),
    async run(services, _params, { grant }) {
      const active = await services.playback();
      const loaded = shownPlaylist(services.playlist(), grant());
      return {
        database: services.media.status(),
        active: active === undefined ? [] : [mediaFor(grant(), active)],
        playlists: loaded === undefined ? [] : [loaded],
      };
    },
  }),
  method({
    name: "media.active",
    right: "look",
    docs: "The media that plays now, or null. `positionMs`, `durationMs`, `playbackState` (`loading`, `playing`, `paused`, `buffering`) and `volume` (percent) are there if the player reports them. Of a stream, `streamTitle` is what it plays now; without the right `change`, `mediaPath` has only its scheme and host. `audio` has the tags of an audio file of the index, and `disc` the disc in the drive of a game that has several.",
    result: v.nullable(activeMedia),
    async run(services, _params, { grant }) {
      const active = await services.playback();
      return active === undefined ? null : mediaFor(grant(), active);
    },
  }),
  method({
    name: "media.playlist",
    right: "look",
    docs: "The loaded playlist with its `items`, up to 100 from `from` on (1 if it is absent), or null. `place` is the item that plays. `**playlist.goto` starts another one. The names of a list that is on a card require `change`.",
    params: v.object({ from: v.optional(upTo(playlistItemsMax), 1) }),
    result: v.nullable(loadedPlaylist),
    run: (services, { from }, { grant }) => shownPlaylist(services.playlist(from), grant()) ?? null,
  }),
  method({
    name: "media.control",
    right: "play",
    docs: "Controls the player: `pause`, `resume`, `toggle`, `stop`, `seek`, `volume`, and the other actions of the script command `control`. `args` has the further argument of that command, as the only item of a list or the only member of an object. It is a place (`+10`, `-10`, `1:30`, `1m30s` or `50%`), or a volume (`50`, `+5` or `-5`). A number is seconds from the start, or percent. In an object, a name ending in `Ms` makes it milliseconds, and a name such as `offset` makes it relative. Answers when the player has done it.",
    params: v.object({
      action: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
      args: v.optional(
        v.nullable(
          v.union([
            v.pipe(v.array(controlArgument(0)), v.maxLength(1)),
            v.pipe(namedArgument, v.maxEntries(1)),
          ]),
        ),
      ),
    }),
    errors: ["failed"],
    // A save state and a screenshot are files.
    writes({ action }) {
      const read = readAction(action, undefined);
      return read.kind !== "error" && ["save-state", "screenshot"].includes(read.action.kind);
    },
    async run(services, { action, args }, caller) {
      const read = readAction(action, argumentOf(args ?? []));
      if (read.kind === "error") throw failed(read.message);
      await services.control(read.action, caller);
    },
  }),
  method({
    name: "screenshot",
    right: "change",
    docs: "Saves a picture of what the device shows, as `**screenshot` does, and returns it in base64: that of the game or film, or of the device's own screen, which requires `own` because a pairing code may be on it. `path` is the file on the device. `maxSize` is the longest edge in pixels: a larger picture is sent smaller, as WebP. Without `maxSize`, a picture above 512 KiB is made smaller: its edge has 1024 pixels, or 512 and so on, until it fits. A player that is not mpv or RetroArch saves none.",
    params: v.object({ maxSize: v.optional(v.nullable(upTo(pictureEdgeMax))) }),
    result: screenshot,
    errors: ["busy", "failed"],
    writes: () => true,
    run: (services, { maxSize }, caller) => services.screenshot(maxSize ?? undefined, caller),
  }),
  method({
    name: "media.search",
    right: "look",
    docs: "Searches file names, and the titles, artists and albums in audio files: each word of `query` must occur, in any case. `audio` has the tags of a file. The best come first, equals in natural order (1, 2, 10). No `systems` means all; an unknown one has no files. With `fuzzySystem` they may be ids, names or folders, in any spelling. `tags` are conditions, as in `media.browse`. `total` counts all results; `results` has at most `maxResults` of them. With `maxResults` or `cursor` there is `pagination`; `cursor` is `nextCursor` of the page before, with the same other params. Pages reach the first 5,000 results.",
    params: v.pipe(
      v.object({
        query: v.optional(v.pipe(v.string(), v.maxLength(searchQueryCharsMax))),
        systems: v.optional(systemIds),
        fuzzySystem: v.optional(v.nullable(v.boolean())),
        maxResults: v.optional(v.pipe(upTo(searchResultsMax), absentCountsAs(resultsDefault))),
        cursor: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(cursorCharsMax)))),
        tags: v.optional(tagConditions),
      }),
      asksForSomething(),
    ),
    result: v.object({
      results: v.array(mediaItem),
      total: count,
      pagination: v.exactOptional(pagination),
    }),
    errors: ["not-found", "busy", "failed"],
    run(services, { query = "", systems = [], fuzzySystem, maxResults, cursor, tags }, caller) {
      const pageSize = maxResults ?? resultsDefault;
      const skip = cursor ? placeOfCursor(cursor) : 0;
      const asked = { query, systems, anySpelling: fuzzySystem ?? false, skip, maxResults: pageSize };
      const isPaged = maxResults !== undefined || cursor !== undefined;
      if (tags == null || tags.length === 0) return pageOf(services.media.search(asked), asked, isPaged);
      return services.library
        .taggedSearch(asked, tags, caller)
        .then((answer) => pageOf(answer, asked, isPaged));
    },
  }),
  method({
    name: "media.index",
    aliases: ["media.generate"],
    right: "change",
    isLong: true,
    docs: "Indexes the media of all systems, or of those listed, and answers when that is done. `media.indexing` reports the progress.",
    params: v.object({ systems: v.optional(v.nullable(systemIds)) }),
    changes: ({ systems }) => `index ${systems?.join(" ") ?? "all"}`,
    errors: ["conflict", "not-found", "failed"],
    run: (services, { systems }) => services.media.index(systems ?? []),
  }),
  method({
    name: "media.index.cancel",
    aliases: ["media.generate.cancel"],
    right: "change",
    docs: "Ends the indexing that runs. The index from before stays searchable.",
    run: (services) => services.media.cancel(),
  }),
  method({
    name: "systems",
    right: "look",
    docs: "All systems that have media in the index.",
    result: v.object({ systems: v.array(system) }),
    run: (services) => ({ systems: services.media.systems() }),
  }),
  method({
    name: "launchers",
    right: "look",
    docs: "The players of the config file and the built-in ones, each with its systems and extensions, its kind, and whether its program is installed. No systems or no extensions means any. `reason` is for callers with the right `change`: it may name a file.",
    result: v.object({
      launchers: v.array(launcherEntry),
    }),
    run(services, _params, caller) {
      const isShown = allows(caller.grant(), "change");
      const launchers = services.launchers();
      return {
        launchers: isShown ? launchers : launchers.map(({ reason: _reason, ...launcher }) => launcher),
      };
    },
  }),
] as const;
