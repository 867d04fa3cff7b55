import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { NameColumn } from "../../../../src/media/index/columns.ts";
import { buildDictionary } from "../../../../src/media/index/dictionary.ts";
import { addFolded, endsWord, fold, foldedName, foldedWords } from "../../../../src/media/index/fold.ts";
import { countOf, ListWriter, orList, packMap } from "../../../../src/media/index/lists.ts";
import { addNaturalKey, naturalKey } from "../../../../src/media/index/natural-order.ts";
import { createSearch, type IndexQuery, type SearchSource } from "../../../../src/media/index/search.ts";
import { seededRandom } from "../../../emulators/emulated-line.ts";

/** An index in memory over these names, sorted as the index sorts them. */
function sourceOf(names: readonly string[], systems: readonly number[] = names.map(() => 0)): SearchSource {
  const column = new NameColumn();
  const folded = new NameColumn();
  for (const name of names) addFolded(folded, column, column.add(name));
  const keys = new NameColumn();
  for (const place of names.keys()) addNaturalKey(keys, folded, place);
  const order = Uint32Array.from(names.keys()).sort(
    (a, b) => keys.compare(a, b) || folded.compare(a, b) || a - b,
  );
  const systemOf = Uint16Array.from(order, (place) => systems[place] ?? 0);
  const dictionary = buildDictionary(folded, undefined, order, systemOf, Math.max(0, ...systems) + 1);
  const shortcuts = new Map([...dictionary.shortcuts].map((one) => [one.key, one]));
  return {
    ...dictionary,
    count: names.length,
    name: (file) => folded.text(order[file] ?? 0),
    shortcut: (key) => shortcuts.get(key),
  };
}

const search = (source: SearchSource, asked: IndexQuery) => createSearch(source)(asked);

/** The expected result of a search, by a slow method: over folded names in their order. */
function naive(source: SearchSource, words: readonly string[], isIn: (file: number) => boolean) {
  const phrase = words.join(" ");
  // A phrase that ends with a number matches only a whole number, and leading zeros do not count.
  const spread = (text: string) => text.replace(/\d+/g, (digits) => `${digits.replace(/^0+(?=\d)/, "")};`);
  const rank = (name: string) => {
    if (spread(name).startsWith(spread(phrase))) return 0;
    return words.every((word) => startsWord(name, word)) ? 1 : 2;
  };
  const found = Array.from({ length: source.count }, (_, file) => ({ file, name: source.name(file) }))
    .filter(({ file, name }) => isIn(file) && words.every((word) => name.includes(word)))
    .map(({ file, name }) => ({ file, rank: rank(name) }));
  return found.sort((a, b) => a.rank - b.rank || a.file - b.file).map(({ file }) => file);
}

function startsWord(name: string, word: string): boolean {
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    const before = Buffer.from(name.slice(0, at)).at(-1);
    if (before === undefined || endsWord(before)) return true;
  }
  return false;
}

const pieces = fc.constantFrom(
  ..."mario super MARIO the of a é É ñ ß ﬁ ½ Ⅳ ドラ ゴン 가나 Ёж ø İ ı ς Σ 2 ii (usa) [!] - _ . ' & 😀 ａ".split(
    " ",
  ),
  " ",
  "  ",
);
const anyName = fc
  .oneof(
    fc.array(pieces, { minLength: 1, maxLength: 8 }).map((list) => list.join("")),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  )
  .map((name) => name.toWellFormed().replace(/[/\0]/g, "_"));
const anyQuery = fc.oneof(
  fc.array(pieces, { maxLength: 4 }).map((list) => list.join(" ")),
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.constantFrom("a", "e", "ar", "su", "(", "of the", "MARIO super"),
);

