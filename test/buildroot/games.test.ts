/** The packages of RetroArch and its cores: pinned, licensed, known to the service; with `BUILDROOT_DIR`, by Buildroot. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { coredSystems, coreNamesOf } from "../../src/players/retroarch-cores.ts";
import { boards, defconfigOf } from "../../tools/defconfigs.ts";
import { buildroot, makeIn, run, tree } from "../helpers/buildroot.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-games-"));
});
afterAll(() => rm(folder, { recursive: true }));

const names = (await readdir(join(tree, "package"))).filter((name) => /^(retroarch|libretro-)/.test(name));
const prefixOf = (name: string) => name.toUpperCase().replaceAll("-", "_");
const fileOf = (name: string, ending: string) =>
  readFile(join(tree, "package", name, ending === "Config.in" ? ending : `${name}.${ending}`), "utf8");

/** The package's variables that are set in one line, with the version filled in. */
async function factsOf(name: string): Promise<ReadonlyMap<string, string>> {
  const text = await fileOf(name, "mk");
  const prefix = prefixOf(name);
  const lines = [...text.matchAll(/^([A-Z\d_]+) = (.*[^\\\n])$/gm)];
  const version = lines.find(([, key]) => key === `${prefix}_VERSION`)?.[2] ?? "";
  return new Map(
    lines.map(([, key = "", value = ""]) => [
      key.slice(prefix.length + 1),
      value.replace(`$(${prefix}_VERSION)`, version),
    ]),
  );
}

/** Buildroot names the archive of a git commit itself (package/pkg-download.mk, BR_FMT_VERSION_git). */
const sourceOf = (name: string, facts: ReadonlyMap<string, string>) =>
  facts.get("SITE_METHOD") === "git"
    ? `${name}-${facts.get("VERSION")}-git4.tar.gz`
    : (facts.get("SOURCE") ?? "");

const fragmentOf = async (name: string) =>
  (await defconfigOf([name])).split("\n").flatMap((line) => /^BR2_PACKAGE_(\w+)=y$/.exec(line)?.[1] ?? []);
const [free, unfree] = [await fragmentOf("games"), await fragmentOf("cores-noncommercial")];

test.each(names)("%s is pinned, and has the sums of its source and of its licences", async (name) => {
  const facts = await factsOf(name);
  expect(facts.get("VERSION")).toMatch(/^(?:\d[\w.+]+|[\da-f]{40})$/);
  const sums = await fileOf(name, "hash");
  const texts = (facts.get("LICENSE_FILES") ?? "").split(" ");
  expect(facts.get("LICENSE")).toMatch(/\w/);
  for (const file of [sourceOf(name, facts), ...texts]) {
    expect(file).not.toBe("");
    expect(sums.split("\n").filter((line) => line.endsWith(`  ${file}`))).toEqual([
      expect.stringMatching(/^sha256 {2}[\da-f]{64} {2}\S+$/),
    ]);
  }
});

test("each package is in one of the fragments, and the other way round", () => {
  expect([...free, ...unfree].toSorted()).toEqual(names.map(prefixOf).toSorted());
});

test.each(names)("%s is among the free ones only if its licence is, and says so otherwise", async (name) => {
  const isFree = /^(GPL|LGPL|MPL|MIT|BSD)-?[\d.]*/.test((await factsOf(name)).get("LICENSE") ?? "");
  expect((isFree ? free : unfree).includes(prefixOf(name))).toBe(true);
  const text = await fileOf(name, "Config.in");
  expect(/^\tbool ".*\(non-commercial\)"$/m.test(text)).toBe(!isFree);
  expect(text.includes("NOT FREE")).toBe(!isFree);
});

test.each(Object.keys(boards))("%s holds no core that is not free", async (name) => {
  const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
  for (const prefix of free) expect(text).toContain(`BR2_PACKAGE_${prefix}=y\n`);
  for (const prefix of unfree) expect(text).not.toContain(prefix);
});

