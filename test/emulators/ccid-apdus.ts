/**
 * The answer of an emulated contactless reader to a block. The reader runs some commands itself (PC/SC part 3, 3.2.2;
 * ACR122U API 2.04), and passes the others to the card. Its chip is a PN532, as in the ACR122U.
 */

import { pollFlags } from "../../drivers/protocol/apdu.ts";
import {
  dataExchange,
  type ListedTypeA,
  parseExchange,
  parseTypeATarget,
} from "../../drivers/protocol/pn532-commands.ts";
import { pageBytes, tagCommands } from "../../drivers/protocol/type2-tag.ts";
import type { EmulatedChip } from "./pn532-chip.ts";

export interface ApduReaderOptions {
  /** The kind of reader; "plain" has no commands of the ACR122U. */
  readonly kind: "acr122u" | "plain";
  /** True if the reader answers commands for its chip with 61 and the number of bytes to fetch, like early firmware. */
  readonly answersLater: boolean;
  readonly chip: EmulatedChip;
}

/** An answer, or a wait, in milliseconds. */
export interface Answered {
  readonly data: Uint8Array;
  readonly afterMs: number;
}

export interface ApduReader {
  /** Resets the reader to its state after power-up. */
  powerUp(): void;
  /** Finds a card, and returns its answer to reset; undefined if none answers. */
  activate(): Uint8Array | undefined;
  deactivate(): void;
  /** Runs a command; undefined if it needs a card and none is active. */
  run(apdu: Uint8Array): Answered | undefined;
  readonly polls: boolean;
  readonly buzzes: boolean;
  /** The signals that the reader showed, each with its last lights: 1 red, 2 green. */
  readonly shown: readonly Shown[];
}

export interface Shown {
  readonly blinks: readonly ("red" | "green")[];
  readonly times: number;
  readonly buzzes: boolean;
  readonly lights: number;
}

const done = [0x90, 0x00];
const failed = [0x63, 0x00];
const notSupported = [0x6a, 0x81];
const tenthMs = 100;
const keyPlaces = 2; // API 2.04, section 5.1: key number 00h to 01h.
const keyBytes = 6;
const firmware = "ACR122U216";
const blockedMs = 5000; // The reader waits this long for its chip (API 2.04, section 6.6: units of 5 s).

