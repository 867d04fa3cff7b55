/** Queries of the index in the shapes of the API: searches, titles on cards, and random choices. */
import { filteredSearchMax, titleCandidatesMax, titleCharsMax } from "../../core/limits.ts";
import {
  extensionOf,
  type Media,
  type MediaAnswer,
  type MediaQuery,
  mediaNameOf,
  type System,
  scriptOf,
  type TitlePreferences,
} from "../../core/media.ts";
import type { StoredFolder, StoredPlace } from "../../store/media-index-write.ts";
import { joinNames, readable } from "../file-names.ts";
import { isAudio, systemById, systemByName } from "../known-systems.ts";
import {
  chooseTitle,
  mediaTagOf,
  nearTitles,
  sameTitles,
  splitTitle,
  type TitleChoice,
} from "../titles/titles.ts";
import { foldedWords } from "./fold.ts";
import type { LoadedIndex } from "./index-file.ts";

export interface FoundTitle extends TitleChoice {
  readonly media: Media;
  /** An absolute path. Bytes that are not UTF-8 are replaced. */
  readonly file: string;
  /** The way in which the file was found: a sentence without its full stop. */
  readonly why: string;
}

export function answerOf(index: LoadedIndex, query: MediaQuery): MediaAnswer {
  const { systems, anySpelling = false, skip = 0, maxResults } = query;
  const asked = searchOf(index, query.query, systemIdsOf(systems, anySpelling));
  const { files, total } = index.search({ ...asked, skip, maxResults });
  return { results: index.places(files).map((place) => mediaOf(index, place)), total };
}

/**
 * Like `answerOf`, but only with the files for which `keeps` accepts the name without its extension. It checks the best
 * `filteredSearchMax` results, in steps.
 */
export function* filteredAnswer(
  index: LoadedIndex,
  { query, systems, anySpelling = false, skip = 0, maxResults }: MediaQuery,
  keeps: (name: string) => boolean,
): Generator<void, MediaAnswer, void> {
  const asked = searchOf(index, query, systemIdsOf(systems, anySpelling));
  const { files } = index.search({ ...asked, maxResults: filteredSearchMax });
  const kept: number[] = [];
  let total = 0;
  for (let from = 0; from < files.length; from += namesAStep) {
    for (const file of files.slice(from, from + namesAStep)) {
      if (!keeps(stemOf({ name: index.name(file) }))) continue;
      total += 1;
      if (total > skip && kept.length < maxResults) kept.push(file);
    }
    yield;
  }
  return { results: index.places(kept).map((place) => mediaOf(index, place)), total };
}

/**
 * The ids of the systems. With `anySpelling` the given words may be ids, names or folders. An unknown name stays as it
 * is.
 */
export function systemIdsOf(systems: readonly string[], anySpelling: boolean): readonly string[] {
  return anySpelling ? systems.map((name) => systemByName(name)?.id ?? name) : systems;
}

function searchOf(index: LoadedIndex, query: string, systems: readonly string[]) {
  const places = systems.map((id) => index.systemIds.indexOf(id)).filter((place) => place >= 0);
  return { words: foldedWords(query), systems: systems.length === 0 ? undefined : places };
}

/** The media of a file of the index. */
export function mediaAt(index: LoadedIndex, file: number): Media | undefined {
  const [place] = index.places([file]);
  return place && mediaOf(index, place);
}

/**
 * The file of the system, or of any system, that the title names; undefined if no title is near. Each step reads one
 * piece of the titles. A text that is longer than the longest title names no file.
 */
export function* findTitle(
  index: LoadedIndex,
  system: string | undefined,
  wanted: string,
  prefer: TitlePreferences,
): Generator<void, FoundTitle | undefined, void> {
  if (wanted.length > titleCharsMax) return undefined;
  const systems = [...index.systemIds.entries()].filter(([, id]) => id === (system ?? id));
  const { title } = splitTitle(wanted);
  for (const find of [sameTitles, nearTitles]) {
    // The search takes the best candidates of each system, so only candidates of one system are compared at a time.
    const best: StoredPlace[] = [];
    let others = 0;
    for (const [at] of systems) {
      const places = index.places(yield* find(index.titles, at, title, titleCandidatesMax));
      const choice = chooseTitle(wanted, places.map(stemOf), prefer);
      best.push(...places.filter((_, place) => place === choice?.place));
      others += choice?.rivals ?? 0;
    }
    const choice = chooseTitle(wanted, best.map(stemOf), prefer);
    if (choice !== undefined)
      return foundOf(index, best, { ...choice, rivals: choice.rivals + others }, wanted);
  }
  return undefined;
}

export function systemOf(id: string): System {
  const { name, category } = systemById(id) ?? { name: id, category: "Unknown" };
  return { id, name, category };
}

