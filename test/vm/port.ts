/** A Unix socket for a device of a virtual machine. Outgoing bytes are kept until they are read. */
import { rmSync } from "node:fs";
import type { Socket } from "bun";

export interface MachinePort {
  readonly path: string;
  onBytes(listener: (bytes: Uint8Array) => void): void;
  onOpen(listener: () => void): void;
  write(bytes: Uint8Array): void;
  /** Ends the connection, and stops listening. */
  close(): void;
}

export function createMachinePort(path: string): MachinePort {
  let socket: Socket | undefined;
  let unsent: Uint8Array = new Uint8Array();
  let onBytes: (bytes: Uint8Array) => void = () => {};
  let onOpen = () => {};
  const flush = () => {
    if (socket !== undefined && unsent.length > 0)
      unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
  };
  // Its name remains after the socket is closed.
  rmSync(path, { force: true });
  const server = Bun.listen({
    unix: path,
    socket: {
      open(opened) {
        socket = opened;
        onOpen();
        flush();
      },
      data: (_, bytes) => onBytes(bytes),
      drain: flush,
      close() {
        socket = undefined;
      },
    },
  });
  return {
    path,
    onBytes: (listener) => {
      onBytes = listener;
    },
    onOpen: (listener) => {
      onOpen = listener;
    },
    write(bytes) {
      unsent = Uint8Array.of(...unsent, ...bytes);
      flush();
    },
    close() {
      socket?.end();
      server.stop(true);
    },
  };
}
