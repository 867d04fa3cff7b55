/**
 * An input device that types, taken for this process alone. The kernel gives its keys to no other reader, neither the
 * console nor a window (EVIOCGRAB, linux/input.h). It releases them at the end of the process.
 */
import { closeSync, constants } from "node:fs";
import { linkTo, openDevice } from "./fd-stream.ts";
import { ioctl, ioctlValue, requests } from "./libc.ts";
import { type ByteLink, readerGone, unplugged } from "./links.ts";

/** The events of the device as bytes, whole structures of `input_event`. */
export interface KeyLink extends Pick<ByteLink, "path" | "onBytes" | "onGone" | "close"> {
  /** The id that the device itself reports, such as `08ff:0009`. */
  readonly id: string;
}

/**
 * Opens `path` if its device has one of the `ids`, and otherwise throws `reader-gone`. A device with another id is not
 * changed.
 */
export type OpenKeys = (path: string, ids: readonly string[]) => Promise<KeyLink>;

const grab = 1;
const release = 0;

export const openKeys: OpenKeys = async (path, ids) => {
  const fd = openDevice(path, constants.O_RDONLY | constants.O_NONBLOCK, openReasons);
  const refuse = (why: string) => {
    closeSync(fd);
    return readerGone(path, why);
  };
  const id = idOf(fd);
  if (id === undefined) throw refuse("it is no input device: name another one");
  if (!ids.includes(id))
    throw refuse(`the device there is ${id}, which is not known as a reader: add ?id=${id} if it is one`);
  if (!ioctlValue(fd, requests.eviocgrab, grab))
    throw refuse("another program has taken it: end that one, or name another device");

  const { onBytes, onGone, close } = linkTo(fd, (cause) => unplugged(path, cause));
  return {
    path,
    id,
    onBytes,
    onGone,
    // The claim is released here. Otherwise Bun's copy of the descriptor would hold it for a moment after the link has
    // closed.
    close: () => close(() => ioctlValue(fd, requests.eviocgrab, release)),
  };
};

const openReasons = {
  ENOENT: "there is no such device: is it plugged in?",
  ENODEV: "there is no device behind it: is it plugged in?",
  EACCES: "this user may not open it: join the group input and log in again",
};

/** The id of the device from struct input_id, four 16-bit words in native order: bus, vendor, product, version. */
function idOf(fd: number): string | undefined {
  const bytes = new Uint8Array(8);
  if (!ioctl(fd, requests.eviocgid, bytes)) return undefined;
  const view = new DataView(bytes.buffer);
  const hex = (offset: number) => view.getUint16(offset, true).toString(16).padStart(4, "0");
  return `${hex(2)}:${hex(4)}`;
}
