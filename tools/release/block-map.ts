/**
 * The block map of a card's image, in the format 2.0 of bmap-tools: the blocks that `bmaptool copy` writes, with their sums.
 *
 *   partition table and boot partition   all
 *   slot A                               the blocks of its root file system
 *   slot B                               its first MiB, so that no system of an earlier card is found there
 *   data                                 all, because blocks of zeros have a meaning to its file system
 */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";

export interface CardMap {
  readonly bytes: number;
  /** The SHA-256 of the whole image. */
  readonly sha256: string;
  /** The SHA-256 of the blocks of slot A that are written. */
  readonly rootSha256: string;
  /** The text of the map in XML. */
  readonly text: string;
}

interface Span {
  readonly from: number;
  readonly to: number;
  readonly written: boolean;
}

const blockBytes = 4096;
const mib = 1024 ** 2;

/** Reads the whole image. Throws a sentence if it has another layout than genimage.cfg, or bytes that no block of the map has. */
export async function mapCard(image: string, rootBytes: number): Promise<CardMap> {
  const file = await open(image);
  try {
    const bytes = (await file.stat()).size;
    const [boot, slotA, slotB, data] = await partitionsOf(file, image);
    const rootEnd = slotA.from + rootBytes;
    const spans: readonly Span[] = [
      { from: 0, to: slotA.from, written: true },
      { from: slotA.from, to: rootEnd, written: true },
      { from: rootEnd, to: slotB.from, written: false },
      { from: slotB.from, to: slotB.from + mib, written: true },
      { from: slotB.from + mib, to: data.from, written: false },
      { from: data.from, to: bytes, written: true },
    ];
    const inOrder = spans.every(
      ({ from, to }) => from <= to && from % blockBytes === 0 && to % blockBytes === 0,
    );
    if (!inOrder || boot.to > slotA.from || rootEnd > slotA.to || data.to > bytes)
      throw new Error(`${image} does not have the partitions of buildroot/board/common/genimage.cfg`);
    const whole = createHash("sha256");
    const ranges: { blocks: string; count: number; sum: string }[] = [];
    for (const span of spans) {
      const part = createHash("sha256");
      for await (const chunk of chunksOf(file, span)) {
        whole.update(chunk);
        part.update(chunk);
        if (!span.written && chunk.some((byte) => byte !== 0))
          throw new Error(`${image} has data behind the root file system of slot A, or in slot B`);
      }
      if (!span.written || span.from === span.to) continue;
      const [first, last] = [span.from / blockBytes, span.to / blockBytes - 1];
      const blocks = first === last ? `${first}` : `${first}-${last}`;
      ranges.push({ blocks, count: last - first + 1, sum: part.digest("hex") });
    }
    const text = xmlOf(bytes, ranges);
    return { bytes, sha256: whole.digest("hex"), rootSha256: ranges[1]?.sum ?? "", text };
  } finally {
    await file.close();
  }
}

interface Partition {
  readonly from: number;
  readonly to: number;
}

/**
 * The four entries of the partition table: 16 bytes each, from offset 446 on. An entry has the first sector at 8, and
 * the number of sectors at 12.
 */
async function partitionsOf(
  file: FileHandle,
  image: string,
): Promise<readonly [Partition, Partition, Partition, Partition]> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
  if (bytesRead < 512 || buffer.readUInt16BE(510) !== 0x55aa)
    throw new Error(`${image} has no partition table`);
  const partition = (number: number) => {
    const from = buffer.readUInt32LE(446 + 16 * number + 8) * 512;
    return { from, to: from + buffer.readUInt32LE(446 + 16 * number + 12) * 512 };
  };
  return [partition(0), partition(1), partition(2), partition(3)];
}

async function* chunksOf(file: FileHandle, { from, to }: Span): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(mib);
  for (let at = from; at < to; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(mib, to - at), at);
    if (bytesRead === 0) throw new Error("the image became shorter while it was read");
    yield chunk.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** The XML of the map. The sum of the file itself is computed with zeros in the place of the sum. */
function xmlOf(bytes: number, ranges: readonly { blocks: string; count: number; sum: string }[]): string {
  const none = "0".repeat(64);
  const written = ranges.reduce((sum, { count }) => sum + count, 0);
  const text = `<?xml version="1.0" ?>
<bmap version="2.0">
  <ImageSize>${bytes}</ImageSize>
  <BlockSize>${blockBytes}</BlockSize>
  <BlocksCount>${bytes / blockBytes}</BlocksCount>
  <MappedBlocksCount>${written}</MappedBlocksCount>
  <ChecksumType>sha256</ChecksumType>
  <BmapFileChecksum>${none}</BmapFileChecksum>
  <BlockMap>
${ranges.map(({ blocks, sum }) => `    <Range chksum="${sum}">${blocks}</Range>\n`).join("")}  </BlockMap>
</bmap>
`;
  return text.replace(none, createHash("sha256").update(text).digest("hex"));
}
