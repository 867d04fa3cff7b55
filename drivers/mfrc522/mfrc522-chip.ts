/**
 * The MFRC522 behind its SPI (NXP MFRC522, rev. 3.9): registers, the FIFO, the timer, and the commands that use the
 * air. CRCs are computed in this file, so an answer of four bits needs no other mode than a whole frame.
 *
 *   SPI         mode 0; first a byte 1AAAAAA0 to read the register A, or 0AAAAAA0 to write it (8.1.2.3)
 *   read        each byte names the next register, whose content comes with the byte after it; the last byte is 00 (8.1.2.1)
 *   write       all bytes after the first go to the same register (8.1.2.2)
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { fifoBytesMax } from "../../src/core/limits.ts";
import { readerGone, type SpiDevice } from "../io/links.ts";

/** The addresses of registers (section 9.2, table 20). */
const at = {
  command: 0x01,
  comIrq: 0x04,
  error: 0x06,
  status2: 0x08,
  fifoData: 0x09,
  fifoLevel: 0x0a,
  control: 0x0c,
  bitFraming: 0x0d,
  collision: 0x0e,
  txMode: 0x12,
  rxMode: 0x13,
  txControl: 0x14,
  txAsk: 0x15,
  modulationWidth: 0x24,
  receiverGain: 0x26,
  timerMode: 0x2a,
  timerPrescaler: 0x2b,
  timerReloadHigh: 0x2c,
  timerReloadLow: 0x2d,
  version: 0x37,
} as const;

/** The commands of the chip (section 10.3, table 149). */
const command = { idle: 0x00, transceive: 0x0c, mifareAuthentication: 0x0e, softReset: 0x0f } as const;

const powerDown = 0x10; // The bit of CommandReg that is set while the chip still wakes up (9.3.1.2).
const allIrqs = 0x7f; // The value for ComIrqReg. A 0 in bit 80 clears the bits that are 1 (9.3.1.5).
const irq = { received: 0x20, idle: 0x10, error: 0x02, timer: 0x01 } as const;
const collided = 0x08; // The bits of ErrorReg (9.3.1.7). A collision may also break the parity of its byte.
const overflowed = 0x10;
const encrypted = 0x08; // The bit MFCrypto1On of Status2Reg (9.3.1.9).
const flush = 0x80; // The bit of FIFOLevelReg that empties the FIFO (9.3.1.11).
const startSend = 0x80; // The bit of BitFramingReg that starts a transmission (9.3.1.14).
const lastBitsMask = 0x07; // The bits RxLastBits of ControlReg; 0 for a whole byte (9.3.1.13).
const positionUnknown = 0x20; // The bit CollPosNotValid of CollReg (9.3.1.15).
const positionMask = 0x1f;
const bothDrivers = 0x03; // The bits Tx1RFEn and Tx2RFEn of TxControlReg (9.3.2.5).
const fullModulation = 0x40; // The bit Force100ASK of TxASKReg, as type A needs (9.3.2.6).
const pauseWidth = 0x26; // The value of ModWidthReg after a reset (9.3.3.4).
const timerAuto = 0x80; // The bit of TModeReg with which the timer starts after each transmission, and stops when an answer begins (9.3.3.10).
// The prescaler for a tick of 25 us: 13.56 MHz / (2 * 169 + 1) (8.5).
const prescaler = 169;
const tickMs = 0.025;
const ticksMax = 0x10000;

/** The codes RxGain of RFCfgReg, by dB (9.3.3.6, table 98). */
export const gainCodes: ReadonlyMap<string, number> = new Map([
  ["18", 0x00],
  ["23", 0x10],
  ["33", 0x40],
  ["38", 0x50],
  ["43", 0x60],
  ["48", 0x70],
]);

export type Received =
  | { readonly kind: "frame"; readonly bytes: Uint8Array; readonly lastBits: number }
  /**
   * Two tags sent different bits. `at` is the position of the first such bit, from 1; undefined if the chip does not know it.
   */
  | { readonly kind: "collision"; readonly bytes: Uint8Array; readonly at: number | undefined }
  | { readonly kind: "broken" }
  | { readonly kind: "silence" };

interface Framing {
  /** The number of bits of the last byte that are sent; 0 for all. */
  readonly lastBits?: number;
  /** The bit of the first byte that the first received bit goes to. */
  readonly align?: number;
}

// The interval between looks at the chip. A whole frame of 64 bytes takes 5.5 ms.
const lookMs = 1;
/** The time for the longest frame, and until the end of the timer is noticed. */
const graceMs = 100;
// An error may be reported before the end of the frame, and after some faults the chip reports no end of the frame.
const looksAfterError = 6;
// The oscillator starts within 2 ms (8.8.2); crystals of cheap modules take longer.
const resetMsMax = 50;
const resetLookMs = 2;

export type Mfrc522 = ReturnType<typeof createMfrc522>;

