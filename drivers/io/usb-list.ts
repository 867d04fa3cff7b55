/**
 * The USB devices of this machine, as sysfs tells: nothing is opened, and no addon is loaded.
 *
 *   /sys/bus/usb/devices/1-1.4        a device: idVendor, idProduct, busnum, devnum, product, descriptors
 *   /sys/bus/usb/devices/1-1.4:1.0    its interfaces: bInterfaceNumber, bInterfaceClass, driver (a link)
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { usbDevicesMax } from "../../src/core/limits.ts";
import { type CcidInterface, ccidInterfaceIn } from "./usb-descriptors.ts";
import type { UsbDeviceInfo, UsbInterfaceInfo } from "./usb-link.ts";

const usbDevices = "/sys/bus/usb/devices";
const deviceName = /^\d+-\d+(\.\d+)*$/;

/** All devices but the hubs' roots, by path. Machines without USB have none. */
export async function listUsbDevices(folder = usbDevices): Promise<readonly UsbDeviceInfo[]> {
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => deviceName.test(name)).sort();
  const devices = await Promise.all(
    paths.slice(0, usbDevicesMax).map((path) => deviceOf(folder, path, names)),
  );
  return devices.filter((device) => device !== undefined);
}

/** What its descriptors say of its CCID interface; undefined where it has none, or is gone. */
export async function ccidInterfaceOf(path: string, folder = usbDevices): Promise<CcidInterface | undefined> {
  const descriptors = await readFile(join(folder, path, "descriptors")).catch(() => undefined);
  return descriptors && ccidInterfaceIn(descriptors);
}

/** Undefined where it went away meanwhile. */
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
