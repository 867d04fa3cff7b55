/**
 * Makes the stand-in image `dist/tapdeck-qemu.img` out of Debian's arm64 packages, our overlay, binary and watchdog,
 * with the same genimage.cfg as a board's image: `bun tools/image/main.ts`. If Buildroot has made a base
 * (tools/image/base.ts), the base replaces the packages. The program needs neither root nor loop mounts. build/image/boot
 * has the files that QEMU starts with, and `build/image/figures.json` the sizes.
 */
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { keptText } from "../../src/update/boot-control.ts";
import { manifestName } from "../../src/update/slot-manifest.ts";
import { type Base, unpackBase } from "./base.ts";
import { compileBusyBox } from "./busybox.ts";
import { unpackPackages } from "./debs.ts";
import { readMeta, root } from "./meta.ts";
import { copyModules, rootModules, systemModules } from "./modules.ts";
import { addonLibraries, packages } from "./packages.ts";
import { isOfPlayers, putPlayers } from "./players.ts";
import { checkPrograms, makeFolders, putBusyBox, putLibrariesOf, putPrograms } from "./programs.ts";
import { compileRauc } from "./rauc.ts";
import { run } from "./run.ts";
import { testAuthority } from "./test-authority.ts";

const programs = [
  ...["sbin/sfdisk", "usr/bin/partx", "sbin/e2fsck", "sbin/debugfs", "sbin/resize2fs"],
  ...["sbin/blkid", "usr/bin/flock", "bin/kmod", "usr/sbin/dropbear", "usr/sbin/avahi-daemon"],
  ...["sbin/wpa_supplicant", "sbin/wpa_cli", "usr/sbin/hostapd", "usr/sbin/dnsmasq"],
  ...[
    "usr/bin/dbus-daemon",
    "usr/bin/dbus-monitor",
    "usr/bin/dbus-send",
    "usr/bin/bluetoothctl",
    "usr/bin/bluealsa",
  ],
];
/** Programs that no person starts, and their names in /usr/libexec. */
const helpers = [
  ["usr/lib/openssh/sftp-server", "sftp-server"],
  ["usr/libexec/bluetooth/bluetoothd", "bluetooth/bluetoothd"],
] as const;
/** Links to kmod, which BusyBox's applets of these names do not replace. */
const moduleTools = ["depmod", "insmod", "lsmod", "modinfo", "modprobe", "rmmod"];
const board = "broadcom/bcm2837-rpi-zero-2-w.dtb";

const work = join(root, "build/image");
const target = join(work, "root");
const boot = join(work, "boot");
const slot = join(boot, "slot-a");
const binary = join(root, "dist/tapdeck-linux-arm64");
const meta = readMeta();
const started = performance.now();
// The time of the commit. The same commit therefore gives the same bytes, and the clock of a board starts at this time.
const epoch = (await run(["git", "log", "-1", "--format=%ct"], { cwd: root }).catch(() => "")).trim();

const base = await unpackBase();
await rm(target, { recursive: true, force: true });
await rm(boot, { recursive: true, force: true });
await mkdir(slot, { recursive: true });
const kernel = base === undefined ? await putPackages() : await putBase(base);
await makeRoot();
await makeBoot();
await makeImage();

/** Copies the base, and returns the version of its kernel. */
async function putBase({ system, kernelImage }: Base): Promise<string> {
  await run(["cp", "--archive", system, target]);
  await cp(kernelImage, join(slot, "Image"));
  await listPlayers((await readdir(target, { recursive: true })).filter(isOfPlayers));
  return (await readdir(join(target, "lib/modules"))).join(" ");
}

/** Copies the packages, and returns the version of the kernel. */
async function putPackages(): Promise<string> {
  const { tree, kernel: version } = await unpackPackages(packages);
  await makeFolders(target);
  await putPrograms(tree, target, programs);
  for (const [from, to] of helpers) {
    await putLibrariesOf(join(tree, from), tree, target);
    await cp(join(tree, from), join(target, "usr/libexec", to));
  }
  for (const name of addonLibraries)
    await cp(join(tree, "usr/lib/aarch64-linux-gnu", name), join(target, "usr/lib/aarch64-linux-gnu", name), {
      dereference: true,
    });
  await putLibrariesOf(binary, tree, target);
  const rauc = await compileRauc(tree);
  await cp(rauc, join(target, "usr/bin/rauc"));
  await putLibrariesOf(rauc, tree, target);
  for (const name of addonLibraries)
    await putLibrariesOf(join(target, "usr/lib/aarch64-linux-gnu", name), tree, target);
  const before = new Set(await readdir(target, { recursive: true }));
  await putPlayers(tree, target);
  const added = (await readdir(target, { recursive: true })).filter((path) => !before.has(path));
  await listPlayers(added);
  for (const name of moduleTools) await symlink("kmod", join(target, "usr/bin", name));
  await putBusyBox(await compileBusyBox(), join(target, "usr/bin"));
  await copyModules(tree, version, { names: systemModules, target });
  await mkdir(join(target, "etc/avahi"));
  const avahi = "etc/avahi/avahi-daemon.conf";
  await cp(join(tree, avahi), join(target, avahi));
  await checkPrograms(join(target, "usr/bin"));
  await putDebianKernel(tree, version);
  return version;
}

/** Lists the players' files. Updates of the tests omit them, because they are most of the bytes. */
async function listPlayers(paths: readonly string[]): Promise<void> {
  await writeFile(join(work, "players.list"), paths.map((path) => `${path}\n`).join(""));
}

