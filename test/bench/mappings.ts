/** Mappings: the wait of a tap among 10,000 of them, beside a check of each in turn in the same run. */
import { RE2JS } from "re2js";
import { systemClock } from "../../src/core/clock.ts";
import type { MappingMatch, MappingParams, MappingType, TokenParams } from "../../src/core/token.ts";
import { ruleOf } from "../../src/mappings/mapping-index.ts";
import { createMatcher, type Matcher } from "../../src/mappings/matcher.ts";
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
  const matcher = createMatcher(
    mappings.map((mapping, place) => ruleOf(mapping, place)),
    systemClock,
  );
  await matcher.settled();
  const builtMs = performance.now() - startedMs;
  Bun.gc(true);
  const megabytes = (process.memoryUsage.rss() - rssBefore) / 1e6;
  line(
    "index built, in slices between which taps pass",
    `${builtMs.toFixed(0)} ms, ${megabytes.toFixed(0)} MB`,
  );

  const cold = timed(matcher, tokens);
  line("first lookups, regular expressions not yet compiled", spread(cold, "ms"), "1 ms");
  const warm = timed(matcher, tokens);
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
    .filter((token) => naive(token) !== matcher.find(token)?.rank).length;
  line("answers that differ", String(wrong), "0");
  await measureLong(matcher);
  await measureRebuild(mappings, tokens);
  matcher.close();
  await measureWorstMappings();
}

/** A text of the maximum length of a script, which holds no pattern. */
async function measureLong(matcher: Matcher): Promise<void> {
  const text = "launch/SNES/Some Game (Europe).sfc || ".repeat(500).slice(0, 16 * 1024);
  const tokens = Array.from({ length: 100 }, () => ({ type: "", uid: "", text, data: "" }));
  timed(matcher, tokens);
  line("a text of 16 KiB", spread(timed(matcher, tokens), "ms"));
}

/** Lookups while a new index of all is built. */
async function measureRebuild(
  mappings: readonly MappingParams[],
  tokens: readonly TokenParams[],
): Promise<void> {
  const rules = mappings.map((mapping, place) => ruleOf(mapping, place));
  const matcher = createMatcher(rules, systemClock);
  await matcher.settled();
  timed(matcher, tokens);
  const fresh = mappings.slice(0, 1000).map((mapping, place) => ruleOf(mapping, mappingsMade + place));
  matcher.change(rules.slice(0, 1000), fresh);
  const done = { isBuilt: false };
  const building = matcher.settled().then(() => {
    done.isBuilt = true;
  });
  const waits: number[] = [];
  for (let place = 0; !done.isBuilt; place++) {
    // Like a reader's event: the lookup is due now, and waits for the running work.
    const dueMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    const token = tokens[place % tokens.length];
    if (token !== undefined) matcher.find(token);
    waits.push(performance.now() - dueMs);
  }
  await building;
  const worst = `the longest ${Math.max(...waits).toFixed(2)} ms`;
  line("a tap's wait while the index is built anew", `${spread(waits, "ms")}, ${worst}`);
  matcher.close();
}

function timed(matcher: Matcher, tokens: readonly TokenParams[]): readonly number[] {
  return tokens.map((token) => {
    const beganMs = performance.now();
    matcher.find(token);
    return performance.now() - beganMs;
  });
}

const uidOf = (place: number) => `04${(place * 2_654_435_761).toString(16).padStart(12, "0").slice(-12)}`;
const titles = ["Zelda", "Mario", "Metroid", "Kirby", "Castlevania", "Mega Man", "Final Fantasy", "Tetris"];
const titleOf = (place: number) => `${titles[place % titles.length]} ${place}`;

/** Four in ten by uid, and the rest by parts and by as many expressions as are accepted together. */
function mappingOf(place: number): MappingParams {
  const [type, match, pattern] = kindOf(place);
  return { enabled: true, label: "", type, match, pattern, override: `**launch:SNES/${titleOf(place)}.sfc` };
}

function kindOf(place: number): readonly [MappingType, MappingMatch, string] {
  const kind = place % 10;
  switch ((kind === 7 || kind === 8) && place % 200 > 10 ? 5 : kind) {
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
  const kind = aim % 10;
  switch ((kind === 7 || kind === 8) && aim % 200 > 10 ? 5 : kind) {
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
