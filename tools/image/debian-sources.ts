/**
 * Debian's archives of upstream sources. apt downloads them with separate lists, from the servers that this machine is
 * set up for, so the system does not change. apt checks Debian's signature of the index, and each archive's sum.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";
import { sumOf } from "./source-archives.ts";
import { type IndexedSource, readSourceIndex } from "./source-index.ts";

const suites = ["bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid"];
const areas = "main contrib non-free-firmware";
/** The suite whose binary packages replace sources that no server has. */
const binarySuite = "trixie";

export interface DebianSources {
  readonly index: readonly IndexedSource[];
  /** Downloads the archive and returns its path. Returns nothing if the index names it but no server has it. */
  readonly download: (source: IndexedSource) => Promise<string | undefined>;
  /** Downloads a binary package into the folder, and returns the name of its file. */
  readonly downloadPackage: (name: string, into: string) => Promise<string>;
}

/** Downloads the indexes into `folder`; those of an earlier run are used again. */
export async function openDebianSources(folder: string): Promise<DebianSources> {
  const lists = join(folder, "lists");
  const archives = join(folder, "archives");
  await mkdir(join(lists, "partial"), { recursive: true });
  await mkdir(archives, { recursive: true });
  const sourceList = join(folder, "sources.list");
  const settings = [
    `Dir::Etc::sourcelist=${sourceList}`,
    "Dir::Etc::sourceparts=/nonexistent",
    `Dir::State::lists=${lists}`,
    // The caches of the system stay as they are.
    "Dir::Cache::pkgcache=",
    "Dir::Cache::srcpkgcache=",
    "APT::Sandbox::User=root",
  ].flatMap((setting) => ["-o", setting]);
  const aptIn = (cwd: string, command: readonly string[]) =>
    run(["apt-get", "-qq", ...settings, ...command], { cwd });
  const apt = (...command: readonly string[]) => aptIn(archives, command);
  if (!existsSync(sourceList)) {
    const server = await debianServer();
    const lines = suites.map((suite) => `deb-src ${server} ${suite} ${areas}\n`);
    await writeFile(`${sourceList}.partial`, `${lines.join("")}deb ${server} ${binarySuite} ${areas}\n`);
    await rename(`${sourceList}.partial`, sourceList);
    await apt("update");
  }
  // Reading 100 MB of lists takes longer than all other work of a repeated run.
  const readPath = join(folder, "index.json");
  if (!existsSync(readPath)) {
    const found = await apt("indextargets", "--format", "$(FILENAME)", "Created-By: Sources");
    const read: IndexedSource[] = [];
    for (const file of found.trim().split("\n")) {
      read.push(...readSourceIndex(await run(["/usr/lib/apt/apt-helper", "cat-file", file])));
    }
    await writeFile(readPath, JSON.stringify(read));
  }
  const index: readonly IndexedSource[] = JSON.parse(await Bun.file(readPath).text());

  const download = async (source: IndexedSource): Promise<string | undefined> => {
    const path = join(archives, source.archive);
    // Several revisions share one archive, and a server may lack the description of one of them.
    const sharing = index.filter(
      ({ archive, sha256 }) => archive === source.archive && sha256 === source.sha256,
    );
    for (const { name, version } of sharing) {
      if (existsSync(path) && (await sumOf(path, "sha256")) === source.sha256) return path;
      await apt("source", "--download-only", "--tar-only", `${name}=${version}`).catch(() => "");
    }
    return existsSync(path) && (await sumOf(path, "sha256")) === source.sha256 ? path : undefined;
  };
  const downloadPackage = async (name: string, into: string): Promise<string> => {
    await aptIn(into, ["download", name]);
    const file = (await readdir(into)).find((each) => each.startsWith(`${name}_`));
    if (file === undefined) throw new Error(`apt downloaded no ${name}`);
    return file;
  };
  return { index, download, downloadPackage };
}

/** The address from which this machine has Debian's packages. */
async function debianServer(): Promise<string> {
  const targets = await run([
    "apt-get",
    "indextargets",
    "--format",
    "$(LABEL) $(REPO_URI)",
    "Created-By: Packages",
  ]);
  const [, address] = /^Debian (\S+)$/m.exec(targets) ?? [];
  if (address === undefined)
    throw new Error("apt has no server of Debian's packages: run apt-get update first");
  return address;
}
