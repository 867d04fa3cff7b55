/**
 * Writing a message into an area of TLV blocks that is written in units of some bytes, purely: as `type2-write.ts` says,
 * with the length as the switch, which is set to 00 first and to its value last, each time by a write that alters no
 * other byte.
 */
import { placeOfMessage } from "./tlv-place.ts";

export interface UnitWrite {
  /** Counted in units from the area's begin. */
  readonly unit: number;
  readonly bytes: Uint8Array;
}

export type AreaPlan =
  | {
      readonly kind: "plan";
      readonly draft: readonly UnitWrite[];
      /** Absent where the area holds this very message already. */
      readonly last?: UnitWrite;
      /** The area once the draft is written, and in the end. */
      readonly drafted: Uint8Array;
      readonly written: Uint8Array;
    }
  | { readonly kind: "refused"; readonly why: "other-data" | "reserved-bytes" }
  | { readonly kind: "too-small"; readonly bytesMissing: number };

const ndef = 0x03;
const end = 0xfe;
const shortBlockBytesMax = 254; // A length of FF says that two more bytes tell it.

/** The writes that put `message` into `area`, or why not. `force` replaces data that is no NDEF. */
export function planAreaWrite(
  area: Uint8Array,
  unitBytes: number,
  message: Uint8Array,
  force: boolean,
): AreaPlan {
  const place = placeOfMessage(area);
  if (place === "reserved-bytes" || (place === "other-data" && !force))
    return { kind: "refused", why: place };
  const at = place === "other-data" ? 0 : place;
  const { length } = message;
  const header = length > shortBlockBytesMax ? [0xff, length >> 8, length & 0xff] : [length];
  const blockEnd = at + 1 + header.length + length;
  if (blockEnd > area.length) return { kind: "too-small", bytesMissing: blockEnd - area.length };
  const written = area.slice();
  written.set(Uint8Array.of(ndef, ...header, ...message), at);
  if (blockEnd < area.length) written[blockEnd] = end;

  const current = area.slice();
  const draft: UnitWrite[] = [];
  const put = (unit: number, alter: (bytes: Uint8Array) => void) => {
    const bytes = current.slice(unit * unitBytes, (unit + 1) * unitBytes);
    alter(bytes);
    if (bytes.every((byte, index) => byte === current[unit * unitBytes + index])) return;
    current.set(bytes, unit * unitBytes);
    draft.push({ unit, bytes });
  };
  const setByte = (index: number, value: number) =>
    put(Math.floor(index / unitBytes), (bytes) => {
      bytes[index % unitBytes] = value;
    });
  if (written.every((byte, index) => byte === area[index]))
    return { kind: "plan", draft, drafted: area, written };

  const switchAt = at + 1;
  // Of blocks that make no sense, half could be taken for a message.
  if (place === "other-data") setByte(0, end);
  setByte(switchAt, 0);
  for (
    let unit = Math.floor(at / unitBytes);
    unit * unitBytes <= Math.min(blockEnd, area.length - 1);
    unit++
  ) {
    put(unit, (bytes) => {
      bytes.set(written.subarray(unit * unitBytes, (unit + 1) * unitBytes));
      const inUnit = switchAt - unit * unitBytes;
      if (inUnit >= 0 && inUnit < unitBytes) bytes[inUnit] = 0;
    });
  }
  const unit = Math.floor(switchAt / unitBytes);
  const bytes = written.slice(unit * unitBytes, (unit + 1) * unitBytes);
  return { kind: "plan", draft, last: { unit, bytes }, drafted: current, written };
}
