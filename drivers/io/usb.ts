/**
 * USB devices of this machine, by the addon of the package `usb`. This is the only file that loads it, and only when a
 * device is opened. The package's own script computes the name of its addon, which no compiled binary can follow. This
 * file therefore names the addon for each processor.
 */
import { messageOf, ServiceError } from "../../src/core/errors.ts";
import { readerGone, type UsbBus, type UsbDeviceInfo } from "./links.ts";
import { type CcidInterface, ccidInterfaceOf, listUsbDevices } from "./usb-list.ts";
import { type ClaimedDevice, openUsbLink } from "./usb-transfers.ts";

type Addon = Pick<typeof import("usb/index.js"), "nativeGetDevices">;

/** The part of the addon's device that is used before its interface is claimed. */
export interface AddonDevice extends ClaimedDevice {
  readonly bus: string;
  readonly address: number;
  open(): Promise<void>;
  detachKernelDriver(number: number): Promise<void>;
  claimInterface(number: number): Promise<void>;
}

/** The source of devices; tests have their own. */
interface UsbParts {
  readonly list: () => Promise<readonly UsbDeviceInfo[]>;
  readonly interfaceOf: (path: string) => Promise<CcidInterface | undefined>;
  /** The devices that may be opened now. The path is for messages. */
  readonly devices: (path: string) => Promise<readonly AddonDevice[]>;
}

/** Drivers of the kernel that claim a reader and offer nothing that we use. */
const idleDrivers: readonly string[] = ["pn533_usb", "pn533"];
const otherProgram = "usbfs";

export const machineUsb: UsbBus = createUsb({
  list: () => listUsbDevices(),
  interfaceOf: (path) => ccidInterfaceOf(path),
  async devices(path) {
    const { nativeGetDevices } = await load(path);
    // Without sysfs the addon throws, and there are no devices.
    return nativeGetDevices().catch(() => []);
  },
});

export function createUsb(parts: UsbParts): UsbBus {
  return {
    list: parts.list,
    async open(info) {
      const ccid = await parts.interfaceOf(info.path);
      if (ccid === undefined) throw readerGone(info.path, "it is no smart-card reader: name another one");
      return openUsbLink(info.path, ccid, () => claim(parts, info, ccid));
    },
  };
}

/** The device, open, with its interface claimed. */
async function claim(parts: UsbParts, info: UsbDeviceInfo, ccid: CcidInterface): Promise<ClaimedDevice> {
  const { path } = info;
  const device = await find(parts, info);
  try {
    await device.open();
  } catch (error) {
    throw readerGone(path, whyNotOpened(messageOf(error)), error);
  }
  try {
    await setKernelAside(parts, device, info, ccid.number);
    await device.claimInterface(ccid.number);
    return device;
  } catch (error) {
    // The device must not stay open. An error of the closing is ignored, because the caller gets the first error.
    await device.close().catch(() => {});
    throw error instanceof ServiceError ? error : readerGone(path, whyNotClaimed(messageOf(error)), error);
  }
}

async function find(parts: UsbParts, { path, busNumber, deviceNumber }: UsbDeviceInfo): Promise<AddonDevice> {
  const devices = await parts.devices(path);
  const device = devices.find(({ bus, address }) => Number(bus) === busNumber && address === deviceNumber);
  if (device === undefined) throw readerGone(path, "there is no such device: is it plugged in?");
  return device;
}

/** Detaches an idle driver of the kernel. Throws `reader-gone` if another driver or program has the interface. */
async function setKernelAside(
  parts: UsbParts,
  device: AddonDevice,
  { path }: UsbDeviceInfo,
  number: number,
): Promise<void> {
  const now = (await parts.list()).find((other) => other.path === path);
  const driver = now?.interfaces.find((other) => other.number === number)?.driver;
  if (driver === undefined) return;
  if (driver === otherProgram) throw readerGone(path, busy);
  const help = `add "blacklist ${driver}" to a file in /etc/modprobe.d, and plug the reader in again`;
  if (!idleDrivers.includes(driver)) throw readerGone(path, `the kernel's driver ${driver} has it: ${help}`);
  try {
    await device.detachKernelDriver(number);
  } catch (error) {
    throw readerGone(path, `the kernel's driver ${driver} has it, and does not let go: ${help}`, error);
  }
}

let loading: Promise<Addon> | undefined;

/**
 * Loads the addon. A compiled binary writes it to a folder of its own (src/system/addon-folder.ts) when its property is
 * first read.
 */
async function load(path: string): Promise<Addon> {
  try {
    loading ??= (
      process.arch === "arm64"
        ? import("@node-usb/usb-linux-arm64-gnu")
        : import("@node-usb/usb-linux-x64-gnu")
    ).then(({ nativeGetDevices }) => ({ nativeGetDevices }));
    return await loading;
  } catch (error) {
    // The next opening tries again, because the owner may have made the folder writable.
    loading = undefined;
    const why = `USB support cannot be loaded (${messageOf(error)}): the folder for addons must be writable and not noexec`;
    throw readerGone(path, why, error);
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
