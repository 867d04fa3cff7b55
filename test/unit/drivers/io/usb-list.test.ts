/** The list of USB devices, read from a sysfs tree that the test makes. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineUsb } from "../../../../drivers/io/usb.ts";
import { ccidInterfaceOf, listUsbDevices } from "../../../../drivers/io/usb-list.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import { ccidConfiguration, ccidDevice } from "../../../emulators/ccid-descriptors.ts";

async function withTree(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-usb-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function add(folder: string, name: string, attributes: Record<string, string>): Promise<void> {
  await mkdir(join(folder, name));
  for (const [key, value] of Object.entries(attributes))
    await writeFile(join(folder, name, key), `${value}\n`);
}

test("devices are listed with their interfaces and who has those; hubs' roots are none", () =>
  withTree(async (folder) => {
    await add(folder, "usb1", { idVendor: "1d6b", idProduct: "0002", busnum: "1", devnum: "1" });
    const ids = { idVendor: "072f", idProduct: "2200", busnum: "1", devnum: "12" };
    await add(folder, "1-1.4", { ...ids, product: "ACR122U PICC Interface" });
    await add(folder, "1-1.4:1.0", { bInterfaceNumber: "00", bInterfaceClass: "0b" });
    await symlink("../../bus/usb/drivers/pn533_usb", join(folder, "1-1.4:1.0/driver"));
    await add(folder, "1-1.42", { idVendor: "046d", idProduct: "c31c", busnum: "1", devnum: "13" });
    // This device went away during the reading.
    await mkdir(join(folder, "1-2"));
    expect(await listUsbDevices(folder)).toEqual([
      {
        path: "1-1.4",
        stamp: "1:12",
        busNumber: 1,
        deviceNumber: 12,
        vendorId: "072f",
        productId: "2200",
        product: "ACR122U PICC Interface",
        interfaces: [{ number: 0, classCode: "0b", driver: "pn533_usb" }],
      },
      {
        path: "1-1.42",
        stamp: "1:13",
        busNumber: 1,
        deviceNumber: 13,
        vendorId: "046d",
        productId: "c31c",
        interfaces: [],
      },
    ]);
  }));

test("a machine without USB has no devices", () =>
  withTree(async (folder) => {
    expect(await listUsbDevices(join(folder, "none"))).toEqual([]);
    expect(await ccidInterfaceOf("1-1", folder)).toBeUndefined();
  }));

test("the reader's endpoints are read from the device's descriptors", () =>
  withTree(async (folder) => {
    await mkdir(join(folder, "1-1"));
    await writeFile(join(folder, "1-1/descriptors"), Uint8Array.of(...ccidDevice, ...ccidConfiguration));
    expect(await ccidInterfaceOf("1-1", folder)).toMatchObject({ bulkIn: 2, interruptIn: 1 });
  }));

test("a device that is not there is refused in a sentence", async () => {
  const device = {
    path: "77-1",
    stamp: "",
    busNumber: 77,
    deviceNumber: 1,
    vendorId: "",
    productId: "",
    interfaces: [],
  };
  expect(await machineUsb.open(device).catch(messageOf)).toBe(
    "77-1: it is no smart-card reader: name another one",
  );
});
