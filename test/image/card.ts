/**
 * An SD card whose power can be cut: a network block device (the NBD protocol, "doc/proto.md" of its project). QEMU
 * uses it as a disk with a write cache. Flushed writes are safe. A cut keeps some of the other writes, loses some, and
 * tears one. The seed decides which. The card counts the bytes written to each partition, which no guest can falsify.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../emulators/emulated-line.ts";
import { createReader, type Reader } from "./nbd-reader.ts";

export interface Card extends AsyncDisposable {
  /** The argument of QEMU's `file=`. */
  readonly url: string;
  /** The number of write requests since the card was made. */
  readonly writes: number;
  readonly flushes: number;
  /** The number of bytes that were written from `from` on, up to `to`, since the card was made. */
  writtenBytes(from: number, to: number): number;
  /**
   * Makes the card accept no more writes after `count` further writes `within` these bytes. `struck` is then called once.
   */
  cutAfter(count: number, struck: () => void, within?: Range): void;
  /** Restores the power after a cut. Call it when QEMU has ended. */
  powerCycle(seed: number): void;
  read(offset: number, length: number): Uint8Array;
  /** True if the text is in a block that was written and flushed, so no power cut loses it. */
  holds(text: string): boolean;
  /** Makes another card with all data of this one that no power cut can lose. */
  copy(): Promise<Card>;
  /** Overwrites bytes, as a fault of the card would. */
  damage(offset: number, bytes: Uint8Array): void;
}

/** A range of bytes of the card. The last byte is not part of it. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const blockBytes = 4096;
const sectorBytes = 512;

interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Blocks that differ from the image. A block is never changed in place, so copies of the map are cheap. */
type Blocks = Map<number, Uint8Array>;

/**
 * Makes a card. `bytes` is its size, and the rest after the image reads as zeros. `changed` has blocks that differ from
 * the image from the beginning.
 */
