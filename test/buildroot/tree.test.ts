/** The checks of the Buildroot tree that need no Buildroot; with `BUILDROOT_DIR` set, also those by Buildroot itself. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { slotOfConfig } from "../../src/update/boot-control.ts";
import { boards, defconfigOf, isOption, optional } from "../../tools/defconfigs.ts";
import { buildroot, makeIn, root, run as runIn, tree } from "../helpers/buildroot.ts";

let folder = "";
const run = (argv: readonly string[], env: Record<string, string> = {}, cwd = folder) =>
  runIn(argv, cwd, env);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-tree-"));
});
afterAll(() => rm(folder, { recursive: true }));

const names = Object.keys(boards);

test.each(names)("the defconfig of %s is what its fragments make", async (name) => {
  const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
  expect(text).toBe(await defconfigOf(boards[name] ?? []));
});

test.each(names)("no option of %s is stated twice", async (name) => {
  const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
  const options = text
    .split("\n")
    .filter(isOption)
    .map((line) => /BR2_\w+/.exec(line)?.[0]);
  expect(options.filter((option, at) => options.indexOf(option) !== at)).toEqual([]);
});

test("every fragment is a board's or an optional one, and every line of one is an option or a comment", async () => {
  const used = new Set(Object.values(boards).flat());
  expect(optional.filter((name) => used.has(name))).toEqual([]);
  for (const name of optional) used.add(name);
  const fragments = (await readdir(join(tree, "fragments"))).map((file) => file.replace(/\.fragment$/, ""));
  expect(fragments.toSorted()).toEqual([...used].toSorted());
  for (const name of fragments) {
    const lines = (await readFile(join(tree, "fragments", `${name}.fragment`), "utf8")).split("\n");
    expect(lines.filter((line) => line !== "" && !isOption(line) && !/^# .*[.:]$|^# /.test(line))).toEqual(
      [],
    );
  }
});

test.each(names)("%s leaves the program as it was compiled, and wants every hash", async (name) => {
  const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
  expect(text).toContain('BR2_STRIP_EXCLUDE_FILES="tapdeck"');
  expect(text).toContain("BR2_DOWNLOAD_FORCE_CHECK_HASHES=y");
});

test.each(names)(
  "%s installs updates with RAUC in one process, and its kernel checks their hashes",
  async (name) => {
    const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
    expect(text).toContain("BR2_PACKAGE_RAUC=y\n# BR2_PACKAGE_RAUC_DBUS is not set\n");
    const kernel = (await readFile(join(tree, "board/common/linux.fragment"), "utf8")).split("\n");
    for (const option of ["BLK_DEV_LOOP", "BLK_DEV_DM", "DM_VERITY", "CRYPTO_SHA256", "SQUASHFS"])
      expect(kernel).toContain(`CONFIG_${option}=y`);
  },
);

test.each(names)("every file of ours that %s names is there", async (name) => {
  const text = await readFile(join(tree, "configs", `${name}_defconfig`), "utf8");
  const paths = [...text.matchAll(/\$\(BR2_EXTERNAL_TAPDECK_PATH\)([^\s"]*)/g)].map(([, path]) =>
    join(tree, path ?? ""),
  );
  expect(paths.length).toBeGreaterThan(3);
  for (const path of paths) expect(await run(["test", "-e", path])).toBe("");
});

const python = "/usr/bin/python3";
const kconfig = async (...symbols: readonly string[]) => {
  const said = await run([python, join(import.meta.dir, "kconfig.py"), ...symbols], {
    srctree: import.meta.dir,
    CONFIG_: "",
    BR2_EXTERNAL_TAPDECK_PATH: tree,
  });
  return said.trim().split("\n");
};
const board = ["BR2_aarch64=y", "BR2_TOOLCHAIN_USES_GLIBC=y", "BR2_INSTALL_LIBSTDCPP=y"];

test("the package can be chosen with glibc and C++, and brings what its addon is linked to", async () => {
  const chosen = await kconfig(...board, "BR2_PACKAGE_TAPDECK=y");
  expect(chosen).toContain("BR2_PACKAGE_TAPDECK=y");
  expect(chosen).toContain("BR2_PACKAGE_LIBUSB=y");
  expect(chosen).toContain("BR2_PACKAGE_TAPDECK_LIBUDEV=y");
  expect(chosen.filter((line) => line.startsWith("warning"))).toEqual([]);
  const udev = await kconfig(...board, "BR2_PACKAGE_HAS_UDEV=y", "BR2_PACKAGE_TAPDECK=y");
  expect(udev).toContain("BR2_PACKAGE_TAPDECK_LIBUDEV=n");
});

test.each(board)("the package cannot be chosen without %s", async (without) => {
  const symbols = board.filter((symbol) => symbol !== without);
  expect(await kconfig(...symbols, "BR2_PACKAGE_TAPDECK=y")).toContain("BR2_PACKAGE_TAPDECK=n");
});

test("the packages and the project have one version", async () => {
  for (const name of ["tapdeck", "tapdeck-watchdog"]) {
    const text = await readFile(join(tree, "package", name, `${name}.mk`), "utf8");
    expect(text).toContain(`_VERSION = ${version}\n`);
  }
});

test("each package names the texts of its licences, and knows their sums", async () => {
  const sumOf = async (path: string) =>
    createHash("sha256")
      .update(await readFile(join(root, path)))
      .digest("hex");
  const ours = ["LICENSE", await sumOf("LICENSE")] as const;
  const font = ["LICENSE.font", await sumOf("node_modules/dejavu-fonts-ttf/LICENSE")] as const;
  for (const [name, texts] of Object.entries({ tapdeck: [ours, font], "tapdeck-watchdog": [ours] })) {
    const folder = join(tree, "package", name);
    const files = texts.map(([file]) => file).join(" ");
    expect(await readFile(join(folder, `${name}.mk`), "utf8")).toContain(`_LICENSE_FILES = ${files}\n`);
    const sums = await readFile(join(folder, `${name}.hash`), "utf8");
    for (const [file, sum] of texts) expect(sums).toContain(`\nsha256  ${sum}  ${file}\n`);
  }
  // The watchdog can be used alone, and has its licence beside it.
  expect(await sumOf("watchdog/LICENSE")).toBe(ours[1]);
});

test("no loop of U-Boot's script has a variable by the name of one of the environment, which would hide it", async () => {
  const text = await readFile(join(tree, "board/qemu/boot.cmd"), "utf8");
  const loops = [...text.matchAll(/^\s*for (\w+) in /gm)].map(([, name]) => name);
  const set = [...text.matchAll(/\bsetenv (\w+)/g)].map(([, name]) => name);
  const imported = [...text.matchAll(/env import -t \S+ \S+ ([\w ]+)$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(loops).not.toEqual([]);
  expect(imported).toContain("slot");
  expect([...set, ...imported].filter((name) => loops.includes(name))).toEqual([]);
});

/** Runs a package's own steps into `target`. */
async function install(
  name: string,
  source: string,
  target: string,
  more: readonly string[] = [],
): Promise<void> {
  const variable = name.toUpperCase().replaceAll("-", "_");
  const words = [
    `MK=${join(tree, "package", name, `${name}.mk`)}`,
    `NAME=${variable}`,
    `TARGET_DIR=${target}`,
  ];
  await run([
    "make",
    "--file",
    join(import.meta.dir, "package.mk"),
    ...words,
    `SOURCE=${source}`,
    ...more,
    `${source}/.stamp_installed`,
  ]);
}

