/**
 * Unpacks an image that Buildroot made, for the tests that boot it: `bun tools/image/unpack-image.ts IMAGE FOLDER`.
 *
 *   FOLDER/tapdeck.img      a link to the image
 *   FOLDER/boot             the files of the boot partition; boot/slot-a has the kernel
 *   FOLDER/root             the files of slot A
 *   FOLDER/players.list     the files that only players need, which updates of tests omit
 *   FOLDER/figures.json     the sizes, as tools/image/main.ts writes them
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readMeta } from "./meta.ts";
import { isOfPlayers } from "./players.ts";
import { run } from "./run.ts";
import { testAuthority } from "./test-authority.ts";

const [image, out] = process.argv.slice(2).map((path) => resolve(path));
if (image === undefined || out === undefined || !existsSync(image)) {
  process.stderr.write("unpack-image.ts: say the image and the folder\n");
  process.exit(2);
}
const started = performance.now();
const meta = readMeta();
const link = join(out, "tapdeck.img");
const boot = join(out, "boot");
const root = join(out, "root");
const slot = join(out, "root.squashfs");

await rm(out, { recursive: true, force: true });
await mkdir(boot, { recursive: true });
await symlink(image, link);
const [first, second] = await partitions(image);
await run(["mcopy", "-s", "-n", "-m", "-i", `${image}@@${first?.start}`, "::/", boot]);
await run([
  "dd",
  `if=${image}`,
  `of=${slot}`,
  "bs=1M",
  `skip=${(second?.start ?? 0) / 2 ** 20}`,
  `count=${meta.slotMib}`,
]);
await run(["unsquashfs", "-quiet", "-no-progress", "-dest", root, slot]);
const keyring = join(root, "etc/rauc/keyring.pem");
const trusted = existsSync(keyring) ? await readFile(keyring, "utf8") : "";
if (trusted !== (await readFile((await testAuthority()).keyring, "utf8"))) {
  process.stderr.write(
    "unpack-image.ts: the image does not trust this checkout, so that the tests of updates will fail: build it with etc/rauc/keyring.pem of `bun tools/image/test-authority.ts`\n",
  );
}
const paths = await readdir(root, { recursive: true });
await writeFile(
  join(out, "players.list"),
  paths
    .filter((path) => isOfPlayers(path))
    .map((path) => `${path}\n`)
    .join(""),
);
const compressed = join(out, "tapdeck.img.zst");
await run(["zstd", "-q", "-f", "-3", "-T0", image, "-o", compressed]);
const figures = {
  kernel: (await readdir(join(root, "lib/modules"))).join(" "),
  imageBytes: (await stat(image)).size,
  compressedBytes: (await stat(compressed)).size,
  bootBytes: await bytesBelow(boot),
  rootBytes: await squashfsBytes(slot),
  slotBytes: meta.slotMib * 2 ** 20,
  bootPartitionBytes: meta.bootMib * 2 ** 20,
  dataBytes: meta.dataMib * 2 ** 20,
  seconds: Math.round((performance.now() - started) / 100) / 10,
};
await writeFile(join(out, "figures.json"), `${JSON.stringify(figures, null, 2)}\n`);
for (const path of [compressed, slot]) await rm(path);

interface Partition {
  /** The start of the partition in bytes. */
  readonly start: number;
}

async function partitions(path: string): Promise<readonly Partition[]> {
  const { partitiontable } = JSON.parse(await run(["sfdisk", "--json", path]));
  return partitiontable.partitions.map(({ start }: { readonly start: number }) => ({ start: start * 512 }));
}

/** The bytes of a squashfs, which the superblock states at offset 40, little-endian. */
async function squashfsBytes(path: string): Promise<number> {
  const head = await Bun.file(path).slice(0, 96).arrayBuffer();
  return Number(new DataView(head).getBigUint64(40, true));
}

async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, entry));
    if (found.isFile()) sum += found.size;
  }
  return sum;
}
