/**
 * The rules of the house that a compiler does not know: the imports of each folder, sizes, and files that must not be in
 * the tree.
 */
import { expect, test } from "bun:test";
import { basename } from "node:path";
import { circlesOf } from "./helpers/import-circles.ts";
import { importsOf, read, root, sources, tracked } from "./helpers/source-tree.ts";

/**
 * The imports that each folder may have, by the longest prefix that fits (ARCHITECTURE, "Folders"). `*` stands for any
 * one folder, so a new driver with a folder of its own needs no line here.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  "src/main.ts": ["src/", "drivers/index.ts"],
  "src/compose.ts": ["src/"],
  "src/services/": ["src/"],
  "src/services/health-report.ts": ["src/core/", "src/api/services.ts"],
  "src/services/uploads/": [
    "src/services/uploads/",
    "src/api/ (types)",
    "src/launch/",
    "src/media/",
    "src/config/",
    "src/secure/",
    "src/system/",
    "src/bus.ts",
    "src/core/",
  ],
  "src/v1/": ["src/v1/", "src/secure/", "src/core/", "src/api/ (types)", "src/store/ (types)"],
  "src/mappings/": [
    "src/mappings/",
    "src/config/",
    "src/store/",
    "src/script/",
    "src/bus.ts",
    "src/events.ts",
    "src/core/",
  ],
  "src/cli/": [
    "src/cli/",
    "src/client/",
    "src/core/",
    "src/config/",
    "src/update/",
    "src/backup/",
    "src/fleet/",
    "src/system/download.ts",
  ],
  "src/backup/": ["src/backup/", "src/mappings/", "src/config/", "src/store/", "src/system/", "src/core/"],
  "src/fleet/": [
    "src/fleet/",
    "src/config/",
    "src/mappings/",
    "src/system/",
    "src/bus.ts",
    "src/events.ts",
    "src/core/",
    "src/api/ (types)",
  ],
  "src/mqtt/": [
    "src/mqtt/",
    "src/system/tls-files.ts",
    "src/system/client-certificate.ts",
    "src/core/",
    "src/bus.ts",
    "src/config/ (types)",
  ],
  "src/update/": ["src/update/", "src/core/"],
  "src/api/": [
    "src/api/",
    "src/core/",
    "src/bus.ts",
    "src/events.ts",
    "src/secure/failure.ts",
    "src/secure/ (types)",
    "src/v1/ (types)",
  ],
  "src/launch/": [
    "src/launch/",
    "src/mappings/",
    "src/script/",
    "src/media/",
    "src/players/",
    "src/store/",
    "src/config/",
    "src/system/",
    "src/bus.ts",
    "src/events.ts",
    "src/core/",
  ],
  "src/players/": ["src/players/", "src/system/", "src/core/"],
  "src/media/": [
    "src/media/",
    "src/store/",
    "src/config/",
    "src/system/",
    "src/bus.ts",
    "src/events.ts",
    "src/core/",
  ],
  "src/readers/": ["src/readers/", "src/config/", "src/system/", "src/bus.ts", "src/events.ts", "src/core/"],
  "src/config/": ["src/config/", "src/core/"],
  "src/store/": ["src/store/", "src/core/"],
  "src/system/": ["src/system/", "src/core/", "package.json"],
  "src/screen/": ["src/screen/", "src/system/", "src/core/"],
  "src/script/": ["src/script/", "src/core/"],
  "src/bus.ts": ["src/core/", "src/events.ts"],
  "src/events.ts": ["src/core/"],
  "src/core/": ["src/core/"],
  "src/secure/": ["src/secure/", "src/core/"],
  "src/web/": ["src/web/", "src/client/", "src/core/"],
  "src/client/": ["src/client/", "src/secure/", "src/core/", "src/api/ (types)", "src/events.ts (types)"],
  "drivers/index.ts": ["drivers/", "src/readers/driver.ts"],
  "drivers/protocol/": ["drivers/protocol/", "src/core/"],
  "drivers/io/": ["drivers/io/", "src/core/"],
  "drivers/tags/": ["drivers/tags/", "drivers/protocol/", "src/readers/driver.ts", "src/core/"],
  "drivers/": [
    "drivers/*/",
    "drivers/pn532-uart.ts",
    "drivers/one-card-presence.ts",
    "src/readers/driver.ts",
    "src/core/",
  ],
};

const files = tracked.filter((file) => file.endsWith(".ts"));

test("the tree has sources to look at", () => {
  expect(sources.length).toBeGreaterThan(30);
});

test("imports point down, as the table in ARCHITECTURE says", () => {
  const wrong = sources.flatMap(importsOf).filter(({ from, to, typesOnly }) => {
    const allowed = mayImport[longestPrefix(from)] ?? [];
    const fits = (rule: string) =>
      rule.endsWith(" (types)") ? typesOnly && to.startsWith(rule.slice(0, -8)) : isBelow(to, rule);
    return !allowed.some(fits);
  });
  expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
});

