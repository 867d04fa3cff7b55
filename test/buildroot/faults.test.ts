/**
 * Faults that images of earlier configurations had: each case is named after one, and checks the options and files that
 * repair it.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUboot } from "../../src/update/boot-control.ts";
import { boards } from "../../tools/defconfigs.ts";
import { readMeta } from "../../tools/image/meta.ts";
import { createCard } from "../emulators/card-with-cuts.ts";
import { buildroot, root, run, tree } from "../helpers/buildroot.ts";

const names = Object.keys(boards);
const text = (path: string) => readFile(join(root, path), "utf8");
const defconfig = (name: string) => text(`buildroot/configs/${name}_defconfig`);

/** The options that the board does not set to y. */
async function missing(name: string, options: readonly string[]): Promise<readonly string[]> {
  const lines = new Set((await defconfig(name)).split("\n"));
  return options.filter((option) => !lines.has(`BR2_PACKAGE_${option}=y`));
}

test.each(names)(
  "modules that %s compresses are read by its modprobe, which knows the blacklist",
  async (name) => {
    const options = ["BUSYBOX_SHOW_OTHERS", "KMOD", "KMOD_TOOLS", "XZ", "HOST_KMOD_XZ"];
    expect(await missing(name, options)).toEqual([]);
  },
);

test.each(names)("the Wi-Fi of %s understands the options and the settings that it gets", async (name) => {
  const given = [
    await text("overlay/usr/lib/tapdeck/wifi-connect"),
    await text("overlay/usr/lib/tapdeck/wifi-conf"),
    await text("overlay/etc/wpa_supplicant.conf"),
  ].join("\n");
  const needs = [
    [/-- -s -i "\$interface"/, "DEBUG_SYSLOG"],
    [/^ctrl_interface=/m, "CTRL_IFACE"],
    [/\bSAE\b/, "WPA3"],
  ] as const;
  for (const [use] of needs) expect(given).toMatch(use);
  expect(
    await missing(
      name,
      needs.map(([, option]) => `WPA_SUPPLICANT_${option}`),
    ),
  ).toEqual([]);
});

test.each(names)(
  "the maker of %s's data partition is built, and is not one that the computer happens to have",
  async (name) => {
    expect(await text("buildroot/board/common/genimage.cfg")).toContain("use-mke2fs = true");
    expect(await missing(name, ["HOST_E2FSPROGS"])).toEqual([]);
  },
);

test.each(names)("subtitles on %s have fonts, for Chinese, Japanese and Korean as well", async (name) => {
  expect(await missing(name, ["FONTCONFIG", "DEJAVU", "WQY_ZENHEI"])).toEqual([]);
});

test.each(names)("%s has a name on the network, and SSH", async (name) => {
  expect(await missing(name, ["AVAHI_DAEMON", "DROPBEAR", "WPA_SUPPLICANT"])).toEqual([]);
});

/** The archive of the board's kernel, under the name by which Buildroot looks its sum up. */
async function kernelArchive(name: string): Promise<string> {
  const config = await defconfig(name);
  const [, version] = /CUSTOM_VERSION_VALUE="([\d.]+)"/.exec(config) ?? [];
  if (version !== undefined) return `linux-${version}.tar.xz`;
  return /CUSTOM_TARBALL_LOCATION=".*\/(linux-\w+\.tar\.gz)"/.exec(config)?.[1] ?? "no kernel";
}

test.each(names)("the archive of %s's kernel is compared with a sum", async (name) => {
  const [, folder] =
    /^BR2_GLOBAL_PATCH_DIR="\$\(BR2_EXTERNAL_TAPDECK_PATH\)\/(\S+)"$/m.exec(await defconfig(name)) ?? [];
  const path = join(tree, folder ?? "none", "linux/linux.hash");
  const sums = existsSync(path) ? (await readFile(path, "utf8")).split("\n") : [];
  const archive = await kernelArchive(name);
  expect(sums.filter((line) => line.endsWith(`  ${archive}`))).toEqual([
    expect.stringMatching(/^sha256 {2}[\da-f]{64} {2}/),
  ]);
});

test("no start script of a package runs beside those of the overlay", async () => {
  const target = await mkdtemp(join(tmpdir(), "tapdeck-scripts-"));
  try {
    for (const name of ["S01seedrng", "S05avahi-setup.sh", "S11modules", "S50crond", "S50dropbear", "rcS"])
      await Bun.write(join(target, "etc/init.d", name), "");
    for (const name of ["etc/shadow", "etc/rauc/system.conf"]) await Bun.write(join(target, name), "");
    await run(["sh", join(tree, "board/common/post-build.sh"), target, "pi4"], root);
    expect((await readdir(join(target, "etc/init.d"))).toSorted()).toEqual(["S50dropbear", "rcS"]);
  } finally {
    await rm(target, { recursive: true });
  }
});

test("the emulated board starts a kernel that has no initrd, and takes an update without one", async () => {
  const script = await text("buildroot/board/qemu/boot.cmd");
  const [, words = ""] = /^ *booti (.*)$/m.exec(script) ?? [];
  const [, variable = "none"] = /^\$\{kernel_addr_r\} \$\{(\w+)\} /.exec(words) ?? [];
  const [set, start] = [script.indexOf(`setenv ${variable} -\n`), script.indexOf("booti ")];
  expect([words, set > 0 && set < start]).toEqual([words, true]);
  expect(createUboot(createCard(1024).files, "a").needs("b")).toEqual(["Image"]);
});

