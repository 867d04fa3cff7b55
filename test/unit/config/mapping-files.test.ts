/** Mappings in files: read, watched, refused with file and line, on a real folder. */
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createMappingFiles,
  type FileMapping,
  type MappingFiles,
} from "../../../src/config/mapping-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { mappingFileBytesMax, mappingFilesMax, regexMappingsMax } from "../../../src/core/limits.ts";
import { createLog, silentLog } from "../../../src/core/log.ts";
import type { MappingParams } from "../../../src/core/token.ts";
import { checkMapping } from "../../../src/mappings/check-mapping.ts";
import { createMapper } from "../../../src/mappings/mapper.ts";
import { createDurableWrites } from "../../../src/store/durable-writes.ts";
import { createMappings } from "../../../src/store/mapping-table.ts";
import { createTables } from "../../../src/store/migrations.ts";
import { eventually } from "../../helpers/processes.ts";

const folders: string[] = [];
const started: MappingFiles[] = [];

afterEach(async () => {
  for (const files of started.splice(0)) files.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

interface Watched {
  readonly files: MappingFiles;
  readonly folder: string;
  readonly lines: string[];
  readonly now: () => readonly FileMapping[];
  readonly calls: () => number;
  write(name: string, text: string): Promise<void>;
}

async function newPlace(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), "tapdeck-mappings-"));
  folders.push(place);
  return place;
}

async function start(
  folder: string,
  excessOf: (all: readonly MappingParams[]) => string | undefined = () => undefined,
): Promise<Watched> {
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const files = createMappingFiles({ folder, log, clock: systemClock });
  started.push(files);
  let now: readonly FileMapping[] = [];
  let calls = 0;
  await files.start({ check: checkMapping, excessOf }, (mappings) => {
    calls++;
    now = mappings;
  });
  return {
    files,
    folder,
    lines,
    now: () => now,
    calls: () => calls,
    write: (name, text) => writeFile(join(folder, name), text),
  };
}

