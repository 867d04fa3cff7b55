/**
 * The save files of RetroArch: which of them belong to a game, and whether one is complete.
 *
 * RetroArch names them after the file that it plays, without its ending, in a folder with the name of that file's folder:
 *
 *   <folder>/<game>.srm               battery RAM; .rtc, .sav and others beside it
 *   <folder>/<core>/<game>.state.auto states
 *   <folder>/<other name>             files of a core for several games, such as a memory card
 *
 * Formats with an end that can be checked (RetroArch 1.14, `rzip_stream.c` and `tasks/task_save.c`), in little-endian order:
 *
 *   RZIP    "#RZIPv" version "#", 4 bytes size of a chunk, 8 bytes size of all unpacked, which is 0 until the end;
 *           then for each chunk 4 bytes its packed size, and as many bytes
 *   state   "RASTATE" version; then blocks of 4 characters and 4 bytes size, padded to a multiple of 8; the last is "END "
 */
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, extname } from "node:path";

/** The folder of a file, and the name before the dot of its saves, with `_` for bytes that are not UTF-8 (`startReadably`). */
export function gameNamesOf(path: string) {
  const clean = path.replaceAll("\ufffd", "_");
  return { folder: basename(dirname(clean)), game: basename(clean, extname(clean)) };
}

/** The ending of the version that existed before the start of a game. */
export const backupEnding = ".bak";
/** The name of a file while it is written. Each folder has at most one, because one file is written at a time. */
export const freshName = ".tapdeck-save.new";

/** The endings of files that belong to one game. */
const ofOneGame = /\.(?:srm|sav|rtc|ldci|\d\.mcr|pure\.zip|state(?:\d+|\.auto)?(?:\.png)?)$/i;

/** Whether the game needs the file: the file has the game's name, or its ending is none of those that belong to one game. */
export function isForGame(name: string, game: string): boolean {
  if (name === freshName || name.endsWith(backupEnding)) return false;
  return name.startsWith(`${game}.`) || !ofOneGame.test(name);
}

const headBytes = 20;

/** Whether the file is complete; true for an unknown format. */
export async function isComplete(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const head = await bytesAt(file, 0, headBytes);
  if (head.toString("latin1", 0, 6) === "#RZIPv") return await isCompleteRzip(file, head, size);
  if (head.toString("latin1", 0, 7) === "RASTATE") return await isCompleteState(file, size);
  return true;
}

async function isCompleteRzip(file: FileHandle, head: Buffer, size: number): Promise<boolean> {
  if (head.length < headBytes) return false;
  const chunkBytes = head.readUInt32LE(8);
  const unpackedBytes = Number(head.readBigUInt64LE(12));
  if (chunkBytes === 0 || unpackedBytes === 0) return false;
  let at = headBytes;
  for (let left = unpackedBytes; left > 0; left -= chunkBytes) {
    const length = await bytesAt(file, at, 4);
    if (length.length < 4) return false;
    at += 4 + length.readUInt32LE();
    if (at > size) return false;
  }
  return at === size;
}

async function isCompleteState(file: FileHandle, size: number): Promise<boolean> {
  for (let at = 8; at + 8 <= size; ) {
    const block = await bytesAt(file, at, 8);
    if (block.toString("latin1", 0, 4) === "END ") return true;
    at += 8 + Math.ceil(block.readUInt32LE(4) / 8) * 8;
  }
  return false;
}

/** The bytes from `at` on, `count` of them, or fewer if the file ends before. */
async function bytesAt(file: FileHandle, at: number, count: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, at);
  return buffer.subarray(0, bytesRead);
}
