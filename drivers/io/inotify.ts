/**
 * Watches on folders through one inotify descriptor (inotify(7)). It reports names that appear, leave, or were written and closed.
 * Masks and flags are those of linux/inotify.h and asm-generic/fcntl.h, equal on x86-64 and arm64.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";
import type { FolderEvent, OpenFolderWatches } from "../../src/core/operating-system.ts";
import { streamFd } from "./fd-stream.ts";

// The library is opened by its full name, as in libc.ts.
const { symbols: libc } = dlopen("libc.so.6", {
  inotify_init1: { args: [FFIType.i32], returns: FFIType.i32 },
  inotify_add_watch: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  inotify_rm_watch: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
});

const flags = 0x800 | 0x80000; // The flags IN_NONBLOCK and IN_CLOEXEC.
const bits = {
  closeWrite: 0x8,
  movedFrom: 0x40,
  movedTo: 0x80,
  create: 0x100,
  delete: 0x200,
  overflow: 0x4000,
  ignored: 0x8000,
  onlyDir: 0x0100_0000,
  isDir: 0x4000_0000,
} as const;
const mask = bits.closeWrite | bits.movedFrom | bits.movedTo | bits.create | bits.delete | bits.onlyDir;

/** Throws if the kernel gives no descriptor: each user has a limited number (fs.inotify.max_user_instances). */
export const openInotify: OpenFolderWatches = (onEvents) => {
  const fd = libc.inotify_init1(flags);
  if (fd < 0) throw new Error("the kernel has no inotify descriptor left: see fs.inotify.max_user_instances");
  const stream = streamFd(fd, { bytes: (bytes) => onEvents(eventsIn(bytes)), gone() {} });
  let isClosed = false;
  return {
    add(path) {
      // After the end, the number of the descriptor may be that of another file.
      if (isClosed) return undefined;
      const watch = libc.inotify_add_watch(fd, ptr(Buffer.from(`${path}\0`)), mask);
      return watch < 0 ? undefined : watch;
    },
    remove(watch) {
      if (!isClosed) libc.inotify_rm_watch(fd, watch);
    },
    close() {
      isClosed = true;
      void stream.close();
    },
  };
};

const headBytes = 16; // The size of struct inotify_event before the name: wd, mask, cookie, len. The name follows, filled with zeros.
const decoder = new TextDecoder();

/** The kernel gives whole events only. */
function eventsIn(bytes: Uint8Array): readonly FolderEvent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const events: FolderEvent[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const is = (bit: number) => (view.getUint32(at + 4, true) & bit) !== 0;
    const length = view.getUint32(at + 12, true);
    const name = bytes.subarray(at + headBytes, at + headBytes + length);
    const end = name.indexOf(0);
    events.push({
      kind: is(bits.overflow)
        ? "overflow"
        : is(bits.ignored)
          ? "ended"
          : is(bits.delete | bits.movedFrom)
            ? "left"
            : is(bits.create | bits.movedTo)
              ? "appeared"
              : "written",
      watch: view.getInt32(at, true),
      name: decoder.decode(end < 0 ? name : name.subarray(0, end)),
      isFolder: is(bits.isDir),
    });
    at += headBytes + length;
  }
  return events;
}
