/**
 * Writes a manifest of Buildroot's output: `bun tools/image/manifest.ts OUTPUT`, with the folder of that output. The
 * manifest (buildroot/manifest) has the paths of the system, the applets of BusyBox, the options and modules of the
 * kernel, and the shared libraries. By this file CI compares the overlay and the service with them
 * (test/buildroot/manifest.test.ts).
 */
import { lstat, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readMeta, root } from "./meta.ts";

export const manifestPath = join(root, "buildroot/manifest");
const lineLengthMax = 130;

/** The content of one image, by subject. Paths have no slash at the start. */
export interface Manifest {
  /** Sizes in bytes, and the version of Buildroot, by name. */
  readonly facts: ReadonlyMap<string, string>;
  /** Names of files and links by folder. */
  readonly files: ReadonlyMap<string, ReadonlySet<string>>;
  /** Folders of data, whose files are only counted. */
  readonly data: ReadonlyMap<string, string>;
  readonly applets: ReadonlySet<string>;
  /** Options of the kernel without `CONFIG_`: built in, and as modules. */
  readonly builtIn: ReadonlySet<string>;
  readonly asModule: ReadonlySet<string>;
  /** The names of modules, with `_` for `-`. Built-in modules are also in the list. */
  readonly modules: ReadonlySet<string>;
  readonly modulesBuiltIn: ReadonlySet<string>;
}

/** Throws a sentence if a line is not SUBJECT: words. */
export async function readManifest(path = manifestPath): Promise<Manifest> {
  const subjects = new Map<string, readonly string[]>();
  for (const line of (await readFile(path, "utf8")).split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, subject, words] = /^([^:]+): (\S.*)$/.exec(line) ?? [];
    if (subject === undefined || words === undefined)
      throw new Error(`${path}: "${line}" is not SUBJECT: words`);
    subjects.set(subject, [...(subjects.get(subject) ?? []), ...words.split(" ")]);
  }
  const below = (kind: string) =>
    [...subjects].flatMap(([subject, words]) =>
      subject.startsWith(`${kind} `) ? [[subject.slice(kind.length + 1), words] as const] : [],
    );
  const set = (subject: string) => new Set(subjects.get(subject) ?? []);
  return {
    facts: new Map(below("fact").map(([name, words]) => [name, words.join(" ")])),
    files: new Map(below("files").map(([folder, words]) => [folder, new Set(words)])),
    data: new Map(below("data").map(([folder, words]) => [folder, words.join(" ")])),
    applets: set("applets"),
    builtIn: set("kernel y"),
    asModule: set("kernel m"),
    modules: set("modules"),
    modulesBuiltIn: set("modules built in"),
  };
}

/** Folders below these have files of one kind, which no script names. */
const dataFolders = [
  "usr/share/fonts",
  "usr/share/libretro",
  "usr/share/alsa",
  "usr/share/terminfo",
  "usr/share/fontconfig",
  "lib/modules",
];

async function writeManifest(output: string): Promise<void> {
  const target = join(output, "target");
  const images = join(output, "images");
  const lines: string[] = [];
  const put = (subject: string, words: Iterable<string>) => lines.push(...wrapped(subject, [...words]));
  const bytes = async (name: string) => String((await stat(join(images, name))).size);
  put("fact buildroot", [readMeta().environment.TAPDECK_BUILDROOT ?? ""]);
  put("fact kernel", await readdir(join(target, "lib/modules")));
  put("fact kernel bytes", [await bytes("Image")]);
  put("fact system bytes", [await bytes("rootfs.squashfs")]);
  put("fact image bytes", [await bytes("tapdeck.img")]);

  const files = new Map<string, string[]>();
  const data = new Map<string, { count: number; bytes: number }>();
  const applets: string[] = [];
  const entries = (await readdir(target, { recursive: true })).toSorted();
  for (const path of entries) {
    const found = await lstat(join(target, path));
    if (found.isDirectory()) continue;
    const folder = dataFolders.find((each) => path.startsWith(`${each}/`));
    if (folder !== undefined) {
      const sum = data.get(folder) ?? { count: 0, bytes: 0 };
      data.set(folder, { count: sum.count + 1, bytes: sum.bytes + found.size });
      continue;
    }
    const name = basename(path);
    const isApplet = found.isSymbolicLink() && basename(await readlink(join(target, path))) === "busybox";
    if (isApplet) applets.push(name);
    else files.set(dirname(path), [...(files.get(dirname(path)) ?? []), name]);
  }
  for (const [folder, names] of files) put(`files ${folder}`, names);
  for (const [folder, sum] of data)
    put(`data ${folder}`, [String(sum.count), "files,", String(sum.bytes), "bytes"]);
  put("applets", new Set(applets.toSorted()));

  const kernel = (await readdir(join(output, "build"))).find((name) => /^linux-\d/.test(name)) ?? "no kernel";
  const config = await readFile(join(output, "build", kernel, ".config"), "utf8");
  for (const value of ["y", "m"])
    put(
      `kernel ${value}`,
      [...config.matchAll(new RegExp(`^CONFIG_(\\w+)=${value}$`, "gm"))].map(([, name = ""]) => name),
    );
  put(
    "modules",
    entries
      .filter((path) => /^lib\/modules\/.*\.ko(\.\w+)?$/.test(path))
      .map(moduleName)
      .toSorted(),
  );
  const [release = ""] = await readdir(join(target, "lib/modules"));
  const builtIn = await readFile(join(target, "lib/modules", release, "modules.builtin"), "utf8");
  put("modules built in", builtIn.trim().split("\n").map(moduleName).toSorted());
  const head = [
    "# The files that Buildroot made from tapdeck_qemu_defconfig, with their sizes, as tools/image/manifest.ts wrote them. An",
    "# image of a board has another kernel.",
  ];
  await writeFile(manifestPath, [...head, ...lines, ""].join("\n"));
}

/** The name of a module. modprobe takes `-` and `_` alike. */
function moduleName(path: string): string {
  return basename(path)
    .replace(/\.ko(\.\w+)?$/, "")
    .replaceAll("-", "_");
}

function wrapped(subject: string, words: readonly string[]): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + word.length >= lineLengthMax) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? `${subject}: ${word}` : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

if (import.meta.main) {
  const [output] = process.argv.slice(2);
  if (output === undefined) {
    process.stderr.write("manifest.ts: say the folder of Buildroot's output\n");
    process.exit(2);
  }
  await writeManifest(resolve(output));
}
