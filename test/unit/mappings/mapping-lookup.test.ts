/** Matching: every rule by a table, and then the lookup beside a model that tests each rule in turn. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { patternFieldCharsMax } from "../../../src/core/limits.ts";
import type { MappingMatch, MappingParams, MappingType, TokenParams } from "../../../src/core/token.ts";
import { createMappingLookup } from "../../../src/mappings/mapping-lookup.ts";
import { createRegexes, isFault } from "../../../src/mappings/regex.ts";

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

/** A lookup among mappings of the database, whose ids begin with 1. */
function lookupOf(mappings: readonly MappingParams[]) {
  const lookup = createMappingLookup(createRegexes());
  lookup.put(new Map(mappings.map((one, place) => [place + 1, one])));
  return lookup;
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

test.each(table)("matching: %s", (_, type, match, pattern, fields, hits) => {
  const lookup = lookupOf([mapping(type, match, pattern)]);
  expect(lookup.find(token(fields))?.override).toBe(hits ? "x" : undefined);
});

test("the first in order of creation wins, whatever its kind and field", () => {
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
    expect(lookupOf(order).find(all)?.override).toBe(String(first));
  }
});

test("a pattern that the engine cannot take matches nothing and hurts nobody", () => {
  const lookup = lookupOf([mapping("text", "regex", "a(", "bad"), mapping("text", "regex", "a", "good")]);
  expect(lookup.find(token({ text: "a(" }))?.override).toBe("good");
});

test("a hostile pattern against 16 KiB comes back", () => {
  const lookup = lookupOf([
    mapping("text", "regex", "(a+)+$"),
    mapping("text", "regex", "(a|aa)*c$"),
    mapping("text", "regex", "^(a|aa)*a{20}"),
  ]);
  expect(lookup.find(token({ text: `b${"a".repeat(16 * 1024)}b` }))).toBeUndefined();
  expect(lookup.find(token({ text: "a".repeat(16 * 1024) }))?.pattern).toBe("^(a|aa)*a{20}");
});

test("an empty lookup finds nothing, and an empty pattern of an earlier version matches nothing", () => {
  expect(lookupOf([]).find(token({ uid: "a", text: "a", data: "a" }))).toBeUndefined();
  expect(lookupOf([mapping("uid", "exact", " : ")]).find(token({ text: "a" }))).toBeUndefined();
});

// The alphabets are small, so texts and patterns match often.
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
const regexPattern = randomPattern.filter((pattern) => !isFault(shared.get(pattern)));
const text = fc.string({ unit, maxLength: 12 });

test("a regular expression reads the beginning of a long field, and its last character there is not the end", () => {
  const most = patternFieldCharsMax;
  for (const field of ["text", "uid"] as const) {
    const lookup = lookupOf([mapping(field, "regex", "^a+$", "end"), mapping(field, "regex", "b", "b")]);
    expect(lookup.find(token({ [field]: "a".repeat(most) }))?.override).toBe("end");
    expect(lookup.find(token({ [field]: "a".repeat(most + 1) }))).toBeUndefined();
    expect(lookup.find(token({ [field]: `${"a".repeat(most - 1)}b` }))?.override).toBe("b");
    expect(lookup.find(token({ [field]: `${"a".repeat(most)}b` }))).toBeUndefined();
  }
});

test("a partial pattern is looked for in the beginning of a long field, and an exact one is compared with all of it", () => {
  const most = patternFieldCharsMax;
  const long = `${"a".repeat(most - 1)}bc`;
  const lookup = lookupOf([
    mapping("text", "partial", "bc", "part"),
    mapping("text", "exact", long, "whole"),
  ]);
  expect(lookup.find(token({ text: long.slice(1) }))?.override).toBe("part");
  expect(lookup.find(token({ text: long }))?.override).toBe("whole");
  expect(lookup.find(token({ text: `${long}c` }))).toBeUndefined();
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

/** A second implementation of the rules of matching, in the simplest form. */
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
const ofFile = (mappings: readonly MappingParams[]) =>
  mappings.map((one, place) => ({ ...one, id: -1 - place, added: "", file: "a.toml" }));

test("the lookup says what asking each mapping in turn says, before and after mappings change", () => {
  const outcomes = { hit: 0, miss: 0 };
  fc.assert(
    fc.property(
      someMappings,
      someMappings,
      someMappings,
      fc.nat(12),
      someTokens,
      (first, later, files, leaving, tokens) => {
        const stored = new Map(first.map((params, place) => [place + 1, params]));
        const lookup = lookupOf(first);
        const same = (inFiles: readonly MappingParams[]) => {
          const model = [
            ...[...stored].map(([rank, params]) => ({ params, rank })),
            ...inFiles.map((params, place) => ({ params, rank: 2 ** 50 + place })),
          ];
          for (const one of tokens) {
            const expected = naive(model, one);
            outcomes[expected === undefined ? "miss" : "hit"]++;
            expect(lookup.find(one)?.rank).toEqual(expected);
            const [tested] = lookup.test(one, undefined).matches;
            expect(tested).toEqual(
              expected !== undefined && expected >= 2 ** 50 ? 2 ** 50 - 1 - expected : expected,
            );
          }
        };
        same([]);
        lookup.putFiles(ofFile(files));
        same(files);
        // Some are deleted, some change and keep their place, and some are added at the end.
        const changes = new Map<number, MappingParams | undefined>();
        for (let place = 0; place < leaving; place++) changes.set(place + 1, later[place]);
        for (const [place, params] of later.slice(leaving).entries()) changes.set(100 + place, params);
        for (const [id, params] of changes)
          if (params === undefined) stored.delete(id);
          else stored.set(id, params);
        lookup.put(changes);
        same(files);
        lookup.putFiles(ofFile(later));
        same(later);
      },
    ),
    { numRuns: 1000 },
  );
  expect(Math.min(outcomes.hit, outcomes.miss)).toBeGreaterThan(500);
});

test("thousands of changes count at once", () => {
  const lookup = lookupOf([mapping("text", "exact", "a", "old")]);
  const many = Array.from({ length: 5000 }, (_, place) => mapping("text", "exact", `t${place % 2500}`));
  lookup.put(new Map(many.map((one, place) => [place + 2, one])));
  const found = () => many.filter((one) => lookup.find(token({ text: one.pattern })) !== undefined).length;
  expect(found()).toBe(5000);
  // If two mappings are for one text, the second one is used after the first one is deleted.
  lookup.put(new Map(many.slice(0, 2500).map((_, place) => [place + 2, undefined])));
  expect([found(), lookup.find(token({ text: "t0" }))?.rank]).toEqual([5000, 2502]);
  lookup.put(new Map(many.slice(0, 2000).map((_, place) => [place + 2502, undefined])));
  expect(found()).toBe(1000);
  expect(lookup.find(token({ text: "a" }))?.override).toBe("old");
});