test("no files import each other in a circle, not even types", () => {
  const circles = circlesOf(sources.flatMap(importsOf));
  expect(circles.map((circle) => circle.map(({ from, to }) => `${from} -> ${to}`))).toEqual([]);
});

test("only drivers/io speaks to libc", () => {
  const users = sources.filter((file) => read(file).includes('from "bun:ffi"'));
  expect(users.filter((file) => !file.startsWith("drivers/io/"))).toEqual([]);
  expect(users.length).toBeGreaterThan(0);
});

test("the codecs are pure: no timers, no files, no Bun", () => {
  const impure = /\b(setTimeout|setInterval|setImmediate|Bun\.|process\.|performance\.)|from "(node|bun):/;
  const wrong = sources.filter(
    (file) => file.startsWith("drivers/protocol/") && impure.test(withoutComments(read(file))),
  );
  expect(wrong).toEqual([]);
});

test("the code that runs in browsers needs nothing of Bun's or Node's", () => {
  const inBrowsers = [
    "src/client/",
    "src/secure/",
    "src/web/page/",
    "src/core/pairing-link.ts",
    "src/core/hex.ts",
  ];
  const foreign = /from "(node|bun):|\bBun\.|\bBuffer\b|\bprocess\.|\brequire\(/;
  const wrong = sources.filter(
    (file) =>
      inBrowsers.some((prefix) => file.startsWith(prefix)) && foreign.test(withoutComments(read(file))),
  );
  expect(wrong).toEqual([]);
});