describe("folding", () => {
  test.each([
    ["Pokémon", "pokemon"],
    ["POKÉMON", "pokemon"],
    ["Straße", "strasse"],
    ["ﬁnal Ⅳ ½", "final iv 1⁄2"],
    ["Ёлка", "елка"],
    ["ΟΔΟΣ οδός", "οδοσ οδοσ"],
    ["İstanbul ısı", "istanbul isi"],
    ["Ærø Łódź", "aero lodz"],
    ["ＡＢＣ　１２", "abc 12"],
    ["  two \t words\u00a0here ", "two words here"],
  ])("%s is %s", (text, folded) => expect(fold(text)).toBe(folded));

  test("a folded name stays as it is, and any part of a name folds to a part of it", () => {
    fc.assert(
      fc.property(anyName, fc.nat(), fc.nat(), (name, a, b) => {
        expect(fold(fold(name))).toBe(fold(name));
        const chars = [...name];
        const part = chars.slice(a % chars.length, (a % chars.length) + 1 + (b % 4)).join("");
        for (const word of foldedWords(part)) expect(fold(name)).toContain(word);
      }),
      { numRuns: 3000 },
    );
  });

  test("names as bytes fold as names as text", () => {
    fc.assert(
      fc.property(fc.oneof(anyName, fc.string({ unit: "binary-ascii" })), (text) => {
        const name = text.toWellFormed().replaceAll("/", "_");
        const [names, folded] = [new NameColumn(), new NameColumn()];
        addFolded(folded, names, names.add(name));
        expect(folded.text(0)).toBe(foldedName(name));
      }),
      { numRuns: 3000 },
    );
  });
});

describe("natural order", () => {
  const key = (name: string) => naturalKey(Buffer.from(name));
  const inOrder = (names: readonly string[]) => names.toSorted((a, b) => Buffer.compare(key(a), key(b)));

  test.each([
    [["track 1", "track 2", "track 10", "track 100"]],
    [["1942", "1943", "2020", "abc"]],
    [["disc 1 track 9", "disc 1 track 10", "disc 2 track 1"]],
    [["a", "a 1", "a1", "a1b", "a2", "ab"]],
    [["log 999999999", "log 1234567890", "log 20260101120000", "logs"]],
    [["-1", "1", "9", "10", ":1"]],
  ])("%j", (names) => expect(inOrder(names.toReversed())).toEqual(names));

  test("names in which only zeros before a number differ have one key", () => {
    expect(key("track 007")).toEqual(key("track 7"));
    expect(key("0")).not.toEqual(key(""));
    expect(key("000")).toEqual(key("0"));
  });

  test("is that of the numbers, whatever stands around them", () => {
    const parts = fc.array(fc.oneof(fc.nat(), fc.constantFrom(" ", "a", "é", "(", ")", "0")), {
      maxLength: 6,
    });
    const collator = (a: string, b: string) => {
      const one = a.match(/\d+|\D+/g) ?? [];
      const two = b.match(/\d+|\D+/g) ?? [];
      for (const [at, left] of one.entries()) {
        const right = two[at];
        if (right === undefined) return 1;
        const areNumbers = /^\d/.test(left) && /^\d/.test(right);
        const order = areNumbers
          ? Math.sign(Number(BigInt(left) - BigInt(right)))
          : Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)));
        if (order !== 0) return order;
      }
      return one.length < two.length ? -1 : 0;
    };
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const one = a.join("");
        const two = b.join("");
        // Our keys put the number of digits first, so a text is compared with this number and not with the first digit.
        // Names that differ in it are left out.
        fc.pre(one.match(/\D+/g)?.join("|") === two.match(/\D+/g)?.join("|"));
        expect(Math.sign(Buffer.compare(key(one), key(two)))).toBe(collator(one, two));
      }),
      { numRuns: 3000 },
    );
  });
});

