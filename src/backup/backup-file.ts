/**
 * The file of a backup: a head line, then lines of JSON, packed by gzip (RFC 1952). docs/BACKUP.md describes the content.
 *
 *   tapdeck-backup <format> sha256=<64 hex digits> bytes=<10 digits>\n
 *   <gzip, with the SHA-256 and the length of the head line>
 *
 * Equal lines give equal bytes. A reader checks the sum before it unpacks anything.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import {
  backupFileBytesMax,
  backupLineBytesMax,
  backupLineValuesMax,
  backupTextBytesMax,
} from "../core/console-limits.ts";
import { coded, codeOf, failed, messageOf } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { createCollector } from "../core/garbage.ts";
import { jsonExcess } from "../core/json-excess.ts";
import { parseJson } from "../core/text.ts";

/** The newest format that this version reads. It writes the same. */
export const backupFormat = 1;

const head = (format: number, sha256: string, bytes: number) =>
  `tapdeck-backup ${format} sha256=${sha256} bytes=${String(bytes).padStart(10, "0")}\n`;
const headBytes = head(backupFormat, "0".repeat(64), 0).length;
const headForm = /^tapdeck-backup (\d{1,9}) sha256=([0-9a-f]{64}) bytes=(\d{10})\n$/;

export interface BackupFacts {
  /** The SHA-256 of the packed lines, in hex. It identifies the backup. */
  readonly sha256: string;
  /** The size of the whole file. */
  readonly bytes: number;
}

/**
 * Writes the lines, and returns once the file is on the disk. Throws `failed` for one that would be too large. After any
 * error there is no file.
 */
export async function writeBackup(path: string, lines: AsyncIterable<string>): Promise<BackupFacts> {
  await using file = await open(path, "w", 0o600);
  try {
    return await writeBackupTo(file, lines);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** `writeBackup` to an open file, which stays open. */
export async function writeBackupTo(file: FileHandle, lines: AsyncIterable<string>): Promise<BackupFacts> {
  const hash = createHash("sha256");
  // The loop below reports an error of the lines.
  const packed = pipeline(Readable.from(bounded(lines)), createGzip(), () => {});
  let bytes = headBytes;
  for await (const chunk of packed) {
    hash.update(chunk);
    if (bytes + chunk.length > backupFileBytesMax) throw tooLarge();
    bytes += (await file.write(chunk, 0, chunk.length, bytes)).bytesWritten;
  }
  const sha256 = hash.digest("hex");
  await file.write(head(backupFormat, sha256, bytes - headBytes), 0);
  await file.sync();
  return { sha256, bytes };
}

async function* bounded(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let bytes = 0;
  for await (const line of lines) {
    const lineBytes = Buffer.byteLength(line);
    bytes += lineBytes + 1;
    if (bytes > backupTextBytesMax || lineBytes > backupLineBytesMax) throw tooLarge();
    yield `${line}\n`;
  }
}

const tooLarge = () =>
  failed(
    `the backup would be too large: it may have ${backupTextBytesMax / 1024 / 1024} MiB, and ${backupFileBytesMax / 1024 / 1024} MiB packed. Move large files out of the mappings folder`,
  );

/** Checks the head line and the sum. Throws `failed` with a sentence unless the file is a whole backup of a known format. */
export async function checkBackupFile(path: string): Promise<BackupFacts> {
  await using file = await open(path).catch((error: unknown) => {
    throw failed(`the backup cannot be read: ${fileFault(error)}`, error);
  });
  const { size } = await file.stat();
  if (size === 0) throw coded("backup-foreign", failed("this file is empty, so it is no backup of Tapdeck"));
  const [, format = "", sha256 = "", bytes = ""] = headForm.exec(await startOf(file)) ?? [];
  if (format === "") throw coded("backup-foreign", failed("this file is no backup of Tapdeck"));
  if (Number(format) > backupFormat)
    throw coded(
      "backup-newer",
      failed(
        `this backup has the format ${format}, and this version of Tapdeck reads formats up to ${backupFormat}: update Tapdeck, then restore it again`,
      ),
    );
  if (size > backupFileBytesMax || Number(format) < 1) throw damaged();
  if (size !== headBytes + Number(bytes)) throw damaged();
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { start: headBytes })) hash.update(chunk);
  if (hash.digest("hex") !== sha256) throw damaged();
  return { sha256, bytes: size };
}

const damaged = () =>
  coded(
    "backup-damaged",
    failed(
      "this backup is damaged: it is cut short, or some of its bytes have changed. Copy it again, or take another one",
    ),
  );

async function startOf(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.toString("latin1", 0, bytesRead);
}

/** True if there is no file, or if the file is a backup of any format, so that another backup may replace it. */
export async function mayReplace(path: string): Promise<boolean> {
  try {
    await using file = await open(path);
    return (await file.stat()).size === 0 || (await startOf(file)).startsWith("tapdeck-backup ");
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

const lineEnd = 0x0a;
const firstBytes = 64 * 1024;

/**
 * The parsed lines of a file that `checkBackupFile` accepted; undefined for a line that is no JSON. Throws `failed` for
 * content that is too long, or no gzip. A line is kept in one buffer until its end, because each join of texts copies them.
 */
export async function* backupLines(path: string): AsyncGenerator<unknown> {
  // The loop below reports an error of either stream.
  const unpacked = pipeline(createReadStream(path, { start: headBytes }), createGunzip(), () => {});
  let kept = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  let bytes = 0;
  const noteGarbage = createCollector();
  const keep = (piece: Buffer) => {
    const needed = length + piece.length;
    if (needed > backupLineBytesMax) throw new Error("a line is too long");
    if (needed > kept.length) {
      const larger = Buffer.allocUnsafe(Math.min(backupLineBytesMax, Math.max(needed, 2 * kept.length)));
      kept.copy(larger, 0, 0, length);
      noteGarbage(kept.length);
      kept = larger;
    }
    piece.copy(kept, length);
    length = needed;
  };
  try {
    for await (const chunk of unpacked) {
      bytes += chunk.length;
      if (bytes > backupTextBytesMax) throw new Error(`it has more than ${backupTextBytesMax} bytes`);
      let from = 0;
      for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, from)) {
        keep(chunk.subarray(from, end));
        from = end + 1;
        yield parsedLine(kept.subarray(0, length));
        noteGarbage(length);
        length = 0;
      }
      keep(chunk.subarray(from));
    }
    if (length > 0) throw new Error("its last line has no end");
  } catch (error) {
    throw failed(`this backup cannot be read: ${messageOf(error)}`, error);
  }
}

function parsedLine(line: Uint8Array): unknown {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  if (jsonExcess(text, backupLineValuesMax) !== undefined) throw new Error("a line has too many values");
  return parseJson(text);
}
