/** The files of the tree, for the rules of the house. */
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export const root = join(import.meta.dir, "../..");

/** Paths of the files that git knows or would add. */
export const tracked: readonly string[] = list();
export const sources = tracked.filter((file) => /^(?:src|drivers)\/.*\.ts$/.test(file));

export interface Import {
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
}

function list(): string[] {
  const listed = Bun.spawnSync(["git", "ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  return listed.stdout
    .toString()
    .split("\n")
    .filter((file) => file !== "" && Bun.file(join(root, file)).size > 0);
}

export function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

export function importsOf(file: string): Import[] {
  const lines = read(file).matchAll(/^(?:import|export)\s+(type\s)?[^;"]*?from\s+"(\.[^"]+)"/gm);
  return [...lines].map((line) => ({
    from: file,
    to: normalize(join(dirname(file), line[2] ?? "")),
    typesOnly: line[1] !== undefined,
  }));
}
