/**
 * Whether a file of RetroArch was written to its end, as far as its format tells (RetroArch 1.14, `rzip_stream.c` and
 * `tasks/task_save.c`; numbers are little-endian):
 *
 *   RZIP    "#RZIPv" version "#", 4 bytes size of a chunk, 8 bytes size of it all unpacked, which is 0 until the end;
 *           then for each chunk 4 bytes its packed size, and as many bytes
 *   state   "RASTATE" version; then blocks of 4 characters and 4 bytes size, filled up to a multiple of 8; the last is "END "
 */
import { type FileHandle, open } from "node:fs/promises";

const headBytes = 20;

/** True for a format that is not known. */
export async function isWhole(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const head = await bytesAt(file, 0, headBytes);
  if (head.toString("latin1", 0, 6) === "#RZIPv") return await isWholeRzip(file, head, size);
  if (head.toString("latin1", 0, 7) === "RASTATE") return await isWholeState(file, size);
  return true;
}

async function isWholeRzip(file: FileHandle, head: Buffer, size: number): Promise<boolean> {
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

async function isWholeState(file: FileHandle, size: number): Promise<boolean> {
  for (let at = 8; at + 8 <= size; ) {
    const block = await bytesAt(file, at, 8);
    if (block.toString("latin1", 0, 4) === "END ") return true;
    at += 8 + Math.ceil(block.readUInt32LE(4) / 8) * 8;
  }
  return false;
}

/** Fewer where the file ends before. */
async function bytesAt(file: FileHandle, at: number, count: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, at);
  return buffer.subarray(0, bytesRead);
}
