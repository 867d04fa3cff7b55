/**
 * An emulated FeliCa Lite-S (user's manual; JIS X 6319-4): polling, and reading and writing its blocks without a key.
 * If its configuration says so, it also answers to the NFC Forum's system code. Also emulates a transit card, whose
 * blocks need keys.
 */
import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import {
  attributesOfLite,
  liteBlocks,
  liteConfigurationBlock,
  liteSystem,
  ndefSystem,
  parseAttributes,
  type3BlockBytes,
  withMessage,
} from "../../drivers/protocol/type3-tag.ts";
import type { TagAnswer, TearableTag } from "./type-a.ts";

interface FelicaOptions {
  /** The IDm of 8 bytes. */
  readonly uid: Uint8Array;
  /**
   * Formats the card with this text. An empty text formats it without a message. Without the field, it is in its factory state.
   */
  readonly text?: string;
  readonly isWritable?: boolean;
  /** The system code of another FeliCa, whose blocks need keys. */
  readonly systemCode?: number;
}

const anySystem = 0xffff; // A polling with this code asks for any system (JIS X 6319-4).
const pmm = Uint8Array.fromHex("00f1000000014300"); // The PMm of a FeliCa Lite-S (user's manual, 2.4).
const configurationAt = liteBlocks * type3BlockBytes; // The configuration follows the pads in `memory`.
const blocksPerReadMax = 4;
const noBlock = 0xff;
const services: readonly number[] = [0x000b, 0x0009];

export function createFelicaTag({
  uid,
  text,
  isWritable = true,
  systemCode = liteSystem,
}: FelicaOptions): TearableTag {
  const memory = new Uint8Array(configurationAt + type3BlockBytes);
  const configuration = memory.subarray(configurationAt);
  configuration.set([0xff, 0xff, 0xff, 0x00, 0x07]);
  if (text !== undefined) format(memory, text, isWritable);
  const isLite = systemCode === liteSystem;
  const systemCodes = () =>
    isLite && ((configuration[3] ?? 0) & 1) !== 0 ? [liteSystem, ndefSystem] : [systemCode];
  let tornBytes: number | undefined;

  const poll = (wanted: number, request: number): Uint8Array | undefined => {
    if (wanted !== anySystem && !systemCodes().includes(wanted)) return undefined;
    const code = wanted === anySystem ? systemCode : wanted;
    return framed(0x01, ...uid, ...pmm, ...(request === 1 ? [code >> 8, code & 0xff] : []));
  };
  const blocksIn = (list: Uint8Array, count: number) =>
    Array.from({ length: count }, (_, index) =>
      list[2 * index] === 0x80 ? (list[2 * index + 1] ?? noBlock) : noBlock,
    );
  /** The offset of a block in the memory; undefined if there is none. */
  const placeOf = (block: number) =>
    block < liteBlocks
      ? block * type3BlockBytes
      : block === liteConfigurationBlock
        ? configurationAt
        : undefined;
  /** Whether this S_PAD's bit is set in the two bytes of the configuration from `at` on. */
  const isSet = (at: number, pad: number) =>
    pad < liteBlocks && ((configuration[at + (pad >> 3)] ?? 0) & (1 << (pad & 7))) !== 0;
  const read = (numbers: readonly number[]): Uint8Array => {
    if (numbers.length < 1 || numbers.length > blocksPerReadMax) return framed(0x07, ...uid, 0xff, 0xa2);
    if (numbers.some((block) => isSet(6, block))) return framed(0x07, ...uid, 0x01, 0xb1);
    const places = numbers.map(placeOf).filter((place) => place !== undefined);
    if (places.length < numbers.length) return framed(0x07, ...uid, 0x01, 0xa8);
    const bytes = places.flatMap((place) => [...memory.subarray(place, place + type3BlockBytes)]);
    return framed(0x07, ...uid, 0, 0, numbers.length, ...bytes);
  };
  const mayWrite = (block: number) =>
    block === liteConfigurationBlock
      ? configuration[2] === 0xff
      : isSet(0, block) && !isSet(8, block) && !isSet(10, block);
  const write = ([block = noBlock]: readonly number[], bytes: Uint8Array): Uint8Array | undefined => {
    const place = placeOf(block);
    if (place === undefined || bytes.length !== type3BlockBytes || !mayWrite(block))
      return framed(0x09, ...uid, 0x01, 0xa8);
    const torn = tornBytes;
    tornBytes = undefined;
    memory.set(bytes.subarray(0, torn ?? type3BlockBytes), place);
    return torn === undefined ? framed(0x09, ...uid, 0, 0) : undefined;
  };
  const understand = (frame: Uint8Array): Uint8Array | undefined => {
    const [length, code] = frame;
    if (length !== frame.length) return undefined;
    if (code === 0x00) return poll((frame[2] ?? 0) * 256 + (frame[3] ?? 0), frame[4] ?? 0);
    if (!uid.every((byte, index) => byte === frame[2 + index]) || frame[10] !== 1) return undefined;
    const service = (frame[11] ?? 0) + (frame[12] ?? 0) * 256;
    const count = frame[13] ?? 0;
    if (!isLite || !services.includes(service)) return framed((code ?? 0) + 1, ...uid, 0x01, 0xa6);
    const list = blocksIn(frame.subarray(14), count);
    if (code === 0x06) return read(list);
    return code === 0x08 && service === 0x0009 ? write(list, frame.subarray(14 + 2 * count)) : undefined;
  };

  return {
    uid,
    atqa: 0,
    sak: 0,
    ats: new Uint8Array(),
    felica: {
      pmm,
      get systemCodes() {
        return systemCodes();
      },
    },
    memory,
    state: "active",
    // The card has no state that a loss of power would reset.
    select: () => {},
    losePower: () => {},
    tearNextWrite(bytes) {
      tornBytes = bytes;
    },
    receive(frame): TagAnswer | undefined {
      const bytes = understand(frame);
      return bytes === undefined ? undefined : { kind: "frame", bytes, hasCrc: true };
    },
  };
}

function format(memory: Uint8Array, text: string, isWritable: boolean): void {
  const parsed = parseAttributes(attributesOfLite());
  if (parsed === undefined) return;
  const message = text === "" ? new Uint8Array() : encodeTextMessage(text);
  if (!isWritable) parsed.bytes[10] = 0x00;
  memory[configurationAt + 3] = 0x01;
  if (!isWritable) memory.set([0x00, 0x00], configurationAt);
  memory.set(withMessage(parsed, { isBeingWritten: false, messageBytes: message.length }));
  memory.set(message, type3BlockBytes);
}

function framed(...bytes: readonly number[]): Uint8Array {
  return Uint8Array.of(bytes.length + 1, ...bytes);
}
