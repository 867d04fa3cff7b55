/**
 * Redacts bytes for the debug log: commands and addresses are shown. Tag contents and keys are not, because they may open a
 * door or this device.
 */
import { spacedHex } from "../../src/core/hex.ts";
import { type CcidMessage, ccidIn, ccidOut } from "./ccid.ts";
import { commandCodes } from "./pn532-commands.ts";

const apduHeaderBytes = 5;
const statusBytes = 2;
const chipCodes: readonly number[] = [0xd4, 0xd5]; // The first byte of a frame (TFI), from and to the host (UM0701-02, 6.2.1.1).
const padAnswer = 0x55;

function redacted(bytes: Uint8Array, shown: number): string {
  const hidden = bytes.length - shown;
  if (hidden <= 0) return spacedHex(bytes);
  return `${spacedHex(bytes.subarray(0, shown))} +${hidden} of the tag's`.trimStart();
}

/** The content of a PN532's frame for the log: TFI, code and data. */
export function chipLogText(payload: Uint8Array): string {
  return redacted(payload, shownOfChip(payload));
}

/** The number of bytes to show: the code and the address of a command to the tag, and the status of an answer. */
function shownOfChip([, code = 0]: Uint8Array): number {
  if (code === commandCodes.inDataExchange) return 5;
  if (code === commandCodes.inCommunicateThru) return 4;
  return [commandCodes.inDataExchange + 1, commandCodes.inCommunicateThru + 1].includes(code)
    ? 3
    : Number.POSITIVE_INFINITY;
}

/**
 * A message of a CCID reader for the log, in either direction: its type and its data, with the PN532's content if it
 * carries one.
 */
export function ccidLogText({ type, data }: Pick<CcidMessage, "type" | "data">): string {
  return data.length === 0
    ? spacedHex(Uint8Array.of(type))
    : `${spacedHex(Uint8Array.of(type))}: ${dataLogText(type, data)}`;
}

function dataLogText(type: number, data: Uint8Array): string {
  const isOut = type === ccidOut.block || type === ccidOut.escape;
  const isIn = type === ccidIn.block || type === ccidIn.escape;
  if (!isOut && !isIn) return spacedHex(data);
  const before = isOut ? apduHeaderBytes : 0;
  const chip = data.subarray(before);
  if (chipCodes.includes(chip[0] ?? 0)) return redacted(data, before + shownOfChip(chip));
  // Two bytes alone are the status of an APDU (ISO/IEC 7816-4, 5.6).
  return redacted(data, isIn && data.length <= statusBytes ? statusBytes : before);
}

/** A report of the Toy Pad for the log. An answer is cut after the number of its command and its status. */
export function padLogText(report: Uint8Array): string {
  return report[0] === padAnswer ? redacted(report, 4) : spacedHex(report);
}
