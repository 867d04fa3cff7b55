/**
 * The few calls of the C library that Bun lacks: ioctl on terminals, flock for device I/O, limits of this process, and
 * options of its sockets. Request numbers and layouts are Linux's for x86-64 and arm64 (asm-generic/ioctls.h, termbits.h),
 * which agree.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

// The library is opened by its full name, because Debian's "libc.so" is a linker script, and an empty name does not open.
const { symbols: libc } = dlopen("libc.so.6", {
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
  flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  getsockname: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  getsockopt: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.ptr],
    returns: FFIType.i32,
  },
  getrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  shutdown: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  madvise: { args: [FFIType.u64, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
});

export const requests = {
  tcgets: 0x5401,
  tcsets: 0x5402,
  tcgets2: 0x802c542a,
  tcsets2: 0x402c542b,
  tcflsh: 0x540b,
  tiocexcl: 0x540c,
  tiocnxcl: 0x540d,
  tiocsctty: 0x540e,
  tiocoutq: 0x5411,
  tiocgserial: 0x541e,
  tiocsserial: 0x541f,
  tiocgetd: 0x5424,
  tiocsergetlsr: 0x5459,
  kdsetmode: 0x4b3a,
  kdgetmode: 0x4b3b,
  tiocgptn: 0x80045430,
  tiocsptlck: 0x40045431,
  hidiocgrawinfo: 0x80084803,
  eviocgid: 0x80084502,
  eviocgrab: 0x40044590,
} as const;

/** Makes the request, and returns true if the kernel did it. `argument` is read or filled in place. */
export function ioctl(fd: number, request: number, argument: Uint8Array | Int32Array): boolean {
  return libc.ioctl(fd, BigInt(request), ptr(argument)) === 0;
}

/** Like `ioctl`, for requests that return the number of bytes that they filled in. */
export function ioctlFilled(fd: number, request: number, argument: Uint8Array): boolean {
  return libc.ioctl(fd, BigInt(request), ptr(argument)) >= 0;
}

/** Like `ioctl`, for requests whose argument is a plain number. */
export function ioctlValue(fd: number, request: number, value: number): boolean {
  return libc.ioctl(fd, BigInt(request), value === 0 ? null : (value as never)) === 0;
}

/** True if the descriptor is a raw HID node (linux/hidraw.h: struct hidraw_devinfo, 8 bytes). */
export function isHidraw(fd: number): boolean {
  return ioctl(fd, requests.hidiocgrawinfo, new Uint8Array(8));
}

/** Releases the lock of `lockExclusively`, for every copy of the descriptor. */
export function unlock(fd: number): void {
  const lockUn = 8;
  libc.flock(fd, lockUn);
}

/** Locks the whole file for this process alone, without waiting. Returns false if another process has it. */
export function lockExclusively(fd: number): boolean {
  const lockEx = 2;
  const lockNb = 4;
  return libc.flock(fd, lockEx | lockNb) === 0;
}

/** A limit of this process and the children that it makes from now on (getrlimit(2)): soft, then hard. */
export function limitOf(resource: number): BigUint64Array | undefined {
  const limit = new BigUint64Array(2);
  return libc.getrlimit(resource, ptr(limit)) === 0 ? limit : undefined;
}

/** Sets a limit, and returns true if the kernel accepted it. */
export function setLimit(resource: number, soft: bigint, hard: bigint): boolean {
  return libc.setrlimit(resource, ptr(BigUint64Array.of(soft, hard))) === 0;
}

const solSocket = 1; // The level in asm-generic/socket.h.

/** Reads an option of a socket into `value`. Returns false if the descriptor is no socket with this option. */
export function socketOption(fd: number, option: number, value: Int32Array | BigUint64Array): boolean {
  return libc.getsockopt(fd, solSocket, option, ptr(value), ptr(Uint32Array.of(value.byteLength))) === 0;
}

const addressBytesMax = 128; // The size of struct sockaddr_storage.

/** The own address of a socket, with zeros after it; undefined if the descriptor is no socket. */
export function socketName(fd: number): Uint8Array | undefined {
  const address = new Uint8Array(addressBytesMax);
  return libc.getsockname(fd, ptr(address), ptr(Uint32Array.of(addressBytesMax))) === 0 ? address : undefined;
}

/** Ends the connection of a socket in both directions; the descriptor stays open. */
export function endSocket(fd: number): void {
  const both = 2; // The argument SHUT_RDWR.
  libc.shutdown(fd, both);
}

/** Unmaps the pages of a part of this process's memory (madvise(2)). Returns true if the kernel did it. Pages that were written are lost. */
export function dropPages(from: bigint, bytes: bigint): boolean {
  const dontNeed = 4; // The advice MADV_DONTNEED.
  return libc.madvise(from, bytes, dontNeed) === 0;
}
