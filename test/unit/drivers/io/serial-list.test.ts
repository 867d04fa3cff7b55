/** The list of serial ports, read from a sysfs tree that the test makes. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listSerialPorts, type SerialRoots } from "../../../../drivers/io/serial-list.ts";
import {
  addTty,
  addUart,
  attribute,
  ch340,
  cp210x,
  ftdi,
  link,
  plugIn,
} from "../../../helpers/serial-sysfs.ts";

async function withTree(run: (roots: SerialRoots) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-sysfs-"));
  const roots = { sys: join(folder, "sys"), dev: join(folder, "dev") };
  try {
    await mkdir(join(roots.sys, "class/tty"), { recursive: true });
    await mkdir(roots.dev);
    await run(roots);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Everything below a folder, by relative path. (Bun's recursive readdir follows links in circles.) */
async function partsOf(folder: string, below = ""): Promise<readonly string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const parts = entries.map(async (entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? [path, ...(await partsOf(folder, path))] : [path];
  });
  return (await Promise.all(parts)).flat();
}

const stamp = expect.stringMatching(/^\d+:[\d.]+$/);

test("the usual USB converters are listed with all their facts, by path", () =>
  withTree(async (roots) => {
    for (const device of [cp210x, ch340, ftdi]) await plugIn(roots, device);
    expect(await listSerialPorts(roots)).toEqual([
      {
        path: join(roots.dev, "ttyUSB0"),
        driver: "ftdi_sio",
        vendorId: "0403",
        productId: "6001",
        serialNumber: "A10K5J2M",
        manufacturer: "FTDI",
        product: "FT232R USB UART",
        hasHid: false,
        stamp,
      },
      {
        path: join(roots.dev, "ttyUSB1"),
        driver: "ch341-uart",
        vendorId: "1a86",
        productId: "7523",
        product: "USB Serial",
        hasHid: false,
        stamp,
      },
      {
        path: join(roots.dev, "ttyUSB2"),
        driver: "cp210x",
        vendorId: "10c4",
        productId: "ea60",
        serialNumber: "0001",
        manufacturer: "Silicon Labs",
        product: "CP2102 USB to UART Bridge Controller",
        hasHid: false,
        stamp,
      },
    ]);
  }));

for (const layout of ["direct", "serial-base"] as const) {
  test(`a board's own UART has its driver's name and no USB facts, in the layout ${layout}`, () =>
    withTree(async (roots) => {
      await addUart(roots, "ttyAMA0", layout);
      expect(await listSerialPorts(roots)).toEqual([
        { path: join(roots.dev, "ttyAMA0"), driver: "uart-pl011", hasHid: false, stamp },
      ]);
    }));
}

test("a device that is also a keyboard, pad or light gun is marked, and one with other interfaces is not", () =>
  withTree(async (roots) => {
    await plugIn(roots, { ...ftdi, otherInterfaces: ["0a", "03"] });
    await plugIn(roots, { ...ch340, otherInterfaces: ["0a", "08"] });
    const ports = await listSerialPorts(roots);
    expect(ports.map(({ hasHid }) => hasHid)).toEqual([true, false]);
  }));

test("a port that the kernel's console is on is marked", () =>
  withTree(async (roots) => {
    await plugIn(roots, ftdi);
    await addUart(roots, "ttyAMA0", "direct");
    await attribute(join(roots.sys, "class/tty/console"), "active", "tty0 ttyAMA0");
    const ports = await listSerialPorts(roots);
    expect(ports.map(({ isConsole }) => isConsole)).toEqual([true, undefined]);
  }));

test("a port with the maintainer's shell got the bytes of a search for readers", () =>
  withTree(async (roots) => {
    await plugIn(roots, ftdi);
    await addUart(roots, "ttyAMA0", "direct");
    const proc = join(roots.sys, "../proc");
    await attribute(proc, "cmdline", "root=/dev/sda console=ttynull tapdeck.shell=ttyAMA0 quiet");
    const ports = await listSerialPorts({ ...roots, proc });
    expect(ports.map(({ isConsole }) => isConsole)).toEqual([true, undefined]);
  }));