test("the package installs the very program that was compiled, and refuses one that was altered", async () => {
  const [source, target] = [join(folder, "source"), join(folder, "target")];
  await mkdir(source);
  await run(
    ["sh", join(tree, "package/tapdeck/collect"), source],
    { PROGRAM: await stand("compiled") },
    root,
  );
  await install("tapdeck", source, target, ["BR2_aarch64=y"]);
  expect(await readFile(join(target, "usr/bin/tapdeck"), "utf8")).toBe("compiled");
  expect(await readFile(join(target, "etc/modprobe.d/tapdeck.conf"), "utf8")).toContain(
    "blacklist pn533_usb",
  );
  expect(await run(["test", "-x", join(target, "etc/init.d/S90tapdeck")])).toBe("");
  await writeFile(join(source, "tapdeck-linux-arm64"), "stripped");
  await expect(install("tapdeck", source, target, ["BR2_aarch64=y"])).rejects.toThrow("FAILED");
});

test("an image that is made again has the programs of today, and keeps packages that have not changed", async () => {
  const copy = join(folder, "made-again");
  const output = join(copy, "build/buildroot/qemu");
  const built = ["tapdeck-0.1.0", "tapdeck-watchdog-0.1.0", "tapdeck-libudev-custom", "mpv-0.35.1"];
  const build = () =>
    Promise.all(built.map((name) => mkdir(join(output, "build", name), { recursive: true })));
  for (const part of ["buildroot", "watchdog"])
    await cp(join(root, part), join(copy, part), { recursive: true });
  await Bun.write(join(copy, "dist/buildroot/tapdeck-linux-arm64"), "first");
  const left = async () => {
    await run([join(copy, "buildroot/board/common/forget-changed"), output]);
    return (await readdir(join(output, "build"))).toSorted();
  };
  await build();
  await left();
  await build();
  expect(await left()).toEqual(built.toSorted());
  await Bun.write(join(copy, "dist/buildroot/tapdeck-linux-arm64"), "second");
  expect(await left()).toEqual(["mpv-0.35.1", "tapdeck-libudev-custom", "tapdeck-watchdog-0.1.0"]);
  await build();
  await appendFile(join(copy, "watchdog/tapdeck-confine.c"), "/* changed */\n");
  expect(await left()).toEqual(["mpv-0.35.1", "tapdeck-0.1.0", "tapdeck-libudev-custom"]);
  await build();
  await appendFile(join(copy, "buildroot/package/tapdeck-libudev/tapdeck-libudev.mk"), "# changed\n");
  expect(await left()).toEqual(["mpv-0.35.1", "tapdeck-0.1.0", "tapdeck-watchdog-0.1.0"]);
});

