/**
 * The serial ports of this machine, from sysfs and the links below /dev/serial: no port is opened.
 *
 *   /sys/class/tty/<name>/device         link to the device, absent for virtual terminals
 *   .../device/driver, .../subsystem     links whose last part is the name; since Linux 6.5 a UART has two devices of
 *                                        the subsystem serial-base between the tty and the device with the driver
 *   /sys/class/tty/console/active        the ports that the kernel's console is on, with spaces between
 *   /proc/cmdline                        tapdeck.shell=<name>: the port of the maintainer's shell (overlay/etc/init.d/S95shell)
 *   <the USB device above it>            idVendor, idProduct, serial, manufacturer, product, and its interfaces
 */
import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface SerialPortInfo {
  /** The device node, such as `/dev/ttyUSB0`. */
  readonly path: string;
  /** The kernel driver, such as `ftdi_sio` or `uart-pl011`. */
  readonly driver?: string;
  /** The vendor in four lower-case hex digits. Only USB devices have this field and those below. */
  readonly vendorId?: string;
  readonly productId?: string;
  readonly serialNumber?: string;
  readonly manufacturer?: string;
  readonly product?: string;
  /** The link `/dev/serial/by-id/...`, which stays the same for one device. */
  readonly byId?: string;
  /** The link `/dev/serial/by-path/...`, which stays the same for one USB port. */
  readonly byPath?: string;
  /** True if the same USB device also has a HID interface: a keyboard, mouse, pad or light gun. */
  readonly hasHid: boolean;
  /**
   * True if the kernel writes its messages to the port, or the maintainer's shell is on it: bytes that are sent to it
   * appear on a terminal.
   */
  readonly isConsole?: boolean;
  /** A text that changes when the device is plugged in again: inode and change time of the node. */
  readonly stamp: string;
}

export interface SerialRoots {
  readonly sys: string;
  readonly dev: string;
  /** The folder of the kernel's command line; absent if no port has a shell. */
  readonly proc?: string;
}

const machine: SerialRoots = { sys: "/sys", dev: "/dev", proc: "/proc" };
const usbLevelsMax = 8; // The most folders above a tty that are searched. Up to its USB device there are three.
const hidClass = "03"; // The bInterfaceClass of HID (USB HID 1.11, section 4.1).

/** All ports with hardware behind them, by path. Machines without sysfs have none. */
export async function listSerialPorts(roots: SerialRoots = machine): Promise<readonly SerialPortInfo[]> {
  const names = await readdir(join(roots.sys, "class/tty")).catch(() => []);
  const [byId, byPath] = await Promise.all([linksIn(roots, "by-id"), linksIn(roots, "by-path")]);
  const consoles = await consolesOf(roots);
  const ports = await Promise.all(names.map((name) => portOf(roots, name)));
  return ports
    .filter((port) => port !== undefined)
    .map((port) => ({
      ...port,
      ...(consoles.includes(basename(port.path)) ? { isConsole: true } : {}),
      ...optional("byId", byId.get(basename(port.path))),
      ...optional("byPath", byPath.get(basename(port.path))),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function consolesOf({ sys, proc }: SerialRoots): Promise<readonly (string | undefined)[]> {
  const ofKernel = ((await attribute(join(sys, "class/tty/console"), "active")) ?? "").split(" ");
  const words = proc === undefined ? "" : await attribute(proc, "cmdline");
  return [...ofKernel, /(?:^| )tapdeck\.shell=(tty[A-Za-z0-9]*)/.exec(words ?? "")?.[1]];
}

async function portOf(roots: SerialRoots, name: string): Promise<SerialPortInfo | undefined> {
  const tty = join(roots.sys, "class/tty", name);
  const device = await realpath(join(tty, "device")).catch(() => undefined);
  if (device === undefined || (await isPhantom(tty))) return undefined;
  const path = join(roots.dev, name);
  const node = await stat(path).catch(() => undefined);
  if (node === undefined) return undefined;
  return {
    path,
    stamp: `${node.ino}:${node.ctimeMs}`,
    ...optional("driver", await driverOf(device)),
    ...(await usbFacts(device)),
  };
}

/** The kernel makes a few 8250 ports in case there is hardware: type 0 is "unknown" (linux/serial_core.h). */
async function isPhantom(tty: string): Promise<boolean> {
  return (await attribute(tty, "type")) === "0";
}

async function driverOf(device: string): Promise<string | undefined> {
  let folder = device;
  while ((await linkName(folder, "subsystem")) === "serial-base") folder = dirname(folder);
  return linkName(folder, "driver");
}

async function usbFacts(device: string) {
  let folder = device;
  for (let level = 0; level < usbLevelsMax; level++, folder = dirname(folder)) {
    const vendorId = await attribute(folder, "idVendor");
    if (vendorId === undefined) continue;
    const [productId, serialNumber, manufacturer, product] = await Promise.all(
      ["idProduct", "serial", "manufacturer", "product"].map((name) => attribute(folder, name)),
    );
    return {
      vendorId,
      ...optional("productId", productId),
      ...optional("serialNumber", serialNumber),
      ...optional("manufacturer", manufacturer),
      ...optional("product", product),
      hasHid: await hasHidInterface(folder),
    };
  }
  return { hasHid: false };
}

async function hasHidInterface(usbDevice: string): Promise<boolean> {
  const entries = await readdir(usbDevice).catch(() => []);
  const classes = await Promise.all(
    entries.map((entry) => attribute(join(usbDevice, entry), "bInterfaceClass")),
  );
  return classes.includes(hidClass);
}

/**
 * Links of /dev/serial/<kind> by the name of the node that they point to. If several point to one (udev 255 adds
 * `-usbv2-` beside `-usb-`), the first by name is used, so a saved id stays the same.
 */
async function linksIn({ dev }: SerialRoots, kind: string): Promise<ReadonlyMap<string, string>> {
  const folder = join(dev, "serial", kind);
  const names = (await readdir(folder).catch(() => [])).sort();
  const pairs = await Promise.all(
    names.map(async (name) => {
      const target = await readlink(join(folder, name)).catch(() => "");
      return [basename(target), join(folder, name)] as const;
    }),
  );
  return new Map(pairs.reverse());
}

async function linkName(folder: string, link: string): Promise<string | undefined> {
  const target = await readlink(join(folder, link)).catch(() => undefined);
  return target === undefined ? undefined : basename(target);
}

async function attribute(folder: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(folder, name), "utf8").catch(() => undefined);
  return text?.trim();
}

function optional<Key extends string>(key: Key, value: string | undefined): { readonly [K in Key]?: string } {
  return value === undefined || value === "" ? {} : ({ [key]: value } as { readonly [K in Key]?: string });
}
