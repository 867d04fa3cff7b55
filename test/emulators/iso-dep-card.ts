/**
 * The block protocol of an emulated card (ISO/IEC 14443-4, sections 5 and 7), for a reader whose host has its own:
 * RATS, blocks, chains, repeats, a request for more time, DESELECT. A PN532 handles the protocol by itself, so its
 * emulation passes plain APDUs.
 */
import type { EmulatedTag, TagAnswer } from "./type-a.ts";

interface IsoDepOptions {
  /** The instruction byte of commands before whose answer the card asks for more time, once each time. */
  readonly slowInstruction?: number;
  /** The longest block of an answer, with head and CRC. It is at most as long as the reader allows. */
  readonly answerBytesMax?: number;
}

const frameBytesOfReader = 64; // The frame size of FSDI 5.
const overhead = 3;

export type IsoDepCard = ReturnType<typeof createIsoDepCard>;

export function createIsoDepCard(tag: EmulatedTag, options: IsoDepOptions = {}) {
  const { slowInstruction, answerBytesMax = frameBytesOfReader } = options;
  let isOpen = false;
  let number = 1;
  let command: Uint8Array = new Uint8Array();
  let rest: Uint8Array = new Uint8Array();
  let last: Uint8Array = new Uint8Array();
  let held: Uint8Array | undefined;

  const frame = (...bytes: readonly number[]): TagAnswer => {
    last = Uint8Array.from(bytes);
    return { kind: "frame", bytes: last, hasCrc: true };
  };
  const nextBlock = (): TagAnswer => {
    const room = answerBytesMax - overhead;
    const data = rest.subarray(0, room);
    rest = rest.subarray(room);
    return frame(0x02 | number | (rest.length > 0 ? 0x10 : 0), ...data);
  };
  const run = (): TagAnswer | undefined => {
    const heard = tag.receive(command);
    command = new Uint8Array();
    if (tag.state !== "active") isOpen = false;
    if (heard?.kind !== "frame") return undefined;
    rest = heard.bytes;
    return nextBlock();
  };
  const hearI = (code: number, data: Uint8Array): TagAnswer | undefined => {
    number ^= 1;
    command = Uint8Array.of(...command, ...data);
    if ((code & 0x10) !== 0) return frame(0xa2 | number);
    if (command[1] !== slowInstruction) return run();
    held = command;
    return frame(0xf2, 0x02);
  };
  const hearR = (code: number): TagAnswer => {
    const isNak = (code & 0x10) !== 0;
    const isCurrent = (code & 1) === number;
    if (isCurrent) return frame(...last);
    if (isNak) return frame(0xa2 | number);
    number ^= 1;
    return nextBlock();
  };

  return {
    get isOpen() {
      return isOpen;
    },
    /** Takes a frame without its CRC, and returns the answer; undefined for silence. */
    hear(bytes: Uint8Array): TagAnswer | undefined {
      const [code = 0] = bytes;
      if (!isOpen) {
        if (code !== 0xe0 || tag.state !== "active") return undefined;
        isOpen = true;
        number = 1;
        command = new Uint8Array();
        return frame(tag.ats.length + 1, ...tag.ats);
      }
      if ((code & 0xe2) === 0x02) return hearI(code, bytes.subarray(1));
      if ((code & 0xe6) === 0xa2) return hearR(code);
      if (code === 0xc2) {
        isOpen = false;
        tag.receive(Uint8Array.of(0x50, 0x00));
        return { kind: "frame", bytes: Uint8Array.of(0xc2), hasCrc: true };
      }
      if (code === 0xf2 && bytes[1] === 0x02 && held !== undefined) {
        command = held;
        held = undefined;
        return run();
      }
      return undefined;
    },
  };
}
