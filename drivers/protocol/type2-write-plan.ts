/**
 * The plan for writing a message into a Type 2 tag, without I/O: the content of its memory becomes the pages to write, in
 * their order. Sources: NFC Forum Type 2 Tag 1.1; NXP NTAG21x, MF0ULx1 and MF0ICU1 data sheets.
 *
 *   ..  03  length  message  FE          the block's length is one byte, or FF and two bytes big-endian
 *           ^ the switch: 00 means that there is no message, whatever bytes follow
 *
 * The switch is set to 00 first, by a write that alters no other byte. Then everything else is written. The switch
 * comes last, again alone. A tag that is taken away at any byte therefore holds the old message, the new one, or none.
 * In a long block the switch is the FF, without which the two bytes after it are no length.
 */
import { draftOf, ndefBlock, placeOfMessage, tlvTag } from "./tlv.ts";
import { isAmiibo } from "./toys.ts";
import { containerOf, isReadOnly, pageBytes, type Type2Layout, unlockedPage } from "./type2-tag.ts";

export interface Type2Image {
  readonly layout: Type2Layout;
  /** The memory from page 0 to the end of the data area. */
  readonly memory: Uint8Array;
  /** The page of the dynamic lock bits; absent if there is none, or if it cannot be read. */
  readonly dynamicLocks?: Uint8Array;
  /** AUTH0, the first page that needs the password; absent if no page needs one, or if AUTH0 cannot be read. */
  readonly firstProtectedPage?: number;
}

export interface PageWrite {
  readonly page: number;
  /** The four bytes of the page. */
  readonly bytes: Uint8Array;
}

export type WritePlan =
  | {
      readonly kind: "plan";
      /** The writes that make the tag blank and then store the message, all but the last write of the switch. */
      readonly draft: readonly PageWrite[];
      /** The memory after these writes. */
      readonly drafted: Uint8Array;
      /** The write of the switch; absent if the tag has this message already. */
      readonly last?: PageWrite;
      readonly written: Uint8Array;
    }
  | { readonly kind: "refused"; readonly why: PlanRefusal }
  | { readonly kind: "too-small"; readonly bytesMissing: number };

type PlanRefusal =
  | "locked"
  | "password"
  | "amiibo"
  /** The data is no NDEF. */
  | "other-data"
  /** The one-time bits of the tag have another use. */
  | "one-time-bits"
  | "reserved-bytes";

const areaAt = 4 * pageBytes;
const containerPage = 3;

/**
 * The pages to write so that the tag holds `message`, or the reason why it cannot be written. `force` replaces data
 * that is not ours.
 */
export function planWrite(image: Type2Image, message: Uint8Array, force: boolean): WritePlan {
  const { layout, memory } = image;
  const container = memory.subarray(containerPage * pageBytes, areaAt);
  const area = memory.subarray(areaAt);
  const { isFormatted, areaBytes: told } = containerOf(container, layout);
  const areaBytes = Math.min(told, area.length);
  if (isAmiibo(container) && !force) return refused("amiibo");
  if (isFormatted && isReadOnly(container)) return refused("locked");

  const areaIsBlank = isBlank(area);
  const place = areaIsBlank
    ? 0
    : isFormatted
      ? placeOfMessage(area.subarray(0, areaBytes), areaAt)
      : "other-data";
  if (place === "reserved-bytes" || (place === "other-data" && !force)) return refused(place);
  const at = place === "other-data" ? 0 : place;

  const wanted = wantedMemory(image, at, areaBytes, message);
  if (typeof wanted === "number") return { kind: "too-small", bytesMissing: wanted };
  // These bits cannot be cleared. A tag with wrong bits never becomes an NDEF tag.
  if (containerSticks(container, wanted)) return refused(force ? "one-time-bits" : "other-data");
  const begins = areaIsBlank ? "blank" : place === "other-data" ? "other-data" : "blocks";
  const plan = orderWrites(memory, wanted, at, message, begins);
  const pages = [...plan.draft, ...(plan.last === undefined ? [] : [plan.last])].map(({ page }) => page);
  if (pages.some((page) => !unlockedPage(page, memory, layout, image.dynamicLocks))) return refused("locked");
  if (pages.some((page) => page >= (image.firstProtectedPage ?? 0x100))) return refused("password");
  return plan;
}

/** The memory with the message in it; if the message does not fit, the number of missing bytes. */
function wantedMemory(
  { layout, memory }: Type2Image,
  at: number,
  areaBytes: number,
  message: Uint8Array,
): Uint8Array | number {
  const ndef = ndefBlock(message);
  const room = areaBytes - at;
  if (ndef.length > room) return ndef.length - room;
  const wanted = memory.slice();
  const container = memory.subarray(containerPage * pageBytes, areaAt);
  if (!containerOf(container, layout).isFormatted)
    wanted.set(Uint8Array.of(0xe1, 0x10, areaBytes / 8, 0x00), containerPage * pageBytes);
  wanted.set(ndef, areaAt + at);
  // An end block is optional, because the end of the area also ends the blocks.
  if (ndef.length < room) wanted[areaAt + at + ndef.length] = tlvTag.end;
  return wanted;
}

function orderWrites(
  memory: Uint8Array,
  wanted: Uint8Array,
  at: number,
  message: Uint8Array,
  begins: "blank" | "blocks" | "other-data",
): Extract<WritePlan, { kind: "plan" }> {
  const switchAt = areaAt + at + 1;
  const { draft, current, put, setByte, putRange, lastOf } = draftOf(memory, pageBytes, (page, bytes) => ({
    page,
    bytes,
  }));
  const putContainer = () =>
    put(containerPage, (bytes) => bytes.set(wanted.subarray(containerPage * pageBytes, areaAt)));

  if (wanted.every((byte, index) => byte === memory[index]))
    return { kind: "plan", draft, drafted: memory, written: wanted };
  // A blank area has nothing that a reader could take for a message, so the container comes first: after an interruption the
  // tag is still recognized as ours. Other data is made invalid as a message before the tag becomes an NDEF tag.
  if (begins === "blank") putContainer();
  // While invalid blocks are overwritten, the blocks that are left could be taken for a message.
  if (begins === "other-data") setByte(areaAt, tlvTag.end);
  setByte(switchAt, 0);
  putContainer();
  putRange(wanted, areaAt + at, switchAt + 3 + message.length + 1, switchAt);
  return { kind: "plan", draft, drafted: current, last: lastOf(wanted, switchAt), written: wanted };
}

/** True for factory content: bytes 00 and FF, which some makers mix. */
function isBlank(area: Uint8Array): boolean {
  return area.every((byte) => byte === 0x00 || byte === 0xff);
}

function containerSticks(container: Uint8Array, wanted: Uint8Array): boolean {
  return container.some((byte, index) => (byte & ~(wanted[containerPage * pageBytes + index] ?? 0)) !== 0);
}

function refused(why: PlanRefusal): WritePlan {
  return { kind: "refused", why };
}
