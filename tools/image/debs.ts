/**
 * Debian's packages for the other processor. This machine's apt downloads them with a separate state below build/, so the
 * system does not change. apt checks Debian's signature of the index, and each package's hash.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./meta.ts";
import { unusedPackages } from "./packages.ts";
import { run } from "./run.ts";

const folder = join(root, "build/image/debs");
const imageState = join(root, "build/apt");
const suite = "bookworm";
const sourcesOf = (architecture: string): readonly string[] => [
  `deb [arch=${architecture}] http://deb.debian.org/debian ${suite} main`,
  `deb-src http://deb.debian.org/debian ${suite} main`,
  `deb [arch=${architecture}] http://deb.debian.org/debian-security ${suite}-security main`,
];
/** The path of the settings of apt, once `unpackPackages` has fetched. */
const imageConfigPath = join(imageState, "apt.conf");
/** The package that names its newest kernel in its dependencies. */
const kernelPackage = "linux-image-arm64";

export interface Packages {
  /** All packages in one folder tree. */
  readonly tree: string;
  /** The version of the kernel, such as `6.1.0-56-arm64`. */
  readonly kernel: string;
}

/** Downloads and unpacks `names`, their dependencies and the kernel. Earlier downloads are kept until `make clean`. */
export async function unpackPackages(names: readonly string[]): Promise<Packages> {
  const tree = join(root, "build/image/unpacked");
  const listPath = join(tree, ".packages");
  const wanted = [...names, "without", ...unusedPackages].join(" ");
  const [known, kernel] = (await readFile(listPath, "utf8").catch(() => "")).split("\n");
  if (known === wanted && kernel !== undefined) return { tree, kernel };
  const fetched = await fetchPackages(names);
  await rm(tree, { recursive: true, force: true });
  await mkdir(`${tree}.partial`, { recursive: true });
  const files = (await readdir(folder)).filter((name) => name.endsWith(".deb"));
  for (const file of files) await run(["dpkg-deb", "--extract", join(folder, file), `${tree}.partial`]);
  await writeFile(join(`${tree}.partial`, ".packages"), `${wanted}\n${fetched}`);
  await rename(`${tree}.partial`, tree);
  return { tree, kernel: fetched };
}

/**
 * The folder in which a module for this kernel is compiled: its headers, and Kbuild's programs for this machine. The
 * folder is kept until `make clean`.
 */
export async function unpackHeaders(kernel: string): Promise<string> {
  const tree = join(root, "build/image/headers", kernel);
  const headers = join(tree, "usr/src", `linux-headers-${kernel}`);
  if (existsSync(headers)) return headers;
  const common = kernel.replace(/-arm64$/, "-common");
  const [series = ""] = /^\d+\.\d+/.exec(kernel) ?? [];
  const host = process.arch === "arm64" ? "arm64" : "amd64";
  await downloadTo(`${tree}.partial`, [
    ["arm64", [`linux-headers-${kernel}`, `linux-headers-${common}`]],
    [host, [`linux-kbuild-${series}`]],
  ]);
  // The makefile contains the path to which the package would install it.
  const makefile = join(`${tree}.partial`, "usr/src", `linux-headers-${kernel}`, "Makefile");
  await writeFile(makefile, `include ${join(tree, "usr/src", `linux-headers-${common}`)}/Makefile\n`);
  await rename(`${tree}.partial`, tree);
  return headers;
}

/** A folder with these packages for the emulated boards, without their dependencies. It is kept until `make clean`. */
export async function unpackForGuest(name: string, packages: readonly string[]): Promise<string> {
  const tree = join(root, "build/image/guest", name);
  if (existsSync(tree)) return tree;
  await downloadTo(`${tree}.partial`, [["arm64", packages]]);
  await rename(`${tree}.partial`, tree);
  return tree;
}

