/**
 * Playlists (`.m3u`) and sheets (`.cue`) stand for the files that they list: whoever picks a game wants the game, not its
 * second disc or third track.
 *
 *   .m3u   one path a line; `#` opens a comment, and a URL names no file
 *   .cue   FILE "<path>" BINARY, or without quotes (CDRWIN user's guide, "FILE")
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { playlistBytesMax } from "../core/limits.ts";
import { type FileName, pathOf } from "./names.ts";

/** Listed names by folder, both relative to the system's folder and in lower case: lists are written on other machines. */
export type Parts = Map<string, Set<string>>;

/** True for the extensions, in lower case with their dot, of files that list others. */
export function isPlaylist(extension: string): boolean {
  return extension === ".m3u" || extension === ".cue";
}

/** Adds what the list at `path` names; `folder` is its folder, relative to the system's. Throws where it cannot be read. */
export function noteParts(parts: Parts, path: FileName, folder: string, extension: string): void {
  const text = readStart(path);
  const listed = extension === ".cue" ? listedInCue(text) : listedInM3u(text);
  for (const entry of listed) {
    const place = resolveBelow(folder, entry.replaceAll("\\", "/"));
    // A playlist never hides a playlist, nor a sheet a sheet: two that list each other would both be gone.
    if (place === undefined || place.endsWith(".m3u") || (extension === ".cue" && place.endsWith(".cue")))
      continue;
    const cut = place.lastIndexOf("/");
    const where = place.slice(0, Math.max(cut, 0));
    const names = parts.get(where) ?? new Set();
    parts.set(where, names.add(place.slice(cut + 1)));
  }
}

/** What a playlist to be played lists, in its order: `.m3u`, `.m3u8`, or `.pls` (`File1=<path>`, numbered from 1). */
export function listedIn(text: string, extension: string): readonly string[] {
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
  const files = text.matchAll(/^\s*FILE\s+(?:"([^"\r\n]+)"|(\S+))/gim);
  return [...files].map((file) => file[1] ?? file[2] ?? "");
}

/** The place in lower case; undefined where it is absolute, a URL, or above the system's folder. */
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

function readStart(path: FileName): string {
  // A pipe would be waited for.
  const file = openSync(pathOf(path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return "";
    const bytes = new Uint8Array(playlistBytesMax);
    const read = readSync(file, bytes, 0, playlistBytesMax, 0);
    // A byte order mark is taken off by the decoder.
    return new TextDecoder().decode(bytes.subarray(0, read));
  } finally {
    closeSync(file);
  }
}
