/**
 * The kernel's monotonic clock, the same for every process. Bun's `process.hrtime` is not: it counts from a different
 * origin in each process (seen on 1.4.5: two processes 28 ms apart).
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

const { symbols: libc } = dlopen("libc.so.6", {
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
});
const clockMonotonic = 1;
const timespec = new BigInt64Array(2);
const address = ptr(timespec);

/** The nanoseconds since a moment that all processes share. */
export function monotonicNs(): bigint {
  libc.clock_gettime(clockMonotonic, address);
  return (timespec[0] ?? 0n) * 1_000_000_000n + (timespec[1] ?? 0n);
}
