/** The cost of mappings for a tap: hostile sets, filled up to the refusal, with steps counted instead of time. */
import { Database } from "bun:sqlite";
import { afterEach, expect, spyOn, test } from "bun:test";
import { RE2JS } from "re2js";
import type { MappingFiles } from "../../../src/config/mapping-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  mappingsMax,
  partialCharsMax,
  regexCharsMax,
  regexCostMax,
  regexWorkMax,
  scriptBytesMax,
  tokenDataCharsMax,
} from "../../../src/core/limits.ts";
import { createLog, type Log, silentLog } from "../../../src/core/log.ts";
import type { MappingParams, MappingType } from "../../../src/core/token.ts";
import { createMapper, type Mapper } from "../../../src/mappings/mapper.ts";
import { costOf, createRegexes, isFault } from "../../../src/mappings/regex.ts";
import { charactersOf, matchesTable, type RegexTable } from "../../../src/mappings/regex-table.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import { createMappings } from "../../../src/store/mapping-table.ts";
import { migrations } from "../../../src/store/migrations.ts";
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
  for (const sql of migrations) database.run(sql);
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

/** As many of a family as are accepted, and the refusal of the next. */
function filled(family: (nth: number) => string) {
  const regexes = createRegexes();
  const tables: RegexTable[] = [];
  for (let cost = 0, nth = 0; nth < mappingsMax; nth++) {
    const table = regexes.get(family(nth));
    if (isFault(table)) return { tables, why: table.sentence };
    cost += costOf(table);
    if (cost > regexCostMax) return { tables, why: "regexCostMax" };
    tables.push(table);
  }
  return { tables, why: "mappingsMax" };
}

/** Characters that count the reads of each of them. */
function counted(text: string, most: number) {
  const { codes, isWhole } = charactersOf(text, most);
  let reads = 0;
  const counting = new Proxy(codes, {
    get(target, key) {
      if (key === "length") return target.length;
      reads += 1;
      return target[Number(key)];
    },
  });
  return { characters: { codes: counting, isWhole }, reads: () => reads };
}

for (const [name, family] of Object.entries(hostileFamilies))
  test(`the most expressions accepted read no more than they were judged by: ${name}`, () => {
    const { tables, why } = filled(family);
    // The cost of each family is known before this test: a set is full by cost, and a pattern is refused with a sentence.
    expect(why).toMatch(/^regexCostMax$|more than \d+|range/);
    expect(tables.length).toBeLessThan(mappingsMax);
    for (const kind of ["one letter", "letters and digits", "kanji"]) {
      const text = hostileTexts[kind] ?? "";
      const { characters, reads } = counted(text, regexCharsMax);
      for (const table of tables) {
        const before = reads();
        matchesTable(table, characters);
        expect(reads() - before).toBeLessThanOrEqual(Math.min(table.readsMax, regexCharsMax));
      }
      expect(reads()).toBeLessThanOrEqual(regexCostMax);
    }
  });

test("no pattern makes the engine go through more steps than are allowed, whether it is accepted or not", () => {
  const stepping = spyOn(Object.getPrototypeOf(RE2JS.compile("a").re2().dfa), "step");
  opened.push({ [Symbol.dispose]: () => stepping.mockRestore() });
  let most = 0;
  for (const family of Object.values(hostileFamilies)) {
    stepping.mockClear();
    createRegexes().get(family(1));
    most = Math.max(most, stepping.mock.calls.length);
  }
  // A step counts four or more; a state is finished before the sum is checked.
  expect(most).toBeGreaterThan(1000);
  expect(most).toBeLessThanOrEqual(regexWorkMax / 4 + 256);
});

