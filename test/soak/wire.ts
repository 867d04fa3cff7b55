/** A serial line in memory: an emulated PN532 at one end, a driver's link at the other. */

import type { ByteLink } from "../../drivers/io/links.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { LineTime } from "../emulators/emulated-line.ts";
import type { Pn532Socket } from "../emulators/pn532-device.ts";

export interface Wire {
  /** The place where the emulated chip is plugged in. */
  readonly socket: Pn532Socket;
  /** Opens the driver's side, as `openSerial` does. */
  open(): ByteLink;
  /** Links that are open. */
  readonly openLinks: number;
}

const ignore = (_: unknown): void => {};

export function createWire(path: string, time: LineTime): Wire {
  let toChip: ((bytes: Uint8Array) => void) | undefined;
  let baudRate = 115_200;
  const links = new Set<{ bytes: (bytes: Uint8Array) => void; gone: (reason: Error) => void }>();

  const socket: Pn532Socket = {
    path,
    time,
    plug: () => ({
      onBytes: (listener) => {
        toChip = listener;
      },
      async write(bytes) {
        for (const link of links) link.bytes(bytes.slice());
      },
      baudRate: () => baudRate,
      async close() {
        toChip = undefined;
        for (const link of links) link.gone(new Error("the device went away"));
      },
    }),
  };
  return {
    socket,
    get openLinks() {
      return links.size;
    },
    open() {
      if (toChip === undefined) throw new ServiceError("reader-gone", `${path}: there is no such device`);
      if (links.size > 0) throw new ServiceError("reader-gone", `${path}: another program has it open`);
      baudRate = 115_200;
      let isGone = false;
      let onGone: (reason: Error) => void = ignore;
      const link = {
        bytes: ignore as (bytes: Uint8Array) => void,
        gone(reason: Error) {
          isGone = true;
          onGone(reason);
        },
      };
      links.add(link);
      const gone = () => new Error("the device went away");
      return {
        path,
        onBytes: (listener) => {
          link.bytes = listener;
        },
        onGone: (listener) => {
          onGone = listener;
        },
        async write(bytes) {
          if (isGone) throw gone();
          // Bytes arrive a turn later, as over a line.
          const sent = bytes.slice();
          await time.turn();
          if (!isGone) toChip?.(sent);
        },
        async setBaudRate(rate) {
          if (isGone) throw gone();
          baudRate = rate;
        },
        async close() {
          links.delete(link);
          isGone = true;
          [link.bytes, onGone] = [ignore, ignore];
        },
      };
    },
  };
}
