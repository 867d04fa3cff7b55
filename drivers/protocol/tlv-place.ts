/** Where in an area of TLV blocks a message may be written (NFC Forum Type 2 Tag 1.1, 2.3), purely. */
const block = {
  null: 0x00,
  lockControl: 0x01,
  memoryControl: 0x02,
  ndef: 0x03,
  own: 0xfd,
  end: 0xfe,
} as const;

/**
 * Where the message's block stands or may stand, as an offset in the area, which begins at byte `areaAt` of the memory.
 * "other-data" where the blocks make no sense, "reserved-bytes" where they keep some in the midst of it.
 */
export function placeOfMessage(area: Uint8Array, areaAt = 0): number | "other-data" | "reserved-bytes" {
  const zerosFrom = area.findLastIndex((byte) => byte !== 0) + 1;
  for (let at = 0; at < area.length; ) {
    const [tag = 0, short = 0, high = 0, low = 0] = area.subarray(at, at + 4);
    if (tag === block.ndef || tag === block.end) return at;
    if (tag === block.null) {
      // From here on there are only null blocks.
      if (at >= zerosFrom) return at;
      at += 1;
      continue;
    }
    const isControl = tag === block.lockControl || tag === block.memoryControl;
    if (!isControl && tag !== block.own) return "other-data";
    const start = at + (short === 0xff ? 4 : 2);
    const end = start + (short === 0xff ? high * 256 + low : short);
    if (end > area.length || (isControl && end - start !== 3)) return "other-data";
    if (isControl && reserves(tag, area.subarray(start, end), areaAt, area.length)) return "reserved-bytes";
    at = end;
  }
  return area.length;
}

/**
 * True where a control block tells of bytes inside the data area (Type 2 Tag 1.1, 2.3.2 and 2.3.3):
 *
 *   position: page address (high 4 bits), byte offset    size: bits of lock bytes, or bytes; 0 is 256
 *   page control: low 4 bits the logarithm of the bytes per such page
 */
function reserves(
  tag: number,
  [position = 0, size = 0, control = 0]: Uint8Array,
  areaAt: number,
  areaBytes: number,
): boolean {
  const from = (position >> 4) * 2 ** (control & 0x0f) + (position & 0x0f);
  const units = size === 0 ? 256 : size;
  const to = from + (tag === block.lockControl ? Math.ceil(units / 8) : units);
  return from < areaAt + areaBytes && to > areaAt;
}
