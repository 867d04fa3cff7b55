/**
 * The commands of the emulated PN532 that use the radio (UM0701-02, 7.3.5, 7.3.8, 7.3.9 and 7.3.13), with the registers and
 * settings that affect them.
 */
import { tagCommands } from "../../drivers/protocol/type2-tag.ts";
import { receivedBytes, sameBytes } from "./emulated-field.ts";
import type { ChipParts, Outcome } from "./pn532-chip.ts";
import { crcA, type EmulatedTag } from "./type-a.ts";

/** Error codes (section 7.1). The code for four bits other than A is an assumption. */
const status = { ok: 0x00, timeout: 0x01, crc: 0x02, authentication: 0x14, wrongContext: 0x27 } as const;

const targetsMaxMax = 2;
const forEver = 0xff;
const typeA = 0x00;
const felica: readonly number[] = [0x01, 0x02]; // The codes of FeliCa at 212 and 424 kbit/s.
const felicaPolls: readonly number[] = [0x01, 0x02, 0x11, 0x12]; // The types of FeliCa in InAutoPoll.
const anySystem = 0xffff;
const lastModulation = 0x04;
const moreInformation = 0x40;
const mifareAuthentication: readonly number[] = [0x60, 0x61];
const shortFrameBits = 7;

/**
 * InListPassiveTarget: MaxTg, BrTy, data. The chip polls for tags for MxRtyPassiveActivation + 1 rounds. An active tag
 * is found again, and polling loops rely on that: the first round makes it fall silent, and the second one wakes it. A
 * tag beside it answers in the first round.
 */
export function listTargets({ memory, field, radio }: ChipParts, data: Uint8Array): Outcome {
  const [targetsMax = 0, modulation = 0xff] = data;
  if (targetsMax < 1 || targetsMax > targetsMaxMax || modulation > lastModulation) return undefined;
  field.forgetTargets();
  const isFelica = felica.includes(modulation);
  const mode = isFelica ? felicaMode : typeAMode;
  memory.registers.set(registerAt.txMode, mode).set(registerAt.rxMode, mode);
  memory.registers.set(registerAt.bitFraming, 0);
  const payload = data.subarray(2);
  if (isFelica && payload.length < 5) return undefined;
  const rounds =
    memory.activationRetries === forEver ? Number.POSITIVE_INFINITY : memory.activationRetries + 1;
  const { found, emptyRounds } = isFelica
    ? field.list(targetsMax, "felica", (tag) => hasSystem(tag, payload), rounds)
    : modulation === typeA
      ? field.list(targetsMax, "type-a", isWanted(payload), rounds)
      : { found: [], emptyRounds: rounds };
  if (found.length === 0) {
    // Without an end there is no answer, even if a round takes no time.
    const waitMs = rounds === Number.POSITIVE_INFINITY ? rounds : rounds * radio.roundMs;
    return { waitMs, data: [0] };
  }
  const withAts = (memory.parameters & automaticRats) !== 0;
  const targets = found.flatMap((tag, index) => [
    index + 1,
    ...(isFelica ? felicaData(tag, payload) : targetData(tag, withAts)),
  ]);
  const afterMs = radio.roundMs * emptyRounds + radio.activationMs * found.length;
  return { data: [found.length, ...targets], afterMs };
}

/**
 * InAutoPoll: PollNr, Period in units of 150 ms, types. Emulated are type A at 106 kbit/s, by 00, 10 (MIFARE) and 20 (4A),
 * and FeliCa.
 */
export function autoPoll({ memory, field, radio }: ChipParts, data: Uint8Array): Outcome {
  const [polls = 0, period = 0, ...types] = data;
  if (polls === 0 || period < 1 || period > 15 || types.length === 0) return undefined;
  field.forgetTargets();
  const typeOf = (tag: EmulatedTag) =>
    tag.felica === undefined
      ? types.find((type) => type === 0x00 || type === ((tag.sak & 0x20) !== 0 ? 0x20 : 0x10))
      : types.find((type) => felicaPolls.includes(type));
  const tag = field.tags.find((candidate) => typeOf(candidate) !== undefined);
  if (tag === undefined) {
    const pollMs = radio.waits ? period * 150 * types.length : 0;
    return { waitMs: polls === forEver ? Number.POSITIVE_INFINITY : polls * pollMs, data: [0] };
  }
  field.list(1, tag.felica === undefined ? "type-a" : "felica", (other) => other === tag, 2);
  const withAts = (memory.parameters & automaticRats) !== 0;
  const target = [1, ...(tag.felica === undefined ? targetData(tag, withAts) : felicaData(tag, anyPoll))];
  return { data: [1, typeOf(tag) ?? 0, target.length, ...target], afterMs: radio.activationMs };
}

