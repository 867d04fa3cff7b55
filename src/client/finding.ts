/**
 * Finds media for words that people type, and for a path that no file has. `media.search` wants every word in the file
 * name. Here a word may also name a system, and one word may have one slip: one letter is wrong, missing or added, or two
 * letters are exchanged.
 */
import { nearest } from "../core/text.ts";
import type { Calls, Client } from "./client.ts";

export type Found = Calls["media.search"]["result"]["results"][number];
type KnownSystem = Calls["systems"]["result"]["systems"][number];

interface Findings {
  readonly results: readonly Found[];
  readonly total: number;
  /** The words of the search that was made instead, if no file had the typed words. */
  readonly instead?: string;
}

/** The words for the names, and ids of systems; none means all. */
interface Reading {
  readonly words: readonly string[];
  readonly systems: readonly string[];
}

export const foundMax = 1000; // The most results that `media.search` allows.
/** At most this many words of a query are tried with another letter, because each costs up to three searches. */
const slipWordsMax = 4;
/** No system's name has more words. */
const nameWordsMax = 8;
const slipLettersMin = 4;
const slipResultsMax = 120; // With six-fold throttling, 250 results block Chromium for 160 ms.

export async function findMedia(
  client: Pick<Client, "call">,
  query: string,
  systems: readonly KnownSystem[],
  maxResults: number,
): Promise<Findings> {
  const words = wordsOf(query);
  const readings: Reading[] = [{ words: [query], systems: [] }];
  const named = systemsIn(words, systems);
  if (named !== undefined) readings.push(named);
  const found = await searchAll(client, readings, maxResults);
  if (found.total > 0) return found;
  const slipped = named ?? { words, systems: [] };
  const corrected = await correct(client, slipped);
  if (corrected === undefined) return found;
  const instead = await searchAll(client, [{ ...slipped, words: corrected }], maxResults);
  return instead.total > 0 ? { ...instead, instead: corrected.join(" ") } : found;
}

/** The results of the first reading, and after them the further results of the other readings. */
async function searchAll(
  client: Pick<Client, "call">,
  readings: readonly Reading[],
  maxResults: number,
): Promise<Findings> {
  const most = Math.min(maxResults, foundMax);
  const answers = await Promise.all(readings.map((reading) => search(client, reading, most)));
  const byPath = new Map(answers.flatMap(({ results }) => results).map((one) => [one.path, one]));
  const twice = answers.reduce((sum, { results }) => sum + results.length, 0) - byPath.size;
  const total = answers.reduce((sum, answer) => sum + answer.total, 0) - twice;
  return { results: [...byPath.values()].slice(0, most), total };
}

function search(client: Pick<Client, "call">, { words, systems }: Reading, maxResults: number) {
  return client.call("media.search", { query: words.join(" "), systems: [...systems], maxResults });
}

/** Without capitals, accents and punctuation. */
function wordsOf(text: string): readonly string[] {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

/**
 * The reading in which the longest possible run of words names systems: an id, a whole name, or two words or more at the
 * start of a name.
 */
function systemsIn(words: readonly string[], systems: readonly KnownSystem[]): Reading | undefined {
  const known = systems.map(({ id, name }) => ({
    id,
    names: [id, name].map((one) => wordsOf(one).join(" ")),
  }));
  for (let length = Math.min(words.length, nameWordsMax); length > 0; length--) {
    for (let from = 0; from + length <= words.length; from++) {
      const run = words.slice(from, from + length).join(" ");
      const isNamed = (names: readonly string[]) =>
        names.some((name) => name === run || (length > 1 && name.startsWith(`${run} `)));
      const ids = known.filter(({ names }) => isNamed(names)).map(({ id }) => id);
      const rest = [...words.slice(0, from), ...words.slice(from + length)];
      if (ids.length > 0) return { words: rest, systems: ids };
    }
  }
  return undefined;
}

/** The words, one of them corrected to a word of a file name; undefined if no word is near. */
async function correct(
  client: Pick<Client, "call">,
  { words, systems }: Reading,
): Promise<readonly string[] | undefined> {
  const long = [...words.entries()].filter(([, word]) => word.length >= slipLettersMin);
  for (const [place, word] of long.slice(0, slipWordsMax)) {
    // A slip leaves one half of the word unchanged, or the end if the letters in the middle are exchanged.
    const middle = Math.floor(word.length / 2);
    const parts = [word.slice(0, middle), word.slice(middle), word.slice(middle + 1)];
    for (const half of parts.filter(({ length }) => length > 1)) {
      const { results } = await search(client, { words: words.with(place, half), systems }, slipResultsMax);
      const near = results.flatMap(({ name }) => wordsOf(name)).find((other) => isOneSlip(word, other));
      if (near !== undefined) return words.with(place, near);
    }
  }
  return undefined;
}

export function isOneSlip(a: string, b: string): boolean {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const restA = a.slice(at);
  const restB = b.slice(at);
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (restA.slice(2) === restB.slice(2) && restA[0] === restB[1] && restA[1] === restB[0])
  );
}

// The first letters of a word are rarely wrong.
const stemChars = 3;

interface Meant {
  readonly name: string;
  readonly zapScript: string;
}

/** The media that a card's text may mean, if its path is `<System>/<path>` and no file has it. */
export async function meantMedia(client: Pick<Client, "call">, text: string): Promise<Meant | undefined> {
  const [, system, name] = /^([^/*@|]+)\/(?:.*\/)?([^/|]+?)(?:\.\w{1,8})?$/.exec(text) ?? [];
  if (system === undefined || name === undefined) return undefined;
  // An unknown system has no near title.
  const { match } = await client.call("media.lookup", { system, name }).catch(() => ({ match: null }));
  const meant = match ?? (await nearName(client, system, name));
  return meant?.zapScript === text ? undefined : meant;
}

async function nearName(
  client: Pick<Client, "call">,
  system: string,
  name: string,
): Promise<Meant | undefined> {
  const query = name.slice(0, stemChars);
  const { results } = await client
    .call("media.search", { query, systems: [system] })
    .catch(() => ({ results: [] }));
  const best = nearest(
    name,
    results.map((media) => media.name),
  );
  return results.find((media) => media.name === best);
}
