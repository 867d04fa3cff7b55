/** The mappings that a tap compares one by one: their limits, and hostile expressions within them. */
import { Database } from "bun:sqlite";
import { afterEach, expect, spyOn, test } from "bun:test";
import { RE2JS } from "re2js";
import type { MappingFiles } from "../../../src/config/mapping-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  mappingRegexStepsMax,
  partialMappingsMax,
  patternFieldCharsMax,
  regexMappingsMax,
  regexMemoryBytesMax,
} from "../../../src/core/limits.ts";
import { createLog, type Log, silentLog } from "../../../src/core/log.ts";
import type { MappingParams, MappingType } from "../../../src/core/token.ts";
import { createMapper, type Mapper } from "../../../src/mappings/mapper.ts";
import { createRegexes, isFault } from "../../../src/mappings/regex.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import { createMappings } from "../../../src/store/mapping-table.ts";
import { createTables } from "../../../src/store/migrations.ts";
import { hostileFamilies, hostileTexts } from "../../helpers/hostile-regexes.ts";

const noFiles: MappingFiles = { start: async () => {}, reload: async () => {}, close() {} };
const regex = (pattern: string, type: MappingType = "text"): MappingParams => ({
  enabled: true,
  label: "",
  type,
  match: "regex",
  pattern,
  override: "x",
});

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

async function open({
  database = openDatabase(),
  files = noFiles,
  log = silentLog,
}: {
  readonly database?: Database;
  readonly files?: MappingFiles;
  readonly log?: Log;
}): Promise<Mapper> {
  const mappings = createMappings(database, createDurableWrites(database, { onWritten() {}, onDamage() {} }));
  const mapper = await createMapper({ store: { mappings }, files, log, clock: systemClock });
  opened.push({ [Symbol.dispose]: () => mapper.close() });
  return mapper;
}

function refusal(run: () => unknown): ServiceError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const hostile = Object.entries(hostileFamilies).flatMap(([name, family]) => {
  const regex = createRegexes().get(family(1));
  return isFault(regex) ? [] : [[name, regex] as const];
});

test.each(hostile)(
  "a hostile expression keeps to its memory, and the engine to its faster ways: %s",
  (_, one) => {
    const slowest = spyOn(Object.getPrototypeOf(one.re2()), "doExecuteNFA");
    opened.push({ [Symbol.dispose]: () => slowest.mockRestore() });
    const { dfa } = one.re2();
    for (const text of Object.values(hostileTexts))
      for (let at = 0; at + patternFieldCharsMax <= text.length; at += patternFieldCharsMax)
        one.test(`${text.slice(at, at + patternFieldCharsMax)}\uffff`);
    expect([dfa.stateBudget, dfa.memBudget <= regexMemoryBytesMax]).toEqual([regexMemoryBytesMax, true]);
    expect(slowest.mock.calls.length).toBe(0);
  },
);

test("most hostile expressions are within the limits, and one is as long as they allow", () => {
  expect(hostile.length).toBeGreaterThan(15);
  const steps = hostile.map(([, regex]) => regex.programSize());
  expect(Math.max(...steps)).toBeGreaterThan(mappingRegexStepsMax * 0.9);
});

const limits = [
  ["regex", "regexMappingsMax", regexMappingsMax, "a regular expression"],
  ["partial", "partialMappingsMax", partialMappingsMax, "a partial pattern"],
] as const;

test.each(limits)(
  "one more than the most of %s is refused, and %s is named; others are taken",
  async (match, limit, most, kind) => {
    const mapper = await open({});
    const numbered = (nth: number): MappingParams => ({ ...regex(`e.*${nth}$`), match });
    for (let nth = 0; nth < most; nth++) mapper.add(numbered(nth));
    const full = refusal(() => mapper.add(numbered(most)));
    expect(full?.code).toBe("busy");
    expect(full?.message).toBe(
      `match: ${most} enabled mappings with ${kind} are there already, and more would delay taps: switch one off, delete one, or use an exact pattern`,
    );
    expect(full?.data).toEqual({ refusal: "mapping-compared", max: most, limit, field: "match" });
    // A mapping of another kind has room. A mapping that is switched off also has room, and is refused when it is
    // switched on.
    const exact = mapper.add({ ...numbered(0), match: "exact" });
    expect(refusal(() => mapper.update(exact, { match }))?.data?.limit).toBe(limit);
    const off = mapper.add({ ...numbered(most), enabled: false });
    expect(refusal(() => mapper.update(off, { enabled: true }))?.data?.limit).toBe(limit);
    mapper.update(1, { override: "another" });
    mapper.update(1, { enabled: false });
    mapper.update(off, { enabled: true });
    expect(refusal(() => mapper.update(1, { enabled: true }))?.data?.limit).toBe(limit);
    mapper.remove(2);
    mapper.update(1, { enabled: true });
  },
);

