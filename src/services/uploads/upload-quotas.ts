/** The room for uploads: free bytes, and the share of one client without the right `own`. */
import { stat, statfs } from "node:fs/promises";
import { coded, failed, limitReached } from "../../core/errors.ts";
import {
  uploadDiskKept,
  uploadDiskKeptBytesMax,
  uploadFreeBytesMin,
  uploadRoomPerClient,
  uploadsMax,
  uploadsPerClientMax,
} from "../../core/limits.ts";

export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return Math.max(0, bavail * bsize - uploadFreeBytesMin);
}

const fatType = 0x4d44; // The type of FAT (statfs(2), MSDOS_SUPER_MAGIC).
const fatBytesMax = 2 ** 32 - 1;

/** `freedBytes` are those of an upload that this one replaces. */
export async function refuseWithoutRoom(folder: string, size: number, freedBytes: number): Promise<void> {
  if ((await freeBytesOf(folder)) + freedBytes < size)
    throw coded("upload-no-room", failed("the disk has no room for this file: delete some media first"));
  if (size > fatBytesMax && (await statfs(folder)).type === fatType)
    throw coded(
      "upload-fat",
      failed("a file on a FAT drive has at most 4 GB: format the drive as exFAT or ext4"),
    );
}

interface Declared {
  readonly sender: string;
  readonly size: number;
}

interface Unfinished extends Declared {
  readonly offset: number;
  readonly place: { readonly top: string };
}

/**
 * Throws `busy` if there is no place for another upload, or none for this sender. Uploads of an owner (an empty
 * `sender`) are limited only by the places for all senders, and by the free bytes. `freedBytes` are those of an upload
 * that this one replaces.
 */
export async function refuseBeyondShare(
  { sender, size }: Declared,
  top: string,
  all: readonly Unfinished[],
  freedBytes: number,
): Promise<void> {
  const own = all.filter((upload) => upload.sender === sender);
  if (sender !== "" && own.length >= uploadsPerClientMax)
    throw coded(
      "upload-unfinished",
      limitReached(
        "uploadsPerClientMax",
        `${uploadsPerClientMax} uploads of this client are unfinished: finish or cancel some first`,
      ),
    );
  if (all.length >= uploadsMax)
    throw coded(
      "upload-unfinished",
      limitReached("uploadsMax", `${uploadsMax} uploads are unfinished: finish or cancel some first`),
    );
  if (sender === "") return;
  const disk = await diskOf(top);
  const beside = await Promise.all(own.map(async (upload) => (await diskOf(upload.place.top)) === disk));
  const here = own.filter((_, at) => beside[at]);
  const room = (await roomOf(top)) + freedBytes + sumOf(here.map(({ offset }) => offset));
  if (sumOf(here.map((upload) => upload.size)) + size > room * uploadRoomPerClient)
    throw coded(
      "upload-no-room",
      limitReached(
        "uploadRoomPerClient",
        "the uploads of one client may take half of the room: finish or cancel some first, or delete some media",
      ),
    );
}

/** The bytes for callers without the right `own`. */
async function roomOf(top: string): Promise<number> {
  const { blocks, bsize } = await statfs(top);
  const kept = Math.min(blocks * bsize * uploadDiskKept, uploadDiskKeptBytesMax);
  return Math.max(0, (await freeBytesOf(top)) - kept);
}

/** Systems may have folders of their own on the same disk. */
async function diskOf(folder: string): Promise<number | undefined> {
  return stat(folder).then(
    ({ dev }) => dev,
    () => undefined,
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
