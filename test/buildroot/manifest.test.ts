/** The parts that the overlay, the boards and the service use are in the system that Buildroot made (buildroot/manifest). */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { readFacts } from "../../tools/image/facts.ts";
import { readManifest } from "../../tools/image/manifest.ts";
import { readMeta } from "../../tools/image/meta.ts";
import { addonLibraries } from "../../tools/image/packages.ts";
import { root } from "../helpers/buildroot.ts";

const made = await readManifest();
const text = (path: string) => readFile(join(root, path), "utf8");
/** The parts that the last build lacks and the next build will have, by kind (buildroot/pending). */
const pending = new Map<string, string[]>();
for (const line of (await text("buildroot/pending")).split("\n")) {
  const [, kind, words] = /^(program|option|file|module): (.+)$/.exec(line) ?? [];
  if (kind !== undefined && words !== undefined)
    pending.set(kind, [...(pending.get(kind) ?? []), ...words.split(" ")]);
}
const isPending = (kind: "program" | "option" | "file" | "module", word: string) =>
  pending.get(kind)?.includes(word) ?? false;
const paths = new Set(
  [...made.files].flatMap(([folder, names]) => [...names].map((name) => `${folder}/${name}`)),
);
const programFolders = ["bin", "sbin", "usr/bin", "usr/sbin", "usr/libexec", "usr/libexec/bluetooth"];
const programs = new Set([
  ...made.applets,
  ...programFolders.flatMap((folder) => [...(made.files.get(folder) ?? [])]),
]);

/** The files of the overlay with their text. */
async function overlayFiles(): Promise<readonly (readonly [string, string])[]> {
  const found: (readonly [string, string])[] = [];
  for (const path of await readdir(join(root, "overlay"), { recursive: true }))
    if ((await lstat(join(root, "overlay", path))).isFile())
      found.push([path, await text(join("overlay", path))]);
  return found;
}

test("the manifest is of the Buildroot that makes the images", () => {
  expect(made.facts.get("buildroot")).toBe(readMeta().environment.TAPDECK_BUILDROOT ?? "none");
});

test("what is pending is really not in the manifest", () => {
  const has = {
    program: (word: string) => programs.has(word),
    option: (word: string) => made.builtIn.has(word) || made.asModule.has(word),
    module: (word: string) => made.modules.has(word) || made.modulesBuiltIn.has(word),
    file: (word: string) => paths.has(word) || !existsSync(join(root, "overlay", word)),
  };
  const stale = Object.entries(has).flatMap(([kind, isThere]) => (pending.get(kind) ?? []).filter(isThere));
  expect(stale).toEqual([]);
});

test("each program that buildroot/facts promises was made", () => {
  const { programsOf } = readFacts();
  const missing = [...programsOf].flatMap(([option, names]) =>
    names
      .filter((name) => !programs.has(name) && !isPending("program", name))
      .map((name) => `${option}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test("each file of the overlay is in the system, and no other start script", async () => {
  // The build removes the wrapper of a player that the image lacks.
  const missing = (await overlayFiles())
    .map(([path]) => path)
    .filter((path) => !paths.has(path) && !isPending("file", path));
  expect(missing).toEqual([]);
  const scripts = (await readdir(join(root, "overlay/etc/init.d")))
    .filter((name) => !isPending("file", `etc/init.d/${name}`))
    .toSorted();
  expect([...(made.files.get("etc/init.d") ?? [])].toSorted()).toEqual(scripts);
});

test("each option of the kernel's fragments was kept", async () => {
  const fragments = ["common", "qemu"].map((folder) => text(`buildroot/board/${folder}/linux.fragment`));
  const lines = (await Promise.all(fragments)).join("\n").split("\n");
  const broken = lines.filter((line) => {
    const [, option = "", value] = /^(?:# )?CONFIG_(\w+)(?:=| is not set)(\w*)/.exec(line) ?? [];
    if (option === "" || isPending("option", option)) return false;
    if (line.startsWith("#")) return made.builtIn.has(option) || made.asModule.has(option);
    if (value === "y") return !made.builtIn.has(option);
    return value === "m" && !made.asModule.has(option) && !made.builtIn.has(option);
  });
  expect(broken).toEqual([]);
});

/** Modules for boards, which the kernel of this image does not have. */
const ofOtherKernels = new Set(["bcm2835_wdt"]);

test("each module that a script of the overlay loads is there, or built in", async () => {
  const known = new Set([...made.modules, ...made.modulesBuiltIn]);
  const loaded = (await overlayFiles()).flatMap(([path, said]) =>
    [...said.matchAll(/^\s*modprobe ((?:-\w+ )*)([\w =-]+)/gm)].flatMap(([, , names = ""]) =>
      names
        .split(" ")
        .filter((name) => /^[a-z][\w-]*$/.test(name))
        .map((name) => `${path}: ${name.replaceAll("-", "_")}`),
    ),
  );
  expect(loaded.length).toBeGreaterThan(10);
  const missing = loaded.filter((line) => {
    const name = line.replace(/^.*: /, "");
    return !known.has(name) && !ofOtherKernels.has(name) && !isPending("module", name);
  });
  expect(missing).toEqual([]);
});

test("the libraries of the service's addons are there", () => {
  const libraries = new Set(["lib", "usr/lib"].flatMap((folder) => [...(made.files.get(folder) ?? [])]));
  expect(addonLibraries.filter((name) => !libraries.has(name))).toEqual([]);
});

test("each path below /usr and /lib that a script or a setting names is there", async () => {
  const named = (await overlayFiles()).flatMap(([path, said]) =>
    said
      .split("\n")
      .filter((line) => !/^\s*#/.test(line))
      .flatMap((line) => [...line.matchAll(/(?<![\w$}.])\/((?:usr|lib|sbin|bin)\/[\w./+-]*\w)/g)])
      .map(([, name = ""]) => [path, name] as const),
  );
  expect(named.length).toBeGreaterThan(20);
  const isThere = (name: string) =>
    paths.has(name) ||
    programs.has(name.replace(/^(?:usr\/)?s?bin\//, "")) ||
    existsSync(join(root, "overlay", name)) ||
    isPending("program", basename(name)) ||
    [...made.files.keys(), ...made.data.keys()].some(
      (folder) => folder === name || folder.startsWith(`${name}/`),
    ) ||
    [...made.data.keys()].some((folder) => name.startsWith(`${folder}/`));
  expect(named.filter(([, name]) => !isThere(name)).map(([path, name]) => `${path}: /${name}`)).toEqual([]);
});

test("the system and twice the kernel fit their partitions", () => {
  const { slotMib, bootMib } = readMeta();
  expect(Number(made.facts.get("system bytes"))).toBeLessThan(0.8 * slotMib * 2 ** 20);
  expect(2 * Number(made.facts.get("kernel bytes"))).toBeLessThan(0.8 * bootMib * 2 ** 20);
});
