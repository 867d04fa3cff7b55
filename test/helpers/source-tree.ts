/** The files of the tree, for the rules of the house. */
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export const root = join(import.meta.dir, "../..");

/** The paths of the files that git knows or would add. */
export const tracked: readonly string[] = list();
export const sources = tracked.filter((file) => /^(?:src|drivers)\/.*\.ts$/.test(file));

export interface Import {
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
  /** Whether the import takes names, has only effects, or happens at run time. */
  readonly how: "names" | "effects" | "late";
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
  return importsIn(file, read(file));
}

/** The imports of other files in a source, and those at run time (`import("./x.ts")`). */
export function importsIn(file: string, text: string): Import[] {
  const forms = [
    ["names", /^(?:import|export)\s+(type\s)?[^;"]*?from\s+"(\.[^"]+)"/gm],
    ["effects", /^import(\b)\s*"(\.[^"]+)"/gm],
    ["late", /(\btypeof )?\bimport\(\s*"(\.[^"]+)"\s*\)/g],
  ] as const;
  return forms.flatMap(([how, form]) =>
    [...text.matchAll(form)].map(([, type = "", path = ""]) => ({
      from: file,
      to: normalize(join(dirname(file), path)),
      typesOnly: type !== "",
      how,
    })),
  );
}
