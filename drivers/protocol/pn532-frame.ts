/**
 * Frames of the PN532 (UM0701-02, section 6.2.1), without I/O: bytes in, frames and noise out.
 *
 *   normal     00  00 FF  LEN LCS             TFI PD0..PDn  DCS  00
 *   extended   00  00 FF  FF FF  LENM LENL LCS  TFI PD0..PDn  DCS  00
 *   ACK        00  00 FF  00 FF  00
 *   NACK       00  00 FF  FF 00  00
 *   error      00  00 FF  01 FF  7F 81  00
 *
 *   LEN   bytes of TFI and PD, 1..255; LENM LENL big-endian, 1..264
 *   LCS   LEN + LCS = 0 modulo 256 (extended: LENM + LENL + LCS)
 *   TFI   D4 host to chip, D5 chip to host
 *   DCS   TFI + PD0 + ... + PDn + DCS = 0 modulo 256
 *
 * The first 00 (preamble) and the last (postamble) may be missing or repeated, so zeros between frames are not noise.
 */
import { assert } from "../../src/core/errors.ts";
import { chipFrameBytesMax } from "../../src/core/limits.ts";

export const ackFrame: Uint8Array = Uint8Array.of(0x00, 0x00, 0xff, 0x00, 0xff, 0x00);
export const nackFrame: Uint8Array = Uint8Array.of(0x00, 0x00, 0xff, 0xff, 0x00, 0x00);
export const errorFrame: Uint8Array = Uint8Array.of(0x00, 0x00, 0xff, 0x01, 0xff, 0x7f, 0x81, 0x00);

/**
 * Wakes a chip that sleeps or has just got its power. On a serial line the first rising edges wake it. The bytes after them
 * give its oscillator the 2 ms that it needs before it listens (UM0701-02, section 7.2.11).
 */
export const wakeUp: Uint8Array = Uint8Array.of(0x55, 0x55, ...new Uint8Array(22));

/** The frame that carries `payload`: TFI and data, 1..264 bytes. */
export function encodeFrame(payload: Uint8Array): Uint8Array {
  const length = payload.length;
  assert(length >= 1 && length <= chipFrameBytesMax, "a frame carries 1 to 264 bytes");
  const extended = length > 255;
  const header = extended
    ? [0x00, 0x00, 0xff, 0xff, 0xff, length >> 8, length & 0xff, complement((length >> 8) + length)]
    : [0x00, 0x00, 0xff, length, complement(length)];
  const frame = new Uint8Array(header.length + length + 2);
  frame.set(header);
  frame.set(payload, header.length);
  frame[header.length + length] = complement(sum(payload, 0, length));
  return frame;
}

type NoiseReason = "no-start" | "length-sum" | "length" | "data-sum";

export type Cut =
  | { readonly kind: "frame"; readonly payload: Uint8Array }
  | { readonly kind: "ack" }
  | { readonly kind: "nack" }
  | { readonly kind: "error" }
  | { readonly kind: "noise"; readonly bytes: number; readonly why: NoiseReason };

/**
 * The size of a cutter's buffer: the longest frame with its header and sums, and as much again for the bytes that follow a
 * broken frame.
 */
export const cutterBytesMax = 2 * (chipFrameBytesMax + 12);

/** Cuts a stream into frames, however it is split. After a broken frame the search continues directly after its start. */
export function createFrameCutter() {
  const buffer = new Uint8Array(cutterBytesMax);
  let filled = 0;

  const drop = (count: number) => {
    buffer.copyWithin(0, count, filled);
    filled -= count;
  };
  return {
    /** The cuts that these bytes complete, in order. Never throws; payloads are copies. */
    push(bytes: Uint8Array): readonly Cut[] {
      const cuts: Cut[] = [];
      for (let taken = 0; taken < bytes.length; ) {
        const room = bytes.subarray(taken, taken + buffer.length - filled);
        buffer.set(room, filled);
        filled += room.length;
        taken += room.length;
        let read = 0;
        for (;;) {
          const step = cutAt(buffer, read, filled);
          if (step === undefined) break;
          read += step.bytes;
          if (step.cut !== undefined) addCut(cuts, step.cut);
        }
        drop(read);
        assert(filled < buffer.length, "a waiting frame leaves room for its rest");
      }
      return cuts;
    },
    get pendingBytes() {
      return filled;
    },
  };
}

interface Step {
  /** The number of finished bytes, at least 1. */
  readonly bytes: number;
  readonly cut?: Cut;
}

/** The step at `from`; undefined if it needs more bytes. */
function cutAt(buffer: Uint8Array, from: number, end: number): Step | undefined {
  const at = (offset: number) => buffer[from + offset] ?? 0;
  const have = end - from;
  if (have === 0) return undefined;
  // A zero is a preamble, a postamble or the first half of a start code. It is dropped once the bytes after it are known.
  if (at(0) !== 0x00) return { bytes: 1, cut: noise("no-start") };
  if (have < 2) return undefined;
  if (at(1) !== 0xff) return { bytes: 1 };
  if (have < 4) return undefined;

  const length = at(2);
  const lcs = at(3);
  if (length === 0x00 && lcs === 0xff) return { bytes: 4, cut: { kind: "ack" } };
  if (length === 0xff && lcs === 0x00) return { bytes: 4, cut: { kind: "nack" } };
  if (length === 0xff && lcs === 0xff) {
    if (have < 7) return undefined;
    if (((at(4) + at(5) + at(6)) & 0xff) !== 0) return { bytes: 2, cut: noise("length-sum") };
    return cutBody(buffer, from, end, { header: 7, length: at(4) * 256 + at(5) });
  }
  if (((length + lcs) & 0xff) !== 0) return { bytes: 2, cut: noise("length-sum") };
  return cutBody(buffer, from, end, { header: 4, length });
}

interface Body {
  /** The number of bytes from the start code to TFI. */
  readonly header: number;
  readonly length: number;
}

function cutBody(buffer: Uint8Array, from: number, end: number, { header, length }: Body): Step | undefined {
  if (length < 1 || length > chipFrameBytesMax) return { bytes: 2, cut: noise("length") };
  const whole = header + length + 1;
  if (end - from < whole) return undefined;
  const start = from + header;
  if (sum(buffer, start, start + length + 1) !== 0) return { bytes: 2, cut: noise("data-sum") };
  const payload = buffer.slice(start, start + length);
  const isError = length === 1 && payload[0] === 0x7f;
  return { bytes: whole, cut: isError ? { kind: "error" } : { kind: "frame", payload } };
}

function noise(why: NoiseReason): Cut {
  return { kind: "noise", bytes: why === "no-start" ? 1 : 2, why };
}

/** Adds a cut. Consecutive noise of one kind becomes one cut, so a flood of noise costs little. */
function addCut(cuts: Cut[], cut: Cut): void {
  const last = cuts.at(-1);
  if (cut.kind === "noise" && last?.kind === "noise" && last.why === cut.why) {
    cuts[cuts.length - 1] = { ...cut, bytes: last.bytes + cut.bytes };
  } else cuts.push(cut);
}

function sum(bytes: Uint8Array, from: number, to: number): number {
  let total = 0;
  for (let index = from; index < to; index++) total += bytes[index] ?? 0;
  return total & 0xff;
}

function complement(value: number): number {
  return -value & 0xff;
}
