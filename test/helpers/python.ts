/**
 * Pythons of our own, with packages that are pinned by their hashes, for other people's programs as judges. Each is made
 * once, in `build/<name>`, and again when its requirements change.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
/** The time for making a Python in milliseconds. Some megabytes are downloaded for it. */
export const pythonSetUpMs = 180_000;

/**
 * The interpreter with the packages of `requirements`. Throws an error with the missing package if the Python cannot be
 * made.
 */
export async function pythonWith(name: string, requirements: string): Promise<string> {
  const home = join(root, "build", name);
  const python = join(home, "bin/python");
  const wanted = await readFile(requirements, "utf8");
  const madeFor = join(home, "made-for.txt");
  if ((await readFile(madeFor, "utf8").catch(() => "")) === wanted) return python;
  await rm(home, { recursive: true, force: true });
  await mkdir(join(root, "build"), { recursive: true });
  await run(
    ["python3", "-m", "venv", home],
    "install Python 3.11 or newer with Debian's package python3-venv",
  );
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
  await run([python, ...pip, "--requirement", requirements], "a package index must be within reach once");
  await writeFile(madeFor, wanted);
  return python;
}

async function run(command: readonly string[], hint: string): Promise<void> {
  if (Bun.which(command[0] ?? "") === null) throw new Error(`${command[0]} is missing; ${hint}`);
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const complaints = new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Error(`${command.join(" ")} failed; ${hint}:\n${await complaints}`);
}
