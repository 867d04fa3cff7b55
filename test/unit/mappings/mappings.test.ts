/**
 * Mappings in the service: the refused ones, the stored ones, and a token's text after mapping.
 * Covers: src/mappings.
 */
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import type { MappingFiles } from "../../../src/config/mapping-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  mappingOverrideBytesMax,
  mappingsCharsMax,
  mappingsMax,
  regexMappingsMax,
} from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { MappingParams } from "../../../src/core/token.ts";
import { checkMapping } from "../../../src/mappings/check-mapping.ts";
import { createMapper, type Mapper } from "../../../src/mappings/mapper.ts";
import { regexFault } from "../../../src/mappings/regex.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import { createMappings } from "../../../src/store/mapping-table.ts";
import { createTables } from "../../../src/store/migrations.ts";

const base: MappingParams = {
  enabled: true,
  label: "",
  type: "text",
  match: "exact",
  pattern: "a",
  override: "b",
};
const card = (text: string, uid = "", data = "") => ({ type: "", uid, text, data });
const noFiles: MappingFiles = { start: async () => {}, reload: async () => {}, close() {} };

const opened: Disposable[] = [];

afterEach(() => {
  for (const one of opened.splice(0).reverse()) one[Symbol.dispose]();
});

function openDatabase(): Database {
  const database = new Database(":memory:", { strict: true });
  createTables(database);
  opened.push({ [Symbol.dispose]: () => database.close() });
  return database;
}

function mappingsOf(database: Database) {
  return createMappings(database, createDurableWrites(database, { onWritten() {}, onDamage() {} }));
}

async function open(database = openDatabase(), files = noFiles): Promise<Mapper> {
  const store = { mappings: mappingsOf(database) };
  const mapper = await createMapper({ store, files, log: silentLog, clock: systemClock });
  opened.push({ [Symbol.dispose]: () => mapper.close() });
  return mapper;
}

function refusal(run: () => unknown): { code: string; message: string; data: unknown } | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code, message: error.message, data: error.data };
  }
}

async function rejection(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return refusal(() => {
    throw error;
  });
}

const wrong: readonly [string, Partial<MappingParams>, string][] = [
  ["an empty pattern", { pattern: "" }, "pattern: it is empty"],
  ["a pattern of more than 4 KiB", { pattern: "é".repeat(2049) }, "pattern: it is longer than 4096 bytes"],
  ["an empty override", { override: "" }, "override: it is empty"],
  [
    "an override of more than 4 KiB",
    { override: "é".repeat(2049) },
    "override: it is longer than 4096 bytes",
  ],
  ["a label of more than 255 characters", { label: "a".repeat(256) }, "label: it has 256 characters"],
  ["a uid of nothing but separators", { type: "uid", pattern: " : " }, "pattern: nothing is left"],
  [
    "exact data that is no hexadecimal",
    { type: "data", pattern: "0g" },
    "pattern: data is bytes in hexadecimal",
  ],
  ["exact data with half a byte", { type: "data", pattern: "01 2" }, "pattern: data is bytes in hexadecimal"],
];

test.each(wrong)("refused with the field and what to do: %s", (_, params, message) => {
  const found = refusal(() => checkMapping({ ...base, ...params }));
  expect(found?.code).toBe("invalid-params");
  expect(found?.message).toStartWith(message);
});

test.each([
  ["a pattern of 4 KiB", { pattern: "é".repeat(2048) }],
  ["a label of 255 characters", { label: "a".repeat(255) }],
  ["a uid that is no hexadecimal", { type: "uid", pattern: "my card" }],
  ["half a byte of partial data", { type: "data", match: "partial", pattern: "1:2 f" }],
  ["exact data with spaces, colons and capitals", { type: "data", pattern: "01:FF 0a" }],
  ["a regular expression", { match: "regex", pattern: "^(?i)a[b-c]{2,3}$" }],
  ["a character by its number", { match: "regex", pattern: "\\x{10428}" }],
] as const)("kept: %s", (_, params) => {
  expect(refusal(() => checkMapping({ ...base, ...params }))).toBeUndefined();
});

