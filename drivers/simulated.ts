/**
 * A reader for people who have none: an emulated PN532 on a real pty, read by the real driver. `simulated:`, with any
 * name after the colon. The API lays cards on it; they can be written, and lose their content when they are removed.
 */
import { createHash } from "node:crypto";
import { ServiceError } from "../src/core/errors.ts";
import { fromHex } from "../src/core/hex.ts";
import type { Driver, ReaderSession, SimulatedCard } from "../src/readers/driver.ts";
import {
  createType2Tag,
  type EmulatedTag,
  type Type2Kind,
  tagMessageBytesMax,
} from "./emulator/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "./emulator/pn532-device.ts";
import { openSerial } from "./io/serial.ts";
import { openPn532 } from "./pn532-uart.ts";
import { encodeTextMessage } from "./protocol/ndef.ts";

const firstBaudRate = 115_200;
const kinds: readonly Type2Kind[] = ["ntag215", "ntag216"];

export const simulated = {
  id: "simulated",
  capabilities: ["read", "write", "removable"],
  async open(_name, context, signal) {
    const device = createPn532Device({ timing: "real" });
    try {
      const link = await openSerial(device.path, { baudRate: firstBaudRate });
      const session = await openPn532(link, context, signal);
      return withCards(session, device);
    } catch (error) {
      await device.close();
      throw error;
    }
  },
} as const satisfies Driver;

function withCards(session: ReaderSession, device: Pn532Device): ReaderSession {
  let leaving: NodeJS.Timeout | undefined;
  return {
    info: `${session.info} (simulated)`,
    watch: session.watch,
    ...(session.write === undefined ? {} : { write: session.write }),
    tap(card, durationMs) {
      const tag = tagOf(card);
      clearTimeout(leaving);
      device.take();
      device.put(tag);
      leaving = setTimeout(() => device.take(tag), durationMs);
    },
    untap() {
      clearTimeout(leaving);
      device.take();
    },
    async close() {
      clearTimeout(leaving);
      await session.close();
      await device.close();
    },
  };
}

/** The smallest common tag that holds the text. */
function tagOf({ text, uid }: SimulatedCard): EmulatedTag {
  const message = encodeTextMessage(text);
  const kind = kinds.find((candidate) => message.length <= tagMessageBytesMax(candidate));
  if (kind === undefined) {
    const most = Math.max(...kinds.map(tagMessageBytesMax));
    throw new ServiceError(
      "invalid-params",
      `text: no tag holds it: ${message.length} bytes with its header, and ${most} fit`,
    );
  }
  return createType2Tag(kind, { uid: uidOf(uid, text), text });
}

/** Seven bytes; the same text gives the same UID. */
function uidOf(uid: string | undefined, text: string): Uint8Array {
  if (uid === undefined)
    return Uint8Array.of(0x04, ...createHash("sha256").update(text).digest().subarray(0, 6));
  const bytes = fromHex(uid);
  if (bytes?.length !== 7)
    throw new ServiceError("invalid-params", "uid: a simulated card has 14 hex digits");
  return bytes;
}
