/**
 * A USB bus with emulated readers on it: each link behaves like one of `drivers/io/usb.ts`, whose transfers end by
 * themselves or by their time-outs.
 */

import { type UsbBus, type UsbDeviceInfo, UsbFault, type UsbLink } from "../../drivers/io/links.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { CcidReader, Transfer } from "./ccid-reader.ts";

export interface EmulatedUsbBus extends UsbBus {
  /** Plugs a reader into a socket of its own, which it keeps. */
  add(
    reader: CcidReader,
    ids?: Partial<Pick<UsbDeviceInfo, "vendorId" | "productId" | "product">>,
  ): UsbSocket;
}

export interface UsbSocket {
  /** The path of the socket, such as `9-1`. */
  readonly path: string;
  plug(): void;
  unplug(): void;
  /** Unplugs the reader for good. */
  remove(): void;
  /** The number of open links to the reader. */
  readonly openLinks: number;
}

interface Plugged {
  readonly info: UsbDeviceInfo;
  readonly reader: CcidReader;
  readonly links: Set<EmulatedLink>;
}

interface EmulatedLink extends UsbLink {
  pulled(): void;
  ready(): void;
}

const busNumber = 9;
const acr122u = { vendorId: "072f", productId: "2200", product: "ACR122U PICC Interface" } as const;

/** Makes the bus. `clock` is that of the transfers' time-outs. */
export function createUsbBus(clock: Clock = systemClock): EmulatedUsbBus {
  const devices = new Map<string, Plugged>();
  let sockets = 0;
  let numbers = 0;

  return {
    list: async () => [...devices.values()].map(({ info }) => info),
    async open({ path, deviceNumber }) {
      const plugged = devices.get(path);
      if (plugged?.info.deviceNumber !== deviceNumber)
        throw new ServiceError("reader-gone", `${path}: there is no such device: is it plugged in?`);
      if (plugged.links.size > 0)
        throw new ServiceError("reader-gone", `${path}: another program has it open: end that one`);
      const link = linkTo(path, plugged.reader, clock, () => plugged.links.delete(link));
      plugged.links.add(link);
      return link;
    },
    add(reader, ids = {}) {
      sockets += 1;
      const path = `${busNumber}-${sockets}`;
      const socket = {
        path,
        get openLinks() {
          return devices.get(path)?.links.size ?? 0;
        },
        plug() {
          if (devices.has(path)) return;
          numbers += 1;
          const info = {
            ...acr122u,
            ...ids,
            path,
            busNumber,
            deviceNumber: numbers,
            stamp: `${busNumber}:${numbers}`,
          };
          const links = new Set<EmulatedLink>();
          devices.set(path, {
            info: { ...info, interfaces: [{ number: 0, classCode: "0b" }] },
            reader,
            links,
          });
          reader.onReady(() => {
            for (const link of links) link.ready();
          });
          reader.powerUp();
        },
        unplug() {
          const pulled = devices.get(path);
          devices.delete(path);
          for (const link of pulled?.links ?? []) link.pulled();
        },
        remove: () => socket.unplug(),
      };
      socket.plug();
      return socket;
    },
  };
}

/** A waiting transfer. */
interface Waiting {
  readonly look: () => void;
  readonly fail: (fault: UsbFault) => void;
}

function linkTo(path: string, reader: CcidReader, clock: Clock, onClosed: () => void): EmulatedLink {
  const waiting = new Set<Waiting>();
  let gone: UsbFault | undefined;

  const end = (why: string) => {
    gone ??= new UsbFault("gone", why);
    for (const one of waiting) one.fail(gone);
  };
  const transfer = (take: () => Transfer, timeoutMs: number) =>
    new Promise<Uint8Array>((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      const settle = () => {
        timer[Symbol.dispose]();
        waiting.delete(one);
      };
      const fail = (fault: UsbFault) => {
        settle();
        reject(fault);
      };
      const one: Waiting = {
        fail,
        look() {
          const taken = take();
          if (taken === undefined) return;
          if (taken === "stalled") return fail(new UsbFault("stalled", "the pipe is halted"));
          settle();
          // The end of a transfer arrives a turn later, like the kernel's.
          setImmediate(() => resolve(taken));
        },
      };
      const timer = clock.after(timeoutMs, () => fail(new UsbFault("timed-out", "nothing came")));
      waiting.add(one);
      one.look();
    });
  const act = async (run: () => void) => {
    if (gone !== undefined) throw gone;
    run();
    // The call may have pulled the plug.
    await new Promise((resolve) => setImmediate(resolve));
    if (gone !== undefined) throw gone;
  };
  return {
    path,
    packetBytes: 64,
    messageBytesMax: 271,
    hasInterrupts: true,
    bulkOut: (bytes) =>
      act(() => {
        if (reader.receive(bytes) === "stalled") throw new UsbFault("stalled", "the pipe is halted");
      }),
    bulkIn: (bytesMax, timeoutMs) => transfer(() => reader.takeBulk(bytesMax), timeoutMs),
    interruptIn: (_bytesMax, timeoutMs) => transfer(reader.takeInterrupt, timeoutMs),
    controlOut: (request) =>
      act(() => {
        if (!reader.control(request)) throw new UsbFault("stalled", "the request is refused");
      }),
    clearHalt: (pipe) => act(() => reader.clearHalt(pipe)),
    reset: () => act(() => reader.reset()),
    pulled: () => end("the device is unplugged"),
    ready: () => {
      for (const one of [...waiting]) one.look();
    },
    async close() {
      if (gone?.message !== closed) onClosed();
      end(closed);
    },
  };
}

const closed = "the link is closed";
