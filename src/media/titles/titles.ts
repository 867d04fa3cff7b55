/**
 * Titles: `Super Mario World` on a card is `Super Mario World (USA).sfc` on one device and `Super Mario World (Europe) (Rev
 * 1).zip` on another. Exact titles come before folded ones, and folded ones come before near ones. Files of one title are
 * ordered by the tags on the card, then finished versions, preferred regions and languages, the latest revision, and the
 * name.
 */
import { titleTagsMax } from "../../core/limits.ts";
import type { MediaTag, TitlePreferences } from "../../core/media.ts";
import type { MediaIndexFile } from "../../store/media-index-file.ts";
import type { StoredTitles } from "../../store/media-index-write.ts";
import {
  marksOf,
  mayBeNear,
  plainTitleKey,
  signatureOf,
  slipsBetween,
  slipsMax,
  titleKey,
  titleKeyBytes,
} from "./title-key.ts";

export interface TitleChoice {
  /** The place among the candidates. */
  readonly place: number;
  readonly how: "exact" | "folded" | "close";
  /** The number of other candidates with the same title. */
  readonly rivals: number;
}

/**
 * The best of `names`, which have no extensions, for `wanted`; of equally good names the first. The result is undefined
 * if no title is near.
 */
export function chooseTitle(
  wanted: string,
  names: readonly string[],
  prefer: TitlePreferences,
): TitleChoice | undefined {
  const asked = splitTitle(wanted);
  const key = titleKey(asked.title);
  if (key === "") return undefined;
  const plain = plainTitleKey(asked.title);
  const isSame = (title: string) => {
    const same = titleKey(title);
    const samePlain = plainTitleKey(title);
    return same === key || same === plain || samePlain === plain;
  };
  const titles = names.map((name, place) => ({ ...splitTitle(name), place }));
  const exact = titles.filter(({ title }) => title === asked.title);
  const folded = exact.length > 0 ? [] : titles.filter(({ title }) => isSame(title));
  const fitting = [exact, folded].find((list) => list.length > 0) ?? closest(asked.title, titles);
  const sought = asked.tags.slice(0, titleTagsMax);
  const scored = fitting.map(({ place, tags }) => ({ place, score: scoreOf(tags, sought, prefer) }));
  const best = scored.sort((a, b) => compareScores(a.score, b.score) || a.place - b.place)[0];
  if (best === undefined) return undefined;
  const how = exact.length > 0 ? "exact" : folded.length > 0 ? "folded" : "close";
  return { place: best.place, how, rivals: fitting.length - 1 };
}

/** The nearest titles, without sequels and sister games. */
function closest<T extends Title>(asked: string, titles: readonly T[]): readonly T[] {
  const key = titleKey(asked);
  const marks = marksOf(asked);
  let most = slipsMax(key.length);
  let near: T[] = [];
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

/** The score of a name as a list of numbers, which are compared one by one. Lower is better. */
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
  const missing = missingOf(tags, asked);
  const rough = tags.some((tag) => unfinished.test(tag)) ? 1 : 0;
  return [missing, rough, rank(prefer.regions), rank(prefer.languages), discOf(tags), -revisionOf(tags)];
}

const revisionTag = /^(?:rev\s*([a-z]|\d+)|v(\d+(?:\.\d+)?))$/i;
/** Codes that the known app uses for regions, and that are not the start of the region's name. */
const regionCodes: Readonly<Record<string, string>> = {
  us: "usa",
  eu: "europe",
  jp: "japan",
  kr: "korea",
  cn: "china",
  de: "germany",
  es: "spain",
  tw: "taiwan",
  nl: "netherlands",
  se: "sweden",
  gb: "uk",
  nz: "new zealand",
  hk: "hong kong",
};

/**
 * The number of tags on the card that do not fit those of a name. A tag is `USA`, or `region:us` as the known app writes it.
 * A name must not have a tag after `-`, and needs one of all tags after `~`.
 */
function missingOf(tags: readonly string[], asked: readonly string[]): number {
  const own = tags.map((tag) => tag.toLowerCase());
  const read = asked.map((tag) => {
    const [, sign = "", type = "", value = ""] = /^([+~-]?)(?:(\w+):)?(.*)$/s.exec(tag.toLowerCase()) ?? [];
    const code = type === "" || type === "region" ? regionCodes[value] : undefined;
    const names = [tag.toLowerCase(), value, `${type} ${value}`, code];
    const begins = type === "region" || type === "unfinished" ? value : undefined;
    const fits = own.some((one) => names.includes(one) || (begins && one.startsWith(begins)));
    return { sign, isMet: sign === "-" ? !fits : fits };
  });
  const some = read.filter(({ sign }) => sign === "~");
  const each = read.filter(({ sign }) => sign !== "~");
  const isSomeMet = some.length === 0 || some.some(({ isMet }) => isMet);
  return each.filter(({ isMet }) => !isMet).length + (isSomeMet ? 0 : 1);
}

/** The revision as a number: `Rev 2` and `Rev B` are 2, `v1.1` is 1.1, and 0 means that there is none. */
function revisionOf(tags: readonly string[]): number {
  for (const tag of tags) {
    const [, revision, version] = revisionTag.exec(tag) ?? [];
    if (version !== undefined) return Number(version);
    if (revision !== undefined)
      return /^\d+$/.test(revision) ? Number(revision) : revision.toLowerCase().charCodeAt(0) - 96;
  }
  return 0;
}

const discTag = /^(?:disc|disk|cd|side)\s*(?:(\d+)|[a-d]\b)/i;

/** The number of the disc. The first disc starts the game. */
function discOf(tags: readonly string[]): number {
  for (const tag of tags) {
    const disc = discTag.exec(tag)?.[1];
    if (disc !== undefined) return Number(disc);
  }
  return 0;
}

