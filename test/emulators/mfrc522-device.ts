/**
 * An emulated MFRC522 on an SPI bus, behind the calls of the kernel: registers, FIFO, timer, commands, the CRC
 * coprocessor, and a field with tags, whose answers collide. The emulator is written from the data sheet (NXP MFRC522,
 * rev. 3.9), not from the driver.
 */
import type { SpiDevice } from "../../drivers/io/links.ts";
import { sameBytes } from "./emulated-field.ts";
import { createIsoDepCard, type IsoDepCard } from "./iso-dep-card.ts";
import { crcA, type EmulatedTag, type TagAnswer } from "./type-a.ts";

interface Mfrc522Options {
  readonly path: string;
  readonly version?: number;
  /** The number of looks at ComIrqReg that a command takes. */
  readonly looks?: number;
  /** True if CollPos counts the bits that RxAlign leaves out, which the data sheet does not say. */
  readonly countsAlign?: boolean;
  readonly cardOf?: (tag: EmulatedTag) => IsoDepCard;
  /** Replaces the field. It gets each frame and the number of bits of its last byte, and calls `answer` if an answer comes. */
  readonly air?: (
    frame: Uint8Array,
    lastBits: number,
    answer: (heard: TagAnswer | undefined) => void,
  ) => void;
}

/** The content of registers after a reset (table 20 and 9.3). Registers that are not listed are 0. */
const resetValues: Readonly<Record<number, number>> = {
  1: 0x20,
  2: 0x80,
  4: 0x14,
  7: 0x21,
  11: 0x08,
  12: 0x10,
  14: 0x80,
  17: 0x3f,
  20: 0x80,
  22: 0x10,
  23: 0x84,
  24: 0x84,
  25: 0x4d,
  28: 0x62,
  31: 0xeb,
  33: 0xff,
  34: 0xff,
  36: 0x26,
  38: 0x48,
  39: 0x88,
  40: 0x20,
  41: 0x20,
  54: 0x40,
};
const r = {
  command: 0x01,
  comIrq: 0x04,
  divIrq: 0x05,
  error: 0x06,
  status2: 0x08,
  data: 0x09,
  level: 0x0a,
  control: 0x0c,
  framing: 0x0d,
  collision: 0x0e,
  mode: 0x11,
  txMode: 0x12,
  rxMode: 0x13,
  txControl: 0x14,
  txAsk: 0x15,
  crcHigh: 0x21,
  crcLow: 0x22,
  timerMode: 0x2a,
  prescaler: 0x2b,
  reloadHigh: 0x2c,
  reloadLow: 0x2d,
  version: 0x37,
} as const;
const fifoBytes = 64;
const registers = 64;
const carrierKhz = 13_560;
const readOnly: readonly number[] = [r.error, r.control, r.version, r.crcHigh, r.crcLow];

export type Mfrc522Device = ReturnType<typeof createMfrc522Device>;

