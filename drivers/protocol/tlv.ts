/**
 * The TLV blocks that carry a message on Type 2 tags and on MIFARE Classic (NFC Forum Type 2 Tag 1.1, 2.3; NXP AN1304,
 * 2.4), purely:
 *
 *   00 null, 01 lock control, 02 memory control, 03 NDEF message, FD proprietary, FE end
 *   length in one byte, or FF and two bytes big-endian; null and end have none
 */
export type FoundMessage =
  /** So many bytes of the area must be known before more can be told. */
  | { readonly kind: "need"; readonly bytes: number }
  /** The message is area[start..end). */
  | { readonly kind: "message"; readonly start: number; readonly end: number }
  | { readonly kind: "none"; readonly why: "no-message" | "cut-short" };

/** The first NDEF message in `area`, of which `areaBytes` are there to be read. */
export function findMessage(area: Uint8Array, areaBytes: number): FoundMessage {
  for (let at = 0; at < areaBytes; ) {
    const block = blockAt(area, at, areaBytes);
    if (block.kind === "need") return block;
    if (block.kind === "cut-short") return { kind: "none", why: "cut-short" };
    if (block.tag === 0xfe) break;
    if (block.tag === 0x03) {
      if (block.end > area.length) return { kind: "need", bytes: block.end };
      if (block.end === block.start) break;
      return { kind: "message", start: block.start, end: block.end };
    }
    at = block.end;
  }
  return { kind: "none", why: "no-message" };
}

type Block =
  | { readonly kind: "need"; readonly bytes: number }
  | { readonly kind: "cut-short" }
  | { readonly kind: "block"; readonly tag: number; readonly start: number; readonly end: number };

function blockAt(area: Uint8Array, at: number, areaBytes: number): Block {
  const [tag, short, high, low] = area.subarray(at, at + 4);
  if (tag === undefined) return { kind: "need", bytes: at + 1 };
  if (tag === 0x00 || tag === 0xfe) return { kind: "block", tag, start: at + 1, end: at + 1 };
  const headerBytes = short === 0xff ? 4 : 2;
  if (at + headerBytes > areaBytes) return { kind: "cut-short" };
  if (short === undefined) return { kind: "need", bytes: at + 2 };
  if (short === 0xff && (high === undefined || low === undefined)) return { kind: "need", bytes: at + 4 };
  const length = short === 0xff ? (high ?? 0) * 256 + (low ?? 0) : short;
  const start = at + headerBytes;
  if (start + length > areaBytes) return { kind: "cut-short" };
  return { kind: "block", tag, start, end: start + length };
}
