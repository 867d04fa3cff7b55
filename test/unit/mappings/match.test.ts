/** Matching: every rule by a table, then the matcher beside a model that asks each rule in turn. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { systemClock } from "../../../src/core/clock.ts";
import { regexCharsMax } from "../../../src/core/limits.ts";
import type { MappingMatch, MappingParams, MappingType, TokenParams } from "../../../src/core/token.ts";
import { buildAutomaton } from "../../../src/mappings/automaton.ts";
import {
  buildRuleIndex,
  emptyIndex,
  fieldsOf,
  occursIn,
  type Rule,
  ruleOf,
} from "../../../src/mappings/mapping-index.ts";
import { createMatcher } from "../../../src/mappings/matcher.ts";
import { createRegexes, isFault } from "../../../src/mappings/regex.ts";
import { charactersOf, matchesTable } from "../../../src/mappings/regex-table.ts";

const token = (fields: Partial<TokenParams>): TokenParams => ({
  type: "",
  uid: "",
  text: "",
  data: "",
  ...fields,
});
const mapping = (type: MappingType, match: MappingMatch, pattern: string, override = "x"): MappingParams => ({
  enabled: true,
  label: "",
  type,
  match,
  pattern,
  override,
});

async function matcherOf(mappings: readonly MappingParams[]) {
  const matcher = createMatcher(
    mappings.map((one, place) => ruleOf(one, place)),
    systemClock,
  );
  await matcher.settled();
  return matcher;
}

const uid = "04a1b2c3d4e5f6";
const table: readonly [string, MappingType, MappingMatch, string, Partial<TokenParams>, boolean][] = [
  ["an exact uid", "uid", "exact", uid, { uid }, true],
  ["an exact uid in another spelling of the pattern", "uid", "exact", "04:A1:B2:C3 D4:E5:F6", { uid }, true],
  [
    "an exact uid in another spelling of the token",
    "uid",
    "exact",
    uid,
    { uid: "04 A1 B2 C3 D4 E5 F6" },
    true,
  ],
  ["a part of an exact uid", "uid", "exact", "04a1", { uid }, false],
  ["a partial uid", "uid", "partial", "B2:C3", { uid }, true],
  ["a partial uid that is not there", "uid", "partial", "ff", { uid }, false],
  [
    "a regex on the normalised uid",
    "uid",
    "regex",
    "^04[0-9a-f]{12}$",
    { uid: "04:A1:B2:C3:D4:E5:F6" },
    true,
  ],
  ["a regex with capitals, held against lower case", "uid", "regex", "^04A1", { uid }, false],
  ["an exact text", "text", "exact", "Zelda", { text: "Zelda" }, true],
  ["an exact text in other case", "text", "exact", "zelda", { text: "Zelda" }, false],
  ["an exact text with a space more", "text", "exact", "Zelda", { text: "Zelda " }, false],
  ["a partial text", "text", "partial", "eld", { text: "Zelda" }, true],
  ["a partial text in other case", "text", "partial", "ELD", { text: "Zelda" }, false],
  ["a long partial text", "text", "partial", "a".repeat(100), { text: "a".repeat(101) }, true],
  [
    "one whose beginning alone is there",
    "text",
    "partial",
    `${"a".repeat(100)}b`,
    { text: "a".repeat(101) },
    false,
  ],
  ["a regex on any part", "text", "regex", "l.a", { text: "Zelda" }, true],
  ["a regex with anchors", "text", "regex", "^l.a$", { text: "Zelda" }, false],
  ["a regex blind to case", "text", "regex", "(?i)ZELDA", { text: "Zelda" }, true],
  ["a regex blind to case, and a Kelvin sign", "text", "regex", "(?i)kirby", { text: "\u212airby" }, true],
  ["a regex in another script", "text", "regex", "^ゼルダ.*$", { text: "ゼルダの伝説" }, true],
  ["exact data in capitals", "data", "exact", "01 02 FF", { data: "0102ff" }, true],
  ["partial data", "data", "partial", "02FF", { data: "0102FF00" }, true],
  ["a regex on data", "data", "regex", "ff$", { data: "0102FF" }, true],
  ["another field", "text", "exact", uid, { uid }, false],
  ["an absent field and a regex that matches nothing at all", "uid", "regex", ".*", { text: "Zelda" }, false],
];

test.each(table)("matching: %s", async (_, type, match, pattern, fields, hits) => {
  const matcher = await matcherOf([mapping(type, match, pattern)]);
  expect(matcher.find(token(fields))?.override).toBe(hits ? "x" : undefined);
});

test("the first in order of creation wins, whatever its kind and field", async () => {
  const kinds = [
    mapping("uid", "exact", "04aa", "0"),
    mapping("text", "regex", "^ab+", "1"),
    mapping("data", "partial", "02", "2"),
    mapping("text", "regex", ".", "3"),
    mapping("text", "partial", "b", "4"),
  ];
  const all = token({ uid: "04aa", text: "abb", data: "0102" });
  for (let first = 0; first < kinds.length; first++) {
    const order = [...kinds.slice(first), ...kinds.slice(0, first)];
    expect((await matcherOf(order)).find(all)?.override).toBe(String(first));
  }
});

test("a pattern that the engine cannot take matches nothing and hurts nobody", async () => {
  const matcher = await matcherOf([
    mapping("text", "regex", "a(", "bad"),
    mapping("text", "regex", "a", "good"),
  ]);
  expect(matcher.find(token({ text: "a(" }))?.override).toBe("good");
});

test("a hostile pattern against 16 KiB comes back", async () => {
  const matcher = await matcherOf([
    mapping("text", "regex", "(a+)+$"),
    mapping("text", "regex", "(a|aa)*c$"),
    mapping("text", "regex", "^(a|aa)*a{20}"),
  ]);
  expect(matcher.find(token({ text: `b${"a".repeat(16 * 1024)}b` }))).toBeUndefined();
  expect(matcher.find(token({ text: "a".repeat(16 * 1024) }))?.pattern).toBe("^(a|aa)*a{20}");
});

test("an empty index finds nothing", () => {
  const fields = fieldsOf({ uid: "a", text: "a", data: "a" });
  expect(emptyIndex.find(fields, Number.POSITIVE_INFINITY, () => false)).toBeUndefined();
});

test("the automaton finds the words that occur, each once", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
  fc.assert(
    fc.property(fc.uniqueArray(word, { maxLength: 20 }), fc.array(text, { maxLength: 3 }), (words, texts) => {
      const automaton = built(buildAutomaton(words));
      for (const one of texts) {
        const found: number[] = [];
        automaton.search(one, (number) => found.push(number));
        const occurring = [...words.keys()].filter((number) => one.includes(words[number] ?? ""));
        expect(found.sort((a, b) => a - b)).toEqual(occurring);
      }
    }),
    { numRuns: 1000 },
  );
});

test("an automaton grows with its words", () => {
  const words = Array.from({ length: 3000 }, (_, place) => `${place} is a word of some length`);
  const automaton = built(buildAutomaton(words));
  const found: number[] = [];
  for (const word of words) automaton.search(word, (number) => found.push(number));
  // "23 is ..." ends with "3 is ...": what is looked for besides the word itself are its shorter endings.
  expect(new Set(found).size).toBe(3000);
  expect(found.length).toBe(
    words.reduce((sum, word) => sum + words.filter((one) => word.endsWith(one)).length, 0),
  );
});

// Small alphabets, so that texts and patterns meet.
const unit = fc.constantFrom("a", "b", "A", "k", "\u212a", "é", "\n", "0");
const { pattern: randomPattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 3 },
    fc.array(tie("piece"), { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join("")),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `${a}|${b}`),
  ),
  piece: fc.oneof(
    { maxDepth: 3 },
    unit,
    unit,
    fc.constantFrom(
      ".",
      "\\d",
      "\\w",
      "[ab]",
      "[^a]",
      "^",
      "$",
      "\\b",
      "\\x61",
      "[]a]",
      "\\.",
      "(?i)",
      "(?m)",
      "\\B",
      "{",
      "]",
    ),
    fc
      .tuple(tie("piece"), fc.constantFrom("?", "*", "+", "{2}", "{0,1}", "{1,2}", "*?", "+?"))
      .map(([piece, times]) => `${piece}${times}`),
    fc
      .tuple(fc.constantFrom("(", "(?:", "(?i:", "(?P<n>", "(?-i:"), tie("pattern"))
      .map(([open, a]) => `${open}${a})`),
  ),
}));
const shared = createRegexes();
const judged = { taken: 0, tooLarge: 0 };
const isTaken = (pattern: string) => {
  try {
    RE2JS.compile(pattern);
  } catch {
    return false;
  }
  const taken = !isFault(shared.get(pattern));
  judged[taken ? "taken" : "tooLarge"]++;
  return taken;
};
const regexPattern = randomPattern.filter(isTaken);
const text = fc.string({ unit, maxLength: 12 });

test("a table says of every text what the engine says", () => {
  const outcomes = { hit: 0, miss: 0 };
  fc.assert(
    fc.property(regexPattern, fc.array(text, { minLength: 5, maxLength: 5 }), (pattern, texts) => {
      const table = shared.get(pattern);
      if (isFault(table)) throw new Error(`${pattern} is refused: ${table.sentence}`);
      const engine = RE2JS.compile(pattern);
      for (const one of texts.filter((some) => some !== "")) {
        const isHit = engine.test(one);
        outcomes[isHit ? "hit" : "miss"]++;
        expect([pattern, one, matchesTable(table, charactersOf(one, 100))]).toEqual([pattern, one, isHit]);
      }
    }),
    { numRuns: 5000 },
  );
  expect(Math.min(outcomes.hit, outcomes.miss)).toBeGreaterThan(2000);
  expect(judged.tooLarge).toBeLessThan(judged.taken / 100);
});

const beyondAscii = [
  "\\pL+\\d",
  "(?i)\\p{Greek}",
  "[^\\x{10ffff}]b",
  "(?i)k\\b",
  "(?i)[\\x{10428}]x",
  "\\P{Han}\\x{1f600}",
  "[\ud800\ufffd]",
  ".\\B.",
  "^(?s).$",
  "(?m)^a$",
];
test.each(beyondAscii)("a table knows all characters that the engine does: %s", (pattern) => {
  const table = createRegexes().get(pattern);
  if (isFault(table)) throw new Error(table.sentence);
  const engine = RE2JS.compile(pattern);
  const near = [
    0, 0x0a, 0x7f, 0xff, 0x100, 0x2000, 0x3400, 0xd7ff, 0xe000, 0xfffd, 0x10400, 0x1f600, 0x10ff00,
  ];
  for (const start of near)
    for (let code = Math.max(0, start - 64); code < Math.min(start + 320, 0x110000); code++)
      for (const one of [
        String.fromCodePoint(code),
        `${String.fromCodePoint(code)}b`,
        `k${String.fromCodePoint(code)}x1`,
        `a\n${String.fromCodePoint(code)}\ud83d\ude00`,
      ])
        if (matchesTable(table, charactersOf(one, 100)) !== engine.test(one))
          expect(`${pattern} and U+${code.toString(16)}`).toBe("as the engine says");
});

test("a regular expression reads the beginning of a long field, and its last character there is not the end", async () => {
  const most = regexCharsMax;
  for (const field of ["text", "uid"] as const) {
    const matcher = await matcherOf([
      mapping(field, "regex", "^a+$", "end"),
      mapping(field, "regex", "b", "b"),
    ]);
    expect(matcher.find(token({ [field]: "a".repeat(most) }))?.override).toBe("end");
    expect(matcher.find(token({ [field]: "a".repeat(most + 1) }))).toBeUndefined();
    expect(matcher.find(token({ [field]: `${"a".repeat(most - 1)}b` }))?.override).toBe("b");
    expect(matcher.find(token({ [field]: `${"a".repeat(most)}b` }))).toBeUndefined();
  }
});

test("a word is found where it occurs, whatever repeats in it", () => {
  const some = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 });
  const longer = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 24 });
  fc.assert(
    fc.property(some, longer, (word, one) => {
      expect([word, one, occursIn(word, one)]).toEqual([word, one, one.includes(word)]);
    }),
    { numRuns: 3000 },
  );
});

const hex = fc.string({ unit: fc.constantFrom("0", "a", "A", "f", ":", " "), maxLength: 5 });
const randomMapping: fc.Arbitrary<MappingParams> = fc
  .record({
    type: fc.constantFrom<MappingType>("uid", "text", "data"),
    match: fc.constantFrom<MappingMatch>("exact", "partial", "regex"),
    hex: hex.filter((one) => /[0af]/i.test(one)),
    text: fc.string({ unit, minLength: 1, maxLength: 4 }),
    regex: regexPattern,
  })
  .map(({ type, match, ...one }) =>
    mapping(type, match, match === "regex" ? one.regex : type === "text" ? one.text : one.hex),
  );
const randomToken = fc.record({ uid: hex, text, data: hex }).map((fields) => token(fields));

/** The rules of matching once more, in the simplest form. */
function naive(
  mappings: readonly { params: MappingParams; rank: number }[],
  { uid, text, data }: TokenParams,
) {
  const plain = (value: string) => value.toLowerCase().replaceAll(" ", "").replaceAll(":", "");
  const fields = { uid: plain(uid), text, data: plain(data) };
  const inOrder = mappings.toSorted((a, b) => a.rank - b.rank);
  return inOrder.find(({ params: { type, match, pattern } }) => {
    const field = fields[type];
    if (field === "") return false;
    if (match === "regex") return RE2JS.compile(pattern).test(field);
    const wanted = type === "text" ? pattern : plain(pattern);
    return match === "exact" ? field === wanted : field.includes(wanted);
  })?.rank;
}

