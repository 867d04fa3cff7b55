/**
 * Makes the Debian packages from `dist/tapdeck-linux-*`, `watchdog/` and `packaging/`: `bun tools/deb.ts [amd64] [arm64]
 * [--out=FOLDER] [--uncompressed]`; without a name, both. The program needs dpkg-deb and a C compiler for each processor.
 * Without a compiler the package is skipped, or refused if it was named. The same commit gives the same bytes.
 */
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { dependencies, version } from "../package.json";
import { completionsFor } from "../src/cli/completions.ts";
import { manPage } from "./man-page.ts";

const root = join(import.meta.dir, "..");
const targets = {
  amd64: { binary: "x64", host: "x64", compiler: "x86_64-linux-gnu-gcc" },
  arm64: { binary: "arm64", host: "arm64", compiler: "aarch64-linux-gnu-gcc" },
} as const;
type Architecture = keyof typeof targets;

/** The files of the package: path in the package, file of the tree, mode. */
const files: readonly (readonly [path: string, from: string, mode?: number])[] = [
  ["usr/lib/systemd/system/tapdeck.service", "packaging/systemd/tapdeck.service"],
  ["usr/lib/sysusers.d/tapdeck.conf", "packaging/systemd/sysusers.conf"],
  ["usr/lib/tmpfiles.d/tapdeck.conf", "packaging/systemd/tmpfiles.conf"],
  ["usr/lib/udev/rules.d/70-tapdeck.rules", "packaging/udev/70-tapdeck.rules"],
  ["usr/lib/modprobe.d/tapdeck.conf", "packaging/modprobe/tapdeck.conf"],
  ["usr/share/lintian/overrides/tapdeck", "packaging/debian/lintian-overrides"],
  ["usr/share/doc/tapdeck/README.md", "README.md"],
  ["etc/default/tapdeck", "packaging/debian/default"],
  ["etc/avahi/services/tapdeck.service", "overlay/etc/avahi/services/tapdeck.service"],
  ["DEBIAN/postinst", "packaging/debian/postinst", 0o755],
  ["DEBIAN/prerm", "packaging/debian/prerm", 0o755],
  ["DEBIAN/postrm", "packaging/debian/postrm", 0o755],
];

const { values, positionals } = parseArgs({
  options: { out: { type: "string", default: join(root, "dist") }, uncompressed: { type: "boolean" } },
  allowPositionals: true,
});
const wrong = positionals.find((name) => !(name in targets));
if (wrong !== undefined) fail(`no architecture "${wrong}": there are ${Object.keys(targets).join(" and ")}`);
if (Bun.which("dpkg-deb") === null) fail("dpkg-deb is missing: install what Debian calls dpkg");
for (const name of Object.keys(targets)) {
  const architecture = name as Architecture;
  if (positionals.length > 0 && !positionals.includes(architecture)) continue;
  const compiler = compilerOf(architecture);
  if (compiler !== undefined) await pack(architecture, compiler);
  else if (positionals.length > 0)
    fail(`no C compiler for ${architecture}: install ${targets[architecture].compiler}`);
  else say(`no package for ${architecture}: its C compiler, ${targets[architecture].compiler}, is missing`);
}

