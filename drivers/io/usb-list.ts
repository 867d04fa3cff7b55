/**
 * The USB devices of this machine, from sysfs: no device is opened, and no addon is loaded.
 *
 *   /sys/bus/usb/devices/1-1.4        a device: idVendor, idProduct, busnum, devnum, product, descriptors
 *   /sys/bus/usb/devices/1-1.4:1.0    its interfaces: bInterfaceNumber, bInterfaceClass, driver (a link)
 *
 * `descriptors` holds the device's descriptor, then each configuration's with all that belongs to it (USB 2.0, 9.6; CCID
 * 1.1, 5.1). Numbers are little-endian.
 *
 *   every one   bLength, bDescriptorType, ...
 *   04 interface  bInterfaceNumber at 2, bAlternateSetting 3, bInterfaceClass 5
 *   05 endpoint   bEndpointAddress at 2 (80 is in), bmAttributes 3 (02 bulk, 03 interrupt), wMaxPacketSize 4..5
 *   21 CCID       dwMaxCCIDMessageLength at 44..47
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { ccidMessageBytesMax, usbDevicesMax } from "../../src/core/limits.ts";
import type { UsbDeviceInfo, UsbInterfaceInfo } from "./links.ts";

const usbDevices = "/sys/bus/usb/devices";
const deviceName = /^\d+-\d+(\.\d+)*$/;

/** All devices except root hubs, by path. Machines without USB have no such devices. */
export async function listUsbDevices(folder = usbDevices): Promise<readonly UsbDeviceInfo[]> {
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => deviceName.test(name)).sort();
  const devices = await Promise.all(
    paths.slice(0, usbDevicesMax).map((path) => deviceOf(folder, path, names)),
  );
  return devices.filter((device) => device !== undefined);
}

/** The CCID interface in the descriptors of a device; undefined if it has none, or is gone. */
export async function ccidInterfaceOf(path: string, folder = usbDevices): Promise<CcidInterface | undefined> {
  const descriptors = await readFile(join(folder, path, "descriptors")).catch(() => undefined);
  return descriptors && ccidInterfaceIn(descriptors);
}

/** The device; undefined if it went away meanwhile. */
async function deviceOf(
  folder: string,
  path: string,
  names: readonly string[],
): Promise<UsbDeviceInfo | undefined> {
  const [vendorId, productId, bus, device, product] = await Promise.all(
    ["idVendor", "idProduct", "busnum", "devnum", "product"].map((name) => attribute(folder, path, name)),
  );
  if (vendorId === undefined || productId === undefined) return undefined;
  const interfaces = names.filter((name) => name.startsWith(`${path}:`)).sort();
  return {
    path,
    stamp: `${bus}:${device}`,
    busNumber: Number(bus),
    deviceNumber: Number(device),
    vendorId,
    productId,
    ...(product === undefined ? {} : { product }),
    interfaces: await Promise.all(interfaces.map((name) => interfaceOf(folder, name))),
  };
}

async function interfaceOf(folder: string, name: string): Promise<UsbInterfaceInfo> {
  const [number = "0", classCode = ""] = await Promise.all(
    ["bInterfaceNumber", "bInterfaceClass"].map((key) => attribute(folder, name, key)),
  );
  const driver = await readlink(join(folder, name, "driver")).catch(() => undefined);
  return {
    number: Number.parseInt(number, 16),
    classCode,
    ...(driver === undefined ? {} : { driver: basename(driver) }),
  };
}

async function attribute(folder: string, path: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(folder, path, name), "utf8").catch(() => undefined);
  return text?.trim();
}

export interface CcidInterface {
  readonly number: number;
  /** The number of the endpoint without the direction bit. */
  readonly bulkIn: number;
  readonly bulkOut: number;
  readonly interruptIn: number | undefined;
  readonly packetBytes: number;
  readonly messageBytesMax: number;
}

const ccidClass = 0x0b;
const messageBytesUsual = 271; // The shortest message that carries a whole short APDU (CCID 1.1, 5.1).
const headerBytes = 10;

/** The first CCID interface; undefined if there is none, or if it lacks one of the bulk endpoints. */
export function ccidInterfaceIn(descriptors: Uint8Array): CcidInterface | undefined {
  let number: number | undefined;
  let messageBytes = messageBytesUsual;
  let [bulkIn, bulkOut, interruptIn, packetBytes]: (number | undefined)[] = [];
  for (const one of each(descriptors)) {
    const [, type = 0, second = 0, third = 0] = one;
    if (type === 0x04) {
      // The descriptors after another interface belong to that one.
      if (number !== undefined) break;
      if (one[5] === ccidClass && third === 0) number = second;
    }
    if (number === undefined) continue;
    if (type === 0x21 && one.length >= 48) messageBytes = view(one).getUint32(44, true);
    if (type !== 0x05 || one.length < 7) continue;
    const isIn = (second & 0x80) !== 0;
    const endpoint = second & 0x0f;
    const transfer = third & 0x03;
    if (transfer === 2 && !isIn) bulkOut ??= endpoint;
    if (transfer === 3 && isIn) interruptIn ??= endpoint;
    if (transfer === 2 && isIn && bulkIn === undefined) {
      bulkIn = endpoint;
      packetBytes = view(one).getUint16(4, true) & 0x7ff;
    }
  }
  if (number === undefined || bulkIn === undefined || bulkOut === undefined) return undefined;
  return {
    number,
    bulkIn,
    bulkOut,
    interruptIn,
    packetBytes: Math.max(packetBytes ?? 0, 8), // The smallest packet that USB allows (USB 2.0, 5.8.3).
    messageBytesMax: Math.min(Math.max(messageBytes, headerBytes), ccidMessageBytesMax),
  };
}

/** Yields each descriptor. A truncated descriptor ends the list. */
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
