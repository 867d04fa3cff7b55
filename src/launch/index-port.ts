/** The media index as script commands see it: titles, searches and random choices become paths that `launch` takes. */
import { ServiceError } from "../core/errors.ts";
import type { Media } from "../core/media.ts";
import type { MediaLibrary } from "../media/media.ts";
import { systemByName } from "../media/systems.ts";
import type { MediaIndex, NameQuery, RandomSource } from "../script/command.ts";

export type SearchedMedia = Pick<MediaLibrary, "findTitle" | "search">;

/** `random` gives a number from 0 up to 1, without 1. */
export function createIndexPort(media: SearchedMedia, random: () => number = Math.random): MediaIndex {
  return {
    async title({ system, title, tags }) {
      const wanted = [title, ...tags.map((tag) => `(${tag})`)].join(" ");
      const found = await media.findTitle(system, wanted);
      if (found === undefined)
        throw new ServiceError("failed", `there is no ${system}/${wanted} in the media index`);
      const isPlain = found.how === "exact" && found.rivals === 0;
      return { path: found.media.path, ...(isPlain ? {} : { why: found.why }) };
    },
    async search(query) {
      const [best] = media.search({ ...wordsOf(query), maxResults: 1 }).results;
      if (best === undefined)
        throw new ServiceError("failed", `nothing in the media index fits ${query.pattern}`);
      return best.path;
    },
    async random(sources) {
      const choices = sources.map((source) => choiceOf(media, source));
      const count = choices.reduce((sum, choice) => sum + choice.count, 0);
      if (count === 0) throw new ServiceError("failed", "there is nothing in the media index to choose from");
      let place = Math.floor(random() * count);
      for (const choice of choices) {
        if (place < choice.count) return choice.at(place);
        place -= choice.count;
      }
      throw new ServiceError("failed", "the media index has changed meanwhile: try again");
    },
  };
}

/** The stars stand for anything, and so does what lies between words. */
function wordsOf({ system, pattern }: NameQuery) {
  return { query: pattern.replaceAll("*", " "), systems: system === undefined ? [] : [idOf(system)] };
}

interface RandomChoice {
  readonly count: number;
  /** Path of the file at this place. */
  at(place: number): string;
}

/** Files that are in two of the sources count twice: whoever names them so wants them more often. */
function choiceOf(media: SearchedMedia, source: RandomSource): RandomChoice {
  switch (source.kind) {
    case "all":
      return searched(media, { query: "", systems: [] });
    case "system":
      return searched(media, { query: "", systems: [idOf(source.system)] });
    case "query":
      return searched(media, wordsOf(source));
    case "folder":
      return below(media, source.path);
  }
}

function searched(media: SearchedMedia, query: { query: string; systems: readonly string[] }): RandomChoice {
  return {
    count: media.search({ ...query, maxResults: 1 }).total,
    at: (place) => pathAt(media.search({ ...query, maxResults: place + 1 }).results, place),
  };
}

/** `System/folder`. */
function below(media: SearchedMedia, path: string): RandomChoice {
  const [system = "", ...rest] = path.split("/");
  const id = idOf(system);
  const folder = `${[id, ...rest.filter((part) => part !== "")].join("/")}/`;
  const whole = { query: "", systems: [id] };
  const { total } = media.search({ ...whole, maxResults: 1 });
  const files = media
    .search({ ...whole, maxResults: Math.max(1, total) })
    .results.filter((one) => one.path.startsWith(folder));
  return { count: files.length, at: (place) => pathAt(files, place) };
}

function pathAt(files: readonly Media[], place: number): string {
  const path = files[place]?.path;
  if (path === undefined)
    throw new ServiceError("failed", "the media index has changed meanwhile: try again");
  return path;
}

function idOf(name: string): string {
  const known = systemByName(name);
  if (known !== undefined) return known.id;
  throw new ServiceError("not-found", `there is no system ${name.slice(0, 64)}`);
}
