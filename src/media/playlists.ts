/**
 * Playlists (`.m3u`) and sheets (`.cue`) replace the files that they list in the index: a search finds the game, not its
 * discs and tracks.
 *
 *   .m3u   one path a line; `#` opens a comment, and a URL names no file
 *   .cue   FILE "<path>" BINARY, or without quotes (CDRWIN user's guide, "FILE")
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { playlistBytesMax } from "../core/limits.ts";
import { type FileName, fsPath } from "./file-names.ts";

/** Listed names by folder, relative to the system's folder, in lower case because other machines ignore case. */
export type ListedParts = Map<string, Set<string>>;

/** True for a playlist or a sheet. The `extension` is in lower case with its dot. */
export function isPlaylistOrSheet(extension: string): boolean {
  return extension === ".m3u" || extension === ".cue";
}

/** Adds the entries of the list at `path`, which is in `folder`, relative to the system's. Throws if it cannot be read. */
export function noteParts(parts: ListedParts, path: FileName, folder: string, extension: string): void {
  const listedIn = extension === ".cue" ? listedInCue : listedInM3u;
  for (const entry of readingsOf(readStart(path)).flatMap(listedIn)) {
    const place = resolveBelow(folder, entry.replaceAll("\\", "/"));
    // A list never hides a list of its kind, because two that list each other would hide both.
    if (place === undefined || place.endsWith(".m3u") || (extension === ".cue" && place.endsWith(".cue")))
      continue;
    const cut = place.lastIndexOf("/");
    const where = place.slice(0, Math.max(cut, 0));
    const names = parts.get(where) ?? new Set();
    parts.set(where, names.add(place.slice(cut + 1)));
  }
}

/**
 * The texts that the bytes of a list may mean. A list that is not UTF-8 comes from Windows and has its code page 1252, or
 * it names files whose names are not UTF-8 either.
 */
export function readingsOf(bytes: Uint8Array): readonly string[] {
  // The decoder removes a byte order mark.
  const text = new TextDecoder().decode(bytes);
  return text.includes("\ufffd") ? [text, new TextDecoder("windows-1252").decode(bytes)] : [text];
}

/** The entries of a playlist in order: `.m3u`, `.m3u8`, or `.pls` (`File1=<path>`, numbered from 1). */
export function playlistEntries(text: string, extension: string): readonly string[] {
  return extension === ".pls" ? listedInPls(text) : listedInM3u(text);
}

function listedInPls(text: string): readonly string[] {
  return [...text.matchAll(/^[ \t]*File(\d{1,9})[ \t]*=[ \t]*(\S.*)$/gim)]
    .map(([, number, path = ""]) => ({ number: Number(number), path: path.trim() }))
    .sort((a, b) => a.number - b.number)
    .map(({ path }) => path);
}

function listedInM3u(text: string): readonly string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function listedInCue(text: string): readonly string[] {
  const files = text.matchAll(/^[ \t]*FILE[ \t]+(?:"([^"\r\n]+)"|(\S+))/gim);
  return [...files].map((file) => file[1] ?? file[2] ?? "");
}

/** The listed path in lower case; undefined if it is absolute, a URL, or above the system's folder. */
function resolveBelow(folder: string, entry: string): string | undefined {
  if (entry.startsWith("/") || /^\w+:/.test(entry)) return undefined;
  const place: string[] = folder === "" ? [] : folder.split("/");
  for (const step of entry.split("/")) {
    if (step === "" || step === ".") continue;
    if (step !== "..") place.push(step);
    else if (place.pop() === undefined) return undefined;
  }
  return place.join("/").toLowerCase();
}

function readStart(path: FileName): Uint8Array {
  // Without O_NONBLOCK, opening a pipe blocks.
  const file = openSync(fsPath(path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return new Uint8Array();
    const bytes = new Uint8Array(playlistBytesMax);
    const read = readSync(file, bytes, 0, playlistBytesMax, 0);
    return bytes.subarray(0, read);
  } finally {
    closeSync(file);
  }
}