const faults: readonly [string, number | undefined, RegExp][] = [
  ["a(b", 1, /not closed/],
  ["a(b(c)[)]\\)", 1, /not closed/],
  ["\\Q(\\E(", 5, /not closed/],
  ["(a)b)c", 4, /closes nothing/],
  ["ab[a-", 2, /\[ is not closed/],
  ["a**", 1, /repetition/],
  ["ab++", 2, /repetition/],
  ["*a", 0, /missing argument/],
  ["abc\\", 3, /trailing backslash/],
  ["\\\\1(a)\\1", 6, /back references such as \\1/],
  ["(?P<x>a)\\k<x>", 8, /back references/],
  ["ab(?=c)", 2, /looking ahead or behind, \(\?=/],
  ["ab(?!c)", 2, /looking ahead or behind, \(\?!/],
  ["(?<=a)b", 0, /looking ahead or behind, \(\?<=/],
  ["x(?<!a)b", 1, /looking ahead or behind, \(\?<!/],
  ["x(?>a)", 1, /atomic/],
  ["x[b-a]", 2, /range/],
  ["aa\\q", 2, /escape/],
  ["a{1001}", 1, /repeat/],
  ["(?P<n>a)(?P<n>b)", 12, /duplicate/],
  ["(".repeat(1500) + ")".repeat(1500), undefined, /nests too deeply/],
  ["(\\pL{1000})".repeat(300), undefined, /counted repetitions/],
  ["((a{10}){10}){10}".repeat(60), undefined, /counted repetitions/],
  ["(a{10}){10}b{10}".repeat(60), undefined, /steps/],
  ["\\pL".repeat(33), undefined, /more than 32 classes/],
];

test.each(faults)(
  "a regular expression is refused with the place of the fault: %#",
  (pattern, offset, sentence) => {
    const fault = regexFault(pattern);
    expect(fault?.sentence).toMatch(sentence);
    expect(fault?.offset).toBe(offset);
  },
);

test("the refusal of a regular expression names field and offset, for people and programs", () => {
  const found = refusal(() => checkMapping({ ...base, match: "regex", pattern: "ab(?=c)" }));
  expect(found?.message).toStartWith("pattern: at offset 2, looking ahead");
  expect(found?.data).toEqual({ refusal: "mapping-regex-at", field: "pattern", offset: 2 });
});

test("a mapping is listed as it was given, with its id and the time of its creation", async () => {
  const mapper = await open();
  const params: MappingParams = { ...base, enabled: false, label: "One", type: "uid", pattern: "04:AA" };
  const id = mapper.add(params);
  const [listed] = mapper.list();
  expect(listed).toEqual({ ...params, id, added: expect.any(String) });
  expect(Math.abs(Date.parse(listed?.added ?? "") - Date.now())).toBeLessThan(60_000);
});

test("a mapping counts from the moment it is added, changed, switched off and deleted", async () => {
  const mapper = await open();
  const id = mapper.add({ ...base, pattern: "a", override: "one" });
  expect(mapper.map(card("a"))).toBe("one");
  mapper.update(id, { pattern: "c" });
  expect([mapper.map(card("a")), mapper.map(card("c"))]).toEqual([undefined, "one"]);
  mapper.update(id, { enabled: false, label: undefined });
  expect(mapper.map(card("c"))).toBeUndefined();
  mapper.update(id, { enabled: true, override: "two" });
  expect(mapper.map(card("c"))).toBe("two");
  mapper.remove(id);
  expect(mapper.map(card("c"))).toBeUndefined();
  expect(mapper.list()).toEqual([]);
});

test("a changed mapping keeps its place in the order", async () => {
  const mapper = await open();
  const first = mapper.add({ ...base, override: "first" });
  mapper.add({ ...base, override: "second" });
  mapper.update(first, { override: "still first" });
  expect(mapper.map(card("a"))).toBe("still first");
});

test("an update changes the keys given and no others", async () => {
  const mapper = await open();
  const id = mapper.add({ ...base, label: "One", pattern: "04:aa" });
  const steps = [
    { label: "" },
    { type: "uid" },
    { match: "partial" },
    { pattern: "ff" },
    { override: "x" },
    { enabled: false },
    {},
  ] as const;
  const first = mapper.list()[0];
  if (first === undefined) throw new Error("it is listed");
  let expected: typeof first = first;
  for (const changes of steps) {
    mapper.update(id, changes);
    expected = { ...expected, ...changes };
    expect(mapper.list()[0]).toEqual(expected);
  }
});

test("an update that would make a mapping wrong is refused, and changes nothing", async () => {
  const mapper = await open();
  const id = mapper.add({ ...base, pattern: "(" });
  expect(refusal(() => mapper.update(id, { match: "regex" }))?.code).toBe("invalid-params");
  expect(refusal(() => mapper.update(id, { override: "" }))?.code).toBe("invalid-params");
  expect(mapper.map(card("("))).toBe("b");
});

test("a mapping that an earlier version kept can be switched off and deleted, and is skipped", async () => {
  const database = openDatabase();
  const id = mappingsOf(database).add({ ...base, match: "regex", pattern: "a(" }, 0);
  const mapper = await open(database);
  expect(mapper.map(card("a("))).toBeUndefined();
  mapper.update(id, { enabled: false });
  expect(refusal(() => mapper.update(id, { enabled: true }))?.code).toBe("invalid-params");
  mapper.remove(id);
});

test("an unknown id is not found, and a deleted one is never given again", async () => {
  const mapper = await open();
  const id = mapper.add(base);
  mapper.remove(id);
  expect(refusal(() => mapper.remove(id))).toMatchObject({ code: "not-found" });
  expect(refusal(() => mapper.update(id, { label: "x" }))).toMatchObject({ code: "not-found" });
  expect(mapper.add(base)).toBeGreaterThan(id);
});

test("mappings are there after the start, enabled ones and others", async () => {
  const database = openDatabase();
  const stored = mappingsOf(database);
  stored.add({ ...base, enabled: false, override: "off" }, 0);
  stored.add({ ...base, override: "on" }, 0);
  const mapper = await open(database);
  expect(mapper.list().map(({ override }) => override)).toEqual(["off", "on"]);
  expect(mapper.map(card("a"))).toBe("on");
});

test("there is a limit, and it is named", async () => {
  const database = openDatabase();
  const insert = database.query(
    `INSERT INTO mappings (added_ms, enabled, label, type, "match", pattern, override)
     VALUES (0, 1, '', 'text', 'exact', $pattern, 'x')`,
  );
  database.transaction(() => {
    for (let place = 0; place < mappingsMax; place++) insert.run({ pattern: `p${place}` });
  })();
  const mapper = await open(database);
  expect(refusal(() => mapper.add(base))).toMatchObject({ code: "busy", data: { limit: "mappingsMax" } });
  expect(mapper.map(card("p9999"))).toBe("x");
  mapper.remove(mapper.list()[0]?.id ?? 0);
  mapper.add(base);
  expect(mapper.map(card("a"))).toBe("b");
});

test("all their texts together have a limit; what makes one shorter is taken all the same", async () => {
  const mapper = await open();
  const long: MappingParams = { ...base, override: "x".repeat(mappingOverrideBytesMax) };
  const fits = Math.floor(mappingsCharsMax / (mappingOverrideBytesMax + base.pattern.length));
  const ids = Array.from({ length: fits }, () => mapper.add(long));
  const full = { code: "busy", data: { limit: "mappingsCharsMax" } };
  expect(refusal(() => mapper.add(long))).toMatchObject(full);
  const [first = 0, second = 0] = ids;
  mapper.update(first, { override: "short" });
  mapper.update(second, { enabled: false });
  mapper.add({ ...long, override: "x".repeat(mappingOverrideBytesMax - 5) });
  expect(refusal(() => mapper.update(first, { override: long.override }))).toMatchObject(full);
  expect(mapper.list()).toHaveLength(fits + 1);
});

test("mappings of files are listed behind the others, are tried after them, and are not changed over the API", async () => {
  const mapping = {
    ...base,
    id: -5,
    added: "2027-01-15T08:00:00.000Z",
    override: "file",
    file: "cards.toml",
  };
  const files: MappingFiles = {
    start: async (_, changed) => changed([mapping, { ...mapping, id: -6, enabled: false }]),
    reload: async () => {},
    close() {},
  };
  const mapper = await open(openDatabase(), files);
  expect(mapper.map(card("a"))).toBe("file");
  expect(mapper.list()[0]).toEqual({ ...mapping, readOnly: true });
  const id = mapper.add({ ...base, override: "database" });
  expect(mapper.map(card("a"))).toBe("database");
  expect(mapper.list().map((one) => one.id)).toEqual([id, -5, -6]);
  for (const run of [() => mapper.update(-6, { enabled: true }), () => mapper.remove(-5)]) {
    expect(refusal(run)).toMatchObject({
      code: "forbidden",
      message: "this mapping is kept in the file cards.toml: change it there",
    });
  }
  expect(refusal(() => mapper.remove(-7))?.code).toBe("not-found");
});

test("a second mapping for one UID was stored without a word, although it never applies", async () => {
  const mapper = await open();
  const ofUid = { ...base, type: "uid", pattern: "04:A1:B2" } as const;
  const first = mapper.add(ofUid);
  const twin = { ...ofUid, pattern: "04a1b2", override: "c" };
  expect(refusal(() => mapper.add(twin))).toMatchObject({
    code: "conflict",
    data: { field: "pattern", id: first },
  });
  expect(mapper.list()).toHaveLength(1);
  // A mapping that is off, of another field or of another kind does not count as a second one for the UID.
  const off = mapper.add({ ...twin, enabled: false });
  mapper.add({ ...twin, type: "data" });
  mapper.add({ ...twin, match: "partial" });
  expect(refusal(() => mapper.update(off, { enabled: true }))).toMatchObject({ code: "conflict" });
  mapper.update(first, { override: "d", enabled: true });
  mapper.update(first, { enabled: false });
  mapper.update(off, { enabled: true });
  expect(refusal(() => mapper.update(first, { enabled: true }))).toMatchObject({ code: "conflict" });
});

const csv = (...rows: readonly string[]) => ({
  format: "csv" as const,
  content: ["type,match,pattern,override,enabled", ...rows].join("\n"),
  replace: false,
});

test("an import is in use at once, behind the mappings before it, and survives a restart", async () => {
  const database = openDatabase();
  const mapper = await open(database);
  mapper.add({ ...base, override: "first" });
  const rows = Array.from({ length: 500 }, (_, place) => `uid,,04${place},song ${place}`);
  const { added, removed, notes } = await mapper.import(csv("text,partial,a,late", ...rows, "uid,,ff,off,0"));
  expect([added.length, removed, notes]).toEqual([502, 0, []]);
  expect(mapper.map(card("a"))).toBe("first");
  expect(mapper.map(card("ba"))).toBe("late");
  for (const one of [mapper, await open(database)]) {
    expect(one.map(card("", "04:499"))).toBe("song 499");
    expect(one.map(card("", "ff"))).toBeUndefined();
    expect(one.list().map(({ override }) => override)).toEqual([
      ...["first", "late"],
      ...rows.map((_, place) => `song ${place}`),
      "off",
    ]);
  }
});

test("with one wrong line nothing is imported, and every wrong line is named", async () => {
  const mapper = await open();
  const id = mapper.add({ ...base, type: "uid", pattern: "04:A1" });
  const wrong = csv("uid,,05,x", "text,regex,a(b,x", "uid,,06,", "text,,t,x");
  expect(await rejection(mapper.import({ ...wrong, replace: true }))).toMatchObject({
    code: "invalid-params",
    message:
      "line 3: pattern: at offset 1, this bracket is not closed: write ) after it, or \\( for the sign itself (and 1 more line)",
    data: { faults: [{ line: 3 }, { line: 4, message: "override: it is missing" }] },
  });
  expect(await rejection(mapper.import(csv("uid,,05,x", "uid,,04a1,y", "uid,,0:5,z")))).toMatchObject({
    code: "conflict",
    data: {
      faults: [
        {
          line: 3,
          message: `pattern: the mapping ${id} is for this UID already: delete or switch off one of them`,
        },
        {
          line: 4,
          message: "pattern: the mapping in line 2 is for this UID already: delete or switch off one of them",
        },
      ],
    },
  });
  expect(await rejection(mapper.import(csv()))).toMatchObject({
    message: "content: there is no mapping in it",
  });
  expect(mapper.list().map((one) => one.id)).toEqual([id]);
  expect(mapper.map(card("", "05"))).toBeUndefined();
});

test("a mapping that is there already is left out by name", async () => {
  const mapper = await open();
  const id = mapper.add({ ...base, type: "uid", pattern: "04:A1", override: "x", label: "Mine" });
  const { added, notes } = await mapper.import(csv("uid,,04a1,x", "text,,a,b", "text,,a,b"));
  expect(added.map(({ line }) => line)).toEqual([3]);
  expect(notes).toEqual([
    {
      line: 2,
      message: `the mapping ${id} does the same, so this one is left out`,
      refusal: "mapping-line-twice",
    },
    {
      line: 4,
      message: "the mapping in line 3 does the same, so this one is left out",
      refusal: "mapping-line-twice",
    },
  ]);
});

test.each(["toml", "csv"] as const)(
  "an export as %s takes the place of all mappings on another device",
  async (format) => {
    const [one, other] = [await open(), await open()];
    one.add({ ...base, pattern: '04a1,b\n"', label: "Ä", enabled: false });
    one.add({ ...base, type: "data", match: "regex", pattern: "^\\d+\0$", override: "**delay:1" });
    other.add({ ...base, override: "gone" });
    other.add({ ...base, type: "uid", pattern: "04" });
    const content = one.exported(format);
    expect(await other.import({ format, content, replace: true })).toMatchObject({ removed: 2 });
    const bare = (mapper: Mapper) => mapper.list().map(({ id: _, added: __, ...fields }) => fields);
    expect(bare(other)).toEqual(bare(one));
    expect(other.map(card("a"))).toBeUndefined();
    expect(other.map(card("", "", "12"))).toBeUndefined();
    // The export of a device without mappings as TOML.
    expect(await rejection(other.import({ format, content: "", replace: false }))).toMatchObject({
      code: "invalid-params",
    });
    expect(await other.import({ format, content: "", replace: true })).toMatchObject({
      added: [],
      removed: 2,
    });
    expect(other.list()).toEqual([]);
  },
);

test("an import that exceeds a limit names the limit and the line, and changes nothing", async () => {
  const mapper = await open();
  const many = Array.from({ length: mappingsMax }, (_, place) => `uid,,04${place},x`);
  mapper.add(base);
  expect(await rejection(mapper.import(csv(...many)))).toMatchObject({
    code: "busy",
    message: `line ${mappingsMax + 1}: from here on there are more than ${mappingsMax} mappings`,
    data: { limit: "mappingsMax" },
  });
  const long = Array.from(
    { length: 600 },
    (_, place) => `text,,${place},${"x".repeat(mappingOverrideBytesMax)}`,
  );
  expect(await rejection(mapper.import(csv(...long)))).toMatchObject({ data: { limit: "mappingsCharsMax" } });
  const regexes = Array.from({ length: regexMappingsMax + 1 }, (_, place) => `text,regex,a${place}.*b,x`);
  expect(await rejection(mapper.import(csv(...regexes)))).toMatchObject({
    code: "busy",
    message: expect.stringMatching(/^line 102: match: 100 enabled mappings with a regular expression are/),
    data: { limit: "regexMappingsMax", field: "match", line: 102 },
  });
  expect(mapper.list()).toHaveLength(1);
});

test("a test names the mappings that match in their order, with a draft in its place", async () => {
  const mapper = await open();
  const part = mapper.add({ ...base, type: "uid", match: "partial", pattern: "a1", override: "part" });
  const whole = mapper.add({ ...base, type: "uid", pattern: "04:A1", override: "whole" });
  mapper.add({ ...base, type: "uid", match: "partial", pattern: "04", enabled: false });
  const one = card("own", "04a1");
  expect(mapper.test(one)).toEqual({ matches: [part, whole], script: "part" });
  expect(mapper.test(card("own", "05"))).toEqual({ matches: [], script: "own" });
  const draft = { ...base, type: "uid", match: "regex", pattern: "^04", override: "new" } as const;
  expect(mapper.test(one, draft)).toEqual({ matches: [part, whole, 0], script: "part" });
  expect(mapper.test(one, { ...draft, id: part })).toEqual({ matches: [part, whole], script: "new" });
  expect(mapper.test(one, { ...draft, id: part, enabled: false })).toEqual({
    matches: [whole],
    script: "whole",
  });
  expect(refusal(() => mapper.test(one, { ...draft, pattern: "(" }))?.code).toBe("invalid-params");
  expect(mapper.map(one)).toBe("part");
});
