/**
 * Our own scripts by category, `test/conformance/scripts/*.txt`: each has the meaning that the public documentation of the
 * language gives it, or names the decision of docs/SCRIPT.md by which it differs.
 * Covers: src/script/commands, tools/script-differences.ts.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { findMediaFile } from "../../../src/launch/media-file.ts";
import { scriptCommands } from "../../../src/script/commands/index.ts";
import { variableNames } from "../../../src/script/expression.ts";
import { scriptDifferences } from "../../../tools/script-differences.ts";
import { pagePath } from "../../../tools/script-page.ts";
import { meaningOf, readCorpus } from "../../helpers/script-corpus.ts";

const folder = join(import.meta.dir, "../../conformance/scripts");
const entries = readdirSync(folder)
  .sort()
  .flatMap((file) => readCorpus(readFileSync(join(folder, file), "utf8"), basename(file, ".txt")));

test("the corpus holds at least 400 scripts in at least 20 categories, each once", () => {
  expect(entries.length).toBeGreaterThanOrEqual(400);
  expect(new Set(entries.map(({ category }) => category)).size).toBeGreaterThanOrEqual(20);
  const scripts = entries.map(({ script, settings }) => JSON.stringify([script, settings]));
  expect(scripts.filter((script, at) => scripts.indexOf(script) !== at)).toEqual([]);
});

test.each(entries.map((entry) => [entry.category, entry.script, entry.settings.join(" "), entry] as const))(
  "%s: %p %s means what the corpus says",
  async (_category, _script, _settings, entry) => {
    expect(entry.expected).not.toEqual([]);
    expect(await meaningOf(entry)).toEqual([...entry.expected]);
  },
);

test("each command and alias, each option and each variable has a script that runs", () => {
  const lines = entries
    .filter(({ expected }) => !expected.some((line) => line.startsWith("!")))
    .flatMap(({ expected }) => expected.filter((line) => line.startsWith("< ")));
  const missing = (all: readonly string[], isIn: (line: string, one: string) => boolean) =>
    all.filter((one) => !lines.some((line) => isIn(line, one)));
  const names = scriptCommands.flatMap((command) => command.names);
  const options = scriptCommands.flatMap((command) =>
    [...Object.keys(command.options), "when"].map((option) => `${command.names[0]} ${option}`),
  );
  expect(missing(names, (line, name) => line.split(" ")[1] === name)).toEqual([]);
  expect(missing(variableNames, (line, name) => line.includes(name))).toEqual([]);
  const hasOption = (line: string, both: string) => {
    const [name, option] = both.split(" ");
    return line.split(" ")[1] === name && new RegExp(`[?&]${option}=`).test(line);
  };
  expect(missing(options, hasOption)).toEqual([]);
});

test("the lookup of files refuses each path of the corpus that is an address", async () => {
  const addresses = entries
    .filter(({ differences }) => differences.includes("no-addresses"))
    .flatMap(({ expected }) => expected.flatMap((line) => /^= launch (\S+)/.exec(line)?.[1] ?? []));
  expect(addresses.length).toBeGreaterThanOrEqual(3);
  for (const address of addresses)
    await expect(findMediaFile(address, { roots: [folder], own: [] }, [])).rejects.toThrow(
      `${address} is an address and no file: Tapdeck opens only web radio and podcasts of script.allow_stream`,
    );
});

test("each difference that the corpus names is a decision of the page, and each decision has a script", () => {
  const page = readFileSync(pagePath, "utf8");
  const onPage = [...page.matchAll(/^\| `([a-z0-9-]+)` \|(?: [^|].* \|){3}$/gm)].map(([, name = ""]) => name);
  expect(onPage).toEqual(scriptDifferences.map(({ name }) => name));
  const named = new Set(entries.flatMap(({ differences }) => differences));
  expect([...named].sort()).toEqual([...onPage].sort());
});
