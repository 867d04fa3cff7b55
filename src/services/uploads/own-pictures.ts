/** The pictures that a deleted or moved media file leaves, of which no other file has a use. */
import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { extensionOf, type MediaFolders, mediaNameOf } from "../../core/media.ts";
import { systemOfFile } from "../../media/known-systems.ts";
import { picturesByName } from "../../media/pictures.ts";
import { closedNow } from "../../system/closed-places.ts";
import { companions } from "./upload-rules.ts";

/**
 * The existing picture files of this media file by their names, without those that another file or folder of the system
 * shows. Pictures that are media themselves stay, and so do those that only a `gamelist.xml` names, and the picture of a
 * folder. `host` is the id of the system's folder, and `top` that folder.
 */
export async function ownPictures(
  file: string,
  folders: MediaFolders,
  host: string,
): Promise<{ readonly top: string; readonly pictures: readonly string[] }> {
  const isOfHost = (name: string) =>
    systemOfFile(host, extensionOf(name))?.extensions.includes(extensionOf(name)) === true;
  const { top, paths } = await picturesByName(file, folders);
  const closed = closedNow(folders.closed);
  const found: string[] = [];
  for (const path of paths) {
    const isFile = await lstat(path).then(
      (one) => one.isFile(),
      () => false,
    );
    // A folder for pictures may be a link to a place that this file does not own.
    const isHere = isFile && (await realpath(dirname(path))) === dirname(path);
    if (isHere && path !== file && !isOfHost(path) && !(await closed.isClosed(path))) found.push(path);
  }
  if (found.length === 0) return { top, pictures: [] };
  const stems = new Set([file, ...found].map((path) => comparable(mediaNameOf(path))));
  const pictures = new Set(found);
  const shown = new Set<string>();
  for await (const other of below(top)) {
    if (other === file || pictures.has(other) || !stems.has(comparable(mediaNameOf(other)))) continue;
    if (companions.has(extensionOf(other)) && !isOfHost(other)) continue;
    for (const path of (await picturesByName(other, folders)).paths) shown.add(comparable(path));
  }
  return { top, pictures: found.filter((path) => !shown.has(comparable(path))) };
}

/** Equal for two names that a drive may take for one: FAT ignores capitals, and a Mac stores accents in another form. */
function comparable(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** All files and folders below a folder. Links are not followed. */
async function* below(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    yield path;
    if (entry.isDirectory()) yield* below(path);
  }
}
