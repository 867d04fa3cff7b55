/**
 * Finds pictures of media files. These are a file of the same name, beside the media or in a folder for pictures, the
 * pictures that a `gamelist.xml` lists (EmulationStation), and the picture of the folder. A picture is never read from
 * outside the media folders.
 */
import { constants } from "node:fs";
import { access, open, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { publicError } from "../core/errors.ts";
import {
  pictureBytesMax,
  pictureFileBytesMax,
  pictureGameBytesMax,
  pictureListBytesMax,
  picturePixelsMax,
} from "../core/limits.ts";
import { type MediaFolders, mediaNameOf, type PictureType, pictureTypes } from "../core/media.ts";
import { closedNow } from "../system/closed-places.ts";
import { systemByFolder, systemByName } from "./known-systems.ts";
import { isInside } from "./scan/scan-folders.ts";

/** Names of folders, which may be in a folder `media`, with the type of their pictures. */
const folderTypes: Readonly<Record<string, PictureType>> = {
  images: "image",
  media: "image",
  downloaded_images: "image",
  miximages: "image",
  thumbnails: "thumbnail",
  covers: "boxart",
  boxart: "boxart",
  "3dboxes": "boxart3d",
  screenshots: "screenshot",
  wheel: "wheel",
  wheels: "wheel",
  titlescreens: "titleshot",
  maps: "map",
  marquees: "marquee",
  fanart: "fanart",
};

/** Some programs write the type into the name: `Game-thumb.png`. */
const endings: readonly (readonly [string, PictureType | undefined])[] = [
  ["", undefined],
  ["-image", "image"],
  ["-thumb", "thumbnail"],
  ["-boxart", "boxart"],
  ["-marquee", "marquee"],
  ["-fanart", "fanart"],
  ["-poster", "boxart"],
];
const extensions = [".png", ".jpg", ".jpeg", ".webp"];

const photoSystem = "Image";

interface Picture {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly type: PictureType;
}

interface Candidate {
  readonly path: string;
  readonly type: PictureType;
}

export interface PictureRequest {
  /** The absolute path of the media file, with links resolved. */
  readonly file: string;
  readonly folders: MediaFolders;
  /** The wanted types, the best first. */
  readonly types: readonly PictureType[];
  /** The longest edge in pixels; absent for the unchanged picture, if its edge is within the limit. */
  readonly maxSize: number | undefined;
  /** The picture inside an audio file, or inside the first audio file of a folder that has one. */
  readonly embedded?: (file: string) => Uint8Array | undefined;
  /** True if a photo may be the picture: the media file itself, or a file in a folder of photos. */
  readonly showsPhotos: boolean;
}

/** The edge of a picture that is too long to be sent as it is. */
const edgeOfLarge = 1024;

/** The best picture that can be read; undefined if there is none. Rejects with `failed` if all are too large. */
export async function findPicture({
  file,
  folders,
  types,
  maxSize,
  embedded,
  showsPhotos,
}: PictureRequest): Promise<Picture | undefined> {
  const { top, allowed, isPhoto } = await placesOf(file, folders);
  const closed = closedNow(folders.closed);
  const listed = await listedIn(top, relative(top, file));
  const own = [...listed, ...(await candidatesFor(file, top))].sort(
    (a, b) => types.indexOf(a.type) - types.indexOf(b.type),
  );
  // The picture of an album or a film is beside its files, whatever name the files have.
  const candidates = [...own, ...(await coversOf(file, top))].filter(({ type }) => types.includes(type));
  let isTooLarge = false;
  for (const { path, type } of candidates) {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) continue;
    if (!showsPhotos && (isPhoto(real) || (await isOneFile(real, file)))) continue;
    if (!allowed.some((one) => isInside(real, one)) || (await closed.isClosed(real))) continue;
    const bytes = await readFile(real, pictureFileBytesMax);
    if (bytes === "too-large") isTooLarge = true;
    else if (bytes !== undefined) {
      const picture = await fitted(bytes, maxSize);
      if (picture !== undefined) return { ...picture, type };
      // Without a picture that is too large, the caller reports "no image found", for which known clients show no error.
      isTooLarge ||= contentTypeOf(bytes) !== undefined;
    }
  }
  const inside = file !== top && types.includes(embeddedType) ? embedded?.(file) : undefined;
  const picture = inside && (await fitted(Buffer.from(inside), maxSize));
  if (picture !== undefined) return { ...picture, type: embeddedType };
  if (!isTooLarge) return undefined;
  throw publicError("failed", "media.image: image file too large or damaged: make it smaller");
}

