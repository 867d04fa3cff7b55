/** Checks of a whole bundle before anything is written: may this machine install it? */
import { createHash } from "node:crypto";
import { exitFailure, type StartError } from "../core/errors.ts";
import { type BootControl, type BootSlot, otherSlot, slotFolder } from "./boot-control.ts";
import type { BundleSource } from "./disk.ts";
import type { Machine } from "./machine.ts";
import {
  type BundlePart,
  bootBytesOf,
  bootPathOf,
  compareVersions,
  headBytes,
  isSignedBy,
  type Manifest,
  readHead,
  readManifest,
  rootPartOf,
} from "./update-bundle.ts";

export type Step = "checking" | "writing" | "reading back";

/** The machine, the bundle to install, and the caller's wishes. */
export interface Installation extends Machine {
  readonly source: BundleSource;
  readonly allowOlder: boolean;
  readonly progress: (step: Step, done: number, total: number) => void;
}

export interface Checked {
  readonly manifest: Manifest;
  /** As it is in the file. */
  readonly manifestText: string;
  readonly parts: readonly Placed[];
  readonly slot: BootSlot;
}

/** A part and the offset of its bytes in the file. */
export interface Placed extends BundlePart {
  readonly offset: number;
}

const chunkBytes = 1024 * 1024;

/** Throws a sentence if the bundle is not whole, not for this machine, or not allowed. Writes nothing. */
export async function checkUpdate(installation: Installation): Promise<Checked> {
  const { source, progress } = installation;
  const slot = await freeSlot(installation.control);
  const { manifest, manifestText } = await signedManifest(installation);
  judgeVersion(manifest, installation);
  const parts = place(manifest, manifestText);
  const total = totalBytes(parts);
  const end = (parts.at(-1)?.offset ?? 0) + (parts.at(-1)?.bytes ?? 0);
  if (source.bytes < end)
    throw exitFailure(`the file is cut short: ${source.bytes} of ${end} bytes are there; fetch it again`);
  if (source.bytes > end) throw exitFailure("the file is longer than its manifest says; fetch it again");
  await judgeRoom(manifest, installation, slot);
  let done = 0;
  for (const part of parts) {
    const sum = await sha256Of(chunksOf(source, part), (chunk) => {
      done += chunk.length;
      progress("checking", done, total);
    });
    if (sum !== part.sha256) throw damaged(part);
  }
  return { manifest, manifestText, parts, slot };
}

/** In hex digits. Awaits `each` before it reads the next chunk. */
export async function sha256Of(
  chunks: AsyncIterable<Uint8Array>,
  each: (chunk: Uint8Array) => void | Promise<void> = () => {},
): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) {
    hash.update(chunk);
    await each(chunk);
  }
  return hash.digest("hex");
}

export function totalBytes(parts: readonly BundlePart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

export function damaged({ name }: BundlePart): StartError {
  return exitFailure(`the file is damaged: its part ${name} differs from the signed one; fetch it again`);
}

/** The slot to write: the one that neither runs nor is kept. */
export async function freeSlot(control: BootControl): Promise<BootSlot> {
  const [running, kept] = [control.running, await control.kept()];
  if (running !== kept)
    throw exitFailure("this system is itself being tried: wait until it is kept, a minute after its start");
  return otherSlot(running);
}

/** The parts with their offsets in the file. */
function place(manifest: Manifest, manifestText: string): readonly Placed[] {
  let offset = headBytes + new TextEncoder().encode(manifestText).length;
  return manifest.parts.map((part) => {
    offset += part.bytes;
    return { ...part, offset: offset - part.bytes };
  });
}

/** Throws if the file ends before the part does, because it was truncated meanwhile. */
export async function* chunksOf(
  source: BundleSource,
  { offset, bytes, name }: Placed,
): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes; ) {
    const chunk = await source.read(offset + at, Math.min(chunkBytes, bytes - at));
    if (chunk.length === 0) throw exitFailure(`the file is cut short within ${name}; fetch it again`);
    yield chunk;
    at += chunk.length;
  }
}

async function signedManifest({ source, keys }: Installation) {
  const head = readHead(await source.read(0, headBytes));
  if (typeof head === "string") throw exitFailure(`this file cannot be used: ${head}`);
  const bytes = await source.read(headBytes, head.manifestBytes);
  if (bytes.length < head.manifestBytes) throw exitFailure("the file is cut short; fetch it again");
  if (keys.length === 0)
    throw exitFailure("this system trusts nobody's updates: its image was made without a key for them");
  if (!(await isSignedBy(keys, { head, manifest: bytes })))
    throw exitFailure("the file was altered, or signed by a key that this system does not trust");
  const manifest = readManifest(bytes);
  if (typeof manifest === "string") throw exitFailure(`this file cannot be used: ${manifest}`);
  return { manifest, manifestText: new TextDecoder().decode(bytes) };
}

function judgeVersion(manifest: Manifest, { board, version, allowOlder }: Installation): void {
  if (manifest.board !== board)
    throw exitFailure(`this update is for the board ${manifest.board}, and this one is ${board}`);
  if (!allowOlder && compareVersions(manifest.version, version) < 0)
    throw exitFailure(
      `this update is version ${manifest.version}, older than the ${version} that runs: --allow-older installs it all the same`,
    );
}

async function judgeRoom(
  manifest: Manifest,
  { control, files, root }: Installation,
  slot: BootSlot,
): Promise<void> {
  const paths = new Set(manifest.parts.map(bootPathOf));
  const missing = control.needs(slot).find((name) => !paths.has(name));
  if (missing !== undefined) throw exitFailure(`this update cannot start: it lacks boot/${missing}`);
  const partition = await root(slot);
  const needed = rootPartOf(manifest)?.bytes ?? 0;
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

// Files take whole clusters, and a small file is written beside the one that it replaces.
const spareBytes = 1024 * 1024;
