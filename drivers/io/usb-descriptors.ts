/**
 * The descriptors of a USB device, as the kernel hands them out in sysfs: the device's, then each configuration's with
 * all that belongs to it (USB 2.0, 9.6; CCID 1.1, 5.1), purely. Numbers are little-endian.
 *
 *   every one   bLength, bDescriptorType, ...
 *   04 interface  bInterfaceNumber at 2, bAlternateSetting 3, bInterfaceClass 5
 *   05 endpoint   bEndpointAddress at 2 (80 is in), bmAttributes 3 (02 bulk, 03 interrupt), wMaxPacketSize 4..5
 *   21 CCID       dwMaxCCIDMessageLength at 44..47
 */
import { ccidMessageBytesMax } from "../../src/core/limits.ts";

export interface CcidInterface {
  readonly number: number;
  /** Endpoint numbers without the direction bit. */
  readonly bulkIn: number;
  readonly bulkOut: number;
  readonly interruptIn: number | undefined;
  readonly packetBytes: number;
  readonly messageBytesMax: number;
}

const ccidClass = 0x0b;
const messageBytesUsual = 271; // The shortest that carries a whole short APDU (CCID 1.1, 5.1).
const headerBytes = 10;

/** The first CCID interface; undefined where there is none, or one without both bulk endpoints. */
export function ccidInterfaceIn(descriptors: Uint8Array): CcidInterface | undefined {
  let number: number | undefined;
  let messageBytes = messageBytesUsual;
  let [bulkIn, bulkOut, interruptIn, packetBytes]: (number | undefined)[] = [];
  for (const one of each(descriptors)) {
    const [, type = 0, second = 0, third = 0] = one;
    if (type === 0x04) {
      // What follows another interface is not this one's.
      if (number !== undefined) break;
      if (one[5] === ccidClass && third === 0) number = second;
    }
    if (number === undefined) continue;
    if (type === 0x21 && one.length >= 48) messageBytes = view(one).getUint32(44, true);
    if (type !== 0x05 || one.length < 7) continue;
    const [isIn, endpoint, transfer] = [(second & 0x80) !== 0, second & 0x0f, third & 0x03];
    if (transfer === 2 && !isIn) bulkOut ??= endpoint;
    if (transfer === 3 && isIn) interruptIn ??= endpoint;
    if (transfer === 2 && isIn && bulkIn === undefined)
      [bulkIn, packetBytes] = [endpoint, view(one).getUint16(4, true) & 0x7ff];
  }
  if (number === undefined || bulkIn === undefined || bulkOut === undefined) return undefined;
  return {
    number,
    bulkIn,
    bulkOut,
    interruptIn,
    packetBytes: Math.max(packetBytes ?? 0, 8), // The least that USB knows (USB 2.0, 5.8.3).
    messageBytesMax: Math.min(Math.max(messageBytes, headerBytes), ccidMessageBytesMax),
  };
}

/** Each descriptor in turn; what is cut short ends it. */
function* each(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const length = bytes[at] ?? 0;
    if (length < 2 || at + length > bytes.length) return;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