test("a set that is full by cost refuses one more with field, cost and limit, and takes it when there is room", async () => {
  const mapper = await open({});
  const ids: number[] = [];
  const next = () => mapper.add(regex(`e.*${ids.length}$`));
  let full: ServiceError | undefined;
  while (full === undefined) {
    full = refusal(() => ids.push(next()));
    if (ids.length > mappingsMax) throw new Error("nothing is refused");
  }
  expect(full.code).toBe("busy");
  expect(full.message).toMatch(
    /^pattern: this regular expression costs a tap up to \d+ look-ups, and of the 1048576 that all enabled ones may cost \d+ are left/,
  );
  expect(full.data).toEqual({
    limit: "regexCostMax",
    field: "pattern",
    cost: expect.any(Number),
    left: expect.any(Number),
  });
  // An expression for a short uid still has room. So does one that is switched off, until it is switched on.
  mapper.add(regex("^04$", "uid"));
  const off = mapper.add({ ...regex("e.*x$"), enabled: false });
  expect(refusal(() => mapper.update(off, { enabled: true }))?.data?.limit).toBe("regexCostMax");
  const [first = 0] = ids;
  expect(refusal(() => mapper.update(first, { pattern: "(a|b)*a(a|b){6}$" }))?.code).toBe("busy");
  mapper.update(first, { override: "another" });
  mapper.update(first, { enabled: false });
  mapper.update(off, { enabled: true });
});

test("a pattern whose table would be too large is refused with the cost and the limit", async () => {
  const mapper = await open({});
  for (const pattern of ["(a|b)*a(a|b){12}", "a.{200}$"]) {
    const found = refusal(() => mapper.add(regex(pattern)));
    expect(found?.code).toBe("invalid-params");
    expect(found?.message).toMatch(
      /^pattern: its table (has|takes) more than \d+ (entries|steps to make): shorten/,
    );
  }
});

test("all partial patterns together have a limit", async () => {
  const mapper = await open({});
  const partial: MappingParams = { ...regex("p".repeat(4096)), match: "partial" };
  for (let chars = 0; chars + 4096 <= partialCharsMax; chars += 4096) mapper.add(partial);
  expect(refusal(() => mapper.add(partial))).toMatchObject({
    code: "busy",
    data: { limit: "partialCharsMax" },
  });
  mapper.add({ ...partial, enabled: false });
});

/** A full set of expressions in the database, without asking the mapper. */
function fill(database: Database, patterns: readonly string[]): void {
  const insert = database.query(
    `INSERT INTO mappings (added_ms, enabled, label, type, "match", pattern, override)
     VALUES (0, 1, '', 'text', 'regex', $pattern, $pattern)`,
  );
  database.transaction(() => {
    for (const pattern of patterns) insert.run({ pattern });
  })();
}

test("a mapping that an earlier version kept beyond the cost is skipped, the last first, and the log says so", async () => {
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
  expect(map("en399")).toBeUndefined();
  const passed = Number(/passed over.* mappings=(\d+) first=\d+ /.exec(lines.join("\n"))?.[1]);
  expect(passed).toBeGreaterThan(0);
  expect(map(`en${400 - passed - 1}`)).toBe(`e.*n${400 - passed - 1}$`);
  expect(map(`en${400 - passed}`)).toBeUndefined();
  mapper.update(400, { enabled: false });
});

test("no tap compiles an expression: neither the first after a start nor the first after a change", async () => {
  const database = openDatabase();
  fill(
    database,
    Array.from({ length: 200 }, (_, nth) => `e.*${nth}$`),
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
      const mappings = Array.from({ length: 200 }, (_, nth) => fileMapping(nth));
      for (const mapping of mappings) judge.check(mapping);
      admissions.push(await judge.admit(mappings, async () => {}));
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
  expect(compiling.mock.calls.length).toBe(400);
  expect(admissions).toEqual([undefined]);
  expect(taps()).toBe(0);
  for (let nth = 0; nth < 30; nth++) mapper.add(regex(`^g${nth}`));
  expect(taps()).toBe(0);
  await mapper.settled();
  expect(taps()).toBe(0);
});

test("files whose expressions cost too much together are not admitted, and the reason names cost and limit", async () => {
  const reasons: (string | undefined)[] = [];
  const files: MappingFiles = {
    async start(judge) {
      for (const count of [200, 400])
        reasons.push(
          await judge.admit(
            Array.from({ length: count }, (_, nth) => regex(`e.*${nth}$`)),
            async () => {},
          ),
        );
    },
    reload: async () => {},
    close() {},
  };
  await open({ files });
  expect(reasons[0]).toBeUndefined();
  expect(reasons[1]).toMatch(
    /^pattern: with this file, the regular expressions in the files cost a tap up to \d+ look-ups, and 1048576 is the most/,
  );
});

test("the longest fields reach the expressions up to the documented length", () => {
  expect(Math.min(scriptBytesMax, tokenDataCharsMax)).toBeGreaterThan(regexCharsMax);
});
