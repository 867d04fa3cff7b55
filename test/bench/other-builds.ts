/** Builds of other commits, made in work trees below `build`, to be measured beside this one. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const processor = process.arch === "arm64" ? "arm64" : "x64";

export interface Build {
  readonly name: string;
  /** The binary for this machine. */
  readonly program: string;
  /** The binary whose instructions are counted. */
  readonly arm64: string;
}

export const ownBuild = buildIn("this build", root);

/** The builds of `BESIDE`: a list, with commas, of commits to build or of folders with builds. */
export async function buildsBeside(names = process.env.BESIDE ?? ""): Promise<readonly Build[]> {
  const builds: Build[] = [];
  for (const name of names.split(",").filter(Boolean))
    builds.push(name.includes("/") ? buildIn(name, name) : await buildOf(name));
  return builds;
}

async function buildOf(commit: string): Promise<Build> {
  const folder = join(root, "build/beside", commit);
  const made = buildIn(commit, folder);
  if (existsSync(made.program) && existsSync(made.arm64)) return made;
  await mkdir(join(root, "build/beside"), { recursive: true });
  if (!existsSync(folder)) await run(["git", "-C", root, "worktree", "add", "--detach", folder, commit]);
  const programs = [made.program, made.arm64].map((path) => path.slice(folder.length + 1));
  await run(["make", "-C", folder, ...programs]);
  // Old commits have no such program.
  await run(["make", "-C", folder, "dist/tapdeck-confine"]).catch(() => {});
  return made;
}

function buildIn(name: string, folder: string): Build {
  const at = (which: string) => join(folder, `dist/tapdeck-linux-${which}`);
  return { name, program: at(processor), arm64: at("arm64") };
}

async function run(command: readonly string[]): Promise<void> {
  // The variables of the make that started this program are not for the make of another commit.
  const { MAKEFLAGS: _, MAKEOVERRIDES: __, MAKELEVEL: ___, ...env } = process.env;
  const child = Bun.spawn([...command], { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${said}`);
}
