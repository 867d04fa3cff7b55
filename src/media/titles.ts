/**
 * Which file is meant by a title: `Super Mario World` on a card is `Super Mario World (USA).sfc` on one box and
 * `Super Mario World (Europe) (Rev 1).zip` on another. Exact titles come before folded ones, and these before close ones;
 * among files of one title, the asked tags decide, then finished versions, the preferred regions and languages, the
 * latest revision, and at last the name: the same every time.
 */
import type { TitlePreferences } from "../core/media.ts";
import { fold } from "./fold.ts";
import { titleOf } from "./tags.ts";

export interface Choice {
  /** Place among the candidates. */
  readonly place: number;
  readonly how: "exact" | "folded" | "close";
  /** How many candidates fitted as well by their title. */
  readonly rivals: number;
}

/** The one of `names`, without extensions and in their order, that `wanted` means; undefined where none is near. */
export function chooseTitle(
  wanted: string,
  names: readonly string[],
  prefer: TitlePreferences,
): Choice | undefined {
  const asked = titleOf(wanted);
  const key = titleKey(asked.title);
  if (key === "") return undefined;
  const titles = names.map((name, place) => ({ ...titleOf(name), place }));
  const exact = titles.filter(({ title }) => title === asked.title);
  const folded = exact.length > 0 ? [] : titles.filter(({ title }) => titleKey(title) === key);
  const fitting = [exact, folded].find((list) => list.length > 0) ?? closest(key, titles);
  const scored = fitting.map(({ place, tags }) => ({ place, score: scoreOf(tags, asked.tags, prefer) }));
  const best = scored.sort((a, b) => compareScores(a.score, b.score) || a.place - b.place)[0];
  if (best === undefined) return undefined;
  const how = exact.length > 0 ? "exact" : folded.length > 0 ? "folded" : "close";
  return { place: best.place, how, rivals: fitting.length - 1 };
}

/** What two spellings of a title have in common: no accents, capitals, punctuation or article; `&` is `and`. */
export function titleKey(title: string): string {
  const plain = fold(title).replaceAll("&", " and ");
  const turned = plain.replace(/^(.+), (the|a|an)\b(.*)$/, "$2 $1$3");
  return turned
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .replace(/^(the|a|an) (?=.)/, "")
    .replaceAll(" ", "");
}

interface Candidate {
  readonly title: string;
  readonly tags: readonly string[];
  readonly place: number;
}

/** Slips of the fingers: at most one in five characters is wrong, missing or too much. */
function closest(key: string, titles: readonly Candidate[]): readonly Candidate[] {
  let most = Math.floor(key.length / 5);
  let near: Candidate[] = [];
  for (const candidate of titles) {
    const distance = editDistance(key, titleKey(candidate.title), most);
    if (distance > most) continue;
    if (distance < most || near.length === 0) near = [];
    most = distance;
    near.push(candidate);
  }
  return near;
}

/** Insertions, deletions and changes of one character (Levenshtein); `most + 1` where there are more than `most`. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1];
    let least = i + 1;
    for (let j = 0; j < b.length; j++) {
      const change = (before[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const cell = Math.min(change, (before[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1);
      least = Math.min(least, cell);
      row.push(cell);
    }
    if (least > most) return most + 1;
    before = row;
  }
  return Math.min(before[b.length] ?? 0, most + 1);
}

const unfinished =
  /^(beta|proto|prototype|demo|sample|kiosk|hack|pirate|unl|aftermarket|bios|b\d*|o\d*|h\d*|p\d*|t\d*)\b/i;

/** Lower is better, number by number. */
function scoreOf(
  tags: readonly string[],
  asked: readonly string[],
  prefer: TitlePreferences,
): readonly number[] {
  const has = (tag: string) => tags.some((one) => one.toLowerCase() === tag.toLowerCase());
  const rank = (list: readonly string[]) => {
    const place = list.findIndex(has);
    return place < 0 ? list.length : place;
  };
  const missing = asked.filter((tag) => !has(tag)).length;
  const rough = tags.some((tag) => unfinished.test(tag)) ? 1 : 0;
  return [missing, rough, rank(prefer.regions), rank(prefer.languages), discOf(tags), -revisionOf(tags)];
}

/** `Rev 2` and `Rev B` are 2, `v1.1` is 1.1; 0 where there is none. */
function revisionOf(tags: readonly string[]): number {
  for (const tag of tags) {
    const [, revision, version] = /^(?:rev\s*([a-z\d]+)|v(\d+(?:\.\d+)?))$/i.exec(tag) ?? [];
    if (version !== undefined) return Number(version);
    if (revision !== undefined)
      return /^\d+$/.test(revision) ? Number(revision) : revision.toLowerCase().charCodeAt(0) - 96;
  }
  return 0;
}

/** The first disc starts the game. */
function discOf(tags: readonly string[]): number {
  for (const tag of tags) {
    const disc = /^(?:disc|disk|cd|side)\s*(\d+)/i.exec(tag)?.[1];
    if (disc !== undefined) return Number(disc);
  }
  return 0;
}

function compareScores(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, at) => value !== b[at]);
  return place < 0 ? 0 : (a[place] ?? 0) - (b[place] ?? 0);
}
