/**
 * RAUC's calls during an installation, in their order (its manual, "Integration" and "Bundle Hooks"):
 *
 *   pre-install           reads the whole bundle: nothing is written if the file is damaged, or does not fit
 *   set-state SLOT bad    no later start takes the slot
 *   (RAUC writes the root file system)
 *   slot-install          writes the boot files, and reads both back from the card
 *   set-primary SLOT      arms the slot for one try
 *
 * `set-state SLOT good` follows after a healthy trial. The kept slot is never marked bad, and only the running slot is
 * marked good. overlay/usr/lib/tapdeck/rauc-call answers RAUC's questions.
 */
import { exitFailure } from "../core/errors.ts";
import { type BootSlot, slotFolder, slots } from "./boot-control.ts";
import { type BootFiles, folderOf, removeFile, replaceFile } from "./disk.ts";
import type { Machine } from "./machine.ts";
import { findDamage, freeSlot, type InstallProgress, manifestOf } from "./slot-content.ts";
import {
  bootBytesOf,
  bootPathOf,
  type Manifest,
  manifestName,
  nextManifestName,
  readManifest,
  rootBytesOf,
  totalBytes,
} from "./slot-manifest.ts";

/** The files of a mounted bundle: `root.img`, `slot.json`, and the boot files in `boot`. */
export const bundleManifest = "slot.json";
export const bundleRoot = "root.img";

export interface RaucCall {
  readonly words: readonly string[];
  /** The files of the mounted bundle, for the calls that need them. */
  readonly bundle: Pick<BootFiles, "read" | "chunks">;
  readonly progress: InstallProgress;
  /** Called after the check of the whole bundle, before anything is written. */
  readonly checked: () => Promise<void>;
}

/** Throws a sentence if RAUC must not continue. */
export async function answerRauc(machine: Machine, call: RaucCall): Promise<void> {
  const [name, word = "", state = ""] = call.words;
  switch (name) {
    case "pre-install":
      await checkBundle(machine, call);
      return call.checked();
    case "slot-install":
      return writeSlot(machine, call);
    case "set-state":
      return state === "good" ? markGood(machine, slotNamed(word)) : markBad(machine, slotNamed(word));
    case "set-primary":
      return activate(machine, slotNamed(word));
  }
  throw exitFailure(`RAUC asks for ${name}, which this system does not know`);
}

async function markGood({ control }: Machine, slot: BootSlot): Promise<void> {
  if (slot !== control.running) throw exitFailure(`slot ${slot} does not run: only its own trial keeps it`);
  await control.keep(slot);
}

async function markBad({ control, files }: Machine, slot: BootSlot): Promise<void> {
  if (slot === control.running || slot === (await control.kept()))
    throw exitFailure(`slot ${slot} runs or is kept: it has to start if all else fails`);
  await control.disarm();
  for (const name of [manifestName, nextManifestName]) await removeFile(files, slotFolder(slot) + name);
}

async function activate({ control, files }: Machine, slot: BootSlot): Promise<void> {
  if (slot === (await control.kept())) return control.disarm();
  const folder = slotFolder(slot);
  if ((await manifestOf(files, slot, nextManifestName)) !== undefined) {
    await files.rename(folder + nextManifestName, folder + manifestName);
    await files.syncFolder(folder);
  }
  if ((await manifestOf(files, slot)) === undefined) throw exitFailure(`slot ${slot} holds no whole system`);
  await control.tryOnce(slot);
}

async function checkBundle(machine: Machine, { bundle, progress }: RaucCall): Promise<void> {
  const slot = await freeSlot(machine.control);
  const { manifest, chunks } = await openBundle(bundle);
  await judgeRoom(manifest, machine, slot);
  const total = totalBytes(manifest.parts);
  let done = 0;
  for (const part of manifest.parts) {
    let bytes = 0;
    try {
      for await (const chunk of chunks(part)) {
        bytes += chunk.length;
        progress("checking", done + bytes, total);
      }
    } catch (error) {
      // The kernel compares each block with its hash.
      throw damaged(part.name, error);
    }
    if (bytes !== part.bytes) throw damaged(part.name);
    done += bytes;
  }
}

function damaged(name: string, cause?: unknown) {
  return exitFailure(
    `the file is damaged: its part ${name} differs from the signed one; fetch it again`,
    cause,
  );
}

async function openBundle(files: RaucCall["bundle"]) {
  const text = await files.read(bundleManifest).catch((error: unknown) => {
    throw damaged(bundleManifest, error);
  });
  const manifest = text === undefined ? `it has no ${bundleManifest}` : readManifest(text);
  if (text === undefined || typeof manifest === "string")
    throw exitFailure(`this file cannot be used: ${manifest}`);
  return {
    manifest,
    text: new TextDecoder().decode(text),
    chunks: (part: Manifest["parts"][number]) =>
      files.chunks(bootPathOf(part) === undefined ? bundleRoot : part.name),
  };
}

async function judgeRoom(
  manifest: Manifest,
  { control, files, root }: Machine,
  slot: BootSlot,
): Promise<void> {
  const paths = new Set(manifest.parts.map(bootPathOf));
  const missing = control.needs(slot).find((name) => !paths.has(name));
  if (missing !== undefined) throw exitFailure(`this update cannot start: it lacks boot/${missing}`);
  const partition = await root(slot);
  const needed = rootBytesOf(manifest);
  if (needed > partition.bytes)
    throw exitFailure(
      `the update needs ${needed} bytes, and its slot has ${partition.bytes}: flash the card again`,
    );
  const old = await files.list(slotFolder(slot));
  const free = old.reduce((sum, { bytes }) => sum + bytes, await files.freeBytes());
  const most = bootBytesOf(manifest) + spareBytes;
  if (most > free)
    throw exitFailure(`the boot partition has room for ${free} bytes, and the update needs ${most} there`);
}

// The spare room is needed, because files take whole clusters, and a small file is written beside the one that it replaces.
const spareBytes = 1024 * 1024;
// This limit keeps the page cache of a board with 512 MB small.
const unsyncedBytesMax = 8 * 1024 * 1024;

async function writeSlot(machine: Machine, { bundle, progress }: RaucCall): Promise<void> {
  const { control, files } = machine;
  const slot = await freeSlot(control);
  const folder = slotFolder(slot);
  const { manifest, text, chunks } = await openBundle(bundle);
  const old = (await files.list(folder)).map(({ path }) => path);
  for (const path of old) await files.remove(path);
  for (const each of new Set(old.map(folderOf))) await files.syncFolder(each);
  for (const part of manifest.parts) {
    const path = bootPathOf(part);
    if (path === undefined) continue;
    const file = await files.create(folder + path);
    try {
      let unsynced = 0;
      for await (const chunk of chunks(part)) {
        await file.write(chunk);
        unsynced += chunk.length;
        if (unsynced >= unsyncedBytesMax) {
          await file.sync();
          unsynced = 0;
        }
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await files.syncFolder(folderOf(folder + path));
  }
  const partition = await machine.root(slot);
  await partition.sync();
  const target = { files, slot, partition };
  const wrong = await findDamage(manifest, target, (done, total) => progress("reading back", done, total));
  if (wrong !== undefined)
    throw exitFailure(
      `the card did not keep the written data (${wrong}): it may be worn out; nothing was changed`,
    );
  await replaceFile(files, folder + nextManifestName, text);
}

function slotNamed(word: string): BootSlot {
  const slot = slots.find((known) => known === word);
  if (slot === undefined) throw exitFailure(`RAUC names a slot ${word}, which this system does not have`);
  return slot;
}
