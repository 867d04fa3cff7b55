/**
 * The table of all archives. It shows which archives are the wanted ones, which are of another version, and which patches
 * do not fit that version.
 */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";

const kinds = ["as wanted", "same version", "replaced", "missing"] as const;

export interface ArchiveRow {
  readonly file: string;
  /** The source of the archive, such as `Debian acl 2.3.2-2`. */
  readonly from: string;
  /** An archive of the same version has other bytes, because Debian or this machine packed it. */
  readonly kind: (typeof kinds)[number];
  /** The sum that replaces Buildroot's own, if the archive differs from the wanted one. */
  readonly sha256: string;
  readonly patchesLeftOut: readonly string[];
}

/** Reads the rows; none if the file does not exist. */
export async function readTable(path: string): Promise<readonly ArchiveRow[]> {
  if (!existsSync(path)) return [];
  const lines = (await Bun.file(path).text()).trim().split("\n").slice(1);
  return lines.map((line) => {
    const [name, file = "", from = "", sha256 = "", patches = ""] = line.split("\t");
    const kind = kinds.find((each) => each === name) ?? "missing";
    return { kind, file, from, sha256, patchesLeftOut: patches.split(" ").filter((patch) => patch !== "") };
  });
}

export async function writeTable(path: string, rows: readonly ArchiveRow[]): Promise<void> {
  const lines = rows.map(({ kind, file, from, sha256, patchesLeftOut }) =>
    [kind, file, from, sha256, patchesLeftOut.join(" ")].join("\t"),
  );
  await writeFile(path, ["kind\tarchive\tsource\tsha256\tpatches left out", ...lines, ""].join("\n"));
}

/** The number of archives of each kind, a line for each kind. */
export function countKinds(rows: readonly ArchiveRow[]): readonly string[] {
  return kinds.map((kind) => `${rows.filter((row) => row.kind === kind).length} ${kind}`);
}
