/**
 * The sources of one archive: exactly the archive that Buildroot wants, or the nearest version under the name of the
 * wanted one.
 */
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DebianSources } from "./debian-sources.ts";
import { run } from "./run.ts";
import * as archives from "./source-archives.ts";
import { type BinaryFiles, type SourceChoice, sourceChoices } from "./source-choices.ts";
import { byNearness, nearestSources, sameVersion, upstreamVersion } from "./source-index.ts";
import { type Sum, versionInName, type WantedArchive } from "./source-wanted.ts";

/** The number of Debian's versions that are tried for one archive, because servers lack some that the index names. */
const attemptsMax = 12;

export interface SourceJob {
  readonly archive: WantedArchive;
  /** The sums that Buildroot states. */
  readonly sums: readonly Sum[];
  /** The path that the archive gets. */
  readonly target: string;
  /** True if Buildroot runs a configure script of the package. */
  readonly configures: boolean;
  readonly buildroot: string;
  /** A git repository of the package. */
  readonly checkout: string | undefined;
  readonly debian: DebianSources;
  /** An empty folder for this job alone. */
  readonly scratch: string;
}

export interface Replacement {
  /** The source of the archive, such as `Debian zlib 1.3.1-1`. */
  readonly from: string;
  /** The upstream version. */
  readonly version: string;
}

/** Writes an archive that should be the one that Buildroot wants, and returns its source. The caller compares its sums. */
export async function takeAsWanted(job: SourceJob): Promise<string | undefined> {
  const { archive, sums, target, debian, checkout } = job;
  for (const source of debian.index.filter(({ sha256 }) => sums.some(({ sum }) => sum === sha256))) {
    const path = await debian.download(source);
    if (path === undefined) continue;
    await copyFile(path, target);
    return `Debian ${source.name} ${source.version}`;
  }
  if (archive.name.startsWith("python-") || sourceChoices[archive.name]?.pypi === true)
    return await takeFromPyPi(job);
  const revision = checkout && (await archives.nearestRevision(checkout, archive.version));
  if (checkout === undefined || revision === undefined || !isVersion(revision, archive)) return undefined;
  const from = `checkout ${revision}`;
  if (/-git\d+\.tar\.gz$/.test(archive.file)) {
    await archives.archiveOfBuildroot(job.buildroot, checkout, revision, target);
    return from;
  }
  return (await archives.archiveOfTag(checkout, revision, target, sums)) ? from : undefined;
}

/** Writes the nearest version that is available: Debian's or the checkout's. */
export async function takeNearest(job: SourceJob): Promise<Replacement | undefined> {
  const { archive, debian, checkout } = job;
  const choice: SourceChoice = sourceChoices[archive.name] ?? {};
  if (choice.program !== undefined) return await linkOwnProgram(job, choice.program);
  if (choice.binaryFiles !== undefined) {
    return await takeBinaryFiles(job, choice.debian ?? archive.name, choice.binaryFiles);
  }
  const wanted = hasCommit(archive.file) ? choice.commitAim : versionInName(archive.file);
  const { debian: name = archive.name, aim = wanted ?? "" } = choice;
  const revision = checkout && (await archives.nearestRevision(checkout, archive.version));
  const tree = join(job.scratch, "tree");
  const nearer = byNearness(aim);
  for (const source of nearestSources(debian.index, name, aim).slice(0, attemptsMax)) {
    const version = upstreamVersion(source.version);
    if (revision !== undefined && nearer(archives.versionOfTag(revision), version) < 0) break;
    const path = await debian.download(source);
    if (path === undefined) continue;
    await packSource(job, path, version);
    return { from: `Debian ${source.name} ${source.version.replace(/^\d+:/, "")}`, version };
  }
  if (checkout === undefined || revision === undefined) return undefined;
  const version = archives.versionOfTag(revision);
  await archives.unpackRevision(checkout, revision, tree);
  if (job.configures) await archives.prepareTree(tree, version);
  await archives.packTree(tree, job.target);
  return { from: `checkout ${revision}`, version };
}

/** Copies Debian's archive if it is complete and has the wanted compression, or packs it again. */
async function packSource(job: SourceJob, path: string, version: string): Promise<void> {
  const { folder: part, emptyMakefiles = [] } = sourceChoices[job.archive.name] ?? {};
  if (part === undefined && !job.configures && (await archives.copyArchive(path, job.target))) return;
  const whole = join(job.scratch, "whole");
  await archives.unpackArchive(path, whole);
  const tree = part === undefined ? whole : join(whole, part);
  for (const name of emptyMakefiles) {
    await mkdir(dirname(join(tree, name)), { recursive: true });
    await writeFile(join(tree, name), "");
  }
  const changed =
    emptyMakefiles.length > 0 || (job.configures && (await archives.prepareTree(tree, version)));
  if (part === undefined && !changed && (await archives.copyArchive(path, job.target))) return;
  await archives.packTree(tree, job.target);
}

/** True if the name of the archive has a commit instead of a version. */
export function hasCommit(file: string): boolean {
  return /-[0-9a-f]{40}\b/.test(file);
}

/** True if the revision is exactly the version that Buildroot wants. */
function isVersion(revision: string, archive: WantedArchive): boolean {
  return revision === archive.version || sameVersion(archives.versionOfTag(revision), archive.version);
}

async function takeFromPyPi({ archive, scratch, target }: SourceJob): Promise<string | undefined> {
  const project = archive.file.replace(/-[^-]*$/, "");
  const release = `${project}==${versionInName(archive.file)}`;
  const pip = ["python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
  await run([...pip, "--no-binary", project, "--dest", scratch, release]);
  const plain = (text: string) => text.toLowerCase().replaceAll("-", "_");
  const found = (await readdir(scratch)).find((each) => plain(each) === plain(archive.file));
  if (found === undefined) return undefined;
  await copyFile(join(scratch, found), target);
  return `PyPI ${release}`;
}

/** Packs files of a binary package as if they were a source. */
async function takeBinaryFiles(job: SourceJob, name: string, files: BinaryFiles): Promise<Replacement> {
  const { scratch, target } = job;
  const file = await job.debian.downloadPackage(name, scratch);
  await run(["dpkg-deb", "--extract", file, "unpacked"], { cwd: scratch });
  const tree = join(scratch, "tree");
  await mkdir(tree);
  for (const [path, from] of Object.entries(files)) {
    await run(["cp", "--archive", join(scratch, "unpacked", from), join(tree, path)]);
  }
  await archives.packTree(tree, target);
  const version = upstreamVersion(file.split("_")[1] ?? "");
  return { from: `Debian's binary package ${name} ${version}`, version };
}

async function linkOwnProgram({ target, scratch }: SourceJob, name: string): Promise<Replacement> {
  const path = Bun.which(name);
  if (path === null) throw new Error(`this machine has no ${name}, whose source cannot be had either`);
  const tree = join(scratch, "tree");
  await archives.linkProgram(path, tree);
  await archives.packTree(tree, target);
  const [, version = ""] = /(\d[\d.]*)$/m.exec(await run([path, "--version"])) ?? [];
  return { from: `this machine's ${name} ${version}`, version };
}
