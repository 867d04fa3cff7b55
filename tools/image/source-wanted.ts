/** The archives that Buildroot wants, from its `make show-info`, and the files with their sums. */
import * as v from "valibot";

export interface WantedArchive {
  /** The name under which Buildroot looks for the archive. */
  readonly file: string;
  /** The folder inside `BR2_DL_DIR`. */
  readonly folder: string;
  /** The name of the package without `host-`, or that of the archive if the package has several. */
  readonly name: string;
  readonly version: string;
  /** The folder of the package's recipe and sums, relative to Buildroot or absolute. */
  readonly recipe: string;
  /** The patches that Buildroot applies, relative to Buildroot or absolute. */
  readonly patches: readonly string[];
}

export interface Sum {
  readonly algorithm: "md5" | "sha1" | "sha256" | "sha512";
  readonly sum: string;
  readonly file: string;
}

const buildrootInfo = v.record(
  v.string(),
  v.object({
    version: v.optional(v.string()),
    dl_dir: v.optional(v.string()),
    package_dir: v.optional(v.string()),
    patches: v.optional(v.array(v.string())),
    downloads: v.optional(v.array(v.object({ source: v.string(), uris: v.array(v.string()) }))),
  }),
);

/** Returns each archive once, sorted by name. A package whose source is a folder of this machine wants none. */
export function wantedArchives(info: unknown): readonly WantedArchive[] {
  const archives = new Map<string, WantedArchive>();
  for (const [key, entry] of Object.entries(v.parse(buildrootInfo, info))) {
    for (const { source, uris } of entry.downloads ?? []) {
      if (uris.some((uri) => uri.startsWith("local+")) || archives.has(source)) continue;
      const { dl_dir: folder = "", package_dir: recipe = "", patches = [] } = entry;
      const alone = entry.downloads?.length === 1;
      archives.set(source, {
        file: source,
        folder,
        name: alone ? key.replace(/^host-/, "") : source.replace(/[-_]v?\d[^_]*$/, ""),
        version: alone && entry.version !== undefined ? entry.version : versionInName(source),
        recipe,
        patches: alone ? patches : [],
      });
    }
  }
  return [...archives.values()].toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

/** The sums of a `.hash` file. Each line has an algorithm, a sum and a file name. */
export function readSums(text: string): readonly Sum[] {
  return text.split("\n").flatMap((line) => {
    const [, algorithm, sum, file] = /^(md5|sha1|sha256|sha512)\s+([0-9a-f]+)\s+(\S+)\s*$/.exec(line) ?? [];
    if (sum === undefined || file === undefined || !isAlgorithm(algorithm)) return [];
    return [{ algorithm, sum, file }];
  });
}

/** The text of a `.hash` file in which these sums replace all sums of `file`. */
export function replaceSums(text: string, file: string, sums: readonly Omit<Sum, "file">[]): string {
  const others = text.split("\n").filter((line) => !(/^\w+\s/.test(line) && line.split(/\s+/)[2] === file));
  return [...sums.map(({ algorithm, sum }) => `${algorithm}  ${sum}  ${file}`), ...others].join("\n");
}

/**
 * The text of a `.hash` file without the sums of files in archives, which are those of licences. In an archive of another
 * version or another maker the sums may differ, and `make legal-info` then refuses the package.
 */
export function withoutLicenceSums(text: string): string {
  const isOfLicence = (line: string) => readSums(line).some(({ file }) => !downloaded.test(file));
  return text
    .split("\n")
    .filter((line) => !isOfLicence(line))
    .join("\n");
}

const downloaded = /\.(tar|tar\.\w+|t[bgx]z2?|zip|cpio(\.\w+)?|bin|patch|diff)$/i;

/** The version in the name of an archive, such as `0.22.4` of `gettext-0.22.4.tar.xz`. */
export function versionInName(file: string): string {
  const [, version] = /[-_]v?(\d[^_]*?)(?:\.orig)?\.(?:tar|cpio)\.\w+$/.exec(file) ?? [];
  return version ?? "";
}

function isAlgorithm(text: string | undefined): text is Sum["algorithm"] {
  return text === "md5" || text === "sha1" || text === "sha256" || text === "sha512";
}
