/** The choice of a source for each archive that Buildroot wants: Debian's index, sums, versions and tags. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../tools/image/run.ts";
import { linkProgram, packTree, sumOf, versionOfTag } from "../../tools/image/source-archives.ts";
import {
  nearestSources,
  readSourceIndex,
  sameVersion,
  upstreamVersion,
} from "../../tools/image/source-index.ts";
import {
  readSums,
  replaceSums,
  versionInName,
  wantedArchives,
  withoutLicenceSums,
} from "../../tools/image/source-wanted.ts";

const sum = (digit: string) => digit.repeat(64);
const paragraph = (name: string, version: string, archive: string, sha256: string) =>
  [
    `Package: ${name}`,
    `Version: ${version}`,
    "Checksums-Sha256:",
    ` ${sum("f")} 1234 ${name}_${version}.dsc`,
    ` ${sha256} 5678 ${archive}`,
    ` ${sum("e")} 91 ${archive}.asc`,
    "Directory: pool/main",
  ].join("\n");

const index = readSourceIndex(
  [
    paragraph("gettext", "0.23.1-2", "gettext_0.23.1.orig.tar.xz", sum("1")),
    paragraph("gettext", "0.21-12", "gettext_0.21.orig.tar.xz", sum("2")),
    paragraph("zlib", "1:1.3.dfsg+really1.3.1-1", "zlib_1.3.dfsg+really1.3.1.orig.tar.xz", sum("3")),
    // A native package of Debian's has no upstream archive.
    `Package: apt\nVersion: 3.0\nChecksums-Sha256:\n ${sum("4")} 1 apt_3.0.tar.xz`,
  ].join("\n\n"),
);

test("the index gives each package's upstream archive, and none for Debian's own packages", () => {
  expect(index.map(({ name, archive, sha256 }) => [name, archive, sha256])).toEqual([
    ["gettext", "gettext_0.23.1.orig.tar.xz", sum("1")],
    ["gettext", "gettext_0.21.orig.tar.xz", sum("2")],
    ["zlib", "zlib_1.3.dfsg+really1.3.1.orig.tar.xz", sum("3")],
  ]);
});

test("Debian's marks are no part of the version", () => {
  const cases = {
    "1:1.3.dfsg+really1.3.1-1+b1": "1.3.1",
    "2:3.8.2+dfsg-1": "3.8.2",
    "1.10.6+ds-2": "1.10.6",
    "2~ds-1.1": "2",
    "6.5+20250216-2": "6.5+20250216",
    "1.5.4+dfsg2-5": "1.5.4",
    "6.18.12-1~bpo13+1": "6.18.12",
  };
  for (const [version, upstream] of Object.entries(cases)) expect(upstreamVersion(version)).toBe(upstream);
});

test("the nearest version comes first, and of two equally far the lower", () => {
  const names = (wanted: string) => nearestSources(index, "gettext", wanted).map(({ version }) => version);
  expect(names("0.22.4")).toEqual(["0.21-12", "0.23.1-2"]);
  expect(names("0.24")).toEqual(["0.23.1-2", "0.21-12"]);
});

test("a version is the same if all its numbers are", () => {
  expect(sameVersion("2025.02.20", "2025.2.20")).toBe(true);
  expect(sameVersion("1.14", "1.14.1")).toBe(false);
});

test("the version in the name of an archive is found in each form of name", () => {
  const cases = {
    "gettext-0.22.4.tar.xz": "0.22.4",
    "fakeroot_1.37.1.1.orig.tar.gz": "1.37.1.1",
    "tar-1.35.cpio.gz": "1.35",
    "libplacebo-v7.360.1-git4.tar.gz": "7.360.1-git4",
    "no-version.tar.gz": "",
  };
  for (const [file, version] of Object.entries(cases)) expect(versionInName(file)).toBe(version);
});

test("a tag gives its version, and a candidate of a release none", () => {
  const cases = {
    "v1.14": "1.14",
    libnl3_11_0: "3.11.0",
    "pcre2-10.46": "10.46",
    "release-2.32.8": "2.32.8",
    DROPBEAR_2025: "2025",
    "v2.40-rc1": "",
    master: "",
  };
  for (const [tag, version] of Object.entries(cases)) expect(versionOfTag(tag)).toBe(version);
});

test("archives are wanted once, with the recipe that has their sums, and none for a folder of this machine", () => {
  const download = (source: string, uri = "https+https://example.org") => ({ source, uris: [uri] });
  const info = {
    "host-zlib": {
      dl_dir: "zlib",
      package_dir: "package/zlib",
      version: "1.3.1",
      downloads: [download("zlib-1.3.1.tar.xz")],
    },
    zlib: {
      dl_dir: "zlib",
      package_dir: "package/zlib",
      version: "1.3.1",
      downloads: [download("zlib-1.3.1.tar.xz")],
    },
    tapdeck: { dl_dir: "tapdeck", downloads: [download("tapdeck-0.1.0.tar.gz", "local+/tapdeck")] },
    "host-gettext-tiny": {
      dl_dir: "gettext-tiny",
      package_dir: "package/gettext-tiny",
      version: "0.3.2",
      downloads: [download("gettext-tiny-0.3.2.tar.gz"), download("gettext-0.22.4.tar.xz")],
    },
    skeleton: {},
  };
  const found = wantedArchives(info).map(({ file, name, version }) => [file, name, version]);
  expect(found).toEqual([
    ["gettext-0.22.4.tar.xz", "gettext", "0.22.4"],
    ["gettext-tiny-0.3.2.tar.gz", "gettext-tiny", "0.3.2"],
    ["zlib-1.3.1.tar.xz", "zlib", "1.3.1"],
  ]);
});

test("a replaced archive has its own sum alone, and the other lines of its hash file stay", () => {
  const text = [
    "# Locally computed",
    `sha256  ${sum("a")}  expat-2.7.2.tar.xz`,
    `sha512  ${sum("b")}${sum("b")}  expat-2.7.2.tar.xz`,
    `sha256  ${sum("c")}  COPYING`,
    "",
  ].join("\n");
  const sums = [{ algorithm: "sha256", sum: sum("d") }] as const;
  const replaced = replaceSums(text, "expat-2.7.2.tar.xz", sums);
  expect(readSums(replaced)).toEqual([
    { algorithm: "sha256", sum: sum("d"), file: "expat-2.7.2.tar.xz" },
    { algorithm: "sha256", sum: sum("c"), file: "COPYING" },
  ]);
  expect(replaced).toContain("# Locally computed\n");
  expect(replaceSums(replaced, "expat-2.7.2.tar.xz", sums)).toBe(replaced);
});

test("legal-info refused packages of another maker: the sums of their licences are left out, and those of downloads stay", () => {
  const sum = "27f25514040a401b2ceb7057eae1f46cedb1666664b519b5be7e0960d1b35164";
  const downloads = ["a-1.0.tar.xz", "a-1.0.tgz", "0001-fix.patch", "a-1234-git4.tar.gz"];
  const line = (file: string) => `sha256  ${sum}  ${file}`;
  const licences = ["README.licensing", "COPYING", "Documentation/licenses/COPYING.GPL-2.0", "LICENSE.txt"];
  const text = ["# From the maker", ...downloads.map(line), "", ...licences.map(line), ""].join("\n");
  const left = withoutLicenceSums(text);
  expect(readSums(left).map(({ file }) => file)).toEqual(downloads);
  expect(left).toStartWith("# From the maker\n");
});

test("a folder packed twice has the same bytes, whatever its name and times", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sources-"));
  const sums: string[] = [];
  for (const name of ["first", "second"]) {
    const tree = join(folder, name);
    await mkdir(join(tree, "src"), { recursive: true });
    await writeFile(join(tree, "src/main.c"), "int main;\n");
    await writeFile(join(tree, "Makefile"), "all:\n");
    await run(["touch", "--date", name === "first" ? "2001-01-01" : "2002-02-02", join(tree, "Makefile")]);
    const target = join(folder, "example-1.0.tar.gz");
    await packTree(tree, target);
    sums.push(await sumOf(target, "sha256"));
    const listed = await run(["tar", "--list", "--file", target]);
    expect(listed.split("\n")).toContain("example-1.0/src/main.c");
  }
  expect(sums[0]).toBe(sums[1] ?? "");
  await rm(folder, { recursive: true });
});

test("the tree of a program of this machine installs a link to it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sources-"));
  const tree = join(folder, "tree");
  await linkProgram("/usr/bin/env", tree);
  await run(["./configure", "--disable-shared", `--prefix=${folder}/host`, "--with-x"], { cwd: tree });
  await run(["make"], { cwd: tree });
  await run(["make", "install"], { cwd: tree });
  expect(await readlink(join(folder, "host/bin/env"))).toBe("/usr/bin/env");
  expect(await Bun.file(join(tree, "COPYING")).text()).not.toBe("");
  await rm(folder, { recursive: true });
});