async function makeRoot(): Promise<void> {
  await cp(join(root, "overlay"), target, { recursive: true, verbatimSymlinks: true });
  await cp(binary, join(target, "usr/bin/tapdeck"));
  for (const program of ["tapdeck-watchdog", "tapdeck-reboot", "tapdeck-confine", "tapdeck-share"])
    await compile(program);
  await trustUpdates();
  await run([join(root, "buildroot/board/common/post-build.sh"), target, "qemu"], {
    environment: epoch === "" ? {} : { SOURCE_DATE_EPOCH: epoch },
  });
  await rm(join(work, "root.squashfs"), { force: true });
  await run([
    "mksquashfs",
    target,
    join(work, "root.squashfs"),
    ...["-all-root", "-noappend", "-no-progress", "-comp", "zstd", "-Xcompression-level", "9"],
    ...(epoch === "" ? [] : ["-mkfs-time", epoch]),
  ]);
}

async function compile(program: string): Promise<void> {
  await run([
    "aarch64-linux-gnu-gcc",
    ...["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-s"],
    join(root, `watchdog/${program}.c`),
    ...["-o", join(target, "usr/bin", program)],
  ]);
}

/** Puts the keyring of the tests into the image, because the tests sign updates for it. */
async function trustUpdates(): Promise<void> {
  await cp((await testAuthority()).keyring, join(target, "etc/rauc/keyring.pem"));
}

/** Copies the kernel, the first file system and the board's device tree. */
async function putDebianKernel(tree: string, version: string): Promise<void> {
  await cp(join(tree, `boot/vmlinuz-${version}`), join(slot, "Image"));
  await cp(join(tree, `usr/lib/linux-image-${version}`, board), join(slot, "bcm2710-rpi-zero-2-w.dtb"));
  const first = join(work, "first");
  await rm(first, { recursive: true, force: true });
  for (const folder of ["proc", "sys", "dev", "root"]) await mkdir(join(first, folder), { recursive: true });
  await putBusyBox(join(tree, "bin/busybox"), join(first, "bin"));
  await copyModules(tree, version, { names: rootModules, target: first });
  await writeFile(join(first, "modules"), `${rootModules.join(" ")}\n`);
  await cp(join(root, "tools/image/initrd-init"), join(first, "init"));
  await chmod(join(first, "init"), 0o755);
  const archive = `find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 --reproducible | gzip -n -6 > "$0"`;
  await run(["sh", "-c", archive, join(slot, "initrd")], { cwd: first });
}

/** Makes the files of the boot loader, and those that people edit. */
async function makeBoot(): Promise<void> {
  await cp(join(root, "buildroot/board/common/boot"), boot, { recursive: true });
  await run([
    "mkimage",
    ...["-q", "-A", "arm64", "-O", "linux", "-T", "script", "-C", "none", "-n", "Tapdeck"],
    ...["-d", join(root, "buildroot/board/qemu/boot.cmd"), join(boot, "boot.scr")],
  ]);
  await writeFile(join(boot, "kept.env"), keptText("a"));
}

async function makeImage(): Promise<void> {
  const input = join(work, "input");
  await rm(input, { recursive: true, force: true });
  await mkdir(input, { recursive: true });
  await rename(join(work, "root.squashfs"), join(input, "root.squashfs"));
  await writeFile(
    join(slot, manifestName),
    await run([
      join(root, "buildroot/board/common/slot-manifest"),
      ...["qemu", join(input, "root.squashfs"), slot],
    ]),
  );
  const output = join(work, "output");
  await rm(output, { recursive: true, force: true });
  await run(
    [
      "genimage",
      ...["--config", join(root, "buildroot/board/common/genimage.cfg"), "--rootpath", boot],
      ...["--inputpath", input, "--outputpath", output, "--tmppath", join(work, "tmp")],
    ],
    { cwd: work, environment: meta.environment },
  );
  await rm(join(work, "tmp"), { recursive: true, force: true });
  await checkBinary(input);
  const image = join(root, "dist/tapdeck-qemu.img");
  await rename(join(output, "tapdeck.img"), image);
  await run(["zstd", "-q", "-f", "-3", "-T0", image, "-o", `${image}.zst`]);
  const figures = {
    kernel,
    imageBytes: (await stat(image)).size,
    compressedBytes: (await stat(`${image}.zst`)).size,
    bootBytes: await bytesBelow(boot),
    rootBytes: (await stat(join(input, "root.squashfs"))).size,
    slotBytes: meta.slotMib * 2 ** 20,
    bootPartitionBytes: meta.bootMib * 2 ** 20,
    dataBytes: meta.dataMib * 2 ** 20,
    seconds: Math.round((performance.now() - started) / 100) / 10,
  };
  await writeFile(join(work, "figures.json"), `${JSON.stringify(figures, null, 2)}\n`);
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  process.stdout.write(
    `dist/tapdeck-qemu.img: ${mb(figures.imageBytes)}, compressed ${mb(figures.compressedBytes)}; boot ${mb(figures.bootBytes)} of ` +
      `${mb(figures.bootPartitionBytes)}, system ${mb(figures.rootBytes)} of ${mb(figures.slotBytes)}; made in ${figures.seconds} s\n`,
  );
}

/** Throws if the binary was stripped. A stripped file would be a plain runtime, without our program. */
async function checkBinary(input: string): Promise<void> {
  const inside = join(work, "inside");
  await rm(inside, { recursive: true, force: true });
  await run(["unsquashfs", "-q", "-n", "-d", inside, join(input, "root.squashfs"), "usr/bin/tapdeck"]);
  const hash = async (path: string) =>
    createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
  const same = (await hash(join(inside, "usr/bin/tapdeck"))) === (await hash(binary));
  await rm(inside, { recursive: true, force: true });
  if (!same) throw new Error("the binary in the image is not the one that was compiled: was it stripped?");
}

async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, entry));
    if (found.isFile()) sum += found.size;
  }
  return sum;
}
