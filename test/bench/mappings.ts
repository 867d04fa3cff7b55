/** Mappings: the wait of a tap among 10,000 of them, beside a check of each in turn in the same run. */
import { RE2JS } from "re2js";
import type { MappingMatch, MappingParams, MappingType, TokenParams } from "../../src/core/token.ts";
import { createMappingLookup, type MappingLookup } from "../../src/mappings/mapping-lookup.ts";
import { createRegexes } from "../../src/mappings/regex.ts";
import { line, spread, title } from "./figures.ts";
import { measureWorstMappings } from "./mappings-worst.ts";

const mappingsMade = 10_000;
const lookups = 1000;
const naiveLookups = 100;

export async function measureMappings(): Promise<void> {
  title(`Mappings: ${mappingsMade} of all kinds, ${lookups} tokens, half of which meet one`);
  const mappings = Array.from({ length: mappingsMade }, (_, place) => mappingOf(place));
  const tokens = Array.from({ length: lookups }, (_, place) => tokenOf(place));

  Bun.gc(true);
  const rssBefore = process.memoryUsage.rss();
  const startedMs = performance.now();
  const lookup = createMappingLookup(createRegexes());
  lookup.put(new Map(mappings.map((mapping, place) => [place, mapping])));
  const builtMs = performance.now() - startedMs;
  Bun.gc(true);
  const megabytes = (process.memoryUsage.rss() - rssBefore) / 1e6;
  line("all added at once", `${builtMs.toFixed(0)} ms, ${megabytes.toFixed(0)} MB`);

  const cold = timed(lookup, tokens);
  line("first lookups", spread(cold, "ms"), "1 ms");
  const warm = timed(lookup, tokens);
  line("the same again", spread(warm, "ms"), "1 ms");

  const naive = naiveOf(mappings);
  const scanned = tokens.slice(0, naiveLookups).map((token) => {
    const beganMs = performance.now();
    naive(token);
    return performance.now() - beganMs;
  });
  line("asking each in turn, all compiled before", spread(scanned, "ms"));
  const wrong = tokens
    .slice(0, naiveLookups)
    .filter((token) => naive(token) !== lookup.find(token)?.rank).length;
  line("answers that differ", String(wrong), "0");
  measureLong(lookup);
  measureChange(lookup, mappings);
  await measureWorstMappings();
}

/** A text of the maximum length of a script, which holds no pattern. */
function measureLong(lookup: MappingLookup): void {
  const text = "launch/SNES/Some Game (Europe).sfc || ".repeat(500).slice(0, 16 * 1024);
  const tokens = Array.from({ length: 100 }, () => ({ type: "", uid: "", text, data: "" }));
  timed(lookup, tokens);
  line("a text of 16 KiB", spread(timed(lookup, tokens), "ms"));
}

/** All mappings change at the same moment, and a tap waits until this is done. */
function measureChange(lookup: MappingLookup, mappings: readonly MappingParams[]): void {
  const changes = Array.from({ length: 20 }, () => {
    const beganMs = performance.now();
    lookup.put(new Map(mappings.map((mapping, place) => [place, mapping])));
    return performance.now() - beganMs;
  });
  line("a change of all of them", spread(changes, "ms"), "20 ms");
}

function timed(lookup: MappingLookup, tokens: readonly TokenParams[]): readonly number[] {
  return tokens.map((token) => {
    const beganMs = performance.now();
    lookup.find(token);
    return performance.now() - beganMs;
  });
}

const uidOf = (place: number) => `04${(place * 2_654_435_761).toString(16).padStart(12, "0").slice(-12)}`;
const titles = ["Zelda", "Mario", "Metroid", "Kirby", "Castlevania", "Mega Man", "Final Fantasy", "Tetris"];
const titleOf = (place: number) => `${titles[place % titles.length]} ${place}`;

/** As many partial mappings and regular expressions as are accepted, and the others exact. */
function mappingOf(place: number): MappingParams {
  const [type, match, pattern] = patternOf(place);
  return { enabled: true, label: "", type, match, pattern, override: `**launch:SNES/${titleOf(place)}.sfc` };
}

/** The kind of a mapping. Of a hundred, ten are partial, and one is a regular expression of one of three kinds. */
function kindOf(place: number): number {
  const part = place % 100;
  if (part === 99) return 7 + (Math.floor(place / 100) % 3);
  if (part > 88) return part > 93 ? 6 : 5;
  return part > 50 ? 4 : 0;
}

function patternOf(place: number): readonly [MappingType, MappingMatch, string] {
  switch (kindOf(place)) {
    case 4:
      return ["text", "exact", `SNES/${titleOf(place)}.sfc`];
    case 5:
      return ["text", "partial", `/${titleOf(place)} (`];
    case 6:
      return ["data", "partial", `0103${uidOf(place)}`];
    case 7:
      return ["text", "regex", `^[A-Z]+/${titleOf(place)}\\.(sfc|smc)$`];
    case 8:
      return ["text", "regex", `(?i)\\b${titleOf(place)} .*\\[!\\]`];
    case 9:
      return ["uid", "regex", `^${uidOf(place).slice(0, 10)}[0-9a-f]{4}$`];
    default:
      return ["uid", "exact", uidOf(place)];
  }
}

/** Every other token meets a mapping; the rest look alike and meet none. */
function tokenOf(place: number): TokenParams {
  const near = (place * 7919) % mappingsMade;
  const aim = place % 2 === 0 ? near : near + 10 * mappingsMade;
  const token = { type: "NTAG", uid: "04ffffffffffff", text: "**launch.random:SNES", data: "0103d1" };
  const title = titleOf(aim);
  switch (kindOf(aim)) {
    case 4:
      return { ...token, text: `SNES/${title}.sfc` };
    case 5:
      return { ...token, text: `/media/games/SNES/${title} (Europe).sfc` };
    case 6:
      return { ...token, data: `00000103${uidOf(aim)}fe0000` };
    case 7:
      return { ...token, text: `SNES/${title}.smc` };
    case 8:
      return { ...token, text: `snes/${title.toUpperCase()} (U) [!].sfc` };
    case 9:
      return { ...token, uid: `${uidOf(aim).slice(0, 10)}beef` };
    default:
      return { ...token, uid: uidOf(aim) };
  }
}

function naiveOf(mappings: readonly MappingParams[]): (token: TokenParams) => number | undefined {
  const tests = mappings.map(({ type, match, pattern }) => {
    if (match === "exact") return (token: TokenParams) => token[type] === pattern;
    if (match === "partial") return (token: TokenParams) => token[type].includes(pattern);
    const regex = RE2JS.compile(pattern);
    return (token: TokenParams) => regex.test(token[type]);
  });
  return (token) => {
    const found = tests.findIndex((test) => test(token));
    return found < 0 ? undefined : found;
  };
}
