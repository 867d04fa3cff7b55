/** Files that play without a system of their own: sound, films and pictures, by extension. */
import type { System } from "../core/media.ts";

const kinds: readonly (System & { readonly extensions: readonly string[] })[] = [
  {
    id: "Audio",
    name: "Audio",
    category: "Media",
    extensions: [".mp3", ".flac", ".ogg", ".opus", ".wav", ".m4a", ".aac", ".wma", ".aiff", ".mka"],
  },
  {
    id: "Video",
    name: "Video",
    category: "Media",
    extensions: [".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".mpg", ".mpeg", ".ogv", ".wmv"],
  },
  {
    id: "Image",
    name: "Image",
    category: "Media",
    extensions: [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif"],
  },
];

const byExtension = new Map(
  kinds.flatMap(({ extensions, ...system }) => extensions.map((extension) => [extension, system] as const)),
);

/** Sound, film or picture; undefined for anything else. `extension` in lower case with its dot. */
export function kindOf(extension: string): System | undefined {
  return byExtension.get(extension);
}

/** Every extension that stands for sound, film or pictures. */
export const mediaExtensions: readonly string[] = [...byExtension.keys()];
