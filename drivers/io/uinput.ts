/**
 * Virtual keyboards and gamepads by the kernel's uinput (Documentation/input/uinput.rst): one open file is one device,
 * for as long as it is open. The layouts are those of linux/uinput.h and linux/input.h, the same on x86-64 and arm64,
 * little-endian.
 *
 *   struct uinput_setup, 92 bytes:
 *   0 bustype  2 vendor  4 product  6 version   u16 each (struct input_id)
 *   8 name     80 bytes, ended by a zero
 *   88 ff_effects_max   u32, 0: no force feedback
 *
 *   struct input_event, 24 bytes:
 *   0 time     16 bytes; the kernel fills them in
 *   16 type u16   18 code u16   20 value s32
 */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep, systemClock } from "../../src/core/clock.ts";
import { messageOf, ServiceError } from "../../src/core/errors.ts";
import type { InputDevice, InputDeviceShape, OpenInputDevice } from "../../src/core/operating-system.ts";
import { ioctl, ioctlValue } from "./libc.ts";

/** The file by which a device is made. Tests have one that needs no kernel. */
export interface UinputFile {
  /** Makes a request, and returns true if the kernel did it. `argument` is read or filled in place. */
  ioctl(request: number, argument: Uint8Array): boolean;
  /** The same as `ioctl`, with a plain number. */
  ioctlValue(request: number, value: number): boolean;
  /** Writes the bytes. Throws if the kernel does not take all of them. */
  write(bytes: Uint8Array): void;
  close(): void;
}

interface UinputParts {
  /** Opens the file. Throws an error with a `code`, as `openSync` does. */
  readonly openFile: () => UinputFile;
  /** The folder in which the kernel lists such devices. */
  readonly sysFolder: string;
  readonly devFolder: string;
  readonly clock: Clock;
}

// devtmpfs makes the node at once, and udev sets its rights a little later. Without a node the keys are sent nevertheless.
const nodeMsMax = 2000;
const nodePollMs = 10;
// Programs notice a new device through udev or inotify after its node appears. No sign shows that they have opened it.
const settleMs = 300;
const vendor = 0x0000; // This vendor is unassigned, because virtual devices have no vendor.
const version = 1;

export const openUinput: OpenInputDevice = createUinput({
  openFile: () => openFile("/dev/uinput"),
  sysFolder: "/sys/devices/virtual/input",
  devFolder: "/dev/input",
  clock: systemClock,
});

export function createUinput(parts: UinputParts): OpenInputDevice {
  return async (shape, signal) => {
    signal.throwIfAborted();
    const file = tryOpen(parts.openFile);
    try {
      make(file, shape);
      await isTakenUp(file, parts, signal);
    } catch (error) {
      file.close();
      throw error;
    }
    return deviceOf(file);
  };
}

function make(file: UinputFile, { name, product, keys }: InputDeviceShape): void {
  const done =
    file.ioctlValue(uinputRequests.setEventBit, evKey) &&
    keys.every((code) => file.ioctlValue(uinputRequests.setKeyBit, code)) &&
    file.ioctl(uinputRequests.setup, encodeSetup({ name, vendor, product, version })) &&
    file.ioctlValue(uinputRequests.create, 0);
  // These requests exist since Linux 4.5.
  if (!done) throw new ServiceError("failed", "the kernel would not make a virtual input device");
}

/** Waits until its node exists, and then gives programs that watch for one some time. */
async function isTakenUp(
  file: UinputFile,
  { sysFolder, devFolder, clock }: UinputParts,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(sysFolder, sysNameOf(file));
  for (let waitedMs = 0; waitedMs < nodeMsMax; waitedMs += nodePollMs) {
    if (await hasNode(folder, devFolder)) break;
    await sleep(clock, nodePollMs, signal);
  }
  await sleep(clock, settleMs, signal);
}

