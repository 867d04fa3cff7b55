/** What the index answers, in the shapes of the API: searches, and titles that a card names. */
import { titleCandidatesMax } from "../../core/limits.ts";
import type { Media, System, TitlePreferences } from "../../core/media.ts";
import { mediaNameOf } from "../../core/media.ts";
import type { StoredPlace } from "../../store/media-index-file.ts";
import { joinNames, readable } from "../names.ts";
import { systemById } from "../systems.ts";
import { nearTitles, sameTitles } from "../titles/title-search.ts";
import { titleOf } from "../titles/title-tags.ts";
import { type Choice, chooseTitle } from "../titles/titles.ts";
import { foldedWords } from "./fold.ts";
import type { MediaIndex } from "./index-file.ts";

export interface MediaQuery {
  readonly query: string;
  /** Ids, spelt exactly; empty means all. */
  readonly systems: readonly string[];
  readonly maxResults: number;
}

export interface MediaAnswer {
  readonly results: readonly Media[];
  readonly total: number;
}

export interface FoundTitle extends Choice {
  readonly media: Media;
  /** Absolute; a name that is not UTF-8 is not spelt as the disk has it. */
  readonly file: string;
  /** How it was found, where that is not plain: a sentence without its full stop. */
  readonly why: string;
}

export function answerOf(index: MediaIndex, { query, systems, maxResults }: MediaQuery): MediaAnswer {
  const places = systems.map((id) => index.systemIds.indexOf(id)).filter((place) => place >= 0);
  const { files, total } = index.search({
    words: foldedWords(query),
    systems: systems.length === 0 ? undefined : places,
    maxResults,
  });
  return { results: index.places(files).map((place) => mediaOf(index, place)), total };
}

/** A file of the index, by its number. */
export function mediaAt(index: MediaIndex, file: number): Media | undefined {
  const [place] = index.places([file]);
  return place && mediaOf(index, place);
}

/**
 * The file of the system that the title means; undefined where none is near. Each step looks at one piece of the titles,
 * and so gives its caller the time to do something else.
 */
export function* findTitle(
  index: MediaIndex,
  system: string,
  wanted: string,
  prefer: TitlePreferences,
): Generator<void, FoundTitle | undefined, void> {
  const place = index.systemIds.indexOf(system);
  if (place < 0) return undefined;
  const { title } = titleOf(wanted);
  for (const find of [sameTitles, nearTitles]) {
    const places = index.places(yield* find(index.titles, place, title, titleCandidatesMax));
    const choice = chooseTitle(wanted, places.map(stemOf), prefer);
    if (choice !== undefined) return foundOf(index, places, choice, wanted);
  }
  return undefined;
}

export function systemOf(id: string): System {
  const { name, category } = systemById(id) ?? { name: id, category: "Unknown" };
  return { id, name, category };
}

function foundOf(
  index: MediaIndex,
  places: readonly StoredPlace[],
  choice: Choice,
  wanted: string,
): FoundTitle | undefined {
  const place = places[choice.place];
  if (place === undefined) return undefined;
  const media = mediaOf(index, place);
  const among = choice.rivals === 0 ? "" : `, the best of ${choice.rivals + 1} files of that title`;
  const spelt =
    choice.how === "exact"
      ? ""
      : `, the ${choice.how === "folded" ? "same but for its spelling" : "closest"}`;
  return {
    ...choice,
    media,
    file: readable(joinNames(joinNames(place.base, place.path), place.name)),
    why: `${wanted} is ${media.path}${spelt}${among}`,
  };
}

function mediaOf(index: MediaIndex, place: StoredPlace): Media {
  const system = systemOf(index.systemIds[place.system] ?? "");
  const path = `${system.id}/${readable(joinNames(place.path, place.name))}`;
  const name = stemOf(place);
  return { system, name, path, tags: titleOf(name).tags, zapScript: scriptOf(path) };
}

function stemOf({ name }: StoredPlace): string {
  return mediaNameOf(readable(name));
}

/** A path as a launch script: what has a meaning there is escaped (decisions, "Launch script"). */
function scriptOf(path: string): string {
  return path.replace(/\^|\?|\|\||\[\[/g, (mark) => [...mark].map((char) => `^${char}`).join(""));
}
