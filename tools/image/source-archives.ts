/**
 * Makes archives for Buildroot: the archive that git makes of a tag, or a folder that is packed under the name that
 * Buildroot wants.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "./run.ts";
import { byNearness } from "./source-index.ts";
import { readSums, type Sum } from "./source-wanted.ts";

/** True if the file has every sum that is stated for it, and at least one is stated. */
export async function sumsMatch(path: string, sums: readonly Sum[]): Promise<boolean> {
  for (const { algorithm, sum } of sums) if ((await sumOf(path, algorithm)) !== sum) return false;
  return sums.length > 0;
}

export async function sumOf(path: string, algorithm: Sum["algorithm"]): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** The sums that the hash files of `folder` state for `file`. */
export async function statedSums(
  folders: readonly string[],
  file: string,
): Promise<readonly { readonly path: string; readonly sums: readonly Sum[] }[]> {
  const found: { path: string; sums: readonly Sum[] }[] = [];
  for (const folder of folders.filter(existsSync)) {
    for (const name of (await readdir(folder, { recursive: true })).filter((each) =>
      each.endsWith(".hash"),
    )) {
      const path = join(folder, name);
      const sums = readSums(await Bun.file(path).text()).filter((sum) => sum.file === file);
      if (sums.length > 0) found.push({ path, sums });
    }
  }
  return found;
}

/** The commit or the released tag of the checkout that comes nearest to `version`. */
export async function nearestRevision(checkout: string, version: string): Promise<string | undefined> {
  if (/^[0-9a-f]{40}$/.test(version)) {
    const kind = await git(checkout, ["cat-file", "-t", version]).catch(() => "");
    return kind.trim() === "commit" ? version : undefined;
  }
  const nearer = byNearness(version);
  const tags = (await git(checkout, ["tag"])).split("\n").filter((tag) => versionOfTag(tag) !== "");
  return tags.toSorted((a, b) => nearer(versionOfTag(a), versionOfTag(b)))[0];
}

/** The version in a tag such as `v1.14`, `libnl3_11_0` or `pcre2-10.46`; empty for a candidate of a release. */
export function versionOfTag(tag: string): string {
  const [, version = ""] = /^(?!.*(?:rc|alpha|beta|pre)[-_.]?\d+$).*?(\d+(?:[._]\d+)*)$/i.exec(tag) ?? [];
  return version.replaceAll("_", ".");
}

/**
 * Writes the archive that a hosting site of git makes of the revision. The bytes depend on the first folder's name, so
 * the usual forms of the name are tried until a sum fits. Returns true if one of them fits.
 */
export async function archiveOfTag(
  checkout: string,
  revision: string,
  target: string,
  sums: readonly Sum[],
): Promise<boolean> {
  const name = basename(target).replace(/-[^-]*$/, "");
  const folders = [basename(target).replace(/\.tar\.\w+$/, ""), `${name}-${revision}`];
  for (const folder of target.endsWith(".tar.gz") ? folders : []) {
    await git(checkout, [
      "-c",
      "tar.tar.gz.command=gzip -cn",
      "archive",
      "--format=tar.gz",
      `--prefix=${folder}/`,
      `--output=${target}`,
      revision,
    ]);
    if (await sumsMatch(target, sums)) return true;
  }
  await rm(target, { force: true });
  return false;
}

/** Makes Buildroot's own helper pack the commit. The result has the bytes that Buildroot expects of a git source. */
export async function archiveOfBuildroot(
  buildroot: string,
  checkout: string,
  revision: string,
  target: string,
): Promise<void> {
  const folder = await mkdtemp(join(dirname(target), "git-"));
  const name = basename(target).replace(/-git\d+\.tar\.gz$/, "");
  const helper = join(buildroot, "support/download/git");
  const command = [
    helper,
    "-q",
    "-o",
    target,
    "-u",
    `file://${checkout}`,
    "-c",
    revision,
    "-d",
    folder,
    "-n",
    name,
  ];
  await run(command, {
    cwd: folder,
    environment: { GIT: "git", TAR: "tar", BR_BACKEND_DL_GETOPTS: ":hc:d:o:n:N:H:lru:qf:e" },
  });
  await rm(folder, { recursive: true, force: true });
}

/** Unpacks the revision below `folder`. */
export async function unpackRevision(checkout: string, revision: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const tar = join(folder, ".archive.tar");
  await git(checkout, ["archive", `--output=${tar}`, revision]);
  await run(["tar", "--extract", "--file", tar, "--directory", folder]);
  await rm(tar);
}