describe("packed lists", () => {
  test("hold the numbers that went in, as differences or as a bitmap", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3000 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        (files, shares) => {
          const writer = new ListWriter(files);
          const random = seededRandom(files);
          const lists = shares.map((share) =>
            Array.from({ length: files }, (_, file) => file).filter(() => random() < share),
          );
          for (const list of lists) {
            for (const number of list) writer.add(number);
            writer.end();
          }
          const { bytes, starts } = writer.done();
          for (const [place, list] of lists.entries()) {
            const map = new Uint32Array(Math.ceil(files / 32));
            orList(new Uint8Array(map.buffer), bytes.subarray(starts[place], starts[place + 1]));
            expect(numbersIn(map)).toEqual(list);
            expect(countOf(map)).toBe(list.length);
            const again = new Uint32Array(map.length);
            orList(new Uint8Array(again.buffer), packMap(new Uint8Array(map.buffer), files));
            expect(again).toEqual(map);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("search", () => {
  test("answers as a naive search does: which files, how many, in which order", () => {
    fc.assert(
      fc.property(
        fc.array(anyName, { maxLength: 60 }),
        fc.array(anyQuery, { minLength: 1, maxLength: 8 }),
        fc.option(fc.uniqueArray(fc.nat(3)), { nil: undefined }),
        (names, queries, systems) => {
          const places = names.map((_, place) => place % 4);
          const source = sourceOf(names, places);
          const isIn = (file: number) => systems === undefined || listed(source, systems).has(file);
          for (const query of queries) {
            const words = foldedWords(query);
            const wanted = naive(source, words, isIn);
            const { files, total } = search(source, { words, systems, maxResults: 1000 });
            expect(total).toBe(wanted.length);
            expect(files).toEqual(wanted);
            const few = search(source, { words, systems, maxResults: 3 });
            expect(few).toEqual({ files: wanted.slice(0, 3), total: wanted.length });
            // Asks for the results after each place, and after all of them.
            for (let skip = 0; skip <= wanted.length; skip++) {
              const later = search(source, { words, systems, skip, maxResults: 2 });
              expect(later).toEqual({ files: wanted.slice(skip, skip + 2), total: wanted.length });
            }
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  test("answers the same with ready answers, of which a library of 30,000 names has some", () => {
    const random = seededRandom(5);
    const letters = "aeinrst";
    const word = () =>
      Array.from({ length: 2 + random() * 6 }, () => letters[Math.floor(random() * letters.length)]).join("");
    const names = Array.from({ length: 30_000 }, () =>
      Array.from({ length: 1 + random() * 5 }, word).join(" "),
    );
    const source = sourceOf(names);
    const ready = [..."aeinrst"].filter((letter) => source.shortcut(letter.charCodeAt(0)) !== undefined);
    expect(ready.length).toBeGreaterThan(0);
    for (const query of ["a", "e", "an", "s t", "ae ea", "t rst e", "nn", "ees a"]) {
      const words = foldedWords(query);
      const wanted = naive(source, words, () => true);
      const { files, total } = search(source, { words, systems: undefined, maxResults: 1000 });
      expect({ query, total, files }).toEqual({ query, total: wanted.length, files: wanted.slice(0, 1000) });
    }
  });

  test("the whole name comes first, then the start of the name, the start of a word, and elsewhere", () => {
    const names = ["Supermario", "Dr. Mario", "Mario Kart", "Mario", "A-Mario", "Wamario"];
    const source = sourceOf(names.map((name) => `${name}.sfc`));
    const { files } = search(source, { words: ["mario"], systems: undefined, maxResults: 10 });
    expect(files.map((file) => source.name(file))).toEqual([
      "mario",
      "mario kart",
      "a-mario",
      "dr. mario",
      "supermario",
      "wamario",
    ]);
  });

  test("an extension is not searched, and no word matches all", () => {
    const source = sourceOf(["Alpha.sfc", "Beta.sfc"]);
    expect(search(source, { words: ["sfc"], systems: undefined, maxResults: 10 }).total).toBe(0);
    expect(search(source, { words: [], systems: undefined, maxResults: 1 })).toEqual({
      files: [0],
      total: 2,
    });
  });
});

function listed(
  { systems: { starts, bytes }, count }: SearchSource,
  systems: readonly number[],
): Set<number> {
  const map = new Uint32Array(Math.ceil(count / 32));
  for (const system of systems)
    orList(new Uint8Array(map.buffer), bytes.subarray(starts[system], starts[system + 1]));
  return new Set(numbersIn(map));
}

function numbersIn(map: Uint32Array): readonly number[] {
  return Array.from({ length: map.length * 32 }, (_, number) => number).filter(
    (number) => ((map[number >>> 5] ?? 0) >>> (number & 31)) & 1,
  );
}

test("each of many words is found by itself, the first and the last one, too", () => {
  const words = Array.from({ length: 100 }, (_, nth) => `word${String(nth).padStart(3, "0")}`);
  const source = sourceOf(words.map((word) => `${word} game`));
  for (const [file, word] of words.entries())
    expect(search(source, { words: [word], systems: undefined, maxResults: 9 })).toEqual({
      files: [file],
      total: 1,
    });
});
