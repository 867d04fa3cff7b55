/**
 * Tells when a device has something to read whose messages come by ioctl. Bun waits only for descriptors that it reads
 * itself, so the kernel's asynchronous I/O watches the device (io_submit(2), IOCB_CMD_POLL in linux/aio_abi.h) and
 * counts on an eventfd, which Bun reads. The numbers of the calls are those of asm/unistd_64.h and asm-generic/unistd.h.
 *
 *   struct iocb, 64 bytes   16 opcode (2 bytes)   20 descriptor (4)   24 events of poll(2) (8)   56 flags (4)   60 eventfd (4)
 *   struct io_event, 32     16 events of poll(2) that came (8)
 */
import { dlopen, FFIType, ptr } from "bun:ffi";
import { streamFd } from "./fd-stream.ts";

const word = FFIType.u64;
// The library is opened by its full name, as in libc.ts.
const { symbols: libc } = dlopen("libc.so.6", {
  syscall: { args: [FFIType.i64, word, word, word, word, word], returns: FFIType.i64 },
  eventfd: { args: [FFIType.u32, FFIType.i32], returns: FFIType.i32 },
});

const calls =
  process.arch === "arm64"
    ? { setup: 0, destroy: 1, submit: 2, getEvents: 4 }
    : { setup: 206, destroy: 207, submit: 209, getEvents: 208 };
const pollCommand = 5; // IOCB_CMD_POLL
const withEventFd = 1; // IOCB_FLAG_RESFD
const eventFdFlags = 0x800 | 0x80000; // EFD_NONBLOCK, EFD_CLOEXEC
const requestBytes = 64;
const requestAt = { opcode: 16, descriptor: 20, events: 24, flags: 56, eventFd: 60 };
const eventBytes = 32;
const resultAt = 16;
const readable = 1n; // POLLIN
const broken = 0x18n; // POLLERR, POLLHUP

const call = (number: number, ...words: readonly (bigint | number)[]) => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = words;
  return libc.syscall(number, a, b, c, d, e);
};

/**
 * Calls `onReadable` while the descriptor has something to read, until disposed or until the device is gone. The callee
 * must read everything. Undefined if the kernel cannot watch this descriptor. The caller disposes this before it closes
 * the descriptor.
 */
export function watchReadable(fd: number, onReadable: () => void): Disposable | undefined {
  const context = new BigUint64Array(1);
  if (call(calls.setup, 1, ptr(context)) !== 0n) return undefined;
  const [id = 0n] = context;
  const eventFd = libc.eventfd(0, eventFdFlags);
  const request = new Uint8Array(requestBytes);
  const view = new DataView(request.buffer);
  view.setUint16(requestAt.opcode, pollCommand, true);
  view.setInt32(requestAt.descriptor, fd, true);
  view.setBigUint64(requestAt.events, readable, true);
  view.setUint32(requestAt.flags, withEventFd, true);
  view.setInt32(requestAt.eventFd, eventFd, true);
  const list = new BigUint64Array(1);
  // The kernel watches for one event. If there is something to read already, the event comes at once.
  const watch = () => {
    // An address alone does not keep the request in memory.
    list[0] = BigInt(ptr(request));
    return call(calls.submit, id, 1, ptr(list)) === 1n;
  };
  const happened = () => {
    const event = new Uint8Array(eventBytes);
    const isThere = call(calls.getEvents, id, 0, 1, ptr(event), 0) === 1n;
    return isThere ? new DataView(event.buffer).getBigUint64(resultAt, true) : 0n;
  };
  const stream = streamFd(eventFd, {
    bytes() {
      const events = happened();
      if (events & readable) onReadable();
      if (!isClosed && (events & broken) === 0n) watch();
    },
    gone() {},
  });
  let isClosed = false;
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    // The descriptor of the device must not be watched any more when its number is that of another file.
    call(calls.destroy, id);
    void stream.close();
  };
  if (!watch()) return void close();
  return { [Symbol.dispose]: close };
}
