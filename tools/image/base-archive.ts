/**
 * Packs the files that Buildroot made, without the files of this project: `bun tools/image/base-archive.ts OUTPUT FILE`,
 * with the folder of Buildroot's output. `make image-qemu` makes an image of it in seconds. The same output gives the
 * same bytes.
 *
 *   root/         the system without the overlay, the service and the watchdog
 *   boot/Image    the kernel
 */
import { existsSync } from "node:fs";
import { copyFile, lstat, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { root } from "./meta.ts";
import { run } from "./run.ts";

const archiveBytesMax = 120e6;
/** Files of this project, and those that post-build.sh and a trusted key add. */
const own =
  /^(?:usr\/bin\/tapdeck|etc\/tapdeck|etc\/rauc\/keyring\.pem$|root\/\.ssh$|usr\/share\/libretro\/autoconfig\/sdl2\/tapdeck-)/;

const [output, archive] = process.argv.slice(2).map((path) => resolve(path));
if (output === undefined || archive === undefined) {
  process.stderr.write("base-archive.ts: say the folder of Buildroot's output and the archive\n");
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), "tapdeck-base-"));
const system = join(folder, "root");
await run(["unsquashfs", "-quiet", "-no-progress", "-dest", system, join(output, "images/rootfs.squashfs")]);
await mkdir(join(folder, "boot"));
await copyFile(join(output, "images/Image"), join(folder, "boot/Image"));
const overlay = join(root, "overlay");
for (const path of await readdir(overlay, { recursive: true }))
  if (!(await lstat(join(overlay, path))).isDirectory()) await rm(join(system, path), { force: true });
for (const path of await readdir(system, { recursive: true }))
  if (own.test(path)) await rm(join(system, path), { recursive: true, force: true });
const tar = "tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=gnu root boot";
await run(["sh", "-c", `set -e; ${tar} | zstd -q -f -19 -T1 -o "$1"`, "sh", archive], { cwd: folder });
await rm(folder, { recursive: true });
const bytes = existsSync(archive) ? (await stat(archive)).size : 0;
if (bytes > archiveBytesMax) throw new Error(`${archive} has ${bytes} bytes, more than ${archiveBytesMax}`);
process.stdout.write(`${archive}: ${(bytes / 1e6).toFixed(1)} MB\n`);
