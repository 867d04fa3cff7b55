/** The card on a simulated reader: an NTAG215 or NTAG216 with a text, as its maker describes it (NTAG21x, sections 8 and 10). */
import { createHash } from "node:crypto";
import { assert, ServiceError } from "../../src/core/errors.ts";
import { fromHex } from "../../src/core/hex.ts";
import type { SimulatedCard } from "../../src/readers/driver.ts";
import { encodeTextMessage } from "../protocol/ndef.ts";
import { layoutOf, pageBytes, parseVersion, tagCommands, wrapMessage } from "../protocol/type2-tag.ts";

export interface SimulatedTag {
  /** The UID of 7 bytes. */
  readonly uid: Uint8Array;
  /** The answer to a command, which is empty for a page that was written; undefined if the tag refuses. */
  receive(command: Uint8Array): Uint8Array | undefined;
}

/** Answers to GET_VERSION (10.1). */
const ntag215 = Uint8Array.of(0x00, 0x04, 0x04, 0x02, 0x01, 0x00, 0x11, 0x03);
const ntag216 = Uint8Array.of(0x00, 0x04, 0x04, 0x02, 0x01, 0x00, 0x13, 0x03);
const firstAreaPage = 4;
const readBytes = 16;

/** The smallest tag that holds the text. Throws `invalid-params` if none does, and for a UID that is not 14 hex digits. */
export function createSimulatedTag({ text, uid }: SimulatedCard): SimulatedTag {
  const message = encodeTextMessage(text);
  const block = wrapMessage(message);
  const version = [ntag215, ntag216].find((candidate) => block.length <= sheetOf(candidate).areaBytes);
  if (version === undefined) {
    const most = sheetOf(ntag216).areaBytes - (block.length - message.length);
    throw new ServiceError(
      "invalid-params",
      `text: no tag holds it: ${message.length} bytes with its header, and ${most} fit`,
    );
  }
  const uidBytes = uidOf(uid, text);
  return { uid: uidBytes, receive: commandsOf(version, memoryOf(version, uidBytes, block)) };
}

/** A UID of seven bytes. The same text gives the same UID. */
function uidOf(uid: string | undefined, text: string): Uint8Array {
  if (uid === undefined)
    return Uint8Array.of(0x04, ...createHash("sha256").update(text).digest().subarray(0, 6));
  const bytes = fromHex(uid);
  if (bytes?.length !== 7)
    throw new ServiceError("invalid-params", "uid: a simulated card has 14 hex digits");
  return bytes;
}

function sheetOf(version: Uint8Array) {
  const parsed = parseVersion(version);
  assert(parsed !== undefined, "the driver knows the version");
  return { pages: parsed.pages, ...layoutOf(parsed, new Uint8Array()) };
}

/**
 *   page 0  UID0..2, BCC0 = 88 ^ UID0..2      page 1  UID3..6
 *   page 2  BCC1 = UID3..6, internal, lock    page 3  capability container: E1, 1.0, data bytes / 8, free to write
 *   page 4  the message, then the dynamic lock bits (8.5.3) and the configuration without a password (8.5.7)
 */
function memoryOf(version: Uint8Array, uid: Uint8Array, block: Uint8Array): Uint8Array {
  const { pages, areaBytes, dynamicLock, configPage = 0 } = sheetOf(version);
  const memory = new Uint8Array(pages * pageBytes);
  const check = (from: number, to: number, start: number) =>
    uid.subarray(from, to).reduce((sum, byte) => sum ^ byte, start);
  memory.set([...uid.subarray(0, 3), check(0, 3, 0x88), ...uid.subarray(3), check(3, 7, 0), 0x48]);
  memory.set([0xe1, 0x10, areaBytes / 8, 0x00], 3 * pageBytes);
  memory.set(block, firstAreaPage * pageBytes);
  memory[(dynamicLock?.page ?? 0) * pageBytes + 3] = 0xbd;
  memory.set([0x04, 0x00, 0x00, 0xff, 0x00, 0x05], configPage * pageBytes);
  return memory;
}

/** The commands READ, FAST_READ, WRITE of the data area, and GET_VERSION (10.1 to 10.4). */
function commandsOf(version: Uint8Array, memory: Uint8Array): SimulatedTag["receive"] {
  const { pages, areaBytes } = sheetOf(version);
  return ([code, first = 0, last = 0, ...data]) => {
    switch (code) {
      case tagCommands.getVersion:
        return version;
      case tagCommands.read: {
        if (first >= pages) return undefined;
        // The page after the last one is the first one.
        const at = (index: number) => (first * pageBytes + index) % memory.length;
        return Uint8Array.from({ length: readBytes }, (_, index) => memory[at(index)] ?? 0);
      }
      case tagCommands.fastRead:
        if (first > last || last >= pages) return undefined;
        return memory.slice(first * pageBytes, (last + 1) * pageBytes);
      case tagCommands.write: {
        const bytes = [last, ...data];
        const isInArea = first >= firstAreaPage && first < firstAreaPage + areaBytes / pageBytes;
        if (!isInArea || bytes.length !== pageBytes) return undefined;
        memory.set(bytes, first * pageBytes);
        return new Uint8Array();
      }
      default:
        return undefined;
    }
  };
}
