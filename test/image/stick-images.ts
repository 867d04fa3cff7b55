/**
 * Images of USB sticks in the formats of PCs: with and without a partition table, FAT, exFAT, NTFS and ext4. Neither
 * root nor loop mounts are needed.
 */
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "../../tools/image/run.ts";

const mib = 2 ** 20;

/** Makes empty files of these paths below the folder. */
export async function fill(folder: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), "game");
  }
  return folder;
}

async function empty(image: string, sizeMib: number): Promise<void> {
  await writeFile(image, "");
  await truncate(image, sizeMib * mib);
}

/** Makes one FAT file system with the folder's files, without a partition table. */
export async function fatStick(image: string, label: string, folder: string): Promise<string> {
  await empty(image, 64);
  await run(["mkfs.vfat", "-F", "32", "-n", label, image]);
  await run(["sh", "-c", `mcopy -s -Q -i "$0" "$1"/* ::`, image, folder]);
  return image;
}

/** Makes a partition table with FAT, ext4 and one partition of zeros. */
export async function partitionedStick(image: string, fat: string, ext4: string): Promise<string> {
  await empty(image, 128);
  const table = "label: dos\nstart=2048, size=81920, type=c\nsize=81920, type=83\nsize=20480, type=83\n";
  await run(["sh", "-c", `printf '%s' "$1" | sfdisk --quiet "$0"`, image, table]);
  await run(["mkfs.vfat", "--offset", "2048", "-F", "16", "-n", "MY GAMES!", image, String(40 * 1024)]);
  await run(["sh", "-c", `mcopy -s -Q -i "$0@@1M" "$1"/* ::`, image, fat]);
  const from = (2048 + 81_920) * 512;
  const options = ["-q", "-F", "-t", "ext4", "-L", "$(reboot)/..", "-d", ext4, "-E", `offset=${from}`];
  await run(["mke2fs", ...options, image, "40M"]);
  return image;
}

/** Makes empty sticks, because no program here can write to these file systems. */
export async function emptyStick(image: string, type: "exfat" | "ntfs"): Promise<string> {
  await empty(image, 64);
  if (type === "exfat") await run(["mkfs.exfat", "-L", "Films", image]);
  else await run(["mkntfs", "--quiet", "--fast", "--force", "--label", "Windows", image]);
  return image;
}

/** Makes a FAT file system with a valid first sector, and garbage after it. */
export async function brokenStick(image: string): Promise<string> {
  await empty(image, 64);
  await run(["mkfs.vfat", "-F", "32", "-n", "BROKEN", image]);
  await run([
    "dd",
    "if=/dev/urandom",
    `of=${image}`,
    "bs=512",
    "seek=1",
    "count=60000",
    "conv=notrunc",
    "status=none",
  ]);
  return image;
}