test("the lasting names are found, the first of several, and dead links are passed over", () =>
  withTree(async (roots) => {
    await plugIn(roots, ftdi);
    await plugIn(roots, ch340);
    const [byId, byPath] = [join(roots.dev, "serial/by-id"), join(roots.dev, "serial/by-path")];
    const node = join(roots.dev, "ttyUSB0");
    await link(join(byId, "usb-FTDI_FT232R_USB_UART_A10K5J2M-if00-port0"), node);
    await link(join(byPath, "platform-3f980000.usb-usbv2-0:1.1:1.0-port0"), node);
    await link(join(byPath, "platform-3f980000.usb-usb-0:1.1:1.0-port0"), node);
    await link(join(byPath, "platform-3f980000.usb-usb-0:1.4:1.0-port0"), join(roots.dev, "ttyUSB9"));
    await writeFile(join(byId, "no link"), "");
    const [first, second] = await listSerialPorts(roots);
    expect(first?.byId).toBe(join(byId, "usb-FTDI_FT232R_USB_UART_A10K5J2M-if00-port0"));
    expect(first?.byPath).toBe(join(byPath, "platform-3f980000.usb-usb-0:1.1:1.0-port0"));
    expect(second).not.toHaveProperty("byId");
    expect(second).not.toHaveProperty("byPath");
  }));

test("terminals without hardware, ports made in case, and ports without a node are none", () =>
  withTree(async (roots) => {
    await attribute(join(roots.sys, "class/tty/tty0"), "active", "tty1");
    await addTty(roots, "ttyS0", join(roots.sys, "devices/platform/serial8250"), "0");
    await plugIn(roots, ftdi);
    await rm(join(roots.dev, "ttyUSB0"));
    await link(join(roots.sys, "class/tty/ttyUSB7"), join(roots.sys, "devices/gone"));
    expect(await listSerialPorts(roots)).toEqual([]);
  }));

test("a machine without sysfs has no ports", async () => {
  expect(await listSerialPorts({ sys: "/there-is-no-sys", dev: "/dev" })).toEqual([]);
});

test("a stamp stays while a device stays, and changes when it was plugged in again", () =>
  withTree(async (roots) => {
    await plugIn(roots, ftdi);
    const stampOf = async () => (await listSerialPorts(roots))[0]?.stamp;
    const first = await stampOf();
    expect(await stampOf()).toBe(first);
    await rm(join(roots.dev, "ttyUSB0"));
    // This file takes the number of the old inode. Otherwise the new node could get that number within the same tick of
    // the clock.
    await writeFile(join(roots.dev, "placeholder"), "");
    await writeFile(join(roots.dev, "ttyUSB0"), "");
    expect(await stampOf()).not.toBe(first);
  }));

test("a device of which any part is missing already does not disturb the list", () =>
  withTree(async (roots) => {
    await plugIn(roots, ch340);
    await plugIn(roots, ftdi);
    const usb = join(roots.sys, "devices/platform/soc/3f980000.usb/usb1", ftdi.bus);
    const parts = await partsOf(usb);
    expect(parts.length).toBeGreaterThan(10);
    for (const part of ["", ...parts]) {
      await rm(join(usb, part), { recursive: true });
      const ports = await listSerialPorts(roots);
      expect(ports.map(({ path }) => path)).toContain(join(roots.dev, "ttyUSB1"));
      await rm(usb, { recursive: true, force: true });
      await rm(join(roots.sys, "class/tty/ttyUSB0"));
      await plugIn(roots, ftdi);
    }
  }));

test("a device that vanishes while the list is made does not disturb it", () =>
  withTree(async (roots) => {
    await plugIn(roots, ch340);
    const usb = join(roots.sys, "devices/platform/soc/3f980000.usb/usb1", ftdi.bus);
    for (let round = 0; round < 30; round++) {
      await plugIn(roots, ftdi);
      const [ports] = await Promise.all([
        listSerialPorts(roots),
        rm(usb, { recursive: true }).then(() => rm(join(roots.sys, "class/tty/ttyUSB0"))),
      ]);
      expect(ports.map(({ path }) => path)).toContain(join(roots.dev, "ttyUSB1"));
    }
  }));
