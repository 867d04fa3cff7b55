/**
 * Event-driven reads and patient writes on a non-blocking descriptor. Bun watches a descriptor with epoll only through
 * `Bun.file(fd).stream()`, which works on a copy of it: both must be closed.
 */
import { closeSync, writeSync } from "node:fs";

// The kernel's buffer of a terminal holds 4 KiB; at 115200 baud 2 ms are 23 bytes, so this is rarely tried twice.
const fullRetryMs = 2;

export interface FdStream {
  /** Resolves once the kernel has taken all bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Closes the descriptor. */
  close(): Promise<void>;
}

export interface FdEvents {
  readonly bytes: (bytes: Uint8Array) => void;
  /** The other side hung up, or the device went away. Never called after `close`. */
  readonly gone: (reason: Error) => void;
}

export function streamFd(fd: number, events: FdEvents): FdStream {
  const reader = Bun.file(fd).stream().getReader();
  let state: "open" | "gone" | "closed" = "open";

  const read = async () => {
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
        events.bytes(chunk.value);
      throw new Error("the device went away");
    } catch (error) {
      if (state !== "open") return;
      state = "gone";
      events.gone(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void read();

  return {
    async write(bytes) {
      for (let sent = 0; sent < bytes.length; ) {
        if (state !== "open") throw new Error("the device went away");
        const taken = writeSome(fd, bytes.subarray(sent));
        if (taken === 0) await Bun.sleep(fullRetryMs);
        sent += taken;
      }
    },
    async close() {
      if (state === "closed") return;
      state = "closed";
      // What cancelling reports was ended by us.
      await reader.cancel().catch(() => {});
      closeSync(fd);
    },
  };
}

/** Bytes that the kernel took: 0 where its buffer is full. */
function writeSome(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
    throw error;
  }
}