export function createApduReader({ kind, answersLater, chip }: ApduReaderOptions): ApduReader {
  let flags = 0xff;
  let buzzes = true;
  let lights = 0;
  const shown: Shown[] = [];
  let target: ListedTypeA | undefined;
  const keys = new Map<number, Uint8Array>();
  let waiting: Uint8Array = new Uint8Array();

  const direct = (command: Uint8Array): Answered => {
    const reply = chip.run(command);
    if (reply.kind === "syntax-error") return answer([0x63, 0x27]);
    if (reply.kind === "waiting" && reply.forMs === Number.POSITIVE_INFINITY)
      return answer(failed, blockedMs);
    const afterMs = reply.kind === "waiting" ? reply.forMs : reply.afterMs;
    const whole = Uint8Array.of(...reply.payload, ...done);
    if (!answersLater) return { data: whole, afterMs };
    waiting = whole;
    return answer([0x61, whole.length], afterMs);
  };
  const exchange = (...bytes: readonly number[]): Answered => {
    const reply = chip.run(dataExchange(...bytes));
    if (reply.kind !== "answer") return answer(failed);
    const heard = parseExchange(reply.payload);
    return heard !== undefined
      ? answer([...heard.data, ...done], reply.afterMs)
      : answer(failed, reply.afterMs);
  };
  const write = (block: number, data: Uint8Array): Answered => {
    const code = data.length === pageBytes ? tagCommands.write : tagCommands.compatibilityWrite;
    return exchange(code, block, ...data);
  };
  /**
   * Keeps a key until power-off. It must be a plain key of six bytes, because other structures are for readers that
   * keep secrets.
   */
  const keepKey = (apdu: Uint8Array): Answered => {
    const [, , structure, place = 0, length] = apdu;
    if (structure !== 0x00 || place >= keyPlaces || length !== keyBytes || apdu.length !== 5 + keyBytes)
      return answer(failed);
    keys.set(place, apdu.slice(5));
    return answer(done);
  };
  /**
   * Authenticates a block (PC/SC part 3, 3.2.2.1.6). After the header come a version (1), the block (2), the kind of
   * key and its place.
   */
  const authenticate = (apdu: Uint8Array, uid: Uint8Array): Answered => {
    const [high, low, length, version, blockHigh, block = 0, kind = 0, place = 0] = apdu.subarray(2);
    const isWhole = high === 0 && low === 0 && length === 5 && apdu.length === 10;
    const key = keys.get(place);
    const isKnown = version === 1 && blockHigh === 0 && (kind === 0x60 || kind === 0x61);
    if (!isWhole || !isKnown || key === undefined) return answer(failed);
    return exchange(kind, block, ...key, ...uid.subarray(-4));
  };
  const blink = (apdu: Uint8Array): Answered => {
    const [, , , control = 0, length, on = 0, off = 0, times = 0, link = 0] = apdu;
    if (apdu.length !== 9 || length !== 4) return answer(failed);
    const blinks = times === 0 ? [] : (["red", "green"] as const).filter((_, at) => control & (0x40 << at));
    lights = (control & (control >> 2) & 0x03) | (lights & ~(control >> 2) & 0x03);
    shown.push({ blinks, times, buzzes: (link & 1) !== 0, lights });
    return answer([0x90, lights], times * (on + off) * tenthMs);
  };
  const own = (apdu: Uint8Array): Answered | undefined => {
    if (kind === "plain" || apdu[1] !== 0x00) return undefined;
    switch (apdu[2]) {
      case 0x00:
        return direct(apdu.subarray(5, 5 + (apdu[4] ?? 0)));
      case 0x48:
        return { data: new TextEncoder().encode(firmware), afterMs: 0 };
      case 0x51:
        flags = apdu[3] ?? 0;
        return answer([0x90, flags]);
      case 0x40:
        return blink(apdu);
      case 0x52:
        buzzes = apdu[3] !== 0x00;
        return answer(done);
      default:
        return undefined;
    }
  };
  const aboutCard = (apdu: Uint8Array, { uid, ats }: ListedTypeA): Answered => {
    const [, instruction, first, second = 0, length = 0] = apdu;
    // This is the high byte of a block's number, and no card has that many blocks.
    if (instruction !== 0xca && first !== 0) return answer(failed);
    switch (instruction) {
      case 0xca:
        return answer([...(first === 0 ? uid : ats), ...done]);
      case 0xb0: {
        const read = exchange(tagCommands.read, second);
        return {
          ...read,
          data: Uint8Array.of(...read.data.subarray(0, -2).subarray(0, length), ...read.data.slice(-2)),
        };
      }
      case 0xd6:
        return write(second, apdu.subarray(5, 5 + length));
      case 0x86:
        return authenticate(apdu, uid);
      default:
        return answer(notSupported);
    }
  };
  return {
    get polls() {
      return (flags & pollFlags.auto) !== 0;
    },
    get buzzes() {
      return buzzes;
    },
    shown,
    powerUp() {
      [flags, buzzes, target] = [0xff, true, undefined];
      keys.clear();
    },
    activate() {
      const reply = chip.run(Uint8Array.of(0xd4, 0x4a, 0x01, 0x00));
      target = reply.kind === "answer" ? parseTypeATarget(reply.payload) : undefined;
      return target && answerToReset(target);
    },
    deactivate() {
      target = undefined;
    },
    run(apdu) {
      const [family, instruction] = apdu;
      if (family === 0xff) {
        const taken = own(apdu);
        if (taken !== undefined) return taken;
        if (instruction === 0xc0) return { data: waiting, afterMs: 0 };
        if (instruction === 0x82) return keepKey(apdu);
      }
      if (target === undefined) return undefined;
      if (family === 0xff) return aboutCard(apdu, target);
      return (target.sak & 0x20) !== 0 ? cardAnswer(exchange(...apdu)) : answer(notSupported);
    },
  };
}

/** The answer of a processor card ends with its own status bytes; the reader adds none. */
function cardAnswer({ data, afterMs }: Answered): Answered {
  return { data: data.length > 3 ? data.subarray(0, -2) : data, afterMs };
}

function answer(bytes: readonly number[], afterMs = 0): Answered {
  return { data: Uint8Array.from(bytes), afterMs };
}

const cardNames: ReadonlyMap<number, number> = new Map([
  [0x00, 0x0003],
  [0x08, 0x0001],
  [0x09, 0x0026],
  [0x18, 0x0002],
]);

/** The answer to reset of a card (PC/SC part 3, 3.1.3.2.3). A card without a name has FF and its SAK (ACR1281U, PICC interface, 1.1). */
function answerToReset({ sak, ats }: ListedTypeA): Uint8Array {
  const name = cardNames.get(sak) ?? 0xff00 + sak;
  const [format = 0] = ats;
  const historical =
    (sak & 0x20) !== 0
      ? [...ats.subarray(1 + ((format >> 4) & 1) + ((format >> 5) & 1) + ((format >> 6) & 1))]
      : [
          0x80,
          0x4f,
          0x0c,
          0xa0,
          0x00,
          0x00,
          0x03,
          0x06,
          0x03,
          name >> 8,
          name & 0xff,
          0x00,
          0x00,
          0x00,
          0x00,
        ];
  const body = [0x80 | historical.length, 0x80, 0x01, ...historical];
  return Uint8Array.of(
    0x3b,
    ...body,
    body.reduce((sum, byte) => sum ^ byte, 0),
  );
}