export function createMfrc522Device({
  path,
  version = 0x92,
  looks = 1,
  countsAlign = true,
  cardOf = createIsoDepCard,
  air,
}: Mfrc522Options) {
  const memory = new Uint8Array(registers);
  let fifo: number[] = [];
  let tags: readonly EmulatedTag[] = [];
  let cards = new Map<EmulatedTag, IsoDepCard>();
  /** The tag whose frames are encrypted. */
  let secured: EmulatedTag | undefined;
  let isPlugged = true;
  let isWaking = false;
  /** The result of a command, which takes effect once it has been polled often enough. */
  let outcome: { looksLeft: number; readonly run: () => void } | undefined;
  let onCommand = () => {};
  let onFrame: (frame: Uint8Array) => void = () => {};
  let isDisturbed = () => false;

  const get = (register: number) => memory[register] ?? 0;
  const losePower = () => {
    for (const tag of tags) tag.losePower();
    cards = new Map();
    secured = undefined;
  };
  const reset = () => {
    memory.fill(0);
    for (const [register, value] of Object.entries(resetValues)) memory[Number(register)] = value;
    memory[r.version] = version;
    fifo = [];
    outcome = undefined;
    isWaking = true;
    losePower();
  };
  const raise = (bits: number) => {
    memory[r.comIrq] = get(r.comIrq) | bits;
  };
  const end = (run: () => void) => {
    outcome = { looksLeft: looks, run };
  };
  const hasField = () => (get(r.txControl) & 0x03) === 0x03;
  /** The time until a silent tag is given up. Without the timer's automatic start, it never is (8.5). */
  const waitMs = () => {
    if ((get(r.timerMode) & 0x80) === 0) return Number.POSITIVE_INFINITY;
    const prescaler = ((get(r.timerMode) & 0x0f) << 8) | get(r.prescaler);
    const reload = (get(r.reloadHigh) << 8) | get(r.reloadLow);
    return ((2 * prescaler + 1) * (reload + 1)) / carrierKhz;
  };
  const cardFor = (tag: EmulatedTag) => {
    const known = cards.get(tag) ?? cardOf(tag);
    cards.set(tag, known);
    return known;
  };
  const isEncrypted = () => (get(r.status2) & 0x08) !== 0;
  /** The answer of one tag to a frame in the air. */
  const answerOf = (tag: EmulatedTag, frame: Uint8Array, lastBits: number): TagAnswer | undefined => {
    const card = (tag.sak & 0x20) !== 0 && tag.felica === undefined ? cardFor(tag) : undefined;
    if (tag.felica !== undefined) return undefined;
    // A card of 14443-4 that was opened takes only blocks.
    if (lastBits === 7 && frame.length === 1) return card?.isOpen ? undefined : tag.receive(frame, 7);
    if (isEncrypted() !== (secured === tag)) {
      // The tag with the encryption receives noise.
      if (secured === tag) tag.receive(Uint8Array.of(0xff));
      return undefined;
    }
    if (isAnticollision(frame)) {
      const bits = 8 * (frame.length - (lastBits === 0 ? 0 : 1)) + lastBits;
      const told = 8 * ((frame[1] ?? 0) >> 4) + ((frame[1] ?? 0) & 0x07);
      return bits === told && !card?.isOpen ? tag.receive(frame) : undefined;
    }
    const body = frame.subarray(0, -2);
    const isWhole = lastBits === 0 && frame.length > 2 && sameBytes(crcA(body), frame.subarray(-2));
    if (!isWhole) return card?.isOpen ? undefined : tag.receive(Uint8Array.of(0xff));
    return card !== undefined && tag.state === "active" ? card.hear(body) : tag.receive(body);
  };
  const receive = (answers: readonly TagAnswer[], align: number) => {
    const { bits, collisionAt } = merged(answers.map(bitsOfAnswer));
    if (collisionAt !== undefined) {
      // A collision also breaks the parity of its byte.
      memory[r.error] = get(r.error) | 0x0a;
      const position = collisionAt + 1 + (countsAlign ? align : 0);
      const isKnown = position <= 32;
      memory[r.collision] = (get(r.collision) & 0x80) | (isKnown ? position & 0x1f : 0x20);
      if ((get(r.collision) & 0x80) === 0) bits.fill(0, collisionAt);
      raise(0x02);
    }
    const whole = [...new Array<number>(align).fill(0), ...bits];
    let bytes = bytesOf(whole);
    if ((get(r.rxMode) & 0x80) !== 0) {
      const isGood = sameBytes(crcA(bytes.subarray(0, -2)), bytes.subarray(-2));
      if (!isGood) memory[r.error] = get(r.error) | 0x04;
      if (isGood) bytes = bytes.subarray(0, -2);
    }
    if (bytes.length > fifoBytes) memory[r.error] = get(r.error) | 0x10;
    fifo = [...bytes.subarray(0, fifoBytes)];
    memory[r.control] = (get(r.control) & 0xf8) | (whole.length & 7);
    raise(0x20);
  };
  const send = () => {
    const framing = get(r.framing);
    const sent = Uint8Array.from(fifo);
    const frame = (get(r.txMode) & 0x80) === 0 ? sent : Uint8Array.of(...sent, ...crcA(sent));
    fifo = [];
    memory[r.error] = 0;
    onFrame(frame);
    if (air !== undefined) {
      const align = (framing >> 4) & 0x07;
      outcome = undefined;
      return air(frame, framing & 0x07, (heard) =>
        end(() => (heard === undefined ? raise(0x01) : receive([heard], align))),
      );
    }
    const hears = hasField() && (get(r.txAsk) & 0x40) !== 0;
    const heard = (hears ? tags : [])
      .map((tag) => answerOf(tag, frame, framing & 0x07))
      .filter((answer) => answer !== undefined)
      .filter((answer) => (answer.workMs ?? 0) <= waitMs());
    raise(0x40);
    if (heard.length > 0 && isDisturbed()) {
      end(() => {
        fifo = [0xa5];
        memory[r.error] = 0x03;
        raise(0x22);
      });
    } else if (heard.length > 0) end(() => receive(heard, (framing >> 4) & 0x07));
    else if (waitMs() !== Number.POSITIVE_INFINITY) end(() => raise(0x01));
  };
  /**
   * Runs the authentication, with the command code, the block, six bytes of a key, and four of the UID (10.3.1.9). The
   * key reaches the tag in cleartext.
   */
  const authenticate = () => {
    const bytes = Uint8Array.from(fifo);
    fifo = [];
    memory[r.error] = 0;
    const [tag] = tags.filter(({ state }) => state === "active");
    const isMeant = tag !== undefined && bytes.length === 12 && sameBytes(bytes.slice(8), tag.uid.slice(-4));
    const canHear = hasField() && tag !== undefined && isEncrypted() === (secured === tag);
    const answer = isMeant && canHear ? tag.receive(bytes.subarray(0, 8)) : undefined;
    const isOpen = answer?.kind === "four-bits" && answer.value === 0xa && !isDisturbed();
    secured = isOpen ? tag : undefined;
    end(() => {
      memory[r.status2] = (get(r.status2) & 0xf7) | (isOpen ? 0x08 : 0);
      if (isOpen) memory[r.command] = get(r.command) & 0xf0;
      raise(isOpen ? 0x10 : 0x01);
    });
  };
  const startCommand = (code: number) => {
    outcome = undefined;
    if (code === 0x0f) return reset();
    if (code === 0x0e) authenticate();
    if (code !== 0x03) return;
    // CalcCRC, with the preset 6363 of type A (9.3.2.2, 10.3.1.4).
    const crc = (get(r.mode) & 0x03) === 0x01 ? crcA(Uint8Array.from(fifo)) : new Uint8Array(2);
    memory[r.crcLow] = crc[0] ?? 0;
    memory[r.crcHigh] = crc[1] ?? 0;
    memory[r.divIrq] = get(r.divIrq) | 0x04;
  };
  const write = (register: number, value: number) => {
    if (readOnly.includes(register)) return;
    switch (register) {
      case r.command: {
        const isAsleep = (get(register) & 0x10) !== 0;
        memory[register] = value & 0x3f;
        if (isAsleep) isWaking = true;
        // The chip first wakes up (8.6.2).
        else startCommand(value & 0x0f);
        return;
      }
      case r.comIrq:
        memory[register] = (value & 0x80) === 0 ? get(register) & ~value : get(register) | (value & 0x7f);
        return;
      case r.data:
        if (fifo.length < fifoBytes) fifo.push(value);
        else memory[r.error] = get(r.error) | 0x10;
        return;
      case r.level:
        if ((value & 0x80) !== 0) fifo = [];
        return;
      case r.status2:
        // The host can end the encryption, and cannot begin it (9.3.1.9).
        memory[register] = value & (0xf7 | (get(register) & 0x08));
        return;
      case r.collision:
        memory[register] = (get(register) & 0x7f) | (value & 0x80);
        return;
      case r.framing:
        memory[register] = value;
        if ((value & 0x80) !== 0 && (get(r.command) & 0x0f) === 0x0c) send();
        return;
      case r.txControl:
        memory[register] = value;
        if (!hasField()) losePower();
        return;
      default:
        memory[register] = value;
    }
  };
  const look = () => {
    if (outcome === undefined) return;
    if (outcome.looksLeft-- > 0) return;
    const { run } = outcome;
    outcome = undefined;
    run();
  };
  const read = (register: number): number => {
    if (register === r.data) return fifo.shift() ?? 0;
    if (register === r.level) return fifo.length;
    if (register === r.comIrq) look();
    const content = get(register);
    if (register !== r.command || !isWaking || (content & 0x10) !== 0) return content;
    isWaking = false;
    return content | 0x10;
  };
  const transfer = (bytes: Uint8Array): Uint8Array => {
    onCommand();
    const answer = new Uint8Array(bytes.length);
    if (!isPlugged) return answer;
    const [first = 0] = bytes;
    if ((first & 0x80) === 0) {
      for (const value of bytes.subarray(1)) write((first >> 1) & 0x3f, value);
      return answer;
    }
    for (let at = 1; at < bytes.length; at++) answer[at] = read(((bytes[at - 1] ?? 0) >> 1) & 0x3f);
    return answer;
  };

  reset();
  return {
    path,
    open: (): SpiDevice => ({ transfer, close() {} }),
    put(tag: EmulatedTag) {
      tag.losePower();
      cards.delete(tag);
      tags = [...tags.filter((other) => other !== tag), tag];
    },
    take(tag?: EmulatedTag) {
      for (const leaving of tags) {
        if (tag !== undefined && leaving !== tag) continue;
        leaving.losePower();
        cards.delete(leaving);
        if (secured === leaving) secured = undefined;
      }
      tags = tag === undefined ? [] : tags.filter((other) => other !== tag);
    },
    plug() {
      if (!isPlugged) reset();
      isPlugged = true;
    },
    /** Unplugs the chip: the lines read as zeros from now on, and the tags have no field. */
    unplug() {
      isPlugged = false;
      losePower();
    },
    /** The content of a register. */
    register: get,
    /** Called as each transfer begins. */
    onCommand(listener: () => void) {
      onCommand = listener;
    },
    /** Called with each frame that goes through the air, with its CRC. */
    onFrame(listener: (frame: Uint8Array) => void) {
      onFrame = listener;
    },
    /** Breaks each answer for which this returns true. */
    disturb(listener: () => boolean) {
      isDisturbed = listener;
    },
  };
}

function isAnticollision([code = 0, known = 0]: Uint8Array): boolean {
  return [0x93, 0x95, 0x97].includes(code) && known >= 0x20 && known < 0x70;
}

function bitsOfAnswer(answer: TagAnswer): readonly number[] {
  if (answer.kind === "four-bits") return Array.from({ length: 4 }, (_, at) => (answer.value >> at) & 1);
  const bytes = answer.hasCrc ? Uint8Array.of(...answer.bytes, ...crcA(answer.bytes)) : answer.bytes;
  const bits = [...bytes].flatMap((byte) => Array.from({ length: 8 }, (_, at) => (byte >> at) & 1));
  return bits.slice(answer.bitsLeftOut ?? 0);
}

/** The bits of all answers at once, and the position of the first bit in which the answers differ. */
function merged(answers: readonly (readonly number[])[]) {
  const [first = [], ...others] = answers;
  const bits = [...first];
  const collisionAt = bits.findIndex((bit, at) => others.some((other) => other[at] !== bit));
  return { bits, collisionAt: collisionAt < 0 ? undefined : collisionAt };
}

function bytesOf(bits: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7));
  return bytes;
}