export async function makeCard(image: string, bytes: number, changed: Blocks = new Map()): Promise<Card> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-card-"));
  const socketPath = join(folder, "nbd.sock");
  const file = openSync(image, "r");
  let current: Blocks = new Map(changed);
  let safe: Blocks = new Map(changed);
  let unsafe: Write[] = [];
  const written = new Map<number, number>();
  const counts = { writes: 0, flushes: 0 };
  let fuse: { left: number; readonly struck: () => void; readonly within: Range } | undefined;
  let dead = false;

  const blockOf = (blocks: Blocks, index: number): Uint8Array => {
    const there = blocks.get(index);
    if (there !== undefined) return there;
    const fresh = new Uint8Array(blockBytes);
    readSync(file, fresh, 0, blockBytes, index * blockBytes);
    return fresh;
  };
  const put = (blocks: Blocks, { offset, bytes: data }: Write) => {
    for (let at = 0; at < data.length; ) {
      const index = Math.floor((offset + at) / blockBytes);
      const within = (offset + at) % blockBytes;
      const count = Math.min(blockBytes - within, data.length - at);
      const block = count === blockBytes ? new Uint8Array(blockBytes) : blockOf(blocks, index).slice();
      block.set(data.subarray(at, at + count), within);
      blocks.set(index, block);
      at += count;
    }
  };
  const read = (offset: number, length: number) => {
    const out = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const within = (offset + at) % blockBytes;
      const count = Math.min(blockBytes - within, length - at);
      const block = blockOf(current, Math.floor((offset + at) / blockBytes));
      out.set(block.subarray(within, within + count), at);
      at += count;
    }
    return out;
  };
  const disk: Disk = {
    bytes,
    read,
    write(offset, data, forced) {
      if (dead) return false;
      const write = { offset, bytes: data.slice() };
      put(current, write);
      if (forced) put(safe, write);
      else unsafe.push(write);
      counts.writes++;
      const mib = Math.floor(offset / 2 ** 20);
      written.set(mib, (written.get(mib) ?? 0) + data.length);
      const isNear = fuse !== undefined && offset >= fuse.within.from && offset < fuse.within.to;
      if (fuse !== undefined && isNear && --fuse.left <= 0) {
        dead = true;
        fuse.struck();
      }
      return !dead;
    },
    flush() {
      if (dead) return false;
      for (const write of unsafe) put(safe, write);
      unsafe = [];
      counts.flushes++;
      return true;
    },
  };
  const server = serve(socketPath, disk);
  return {
    url: `nbd+unix:///?socket=${socketPath}`,
    get writes() {
      return counts.writes;
    },
    get flushes() {
      return counts.flushes;
    },
    writtenBytes(from, to) {
      const [first, last] = [from / 2 ** 20, to / 2 ** 20];
      return [...written].reduce((sum, [mib, count]) => (mib >= first && mib < last ? sum + count : sum), 0);
    },
    cutAfter(count, struck, within = { from: 0, to: bytes }) {
      fuse = { left: count, struck, within };
    },
    powerCycle(seed) {
      const random = seededRandom(seed);
      const torn = Math.floor(random() * unsafe.length);
      for (const [index, write] of unsafe.entries()) {
        const sectors = write.bytes.length / sectorBytes;
        const kept = index === torn ? Math.floor(random() * sectors) : random() < 0.5 ? sectors : 0;
        if (kept > 0) put(safe, { offset: write.offset, bytes: write.bytes.subarray(0, kept * sectorBytes) });
      }
      unsafe = [];
      current = new Map(safe);
      fuse = undefined;
      dead = false;
    },
    read,
    copy: () => makeCard(image, bytes, safe),
    holds: (text) =>
      [...safe].some(([index, block]) =>
        // The text may continue in the next block.
        Buffer.concat([block, safe.get(index + 1) ?? new Uint8Array()]).includes(text),
      ),
    damage(offset, data) {
      put(current, { offset, bytes: data });
      put(safe, { offset, bytes: data });
    },
    async [Symbol.asyncDispose]() {
      server.stop(true);
      safe = new Map();
      closeSync(file);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Disk {
  readonly bytes: number;
  read(offset: number, length: number): Uint8Array;
  /** Writes data. Returns false if the power is cut. In that case the card must not answer. */
  write(offset: number, data: Uint8Array, forced: boolean): boolean;
  flush(): boolean;
}

// The numbers of the protocol's document, "Values". All are big-endian.
const magic = { hello: 0x4e42444d41474943n, option: 0x49484156454f5054n, reply: 0x3e889045565a9n };
const transmission = { request: 0x25609513, answer: 0x67446698 };
const option = { exportName: 1, abort: 2, go: 7 };
const reply = { ack: 1, info: 3, unsupported: 0x80000001 };
const command = { read: 0, write: 1, disconnect: 2, flush: 3 };
const exportFlags = 0b1101; // The flags of the export: has flags, takes flush, takes forced writes (FUA).
const forcedFlag = 1;

function serve(socketPath: string, disk: Disk) {
  return Bun.listen<{ reader: Reader; pending: Uint8Array[] }>({
    unix: socketPath,
    socket: {
      open(socket) {
        const reader = createReader();
        const pending: Uint8Array[] = [];
        socket.data = { reader, pending };
        const send = (bytes: Uint8Array) => {
          pending.push(bytes);
          flushPending(socket);
        };
        // The conversation ends when the client is gone.
        converse(reader, send, disk).catch(() => socket.end());
      },
      data: (socket, bytes) => socket.data.reader.push(bytes),
      drain: (socket) => flushPending(socket),
      close: (socket) => socket.data.reader.end(),
    },
  });
}

function flushPending(socket: Bun.Socket<{ readonly pending: Uint8Array[] }>): void {
  const { pending } = socket.data;
  for (let first = pending.shift(); first !== undefined; first = pending.shift()) {
    const sent = Math.max(0, socket.write(first));
    if (sent === first.length) continue;
    pending.unshift(first.subarray(sent));
    return;
  }
}

type Send = (bytes: Uint8Array) => void;

async function converse(reader: Reader, send: Send, disk: Disk): Promise<void> {
  // The greeting is "fixed newstyle", without the zeros that older clients want.
  send(numbers([8, magic.hello], [8, magic.option], [2, 0b11n]));
  await reader.take(4);
  while (!(await negotiate(reader, send, disk))) {
    // The loop continues with the next option.
  }
  for (;;) {
    const header = viewOf(await reader.take(28));
    if (header.getUint32(0) !== transmission.request) throw new Error("this is no request");
    const [flags, kind] = [header.getUint16(4), header.getUint16(6)];
    const [offset, length] = [Number(header.getBigUint64(16)), header.getUint32(24)];
    const answer = numbers([4, BigInt(transmission.answer)], [4, 0n], [8, header.getBigUint64(8)]);
    if (kind === command.disconnect) return;
    if (kind === command.read) {
      send(answer);
      send(disk.read(offset, length));
    } else if (kind === command.write) {
      const data = await reader.take(length);
      if (disk.write(offset, data, (flags & forcedFlag) !== 0)) send(answer);
    } else if (kind === command.flush) {
      if (disk.flush()) send(answer);
    } else throw new Error(`request ${kind} was not offered`);
  }
}

/** Answers one option. Resolves with true if the transmission begins. */
async function negotiate(reader: Reader, send: Send, disk: Disk): Promise<boolean> {
  const header = viewOf(await reader.take(16));
  const [kind, length] = [header.getUint32(8), header.getUint32(12)];
  if (length > 0) await reader.take(length);
  const answer = (type: number, payload: Uint8Array = new Uint8Array()) => {
    send(numbers([8, magic.reply], [4, BigInt(kind)], [4, BigInt(type)], [4, BigInt(payload.length)]));
    send(payload);
  };
  if (kind === option.exportName) {
    send(numbers([8, BigInt(disk.bytes)], [2, BigInt(exportFlags)]));
    return true;
  }
  if (kind !== option.go) {
    answer(kind === option.abort ? reply.ack : reply.unsupported);
    return false;
  }
  // The information of type 0: size and flags.
  answer(reply.info, numbers([2, 0n], [8, BigInt(disk.bytes)], [2, BigInt(exportFlags)]));
  answer(reply.ack);
  return true;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes of numbers, which are given as pairs of a width in bytes and a number. */
function numbers(...parts: readonly (readonly [2 | 4 | 8, bigint])[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, [width]) => sum + width, 0));
  let at = 0;
  for (const [width, value] of parts) {
    for (let index = 0; index < width; index++)
      out[at + index] = Number((value >> BigInt(8 * (width - 1 - index))) & 0xffn);
    at += width;
  }
  return out;
}
