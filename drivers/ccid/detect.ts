/** Finds the USB devices that are contactless readers, without opening one. */
import type { Candidate } from "../../src/readers/driver.ts";
import type { UsbDeviceInfo } from "../io/links.ts";

interface Known {
  readonly id: string;
  readonly example: string;
  /** The contactless slot; the first one if absent. */
  readonly slot?: number;
  /** True if a reader of contact cards has the same ids. Only the reported name then differs. */
  readonly isShared?: true;
}

/** Readers that are known by their numbers; those of ACS are from acshk/acsccid, src/supported_readers.txt. */
const known: readonly Known[] = [
  { id: "072f:2200", example: "ACS ACR122U and its many clones, `ACR122U PICC Interface`" },
  { id: "072f:222d", example: "ACS ACR122U of a later make" },
  { id: "072f:90cc", example: "touchatag and tikitag, an ACR122U of an early firmware", isShared: true }, // The ACR38U has the same id.
  { id: "072f:221a", example: "ACS ACR1251U with a place for a SAM" },
  { id: "072f:2229", example: "ACS ACR1251U" },
  { id: "072f:224f", example: "ACS ACR1251U of a later make" },
  { id: "072f:223b", example: "ACS ACR1252U" },
  { id: "072f:223e", example: "ACS ACR1252U without a place for a SAM" },
  { id: "072f:2259", example: "ACS ACR1252IMP" },
  { id: "072f:225b", example: "ACS ACR1252U of a later make" },
  { id: "072f:223f", example: "ACS ACR1255U-J1" },
  { id: "072f:2224", example: "ACS ACR1281U-C1: contact cards, contactless, SAM", slot: 1 }, // The slot is known from acshk/acsccid, issue 4.
  { id: "072f:2303", example: "ACS ACR1552U with a place for a SAM" },
  { id: "072f:2308", example: "ACS ACR1552U" },
  { id: "072f:230a", example: "ACS ACR1555U" },
  { id: "04e6:5291", example: "SCM SCL010" },
  { id: "04e6:5293", example: "SCM SCL01x" },
  { id: "04e6:5612", example: "Identiv uTrust 3720" },
  { id: "04e6:5613", example: "Identiv uTrust 3721" },
  { id: "04e6:5790", example: "Identiv uTrust 3700 F" },
  { id: "04e6:5791", example: "Identiv uTrust 3701 F" },
  { id: "054c:0d8f", example: "Sony FeliCa RC-S660/U" },
  { id: "054c:0dc8", example: "Sony FeliCa RC-S300/S" },
  { id: "054c:0dc9", example: "Sony FeliCa RC-S300/P" },
  { id: "076b:5022", example: "HID OMNIKEY 5022 CL" },
  { id: "076b:5023", example: "HID OMNIKEY 5023" },
  { id: "076b:502a", example: "HID OMNIKEY 5025 CL" },
  { id: "076b:5427", example: "HID OMNIKEY 5427 CK" },
  { id: "096e:0608", example: "Feitian 502-CL" },
  { id: "1db2:088b", example: "DUALi DRAGON NFC" },
];

const ccidClass = "0b";
/** Makers' names of contactless readers. Security keys and readers of contact cards have the same USB class. */
const contactlessName = /\b(picc|nfc|rfid|contactless|cl)\b|acr12[0-9]/i;
/** The slot order of a reader for both kinds of card is unknown, so such a reader is left to other programs. */
const dualName = /\bdual\b/i;

/** The facts that opening a reader depends on. */
export interface ReaderFacts {
  readonly slot: number;
  /** Only an ACR122U is accepted; a device with another name belongs to another program. */
  readonly isAcrOnly: boolean;
}

/** The ids as `vendor:product`, with four digits each. The udev rules must name each of them. */
export const knownReaderIds: readonly string[] = known.map(({ id }) => id);

export function readerFactsOf({
  vendorId,
  productId,
}: Pick<UsbDeviceInfo, "vendorId" | "productId">): ReaderFacts {
  const entry = known.find(({ id }) => id === `${vendorId}:${productId}`);
  return { slot: entry?.slot ?? 0, isAcrOnly: entry?.isShared ?? false };
}

/** The devices with a CCID interface. */
export function likelyReaders(devices: readonly UsbDeviceInfo[]): readonly Candidate[] {
  const readers = devices.filter(({ interfaces }) =>
    interfaces.some(({ classCode }) => classCode === ccidClass),
  );
  return readers.map((device) => {
    const { path, stamp } = device;
    const why = ruledOut(device);
    const trait =
      why === undefined
        ? readerFactsOf(device).isAcrOnly
          ? {}
          : { isCertain: true as const }
        : { ruledOut: why };
    return { path, stamp, stablePath: path, ...trait };
  });
}

function ruledOut({ vendorId, productId, product = "", interfaces }: UsbDeviceInfo): string | undefined {
  if (known.some(({ id }) => id === `${vendorId}:${productId}`)) return undefined;
  // A device with further functions, such as a security key that types, belongs to other programs.
  if (interfaces.length > 1) return "it is more than a reader, such as a security key";
  if (dualName.test(product)) return "the order of its slots for both kinds of card is unknown";
  return contactlessName.test(product) ? undefined : "its name is not that of a contactless reader";
}