/** A folder with these files, watched. */
async function startWith(files: Readonly<Record<string, string>>): Promise<Watched> {
  const folder = join(await newPlace(), "mappings");
  await mkdir(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return start(folder);
}

const table = (pattern: string, more = "") =>
  `[[mapping]]\ntype = "text"\npattern = "${pattern}"\noverride = "x"\n${more}\n`;
const patterns = (watched: Watched) => watched.now().map(({ pattern }) => pattern);

test("a file is read with its defaults, in the order of names and places", async () => {
  const watched = await startWith({
    "b.toml": table("b1"),
    "a.toml": `# My cards.\n${table("a1")}${table("a2", 'enabled = false\nlabel = "Two"\nmatch = "partial"')}`,
    "notes.txt": "not read",
    ".hidden.toml": "not read",
  });
  expect(patterns(watched)).toEqual(["a1", "a2", "b1"]);
  expect(watched.now()[0]).toEqual({
    id: expect.any(Number),
    added: expect.stringMatching(/^\d{4}-.*Z$/),
    file: "a.toml",
    enabled: true,
    label: "",
    type: "text",
    match: "exact",
    pattern: "a1",
    override: "x",
  });
  expect(watched.now()[1]).toMatchObject({ enabled: false, label: "Two", match: "partial" });
});

test("a file may name the types uid and text as later clients do", async () => {
  const source = `${table("a")}${table("b")}`.replace('"text"', '"id"').replace('"text"', '"value"');
  const watched = await startWith({ "a.toml": source });
  expect(watched.now().map(({ type }) => type)).toEqual(["uid", "text"]);
});

test("a file is in use as soon as a reload has ended", async () => {
  const watched = await startWith({ "a.toml": table("a") });
  await writeFile(join(watched.folder, "a.toml"), table("b"));
  await watched.files.reload();
  expect(patterns(watched)).toEqual(["b"]);
});

test("a folder that is not there is no error, and is noticed when it is made, with all above it", async () => {
  const place = await newPlace();
  const folder = join(place, "config", "deep", "mappings");
  const watched = await start(folder);
  expect([watched.calls(), watched.lines]).toEqual([0, []]);
  await mkdir(folder, { recursive: true });
  await watched.write("a.toml", table("a"));
  await eventually(() => expect(patterns(watched)[0]).toBe("a"));
  await watched.write("a.toml", table("b"));
  await eventually(() => expect(patterns(watched)[0]).toBe("b"));
});

test("a folder that goes away takes its mappings with it, and brings them back", async () => {
  const watched = await startWith({ "a.toml": table("a") });
  await rename(watched.folder, `${watched.folder}.away`);
  await eventually(() => expect(watched.now()).toEqual([]));
  await rename(`${watched.folder}.away`, watched.folder);
  await eventually(() => expect(watched.now()).toHaveLength(1));
  await watched.write("b.toml", table("b"));
  await eventually(() => expect(watched.now()).toHaveLength(2));
});

test("a folder that was deleted and made again at once was not watched any more", async () => {
  const watched = await startWith({ "a.toml": table("a") });
  const { ino } = statSync(watched.folder);
  // ext4 gives the same number to the next folder. On another file system the number may differ each time.
  for (let tries = 0; tries < 20; tries++) {
    rmSync(watched.folder, { recursive: true });
    mkdirSync(watched.folder);
    if (statSync(watched.folder).ino === ino) break;
  }
  await eventually(() => expect(patterns(watched)).toEqual([]));
  await watched.write("b.toml", table("b"));
  await eventually(() => expect(patterns(watched)).toEqual(["b"]));
});

test("files that are added, changed, replaced, renamed and deleted are noticed", async () => {
  const watched = await startWith({ "a.toml": table("a") });
  await watched.write("b.toml", table("b"));
  await eventually(() => expect(patterns(watched).join()).toBe("a,b"));
  await watched.write("a.toml", table("a2"));
  await eventually(() => expect(patterns(watched).join()).toBe("a2,b"));
  await watched.write("a.toml.new", table("a3"));
  await rename(join(watched.folder, "a.toml.new"), join(watched.folder, "a.toml"));
  await eventually(() => expect(patterns(watched).join()).toBe("a3,b"));
  await rename(join(watched.folder, "a.toml"), join(watched.folder, "c.toml"));
  await eventually(() => expect(patterns(watched).join()).toBe("b,a3"));
  await rm(join(watched.folder, "b.toml"));
  await eventually(() => expect(patterns(watched).join()).toBe("a3"));
});

test("a file that becomes wrong is refused once, with file, line and reason, and what it held stays", async () => {
  const watched = await startWith({ "a.toml": table("a"), "b.toml": table("b") });
  await watched.write(
    "a.toml",
    `${table("new")}\n[[mapping]]\ntype = "txet"\npattern = "c"\noverride = "x"\n`,
  );
  await eventually(() => expect(watched.lines).toContainEqual(expect.stringMatching(/^error/)));
  const refusals = watched.lines.filter((line) => line.startsWith("error"));
  expect(refusals).toEqual([
    'error mappings: refused a file file=a.toml line=8 reason="type: it must be one of uid, text, data, id, value" kept=1',
  ]);
  await watched.write("b.toml", table("b2"));
  await eventually(() => expect(patterns(watched).join()).toBe("a,b2"));
  expect(watched.lines.filter((line) => line.startsWith("error"))).toEqual(refusals);
  await watched.write("a.toml", table("a2"));
  await eventually(() => expect(patterns(watched).join()).toBe("a2,b2"));
});

const numbered = (line: (at: number) => string) =>
  Array.from({ length: 4000 }, (_, at) => line(at)).join("\n");

const wrong: readonly [string, string, number | undefined, RegExp][] = [
  ["no TOML", `${table("a")}\n[[mapping\n`, 7, /not TOML/],
  ["single brackets", `[mapping]\ntype = "uid"\n`, 1, /double brackets/],
  [
    "another table",
    `${table("a")}[mappings]\n`,
    6,
    /no mappings in a file of mappings; did you mean mapping\?/,
  ],
  ["a key at the top", `type = "uid"\n${table("a")}`, 1, /no type in a file of mappings/],
  ["an unknown key", table("a", "overide = 1"), 5, /no such key; did you mean override\?/],
  ["a key of another type", table("a", 'enabled = "yes"'), 5, /enabled: it must be true or false/],
  ["no pattern", `[[mapping]]\ntype = "uid"\noverride = "x"\n`, 1, /pattern: it is missing/],
  ["no type", `[[mapping]]\npattern = "a"\noverride = "x"\n`, 1, /type: it is missing, and is one of/],
  [
    "a number as pattern",
    `[[mapping]]\ntype = "uid"\npattern = 4\noverride = "x"\n`,
    3,
    /pattern: it must be a text/,
  ],
  [
    "a regular expression",
    table("a(", 'match = "regex"'),
    3,
    /pattern: at offset 1, this bracket is not closed/,
  ],
  [
    "an empty override",
    `[[mapping]]\ntype = "uid"\npattern = "a"\noverride = ""\n`,
    4,
    /override: it is empty/,
  ],
  ["a key of many parts", table("a", `${"a.".repeat(30_000)}b = 1`), 1, /no keys with dots/],
  ["a list of many values", table("a", `label = [${"1,".repeat(30_000)}]`), 1, /no long lists/],
  [
    "a mapping of many keys",
    table(
      "a",
      numbered((at) => `k${at} = 1`),
    ),
    1,
    /no other keys/,
  ],
  [
    "a mapping of many tables",
    table(
      "a",
      numbered((at) => `[a${at}]`),
    ),
    1,
    /no other keys/,
  ],
  ["a list of many lists", table("a", `label = ${"[".repeat(8000)}${"]".repeat(8000)}`), 1, /no long lists/],
  ["too large a file", `#${" ".repeat(mappingFileBytesMax)}`, undefined, /divide it/],
];

test.each(wrong)("refused: %s", async (_, text, line, reason) => {
  const watched = await startWith({ "a.toml": text });
  expect(watched.lines.join("\n")).toMatch(reason);
  expect(/ line=(\d+)/.exec(watched.lines.join())?.[1]).toBe(line?.toString());
  expect(watched.now()).toEqual([]);
});

test("bytes that are no UTF-8, folders with a file's name and dangling links are refused, and the rest is read", async () => {
  const folder = join(await newPlace(), "mappings");
  await mkdir(join(folder, "b.toml"), { recursive: true });
  await writeFile(join(folder, "a.toml"), new Uint8Array([0x23, 0xff, 0xfe]));
  await symlink(join(folder, "nowhere"), join(folder, "c.toml"));
  await writeFile(join(folder, "d.toml"), table("d"));
  const watched = await start(folder);
  expect(patterns(watched)).toEqual(["d"]);
  const refused = watched.lines
    .filter((line) => line.startsWith("error"))
    .map((line) => /file=(\S+)/.exec(line)?.[1]);
  expect(refused).toEqual(["a.toml", "b.toml", "c.toml"]);
});

const idsOf = (mappings: readonly { readonly id: number }[]) => mappings.map(({ id }) => id);

test("an id is negative, fits the API, and is not changed by what happens to other files", async () => {
  const watched = await startWith({ "m.toml": table("m1") + table("m2") });
  const ids = idsOf(watched.now());
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) {
    expect(Number.isSafeInteger(id)).toBe(true);
    expect(String(id)).toMatch(/^-\d{1,15}$/);
  }
  await watched.write("a.toml", table("a"));
  await watched.write("z.toml", table("z"));
  await eventually(() => expect(watched.now()).toHaveLength(4));
  expect(idsOf(watched.now().slice(1, 3))).toEqual(ids);
  await watched.write("m.toml", table("other") + table("m2") + table("m3"));
  await eventually(() => expect(watched.now()).toHaveLength(5));
  expect(idsOf(watched.now().slice(1, 3))).toEqual(ids);
});

