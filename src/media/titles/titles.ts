/**
 * Which file is meant by a title: `Super Mario World` on a card is `Super Mario World (USA).sfc` on one box and
 * `Super Mario World (Europe) (Rev 1).zip` on another. Exact titles come before folded ones, and these before close ones;
 * among files of one title, the asked tags decide, then finished versions, the preferred regions and languages, the
 * latest revision, and at last the name: the same every time.
 */
import type { TitlePreferences } from "../../core/media.ts";
import { marksOf, plainTitleKey, titleKey } from "./title-key.ts";
import { slipsBetween, slipsMax } from "./title-slips.ts";
import { titleOf } from "./title-tags.ts";

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
  const plain = plainTitleKey(asked.title);
  const isSame = (title: string) => {
    const [same, samePlain] = [titleKey(title), plainTitleKey(title)];
    return same === key || same === plain || samePlain === plain;
  };
  const titles = names.map((name, place) => ({ ...titleOf(name), place }));
  const exact = titles.filter(({ title }) => title === asked.title);
  const folded = exact.length > 0 ? [] : titles.filter(({ title }) => isSame(title));
  const fitting = [exact, folded].find((list) => list.length > 0) ?? closest(asked.title, titles);
  const scored = fitting.map(({ place, tags }) => ({ place, score: scoreOf(tags, asked.tags, prefer) }));
  const best = scored.sort((a, b) => compareScores(a.score, b.score) || a.place - b.place)[0];
  if (best === undefined) return undefined;
  const how = exact.length > 0 ? "exact" : folded.length > 0 ? "folded" : "close";
  return { place: best.place, how, rivals: fitting.length - 1 };
}

interface Candidate {
  readonly title: string;
  readonly tags: readonly string[];
  readonly place: number;
}

/** The nearest of those that are near and are no sequels or sister games. */
function closest(asked: string, titles: readonly Candidate[]): readonly Candidate[] {
  const [key, marks] = [titleKey(asked), marksOf(asked)];
  let most = slipsMax(key.length);
  let near: Candidate[] = [];
  for (const candidate of titles) {
    const distance = slipsBetween(key, titleKey(candidate.title), most);
    if (distance > most || marksOf(candidate.title) !== marks) continue;
    if (distance < most || near.length === 0) near = [];
    most = distance;
    near.push(candidate);
  }
  return near;
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