test("the service plays some system with each core", async () => {
  const known = new Set(coredSystems.flatMap(coreNamesOf));
  const cores = await Promise.all(
    names.map(async (name) => [...(await fileOf(name, "mk")).matchAll(/(\w+)_libretro\.so/g)].at(-1)?.[1]),
  );
  const shipped = cores.filter((core) => core !== undefined);
  expect(shipped.length).toBe(names.length - 2); // RetroArch and the descriptions are no cores.
  expect(shipped.filter((core) => !known.has(core))).toEqual([]);
});

test("a core is made with Buildroot's compiler beside its own flags, and lies where the service looks", async () => {
  const source = join(folder, "core");
  await mkdir(join(source, "libretro"), { recursive: true });
  await Bun.write(
    join(source, "libretro/Makefile"),
    "CC = gcc\nCFLAGS += -fPIC\nall:\n\techo '$(CC) $(CFLAGS) $(platform) version=$(GIT_VERSION)' >nestopia_libretro.so\n",
  );
  const words = ["NAME=LIBRETRO_NESTOPIA", `SOURCE=${source}`, `TARGET_DIR=${join(folder, "target")}`];
  const target = ["TARGET_CC=cross-gcc", "TARGET_CFLAGS=-Ours"];
  const mk = `MK=${join(tree, "package/libretro-nestopia/libretro-nestopia.mk")}`;
  const rules = join(import.meta.dir, "package.mk");
  await run(["make", "--file", rules, mk, ...words, ...target, `${source}/.stamp_installed`], folder);
  const made = await readFile(join(folder, "target/usr/lib/libretro/nestopia_libretro.so"), "utf8");
  expect(made).toBe("cross-gcc -Ours -fPIC unix version=\n");
});

test.each([
  ["a Pi", "raspberrypi"],
  ["QEMU", "qemu"],
])("no option of the kernel for %s is stated twice", async (_, board) => {
  const texts = await Promise.all(
    ["common", board].map((name) => readFile(join(tree, "board", name, "linux.fragment"), "utf8")),
  );
  const options = [...texts.join("\n").matchAll(/^(?:# )?(CONFIG_\w+)(?:=| is not set)/gm)].map(
    ([, key]) => key,
  );
  expect(options).toContain("CONFIG_EXFAT_FS");
  expect(options.filter((key, at) => options.indexOf(key) !== at)).toEqual([]);
});

const withBuildroot = buildroot === undefined ? test.skip : test;
withBuildroot("Buildroot takes the watchdog's package without the service's", async () => {
  const out = join(folder, "alone");
  const lines = [
    ...(await defconfigOf(["board-qemu", "toolchain"])).split("\n"),
    "BR2_PACKAGE_TAPDECK_WATCHDOG=y",
  ];
  await Bun.write(join(out, ".config"), `${lines.join("\n")}\n`);
  await run([...makeIn(out), "olddefconfig"], folder);
  const said = await run([...makeIn(out), "printvars", "VARS=TAPDECK_WATCHDOG_VERSION"], folder);
  expect(said).toMatch(/^TAPDECK_WATCHDOG_VERSION=\d/m);
});

withBuildroot(
  "Buildroot knows the source and the licence of each, and gives mpv and RetroArch the screen",
  async () => {
    const out = join(folder, "zero2w");
    await run([...makeIn(out), "tapdeck_zero2w_defconfig"], folder);
    const shown: unknown = JSON.parse(await run([...makeIn(out), "show-info"], folder));
    for (const name of names.filter((name) => free.includes(prefixOf(name)))) {
      const facts = await factsOf(name);
      expect(shown).toHaveProperty(name, expect.objectContaining({ licenses: facts.get("LICENSE") }));
      expect(shown).toHaveProperty([name, "downloads", 0, "source"], sourceOf(name, facts));
    }
    const options = await run(
      [...makeIn(out), "printvars", "VARS=MPV_CONF_OPTS RETROARCH_DEPENDENCIES"],
      folder,
    );
    for (const option of ["-Ddrm=enabled", "-Dgbm=enabled", "-Degl-drm=enabled", "libgbm", "libgles", "sdl2"])
      expect(options).toContain(option);
  },
);
