/**
 * Debian's index of sources. It shows which of Debian's packages has an archive that Buildroot wants, or a version close
 * to it.
 */

export interface IndexedSource {
  /** Debian's name of the source package. */
  readonly name: string;
  /** Debian's version, with epoch and revision. */
  readonly version: string;
  /** The file with the upstream source, such as `acl_2.3.2.orig.tar.xz`. */
  readonly archive: string;
  readonly sha256: string;
}

/** Returns one entry for each package of a `Sources` file that has an upstream archive. */
export function readSourceIndex(text: string): readonly IndexedSource[] {
  return text.split(/\n\n+/).flatMap((paragraph) => {
    const [, name] = /^Package: (\S+)$/m.exec(paragraph) ?? [];
    const [, version] = /^Version: (\S+)$/m.exec(paragraph) ?? [];
    const [, files = ""] = /^Checksums-Sha256:\s*\n((?: .*(?:\n|$))+)/m.exec(paragraph) ?? [];
    const [, sha256, archive] = /^ ([0-9a-f]{64}) \d+ (\S+\.orig\.tar\.\w+)$/m.exec(files) ?? [];
    if (name === undefined || version === undefined) return [];
    return sha256 === undefined || archive === undefined ? [] : [{ name, version, archive, sha256 }];
  });
}

/** Debian's version without epoch, revision and the mark of an archive that Debian repacked. */
export function upstreamVersion(version: string): string {
  return version
    .replace(/^\d+:/, "")
    .replace(/-[^-]*$/, "")
    .replace(/^.*\+really/, "")
    .replace(/[.+~](dfsg|ds|repack)[\d.]*$/, "");
}

/**
 * Orders versions by their distance from the wanted one. The first differing number decides. Of two versions
 * that are equally far, the lower one comes first, because a newer build system needs more of the machine.
 */
export function byNearness(wanted: string): (a: string, b: string) => number {
  return (a, b) =>
    compareNumbers(distance(wanted, a), distance(wanted, b)) || compareNumbers(numbersOf(a), numbersOf(b));
}

/** The entries of one package, nearest first, one for each archive. */
export function nearestSources(
  index: readonly IndexedSource[],
  name: string,
  wanted: string,
): readonly IndexedSource[] {
  const nearer = byNearness(wanted);
  return index
    .filter((source) => source.name === name)
    .toSorted((a, b) => nearer(upstreamVersion(a.version), upstreamVersion(b.version)));
}

export function sameVersion(a: string, b: string): boolean {
  return distance(a, b).length === 0;
}

/** The numbers up to the first one that differs. */
function distance(wanted: string, found: string): readonly number[] {
  const from = numbersOf(wanted);
  const to = numbersOf(found);
  const parts = Math.max(from.length, to.length);
  const apart = Array.from({ length: parts }, (_, at) => Math.abs((from[at] ?? 0) - (to[at] ?? 0)));
  const first = apart.findIndex((part) => part !== 0);
  return first < 0 ? [] : apart.slice(0, first + 1);
}

function numbersOf(version: string): readonly number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
