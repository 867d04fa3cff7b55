/** The check of the data partition at each start, on files: it repairs the effects of a power cut without a loss. */
import { expect, test } from "bun:test";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

const script = join(root, "overlay/usr/lib/tapdeck/check-data");
const content = "what was acknowledged\n";
const superblockAt = 1024;
const sectorBytes = 512;
const mountCountAt = 0x34; // The place of s_mnt_count, in the first sector (Linux kernel documentation, ext4 data structures, "Super Block").

/** Makes a data partition like that of the image, with a file on it. `age` then changes it, and `look` checks it. */
async function withData(
  age: (path: string) => Promise<void>,
  look: (path: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-data-"));
  try {
    const [path, file] = [join(folder, "data.ext4"), join(folder, "kept")];
    await writeFile(file, content);
    const config = await readFile(join(root, "buildroot/board/common/genimage.cfg"), "utf8");
    const options = /extraargs = "(-m .*)"/.exec(config)?.[1]?.split(" ") ?? [];
    expect(options).toContain("-b");
    await run(["mke2fs", "-q", "-t", "ext4", ...options, path, "64M"]);
    await run(["debugfs", "-w", "-R", `write ${file} kept`, path]);
    await age(path);
    await look(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function change(path: string, offset: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "r+");
  await file.write(bytes, 0, bytes.length, offset);
  await file.close();
}

const isPutRight = (path: string) => Bun.spawnSync(["busybox", "ash", script, path]).exitCode === 0;

async function isWhole(path: string): Promise<void> {
  expect(Bun.spawnSync(["e2fsck", "-fn", path]).exitCode).toBe(0);
  expect(Bun.spawnSync(["debugfs", "-R", "cat kept", path]).stdout.toString()).toBe(content);
}

const grown = async (path: string) => {
  await run(["truncate", "-s", "700M", path]);
  await run(["resize2fs", path]);
};

test.each([
  ["as it was made", async () => {}],
  ["grown to the card's end", grown],
])("a superblock %s of which a cut left one new sector is put right, and nothing is lost", (_, age) =>
  withData(age, async (path) => {
    await change(path, superblockAt + mountCountAt, Uint8Array.of(7, 0));
    expect(Bun.spawnSync(["e2fsck", "-p", path]).exitCode).toBeGreaterThanOrEqual(4);
    expect(isPutRight(path)).toBe(true);
    await isWhole(path);
  }),
);

test("a superblock that grew in its first sector only is put right, too", () =>
  withData(
    async () => {},
    async (path) => {
      const before = (await readFile(path)).subarray(superblockAt, superblockAt + 2 * sectorBytes);
      await grown(path);
      // The sum is in the second sector.
      await change(path, superblockAt + sectorBytes, before.subarray(sectorBytes));
      expect(isPutRight(path)).toBe(true);
      await isWhole(path);
    },
  ));

test("a sound file system is left alone, and so is one that is beyond repair", () =>
  withData(
    async () => {},
    async (path) => {
      expect(isPutRight(path)).toBe(true);
      await isWhole(path);
      await change(path, 0, new Uint8Array(2 ** 20));
      const before = Bun.hash(await readFile(path));
      expect(isPutRight(path)).toBe(false);
      expect(Bun.hash(await readFile(path))).toBe(before);
    },
  ));
