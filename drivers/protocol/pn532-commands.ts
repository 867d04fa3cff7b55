/**
 * Commands of the PN532 and their answers (UM0701-02, section 7). A command's payload begins with TFI D4 and its code;
 * the answer's with D5 and the code plus one.
 */

import { uidPartsOf } from "./type-a-frame.ts";
import { type PolledFelica, parsePolled } from "./type3-tag.ts";

export const commandCodes = {
  getFirmwareVersion: 0x02,
  setSerialBaudRate: 0x10,
  samConfiguration: 0x14,
  rfConfiguration: 0x32,
  inDataExchange: 0x40,
  inCommunicateThru: 0x42,
  inListPassiveTarget: 0x4a,
} as const;

export const hostToChip = 0xd4;
export const chipToHost = 0xd5;

function command(code: number, ...data: readonly number[]): Uint8Array {
  return Uint8Array.of(hostToChip, code, ...data);
}

export const getFirmwareVersion: Uint8Array = command(commandCodes.getFirmwareVersion);

/**
 * The normal mode, in which the chip's secure companion is not used (section 7.2.10). Timeout 0 means none, and the IRQ
 * pin is not driven.
 */
export const samNormalMode: Uint8Array = command(commandCodes.samConfiguration, 0x01, 0x00, 0x00);

/**
 * Retries of the chip itself (section 7.3.1, CfgItem 5). ATR and PSL are not used and keep their defaults. `activation`
 * is the number of rounds in which the chip looks for a target; 0xFF means without end.
 */
export function setMaxRetries(activation: number): Uint8Array {
  return command(commandCodes.rfConfiguration, 0x05, 0xff, 0x01, activation);
}

/** The rates of SetSerialBaudRate and their codes (section 7.2.8). */
export const baudRateCodes: ReadonlyMap<number, number> = new Map([
  [9600, 0x00],
  [19_200, 0x01],
  [38_400, 0x02],
  [57_600, 0x03],
  [115_200, 0x04],
  [230_400, 0x05],
  [460_800, 0x06],
  [921_600, 0x07],
  [1_288_000, 0x08],
]);

/** The chip answers at the old rate and changes once the host has acknowledged that answer. */
export function setSerialBaudRate(code: number): Uint8Array {
  return command(commandCodes.setSerialBaudRate, code);
}

/** Looks for one target of ISO/IEC 14443 type A at 106 kbit/s (section 7.3.5). */
export const listOneTypeA: Uint8Array = command(commandCodes.inListPassiveTarget, 0x01, 0x00);

/** Looks for the target of type A with this UID, before each of whose parts but the last the cascade tag stands (7.3.5). */
export function listThisTypeA(uid: Uint8Array): Uint8Array {
  const parts = uidPartsOf(uid).flatMap((part) => [...part.subarray(0, -1)]);
  return Uint8Array.of(...listOneTypeA, ...parts);
}

/**
 * Looks for one FeliCa at 212 kbit/s, of any system, and asks for its system code (section 7.3.5). The payload is that
 * of a polling, JIS X 6319-4.
 */
export const listOneFelica: Uint8Array = command(
  commandCodes.inListPassiveTarget,
  ...[0x01, 0x01],
  ...[0x00, 0xff, 0xff, 0x01, 0x00],
);

/** Passes `data` to target 1 through the chip's own protocol layer (section 7.3.8). */
export function dataExchange(...data: readonly number[]): Uint8Array {
  return command(commandCodes.inDataExchange, 0x01, ...data);
}

/** Passes `data` to the target unchanged (section 7.3.9). */
export function communicateThru(...data: readonly number[]): Uint8Array {
  return command(commandCodes.inCommunicateThru, ...data);
}

/** The chip, its version and revision, and its abilities (section 7.2.2). */
export interface FirmwareVersion {
  readonly ic: number;
  readonly version: number;
  readonly revision: number;
}

export function parseFirmwareVersion(payload: Uint8Array): FirmwareVersion | undefined {
  const [, , ic, version, revision] = payload;
  if (ic === undefined || version === undefined || revision === undefined) return undefined;
  return { ic, version, revision };
}

/** A target of type A: ATQA as sent (SENS_RES), SAK (SEL_RES), UID and, if it has one, ATS. */
export interface ListedTypeA {
  readonly atqa: number;
  readonly sak: number;
  readonly uid: Uint8Array;
  readonly ats: Uint8Array;
}

/**
 * The answer to `listOneTypeA` (section 7.3.5):
 *
 *   D5 4B  NbTg  Tg  SENS_RES(2)  SEL_RES  NFCIDLength  NFCID1(4|7|10)  [ATSLength ATS]
 *
 * ATSLength counts itself. Undefined if NbTg is 0, or the answer is not of this form.
 */
export function parseTypeATarget(payload: Uint8Array): ListedTypeA | undefined {
  const count = payload[2];
  const [atqaHigh, atqaLow, sak, uidLength] = payload.subarray(4, 8);
  if (count !== 1 || atqaHigh === undefined || atqaLow === undefined) return undefined;
  if (sak === undefined || uidLength === undefined || ![4, 7, 10].includes(uidLength)) return undefined;
  const uid = payload.slice(8, 8 + uidLength);
  if (uid.length !== uidLength) return undefined;
  const atsLength = payload[8 + uidLength] ?? 0;
  const ats = payload.slice(9 + uidLength, 8 + uidLength + atsLength);
  return { atqa: atqaHigh * 256 + atqaLow, sak, uid, ats };
}

/**
 * The answer to `listOneFelica` (section 7.3.5):
 *
 *   D5 4B  NbTg  Tg  POL_RESLength  01  NFCID2(8)  Pad(8)  [SYST_CODE(2)]
 *
 * POL_RES is the answer of the tag to a polling, with its length. Undefined if NbTg is 0.
 */
export function parseFelicaTarget(payload: Uint8Array): PolledFelica | undefined {
  return payload[2] === 1 ? parsePolled(payload.slice(4, 4 + (payload[4] ?? 0))) : undefined;
}

interface TargetExchange {
  readonly data: Uint8Array;
  /** True if the target has more of this answer. A `dataExchange` without data fetches it (section 7.1, bit 40). */
  readonly hasMore: boolean;
}

/** The answer to `dataExchange` or `communicateThru`: D5, code, status, data; undefined for an error (section 7.1). */
export function parseExchange(payload: Uint8Array): TargetExchange | undefined {
  const [, , status = 0xff] = payload;
  return (status & 0x3f) === 0 ? { data: payload.subarray(3), hasMore: (status & 0x40) !== 0 } : undefined;
}
