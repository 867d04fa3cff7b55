/**
 * A claimed CCID interface as a link, over a device of the package `usb`.
 *
 * A transfer of the addon ends by itself or by its time-out, and cannot be cancelled. It holds its pipe until then.
 * Transfers may run side by side. A change of the device itself (a claim, a release, a closing) must run alone, or the
 * addon throws. A transfer that is requested during a change therefore waits until the change is over.
 */
import { messageOf } from "../../src/core/errors.ts";
import { UsbFault, type UsbFaultKind, type UsbLink } from "./links.ts";
import type { CcidInterface } from "./usb-list.ts";

/** The part of the addon's device that is used after its interface is claimed. */
export interface ClaimedDevice {
  nativeTransferIn(endpoint: number, timeoutMs: number, bytesMax: number): Promise<Uint8Array | null>;
  nativeTransferOut(endpoint: number, timeoutMs: number, bytes: Uint8Array): Promise<number>;
  nativeControlTransferOut(setup: ClassRequest, timeoutMs: number, bytes: Uint8Array): Promise<number>;
  clearHalt(direction: "in" | "out", endpoint: number): Promise<void>;
  reset(): Promise<void>;
  releaseInterface(number: number): Promise<void>;
  close(): Promise<void>;
}

interface ClassRequest {
  readonly requestType: "class";
  readonly recipient: "interface";
  readonly request: number;
  readonly value: number;
  readonly index: number;
}

/** Opens the link. `claim` opens the device and claims its interface: at once, and again after each reset. */
export async function openUsbLink(
  path: string,
  ccid: CcidInterface,
  claim: () => Promise<ClaimedDevice>,
): Promise<UsbLink> {
  let device = await claim();
  let closed = false;
  let changing: Promise<void> | undefined;
  const running = new Set<Promise<unknown>>();

  const run = async <T>(transfer: (device: ClaimedDevice) => Promise<T>): Promise<T> => {
    while (changing !== undefined) await changing;
    if (closed) throw new UsbFault("gone", "the link is closed");
    const started = begin(() => transfer(device));
    running.add(started);
    try {
      return await started;
    } finally {
      running.delete(started);
    }
  };
  /** Delays new transfers until `act` is over. */
  const change = async (act: () => Promise<void>) => {
    while (changing !== undefined) await changing;
    const { promise, resolve } = Promise.withResolvers<void>();
    changing = promise;
    try {
      await act();
    } finally {
      changing = undefined;
      resolve();
    }
  };
  const release = async () => {
    await Promise.allSettled(running);
    // Both calls fail only if the device is gone or already released, and nothing is held then.
    await begin(() => device.releaseInterface(ccid.number)).catch(() => {});
    await begin(() => device.close()).catch(() => {});
  };
  const receive = async (endpoint: number, bytesMax: number, timeoutMs: number) => {
    const bytes = await run((to) => to.nativeTransferIn(endpoint, timeoutMs, bytesMax));
    return bytes ?? new Uint8Array();
  };
  return {
    path,
    packetBytes: ccid.packetBytes,
    messageBytesMax: ccid.messageBytesMax,
    hasInterrupts: ccid.interruptIn !== undefined,
    async bulkOut(bytes, timeoutMs) {
      await run((to) => to.nativeTransferOut(ccid.bulkOut, timeoutMs, bytes));
    },
    bulkIn: (bytesMax, timeoutMs) => receive(ccid.bulkIn, bytesMax, timeoutMs),
    interruptIn: (bytesMax, timeoutMs) => receive(ccid.interruptIn ?? 0, bytesMax, timeoutMs),
    async controlOut(request, value, timeoutMs) {
      const setup = {
        requestType: "class",
        recipient: "interface",
        request,
        value,
        index: ccid.number,
      } as const;
      await run((to) => to.nativeControlTransferOut(setup, timeoutMs, new Uint8Array()));
    },
    async clearHalt(pipe) {
      const endpoint = {
        "bulk-in": ccid.bulkIn,
        "bulk-out": ccid.bulkOut,
        "interrupt-in": ccid.interruptIn ?? 0,
      };
      await run((to) => to.clearHalt(pipe === "bulk-out" ? "out" : "in", endpoint[pipe]));
    },
    reset: () =>
      change(async () => {
        if (closed) throw new UsbFault("gone", "the link is closed");
        await begin(() => device.reset());
        // The kernel takes the interface away at a reset. Handles from before the reset are useless.
        await release();
        device = await claim();
      }),
    async close() {
      if (closed) return;
      closed = true;
      await change(release);
    },
  };
}

/** Begins a transfer. The addon throws some faults at once, and rejects with others. All become `UsbFault`s of the promise. */
async function begin<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw faultOf(error);
  }
}

/** Maps the addon's message, which is the name of the Rust library's error. */
function faultOf(error: unknown): UsbFault {
  const message = messageOf(error);
  const kinds: readonly (readonly [RegExp, UsbFaultKind])[] = [
    [/Cancelled/, "timed-out"],
    [/Stall/i, "stalled"],
    [/Disconnected|errno 19|No such device/i, "gone"],
  ];
  const kind = kinds.find(([pattern]) => pattern.test(message))?.[1] ?? "failed";
  return new UsbFault(kind, message, error);
}