test("an expression that is too long is refused with its steps and the limit", async () => {
  const mapper = await open({});
  const found = refusal(() => mapper.add(regex("a.{250}$")));
  expect(found?.code).toBe("invalid-params");
  expect(found?.message).toBe("pattern: it takes 254 steps, and 250 is the most: make it shorter");
  mapper.add(regex("a.{240}$"));
});

test("a partial pattern that is longer than the part of a field that it sees is refused", async () => {
  const mapper = await open({});
  const partial: MappingParams = { ...regex("p".repeat(patternFieldCharsMax)), match: "partial" };
  mapper.add(partial);
  const longer = { ...partial, pattern: `${partial.pattern}p` };
  expect(refusal(() => mapper.add(longer))).toMatchObject({
    code: "invalid-params",
    message:
      "pattern: it has 1025 characters, and a partial pattern is looked for in the first 1024 of a field: shorten it",
  });
  mapper.add({ ...longer, match: "exact" });
});

/** A full set of expressions in the database, which is added without the mapper. */
function fill(database: Database, patterns: readonly string[]): void {
  const insert = database.query(
    `INSERT INTO mappings (added_ms, enabled, label, type, "match", pattern, override)
     VALUES (0, 1, '', 'text', 'regex', $pattern, $pattern)`,
  );
  database.transaction(() => {
    for (const pattern of patterns) insert.run({ pattern });
  })();
}

test("mappings beyond the limits that an earlier version kept are passed over, the last first, and the log says so", async () => {
  const database = openDatabase();
  fill(
    database,
    Array.from({ length: 400 }, (_, nth) => `e.*n${nth}$`),
  );
  const lines: string[] = [];
  const mapper = await open({
    database,
    log: createLog({ debug: false, write: (line) => lines.push(line) }),
  });
  const map = (text: string) => mapper.map({ type: "", uid: "", text, data: "" });
  expect(map("en0")).toBe("e.*n0$");
  expect(map("en99")).toBe("e.*n99$");
  expect(map("en100")).toBeUndefined();
  expect(map("en399")).toBeUndefined();
  expect(lines.join("\n")).toMatch(/^error mappings: some .* passed over: .* mappings=300 first=101 /m);
  expect(mapper.list()).toHaveLength(400);
  mapper.update(400, { enabled: false });
  expect(refusal(() => mapper.add(regex("a")))?.data?.limit).toBe("regexMappingsMax");
});

test("no tap compiles an expression: neither the first after a start nor the first after a change", async () => {
  const database = openDatabase();
  fill(
    database,
    Array.from({ length: 100 }, (_, nth) => `e.*${nth}$`),
  );
  const compiling = spyOn(RE2JS, "compile");
  opened.push({ [Symbol.dispose]: () => compiling.mockRestore() });
  const fileMapping = (nth: number) => ({
    ...regex(`f.*${nth}$`),
    id: -nth - 1,
    added: "2027-01-15T08:00:00.000Z",
    file: "a.toml",
  });
  const admissions: (string | undefined)[] = [];
  const files: MappingFiles = {
    async start(judge, changed) {
      const mappings = Array.from({ length: 100 }, (_, nth) => fileMapping(nth));
      for (const mapping of mappings) judge.check(mapping);
      admissions.push(judge.excessOf(mappings));
      changed(mappings);
    },
    reload: async () => {},
    close() {},
  };
  const mapper = await open({ database, files });
  const taps = () => {
    compiling.mockClear();
    mapper.map({ type: "", uid: "04", text: "efg".repeat(5000), data: "0102".repeat(4000) });
    return compiling.mock.calls.length;
  };
  expect(compiling.mock.calls.length).toBe(200);
  expect(admissions).toEqual([undefined]);
  expect(taps()).toBe(0);
  for (let id = 1; id <= 30; id++) mapper.update(id, { pattern: `^g${id}` });
  expect(taps()).toBe(0);
  // The check of many other expressions evicts these from the cache, but not from the lookup.
  for (let nth = 0; nth < 400; nth++)
    mapper.test({ type: "", uid: "04", text: "", data: "" }, regex(`h${nth}`));
  expect(taps()).toBe(0);
});

test.each(limits)(
  "files with more than the most of %s are not admitted, and %s is in the reason",
  async (match, limit, most, kind) => {
    const reasons: (string | undefined)[] = [];
    const files: MappingFiles = {
      async start(judge) {
        for (const count of [most, most + 1]) {
          const mappings = Array.from({ length: count }, (_, nth) => ({ ...regex(`e.*${nth}$`), match }));
          reasons.push(judge.excessOf([...mappings, { ...regex("off"), match, enabled: false }]));
        }
      },
      reload: async () => {},
      close() {},
    };
    await open({ files });
    expect(reasons).toEqual([
      undefined,
      `with this file, the files hold ${most + 1} enabled mappings with ${kind}, and ${most} is the most (${limit}): switch some off, or use exact patterns`,
    ]);
  },
);