/** Unpacks an archive below `folder`, without its first folder. */
export async function unpackArchive(archive: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (archive.endsWith(".cpio.gz")) {
    const command =
      'gzip --decompress --stdout "$1" | cpio --extract --make-directories --quiet && mv -- */* .';
    await run(["sh", "-c", command, "sh", archive], { cwd: folder });
    return;
  }
  await run(["tar", "--extract", "--file", archive, "--strip-components=1", "--directory", folder]);
}

/**
 * Adds the files to a source tree of git that a release has beside it, if Buildroot runs its configure script: the number
 * of the version and that script. A package of Debian's needs the same if Debian removed generated files.
 */
export async function prepareTree(folder: string, version: string): Promise<boolean> {
  const has = (name: string) => existsSync(join(folder, name));
  if (has("configure") || !(has("configure.ac") || has("configure.in"))) return false;
  if (!has(".tarball-version")) await writeFile(join(folder, ".tarball-version"), `${version}\n`);
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith("Makefile.am")) continue;
    // The makefile is for a manual, which gtk-doc would write and no image has.
    const [, wanted] =
      /^include \$\(top_srcdir\)\/(\S*gtk-doc\.make)$/m.exec(await Bun.file(join(folder, file)).text()) ?? [];
    if (wanted !== undefined && !has(wanted)) await writeFile(join(folder, wanted), "EXTRA_DIST =\n");
  }
  await run(["autoreconf", "--force", "--install"], { cwd: folder });
  return true;
}

/** Makes a source tree that installs a link to this machine's own program, with the two usual steps of a build. */
export async function linkProgram(program: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const configure = [
    "#!/bin/sh",
    "for option; do case $option in --prefix=*) prefix=$(echo $option | cut -c10-) ;; esac; done",
    "printf 'all:\\ninstall:\\n\\tmkdir -p %s/bin\\n\\tln -sf %s %s/bin\\n' " +
      `"$prefix" ${program} "$prefix" >Makefile`,
    "",
  ].join("\n");
  await writeFile(join(folder, "configure"), configure, { mode: 0o755 });
  // `make legal-info` wants the licence under the name that it has in the real source.
  const name = basename(program);
  const licence = Bun.file(`/usr/share/doc/${name}/copyright`);
  const text = (await licence.exists())
    ? await licence.text()
    : `The licence of ${program} is not known here.\n`;
  await writeFile(join(folder, "COPYING"), text);
}

const compressors: Readonly<Record<string, string>> = {
  ".tar.xz": "xz --threads=2 -1",
  ".tar.gz": "gzip -1 --no-name",
  ".tar.bz2": "bzip2 -1",
  ".tar.lz": "lzip -1",
};

/** Packs the folder under the name of `target`, the same bytes each time. */
export async function packTree(folder: string, target: string): Promise<void> {
  const name = basename(target).replace(/\.(tar|cpio)\..*$/, "");
  const parent = await mkdtemp(join(dirname(folder), "pack-"));
  await rename(folder, join(parent, name));
  // All files get the same time. Otherwise a makefile would make generated files again.
  await run(["find", parent, "-exec", "touch", "--no-dereference", "--date=@1", "{}", "+"]);
  const ending = Object.keys(compressors).find((each) => target.endsWith(each));
  const pack =
    ending === undefined
      ? 'find "$1" | LC_ALL=C sort | cpio --create --format=newc --reproducible --owner=0:0 --quiet | gzip -1 --no-name'
      : `tar --create --sort=name --owner=0 --group=0 --numeric-owner "$1" | ${compressors[ending]}`;
  await run(["sh", "-c", `set -e; ${pack} >"$2.partial"`, "sh", name, target], { cwd: parent });
  await rename(`${target}.partial`, target);
  await rm(parent, { recursive: true, force: true });
}

/** Copies the archive if its compression is the wanted one, so its bytes stay the same. Returns false if it could not. */
export async function copyArchive(archive: string, target: string): Promise<boolean> {
  const ending = (path: string) => /\.(tar|cpio)\.\w+$/.exec(path)?.[0];
  if (ending(archive) !== ending(target)) return false;
  await copyFile(archive, target);
  return true;
}

function git(checkout: string, command: readonly string[]): Promise<string> {
  return run(["git", "-C", checkout, "-c", "safe.directory=*", ...command]);
}