/** Downloads and unpacks packages of each architecture to an empty folder. */
async function downloadTo(
  tree: string,
  wanted: readonly (readonly [architecture: string, names: readonly string[]])[],
): Promise<void> {
  const debs = `${tree}.debs`;
  for (const folder of [debs, tree]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  }
  for (const [architecture, names] of wanted) {
    const environment = { APT_CONFIG: await writeAptConfig(architecture) };
    await run(["apt-get", "-qq", "update"], { environment });
    await run(["apt-get", "-qq", "download", ...names], { cwd: debs, environment });
  }
  for (const file of await readdir(debs)) await run(["dpkg-deb", "--extract", join(debs, file), tree]);
  await rm(debs, { recursive: true });
}

/** Unpacks the source of the package, as its authors published it, to a folder in `folder`. */
export async function unpackSource(name: string, folder: string): Promise<string> {
  const environment = { APT_CONFIG: imageConfigPath };
  // apt checks the signature of the index, and the hash of the source.
  await run(["apt-get", "-qq", "update"], { environment });
  await run(["apt-get", "-qq", "source", "--download-only", name], { cwd: folder, environment });
  const archive = (await readdir(folder)).find((file) => /\.orig\.tar\.[a-z0-9]+$/.test(file));
  if (archive === undefined) throw new Error(`Debian's source package ${name} has no archive`);
  const source = join(folder, "source");
  await mkdir(source);
  await run(["tar", "-x", "-f", join(folder, archive), "-C", source, "--strip-components=1"]);
  return source;
}

/** Downloads the packages, and returns the version of the kernel. */
async function fetchPackages(names: readonly string[]): Promise<string> {
  const environment = { APT_CONFIG: await writeAptConfig() };
  await run(["apt-get", "-qq", "update"], { environment });
  const depends = await run(["apt-cache", "depends", kernelPackage], { environment });
  const [, kernel] = /Depends: linux-image-(\S+)/.exec(depends) ?? [];
  if (kernel === undefined) throw new Error(`${kernelPackage} names no kernel:\n${depends}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const all = await dependenciesOf(names, environment);
  await run(["apt-get", "-qq", "download", `linux-image-${kernel}`, ...all], { cwd: folder, environment });
  return kernel;
}

/** The packages and all their dependencies, as apt would install them on an empty machine. */
async function dependenciesOf(
  names: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const install = ["apt-get", "-qq", "--print-uris", "--no-install-recommends", "install", ...names];
  const said = await run(install, { environment });
  // Each line has the form: 'address' name_version_processor.deb size hash
  const found = said.split("\n").flatMap((line) => /^'\S+' ([^_\s]+)_\S+\.deb /.exec(line)?.[1] ?? []);
  return found.filter((name) => !unusedPackages.includes(name));
}

/** Writes the settings of apt. If another processor than the image's is wanted, apt has a separate state. */
async function writeAptConfig(architecture = "arm64"): Promise<string> {
  const state = architecture === "arm64" ? imageState : `${imageState}-${architecture}`;
  const aptConfigPath = join(state, "apt.conf");
  await mkdir(join(state, "lists/partial"), { recursive: true });
  await mkdir(join(state, "cache/archives/partial"), { recursive: true });
  await writeFile(join(state, "status"), "");
  await writeFile(join(state, "sources.list"), `${sourcesOf(architecture).join("\n")}\n`);
  const lines = [
    `Dir::State "${state}"`,
    `Dir::State::status "${join(state, "status")}"`,
    `Dir::Cache "${join(state, "cache")}"`,
    `Dir::Etc::sourcelist "${join(state, "sources.list")}"`,
    `Dir::Etc::sourceparts "-"`,
    `Dir::Etc::preferencesparts "-"`,
    `APT::Architecture "${architecture}"`,
    `APT::Architectures { "${architecture}"; }`,
    `Acquire::Languages "none"`,
    // apt's own user could not write to this folder.
    `APT::Sandbox::User ""`,
  ];
  // Debian has this file; other systems need the package of the keyring.
  if (existsSync("/usr/share/keyrings/debian-archive-keyring.gpg"))
    lines.push(`Dir::Etc::trustedparts "/usr/share/keyrings"`);
  await writeFile(aptConfigPath, lines.map((line) => `${line};\n`).join(""));
  return aptConfigPath;
}