/** InDataExchange: the chip knows the MIFARE commands, and sends those of two steps by itself. */
export function exchangeData(parts: ChipParts, data: Uint8Array): Outcome {
  const { memory, field } = parts;
  const [target] = data;
  if (target === undefined) return undefined;
  const tag = field.targets[(target & ~moreInformation) - 1];
  if (tag === undefined) return fail(parts, status.wrongContext);
  const command = data.subarray(1);
  const silence = memory.silenceMs;
  if (mifareAuthentication.includes(command[0] ?? 0) && (tag.sak & 0x20) === 0) {
    // The chip takes all bytes after the code as a key, so GET_VERSION cannot go this way. The cipher is between chip and
    // card. Here the card receives the key in cleartext, and answers four bits if it is the right one.
    const { answer, afterMs } = field.exchange(tag, command, silence);
    const isOpen = answer?.kind === "four-bits" && answer.value === 0xa;
    return isOpen ? succeed(parts, [], afterMs) : fail(parts, status.authentication, afterMs);
  }
  const isTwoSteps = command[0] === tagCommands.compatibilityWrite && command.length > 2;
  const first = field.exchange(tag, isTwoSteps ? command.subarray(0, 2) : command, silence);
  const isAccepted = first.answer?.kind === "four-bits" && first.answer.value === 0xa;
  const second = isTwoSteps && isAccepted ? field.exchange(tag, command.subarray(2), silence) : undefined;
  const { answer } = second ?? first;
  const afterMs = first.afterMs + (second?.afterMs ?? 0);
  if (answer === undefined) return fail(parts, status.timeout, afterMs);
  if (answer.kind === "frame") return succeed(parts, answer.bytes, afterMs);
  return answer.value === 0xa ? succeed(parts, [], afterMs) : fail(parts, status.crc, afterMs);
}

/** InCommunicateThru: the registers decide whether a frame has a CRC, and whether it has whole bytes or seven bits. */
export function runCommunicateThru(parts: ChipParts, data: Uint8Array): Outcome {
  const { memory, field } = parts;
  if (data.length === 0) return undefined;
  const register = (address: number) => memory.registers.get(address) ?? 0;
  const lastBits = register(registerAt.bitFraming) & 0x07;
  const bits = data.length === 1 && lastBits === shortFrameBits ? shortFrameBits : undefined;
  const addsCrc = (register(registerAt.txMode) & crcEnabled) !== 0;
  const frame = bits !== undefined || addsCrc ? data : withoutCrc(data);
  const { answer, afterMs } = field.exchange(undefined, frame, memory.silenceMs, bits);
  if (answer === undefined) return fail(parts, status.timeout, afterMs);
  const bytes = receivedBytes(answer, (register(registerAt.rxMode) & crcEnabled) !== 0);
  return bytes === undefined ? fail(parts, status.crc, afterMs) : succeed(parts, bytes, afterMs);
}

function succeed({ memory }: ChipParts, data: ArrayLike<number>, afterMs: number): Outcome {
  memory.lastError = status.ok;
  return { data: [status.ok, ...Array.from(data)], afterMs };
}

function fail({ memory }: ChipParts, error: number, afterMs = 0): Outcome {
  memory.lastError = error;
  return { data: [error], afterMs };
}

/** The frame without the host's own CRC. Frames of anticollision have no CRC. */
function withoutCrc(data: Uint8Array): Uint8Array {
  const body = data.subarray(0, -2);
  return data.length > 2 && sameBytes(data.subarray(-2), crcA(body)) ? body : data;
}

