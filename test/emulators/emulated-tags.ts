/**
 * Tags for an emulated field: Type 2 tags in their factory state or with a message, and tags identified by their answers at
 * selection.
 */

import { encodeTextMessage, encodeUriMessage } from "../../drivers/protocol/ndef.ts";
import { pageBytes, wrapMessage } from "../../drivers/protocol/type2-tag.ts";
import { assert } from "../../src/core/errors.ts";
import { createType2Commands, type Type2Kind, type Type2Sheet, type2Sheets } from "./emulated-type2.ts";
import { createTypeATag, type EmulatedTag, type TearableTag } from "./type-a.ts";

export { type ClassicKind, classicKindOf, classicKinds, createClassic } from "./classic-tag.ts";
export { type Type2Kind, type2Kinds } from "./emulated-type2.ts";
export { createCardWithoutMessages, createType4Tag } from "./emulated-type4.ts";
export { createFelicaTag } from "./felica-tag.ts";
export type { EmulatedTag, TearableTag } from "./type-a.ts";

interface Type2Options {
  /** The UID of 7 bytes. The first byte is the maker's, 04 for NXP. */
  readonly uid: Uint8Array;
  /** The text of an NDEF message of one Text record. At most one of `text`, `uri` and `message` is given. */
  readonly text?: string;
  /** The URI of an NDEF message of one URI record. */
  readonly uri?: string;
  readonly message?: Uint8Array;
  /** True for a copy of the chip that knows neither GET_VERSION nor FAST_READ. */
  readonly isCopy?: boolean;
  /** True for a copy of the chip that reports the version and does not know FAST_READ. */
  readonly lacksFastRead?: boolean;
}

const shortBlockBytesMax = 254; // FF announces a length of two more bytes (Type 2 Tag 1.1, 2.3).

/**
 * The longest message for such a tag: the bytes of the data area, without those before the message, its header and the
 * end block.
 */
export function tagMessageBytesMax(kind: Type2Kind): number {
  const { areaBytes, leadingBlocks } = type2Sheets[kind];
  const room = areaBytes - leadingBlocks.length - 1;
  return room - (room - 2 > shortBlockBytesMax ? 4 : 2);
}

/** Makes a tag of this kind; without a message it is in its factory state. Refuses a message that does not fit. */
export function createType2Tag(
  kind: Type2Kind,
  { uid, text, uri, message, isCopy = false, lacksFastRead = false }: Type2Options,
): TearableTag {
  assert(uid.length === 7, "a Type 2 tag has a UID of 7 bytes");
  const { version, ...rest }: Type2Sheet = type2Sheets[kind];
  const told = isCopy || version === undefined ? rest : { ...rest, version };
  const sheet = lacksFastRead ? { ...told, knowsFastRead: false as const } : told;
  const memory = freshMemory(sheet, uid);
  const content = message ?? (text !== undefined ? encodeTextMessage(text) : uri && encodeUriMessage(uri));
  if (content !== undefined && content !== "") {
    assert(content.length <= tagMessageBytesMax(kind), `the message fits the ${kind}`);
    // Ultralights come without a capability container: writing it makes them Type 2 tags (AN1303, section 5).
    memory.set(containerOf(sheet), 3 * pageBytes);
    memory.fill(0, 4 * pageBytes, 4 * pageBytes + sheet.areaBytes);
    memory.set(Uint8Array.of(...sheet.leadingBlocks, ...wrapMessage(content)), 4 * pageBytes);
  }
  const { tearNextWrite, ...commands } = createType2Commands(sheet, memory);
  const tag = createTypeATag({ uid, atqa: 0x0044, sak: 0x00, ats: new Uint8Array(), memory, ...commands });
  // The state of a tag is read through its own properties, which a copy would freeze.
  return Object.assign(tag, { tearNextWrite });
}

/** A MIFARE Classic 1K with unknown keys (AN10833, tables 3 and 6). */
export function createClassicTag(uid: Uint8Array): EmulatedTag {
  return createTypeATag({
    uid,
    atqa: uid.length === 4 ? 0x0004 : 0x0044,
    sak: 0x08,
    ats: new Uint8Array(),
    memory: new Uint8Array(),
    // Without a key the card answers nothing and must be selected again (MF1S50YYX, section 10).
    understand: () => ({ answer: undefined, fall: true }),
  });
}

/** The capability container: E1, version 1.0, data bytes / 8, free to read and write. */
function containerOf({ areaBytes }: Type2Sheet): Uint8Array {
  return Uint8Array.of(0xe1, 0x10, areaBytes / 8, 0x00);
}

/**
 *   page 0  UID0..2, BCC0 = 88 ^ UID0..2      page 1  UID3..6
 *   page 2  BCC1 = UID3..6, internal, lock    page 3  capability container, or one-time bits
 */
function freshMemory(sheet: Type2Sheet, uid: Uint8Array): Uint8Array {
  const memory = new Uint8Array(sheet.pages * pageBytes);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0] = uid;
  memory.set([a, b, c, 0x88 ^ a ^ b ^ c, d, e, f, g, d ^ e ^ f ^ g, 0x48]);
  if (sheet.comesFormatted) {
    memory.set(containerOf(sheet), 3 * pageBytes);
    memory.set([...sheet.leadingBlocks, 0x03, 0x00, 0xfe], 4 * pageBytes);
  }
  // The memory as an Ultralight C leaves the factory: AUTH0 after the last page, and its known key (MF0ICU2, 7.5.8).
  if (sheet.keyGuard !== undefined) {
    memory.set([0x30], sheet.keyGuard.page * pageBytes);
    memory.set(new TextEncoder().encode("BREAKMEIFYOUCAN!"), sheet.keyGuard.readablePages * pageBytes);
  } else if (sheet.dynamicLock !== undefined) memory[sheet.dynamicLock.page * pageBytes + 3] = 0xbd;
  if (sheet.configPage !== undefined) memory.set(factoryConfig, sheet.configPage * pageBytes);
  return memory;
}

/** CFG0 with AUTH0 = FF (no page needs the password), CFG1, PWD, PACK (NTAG21x 8.5.7, MF0ULx1 8.5.6). */
const factoryConfig: readonly number[] = [4, 0, 0, 0xff, 0, 5, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
