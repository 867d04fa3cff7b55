/**
 * USB devices of this machine, by the addon of the package `usb`: the only file that loads it, and only once a device is
 * opened. The package's own script picks its addon by computed names, which no compiled binary can follow, so the addon
 * itself is named here, for each processor.
 *
 * A transfer of the addon ends by itself or by its time-out, and cannot be called off; each holds its pipe till then.
 */
import { messageOf, ServiceError } from "../../src/core/errors.ts";
import type { CcidInterface } from "./usb-descriptors.ts";
import { type UsbBus, type UsbDeviceInfo, UsbFault, type UsbFaultKind, type UsbLink } from "./usb-link.ts";
import { ccidInterfaceOf, listUsbDevices } from "./usb-list.ts";

type Addon = typeof import("usb/index.js");
type Device = Awaited<ReturnType<Addon["nativeGetDevices"]>>[number];

/** Drivers of the kernel that take a reader for themselves and offer nothing that we use. */
const idleDrivers: readonly string[] = ["pn533_usb", "pn533"];
const otherProgram = "usbfs";

/** The USB ports of this machine. */
export const machineUsb: UsbBus = { list: () => listUsbDevices(), open };

async function open(info: UsbDeviceInfo): Promise<UsbLink> {
  const ccid = await ccidInterfaceOf(info.path);
  if (ccid === undefined) throw refusal(info.path, "it is no smart-card reader: name another one");
  let device = await claim(info, ccid);
  let closed = false;
  const running = new Set<Promise<unknown>>();

  const run = async <T>(transfer: (device: Device) => Promise<T>): Promise<T> => {
    if (closed) throw new UsbFault("gone", "the link is closed");
    const started = transfer(device);
    running.add(started);
    try {
      return await started;
    } catch (error) {
      throw faultOf(error);
    } finally {
      running.delete(started);
    }
  };
  const receive = async (endpoint: number, bytesMax: number, timeoutMs: number) => {
    const bytes = await run((to) => to.nativeTransferIn(endpoint, timeoutMs, bytesMax));
    return bytes ?? new Uint8Array();
  };
  const release = async () => {
    await Promise.allSettled(running);
    // Both fail only where the device is gone, and nothing is held then.
    await device.releaseInterface(ccid.number).catch(() => {});
    await device.close().catch(() => {});
  };
  return {
    path: info.path,
    packetBytes: ccid.packetBytes,
    messageBytesMax: ccid.messageBytesMax,
    hasInterrupts: ccid.interruptIn !== undefined,
    async bulkOut(bytes, timeoutMs) {
      await run((to) => to.nativeTransferOut(ccid.bulkOut, timeoutMs, bytes));
    },
    bulkIn: (bytesMax, timeoutMs) => receive(ccid.bulkIn, bytesMax, timeoutMs),
    interruptIn: (bytesMax, timeoutMs) => receive(ccid.interruptIn ?? 0, bytesMax, timeoutMs),
    async controlOut(request, value, timeoutMs) {
      const setup = {
        requestType: "class",
        recipient: "interface",
        request,
        value,
        index: ccid.number,
      } as const;
      await run((to) => to.nativeControlTransferOut(setup, timeoutMs, new Uint8Array()));
    },
    async clearHalt(pipe) {
      const endpoint = {
        "bulk-in": ccid.bulkIn,
        "bulk-out": ccid.bulkOut,
        "interrupt-in": ccid.interruptIn ?? 0,
      };
      await run((to) => to.clearHalt(pipe === "bulk-out" ? "out" : "in", endpoint[pipe]));
    },
    async reset() {
      await run((to) => to.reset());
      // The kernel takes the interface from us over a reset; what was opened before it is of no use any more.
      await release();
      device = await claim(info, ccid);
      if (closed) await release();
    },
    async close() {
      if (closed) return;
      closed = true;
      await release();
    },
  };
}

/** The device, open, with its interface claimed. */
async function claim(info: UsbDeviceInfo, ccid: CcidInterface): Promise<Device> {
  const { path } = info;
  const device = await find(info);
  try {
    await device.open();
  } catch (error) {
    throw refusal(path, whyNotOpened(messageOf(error)), error);
  }
  try {
    await setKernelAside(device, info, ccid.number);
    await device.claimInterface(ccid.number);
    return device;
  } catch (error) {
    // It is closed so that nothing stays open; a failure of that changes nothing.
    await device.close().catch(() => {});
    throw error instanceof ServiceError ? error : refusal(path, whyNotClaimed(messageOf(error)), error);
  }
}

async function find({ path, busNumber, deviceNumber }: UsbDeviceInfo): Promise<Device> {
  const { nativeGetDevices } = await load(path);
  // Where sysfs is away, the addon throws; there is no device then.
  const devices = await nativeGetDevices().catch(() => []);
  const device = devices.find(({ bus, address }) => Number(bus) === busNumber && address === deviceNumber);
  if (device === undefined) throw refusal(path, "there is no such device: is it plugged in?");
  return device;
}

/** Throws a sentence where another has the interface; an idle driver of the kernel is detached. */
async function setKernelAside(device: Device, { path }: UsbDeviceInfo, number: number): Promise<void> {
  const now = (await listUsbDevices()).find((other) => other.path === path);
  const driver = now?.interfaces.find((other) => other.number === number)?.driver;
  if (driver === undefined) return;
  if (driver === otherProgram) throw refusal(path, busy);
  const help = `add "blacklist ${driver}" to a file in /etc/modprobe.d, and plug the reader in again`;
  if (!idleDrivers.includes(driver)) throw refusal(path, `the kernel's driver ${driver} has it: ${help}`);
  try {
    await device.detachKernelDriver(number);
  } catch (error) {
    throw refusal(path, `the kernel's driver ${driver} has it, and does not let go: ${help}`, error);
  }
}

let loading: Promise<Addon> | undefined;

/** The addon. A compiled binary unpacks it into the folder for temporary files and loads it from there. */
async function load(path: string): Promise<Addon> {
  try {
    loading ??=
      process.arch === "arm64"
        ? import("@node-usb/usb-linux-arm64-gnu")
        : import("@node-usb/usb-linux-x64-gnu");
    return await loading;
  } catch (error) {
    // The folder may be made writable meanwhile.
    loading = undefined;
    const why = `USB support cannot be loaded (${messageOf(error)}): the folder in TMPDIR must be writable and not noexec`;
    throw refusal(path, why, error);
  }
}

const busy =
  "another program has it open, most likely pcscd: end it by `systemctl disable --now pcscd.socket pcscd`";

function whyNotOpened(message: string): string {
  if (/errno 13|permission/i.test(message))
    return "this user may not open it: join the group plugdev and log in again, or see packaging/udev";
  if (/errno 2\b|errno 19|not found|disconnected|no such/i.test(message))
    return "there is no such device: is it plugged in?";
  return message;
}

function whyNotClaimed(message: string): string {
  return /errno 16|busy/i.test(message) ? busy : message;
}

/** What the addon says of a transfer: the name of the Rust library's error. */
function faultOf(error: unknown): UsbFault {
  const message = messageOf(error);
  const kinds: readonly (readonly [RegExp, UsbFaultKind])[] = [
    [/Cancelled/, "timed-out"],
    [/Stall/i, "stalled"],
    [/Disconnected|errno 19|No such device/i, "gone"],
  ];
  const kind = kinds.find(([pattern]) => pattern.test(message))?.[1] ?? "failed";
  return error instanceof UsbFault ? error : new UsbFault(kind, message, error);
}

function refusal(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError("reader-gone", `${path}: ${why}`, cause === undefined ? {} : { cause });
}
