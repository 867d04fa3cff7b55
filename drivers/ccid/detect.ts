/** Which USB devices are contactless readers, by looking only. */
import type { Candidate } from "../../src/readers/contract.ts";
import type { UsbDeviceInfo } from "../io/usb-link.ts";

/** Readers that are known by their numbers. */
const known: readonly { readonly id: string; readonly example: string }[] = [
  { id: "072f:2200", example: "ACS ACR122U and its many clones, `ACR122U PICC Interface`" },
  { id: "072f:90cc", example: "touchatag and tikitag, an ACR122U of an early firmware" },
  { id: "072f:223b", example: "ACS ACR1252U" },
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
