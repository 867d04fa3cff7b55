/** Reads the tags of an audio file. Only the job of the index imports it, because its library is large. */
import { type IAudioMetadata, parseFile, selectCover } from "music-metadata";
import { tagCharsMax } from "../../core/limits.ts";
import type { AudioTags } from "../../core/media.ts";

export interface AudioContent {
  readonly tags: AudioTags;
  /** The bytes of the embedded picture: that of the front cover if there are several. */
  readonly picture: Uint8Array | undefined;
}

/** Rejects if the file cannot be read or has no known form. */
export async function readAudio(path: string): Promise<AudioContent> {
  // Tags after the sound have the form ID3v1, which is short. The length comes from the first frames.
  const { common, format } = await parseFile(path, { duration: false });
  return { tags: tagsOf(common, format), picture: selectCover(common.picture)?.data };
}

function tagsOf(
  { title, artist, albumartist, album, track, disk }: IAudioMetadata["common"],
  { duration = 0 }: IAudioMetadata["format"],
): AudioTags {
  const texts = { title, artist: artist ?? albumartist, album };
  const numbers = { track: track.no, disc: disk.no, durationMs: Math.round(duration * 1000) };
  return {
    ...Object.fromEntries(Object.entries(texts).flatMap(([name, text]) => pair(name, plain(text)))),
    ...Object.fromEntries(Object.entries(numbers).flatMap(([name, value]) => pair(name, whole(value)))),
  };
}

function pair<T>(name: string, value: T | undefined): readonly (readonly [string, T])[] {
  return value === undefined ? [] : [[name, value]];
}

/** The text on one line, without control characters, and not longer than a line on a screen; undefined if nothing is left. */
function plain(text: string | undefined): string | undefined {
  // A line feed would end a word of the index.
  const line = (text ?? "").replace(/[\p{Cc}\p{Cs}\s]+/gu, " ").trim();
  return [...line].slice(0, tagCharsMax).join("") || undefined;
}

/** The value if it is a whole number from 1 to 2^31 - 1. */
function whole(value: number | null | undefined): number | undefined {
  return typeof value === "number" && value > 0 && value < 2 ** 31 && Number.isInteger(value)
    ? value
    : undefined;
}