function compareScores(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, at) => value !== b[at]);
  return place < 0 ? 0 : (a[place] ?? 0) - (b[place] ?? 0);
}

/**
 * A name and its parts: `Super Mario World (USA) (Rev 1) [!]` is the title `Super Mario World` with the tags `USA`,
 * `Rev 1` and `!`.
 */
interface Title {
  readonly title: string;
  /** The tags in order, each once. Lists such as `(En,Fr)` are split. */
  readonly tags: readonly string[];
}

/** Splits a name without its extension. A name that begins with a bracket is all title. */
export function splitTitle(name: string): Title {
  const cut = name.search(/[([]/);
  const title = cut > 0 ? name.slice(0, cut).trim() : "";
  if (title === "") return { title: name.trim(), tags: [] };
  const groups = name.slice(cut).matchAll(/\(([^()]*)\)|\[([^[\]]*)\]/g);
  const tags = [...groups].flatMap((group) => (group[1] ?? group[2] ?? "").split(","));
  return { title, tags: [...new Set(tags.map((tag) => tag.trim()))].filter((tag) => tag !== "") };
}

// A `!` marks a good copy, `a` an alternative one and `f` a fixed one.
const statusTag = /^(?:!|alt|[af]\d*|debug|preview|promo)$/i;
// Tags of regions as No-Intro, TOSEC and GoodTools write them. Capitals distinguish the country `DE` from the language
// `De` or `de`.
const regionTags = new Set(
  "World|USA|Europe|Japan|Asia|Argentina|Australia|Austria|Belgium|Brazil|Canada|China|Denmark|Finland|France|Germany|Greece|Hong Kong|India|Ireland|Israel|Italy|Korea|Latin America|Mexico|Netherlands|New Zealand|Norway|Poland|Portugal|Russia|Scandinavia|South Africa|Spain|Sweden|Switzerland|Taiwan|Turkey|UK|United Kingdom|US|EU|JP|GB|DE|FR|ES|IT|KR|CN|TW|HK|AU|BR|CA|NL|SE|NO|FI|DK|PL|PT|RU|U|E|J|W|UE|JU|JE|JUE".split(
    "|",
  ),
);
const languageTag =
  /^(?:ar|bg|ca|cs|da|de|el|en|es|et|eu|fi|fr|ga|gd|gl|he|hi|hr|hu|id|is|it|ja|ko|lt|lv|nl|no|pl|pt|ro|ru|sk|sl|sr|sv|th|tr|uk|vi|zh)(?:[-+][a-z]{2,4})*$/i;

/** A tag of a name, in the form of the API. */
export function mediaTagOf(tag: string): MediaTag {
  return { type: typeOf(tag), tag: tag.toLowerCase() };
}

function typeOf(tag: string): MediaTag["type"] {
  if (regionTags.has(tag)) return "region";
  if (languageTag.test(tag)) return "lang";
  if (revisionTag.test(tag)) return "rev";
  if (discTag.test(tag)) return "disc";
  return statusTag.test(tag) || unfinished.test(tag) ? "status" : "unknown";
}

type ReadTitles = MediaIndexFile["titles"];
type TitleSteps = Generator<void, readonly number[], void>;

/** The first `most` files, by number, whose title differs only in spelling. Each step reads one piece. */
export function* sameTitles(read: ReadTitles, system: number, wanted: string, most: number): TitleSteps {
  const key = titleKey(wanted);
  const plain = plainTitleKey(wanted);
  const found = new Set<number>();
  // A numeral may be a number, letters, or a part of a word.
  const ways = new Map([
    [`0${key}`, { text: key, isPlain: false }],
    [`0${plain}`, { text: plain, isPlain: false }],
    [`1${plain}`, { text: plain, isPlain: true }],
  ]);
  for (const { text, isPlain } of ways.values()) {
    const sought = titleKeyBytes(text);
    if (sought.length === 0) continue;
    for (const piece of read(system, isPlain, sought.length, sought.length)) {
      for (const file of equalIn(piece, sought)) if (found.size < most) found.add(file);
      yield;
      if (found.size >= most) break;
    }
  }
  return [...found].sort((a, b) => a - b);
}

function* equalIn({ keys, files, length }: StoredTitles, sought: Uint8Array): Generator<number> {
  const text = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) {
    const file = files[at / length];
    // A match across two keys has no file.
    if (file !== undefined) yield file;
  }
}

/** The `most` files with the nearest titles, by distance and then by number. Each step reads one piece. */
export function* nearTitles(read: ReadTitles, system: number, wanted: string, most: number): TitleSteps {
  const text = titleKey(wanted);
  const key = titleKeyBytes(text);
  // A character beyond ASCII has up to three bytes, so one slip may change three; `chooseTitle` compares characters.
  const slips = slipsMax(text.length) * (key.length > text.length ? 3 : 1);
  if (slips === 0) return [];
  const signature = signatureOf(key, 0, key.length);
  const near: { readonly file: number; readonly distance: number }[] = [];
  const sift = () => near.sort((a, b) => a.distance - b.distance || a.file - b.file).splice(most);
  for (const piece of read(system, false, Math.max(1, key.length - slips), key.length + slips)) {
    const { keys, files, signatures, length } = piece;
    for (let at = 0; at < files.length; at++) {
      if (!mayBeNear(signature, signatures[at] ?? 0, slips)) continue;
      const distance = slipsBetween(key, keys.subarray(at * length, (at + 1) * length), slips);
      if (distance <= slips) near.push({ file: files[at] ?? 0, distance });
    }
    if (near.length > most * 4) sift();
    yield;
  }
  sift();
  return near.map(({ file }) => file);
}
