/**
 * The HID devices of this machine, from sysfs: no device is opened.
 *
 *   /sys/class/hidraw/<name>/device/uevent        HID_ID=0003:00000E6F:00000241 (bus, vendor, product), HID_NAME, HID_PHYS
 *   .../device/input/input<N>/event<M>            the input nodes of the same device
 *   .../device/input/input<N>/capabilities/key    its keys as a bitmap, the highest word first
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export interface HidInfo {
  /** The device node, such as `/dev/hidraw0`; for a keyboard its input node, such as `/dev/input/event3`. */
  readonly path: string;
  /** The id in eight lower-case hex digits with a colon, such as `0e6f:0241`. */
  readonly id: string;
  readonly name: string;
  /** The USB port and the interface, such as `usb-0000:00:14.0-1.2/input0`; the node's path if the kernel has none. */
  readonly port: string;
  /** A text that changes when the device is plugged in again. */
  readonly stamp: string;
}

export interface HidRoots {
  readonly sys: string;
  readonly dev: string;
}

const machine: HidRoots = { sys: "/sys", dev: "/dev" };

/**
 * All HID devices that have a raw node and whose id is one of `ids`, by path. Machines without sysfs have no such
 * devices.
 */
export async function listHidDevices(
  ids: readonly string[],
  roots: HidRoots = machine,
): Promise<readonly HidInfo[]> {
  const found = await Promise.all((await rawNames(roots)).map((name) => deviceOf(roots, name, ids)));
  return found.filter((one) => one !== undefined).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Like `listHidDevices`, but lists the input nodes of devices that have the keys of digits and Enter. */
export async function listKeyboards(
  ids: readonly string[],
  roots: HidRoots = machine,
): Promise<readonly HidInfo[]> {
  const names = await rawNames(roots);
  const found = await Promise.all(
    names.map(async (name) => {
      const device = await deviceOf(roots, name, ids);
      return device === undefined ? [] : keyboardsOf(roots, name, device);
    }),
  );
  return found.flat().sort((a, b) => (a.port < b.port ? -1 : 1));
}

async function rawNames({ sys }: HidRoots): Promise<readonly string[]> {
  return readdir(join(sys, "class/hidraw")).catch(() => []);
}

async function deviceOf(roots: HidRoots, name: string, ids: readonly string[]): Promise<HidInfo | undefined> {
  const uevent = await readFile(join(roots.sys, "class/hidraw", name, "device/uevent"), "utf8").catch(
    () => "",
  );
  const [, vendor = "", product = ""] = /^HID_ID=[0-9A-F]+:([0-9A-F]{8}):([0-9A-F]{8})$/m.exec(uevent) ?? [];
  const id = `${vendor.slice(4)}:${product.slice(4)}`.toLowerCase();
  if (!ids.includes(id)) return undefined;
  const path = join(roots.dev, name);
  const stamp = await stampOf(path);
  if (stamp === undefined) return undefined;
  const [, title = ""] = /^HID_NAME=(.*)$/m.exec(uevent) ?? [];
  const [, port = path] = /^HID_PHYS=(.+)$/m.exec(uevent) ?? [];
  return { path, id, name: title, port, stamp };
}

async function keyboardsOf(roots: HidRoots, name: string, device: HidInfo): Promise<readonly HidInfo[]> {
  const folder = join(roots.sys, "class/hidraw", name, "device/input");
  const inputs = await readdir(folder).catch(() => []);
  const nodes = await Promise.all(
    inputs.map(async (input) => {
      const keys = await readFile(join(folder, input, "capabilities/key"), "utf8").catch(() => "");
      if (!typesDigits(keys)) return [];
      const events = await readdir(join(folder, input)).catch(() => []);
      return events
        .filter((event) => /^event\d+$/.test(event))
        .map((event) => join(roots.dev, "input", event));
    }),
  );
  const keyboards = nodes.flat().map(async (path) => {
    const stamp = await stampOf(path);
    return stamp === undefined ? undefined : { ...device, path, stamp };
  });
  return (await Promise.all(keyboards)).filter((one) => one !== undefined);
}

async function stampOf(path: string): Promise<string | undefined> {
  const node = await stat(path).catch(() => undefined);
  return node === undefined ? undefined : `${node.ino}:${node.ctimeMs}`;
}

const digitsAndEnter = 0x10000ffcn; // The bits of KEY_1 (2) to KEY_0 (11), and of KEY_ENTER (28), in input-event-codes.h.

/** The last word of the bitmap holds the lowest keys, 64 of them, or 32 under a 32-bit kernel. */
function typesDigits(bitmap: string): boolean {
  const word = bitmap.trim().split(/\s+/).at(-1) ?? "";
  return /^[0-9a-f]{1,16}$/.test(word) && (BigInt(`0x${word}`) & digitsAndEnter) === digitsAndEnter;
}
