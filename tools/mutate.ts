/**
 * `make mutate FILE=src/...`: shows how many small changes of a source file its unit tests notice. Each mutant changes
 * one operator, condition or number in a copy of the tree; the tests that import the file run on it. A mutant that no
 * test notices is printed with its line. SAMPLE=N takes N of them, spread evenly; TESTS="..." names other tests.
 */
import { copyFile, exists, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize, relative } from "node:path";

const root = join(import.meta.dir, "..");
const scoreMin = 0.9;
const slowerMax = 5; // The time limit is this many times the duration of the unchanged file's tests. A mutant that loops for ever is also noticed.
const leastMs = 10_000;

/** The replacements. A space beside an operator keeps arrows, generics and comments apart from comparisons. */
const mutations: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/ === /g, " !== "],
  [/ !== /g, " === "],
  [/ <= /g, " < "],
  [/ >= /g, " > "],
  [/ < /g, " <= "],
  [/ > /g, " >= "],
  [/ && /g, " || "],
  [/ \|\| /g, " && "],
  [/ \?\? /g, " && "],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/ \* /g, " / "],
  [/ \+= /g, " -= "],
  [/ -= /g, " += "],
  [/ & /g, " | "],
  [/\btrue\b/g, "false"],
  [/\bfalse\b/g, "true"],
  [/\bif \((?!!)/g, "if (!"],
  [/\breturn;/g, ";"],
  [/(?<![\w.#])0(?![\w.])/g, "1"],
  [/(?<![\w.#])1(?![\w.])/g, "2"],
];

interface Mutant {
  readonly line: number;
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

/** The code alone. Comments and texts become spaces, so places stay the same. */
function codeOf(text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, " ");
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm, blank);
}

function isCode(line: string): boolean {
  return !/^\s*(import|export \*|type |interface |readonly |export (type|interface) )/.test(line);
}

function mutantsOf(text: string): readonly Mutant[] {
  const code = codeOf(text);
  const lines = code.split("\n");
  const found: Mutant[] = [];
  for (const [pattern, to] of mutations)
    for (const match of code.matchAll(pattern)) {
      const line = code.slice(0, match.index).split("\n").length;
      if (!isCode(lines[line - 1] ?? "")) continue;
      const [from] = match;
      // A negated condition needs brackets around the whole of it. This is simple only for a condition on one line.
      const mutated = from.startsWith("if (")
        ? negated(text, match.index)
        : replaced(text, match.index, from, to);
      if (mutated !== undefined) found.push({ line, from: from.trim(), to: to.trim(), text: mutated });
    }
  return found.sort((a, b) => a.line - b.line);
}

function replaced(text: string, at: number, from: string, to: string): string {
  return `${text.slice(0, at)}${to}${text.slice(at + from.length)}`;
}

function negated(text: string, at: number): string | undefined {
  const start = at + "if (".length;
  let depth = 1;
  for (let end = start; end < text.length && text[end] !== "\n"; end++) {
    if (text[end] === "(") depth += 1;
    if (text[end] === ")") depth -= 1;
    if (depth === 0) return `${text.slice(0, start)}!(${text.slice(start, end)})${text.slice(end)}`;
  }
  return undefined;
}

/** The unit tests that import the file, and the one with its name. */
async function testsOf(file: string): Promise<readonly string[]> {
  const folder = join(root, "test/unit");
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".test.ts"));
  const found: string[] = [];
  for (const name of names) {
    const path = join("test/unit", name);
    const imports = (await Bun.file(join(root, path)).text()).matchAll(/from "(\.[^"]+)"/g);
    const isImporter = [...imports].some(([, to = ""]) => normalize(join(dirname(path), to)) === file);
    if (isImporter || path === join("test/unit", file.replace(/^src\//, "").replace(/\.ts$/, ".test.ts")))
      found.push(path);
  }
  return found;
}

/** All files that git knows, in their present state, with the packages of this tree. */
async function copyTree(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-mutate-"));
  const list = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  for (const path of list.stdout.toString().split("\0")) {
    if (path === "" || !(await exists(join(root, path)))) continue;
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await copyFile(join(root, path), join(folder, path)); // The copy keeps the mode, because some tests run programs of the tree.
  }
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Whether the tests pass. After `msMax` the result is false. */
async function passes(tree: string, tests: readonly string[], msMax: number): Promise<boolean> {
  const command = [
    process.execPath,
    "test",
    "--bail",
    "--timeout",
    String(msMax),
    ...tests.map((path) => `./${path}`),
  ];
  const child = Bun.spawn(command, { cwd: tree, stdio: ["ignore", "ignore", "ignore"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), msMax);
  const code = await child.exited;
  clearTimeout(timer);
  return code === 0;
}

async function main(): Promise<number> {
  const file = relative(root, join(root, process.env.FILE ?? ""));
  if (!(await Bun.file(join(root, file)).exists())) {
    process.stderr.write(`make mutate: there is no file "${file}": make mutate FILE=src/api/envelope.ts\n`);
    return 2;
  }
  const tests = process.env.TESTS?.split(" ").filter((path) => path !== "") ?? (await testsOf(file));
  if (tests.length === 0) {
    process.stderr.write(`make mutate: no unit test imports ${file}: name one with TESTS=test/unit/...\n`);
    return 2;
  }
  const text = await Bun.file(join(root, file)).text();
  const all = mutantsOf(text);
  const sample = Math.min(all.length, Number(process.env.SAMPLE) || all.length);
  const chosen = Array.from({ length: sample }, (_, at) => all[Math.floor((at * all.length) / sample)]);
  const tree = await copyTree();
  try {
    const startedMs = performance.now();
    if (!(await passes(tree, tests, 600_000))) {
      process.stderr.write(`make mutate: ${tests.join(" ")} fails on the file as it is\n`);
      return 1;
    }
    const msMax = Math.round(leastMs + slowerMax * (performance.now() - startedMs));
    // The unchanged tests run once more with that limit, because a failure for another reason would count as a noticed
    // mutant.
    if (!(await passes(tree, tests, msMax))) throw new Error("the tests fail within the time of a mutant");
    process.stdout.write(`${file}: ${sample} of ${all.length} mutants, ${tests.join(" ")}\n`);
    let killed = 0;
    for (const mutant of chosen) {
      if (mutant === undefined) continue;
      await Bun.write(join(tree, file), mutant.text);
      if (!(await passes(tree, tests, msMax))) killed += 1;
      else process.stdout.write(`survived: ${file}:${mutant.line}: ${mutant.from} became ${mutant.to}\n`);
    }
    process.stdout.write(
      `${killed} of ${sample} mutants killed (${((100 * killed) / sample).toFixed(0)} %)\n`,
    );
    return killed >= scoreMin * sample ? 0 : 1;
  } finally {
    await rm(tree, { recursive: true });
  }
}

process.exit(await main());