function foundOf(
  index: LoadedIndex,
  places: readonly StoredPlace[],
  choice: TitleChoice,
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

/** The media of a file in this folder. */
export function mediaOf(index: LoadedIndex, place: StoredPlace): Media {
  const system = systemOf(index.systemIds[place.system] ?? "");
  const path = `${system.id}/${readable(joinNames(place.path, place.name))}`;
  const name = stemOf(place);
  const audio = isAudio(extensionOf(path))
    ? index.tags?.of(joinNames(joinNames(place.base, place.path), place.name))
    : undefined;
  return {
    system,
    name,
    path,
    tags: splitTitle(name).tags.map(mediaTagOf),
    zapScript: scriptOf(path),
    ...(audio && { audio }),
  };
}

function stemOf({ name }: Pick<StoredPlace, "name">): string {
  return mediaNameOf(readable(name));
}

export type MediaSource =
  /** The results of a search in systems of these ids; no ids mean all systems. */
  | { readonly kind: "search"; readonly query: string; readonly systems: readonly string[] }
  /**
   * The files in a folder of a system, by its exact name, and below it. An empty name means the folders of systems themselves,
   * and no system all of them. With `root`, only those of that media folder, as the settings have it.
   */
  | {
      readonly kind: "folder";
      readonly system?: string;
      readonly folder: string;
      readonly root?: string;
    };

/** A list of files that is counted but not read. */
interface Pile {
  readonly count: number;
  /** Number of the file at the place. */
  at(place: number): number | undefined;
}

// A step of this many folders takes about a millisecond.
const foldersAStep = 1000;
const namesAStep = 200;
const filesAStep = 10_000;

/**
 * The number of a random file, with equal odds for each file of the sources; undefined if there is none. A file in two
 * of the sources counts twice. The function counts the files and reads only the chosen one. `random` returns a number
 * from 0 up to 1, without 1. Works in steps.
 */
export function* chooseAny(
  index: LoadedIndex,
  sources: readonly MediaSource[],
  random: () => number,
): Generator<void, number | undefined, void> {
  const all = yield* pileOf(index, sources);
  return all.at(Math.floor(random() * all.count));
}

/** The number of files that `chooseAny` chooses from. */
export function* countAny(
  index: LoadedIndex,
  sources: readonly MediaSource[],
): Generator<void, number, void> {
  return (yield* pileOf(index, sources)).count;
}

function* pileOf(index: LoadedIndex, sources: readonly MediaSource[]): Generator<void, Pile, void> {
  const piles: Pile[] = [];
  for (const source of sources) {
    piles.push(source.kind === "search" ? found(index, source) : yield* below(index, source));
    yield;
  }
  return allOf(piles);
}

function allOf(piles: readonly Pile[]): Pile {
  return {
    count: piles.reduce((sum, { count }) => sum + count, 0),
    at(place) {
      let left = place;
      for (const pile of piles) {
        if (left < pile.count) return pile.at(left);
        left -= pile.count;
      }
      return undefined;
    },
  };
}

function found(index: LoadedIndex, { query, systems }: MediaSource & { readonly kind: "search" }): Pile {
  const asked = searchOf(index, query, systems);
  return {
    count: index.search({ ...asked, maxResults: 0 }).total,
    at: (place) => index.search({ ...asked, skip: place, maxResults: 1 }).files[0],
  };
}

function* below(
  index: LoadedIndex,
  { system, folder, root }: MediaSource & { readonly kind: "folder" },
): Generator<void, Pile, void> {
  const id = system === undefined ? undefined : index.systemIds.indexOf(system);
  if (id === -1) return allOf([]);
  const bases = root === undefined ? undefined : basesIn(index, root);
  const isBelow = ({ base, path }: StoredFolder) =>
    (folder === "" || `${readable(path)}/`.startsWith(`${folder}/`)) && bases?.has(readable(base)) !== false;
  const folders: number[] = [];
  for (let first = 0, some = index.someFolders(0, foldersAStep); some.length > 0; ) {
    for (const [at, one] of some.entries()) if (isBelow(one)) folders.push(first + at);
    yield;
    first += some.length;
    some = index.someFolders(first, foldersAStep);
  }
  const files = index.filesIn(id, folders);
  const piles: Pile[] = [];
  for (let first = 0; folders.length > 0 && first < index.count; first += filesAStep) {
    piles.push({
      count: files.count(first, filesAStep),
      at: (place) => files.at(first, filesAStep, place),
    });
    yield;
  }
  return allOf(piles);
}

/** The paths of the systems' folders in a media folder. */
function basesIn(index: LoadedIndex, root: string): ReadonlySet<string> {
  return new Set(index.bases().flatMap((base) => (base.root === root ? readable(base.path) : [])));
}
