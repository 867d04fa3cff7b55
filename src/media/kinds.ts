/** Files that play without a system of their own: sound, films and pictures, by extension. */
import type { System } from "../core/media.ts";
import type { KnownSystem } from "./systems.ts";

/**
 * The three kinds as systems of the table. They stand apart from its text, for players ask for them at the start, when
 * nobody needs the rest.
 */
export const kinds: readonly KnownSystem[] = [
  {
    id: "Audio",
    name: "Audio",
    category: "Media",
    aliases: ["sound"],
    folders: ["audio"],
    extensions: [".mp3", ".flac", ".ogg", ".opus", ".wav", ".m4a", ".aac", ".wma", ".aiff", ".mka"],
  },
  {
    id: "Video",
    name: "Video",
    category: "Media",
    aliases: [],
    folders: ["video", "videos", "recordings"],
    extensions: [".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".mpg", ".mpeg", ".ogv", ".wmv"],
  },
  {
    id: "Image",
    name: "Image",
    category: "Media",
    aliases: ["picture", "photo"],
    folders: ["images", "pictures", "photos", "imageviewer", "screenshots"],
    extensions: [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif"],
  },
];

const byExtension = new Map(
  kinds.flatMap(({ id, name, category, extensions }) =>
    extensions.map((extension) => [extension, { id, name, category }] as const),
  ),
);

/** Sound, film or picture; undefined for anything else. `extension` in lower case with its dot. */
export function kindOf(extension: string): System | undefined {
  return byExtension.get(extension);
}

/** Every extension that stands for sound, film or pictures. */
export const mediaExtensions: readonly string[] = [...byExtension.keys()];