async function stand(text: string): Promise<string> {
  const path = join(folder, "program");
  await writeFile(path, text);
  return path;
}

test("the watchdog's package compiles its programs and installs them", async () => {
  const [source, target] = [join(folder, "watchdog"), join(folder, "watchdog-target")];
  await cp(join(root, "watchdog"), source, { recursive: true });
  await install("tapdeck-watchdog", source, target, ["TARGET_CC=cc"]);
  expect(await run([join(target, "usr/bin/tapdeck-watchdog"), "--help"])).toContain("--supervise");
  for (const name of ["tapdeck-reboot", "tapdeck-confine"])
    expect(existsSync(join(target, "usr/bin", name))).toBe(true);
});

test.each(["zero2w", "qemu"])("the output of Buildroot for %s becomes a card", async (board) => {
  const images = join(folder, `images-${board}`);
  const put = (path: string, text = path) => Bun.write(join(images, path), text);
  await put("Image");
  await put("rootfs.squashfs");
  if (board !== "qemu") {
    const config = await readFile(join(tree, "board/raspberrypi/config.txt"), "utf8");
    await put("bcm2710-rpi-zero-2-w.dtb");
    await put("rpi-firmware/start.elf");
    await put("rpi-firmware/overlays/disable-bt.dtbo");
    await put("rpi-firmware/config.txt", config);
  }
  // A program of the test replaces the last step. The stand-in image runs the real step, and here only the arguments are
  // checked.
  const programs = join(folder, "bin");
  await Bun.write(join(programs, "genimage"), '#!/bin/sh\nfind "$2" -type f -printf "%P\\n" | sort\n');
  await Bun.write(join(programs, "mkimage"), '#!/bin/sh\nfor last; do :; done; echo script >"$last"\n');
  await run(["chmod", "+x", join(programs, "genimage"), join(programs, "mkimage")]);
  const env = { PATH: `${programs}:${process.env.PATH}` };
  const said = await run([join(tree, "board/common/post-image.sh"), images, board], env);
  const expected =
    board === "qemu"
      ? ["boot.scr", "kept.env"]
      : [
          "config.txt",
          "start.elf",
          "slot-a/overlays/disable-bt.dtbo",
          "slot-a/bcm2710-rpi-zero-2-w.dtb",
          "slot-a/cmdline-a.txt",
          "slot-a/cmdline-b.txt",
        ];
  expect(said.trim().split("\n")).toEqual(
    expect.arrayContaining([...expected, "tapdeck.conf", "slot-a/Image", "slot-a/manifest.json"]),
  );
  if (board === "qemu") return;
  const commandLine = await readFile(join(images, "boot/slot-a/cmdline-b.txt"), "utf8");
  expect(commandLine).toMatch(/root=PARTUUID=[0-9a-f]{8}-03 .*tapdeck\.slot=b$/m);
  expect(slotOfConfig(await readFile(join(images, "boot/config.txt"), "utf8"))).toBe("a");
});

const withBuildroot = buildroot === undefined ? test.skip : test;
withBuildroot.each(names)(
  "Buildroot keeps every line of %s, and of the optional fragments on top",
  async (name) => {
    const out = join(folder, name);
    const lost = async (fragments: readonly string[]) => {
      const kept = new Set((await readFile(join(out, ".config"), "utf8")).split("\n"));
      const stated = (await defconfigOf(fragments)).trim().split("\n");
      return stated.filter((line) => !kept.has(line));
    };
    await run([...makeIn(out), `${name}_defconfig`]);
    expect(await lost(boards[name] ?? [])).toEqual([]);
    await appendFile(join(out, ".config"), await defconfigOf(optional));
    await run([...makeIn(out), "olddefconfig"]);
    expect(await lost([...(boards[name] ?? []), ...optional])).toEqual([]);
  },
);

withBuildroot("Buildroot's own check finds nothing in the tree", async () => {
  const files = ["Config.in", "external.mk", "libretro-core.mk", "package", "configs"]
    .flatMap((name) => {
      const path = join(tree, name);
      if (!statSync(path).isDirectory()) return [path];
      return readdirSync(path, { recursive: true }).map((file) => join(path, String(file)));
    })
    .filter((path) => statSync(path).isFile());
  await run([python, join(buildroot ?? "", "utils/check-package"), "-b", ...files], {}, buildroot);
});
