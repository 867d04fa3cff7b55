/**
 * Messages of CCID readers (CCID 1.1, section 6), without I/O: transfers in, messages and noise out.
 *
 *   offset 0        1..4        5     6    7..9
 *          type     length      slot  seq  out: of the message's own; in: status, error, chain or clock
 *
 *   type    out: 62 power on, 63 power off, 65 slot status, 6B escape, 6F block, 72 abort; in: 80 block, 81 status, 83 escape
 *   length  bytes after this header, little-endian
 *   seq     echoed in the answer; wraps from 255 to 0
 *   status  bits 0..1  card: 0 active, 1 present, 2 none; bits 6..7  command: 0 done, 1 failed, 2 wants more time
 *   error   of a command that failed; of a command that wants more time, a multiple of its waiting time
 *
 * A message begins with a transfer of its own and ends with a short packet, so noise never reaches the next one.
 */
import { assert } from "../../src/core/errors.ts";

const ccidHeaderBytes = 10;

export const ccidOut = {
  powerOn: 0x62,
  powerOff: 0x63,
  slotStatus: 0x65,
  escape: 0x6b,
  block: 0x6f,
  abort: 0x72,
} as const;

export const ccidIn = { block: 0x80, slotStatus: 0x81, parameters: 0x82, escape: 0x83 } as const;

/** The class request that begins an abort; its value is the sequence number, then the slot (section 5.3.1). */
export const abortRequest = 0x01;

export function abortValue(slot: number, sequence: number): number {
  return (sequence << 8) | slot;
}

/** A message to the reader, or from it; `specific` are its three own bytes. */
export function encodeCcid(
  type: number,
  slot: number,
  sequence: number,
  data: Uint8Array = new Uint8Array(),
  specific: readonly [number, number, number] = [0, 0, 0],
): Uint8Array {
  assert(data.length <= 0xffff, "a message carries at most 65,535 bytes");
  const message = new Uint8Array(ccidHeaderBytes + data.length);
  const { length } = data;
  message.set([type, length & 0xff, length >> 8, 0, 0, slot, sequence, ...specific]);
  message.set(data, ccidHeaderBytes);
  return message;
}

export interface CcidMessage {
  readonly type: number;
  readonly slot: number;
  readonly sequence: number;
  readonly specific: Uint8Array;
  readonly data: Uint8Array;
}

type CcidNoise = "short" | "type" | "length";

export type CcidCut =
  | { readonly kind: "message"; readonly message: CcidMessage }
  /** The number of bytes that are still to come. */
  | { readonly kind: "need"; readonly bytes: number }
  | { readonly kind: "noise"; readonly bytes: number; readonly why: CcidNoise };

interface CcidAssemblerOptions {
  readonly types: readonly number[];
  /** The size of packets. A transfer whose length is no multiple of it has ended with a short packet. */
  readonly packetBytes: number;
  /** The size of the longest message with its header, and of the buffer. */
  readonly messageBytesMax: number;
}

export function createCcidAssembler({ types, packetBytes, messageBytesMax }: CcidAssemblerOptions) {
  let held: Uint8Array = new Uint8Array();

  const drop = (bytes: Uint8Array, why: CcidNoise): CcidCut => {
    held = new Uint8Array();
    return { kind: "noise", bytes: bytes.length, why };
  };
  return {
    get pendingBytes() {
      return held.length;
    },
    /** The result of this transfer. Never throws; a message's bytes are copies. An empty transfer changes nothing. */
    push(transfer: Uint8Array): CcidCut {
      const bytes = held.length === 0 ? transfer : Uint8Array.of(...held, ...transfer);
      if (bytes.length === 0) return { kind: "need", bytes: ccidHeaderBytes };
      if (bytes.length < ccidHeaderBytes) return drop(bytes, "short");
      if (!types.includes(bytes[0] ?? 0)) return drop(bytes, "type");
      const end = ccidHeaderBytes + new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true);
      if (end > messageBytesMax || bytes.length > end) return drop(bytes, "length");
      if (bytes.length < end) {
        // A short packet, or an empty transfer after whole packets, ends the message too early.
        if (transfer.length === 0 || transfer.length % packetBytes !== 0) return drop(bytes, "length");
        held = bytes.slice();
        return { kind: "need", bytes: end - bytes.length };
      }
      held = new Uint8Array();
      return { kind: "message", message: messageOf(bytes) };
    },
  };
}

function messageOf(bytes: Uint8Array): CcidMessage {
  const [type = 0, , , , , slot = 0, sequence = 0] = bytes;
  const specific = bytes.slice(7, ccidHeaderBytes);
  return { type, slot, sequence, specific, data: bytes.slice(ccidHeaderBytes) };
}

type CardState = "active" | "present" | "none";

/** The status of an answer (section 6.2.6). */
export interface CcidStatus {
  readonly card: CardState;
  readonly command: "done" | "failed" | "more-time";
  /** The error code of a failed command; otherwise 0. */
  readonly error: number;
}

export function statusOf({ specific }: Pick<CcidMessage, "specific">): CcidStatus {
  const [status = 0, error = 0] = specific;
  const cards: readonly CardState[] = ["active", "present", "none"];
  const command = (["done", "failed", "more-time"] as const)[status >> 6] ?? "failed";
  return { card: cards[status & 3] ?? "none", command, error: command === "failed" ? error : 0 };
}

type CcidInterrupt =
  /** The slot has changed. `changed` is true if it did so since the last message, even if the card was only exchanged. */
  | { readonly kind: "slot-change"; readonly present: boolean; readonly changed: boolean }
  | { readonly kind: "hardware-error"; readonly code: number }
  | { readonly kind: "noise"; readonly bytes: number };

/**
 * Parses a reader's interrupt message (section 6.3) for this slot, counted from 0:
 *
 *   50  two bits a slot, the first lowest: 1 a card is there, 2 that has changed
 *   51  slot, sequence, code
 */
export function parseInterrupt(bytes: Uint8Array, slot: number): CcidInterrupt {
  const [type, , , code = 0] = bytes;
  if (type === 0x50 && bytes.length >= 2) {
    // A message too short for its slots is malformed; this slot then counts as empty and unchanged.
    const bits = (bytes[1 + (slot >> 2)] ?? 0) >> (2 * (slot & 3));
    return { kind: "slot-change", present: (bits & 1) !== 0, changed: (bits & 2) !== 0 };
  }
  if (type === 0x51 && bytes.length >= 4) return { kind: "hardware-error", code };
  return { kind: "noise", bytes: bytes.length };
}
