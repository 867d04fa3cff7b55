/** A sysfs tree with serial ports, as files and links below a folder of the test. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { SerialRoots } from "../../drivers/io/serial-list.ts";

export interface UsbSerialDevice {
  /** The place on the bus, such as `1-1.2`. */
  readonly bus: string;
  /** The name of the tty, such as `ttyUSB0`. */
  readonly tty: string;
  readonly driver: string;
  /** The attribute files of the USB device. sysfs ends each of them with a line feed. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The bInterfaceClass of interfaces beside the serial one, which is interface 0. */
  readonly otherInterfaces?: readonly string[];
}

export const ftdi: UsbSerialDevice = {
  bus: "1-1.1",
  tty: "ttyUSB0",
  driver: "ftdi_sio",
  attributes: {
    idVendor: "0403",
    idProduct: "6001",
    serial: "A10K5J2M",
    manufacturer: "FTDI",
    product: "FT232R USB UART",
  },
};
/** A CH340 has no serial number and no name of its maker, which is known only by its number. */
export const ch340: UsbSerialDevice = {
  bus: "1-1.2",
  tty: "ttyUSB1",
  driver: "ch341-uart",
  attributes: { idVendor: "1a86", idProduct: "7523", product: "USB Serial" },
};
export const cp210x: UsbSerialDevice = {
  bus: "1-1.3",
  tty: "ttyUSB2",
  driver: "cp210x",
  attributes: {
    idVendor: "10c4",
    idProduct: "ea60",
    serial: "0001",
    manufacturer: "Silicon Labs",
    product: "CP2102 USB to UART Bridge Controller",
  },
};

export async function plugIn({ sys, dev }: SerialRoots, device: UsbSerialDevice): Promise<void> {
  const usb = join(sys, "devices/platform/soc/3f980000.usb/usb1", device.bus);
  const port = join(usb, `${device.bus}:1.0`, device.tty);
  for (const [name, text] of Object.entries(device.attributes)) await attribute(usb, name, text);
  await attribute(join(usb, `${device.bus}:1.0`), "bInterfaceClass", "ff");
  for (const [index, kind] of (device.otherInterfaces ?? []).entries()) {
    await attribute(join(usb, `${device.bus}:1.${index + 1}`), "bInterfaceClass", kind);
  }
  await link(join(port, "driver"), join(sys, "bus/usb-serial/drivers", device.driver));
  await link(join(port, "subsystem"), join(sys, "bus/usb-serial"));
  await addTty({ sys, dev }, device.tty, port);
}

/** Adds a UART of the board, in the layout of a Linux from 6.5 on, or of an earlier one. */
export async function addUart(
  roots: SerialRoots,
  tty: string,
  layout: "serial-base" | "direct",
): Promise<void> {
  const device = join(roots.sys, "devices/platform/soc/3f201000.serial");
  await link(join(device, "driver"), join(roots.sys, "bus/amba/drivers/uart-pl011"));
  await link(join(device, "subsystem"), join(roots.sys, "bus/amba"));
  if (layout === "direct") return addTty(roots, tty, device);
  const controller = join(device, "3f201000.serial:0");
  const port = join(controller, "3f201000.serial:0.0");
  for (const [folder, driver] of [
    [controller, "ctrl"],
    [port, "port"],
  ] as const) {
    await link(join(folder, "driver"), join(roots.sys, "bus/serial-base/drivers", driver));
    await link(join(folder, "subsystem"), join(roots.sys, "bus/serial-base"));
  }
  return addTty(roots, tty, port);
}

/** Adds the tty of a device: its folder below the device, the link of its class, and the node. */
export async function addTty(
  { sys, dev }: SerialRoots,
  tty: string,
  device: string,
  type = "4",
): Promise<void> {
  const folder = join(device, "tty", tty);
  await attribute(folder, "type", type);
  await link(join(folder, "device"), device);
  await link(join(sys, "class/tty", tty), folder);
  await attribute(dev, tty, "");
}

/** Makes a relative link, as sysfs and udev do. */
export async function link(path: string, target: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(relative(dirname(path), target), path);
}

export async function attribute(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `${text}\n`);
}
