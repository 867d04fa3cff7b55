/**
 * A PN532 on I2C or SPI as a byte link (UM0701-02, 6.2.4 and 6.2.5). On these buses the chip cannot send by itself. The
 * host polls whether a frame is ready, and reads the whole frame, with bytes after its end that have no meaning.
 *
 *   I2C  address 0x24. A read begins with a status byte, whose lowest bit says that a frame follows.
 * SPI  mode 0, the lowest bit of a byte first. The first byte names the content: 01 a frame, 02 reads the status, 03 a
 * frame.
 */
import type { Clock } from "../../src/core/clock.ts";
import { chipFrameBytesMax } from "../../src/core/limits.ts";
import type { ByteLink, I2cDevice, SpiDevice } from "../io/links.ts";

export const i2cAddress = 0x24;
export const spiHertz = 1_000_000; // The chip takes up to 5 MHz, but the wires of a hat may not.

/** The bus access to the chip. Each method throws if the bus has a fault, or no chip answers. */
export interface PolledChip {
  write(frame: Uint8Array): void;
  isReady(): boolean;
  /** Reads the frame that is ready, and bytes after it. */
  read(): Promise<Uint8Array>;
  close(): void;
}

const frameBytesMax = chipFrameBytesMax + 12; // A frame with the extended header, both sums and the postamble, as in pn532-frame.ts.
const readyBit = 1;

export function chipOnI2c(device: I2cDevice): PolledChip {
  return {
    write: device.write,
    isReady: () => ((device.readNow(1)[0] ?? 0) & readyBit) !== 0,
    async read() {
      const bytes = await device.read(1 + frameBytesMax);
      return ((bytes[0] ?? 0) & readyBit) === 0 ? new Uint8Array() : bytes.subarray(1);
    },
    close: device.close,
  };
}

const direction = { dataWrite: 0x01, statusRead: 0x02, dataRead: 0x03 } as const;

export function chipOnSpi(device: SpiDevice): PolledChip {
  const transfer = (bytes: Uint8Array) => reversed(device.transfer(reversed(bytes)));
  return {
    write: (frame) => void transfer(Uint8Array.of(direction.dataWrite, ...frame)),
    isReady: () => ((transfer(Uint8Array.of(direction.statusRead, 0))[1] ?? 0) & readyBit) !== 0,
    async read() {
      const asked = new Uint8Array(1 + frameBytesMax);
      asked[0] = direction.dataRead;
      return transfer(asked).subarray(1);
    },
    close: device.close,
  };
}

/** Each byte with its bits in the opposite order. */
function reversed(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => {
    let turned = 0;
    for (let bit = 0; bit < 8; bit++) turned |= ((byte >> bit) & 1) << (7 - bit);
    return turned;
  });
}

// The interval of the first polls. An ACK comes within 15 ms (6.2.2.1.b), and most answers soon after it. A command
// that waits for a tag takes longer.
const soonMs = 2;
const soonForMs = 40;
const laterMs = 10;
// The chip does not acknowledge its address while it wakes up, for 2 ms (7.2.11).
const wakeMs = 3;

/** Makes the link. Its `close` frees the bus. */
export function polledLink(path: string, chip: PolledChip, clock: Clock): ByteLink {
  let listener: (bytes: Uint8Array) => void = () => {};
  let isClosed = false;
  let sentMs = Number.NEGATIVE_INFINITY;
  let timer: Disposable | undefined;
  let reading: Promise<void> | undefined;

  const sent = (frame: Uint8Array) => {
    try {
      chip.write(frame);
      return true;
    } catch {
      return false;
    }
  };
  const look = async () => {
    // A chip without power acknowledges nothing, and the missing answers show this.
    const bytes = await take().catch(() => undefined);
    if (isClosed) return;
    if (bytes !== undefined) listener(bytes);
    const waitMs = clock.now() - sentMs < soonForMs ? soonMs : laterMs;
    timer = clock.after(waitMs, lookAgain);
  };
  const take = async () => (chip.isReady() ? frameIn(await chip.read()) : undefined);
  const lookAgain = () => {
    reading = look();
  };
  lookAgain();
  return {
    path,
    onBytes(listen) {
      listener = listen;
    },
    // A bus cannot go away. Only the chip can go away.
    onGone() {},
    async write(bytes) {
      // The bytes that wake a chip on a serial line mean nothing here.
      const frame = bytes.subarray(Math.max(0, bytes.indexOf(0xff) - 2));
      sentMs = clock.now();
      if (sent(frame)) return;
      await new Promise<void>((done) => void clock.after(wakeMs, done));
      // A chip that takes no bytes is noticed by the missing ACK.
      if (!isClosed) sent(frame);
    },
    async setBaudRate() {},
    async close() {
      if (isClosed) return;
      isClosed = true;
      timer?.[Symbol.dispose]();
      await reading;
      chip.close();
    },
  };
}

/** The bytes up to the end of the first frame; all of them if there is no frame. */
function frameIn(bytes: Uint8Array): Uint8Array {
  for (let at = 0; at + 4 < bytes.length; at++) {
    if (bytes[at] !== 0x00 || bytes[at + 1] !== 0xff) continue;
    const [length = 0, sum = 0] = bytes.subarray(at + 2, at + 4);
    if (length === 0xff && sum === 0xff) {
      const [high = 0, low = 0] = bytes.subarray(at + 4, at + 6);
      return bytes.subarray(0, at + 9 + high * 256 + low);
    }
    // An ACK has no data, and a sum of 0xff.
    return bytes.subarray(0, at + (length === 0x00 ? 5 : 6 + length));
  }
  return bytes;
}
