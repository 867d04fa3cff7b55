/**
 * Fills a folder with all files that Buildroot downloads for our boards, from Debian's and PyPI's archives of sources and
 * from given git checkouts. A missing version is replaced by the nearest one, which the table shows:
 *
 *   bun tools/image/buildroot-sources.ts --buildroot FOLDER --out FOLDER [--checkouts FOLDER] [--config FILE] BOARD...
 *
 *   OUT/dl                 the downloads
 *   OUT/buildroot          a copy of Buildroot with the sums of the replacements, without the patches that do not fit them
 *   OUT/patches            a copy of our own sums, likewise
 *   OUT/BOARD.mk           the sources of this project's own packages whose archive is missing, from the nearest tag of a checkout
 *   OUT/BOARD.config       the lines that the board's configuration needs for all this, and those of FILE
 *   OUT/sources.tsv        the table: archive, its source, its sum, patches left out
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type DebianSources, openDebianSources } from "./debian-sources.ts";
import { root } from "./meta.ts";
import { run } from "./run.ts";
import * as archives from "./source-archives.ts";
import { sourceChoices } from "./source-choices.ts";
import { sameVersion } from "./source-index.ts";
import { type ArchiveRow, countKinds, readTable, writeTable } from "./source-table.ts";
import {
  replaceSums,
  type Sum,
  versionInName,
  type WantedArchive,
  wantedArchives,
  withoutLicenceSums,
} from "./source-wanted.ts";
import { hasCommit, type SourceJob, takeAsWanted, takeNearest } from "./source-ways.ts";

const { values, positionals: boards } = parseArgs({
  allowPositionals: true,
  options: {
    buildroot: { type: "string" },
    out: { type: "string" },
    checkouts: { type: "string" },
    config: { type: "string" },
    external: { type: "string", default: join(root, "buildroot") },
  },
});
if (values.buildroot === undefined || values.out === undefined || boards.length === 0) {
  process.stderr.write("buildroot-sources.ts: say --buildroot FOLDER, --out FOLDER and the boards\n");
  process.exit(2);
}
const pristine = resolve(values.buildroot);
const out = resolve(values.out);
const checkouts = values.checkouts === undefined ? undefined : resolve(values.checkouts);
const external = resolve(values.external);
/** The copies of Buildroot and of our sums get the sums of the replacements. */
const copy = join(out, "buildroot");
const patches = join(out, "patches");
const tablePath = join(out, "sources.tsv");
/** Each board has its own, because the boards differ in the kernel and the firmware that is replaced. */
const boardFile = (ending: string) => join(out, `${boards.join("-")}.${ending}`);
const scratch = join(out, "scratch");

await mkdir(out, { recursive: true });
if (!existsSync(join(copy, "Makefile"))) await run(["cp", "--archive", pristine, copy]);
const ownPatches = join(external, "patches");
if (existsSync(ownPatches) && !existsSync(patches)) await run(["cp", "--archive", ownPatches, patches]);
const wanted = new Map<string, WantedArchive>();
for (const board of boards)
  for (const each of wantedArchives(await infoOf(board))) wanted.set(each.file, each);
const debian = await openDebianSources(join(out, "debian"));
const known = new Map((await readTable(tablePath)).map((row) => [row.file, row]));
const rows: ArchiveRow[] = [];
const overrides: string[] = [];
for (const archive of wanted.values()) {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  const row = (await rowOfEarlierRun(archive)) ?? (await provide(archive, debian));
  say([row.kind.padEnd(12), row.file, row.from, ...row.patchesLeftOut].join("  "));
  rows.push(row);
  known.set(row.file, row);
  await writeTable(tablePath, [...known.values()]);
}
await rm(scratch, { recursive: true, force: true });
const settings = [
  `BR2_DL_DIR="${join(out, "dl")}"`,
  `BR2_GLOBAL_PATCH_DIR="${patches}"`,
  // With these lines, a download from another server always causes an error.
  'BR2_PRIMARY_SITE="file:///nonexistent"',
  "BR2_PRIMARY_SITE_ONLY=y",
  `BR2_PACKAGE_OVERRIDE_FILE="${boardFile("mk")}"`,
  ...rows.flatMap(({ file, kind }) =>
    kind === "replaced" && hasCommit(file)
      ? (sourceChoices[wanted.get(file)?.name ?? ""]?.commitConfig ?? [])
      : [],
  ),
];
await writeFile(boardFile("mk"), overrides.join(""));
await writeFile(boardFile("config"), `${settings.join("\n")}\n${await readConfig()}`);
for (const line of countKinds(rows)) say(line);
process.exit(rows.some(({ kind }) => kind === "missing") ? 1 : 0);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Reports why one source of an archive failed, and continues with the next source. */
function sayWhy({ file }: WantedArchive): (cause: unknown) => undefined {
  return (cause) => {
    const [reason, ...output] = String(cause)
      .split("\n")
      .filter((line) => line !== "");
    say(`${file}: ${[reason, ...output.slice(-3)].join("\n  ")}`);
  };
}

