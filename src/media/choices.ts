/**
 * A random choice out of the index, with even odds for each file of what is named. Nothing is listed: what there is is counted,
 * and only what was drawn is looked up. Takes steps, so that whoever asks can do something else in between.
 */
import type { StoredName } from "../store/media-index-file.ts";
import { foldedWords } from "./index/fold.ts";
import type { MediaIndex } from "./index/index-file.ts";
import { readable } from "./names.ts";

export type MediaSource =
  /** What a search finds; ids of systems, none for all. */
  | { readonly kind: "search"; readonly query: string; readonly systems: readonly string[] }
  /** What lies in a folder of a system, spelt exactly, and below it. */
  | { readonly kind: "folder"; readonly system: string; readonly folder: string };

/** Files that are chosen from, by their places. */
interface Pile {
  readonly count: number;
  /** Number of the file. */
  at(place: number): number | undefined;
}

// A step takes about a millisecond.
const foldersAStep = 1000;
const filesAStep = 10_000;

/**
 * Number of the file; undefined where there is none. Files that are in two of the sources count twice: whoever names them so
 * wants them more often. `random` gives a number from 0 up to 1, without 1.
 */
export function* chooseAny(
  index: MediaIndex,
  sources: readonly MediaSource[],
  random: () => number,
): Generator<void, number | undefined, void> {
  const all = yield* pileOf(index, sources);
  return all.at(Math.floor(random() * all.count));
}

/** How many files `chooseAny` chooses from. */
export function* countAny(index: MediaIndex, sources: readonly MediaSource[]): Generator<void, number, void> {
  return (yield* pileOf(index, sources)).count;
}

function* pileOf(index: MediaIndex, sources: readonly MediaSource[]): Generator<void, Pile, void> {
  const piles: Pile[] = [];
  for (const source of sources) {
    piles.push(source.kind === "search" ? found(index, source) : yield* below(index, source));
    yield;
  }
  return allOf(piles);
}

/** Piles one behind the other. */
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

function found(index: MediaIndex, { query, systems }: MediaSource & { readonly kind: "search" }): Pile {
  const places = systems.map((id) => index.systemIds.indexOf(id)).filter((place) => place >= 0);
  const asked = { words: foldedWords(query), systems: systems.length === 0 ? undefined : places };
  return {
    count: index.search({ ...asked, maxResults: 0 }).total,
    at: (place) => index.search({ ...asked, skip: place, maxResults: 1 }).files[0],
  };
}

function* below(
  index: MediaIndex,
  { system, folder }: MediaSource & { readonly kind: "folder" },
): Generator<void, Pile, void> {
  const isBelow = (name: StoredName) => `${readable(name)}/`.startsWith(`${folder}/`);
  const folders: number[] = [];
  for (let first = 0, names = index.folders(0, foldersAStep); names.length > 0; ) {
    for (const [at, name] of names.entries()) if (isBelow(name)) folders.push(first + at);
    yield;
    first += names.length;
    names = index.folders(first, foldersAStep);
  }
  const files = index.filesIn(index.systemIds.indexOf(system), folders);
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