/** The chip on this bus. Every function rejects or throws with `reader-gone` if the bus or the chip fails. */
export function createMfrc522(device: SpiDevice, path: string, clock: Clock) {
  let isClosed = false;
  let reload: number | undefined;

  const transfer = (bytes: Uint8Array) => {
    if (isClosed) throw readerGone(path, "it was closed");
    try {
      return device.transfer(bytes);
    } catch (error) {
      throw readerGone(path, "the bus refused a transfer", error);
    }
  };
  const write = (register: number, ...values: readonly number[]) =>
    void transfer(Uint8Array.of(register << 1, ...values));
  const read = (...registers: readonly number[]) =>
    transfer(Uint8Array.of(...registers.map((register) => 0x80 | (register << 1)), 0)).subarray(1);
  const readOne = (register: number) => read(register)[0] ?? 0;

  const setTimer = (waitMs: number) => {
    const ticks = Math.min(ticksMax, Math.max(1, Math.ceil(waitMs / tickMs)));
    if (ticks === reload) return;
    write(at.timerReloadHigh, (ticks - 1) >> 8);
    write(at.timerReloadLow, (ticks - 1) & 0xff);
    reload = ticks;
  };
  /** The interrupt requests at the end of a command. */
  const ended = async (ends: number, waitMs: number, signal: AbortSignal): Promise<number> => {
    const deadline = clock.now() + Math.min(waitMs, ticksMax * tickMs) + graceMs;
    for (let errors = 0; ; ) {
      const isLate = clock.now() > deadline;
      const requests = readOne(at.comIrq);
      if ((requests & irq.error) !== 0) errors += 1;
      if ((requests & ends) !== 0 || errors > looksAfterError) return requests;
      if (isLate) throw readerGone(path, "the chip does not end a command: check its power and its wiring");
      await sleep(clock, lookMs, signal);
    }
  };
  const begin = (code: number, bytes: Uint8Array, waitMs: number, framing = 0) => {
    write(at.command, command.idle);
    write(at.comIrq, allIrqs);
    write(at.fifoLevel, flush);
    write(at.fifoData, ...bytes);
    setTimer(waitMs);
    write(at.bitFraming, framing);
    write(at.command, code);
  };

  return {
    path,
    /** Resets the chip, and returns its version: 0 or FF if there is none (9.3.4.8). */
    async reset(signal: AbortSignal): Promise<number> {
      signal.throwIfAborted();
      reload = undefined;
      // Another program may have put the chip to sleep (8.6.2). A sleeping chip takes no reset.
      for (const code of [command.idle, command.softReset]) {
        write(at.command, code);
        for (let waitedMs = 0; waitedMs < resetMsMax; waitedMs += resetLookMs) {
          await sleep(clock, resetLookMs, signal);
          if ((readOne(at.command) & powerDown) === 0) break;
        }
      }
      return readOne(at.version);
    },
    /** True if registers keep what is written to them. */
    keepsValues(): boolean {
      reload = undefined;
      return [0x5a, 0xa5].every((value) => {
        write(at.timerReloadLow, value);
        write(at.timerReloadHigh, 0xff & ~value);
        const [low, high] = read(at.timerReloadLow, at.timerReloadHigh);
        return low === value && high === (0xff & ~value);
      });
    },
    /** Makes the chip a reader of type A, with this gain. The field stays off. */
    configure(gain: number): void {
      write(at.timerMode, timerAuto);
      write(at.timerPrescaler, prescaler);
      // A copy may keep these values over a reset: 106 kbit/s without CRC, pauses of 3 us, plain frames.
      write(at.txMode, 0);
      write(at.rxMode, 0);
      write(at.modulationWidth, pauseWidth);
      write(at.status2, 0);
      write(at.txAsk, fullModulation);
      write(at.receiverGain, gain);
    },
    switchField(isOn: boolean): void {
      const kept = readOne(at.txControl) & ~bothDrivers;
      write(at.txControl, isOn ? kept | bothDrivers : kept);
    },
    /** Returns false if the chip is gone, or has lost its power since it was configured: its field is then off. */
    isReady(version: number): boolean {
      const [seen = 0, drivers = 0] = read(at.version, at.txControl);
      return seen === version && (drivers & bothDrivers) === bothDrivers;
    },
    /** Sends a frame, and waits for an answer to begin within `waitMs` (10.3.1.8). */
    async exchange(
      frame: Uint8Array,
      waitMs: number,
      signal: AbortSignal,
      { lastBits = 0, align = 0 }: Framing = {},
    ): Promise<Received> {
      signal.throwIfAborted();
      const framing = (align << 4) | lastBits;
      begin(command.transceive, frame, waitMs, framing);
      write(at.bitFraming, startSend | framing);
      const requests = await ended(irq.received | irq.timer, waitMs, signal);
      signal.throwIfAborted();
      const told = read(at.error, at.fifoLevel, at.control, at.collision);
      const [errors = 0, level = 0, control = 0, collision = 0] = told;
      if ((requests & irq.received) === 0 && errors === 0) return { kind: "silence" };
      const hasCollided = (errors & (collided | overflowed)) === collided;
      if ((errors !== 0 && !hasCollided) || level > fifoBytesMax) return { kind: "broken" };
      const bytes = level === 0 ? new Uint8Array() : read(...new Array<number>(level).fill(at.fifoData));
      if (hasCollided) return { kind: "collision", bytes, at: positionOf(collision) };
      return { kind: "frame", bytes, lastBits: control & lastBitsMask };
    },
    /**
     * Authenticates a sector of a MIFARE Classic (10.3.1.9). `bytes` are the tag's command, the block, the key, and
     * four bytes of the UID. Resolves with true if the frames after it are encrypted.
     */
    async authenticate(bytes: Uint8Array, waitMs: number, signal: AbortSignal): Promise<boolean> {
      signal.throwIfAborted();
      begin(command.mifareAuthentication, bytes, waitMs);
      await ended(irq.idle | irq.timer, waitMs, signal);
      signal.throwIfAborted();
      write(at.command, command.idle);
      return (readOne(at.status2) & encrypted) !== 0;
    },
    /** Makes frames plain from now on. */
    endEncryption: () => write(at.status2, 0),
    close(): void {
      if (isClosed) return;
      isClosed = true;
      device.close();
    },
  };
}

/** The value 00 stands for the 32nd bit. */
function positionOf(collision: number): number | undefined {
  if ((collision & positionUnknown) !== 0) return undefined;
  return (collision & positionMask) === 0 ? 32 : collision & positionMask;
}
