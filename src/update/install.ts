/**
 * Writes a bundle into the slot that does not run, reads it back, and arms the slot for one try. No start takes a slot
 * without a manifest, so the manifest is removed first and written last.
 */
import { exitFailure } from "../core/errors.ts";
import { type BootControl, type BootSlot, slotFolder } from "./boot-control.ts";
import {
  type Checked,
  chunksOf,
  damaged,
  freeSlot,
  type Installation,
  type Placed,
  sha256Of,
  totalBytes,
} from "./check-bundle.ts";
import {
  type BootFiles,
  type BundleSource,
  folderOf,
  type RootPartition,
  removeFile,
  replaceFile,
} from "./disk.ts";
import { type BundlePart, bootPathOf, type Manifest, manifestName, readManifest } from "./update-bundle.ts";

// Limits the page cache of a board with 512 MB, and keeps the progress bar close to what is on the card.
const unsyncedBytesMax = 8 * 1024 * 1024;

/** Resolves when the other slot holds the update and the next start will try it. */
export async function writeUpdate(
  installation: Installation,
  { manifest, manifestText, parts, slot }: Checked,
): Promise<void> {
  const { source, files, control, progress } = installation;
  const target: Target = { files, slot, partition: await installation.root(slot) };
  await clearSlot(files, control, slot);
  const total = totalBytes(parts);
  let done = 0;
  for (const part of parts)
    await writePart(source, part, target, (count) => {
      done += count;
      progress("writing", done, total);
    });
  const wrong = await findDamage(manifest, target, (count) => progress("reading back", count, total));
  if (wrong !== undefined)
    throw exitFailure(
      `the card did not keep the written data (${wrong}): it may be worn out; nothing was changed`,
    );
  await replaceFile(files, slotFolder(slot) + manifestName, manifestText);
  await control.tryOnce(slot);
}

/** Arms the other slot again if it is whole. Returns its version. */
export async function goBack(
  installation: Pick<Installation, "files" | "control" | "root" | "progress">,
): Promise<string> {
  const { files, control, progress } = installation;
  const slot = await freeSlot(control);
  const manifest = await manifestOf(files, slot);
  if (manifest === undefined)
    throw exitFailure("there is nothing to go back to: the other slot holds no system");
  const total = totalBytes(manifest.parts);
  const target: Target = { files, slot, partition: await installation.root(slot) };
  const wrong = await findDamage(manifest, target, (count) => progress("checking", count, total));
  if (wrong !== undefined) throw exitFailure(`the other slot is damaged (${wrong}): install an update there`);
  await control.tryOnce(slot);
  return manifest.version;
}

/** The manifest of a slot; undefined if the slot is empty or unfinished. */
export async function manifestOf(files: BootFiles, slot: BootSlot): Promise<Manifest | undefined> {
  const bytes = await files.read(slotFolder(slot) + manifestName);
  const manifest = bytes === undefined ? "there is none" : readManifest(bytes);
  return typeof manifest === "string" ? undefined : manifest;
}

/** Removes the manifest first: from then on no start takes the slot. */
async function clearSlot(files: BootFiles, control: BootControl, slot: BootSlot): Promise<void> {
  await control.disarm();
  await removeFile(files, slotFolder(slot) + manifestName);
  const paths = (await files.list(slotFolder(slot))).map(({ path }) => path);
  for (const path of paths) await files.remove(path);
  for (const folder of new Set(paths.map(folderOf))) await files.syncFolder(folder);
}

/** A slot: its files on the boot partition, and its root file system. */
interface Target {
  readonly files: BootFiles;
  readonly slot: BootSlot;
  readonly partition: RootPartition;
}

async function writePart(
  source: BundleSource,
  part: Placed,
  { files, slot, partition }: Target,
  wrote: (bytes: number) => void,
): Promise<void> {
  const path = bootPathOf(part);
  const file = path === undefined ? await partition.open() : await files.create(slotFolder(slot) + path);
  try {
    let unsynced = 0;
    const sum = await sha256Of(chunksOf(source, part), async (chunk) => {
      await file.write(chunk);
      unsynced += chunk.length;
      if (unsynced >= unsyncedBytesMax) {
        await file.sync();
        unsynced = 0;
      }
      wrote(chunk.length);
    });
    await file.sync();
    // The check found the right sum, so the file was changed meanwhile.
    if (sum !== part.sha256) throw damaged(part);
  } finally {
    await file.close();
  }
  if (path !== undefined) await files.syncFolder(folderOf(slotFolder(slot) + path));
}

/** The name of the first part whose sum is not that of the manifest. */
async function findDamage(
  { parts }: Manifest,
  { files, slot, partition }: Target,
  progress: (bytes: number) => void,
): Promise<string | undefined> {
  let done = 0;
  for (const part of parts) {
    const path = bootPathOf(part);
    const chunks = path === undefined ? partition.chunks(part.bytes) : files.chunks(slotFolder(slot) + path);
    if (!(await matches(part, chunks))) return part.name;
    done += part.bytes;
    progress(done);
  }
  return undefined;
}

async function matches(part: BundlePart, chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  // An unreadable part is damaged too.
  return (await sha256Of(chunks).catch(() => undefined)) === part.sha256;
}
