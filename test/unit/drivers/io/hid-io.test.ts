/**
 * HID and input devices below the drivers: the facts of sysfs, and reports of one length over a real descriptor.
 * Covers: drivers/io/hid.ts, drivers/io/evdev.ts.
 */
import { expect, test } from "bun:test";
import { constants, openSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openKeys } from "../../../../drivers/io/evdev.ts";
import { linkOfFd, openHid, openHidNode } from "../../../../drivers/io/hid.ts";
import { type HidRoots, listHidDevices, listKeyboards } from "../../../../drivers/io/hid-list.ts";
import { setRaw } from "../../../../drivers/io/termios.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import { eventually } from "../../../helpers/processes.ts";
import { withPty } from "../../../helpers/serial-line.ts";

async function withRoots(run: (roots: HidRoots) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-hid-"));
  try {
    await run({ sys: join(folder, "sys"), dev: join(folder, "dev") });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface FakeHid {
  readonly raw: string;
  readonly id: string;
  readonly port: string;
  /** The input nodes, each with its bitmap of keys. */
  readonly inputs?: readonly (readonly [event: string, keys: string])[];
}

/** In Linux's layout: the class has links into the tree of devices. */
async function plugIn({ sys, dev }: HidRoots, { raw, id, port, inputs = [] }: FakeHid): Promise<void> {
  const device = join(sys, "devices", raw);
  const put = async (path: string, text: string) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  };
  await put(
    join(device, "uevent"),
    `DRIVER=hid-generic\nHID_ID=0003:${id}\nHID_NAME=A Name\nHID_PHYS=${port}\n`,
  );
  await mkdir(join(sys, "class/hidraw", raw), { recursive: true });
  await symlink(device, join(sys, "class/hidraw", raw, "device"));
  await put(join(dev, raw), "");
  for (const [at, [event, keys]] of inputs.entries()) {
    await put(join(device, `input/input${at}/capabilities/key`), `${keys}\n`);
    await put(join(device, `input/input${at}/${event}/dev`), "13:64\n");
    await put(join(dev, "input", event), "");
  }
}

// The bitmaps of a full keyboard and of a wheel with media keys (Linux, /proc/bus/input/devices).
const allKeys = "1000000000007 ff9f207ac14057ff febeffdfffefffff fffffffffffffffe";
const mediaKeys =
  "3f000301ff 0 0 483ffff17aff32d bfd4444600000000 1 130ff38b17c000 677bfad9415fed 9ed68000004400 10000002";

test("HID devices are found by their id, and no other is looked at", () =>
  withRoots(async (roots) => {
    expect(await listHidDevices(["0e6f:0241"], roots)).toEqual([]);
    await plugIn(roots, { raw: "hidraw0", id: "0000046D:0000C31C", port: "usb-1/input0" });
    await plugIn(roots, { raw: "hidraw3", id: "00000E6F:00000241", port: "usb-0000:00:14.0-1.2/input0" });
    const [pad, ...more] = await listHidDevices(["0e6f:0241"], roots);
    expect(more).toEqual([]);
    expect(pad).toMatchObject({
      path: join(roots.dev, "hidraw3"),
      id: "0e6f:0241",
      name: "A Name",
      port: "usb-0000:00:14.0-1.2/input0",
    });
  }));

test("of a reader's input nodes the one that types is found, and a person's keyboard never", () =>
  withRoots(async (roots) => {
    await plugIn(roots, {
      raw: "hidraw0",
      id: "0000046D:0000C31C",
      port: "usb-1/input0",
      inputs: [["event3", allKeys]],
    });
    await plugIn(roots, {
      raw: "hidraw1",
      id: "000008FF:00000009",
      port: "usb-2/input0",
      inputs: [
        ["event4", mediaKeys],
        ["event5", allKeys],
        ["event6", "nonsense"],
      ],
    });
    const found = await listKeyboards(["08ff:0009"], roots);
    expect(found.map(({ path, id }) => [path, id])).toEqual([[join(roots.dev, "input/event5"), "08ff:0009"]]);
  }));

test("reports over a descriptor are whole, however they are split, and go out behind a zero", () =>
  withPty(async (far) => {
    const fd = openSync(far.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    setRaw(fd, 115_200);
    const link = linkOfFd(fd, far.path, { reportBytes: 4 });
    const reports: string[] = [];
    const sent: number[] = [];
    const gone: string[] = [];
    link.onReport((report) => reports.push(report.toHex()));
    link.onGone((reason) => gone.push(reason.message));
    far.onBytes((bytes) => sent.push(...bytes));
    for (const piece of [[1], [2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]])
      await far.write(Uint8Array.from(piece));
    await eventually(() => expect(reports).toHaveLength(3));
    expect(reports).toEqual(["01020304", "05060708", "090a0b0c"]);
    await link.write(Uint8Array.of(0xb0, 0x01));
    await eventually(() => expect(sent).toHaveLength(3));
    expect(sent).toEqual([0, 0xb0, 0x01]);
    await far.close();
    await eventually(() => expect(gone).toHaveLength(1));
    expect(gone[0]).toContain("is it plugged in?");
    expect(messageOf(await link.write(Uint8Array.of(1)).catch((error: unknown) => error))).toContain(
      "is it plugged in?",
    );
    await link.close();
    await link.close();
  }));

test("a path that is no HID device, no input device, or not there, is refused in a sentence", async () => {
  const refusals = await Promise.all(
    [
      openHid("/dev/hidraw99", { reportBytes: 32 }),
      openHid("/dev/null", { reportBytes: 32 }),
      openHidNode("/dev/null", { reportBytes: 32 }),
      openKeys("/dev/input/event99", ["08ff:0009"]),
      openKeys("/dev/null", ["08ff:0009"]),
    ].map((opening) => opening.then(() => "opened", messageOf)),
  );
  expect(refusals[0]).toContain("there is no such device");
  expect(refusals[1]).toContain("it is no HID device");
  expect(refusals[2]).toContain("it is no HID device");
  expect(refusals[3]).toContain("there is no such device");
  expect(refusals[4]).toContain("it is no input device");
});