async function readConfig(): Promise<string> {
  return values.config === undefined ? "" : await Bun.file(values.config).text();
}

/** All packages of the board, as Buildroot describes them. */
async function infoOf(board: string): Promise<unknown> {
  const output = join(out, "probe", board);
  const make = ["make", "-s", "-C", pristine, `BR2_EXTERNAL=${external}`, `O=${output}`];
  await run([...make, `tapdeck_${board}_defconfig`]);
  const config = join(output, ".config");
  await writeFile(config, (await Bun.file(config).text()) + (await readConfig()));
  await run([...make, "olddefconfig"]);
  return JSON.parse(await run([...make, "show-info"]));
}

/** The row of an archive that exists already, with the source that Buildroot or an earlier run states for it. */
async function rowOfEarlierRun(archive: WantedArchive): Promise<ArchiveRow | undefined> {
  const row = known.get(archive.file);
  const target = targetOf(archive);
  if (row === undefined || row.kind === "missing" || !existsSync(target)) return undefined;
  const sums = await sumsOf(archive);
  if (row.kind === "as wanted") return (await archives.sumsMatch(target, sums)) ? row : undefined;
  if ((await archives.sumOf(target, "sha256")) !== row.sha256) return undefined;
  // The copy of Buildroot may be a new one.
  await noteReplacement(archive, row.sha256);
  await leaveOutOptions(archive);
  for (const patch of row.patchesLeftOut) await rm(join(copy, patch), { force: true });
  return row;
}

async function provide(archive: WantedArchive, debian: DebianSources): Promise<ArchiveRow> {
  const target = targetOf(archive);
  const sums = await sumsOf(archive);
  const recipe = recipeOf(archive);
  const configures = existsSync(recipe) && (await Bun.file(recipe).text()).includes("autotools-package");
  const checkout = checkoutOf(archive);
  const job: SourceJob = { archive, sums, target, configures, buildroot: copy, checkout, debian, scratch };
  await mkdir(dirname(target), { recursive: true });
  const from = await takeAsWanted(job).catch(sayWhy(archive));
  if (from !== undefined && (await archives.sumsMatch(target, sums))) {
    await undoReplacement(archive, sums);
    return { file: archive.file, from, kind: "as wanted", sha256: "", patchesLeftOut: [] };
  }
  await rm(target, { force: true });
  // A replacement gets a sum of its own, but the recipes of this project's packages do not.
  if (isAbsolute(archive.recipe)) return await override(archive, checkout);
  const replaced = await takeNearest(job).catch(sayWhy(archive));
  if (replaced === undefined) {
    return { file: archive.file, from: "", kind: "missing", sha256: "", patchesLeftOut: [] };
  }
  const sha256 = await archives.sumOf(target, "sha256");
  await noteReplacement(archive, sha256);
  await leaveOutOptions(archive);
  const patchesLeftOut = await leaveOutPatches(archive);
  const same = sameVersion(versionInName(archive.file), replaced.version);
  const kind = same ? "same version" : "replaced";
  return { file: archive.file, from: replaced.from, kind, sha256, patchesLeftOut };
}

/**
 * Makes Buildroot take a package of this project from the nearest tag of its checkout. Buildroot asks for no sum of a checkout.
 */
