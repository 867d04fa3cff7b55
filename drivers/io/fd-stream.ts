/**
 * Event-driven reads on a non-blocking descriptor, and writes that wait for room in its buffer. Bun watches a descriptor
 * with epoll only through `Bun.file(fd).stream()`, which works on a copy of it: both must be closed.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { messageOf } from "../../src/core/errors.ts";
import { readerGone } from "./links.ts";

// The pause before the next try to write to a full buffer. At 115200 baud, 23 bytes leave the buffer in this time. A
// terminal's buffer of 4 KiB is rarely full.
const fullRetryMs = 2;

/** The stream has ended: `closed` by this process, or `gone` because the other side hung up or the device went away. */
export class FdError extends Error {
  override readonly name = "FdError";
  readonly why: "closed" | "gone";

  constructor(why: "closed" | "gone", cause?: unknown) {
    super(why === "closed" ? "it was closed" : "the device went away", cause === undefined ? {} : { cause });
    this.why = why;
  }
}

interface FdEvents {
  /** The bytes are valid during the call only. */
  readonly bytes: (bytes: Uint8Array) => void;
  /** Called once when the other side hung up or the device went away, but never after `close`. */
  readonly gone: (reason: Error) => void;
}

/** Reads everything that comes on a non-blocking descriptor, which the stream owns from now on. */
export function streamFd(fd: number, events: FdEvents) {
  const reader = Bun.file(fd).stream().getReader();
  let state: "open" | "gone" | "closed" = "open";
  let lastWrite: Promise<void> | undefined;

  const refuseUnlessOpen = () => {
    if (state !== "open") throw new FdError(state);
  };
  const send = async (bytes: Uint8Array, before: Promise<void> | undefined) => {
    // Without an earlier write there is no wait, so the first bytes leave before this returns.
    if (before !== undefined) await before;
    for (let sent = 0; sent < bytes.length; ) {
      refuseUnlessOpen();
      const taken = writeSome(fd, bytes.subarray(sent));
      if (taken === 0) await Bun.sleep(fullRetryMs);
      sent += taken;
    }
  };
  const pump = async () => {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (state !== "open") return;
        if (done) throw new FdError("gone");
        if (value.length > 0) events.bytes(value);
      }
    } catch (error) {
      // After `close`, the error of a read is expected. A listener that failed ends the stream, so its device is opened
      // again and not read in part.
      if (state !== "open") return;
      state = "gone";
      events.gone(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void pump();
  return {
    /** Resolves once the kernel has taken all bytes. Writes run one after another. Rejects with `FdError`. */
    write(bytes: Uint8Array): Promise<void> {
      if (state !== "open") return Promise.reject(new FdError(state));
      const writing = send(bytes, lastWrite);
      const ended = writing.catch(() => {}); // The caller has the rejection. `ended` only waits for the end.
      lastWrite = ended;
      void ended.then(() => {
        if (lastWrite === ended) lastWrite = undefined;
      });
      return writing;
    },
    /** Resolves once the writes so far have ended, with or without success. */
    written: async () => lastWrite,
    /** Closes the descriptor; a write that waits is rejected. A second call does nothing. */
    async close() {
      if (state === "closed") return;
      state = "closed";
      await reader.cancel().catch(() => {}); // Errors of our own cancellation do not matter.
      closeSync(fd);
    },
  };
}

/** The listeners of a link over a non-blocking descriptor. `errorOf` returns the error for a device that went away. */
export function linkTo(fd: number, errorOf: (cause: Error) => Error) {
  let onBytes: (bytes: Uint8Array) => void = () => {};
  let onGone: (reason: Error) => void = () => {};
  let gone: Error | undefined;
  let closed = false;
  const stream = streamFd(fd, {
    bytes: (bytes) => onBytes(bytes),
    gone: (cause) => {
      gone = errorOf(cause);
      onGone(gone);
    },
  });
  return {
    stream,
    isClosed: () => closed,
    gone: () => gone,
    onBytes(listener: (bytes: Uint8Array) => void) {
      onBytes = listener;
    },
    onGone(listener: (reason: Error) => void) {
      onGone = listener;
      // The device may have gone before the listener was set.
      if (gone !== undefined && !closed) listener(gone);
    },
    /** `release` releases the claim on the device, before the descriptor is closed. */
    async close(release: () => void) {
      if (closed) return;
      closed = true;
      release();
      await stream.close();
    },
  };
}

/** Opens a device node, or throws `reader-gone` with the sentence of `reasons` for the kernel's error code. */
export function openDevice(path: string, flags: number, reasons: Readonly<Record<string, string>>): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    throw readerGone(path, reasons[code] ?? messageOf(error), error);
  }
}

/** Writes some bytes, and returns how many the kernel took: 0 if its buffer is full. */
function writeSome(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
    throw new FdError("gone", error);
  }
}