test("src never names a chip", () => {
  const wrong = sources.filter(
    (file) =>
      file.startsWith("src/") &&
      /pn532|acr122/i.test(withoutComments(read(file)).replace(/`[^`]*`|"[^"]*"/g, "")),
  );
  expect(wrong).toEqual([]);
});

test("SQL stands in src/store only", () => {
  const wrong = sources.filter(
    (file) => !file.startsWith("src/store/") && /"bun:sqlite"|\bINSERT INTO\b/.test(read(file)),
  );
  expect(wrong).toEqual([]);
});

const fileLinesMax = 500;

test("no source file is longer than 500 lines", () => {
  const long = sources.filter((file) => read(file).trimEnd().split("\n").length > fileLinesMax);
  expect(long).toEqual([]);
});

test("every source file opens with what it is for", () => {
  const silent = sources.filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(read(file)));
  expect(silent.filter((file) => !isDataFile(file))).toEqual([]);
});

test("no blind eye: no any, no ignored errors, no focused or disabled tests", () => {
  const marks = /: any\b|as any\b|@ts-(ignore|nocheck|expect-error)|\b(test|describe)\.(only|todo)\(/;
  const self = "test/tidy.test.ts";
  expect(files.filter((file) => file !== self && marks.test(read(file)))).toEqual([]);
});

test("a file name stands for one thing", () => {
  const names = sources
    .map((file) => basename(file))
    .filter((name) => !["index.ts", "main.ts"].includes(name));
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  expect([...new Set(twice)]).toEqual([]);
});

/** Exported names that may stand in two files: a method of the API and the script command of the same name. */
const sharedNames = new Set(["stop", "launch", "playlist", "pair", "confirm"]);

test("an exported name stands for one thing", () => {
  const files = new Map<string, string[]>();
  for (const file of sources)
    for (const [, name = ""] of read(file).matchAll(
      /^export (?:async )?(?:declare )?(?:function\*?|const|class|type|interface) (\w+)/gm,
    ))
      files.set(name, [...(files.get(name) ?? []), file]);
  const twice = [...files].filter(([name, where]) => new Set(where).size > 1 && !sharedNames.has(name));
  expect(twice.map(([name, where]) => `${name}: ${[...new Set(where)].join(" ")}`)).toEqual([]);
});

const functionLinesMax = 80; // Without the lines of the functions within it, which count separately.

test("no function is longer than 80 lines", () => {
  const long = sources.filter((file) => !isDataFile(file)).flatMap(longFunctionsOf);
  expect(long).toEqual([]);
});

test("a file of fewer than 25 lines has more than one importer", () => {
  const importers = new Map<string, Set<string>>();
  const importing = [...sources, ...files.filter((file) => file.startsWith("tools/"))];
  for (const { from, to } of importing.flatMap(importsOf))
    importers.set(to, (importers.get(to) ?? new Set()).add(from));
  // Files that must be separate because they are loaded at another moment than their importer.
  const byMoment = new Set(
    importing.flatMap(importsOf).flatMap(({ to, how }) => (how === "names" ? [] : [to])),
  );
  const small = sources.filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".d.ts") && read(file).split("\n").length <= 25,
  );
  // A program of its own, or one that the build names, has no importer at all.
  expect(small.filter((file) => importers.get(file)?.size === 1 && !byMoment.has(file))).toEqual([]);
});

/** `src/readers/presence.ts` for `test/unit/readers/presence.test.ts`; drivers and C programs are below the root. */
const sourcesOf = (unitTest: string) => {
  const mirrored = unitTest.replace("test/unit/", "").replace(/\.test\.ts$/, "");
  return [`src/${mirrored}.ts`, `${mirrored}.ts`, `${mirrored}.c`];
};

test("the test of a source was not to be found: a unit test has its path, or a line `Covers:` with paths that are there", () => {
  const known = new Set(tracked);
  const isThere = (path: string) => known.has(path) || tracked.some((file) => file.startsWith(`${path}/`));
  const unitTests = tracked.filter((file) => /^test\/unit\/.*\.test\.ts$/.test(file));
  const lost = unitTests.filter((file) => {
    const [, covered] = /^(?: \*|\/\/) Covers: (.+)\.$/m.exec(read(file)) ?? [];
    return covered === undefined
      ? !sourcesOf(file).some(isThere)
      : !covered.split(", ").every((path) => isThere(path));
  });
  expect(lost).toEqual([]);
  expect(unitTests.length).toBeGreaterThan(100);
});

test("the subject of a commit is `area: imperative`, in 60 characters", () => {
  const log = Bun.spawnSync(["git", "log", "--no-merges", "--since=2026-11-22T21:00:00Z", "--format=%s"], {
    cwd: root,
  });
  const subjects = log.stdout
    .toString()
    .split("\n")
    .filter((subject) => subject !== "");
  expect(
    subjects.filter((subject) => !/^[a-z0-9-]+: [a-z].{1,}[^.]$/.test(subject) || subject.length > 60),
  ).toEqual([]);
});

test("no file holds what a merge left behind", () => {
  const marks = /^(?:<{7} |>{7} |={7}$)/m;
  expect(tracked.filter((file) => marks.test(read(file)))).toEqual([]);
});

const packageFolders = ["", "test/clients/node/"];

test("the lockfiles name no host and every package in them is pinned by its hash", () => {
  const wrong = packageFolders.flatMap((folder) => {
    const lock = JSON.parse(read(`${folder}package-lock.json`));
    const packages: [string, { resolved?: string; integrity?: string }][] = Object.entries(lock.packages);
    return packages
      .filter(
        ([name, entry]) => name !== "" && (entry.resolved !== undefined || entry.integrity === undefined),
      )
      .map(([name]) => `${folder}${name}`);
  });
  expect(wrong).toEqual([]);
});

test("dependencies are pinned exactly", () => {
  const versions = packageFolders.flatMap((folder) => {
    const { dependencies, devDependencies } = JSON.parse(read(`${folder}package.json`));
    return Object.values({ ...dependencies, ...devDependencies });
  });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
});

function longestPrefix(file: string): string {
  const fitting = Object.keys(mayImport).filter((prefix) => file.startsWith(prefix));
  return fitting.sort((a, b) => b.length - a.length)[0] ?? "";
}

/** True if `path` begins with `rule`, in which `*` is the name of any one folder. */
function isBelow(path: string, rule: string): boolean {
  const names = path.split("/");
  return path.startsWith(
    rule
      .split("/")
      .map((part, index) => (part === "*" ? names[index] : part))
      .join("/"),
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}

function isDataFile(file: string): boolean {
  return file.endsWith(".json");
}

/** Functions of too many lines, by the formatter's indentation: a function ends at the next brace at its own depth. */
function longFunctionsOf(file: string): string[] {
  const lines = read(file).split("\n");
  const opens =
    /^(\s*)(?:.*\bfunction\b.*|.*=> |.*\)(?:: [^{]*)? |(?:async |get |\*)?[\w[\].]+\(.*\)(?:: .*)? )\{$/;
  const open: { indent: string; line: number; inner: number }[] = [];
  const long: string[] = [];
  lines.forEach((line, at) => {
    const last = open.at(-1);
    if (last !== undefined && new RegExp(`^${last.indent}\\}`).test(line)) {
      open.pop();
      const whole = at - last.line + 1;
      const mine = whole - last.inner;
      if (mine > functionLinesMax) long.push(`${file}:${last.line + 1}: ${mine} lines`);
      const outer = open.at(-1);
      if (outer !== undefined) outer.inner += whole;
    }
    const found = opens.exec(line);
    if (
      found !== null &&
      !/^\s*(?:\} )?(?:if|else|for|while|switch|catch|do|try)\b/.test(line) &&
      !/^\s*(?:export )?(?:interface|type|class) /.test(line)
    )
      open.push({ indent: found[1] ?? "", line: at, inner: 0 });
  });
  return long;
}