test("a text of many lines that looks like a mapping is cut nowhere", async () => {
  const inner = "[[mapping]]\\n".repeat(3);
  const long = `${"# filler\n".repeat(1200)}[[mapping]]\n`;
  const source = `${table("a")}[[mapping]]\ntype = "text"\npattern = "p"\noverride = '''\n${long}'''\n${table("z")}`;
  const watched = await startWith({ "a.toml": source, "b.toml": table("b", `label = "${inner}"`) });
  // The long override exceeds its limit. The line in the message proves that the whole text was parsed as one value.
  expect(watched.lines[0]).toContain("override: it is longer than 4096 bytes");
  expect(watched.lines[0]).toContain(" line=9 ");
  expect(patterns(watched)).toEqual(["b"]);
});

test("marks inside of texts and comments are those of the text, however many there are", async () => {
  const marks = "a.b,c=[d]{e}";
  const many = Array.from({ length: 300 }, () => `# ${marks} "`).join("\n");
  const quotes = `"""\n${`"${marks}" `.repeat(250)}\\"""${marks}"""`;
  const source = [
    table("a", `label = "${".".repeat(200)}"`),
    `${many}\n${table("b", `label = '${"=".repeat(200)}'`)}`,
    `[[mapping]]\ntype = "text"\npattern = ${quotes}\noverride = '''${`'${marks}`.repeat(250)}'''\n`,
  ];
  const watched = await startWith({ "a.toml": source.join("\n") });
  expect(watched.lines.filter((line) => line.startsWith("error"))).toEqual([]);
  expect(watched.now().length).toBe(3);
});

test("a fault in a long file is reported with its line, and a file without a table is not read on and on", async () => {
  const many = Array.from({ length: 2000 }, (_, place) => table(`p${place}`));
  const watched = await startWith({
    "a.toml": many.with(1500, table("p", "label 7")).join(""),
    "b.toml": many.with(1500, table("p", "[launcher]")).join(""),
    "c.toml": `${many.slice(0, 500).join("")}list = [${"1,".repeat(200_000)}]\n`,
    "d.toml": `mapping = [${'{type = "text", pattern = "p", override = "x"},\n'.repeat(2000)}]`,
    "e.toml": table("e"),
  });
  const line = (file: string) => watched.lines.find((one) => one.includes(`file=${file}`));
  // Each table has five lines, and the fault is in the fifth.
  expect(line("a.toml")).toMatch(/ line=7505 reason="this is not TOML: /);
  expect(line("b.toml")).toMatch(/ line=7505 reason="there is no launcher in a file of mappings/);
  expect(line("c.toml")).toMatch(
    / line=\d{4} reason="no mapping begins in the 65536 characters from here on/,
  );
  expect(line("d.toml")).toMatch(/ line=1 reason="no mapping begins in the 65536 characters from here on/);
  expect(patterns(watched)).toEqual(["e"]);
});

test("a thousand mappings of one file are read in their order", async () => {
  const count = 1000;
  const watched = await startWith({
    "a.toml": Array.from({ length: count }, (_, place) => table(`p${place}`)).join("\n"),
  });
  expect(patterns(watched)).toEqual(Array.from({ length: count }, (_, place) => `p${place}`));
});

test("a file that is not admitted is refused, and the files that are stay", async () => {
  const folder = join(await newPlace(), "mappings");
  await mkdir(folder);
  for (const name of ["a", "b", "c"])
    await writeFile(join(folder, `${name}.toml`), table(name) + table(`${name}2`));
  const watched = await start(folder, (all) => (all.length > 4 ? "these are too many" : undefined));
  expect(patterns(watched)).toEqual(["a", "a2", "b", "b2"]);
  expect(watched.lines.join("\n")).toContain('file=c.toml reason="these are too many" kept=0');
});

test("a file that others left no room for stayed refused after they had become smaller", async () => {
  const folder = await newPlace();
  await writeFile(join(folder, "a.toml"), table("a1") + table("a2"));
  await writeFile(join(folder, "b.toml"), table("b"));
  const watched = await start(folder, (all) => (all.length > 2 ? "they are too many" : undefined));
  expect(patterns(watched)).toEqual(["a1", "a2"]);
  // A refusal is logged once, and not at each read.
  await watched.files.reload();
  await watched.files.reload();
  expect(watched.lines.filter((line) => line.includes("they are too many"))).toHaveLength(1);
  await watched.write("a.toml", table("a1"));
  await watched.files.reload();
  expect(patterns(watched)).toEqual(["a1", "b"]);
});

test("of too many files the first by name are read", async () => {
  const names = Array.from(
    { length: mappingFilesMax + 1 },
    (_, place) => `f${String(place).padStart(4, "0")}`,
  );
  const watched = await startWith(Object.fromEntries(names.map((name) => [`${name}.toml`, table(name)])));
  expect(patterns(watched)).toEqual(names.slice(0, mappingFilesMax));
  expect(watched.lines.join("\n")).toContain("the last by name are not read");
});

test("a file that is only touched changes nothing", async () => {
  const watched = await startWith({ "a.toml": table("a") });
  await utimes(join(watched.folder, "a.toml"), new Date(), new Date(Date.now() - 60_000));
  await watched.write("b.toml", table("b"));
  await eventually(() => expect(watched.now()).toHaveLength(2));
  expect(patterns(watched)).toEqual(["a", "b"]);
});

test("an edit by hand changes what a card launches, one line or a thousand", async () => {
  const folder = join(await newPlace(), "mappings");
  await mkdir(folder);
  await writeFile(join(folder, "a.toml"), table("card"));
  using database = new Database(":memory:", { strict: true });
  createTables(database);
  const store = {
    mappings: createMappings(database, createDurableWrites(database, { onWritten() {}, onDamage() {} })),
  };
  const files = createMappingFiles({ folder, log: silentLog, clock: systemClock });
  const mapper = await createMapper({ store, files, log: silentLog, clock: systemClock });
  started.push({ ...files, close: mapper.close });
  const map = (text: string) => mapper.map({ type: "", uid: "", text, data: "" });
  expect(map("card")).toBe("x");
  await writeFile(join(folder, "a.toml"), table("other"));
  await eventually(() => {
    expect(map("other")).toBe("x");
    expect(map("card")).toBeUndefined();
  });
  const many = Array.from({ length: 1000 }, (_, place) => table(`many ${place}`));
  await writeFile(join(folder, "a.toml"), many.join(""));
  await eventually(() => {
    expect(map("many 999")).toBe("x");
    expect(map("other")).toBeUndefined();
  });
  await rm(join(folder, "a.toml"));
  await eventually(() => expect(map("many 999")).toBeUndefined());
  expect(mapper.list()).toEqual([]);
});

test("a file that exceeds the number of regular expressions is refused, and the last mappings of all files stay", async () => {
  const folder = join(await newPlace(), "mappings");
  await mkdir(folder);
  const regexes = (count: number) =>
    Array.from({ length: count }, (_, nth) => table(`^card ${nth}$`, 'match = "regex"')).join("");
  await writeFile(join(folder, "a.toml"), regexes(regexMappingsMax));
  await writeFile(join(folder, "b.toml"), table("^b$", 'match = "regex"'));
  await writeFile(join(folder, "c.toml"), table("c"));
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const files = createMappingFiles({ folder, log, clock: systemClock });
  using database = new Database(":memory:", { strict: true });
  createTables(database);
  const mappings = createMappings(database, createDurableWrites(database, { onWritten() {}, onDamage() {} }));
  const mapper = await createMapper({ store: { mappings }, files, log, clock: systemClock });
  started.push({ ...files, close: mapper.close });
  const map = (text: string) => mapper.map({ type: "", uid: "", text, data: "" });
  const found = () => ["card 0", "card 99", "card 100", "b", "c"].filter((text) => map(text) !== undefined);
  const refusals = () => lines.filter((line) => line.startsWith("error"));
  expect(found()).toEqual(["card 0", "card 99", "c"]);
  expect(refusals()).toEqual([
    expect.stringMatching(/refused a file file=b\.toml reason=".*hold 101 .* 100 is the most .*" kept=0$/),
  ]);
  await writeFile(join(folder, "a.toml"), regexes(regexMappingsMax + 1));
  await mapper.reload();
  expect(found()).toEqual(["card 0", "card 99", "c"]);
  expect(refusals().at(-1)).toMatch(/file=a\.toml .* kept=100$/);
});