const someMappings = fc.array(randomMapping, { maxLength: 12 });
const someTokens = fc.array(randomToken, { minLength: 1, maxLength: 6 });

test("the matcher says what asking each mapping in turn says, before, while and after rules change", async () => {
  const outcomes = { hit: 0, miss: 0 };
  await fc.assert(
    fc.asyncProperty(
      someMappings,
      someMappings,
      fc.nat(12),
      someTokens,
      async (first, later, leaving, tokens) => {
        let ranked = first.map((params, rank) => ({ params, rank, rule: ruleOf(params, rank) }));
        const matcher = createMatcher(
          ranked.map(({ rule }) => rule),
          systemClock,
        );
        await matcher.settled();
        const same = () => {
          for (const one of tokens) {
            const expected = naive(ranked, one);
            outcomes[expected === undefined ? "miss" : "hit"]++;
            expect(matcher.find(one)?.rank).toEqual(expected);
          }
        };
        same();
        // Some are removed, some are moved to the front (an updated mapping keeps its place), some to the end.
        const gone = ranked.slice(0, leaving);
        const fresh = later.map((params, place) => {
          const rank = gone[place]?.rank ?? 100 + place;
          return { params, rank, rule: ruleOf(params, rank) };
        });
        ranked = [...ranked.slice(leaving), ...fresh];
        matcher.change(rulesOf(gone), rulesOf(fresh));
        same();
        matcher.close();
      },
    ),
    { numRuns: 1000 },
  );
  expect(Math.min(outcomes.hit, outcomes.miss)).toBeGreaterThan(500);
});