const embeddedType: PictureType = "boxart";

/**
 * Scales a picture into a square of this edge, to store it; undefined if the bytes are no picture, or are too many to be
 * sent.
 */
export async function smallPicture(bytes: Uint8Array, edge: number): Promise<Uint8Array | undefined> {
  return (await fitted(Buffer.from(bytes), edge))?.bytes;
}

/** Any picture file, in the form of `findPicture`; undefined if the file is no picture, cannot be read, or is too large. */
export async function readPicture(
  path: string,
  maxSize: number | undefined,
): Promise<Omit<Picture, "type"> | undefined> {
  const bytes = await readFile(path, pictureFileBytesMax);
  return bytes === undefined || bytes === "too-large" ? undefined : fitted(bytes, maxSize);
}

/** Whether two paths open one file. On a drive that ignores case, a file has several names. */
async function isOneFile(path: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([path, other].map((one) => stat(one).catch(() => undefined)));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/** The folder of the media file's system, the real paths of all media folders, and the files in folders of photos. */
async function placesOf(file: string, { roots, own, sticks = [] }: MediaFolders) {
  const real = (path: string) => realpath(path).catch(() => undefined);
  const shared = await Promise.all([...roots, ...sticks].map(real));
  const single = await Promise.all(own.map(({ folder }) => real(folder)));
  const allowed = [...shared, ...single].filter((path) => path !== undefined);
  const [nearest = dirname(file)] = allowed
    .filter((path) => isInside(file, path))
    .sort((a, b) => b.length - a.length);
  const [system = ""] = relative(nearest, dirname(file)).split("/");
  const photos = single.filter((_, at) => systemByName(own[at]?.system ?? "")?.id === photoSystem);
  const isPhoto = (path: string) =>
    photos.some((one) => one !== undefined && isInside(path, one)) ||
    shared.some((one) => {
      if (one === undefined || !isInside(path, one)) return false;
      return systemByFolder(relative(one, path).split("/")[0] ?? "")?.id === photoSystem;
    });
  return { top: single.includes(nearest) ? nearest : join(nearest, system), allowed, isPhoto };
}

/**
 * The paths at which a picture of this media file or folder would be found by its name, in folders that exist, without
 * photos; and the folder of its system. `file` has its links resolved.
 */
export async function picturesByName(file: string, folders: MediaFolders) {
  const { top, isPhoto } = await placesOf(file, folders);
  const paths = (await candidatesFor(file, top)).map(({ path }) => path);
  return { top, paths: paths.filter((path) => !isPhoto(path)) };
}

/** Existing folders with pictures, and the names in them that the picture may have. */
async function candidatesFor(file: string, top: string): Promise<readonly Candidate[]> {
  const here = dirname(file);
  const places: { readonly folder: string; readonly type: PictureType }[] = [{ folder: here, type: "image" }];
  const below = relative(top, here);
  for (const parent of new Set([here, top]))
    for (const media of ["", "media"])
      for (const [name, type] of Object.entries(folderTypes))
        for (const deep of new Set(["", below]))
          places.push({ folder: join(parent, media, name, deep), type });
  const exists = await Promise.all(
    places.map(({ folder }) =>
      access(folder).then(
        () => true,
        () => false,
      ),
    ),
  );
  const stem = mediaNameOf(file);
  return places
    .filter((_, at) => exists[at])
    .flatMap(({ folder, type }) =>
      endings.flatMap(([ending, named = type]) =>
        extensions.map((extension) => ({ path: join(folder, `${stem}${ending}${extension}`), type: named })),
      ),
    );
}

/** The names of a folder's own picture, as programs for music and films write them. */
const coverNames = ["cover", "folder", "front", "poster", "Cover", "Folder", "Front", "Poster"];

/** The picture of a folder, or for a file the picture of its folder, unless this is the folder of the whole system. */
async function coversOf(file: string, top: string): Promise<readonly Candidate[]> {
  const isFolder = await stat(file).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const folder = isFolder ? file : dirname(file);
  if (!isFolder && folder === top) return [];
  return coverNames.flatMap((name) =>
    extensions.map((extension) => ({ path: join(folder, `${name}${extension}`), type: "boxart" as const })),
  );
}

/** The pictures of a game in the `gamelist.xml` of its system's folder. */
async function listedIn(top: string, path: string): Promise<readonly Candidate[]> {
  const list = await readFile(join(top, "gamelist.xml"), pictureListBytesMax);
  if (list === undefined || list === "too-large") return [];
  const escaped = path.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const spellings = [escaped, escaped.replace(/'/g, "&apos;").replace(/"/g, "&quot;")];
  const start = spellings
    .flatMap((text) => [`<path>./${text}</path>`, `<path>${text}</path>`])
    .map((text) => list.indexOf(text))
    .find((at) => at >= 0);
  if (start === undefined) return [];
  // The other elements of the game are near the path in the text.
  const from = Math.max(list.lastIndexOf("<game", start), start - pictureGameBytesMax);
  const to = Math.min(list.indexOf("</game>", start), start + pictureGameBytesMax);
  const game = list.toString("utf8", from, to);
  return [...game.matchAll(/<([a-z\d]+)>([^<]+)</g)].flatMap(([, element, text = ""]) => {
    const type = pictureTypes.find((one) => one === element);
    return type === undefined ? [] : [{ type, path: resolve(top, unescaped(text.trim())) }];
  });
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescaped(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (whole, name: string) => entities[name] ?? whole);
}

/** The bytes of a file; undefined if there is no such file, or it cannot be read. */
async function readFile(path: string, bytesMax: number): Promise<Buffer | "too-large" | undefined> {
  try {
    // A pipe must not block, and a link may have replaced the file.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await file.stat().then((stat) => (stat.isFile() ? stat : { size: 0 }));
    if (size > bytesMax) return "too-large";
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } catch {
    return undefined;
  }
}

/** The type by the first bytes (PNG 1.2, 12.11; JPEG, B.1.1.3; RFC 9649, 2.5); undefined for anything else. */
function contentTypeOf(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from("89504e470d0a1a0a", "hex"))) return "image/png";
  if (bytes.subarray(0, 3).equals(Buffer.from("ffd8ff", "hex"))) return "image/jpeg";
  const riff = bytes.toString("latin1", 0, 4);
  const webp = bytes.toString("latin1", 8, 12);
  return riff === "RIFF" && webp === "WEBP" ? "image/webp" : undefined;
}

/**
 * The picture as it is, or scaled down in a thread of the runtime; undefined if the bytes are no picture, or cannot be
 * made small enough.
 */
async function fitted(
  bytes: Buffer,
  maxSize: number | undefined,
): Promise<Omit<Picture, "type"> | undefined> {
  const contentType = contentTypeOf(bytes);
  if (contentType === undefined) return undefined;
  const whole = bytes.length <= pictureBytesMax ? { contentType, bytes } : undefined;
  if (whole !== undefined && maxSize === undefined) return whole;
  const most = whole?.bytes.length ?? pictureBytesMax + 1;
  try {
    for (let edge = maxSize ?? edgeOfLarge; edge >= 1; edge = Math.floor(edge / 2)) {
      const smaller = await new Bun.Image(bytes, { maxPixels: picturePixelsMax })
        .resize(edge, edge, { fit: "inside", withoutEnlargement: true })
        .webp({ quality: 80 })
        .bytes();
      if (smaller.length < most) return { contentType: "image/webp", bytes: smaller };
      // Only a picture that cannot be sent as it is gets fewer pixels than wanted.
      if (whole !== undefined) return whole;
    }
  } catch {
    // The picture has too many pixels, or is damaged. The client may still show it.
  }
  return whole;
}

/** The extension of a picture file, such as `jpg`. */
export function extensionFor(contentType: string): string {
  return contentType.replace("image/", "").replace("jpeg", "jpg");
}
