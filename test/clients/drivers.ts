/** The driver programs of the client libraries, with their pinned packages. These are installed once, into `build`. */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printed } from "../helpers/processes.ts";
import { pythonWith } from "../helpers/python.ts";

const here = import.meta.dir;
const home = join(here, "../../build/clients");

/** The command of a driver in `node`. A program finds its packages from its own folder, so the drivers are copied. */
export async function nodeDriver(name: string): Promise<readonly string[]> {
  const folder = join(home, "node");
  const lock = await readFile(join(here, "node/package-lock.json"), "utf8");
  const madeFor = join(folder, "made-for.json");
  const isMade = (await readFile(madeFor, "utf8").catch(() => "")) === lock;
  if (!isMade) await rm(folder, { recursive: true, force: true });
  await cp(join(here, "node"), folder, { recursive: true });
  if (!isMade) {
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    await printed(["npm", "--prefix", folder, "ci", "--ignore-scripts", "--omit=optional", ...quiet]);
    await writeFile(madeFor, lock);
  }
  return ["node", join(folder, name)];
}

export async function pythonDriver(name: string): Promise<readonly string[]> {
  const python = await pythonWith("clients/python", join(here, "python/requirements.txt"));
  return [python, "-B", join(here, "python", name)];
}

/** Compiles a driver in `go`. Go compares its modules with `go.sum`. */
export async function goProgram(name: string): Promise<readonly string[]> {
  const program = join(home, "go", name);
  await mkdir(join(home, "go"), { recursive: true });
  await printed([
    "env",
    "-C",
    join(here, "go"),
    "go",
    "build",
    "-buildvcs=false",
    "-o",
    program,
    `./${name}`,
  ]);
  return [program];
}