async function override({ file, name, version }: WantedArchive, checkout?: string): Promise<ArchiveRow> {
  const tag = checkout && (await archives.nearestRevision(checkout, version));
  if (checkout === undefined || tag === undefined)
    return { file, from: "", kind: "missing", sha256: "", patchesLeftOut: [] };
  const folder = join(out, "override", name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await run(["sh", "-c", 'git -C "$1" archive "$2" | tar -x -C "$3"', "sh", checkout, tag, folder]);
  overrides.push(`${name.toUpperCase().replaceAll("-", "_")}_OVERRIDE_SRCDIR = ${folder}\n`);
  return { file, from: `checkout ${tag}`, kind: "replaced", sha256: "", patchesLeftOut: [] };
}

/** The files in the copies of Buildroot and of our sums that state the sum of an archive. */
async function hashFilesOf(archive: WantedArchive): Promise<readonly string[]> {
  const stated = await archives.statedSums(hashFolders(archive), archive.file);
  const paths = stated.length > 0 ? stated.map(({ path }) => path) : [hashOf(archive)].filter(existsSync);
  for (const path of paths)
    if (!path.startsWith(`${out}/`)) throw new Error(`${path} states a sum that no source here has`);
  return paths;
}

async function noteReplacement(archive: WantedArchive, sha256: string): Promise<void> {
  const hashFiles = new Set([...(await hashFilesOf(archive)), hashOf(archive)]);
  for (const path of [...hashFiles].filter(existsSync)) {
    const text = withoutLicenceSums(await Bun.file(path).text());
    await writeFile(path, replaceSums(text, archive.file, [{ algorithm: "sha256", sum: sha256 }]));
  }
}

/** Undoes the changes that an earlier run made in the copy of Buildroot for a replacement, except the sums of licences. */
async function undoReplacement(archive: WantedArchive, sums: readonly Sum[]): Promise<void> {
  if (isAbsolute(archive.recipe)) return;
  for (const path of await hashFilesOf(archive))
    await writeFile(path, replaceSums(await Bun.file(path).text(), archive.file, sums));
  for (const name of archive.patches) await copyFile(join(pristine, name), join(copy, name));
  if (sourceChoices[archive.name]?.unknownOptions === undefined) return;
  const recipe = recipeOf(archive);
  await copyFile(recipe.replace(copy, pristine), recipe);
}

/** Removes from the recipe, in the copy of Buildroot, the options that the replacement does not know. */
async function leaveOutOptions(archive: WantedArchive): Promise<void> {
  const unknown = sourceChoices[archive.name]?.unknownOptions ?? [];
  if (unknown.length === 0) return;
  const path = recipeOf(archive);
  const recipe = await Bun.file(path).text();
  const kept = unknown.reduce(
    (text, option) => text.replaceAll(new RegExp(`${option}(?![\\w-])`, "g"), ""),
    recipe,
  );
  await writeFile(path, kept);
}

function hashOf({ recipe }: WantedArchive): string {
  return join(inBuildroot(recipe), `${basename(recipe)}.hash`);
}

function recipeOf({ recipe }: WantedArchive): string {
  return join(inBuildroot(recipe), `${basename(recipe)}.mk`);
}

/** Removes from the copy of Buildroot the patches that do not fit the replacement, and returns their names. */
async function leaveOutPatches(archive: WantedArchive): Promise<readonly string[]> {
  const tree = join(scratch, "patched");
  const left: string[] = [];
  for (const name of archive.patches.filter((each) => existsSync(join(pristine, each)))) {
    if (!existsSync(tree)) await archives.unpackArchive(targetOf(archive), tree);
    const path = join(copy, name);
    await copyFile(join(pristine, name), path);
    // The options of Buildroot's support/scripts/apply-patches.sh.
    const patch = ["patch", "-F0", "-g0", "-p1", "--no-backup-if-mismatch", "-t", "-N", "-d", tree, "-i"];
    const fits = await run([...patch, path, "--dry-run"]).then(
      () => true,
      // The output only repeats the part that does not fit.
      () => false,
    );
    if (fits) {
      await run([...patch, path]);
      continue;
    }
    await rm(path);
    left.push(name);
  }
  return left;
}

async function sumsOf(archive: WantedArchive): Promise<readonly Sum[]> {
  const folders = hashFolders(archive).map((folder) =>
    folder.replace(copy, pristine).replace(patches, ownPatches),
  );
  return (await archives.statedSums(folders, archive.file)).flatMap(({ sums }) => sums);
}

/** Buildroot's folder of the package, and our folder with the sums that Buildroot lacks. */
function hashFolders({ recipe, name }: WantedArchive): readonly string[] {
  return [inBuildroot(recipe), join(patches, name)];
}

function inBuildroot(path: string): string {
  return isAbsolute(path) ? path : join(copy, path);
}

function targetOf({ folder, file }: WantedArchive): string {
  return join(out, "dl", folder, file);
}

function checkoutOf({ name }: WantedArchive): string | undefined {
  const path = checkouts && join(checkouts, name);
  return path !== undefined && existsSync(path) ? path : undefined;
}
