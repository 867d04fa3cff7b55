/** Matching: every rule by a table, then the matcher beside a model that asks each rule in turn. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { systemClock } from "../../src/core/clock.ts";
import type { MappingMatch, MappingParams, MappingType } from "../../src/core/mapping.ts";
import type { TokenParams } from "../../src/core/token.ts";
import { buildAutomaton, foldText } from "../../src/launch/mappings/automaton.ts";
import { buildIndex, emptyIndex } from "../../src/launch/mappings/index.ts";
import { requiredWords } from "../../src/launch/mappings/literals.ts";
import { isLoose } from "../../src/launch/mappings/loose.ts";
import { createMatcher } from "../../src/launch/mappings/matcher.ts";
import { createRegexes } from "../../src/launch/mappings/regex.ts";
import { type Rule, ruleOf } from "../../src/launch/mappings/rules.ts";

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
  [
    "a partial text longer than the automaton's words",
    "text",
    "partial",
    "a".repeat(100),
    { text: "a".repeat(101) },
    true,
  ],
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
  ]);
  expect(matcher.find(token({ text: `${"a".repeat(16 * 1024)}b` }))).toBeUndefined();
  expect(matcher.find(token({ text: "a".repeat(16 * 1024) }))?.pattern).toBe("(a+)+$");
});

test("an expression let go for another is compiled anew", () => {
  const regexes = createRegexes(2);
  for (const pattern of ["a", "b", "c", "a", "(", "c", "b"]) regexes.test(pattern, "abc");
  expect(["a", "b", "c", "d", "("].map((pattern) => regexes.test(pattern, "abc"))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

test("an empty index finds nothing", () => {
  const fields = { uid: "a", text: "a", data: "a" };
  expect(emptyIndex.find(fields, Number.POSITIVE_INFINITY, () => false)).toBeUndefined();
});

test("the automaton finds the words that occur, each once", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
  fc.assert(
    fc.property(fc.uniqueArray(word, { maxLength: 20 }), fc.array(text, { maxLength: 3 }), (words, texts) => {
      const automaton = built(buildAutomaton(words, { folded: false }));
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
  const automaton = built(buildAutomaton(words, { folded: false }));
  const found: number[] = [];
  for (const word of words) automaton.search(word, (number) => found.push(number));
  // "23 is ..." ends with "3 is ...": what is looked for besides the word itself are its shorter endings.
  expect(new Set(found).size).toBe(3000);
  expect(found.length).toBe(
    words.reduce((sum, word) => sum + words.filter((one) => word.endsWith(one)).length, 0),
  );
});

test("folding joins the letters that a case-blind ASCII letter matches, and no others", () => {
  for (const letter of "abcdefghijklmnopqrstuvwxyz") {
    const regex = RE2JS.compile(`(?i)^${letter}$`);
    for (let unit = 0; unit < 0xd800; unit++) {
      const char = String.fromCharCode(unit);
      if (regex.test(char) !== (foldText(char) === letter)) expect(`${letter} and ${unit}`).toBe("alike");
    }
  }
});

const words: readonly [string, readonly (readonly string[])[]][] = [
  ["zelda", [["zelda"]]],
  ["(?i)Zelda", [["zelda"]]],
  ["^/games/.*\\.sfc$", [["/games/"], [".sfc"]]],
  ["zelda|mario", [["zelda", "mario"]]],
  ["(zelda|mario)[0-9]", [["zelda", "mario"]]],
  ["zelda|.*", []],
  ["colou?r", [["colo"], ["r"]]],
  ["ab+cd", [["ab"], ["bcd"]]],
  ["(abc)?x", [["x"]]],
  ["(abc){0,2}", []],
  ["x{3}", [["x"], ["x"]]],
  ["[abc]+", []],
  ["[]a]b", [["b"]]],
  ["[[:alpha:]]x", [["x"]]],
  ["\\d+\\.\\w", [["."]]],
  ["\\x41bc", [["bc"]]],
  ["\\x{10FFFF}bc", [["bc"]]],
  ["\\p{Greek}a\\pLb", [["a"], ["b"]]],
  ["(?P<name>abc)", [["abc"]]],
  ["(?s:a.c)d(?i)e", [["a"], ["c"], ["d"], ["e"]]],
  ["ab(?i)*", []],
  ["\\Qa.b\\E", []],
  ["x{01}y", []],
  ["a{,5}", [["a{,5}"]]],
  ["(?i)ゼルダ", []],
  ["a|", []],
  ["(ab|cde)(f)", [["ab", "cde"], ["f"]]],
  ["a.bb.c|dd", [["bb", "dd"]]],
];

test.each(words)("the words that a text must hold to match %s", (pattern, expected) => {
  expect(requiredWords(pattern)).toEqual(expected);
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
const isValid = (pattern: string) => {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
};
const regexPattern = randomPattern.filter(isValid);
const text = fc.string({ unit, maxLength: 12 });

test("a text that an expression matches holds a word of each of its choices", () => {
  fc.assert(
    fc.property(regexPattern, fc.array(text, { minLength: 5, maxLength: 5 }), (pattern, texts) => {
      const required = requiredWords(pattern);
      const regex = RE2JS.compile(pattern);
      for (const one of texts.filter((candidate) => regex.test(candidate)))
        if (!required.every((choice) => choice.some((word) => foldText(one).includes(word))))
          expect([pattern, one, required]).toEqual(["has a word", "", []]);
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

/** The contract, told once more and as plainly as can be. */
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
        // Some leave, some come before the others (as an updated mapping keeps its place), some behind.
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
  // One more in the meantime counts at once, and still does afterwards.
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

test("of regular expressions, one is read in a step of the building, and none is read twice to tell whether it is loose", () => {
  const read: number[] = [];
  const rules = Array.from({ length: 300 }, (_, rank) => {
    const rule = { rank, type: "text" as const, match: "regex" as const, override: "o" };
    return Object.defineProperty({ ...rule, pattern: "" }, "pattern", {
      get() {
        read.push(rank);
        return rank % 2 === 0 ? `^word ${rank}$` : ".*";
      },
    });
  });
  const steps = buildIndex(rules, createRegexes());
  let [before, most] = [0, 0];
  for (let step = steps.next(); !step.done; step = steps.next()) {
    most = Math.max(most, new Set(read.slice(before)).size);
    before = read.length;
  }
  expect(most).toBe(1);
  expect(rules.filter(isLoose)).toHaveLength(150);
  expect(read).toHaveLength(before);
});