async function pack(architecture: Architecture, compiler: string): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "tapdeck-deb-"));
  await chmod(place, 0o755); // The folder becomes the package's own root folder.
  try {
    await fill(place, architecture, compiler);
    await describe(place, architecture);
    const out = resolve(values.out);
    await mkdir(out, { recursive: true });
    const name = join(out, `tapdeck_${version}_${architecture}.deb`);
    const how = values.uncompressed ? ["-Znone"] : ["-Zxz"];
    await run(["dpkg-deb", "--root-owner-group", ...how, "--build", place, name]);
    say(`${relative(root, name)}: ${(Bun.file(name).size / 1e6).toFixed(1)} MB`);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Writes all files that the package installs. */
async function fill(place: string, architecture: Architecture, compiler: string): Promise<void> {
  for (const [path, from, mode] of files) await put(place, path, await readFile(join(root, from)), mode);
  await put(place, "usr/share/doc/tapdeck/copyright", await copyright());
  await put(place, "usr/share/doc/tapdeck/changelog.gz", gzipSync(await changelog(), { level: 9 }));
  await put(place, "usr/share/man/man1/tapdeck.1.gz", gzipSync(manPage(), { level: 9 }));
  await put(place, "usr/share/bash-completion/completions/tapdeck", completionsFor("bash"));
  await put(place, "usr/share/zsh/vendor-completions/_tapdeck", completionsFor("zsh"));
  await put(place, "usr/share/fish/vendor_completions.d/tapdeck.fish", completionsFor("fish"));
  const binary = join(root, "dist", `tapdeck-linux-${targets[architecture].binary}`);
  if (!(await Bun.file(binary).exists())) fail(`${relative(root, binary)} is missing: make build`);
  await mkdir(join(place, "usr/bin"), { recursive: true });
  await cp(binary, join(place, "usr/bin/tapdeck"));
  await chmod(join(place, "usr/bin/tapdeck"), 0o755);
  for (const program of ["tapdeck-watchdog", "tapdeck-confine"])
    await run([
      compiler,
      ..."-std=c11 -Wall -Wextra -Werror -O2 -D_FORTIFY_SOURCE=2 -static -s".split(" "),
      join(root, `watchdog/${program}.c`),
      "-o",
      join(place, "usr/bin", program),
    ]);
}

/** Writes the control files of dpkg. */
async function describe(place: string, architecture: Architecture): Promise<void> {
  const installed = (await filesBelow(place)).filter((path) => !path.startsWith("DEBIAN/"));
  let bytes = 0;
  let sums = "";
  for (const path of installed) {
    const content = await readFile(join(place, path));
    bytes += content.length;
    // The owner may change files below /etc; dpkg calls them conffiles.
    if (!path.startsWith("etc/")) sums += `${createHash("md5").update(content).digest("hex")}  ${path}\n`;
  }
  const control = await readFile(join(root, "packaging/debian/control"), "utf8");
  const words: Readonly<Record<string, string>> = {
    "@VERSION@": version,
    "@ARCHITECTURE@": architecture,
    "@SIZE@": String(Math.ceil(bytes / 1024)),
  };
  await put(
    place,
    "DEBIAN/control",
    control.replace(/@[A-Z]+@/g, (word) => words[word] ?? fail(`unknown ${word}`)),
  );
  await put(place, "DEBIAN/md5sums", sums);
  const conffiles = installed.filter((path) => path.startsWith("etc/"));
  await put(place, "DEBIAN/conffiles", conffiles.map((path) => `/${path}\n`).join(""));
}

/** The text with our licence, and with that of each package in the binary. */
async function copyright(): Promise<string> {
  const parts = [await readFile(join(root, "packaging/debian/copyright"), "utf8")];
  for (const name of (await bundled(Object.keys(dependencies))).sort()) {
    const folder = join(root, "node_modules", name);
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    const known = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    // MPL-2.0, section 3.2: a binary must state where its source is.
    const text =
      file === undefined
        ? `${known.license} licence. Source: ${sourceOf(known.repository)}`
        : await readFile(join(folder, file), "utf8");
    const lines = text.trim().split("\n");
    parts.push(
      `Files: usr/bin/tapdeck\nCopyright: the authors of ${name}\nLicense: ${shortName(known.license)}-${name.replaceAll(/[^a-z0-9]+/g, "-").replace(/^-/, "")}\nComment: ${name} ${known.version}\n`,
      `${lines.map((line) => ` ${line.trim() === "" ? "." : line.trimEnd()}`).join("\n")}\n\n`,
    );
  }
  return parts.join("");
}

/** A licence in one word, as the format requires. Some packages have a sentence as their licence field. */
function shortName(license: string): string {
  return license.includes(" ") ? "other" : license;
}

/** The address of a package's own sources, in either form of package.json. */
function sourceOf(repository: string | { readonly url: string } | undefined): string {
  return typeof repository === "string" ? repository : (repository?.url ?? "the package itself");
}

/** Names of the packages and, recursively, of their dependencies. */
async function bundled(names: readonly string[], known = new Set<string>()): Promise<string[]> {
  for (const name of names) {
    // A peer for types only, such as typescript, is not in `dependencies`.
    if (known.has(name)) continue;
    known.add(name);
    const path = join(root, "node_modules", name, "package.json");
    await bundled(Object.keys(JSON.parse(await readFile(path, "utf8")).dependencies ?? {}), known);
  }
  return [...known];
}

async function changelog(): Promise<string> {
  const at = new Date(epochSeconds() * 1000).toUTCString().replace("GMT", "+0000");
  const maintainer = /^Maintainer: (.*)$/m.exec(
    await readFile(join(root, "packaging/debian/control"), "utf8"),
  );
  return `tapdeck (${version}) stable; urgency=medium\n\n  * Version ${version}: its CHANGELOG.md lists the changes.\n\n -- ${maintainer?.[1]}  ${at}\n`;
}

/** The time of the commit is used, so the same commit gives the same package. */
function epochSeconds(): number {
  const asked = Number(process.env.SOURCE_DATE_EPOCH);
  if (asked > 0) return asked;
  const commit = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root, stderr: "ignore" });
  return (
    Number(commit.stdout.toString()) || Math.floor(Bun.file(join(root, "package.json")).lastModified / 1000)
  );
}

function compilerOf(architecture: Architecture): string | undefined {
  const { compiler, host } = targets[architecture];
  const native = host === process.arch ? Bun.which("cc") : null;
  return Bun.which(compiler) ?? native ?? undefined;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true });
  const kinds = await Promise.all(entries.map(async (entry) => (await stat(join(folder, entry))).isFile()));
  return entries.filter((_, index) => kinds[index]).sort();
}

async function put(place: string, path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  const whole = join(place, path);
  await mkdir(dirname(whole), { recursive: true });
  await writeFile(whole, content);
  await chmod(whole, mode);
}

async function run(argv: readonly string[]): Promise<void> {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds()) };
  const child = Bun.spawn([...argv], { cwd: root, stdout: "pipe", stderr: "pipe", env });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  if ((await child.exited) !== 0) fail(`${argv.join(" ")}\n${said}`);
}

function say(sentence: string): void {
  process.stdout.write(`${sentence}\n`);
}

function fail(sentence: string): never {
  process.stderr.write(`deb: ${sentence}\n`);
  process.exit(1);
}
