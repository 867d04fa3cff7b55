/** The rules of the house that a compiler does not know: who may import whom, sizes, and what must not be in the tree. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const root = join(import.meta.dir, "..");

/**
 * What each folder may import, by the longest prefix that fits (ARCHITECTURE, "Who may import whom"). `*` stands for any one
 * folder, so that a new driver with a folder of its own needs no line here.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  "src/main.ts": ["src/", "drivers/index.ts"],
  "src/compose.ts": ["src/"],
  "src/wiring/": ["src/"],
  "src/wiring/health-report.ts": ["src/core/", "src/api/services.ts"],
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
  "src/cli/": ["src/cli/", "src/client/", "src/core/", "src/config/", "src/update/"],
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
  "drivers/emulator/": ["drivers/emulator/", "drivers/protocol/", "drivers/io/", "src/core/"],
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

const files = tracked().filter((file) => file.endsWith(".ts"));
const sources = files.filter((file) => file.startsWith("src/") || file.startsWith("drivers/"));

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
}

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

test("what runs in browsers needs nothing of Bun's or Node's", () => {
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

test("no source file is longer than 300 lines", () => {
  const long = sources.filter((file) => read(file).split("\n").length > 301);
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

test("no file holds what a merge left behind", () => {
  const marks = /^(?:<{7} |>{7} |={7}$)/m;
  expect(tracked().filter((file) => marks.test(read(file)))).toEqual([]);
});

test("the lockfile names no host and every package in it is pinned by its hash", () => {
  const lock = JSON.parse(read("package-lock.json"));
  const packages: [string, { resolved?: string; integrity?: string }][] = Object.entries(lock.packages);
  const wrong = packages.filter(
    ([name, entry]) => name !== "" && (entry.resolved !== undefined || entry.integrity === undefined),
  );
  expect(wrong.map(([name]) => name)).toEqual([]);
});

test("dependencies are pinned exactly", () => {
  const { dependencies, devDependencies } = JSON.parse(read("package.json"));
  const versions = Object.values({ ...dependencies, ...devDependencies });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
});

function tracked(): string[] {
  const listed = Bun.spawnSync(["git", "ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  return listed.stdout
    .toString()
    .split("\n")
    .filter((file) => file !== "" && Bun.file(join(root, file)).size > 0);
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function importsOf(file: string): Import[] {
  const lines = read(file).matchAll(/^(?:import|export)\s+(type\s)?[^;"]*?from\s+"(\.[^"]+)"/gm);
  return [...lines].map((line) => ({
    from: file,
    to: normalize(join(dirname(file), line[2] ?? "")),
    typesOnly: line[1] !== undefined,
  }));
}

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