/** Accepts all tags, or the one with the wanted UID. A UID of several parts comes with its cascade tags. */
function isWanted(data: Uint8Array): (tag: EmulatedTag) => boolean {
  const cascadeTagsAt = data.length === 12 ? [0, 4] : data.length === 8 ? [0] : [];
  const uid = data.filter((_, at) => !cascadeTagsAt.includes(at));
  return (tag) => uid.length === 0 || sameBytes(tag.uid, uid);
}

/** The payload is that of a polling: 00, system code of two bytes, request code, time slots. */
function hasSystem({ felica: identity }: EmulatedTag, [, high = 0, low = 0]: Uint8Array): boolean {
  const wanted = high * 256 + low;
  return wanted === anySystem || (identity?.systemCodes.includes(wanted) ?? false);
}

const anyPoll = Uint8Array.of(0x00, 0xff, 0xff, 0x01, 0x00);

/** POL_RES: length with itself, 01, IDm, PMm and, for request code 1, the system code that was found. */
function felicaData(
  { uid, felica: identity }: EmulatedTag,
  [, high = 0, low = 0, request]: Uint8Array,
): number[] {
  const wanted = high * 256 + low;
  const code = wanted === anySystem ? (identity?.systemCodes[0] ?? 0) : wanted;
  const told = [
    0x01,
    ...uid,
    ...(identity?.pmm ?? []),
    ...(request === 0x01 ? [code >> 8, code & 0xff] : []),
  ];
  return [told.length + 1, ...told];
}

/** SENS_RES, SEL_RES, UID with its length, ATS with its length, which counts itself. */
function targetData({ atqa, sak, uid, ats }: EmulatedTag, withAts: boolean): number[] {
  const target = [atqa >> 8, atqa & 0xff, sak, uid.length, ...uid];
  return ats.length === 0 || !withAts ? target : [...target, ats.length + 1, ...ats];
}

export interface ChipMemory {
  awake: boolean;
  /** False in the low-battery mode after power-up. SAMConfiguration ends that mode (7.2.10). */
  configured: boolean;
  baudRate: number;
  /** The rate that applies from the host's next ACK on. */
  nextBaudRate: number | undefined;
  /** The value MxRtyPassiveActivation, which is the number of further rounds; 0xFF means without end (7.3.1, item 5). */
  activationRetries: number;
  /** The wait for a silent target, in milliseconds (7.3.1, item 2). */
  silenceMs: number;
  /** The flags of SetParameters (7.2.9). */
  parameters: number;
  /** The status of the last exchange, for GetGeneralStatus. */
  lastError: number;
  readonly registers: Map<number, number>;
}

/** Registers of the contactless unit that the emulation uses (PN532/C1 data sheet, 8.6.23). */
const registerAt = { txMode: 0x6302, rxMode: 0x6303, bitFraming: 0x633d } as const;
/** The bit in TxMode and RxMode with which the unit adds and removes the CRC. */
const crcEnabled = 0x80;
/** The value of Rx and Tx modes for type A at 106 kbit/s. */
const typeAMode = 0x80;
/** The value of Rx and Tx modes for FeliCa at 212 kbit/s. */
const felicaMode = 0x92;
const automaticRats = 0x10;

const timeoutCodeAtPowerUp = 0x0a;

export function freshMemory(): ChipMemory {
  return {
    awake: false,
    configured: false,
    baudRate: 115_200,
    nextBaudRate: undefined,
    activationRetries: 0xff,
    silenceMs: silenceMsOf(timeoutCodeAtPowerUp),
    parameters: 0x14,
    lastError: 0x00,
    registers: new Map([
      [registerAt.txMode, typeAMode],
      [registerAt.rxMode, typeAMode],
    ]),
  };
}

/** The milliseconds of a code. Code n means 100 us doubled n - 1 times: 0A is 51.2 ms, and 0 means no time-out. */
export function silenceMsOf(timeoutCode: number): number {
  return timeoutCode === 0 ? Number.POSITIVE_INFINITY : 0.1 * 2 ** (Math.min(timeoutCode, 0x10) - 1);
}
