/**
 * HID devices by their raw node, `/dev/hidraw0`: through `node-hid`, or directly if its addon cannot be loaded.
 *
 * `node-hid` comes first because it writes in a thread of its own and knows the report descriptor. It is loaded when the
 * first device is opened, never before, to save memory. Its addon needs libudev and libusb, which small systems lack. There
 * the node is read and written directly, which suffices for devices with reports of one length.
 */
import { closeSync, constants, openSync, write } from "node:fs";
import { access } from "node:fs/promises";
import type { ServiceError } from "../../src/core/errors.ts";
import { streamFd } from "./fd-stream.ts";
import { isHidraw } from "./libc.ts";
import { type HidLink, type HidOptions, readerGone, unplugged } from "./links.ts";

export async function openHid(path: string, options: HidOptions): Promise<HidLink> {
  await insistOnAccess(path);
  const addon = await loadAddon();
  return addon === undefined ? openHidNode(path, options) : openByAddon(addon, path);
}

type Addon = typeof import("node-hid");
let isRefused = false;

async function loadAddon(): Promise<Addon | undefined> {
  if (isRefused) return undefined;
  try {
    const addon = await import("node-hid");
    // The first call that needs the addon loads it.
    addon.getHidapiVersion();
    return addon;
  } catch {
    // A library is missing, or the addon cannot be unpacked. The node itself also works.
    isRefused = true;
    return undefined;
  }
}

async function openByAddon({ HIDAsync }: Addon, path: string): Promise<HidLink> {
  const device = await HIDAsync.open(path).catch((error: unknown) => {
    throw readerGone(path, "it is no HID device, or another program has it open", error);
  });
  const ends = createEnds(path);
  device.on("error", ends.tell);
  return {
    path,
    onReport(listener) {
      device.removeAllListeners("data");
      device.on("data", listener);
    },
    onGone: ends.onGone,
    async write(report) {
      try {
        await device.write(withNumber(report));
      } catch (error) {
        throw ends.tell(error);
      }
    },
    async close() {
      if (!ends.close()) return;
      // Closing a device that is gone may fail.
      await device.close().catch(() => {});
    },
  };
}

/** Opens the node without any addon. Refuses a path that is no hidraw node. */
export async function openHidNode(path: string, options: HidOptions): Promise<HidLink> {
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  if (isHidraw(fd)) return linkOfFd(fd, path, options);
  closeSync(fd);
  throw readerGone(path, "it is no HID device: name another one");
}

/** The link over a non-blocking descriptor that gives reports of one length. The link owns the descriptor from now on. */
export function linkOfFd(fd: number, path: string, { reportBytes }: HidOptions): HidLink {
  const ends = createEnds(path);
  let onReport: (report: Uint8Array) => void = () => {};
  let cut: Uint8Array = new Uint8Array(0);
  const stream = streamFd(fd, {
    // Each read gives one report, but several reports may arrive together.
    bytes(bytes) {
      cut = cut.length === 0 ? bytes : Uint8Array.of(...cut, ...bytes);
      while (cut.length >= reportBytes) {
        const report = cut.subarray(0, reportBytes);
        cut = cut.subarray(reportBytes);
        onReport(report);
      }
      cut = cut.slice();
    },
    gone: ends.tell,
  });
  return {
    path,
    onReport: (listener) => {
      onReport = listener;
    },
    onGone: ends.onGone,
    write: (report) =>
      new Promise((resolve, reject) => {
        if (ends.over() !== undefined) return reject(ends.over());
        // The write runs in a thread, because the kernel returns only when the device has taken the report (Linux,
        // drivers/hid/usbhid).
        write(fd, withNumber(report), (error) => (error === null ? resolve() : reject(ends.tell(error))));
      }),
    async close() {
      if (ends.close()) await stream.close();
    },
  };
}

/** A zero precedes each report of a device that does not number its reports (Linux, Documentation/hid/hidraw.rst). */
function withNumber(report: Uint8Array): Buffer {
  const numbered = Buffer.alloc(report.length + 1);
  numbered.set(report, 1);
  return numbered;
}

/** A link ends once: because it was closed, or because the device went away. */
function createEnds(path: string) {
  let over: ServiceError | undefined;
  let closed = false;
  let onGone: (reason: Error) => void = () => {};
  return {
    over: () => over,
    tell(cause: unknown): ServiceError {
      const known = over;
      over ??= unplugged(path, cause);
      if (known === undefined && !closed) onGone(over);
      return over;
    },
    onGone(listener: (reason: Error) => void) {
      onGone = listener;
      // The device may have gone before the listener was set.
      if (over !== undefined && !closed) listener(over);
    },
    /** Returns false if the link was closed before. */
    close(): boolean {
      const first = !closed;
      closed = true;
      over ??= readerGone(path, "the device is closed: open it again");
      return first;
    },
  };
}

async function insistOnAccess(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    const why =
      code === "ENOENT"
        ? "there is no such device: is it plugged in?"
        : "this user may not open it: the rules of packaging/udev give it to the group plugdev";
    throw readerGone(path, why, error);
  }
}