/** The name of the device, such as `input12`; empty if the kernel has no name for it. */
function sysNameOf(file: UinputFile): string {
  const name = new Uint8Array(sysNameBytes);
  if (!file.ioctl(uinputRequests.sysName, name)) return "";
  const text = new TextDecoder().decode(name);
  return text.slice(0, text.indexOf("\0"));
}

/** Whether the event device below `folder` has its node. */
async function hasNode(folder: string, devFolder: string): Promise<boolean> {
  try {
    const event = (await readdir(folder)).find((name) => /^event\d+$/.test(name));
    if (event === undefined) return false;
    await access(join(devFolder, event));
    return true;
  } catch {
    // The folder does not exist yet.
    return false;
  }
}

function deviceOf(file: UinputFile): InputDevice {
  let isOpen = true;
  return {
    turn(codes, isDown) {
      try {
        if (isOpen) file.write(encodeKeys(codes, isDown));
      } catch (error) {
        throw new ServiceError("failed", `the virtual input device is gone: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      file.ioctlValue(uinputRequests.destroy, 0);
      file.close();
    },
  };
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: "there is no /dev/uinput: load the kernel's module with `modprobe uinput`",
  ENODEV: "there is no uinput in this kernel: load its module with `modprobe uinput`",
  EACCES:
    "this user may not open /dev/uinput: give it to the group `input`, as packaging/udev does, and add the user to that group",
};

function tryOpen(open: () => UinputFile): UinputFile {
  try {
    return open();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = refusals[code === "EPERM" ? "EACCES" : code] ?? messageOf(error);
    throw new ServiceError("failed", `no virtual input device can be made: ${why}`, { cause: error });
  }
}

function openFile(path: string): UinputFile {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  return {
    ioctl: (request, argument) => ioctl(fd, request, argument),
    ioctlValue: (request, value) => ioctlValue(fd, request, value),
    write(bytes) {
      // The kernel takes only whole events, but as many of them as are given.
      if (writeSync(fd, bytes) !== bytes.length) throw new Error("the kernel took a part of it only");
    },
    close: () => closeSync(fd),
  };
}

const setupBytes = 92;
const nameBytesMax = 79;
const eventBytes = 24;
const busVirtual = 0x06;
const evSyn = 0x00;
const evKey = 0x01;
const synReport = 0x00;

/** The numbers of these requests, which are the values of `_IOW('U', ...)` and similar macros. */
export const uinputRequests = {
  create: 0x5501,
  destroy: 0x5502,
  setup: 0x405c5503,
  setEventBit: 0x40045564,
  setKeyBit: 0x40045565,
  /** This request returns a name of up to `sysNameBytes` bytes. */
  sysName: 0x8040552c,
} as const;

export const sysNameBytes = 64;

interface UinputSetup {
  readonly name: string;
  readonly vendor: number;
  readonly product: number;
  readonly version: number;
}

export function encodeSetup({ name, vendor, product, version }: UinputSetup): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(setupBytes);
  const view = new DataView(bytes.buffer);
  for (const [place, value] of [busVirtual, vendor, product, version].entries())
    view.setUint16(2 * place, value, true);
  new TextEncoder().encodeInto(name, bytes.subarray(8, 8 + nameBytesMax));
  return bytes;
}

/** Keys one after another, each in a report of its own, because a program must see Shift before the letter. */
export function encodeKeys(codes: readonly number[], isDown: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(codes.length * 2 * eventBytes);
  const view = new DataView(bytes.buffer);
  const put = (place: number, type: number, code: number, value: number) => {
    view.setUint16(place * eventBytes + 16, type, true);
    view.setUint16(place * eventBytes + 18, code, true);
    view.setInt32(place * eventBytes + 20, value, true);
  };
  for (const [index, code] of codes.entries()) {
    put(2 * index, evKey, code, isDown ? 1 : 0);
    put(2 * index + 1, evSyn, synReport, 0);
  }
  return bytes;
}