test("many changes count together once they are indexed, and the old ones until then", async () => {
  const matcher = await matcherOf([mapping("text", "exact", "a", "old")]);
  const many = Array.from({ length: 500 }, (_, place) =>
    ruleOf(mapping("text", "exact", place === 499 ? "a" : `b${place}`, "new"), 1000 + place),
  );
  const old = matcher.find(token({ text: "a" }));
  matcher.change(old === undefined ? [] : [old], many);
  expect(matcher.find(token({ text: "a" }))?.override).toBe("old");
  expect(matcher.find(token({ text: "b1" }))).toBeUndefined();
  // A mapping that is added meanwhile counts at once, and still does afterwards.
  const late = ruleOf(mapping("text", "exact", "c", "late"), 5000);
  matcher.change([], [late]);
  expect(matcher.find(token({ text: "c" }))).toBe(late);
  await matcher.settled();
  expect(matcher.find(token({ text: "a" }))?.override).toBe("new");
  expect(matcher.find(token({ text: "b1" }))?.override).toBe("new");
  expect(matcher.find(token({ text: "c" }))).toBe(late);
});

test("changes one after another, more than are looked through one by one, all count", async () => {
  const matcher = await matcherOf([]);
  const rules = Array.from({ length: 300 }, (_, place) =>
    ruleOf(mapping("text", "exact", `t${place}`), place),
  );
  for (const rule of rules) matcher.change([], [rule]);
  const found = () => rules.filter((rule) => matcher.find(token({ text: rule.pattern })) === rule).length;
  expect(found()).toBe(300);
  await matcher.settled();
  expect(found()).toBe(300);
  for (const rule of rules.slice(0, 200)) matcher.change([rule], []);
  expect(found()).toBe(100);
  await matcher.settled();
  expect(found()).toBe(100);
  matcher.close();
});

function rulesOf(list: readonly { readonly rule: Rule }[]): readonly Rule[] {
  return list.map(({ rule }) => rule);
}

function built<T>(building: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = building.next();
    if (step.done) return step.value;
  }
}

test("of regular expressions, one is compiled in a step of the building", () => {
  const asked: number[] = [];
  const rules = Array.from({ length: 300 }, (_, rank) =>
    ruleOf(mapping("text", "regex", `^word ${rank}$`), rank),
  );
  const regexes = createRegexes();
  const counting = {
    get(pattern: string) {
      asked.push(asked.length);
      return regexes.get(pattern);
    },
  };
  const steps = buildRuleIndex(rules, counting);
  let [before, most] = [0, 0];
  for (let step = steps.next(); !step.done; step = steps.next()) {
    most = Math.max(most, asked.length - before);
    before = asked.length;
  }
  expect([most, asked.length]).toEqual([1, 300]);
});
