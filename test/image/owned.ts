/** Copies of the image as they are after some use: with a tapdeck.conf of the owner, and with damage. */
import { mkdtemp, open, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMeta } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { image } from "./board.ts";

const meta = readMeta();
const bootFrom = 2 ** 20; // The first partition begins after the table, at the alignment of genimage.cfg.
/** The start of the data partition, in bytes. */
export const dataFrom = bootFrom + (meta.bootMib + 2 * meta.slotMib) * 2 ** 20;
const blockBytes = 4096; // The block size of the data file system, by genimage.cfg.

export async function copyImage(path: string): Promise<void> {
  await run(["cp", "--sparse=always", image, path]);
}

/** Puts this tapdeck.conf on the boot partition, as a PC would. */
export async function writeConf(path: string, text: string): Promise<void> {
  const file = `${path}.conf`;
  await writeFile(file, text);
  await run(["mcopy", "-o", "-i", `${path}@@${bootFrom}`, file, "::tapdeck.conf"]);
  await rm(file);
}

/** Puts all files of this folder on the boot partition. */
export async function copyToBoot(path: string, folder: string): Promise<void> {
  const files = (await readdir(folder)).map((name) => join(folder, name));
  await run(["mcopy", "-o", "-i", `${path}@@${bootFrom}`, ...files, "::"]);
}

/** Puts a game on the data partition, and destroys a folder beside it so badly that no repair is safe without a person. */
export async function damageData(path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-damage-"));
  const part = join(folder, "data.ext4");
  const game = join(folder, "Game.sfc");
  const size = meta.dataMib * 2 ** 20;
  await writeFile(game, "game\n");
  await writeFile(part, "");
  await truncate(part, size);
  await copyBytes({ path, from: dataFrom }, { path: part, from: 0 }, size);
  const debugfs = (command: string) => run(["debugfs", "-w", "-R", command, part]);
  for (const name of ["tapdeck", "tapdeck/media", "tapdeck/media/SNES", "tapdeck/torn"])
    await debugfs(`mkdir ${name}`);
  await debugfs(`write ${game} tapdeck/media/SNES/Game.sfc`);
  const block = Number((await debugfs("blocks tapdeck/torn")).trim());
  const file = await open(part, "r+");
  await file.write(new Uint8Array(blockBytes).fill(0x5a), 0, blockBytes, block * blockBytes);
  await file.close();
  // The kernel had noticed the damage, so the next check is a full one.
  await debugfs("set_super_value state 2");
  await copyBytes({ path: part, from: 0 }, { path, from: dataFrom }, size);
  await rm(folder, { recursive: true });
}

interface Place {
  readonly path: string;
  readonly from: number;
}

async function copyBytes(source: Place, target: Place, count: number): Promise<void> {
  const bytes = new Uint8Array(count);
  const input = await open(source.path, "r");
  await input.read(bytes, 0, count, source.from);
  await input.close();
  const output = await open(target.path, "r+");
  await output.write(bytes, 0, count, target.from);
  await output.close();
}
