/** Each program that a script of the image starts is on the image, by an option that the boards set (buildroot/facts). */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { boards } from "../../tools/defconfigs.ts";
import { readFacts } from "../../tools/image/facts.ts";
import { root } from "../helpers/buildroot.ts";
import { readScript, unknown } from "../helpers/shell-words.ts";

const facts = readFacts();
const overlay = join(root, "overlay");

/** Commands that the shell itself has. */
const builtins = new Set(
  ". : [ break cd command continue echo eval exec exit export false getopts hash kill local printf pwd read return set shift test trap true type ulimit umask unset wait".split(
    " ",
  ),
);

/** Programs that start the program after their own words: `timeout 10 blkid`. */
const starters = new Set(["exec", "env", "ionice", "chrt", "nice", "setpriv", "setsid", "timeout", "xargs"]);

/** The programs that a command starts. A name that is known only while the script runs is left out. */
function startedBy(words: readonly string[]): readonly string[] {
  const [name = "", ...more] = words;
  if (name.includes(unknown)) return [];
  // The first word of exec is the program, also if it is known only while the script runs.
  const isAside = (word: string) => name !== "exec" && word.startsWith(unknown);
  const next = () => more.findIndex((word) => !/^(?:-|\d+$|\w+=)/.test(word) && !isAside(word));
  if (starters.has(name)) return [name, ...(next() < 0 ? [] : startedBy(more.slice(next())))];
  const after = { find: "-exec", "start-stop-daemon": "-x" }[name];
  const at = after === undefined ? -1 : more.indexOf(after);
  return [name, ...(at < 0 ? [] : startedBy(more.slice(at + 1)))];
}

/** The functions of the file that a script sources, if it does. */
function sourcedFunctions(text: string): ReadonlySet<string> {
  const [, name] = /^\. "\$\{0%\/\*\}\/([\w-]+)"$/m.exec(text) ?? [];
  if (name === undefined) return new Set();
  return new Set(readScript(readFileSync(join(overlay, "usr/lib/tapdeck", name), "utf8")).functions);
}

/** The programs that a script starts and the image lacks. */
function lacking(text: string): readonly string[] {
  const { commands, functions: own } = readScript(text);
  const functions = new Set([...own, ...sourcedFunctions(text)]);
  return commands.flatMap(startedBy).filter((name) => {
    if (builtins.has(name) || functions.has(name)) return false;
    if (name.startsWith("/etc/") || name.startsWith("/usr/lib/")) return !existsSync(join(overlay, name));
    return !facts.programs.has(name.replace(/^\/(?:(?:usr\/)?s?bin|usr\/libexec(?:\/\w+)?)\//, ""));
  });
}

/** All scripts of the overlay, by path. */
async function scripts(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const path of await readdir(overlay, { recursive: true })) {
    const full = join(overlay, path);
    if (!existsSync(full) || !(await stat(full)).isFile()) continue;
    const text = await readFile(full, "utf8");
    if (text.startsWith("#!/bin/sh")) found.set(path, text);
  }
  return found;
}

test("each program that a script starts is on the image", async () => {
  const all = await scripts();
  expect(all.size).toBeGreaterThan(30);
  const found = [...all].flatMap(([path, text]) => lacking(text).map((name) => `${path}: ${name}`));
  expect(found).toEqual([]);
});

test("each program that init and mdev start is on the image", async () => {
  const inittab = await readFile(join(overlay, "etc/inittab"), "utf8");
  const mdev = await readFile(join(overlay, "etc/mdev.conf"), "utf8");
  const lines = [
    ...[...inittab.matchAll(/^::\w+:(.*)$/gm)].map(([, words = ""]) => words),
    ...[...mdev.matchAll(/ [@$*](\/?[a-z].*)$/gm)].map(([, words = ""]) => words),
  ];
  expect(lines.length).toBeGreaterThan(7);
  expect(lines.flatMap((line) => lacking(line).map((name) => `${line}: ${name}`))).toEqual([]);
});

test.each([
  ["x=$(partprobe1 /dev/sda | sed p)", "partprobe1"],
  ["if ! tune2fs1; then :; fi", "tune2fs1"],
  ['echo "size $(($(blockdev1 --getsz /) / 2))"', "blockdev1"],
  ["case $1 in\n  a | b) lsblk1 ;;\nesac", "lsblk1"],
  ["timeout 10 parted1 /dev/sda", "parted1"],
  ["find / -exec chcon1 {} +", "chcon1"],
  ["start-stop-daemon -S -x /usr/sbin/cron1 -- -n", "/usr/sbin/cron1"],
  ['env -i A=b C="$d" setpriv --nnp runuser1', "runuser1"],
  ["f() { true; }\nf\n# gone1\nprintf 'gone2'; gone3 >gone4", "gone3"],
])("%j starts %s", (text, name) => {
  expect(lacking(text)).toEqual([name]);
});

test.each(Object.keys(boards))(
  "each option that brings a program is set for %s, or in the fragment of BusyBox",
  async (name) => {
    const defconfig = await readFile(join(root, `buildroot/configs/${name}_defconfig`), "utf8");
    const busybox = await readFile(join(root, "buildroot/board/common/busybox.fragment"), "utf8");
    const set = new Set([...defconfig.split("\n"), ...busybox.split("\n")]);
    // This option is Buildroot's default. `e2fsck` and its like come with the package.
    const given = new Set(["BR2_PACKAGE_BUSYBOX"]);
    const options = [...facts.programsOf.keys()].filter((option) => !given.has(option));
    expect(options.filter((option) => !set.has(`${option}=y`))).toEqual([]);
    expect(set.has("CONFIG_FEATURE_STAT_FORMAT=y")).toBe(true); // The scripts call `stat -c`.
  },
);