test("the kernel and the start of a board write to neither the television nor a line of a reader", async () => {
  const words = (await text("buildroot/board/raspberrypi/cmdline.txt")).split(" ");
  expect(words.filter((word) => word.startsWith("console="))).toEqual(["console=ttynull"]);
  expect(words).toEqual(expect.arrayContaining(["quiet", "vt.global_cursor_default=0", "consoleblank=0"]));
  const kernel = (await text("buildroot/board/common/linux.fragment")).split("\n");
  expect(kernel).toEqual(expect.arrayContaining(["CONFIG_NULL_TTY=y", "# CONFIG_LOGO is not set"]));
});

test("a script on a board that has no console goes on", async () => {
  const folder = join(root, "overlay/usr/lib/tapdeck");
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map(({ name }) => readFile(join(folder, name), "utf8")));
  const writing = texts.flatMap((one) => one.split("\n")).filter((line) => line.includes(">/dev/console"));
  expect(writing.length).toBeGreaterThan(3);
  expect(writing.filter((line) => !line.includes("|| true"))).toEqual([]);
});

test("no overlay of config.txt takes a parameter of the board", async () => {
  const lines = (await text("buildroot/board/raspberrypi/config.txt")).split("\n");
  const first = lines.findIndex((line) => line.startsWith("dtoverlay="));
  const after = lines.slice(first).filter((line) => line.startsWith("dtparam="));
  // The parameters of vc4-kms-v3d that choose its memory.
  expect(after.filter((line) => !/^dtparam=cma-\d+$/.test(line))).toEqual([]);
  expect(lines.slice(0, first)).toEqual(expect.arrayContaining(["dtparam=audio=on", "dtparam=watchdog=on"]));
});

test.skipIf(buildroot === undefined)("make image refused the tag of Buildroot that it named", async () => {
  const { TAPDECK_BUILDROOT: wanted = "none" } = readMeta().environment;
  const tagged = await run(["git", "-C", buildroot ?? "", "show", `${wanted}:Makefile`], root);
  expect(tagged).toContain(`export BR2_VERSION := ${wanted}\n`);
});

test("make image wants one version of Buildroot, and says which one it found", async () => {
  const { TAPDECK_BUILDROOT: wanted = "none" } = readMeta().environment;
  expect(wanted).toMatch(/^20\d\d\.\d\d\.\d+$/);
  const found = await mkdtemp(join(tmpdir(), "tapdeck-version-"));
  try {
    const check = () => run([join(tree, "board/common/check-version"), found], root);
    await expect(check()).rejects.toThrow(`is made with Buildroot ${wanted}; ${found} has no Buildroot`);
    await Bun.write(join(found, "Makefile"), "export BR2_VERSION := 2019.02\n");
    await expect(check()).rejects.toThrow(`; ${found} has 2019.02`);
    await Bun.write(join(found, "Makefile"), `export BR2_VERSION := ${wanted}\n`);
    expect(await check()).toBe("");
    const [, recipe = ""] = /^image: build.*\n((?:\t.*\n)+)/m.exec(await text("Makefile")) ?? [];
    expect(recipe).toMatch(/^\t@test .*\n\t@buildroot\/board\/common\/check-version "\$\(BUILDROOT_DIR\)"\n/);
  } finally {
    await rm(found, { recursive: true });
  }
});

test("make image gave its own CONFIG and BOARD to Buildroot, which has variables of these names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-variables-"));
  const output = join(root, "build/buildroot/variables");
  try {
    const { TAPDECK_BUILDROOT: wanted = "" } = readMeta().environment;
    await Bun.write(
      join(folder, "Makefile"),
      `export BR2_VERSION := ${wanted}
CONFIG = kconfig
export BOARD ?= none
all tapdeck_variables_defconfig olddefconfig:
\t@echo "$(@) CONFIG=$(CONFIG) BOARD=$(BOARD) WITH=$(WITH)"
\t@test -z "$(O)" || { mkdir -p "$(O)"; cp "${folder}/Makefile" "$(O)/Makefile"; }
`,
    );
    await Bun.write(join(folder, "config"), "BR2_CCACHE=y\n");
    const options = [`BUILDROOT_DIR=${folder}`, "BOARD=variables", `CONFIG=${folder}/config`];
    const told = await run(
      ["make", "--old-file=build", "image", "WITH=cores-noncommercial", ...options],
      root,
    );
    expect(told.split("\n").filter((line) => line.includes("CONFIG="))).toEqual([
      "tapdeck_variables_defconfig CONFIG=kconfig BOARD=none WITH=",
      "olddefconfig CONFIG=kconfig BOARD=none WITH=",
      "all CONFIG=kconfig BOARD=none WITH=",
    ]);
    expect(await Bun.file(join(output, ".config")).text()).toContain("BR2_CCACHE=y");
  } finally {
    await rm(folder, { recursive: true });
    await rm(output, { recursive: true, force: true });
  }
});

test("a package of ours needs no library of udev that Buildroot 2025.05 lacks", async () => {
  const packages = join(root, "buildroot/package");
  const files = (await readdir(packages, { recursive: true })).filter((name) =>
    /\.mk$|Config\.in$/.test(name),
  );
  const needs: string[] = [];
  for (const name of files) {
    const content = await readFile(join(packages, name), "utf8");
    // Buildroot drops the choice of an unknown option silently, and make fails at an unknown package.
    if (/BR2_PACKAGE_LIBUDEV\w*|[\s,]libudev\b[),\s]/.test(content)) needs.push(name);
  }
  expect(files.length).toBeGreaterThan(20);
  expect(needs).toEqual([]);
});
