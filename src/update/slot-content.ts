/** The content of a slot: its manifest, the parts that differ from it, and the way back to the other slot. */
import { createHash } from "node:crypto";
import { exitFailure } from "../core/errors.ts";
import { type BootControl, type BootSlot, otherSlot, slotFolder } from "./boot-control.ts";
import type { BootFiles, RootPartition } from "./disk.ts";
import {
  bootPathOf,
  type Manifest,
  manifestName,
  readManifest,
  type SlotPart,
  totalBytes,
} from "./slot-manifest.ts";

export type Step = "checking" | "writing" | "reading back";
/** Called with the `done` bytes of `total` in a step. */
export type InstallProgress = (step: Step, done: number, total: number) => void;

/** A slot: its files on the boot partition, and its root file system. */
interface Target {
  readonly files: BootFiles;
  readonly slot: BootSlot;
  readonly partition: RootPartition;
}

/** The slot to write: the one that neither runs nor is kept. Throws a sentence during a trial. */
export async function freeSlot(control: BootControl): Promise<BootSlot> {
  const running = control.running;
  const kept = await control.kept();
  if (running !== kept)
    throw exitFailure("this system is itself being tried: wait until it is kept, a minute after its start");
  return otherSlot(running);
}

/** The manifest of a slot; undefined if the slot is empty or unfinished. */
export async function manifestOf(
  files: BootFiles,
  slot: BootSlot,
  name = manifestName,
): Promise<Manifest | undefined> {
  const bytes = await files.read(slotFolder(slot) + name);
  const manifest = bytes === undefined ? "there is none" : readManifest(bytes);
  return typeof manifest === "string" ? undefined : manifest;
}

/** Arms the other slot again if it is whole. Returns its version. */
export async function goBack({
  files,
  control,
  root,
  progress,
}: {
  readonly files: BootFiles;
  readonly control: BootControl;
  readonly root: (slot: BootSlot) => Promise<RootPartition>;
  readonly progress: InstallProgress;
}): Promise<string> {
  const slot = await freeSlot(control);
  const manifest = await manifestOf(files, slot);
  if (manifest === undefined)
    throw exitFailure("there is nothing to go back to: the other slot holds no system");
  const target: Target = { files, slot, partition: await root(slot) };
  const wrong = await findDamage(manifest, target, (done, total) => progress("checking", done, total));
  if (wrong !== undefined) throw exitFailure(`the other slot is damaged (${wrong}): install an update there`);
  await control.tryOnce(slot);
  return manifest.version;
}

/**
 * The name of the first part whose sum is not that of the manifest; undefined if there is none. Reads the whole slot
 * from the disk.
 */
export async function findDamage(
  { parts }: Manifest,
  { files, slot, partition }: Target,
  progress: (done: number, total: number) => void,
): Promise<string | undefined> {
  const total = totalBytes(parts);
  let done = 0;
  for (const part of parts) {
    const path = bootPathOf(part);
    const chunks = path === undefined ? partition.chunks(part.bytes) : files.chunks(slotFolder(slot) + path);
    const isWhole = await matches(part, chunks, (bytes) => {
      done += bytes;
      progress(done, total);
    });
    if (!isWhole) return part.name;
  }
  return undefined;
}

async function matches(
  part: SlotPart,
  chunks: AsyncIterable<Uint8Array>,
  read: (bytes: number) => void,
): Promise<boolean> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      read(chunk.length);
    }
  } catch {
    return false; // An unreadable part counts as damaged.
  }
  return hash.digest("hex") === part.sha256;
}
