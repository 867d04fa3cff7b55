/**
 * Reads the tags of the audio files of an index, of those that are new or have changed, and builds the index again if a search
 * would find other words. It is a separate run after that of the index, because it takes a millisecond for each file, and
 * the index takes ten microseconds for a name. It may be killed at any moment, and the next run continues where it ended.
 */
import { type Stats, statSync } from "node:fs";
import { embeddedPicturesMax, pictureFileBytesMax, tagTriesMax } from "../../core/limits.ts";
import { extensionOf } from "../../core/media.ts";
import { openMediaIndex } from "../../store/media-index-file.ts";
import { openTagWriter, type ReadFile, type TagWriter } from "../../store/tag-file.ts";
import { exactText, type FileName, fsPath, joinNames, readable } from "../file-names.ts";
import { buildMediaIndex, wordsOf } from "../index/index-build.ts";
import { isAudio } from "../known-systems.ts";
import { smallPicture } from "../pictures.ts";
import { ScanResult, takeOver } from "../scan/scan-result.ts";
import { type AudioContent, readAudio } from "./audio-reader.ts";

/** The edge of a stored picture in pixels: twice that of the largest tile, for sharp screens. */
const pictureEdge = 512;
const tellMs = 250;

export type TagLine =
  | { readonly kind: "tags"; readonly read: number; readonly of: number }
  /** `songs` is the number of audio files that were found, or whose tags were read. */
  | { readonly kind: "done"; readonly files: number; readonly changed: boolean; readonly songs: number };

/** Updates the tags of the index at `path`. `tell` may throw to end the update. */
export async function runTagJob(path: string, tell: (line: TagLine) => void): Promise<void> {
  const writer = openTagWriter(path);
  try {
    const { fresh, gone } = filesToRead(path, writer);
    let toldMs = performance.now();
    for (const [at, file] of fresh.entries()) {
      await readOne(file, writer);
      if (performance.now() - toldMs < tellMs) continue;
      toldMs = performance.now();
      tell({ kind: "tags", read: at + 1, of: fresh.length });
    }
    if (gone.length > 0) writer.removeAll(gone);
    const changed = writer.isIndexBehind();
    const files = changed ? buildAgain(path) : 0;
    tell({ kind: "done", files, changed, songs: fresh.length });
    // If a run is killed before this call, the next one builds the index once more.
    writer.setIndexDone();
  } finally {
    writer.close();
  }
}

interface FreshFile extends ReadFile {
  readonly path: FileName;
}

/** The files of the index whose present version was not read, and the read files that the index no longer has. */
function filesToRead(path: string, writer: TagWriter) {
  const before = new Map([...writer.all()].map((file) => [exactText(file.path), file]));
  const fresh: FreshFile[] = [];
  const index = openMediaIndex(path);
  if (index === undefined) return { fresh, gone: [] };
  try {
    const folders = index.folders();
    for (const { folder, name } of index.files()) {
      const place = folders[folder];
      if (place === undefined || !isAudio(extensionOf(readable(name)))) continue;
      const file = joinNames(joinNames(place.base, place.path), name);
      const known = before.get(exactText(file));
      before.delete(exactText(file));
      const stat = statsOf(file);
      // The drive of the file may be away, so its tags stay.
      if (stat?.isFile() !== true) continue;
      const { size, mtimeMs } = stat;
      const changedMs = Math.trunc(mtimeMs);
      const isSame = known?.size === size && known.changedMs === changedMs;
      const isDone = known?.tries === 0 || (known?.tries ?? 0) >= tagTriesMax;
      if (!(isSame && isDone)) fresh.push({ path: file, size, changedMs });
    }
  } finally {
    index.close();
  }
  return { fresh, gone: [...before.values()].map((file) => file.path) };
}

function statsOf(file: FileName): Stats | undefined {
  try {
    return statSync(fsPath(file));
  } catch {
    // The file is gone, a folder above it is a file now, its path is too long, or its drive fails. Other files are read.
    return undefined;
  }
}

async function readOne(file: FreshFile, writer: TagWriter): Promise<void> {
  const { path } = file;
  const words = wordsOf(writer.of(path));
  writer.begin(path, file);
  const { tags, picture } = await contentOf(path);
  const number = picture && (await keepPicture(picture, writer));
  // The note is written before the tags, because a killed run must not leave tags whose words never get into the index.
  if (words !== wordsOf(tags)) writer.setIndexBehind();
  writer.end(path, tags, number);
}

async function contentOf(path: FileName): Promise<AudioContent> {
  const nothing: AudioContent = { tags: {}, picture: undefined };
  // The library opens a file by a text only.
  if (typeof path !== "string") return nothing;
  // A damaged file has no tags. The same applies to a file whose form is not that of its name.
  return readAudio(path).catch(() => nothing);
}

async function keepPicture(bytes: Uint8Array, writer: TagWriter): Promise<number | undefined> {
  if (bytes.length > pictureFileBytesMax) return undefined;
  const sum = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const known = writer.pictureNumber(sum);
  if (known !== undefined || writer.pictures() >= embeddedPicturesMax) return known;
  const small = await smallPicture(bytes, pictureEdge);
  return small && writer.addPicture(sum, small);
}

function buildAgain(path: string): number {
  const found = new ScanResult();
  const old = openMediaIndex(path);
  if (old === undefined) return 0;
  try {
    takeOver(old, found, new Set());
  } finally {
    old.close();
  }
  return buildMediaIndex(path, found);
}
