/** Which USB devices are contactless readers, by looking only. */
import type { Candidate } from "../../src/readers/contract.ts";
import type { UsbDeviceInfo } from "../io/usb-link.ts";

/**
 * Readers that are known by their numbers, all with the contactless slot as their first. Those whose first slot is for contact
 * cards are left out: that slot is the one that is spoken to.
 */
const known: readonly { readonly id: string; readonly example: string }[] = [
  { id: "072f:2200", example: "ACS ACR122U and its many clones, `ACR122U PICC Interface`" },
  { id: "072f:90cc", example: "touchatag and tikitag, an ACR122U of an early firmware" },
  { id: "072f:223b", example: "ACS ACR1252U" },
  { id: "072f:223e", example: "ACS ACR1252U without a place for a SAM" },
  { id: "072f:2259", example: "ACS ACR1252IMP" },
  { id: "072f:223f", example: "ACS ACR1255U-J1" },
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
/** What makers call the contactless ones. Security keys and readers of contact cards are smart-card readers, too. */
const contactlessName = /\b(picc|nfc|rfid|contactless|cl)\b|acr12[0-9]/i;

export function likelyReaders(devices: readonly UsbDeviceInfo[]): readonly Candidate[] {
  return devices
    .filter(isLikely)
    .map(({ path, stamp }) => ({ path, stamp, stablePath: path, isCertain: true }));
}

function isLikely({ vendorId, productId, product = "", interfaces }: UsbDeviceInfo): boolean {
  if (!interfaces.some(({ classCode }) => classCode === ccidClass)) return false;
  if (known.some(({ id }) => id === `${vendorId}:${productId}`)) return true;
  // A device that does other things as well, such as a security key that types, belongs to other programs.
  return interfaces.length === 1 && contactlessName.test(product);
}
