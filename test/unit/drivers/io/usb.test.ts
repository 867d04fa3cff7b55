/**
 * A USB device of this machine, over a stand-in of the addon with its rule: no change of the device runs beside a transfer.
 * The stand-in throws at once if that happens. The addon itself, on a real kernel, is judged by `make test-vm`.
 */

import { expect, test } from "bun:test";
import { acr122uOn } from "../../../../drivers/acr122u-usb.ts";
import { watchSlot } from "../../../../drivers/ccid/slot.ts";
import type { UsbBus } from "../../../../drivers/io/links.ts";
import { type AddonDevice, createUsb } from "../../../../drivers/io/usb.ts";
import { ccidInterfaceIn } from "../../../../drivers/io/usb-list.ts";
import { createBus } from "../../../../src/bus.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import { faultLine } from "../../../../src/core/faults.ts";
import { createLog, silentLog } from "../../../../src/core/log.ts";
import { startReaders } from "../../../../src/readers/readers.ts";
import { ccidConfiguration, ccidDevice } from "../../../emulators/ccid-descriptors.ts";
import { createCcidReader, type Transfer } from "../../../emulators/ccid-reader.ts";
import { createType2Tag } from "../../../emulators/emulated-tags.ts";
import { eventually, within } from "../../../helpers/processes.ts";

const path = "1-1";
const borrowed = "The same native value cannot be borrowed mutably while another borrow is active";

/** An ACR122U behind the addon; its kernel has given the interface to `driver`. */
function machine({ driver, holdsOn = false }: { driver?: string; holdsOn?: boolean } = {}) {
  const reader = createCcidReader({ kind: "acr122u", timing: "none" });
  const said: string[] = [];
  const waiting = new Set<() => void>();
  let owner = driver;
  let opened = 0;
  reader.onReady(() => {
    for (const look of [...waiting]) look();
  });

  const transfer = (take: () => Transfer, timeoutMs: number) =>
    new Promise<Uint8Array>((resolve, reject) => {
      const end = (act: () => void) => {
        waiting.delete(look);
        clearTimeout(timer);
        setImmediate(act);
      };
      const look = () => {
        const taken = take();
        if (taken === "stalled") end(() => reject(new Error("transferIn error: Stall")));
        else if (taken !== undefined) end(() => resolve(taken));
      };
      const timer = setTimeout(() => end(() => reject(new Error("transferIn error: Cancelled"))), timeoutMs);
      waiting.add(look);
      look();
    });
  const device = (): AddonDevice => {
    let [shared, exclusive, isOpen, isClaimed] = [0, false, false, false];
    const sharing = <T>(act: () => Promise<T>): Promise<T> => {
      if (exclusive) throw new Error(borrowed);
      shared += 1;
      return act().finally(() => {
        shared -= 1;
      });
    };
    const alone = (act: () => void): Promise<void> => {
      if (exclusive || shared > 0) throw new Error(borrowed);
      exclusive = true;
      return new Promise<void>((resolve, reject) =>
        setTimeout(() => {
          exclusive = false;
          try {
            resolve(act());
          } catch (error) {
            reject(error);
          }
        }, 5),
      );
    };
    const needsClaim = () => {
      if (!isClaimed) throw new Error("transfer error: endpoint not found");
    };
    return {
      bus: "1",
      address: 7,
      open: () =>
        alone(() => {
          isOpen = true;
          opened += 1;
        }),
      close: () =>
        alone(() => {
          if (isOpen) opened -= 1;
          [isOpen, isClaimed] = [false, false];
        }),
      detachKernelDriver: () =>
        sharing(async () => {
          if (holdsOn) throw new Error("detachKernelDriver error: permission denied (errno 13)");
          said.push(`detached ${owner}`);
          owner = undefined;
        }),
      claimInterface: () =>
        alone(() => {
          if (owner !== undefined) throw new Error("claimInterface error: interface is busy (errno 16)");
          said.push("claimed");
          [owner, isClaimed] = ["usbfs", true];
        }),
      releaseInterface: () =>
        alone(() => {
          needsClaim();
          said.push("released");
          [owner, isClaimed] = [undefined, false];
        }),
      nativeTransferIn: (endpoint, timeoutMs, bytesMax) =>
        sharing(async () => {
          needsClaim();
          const take = endpoint === 2 ? () => reader.takeBulk(bytesMax) : reader.takeInterrupt;
          return transfer(take, timeoutMs);
        }),
      nativeTransferOut: (_endpoint, _timeoutMs, bytes) =>
        sharing(async () => {
          needsClaim();
          reader.receive(bytes);
          return bytes.length;
        }),
      nativeControlTransferOut: ({ request }) =>
        sharing(async () => {
          if (!reader.control(request)) throw new Error("controlTransferOut error: Stall");
          return 0;
        }),
      clearHalt: () => sharing(async () => {}),
      reset: () =>
        sharing(async () => {
          said.push("reset");
          reader.reset();
          [owner, isClaimed] = [driver, false];
        }),
    };
  };
  const info = {
    path,
    stamp: "1:7",
    busNumber: 1,
    deviceNumber: 7,
    vendorId: "072f",
    productId: "2200",
    product: "ACR122U PICC Interface",
  };
  const bus: UsbBus = createUsb({
    list: async () => {
      const held = { number: 0, classCode: "0b", ...(owner === undefined ? {} : { driver: owner }) };
      return [{ ...info, interfaces: [held] }];
    },
    interfaceOf: async () => ccidInterfaceIn(Uint8Array.of(...ccidDevice, ...ccidConfiguration)),
    devices: async () => [device()],
  });
  const open = () => bus.open({ ...info, interfaces: [] });
  return { bus, reader, said, open, owner: () => owner, opened: () => opened };
}

test("a transfer that is asked for while the port is reset waits for its end, and what waits then is ended", async () => {
  const { open, opened, said } = machine();
  const link = await open();
  // Like the listener for changes of the slot, this loop starts the next transfer when the one before ends.
  const faults = new Set<string>();
  let stops = false;
  const listening = (async () => {
    while (!stops && faults.size < 2)
      await link.interruptIn(16, 1).catch(({ name, kind }) => faults.add(`${name} ${kind}`));
  })();
  for (let round = 0; round < 5; round++) await link.reset();
  stops = true;
  await listening;
  expect([...faults]).toEqual(["UsbFault timed-out"]);
  expect(said.filter((line) => line === "claimed")).toHaveLength(6);
  expect(said.filter((line) => line === "released")).toHaveLength(0);
  expect(opened()).toBe(1);
  await link.close();
  expect(said.at(-1)).toBe("released");
  expect(opened()).toBe(0);
});

test("closing waits for what runs, lets nothing begin any more, and leaves nothing open", async () => {
  const { open, opened, owner } = machine();
  const link = await open();
  const last = link.interruptIn(16, 20).catch(({ kind }) => kind);
  const closing = link.close();
  const late = link.interruptIn(16, 20).catch(({ kind }) => kind);
  await Promise.all([closing, link.close()]);
  expect([await last, await late]).toEqual(["timed-out", "gone"]);
  expect([opened(), owner()]).toEqual([0, undefined]);
});

test("a reader is closed in the midst of a reset, and stays closed", async () => {
  const { open, opened } = machine();
  const link = await open();
  const resetting = link.reset();
  await link.close();
  await resetting;
  await expect(link.reset()).rejects.toMatchObject({ kind: "gone" });
  expect(opened()).toBe(0);
});

test("a reader that hangs, and is listened to, is reset again and again, and reads on", async () => {
  const { bus: usb, reader, opened } = machine();
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const context = { clock: systemClock, log };
  const ending = new AbortController();
  const session = await acr122uOn(usb).open(path, context, ending.signal);
  let uids = "";
  const watching = session.watch((present) => {
    uids = present.map(({ uid }) => uid).join();
  }, ending.signal);
  for (const uid of ["04010203040506", "04010203040507", "04010203040508"]) {
    reader.faults.hang("reset");
    await eventually(() =>
      expect(lines.filter((line) => line.includes("USB reset"))).toContainEqual(
        expect.stringContaining("does again"),
      ),
    );
    lines.length = 0;
    const tag = createType2Tag("ntag215", { uid: Uint8Array.fromHex(uid), text: "text" });
    reader.put(tag);
    await eventually(() => expect(uids).toBe(uid));
    reader.take(tag);
    await eventually(() => expect(uids).toBe(""));
  }
  ending.abort(new Error("the test has ended"));
  await session.close();
  await watching;
  expect(lines).toEqual([]);
  expect(opened()).toBe(0);
}, 30_000);

test("the kernel's driver for its chip is detached before the interface is claimed, and after each reset again", async () => {
  const { open, said } = machine({ driver: "pn533_usb" });
  const link = await open();
  expect(said).toEqual(["detached pn533_usb", "claimed"]);
  await link.reset();
  expect(said.slice(2)).toEqual(["reset", "detached pn533_usb", "claimed"]);
  await link.close();
});

test.each([
  [
    { driver: "pn533_usb", holdsOn: true },
    /pn533_usb has it, and does not let go: add "blacklist pn533_usb"/,
  ],
  [
    { driver: "usbhid" },
    /the kernel's driver usbhid has it: add "blacklist usbhid" to a file in \/etc\/modprobe\.d/,
  ],
  [{ driver: "usbfs" }, /another program has it open, most likely pcscd/],
] as const)(
  "a reader that another holds (%p) is told in a sentence, and left as it was",
  async (options, sentence) => {
    const { open, opened, owner } = machine(options);
    const refused = await open().catch((error) => error);
    expect(refused).toMatchObject({ code: "reader-gone" });
    expect(messageOf(refused)).toMatch(sentence);
    expect([opened(), owner()]).toEqual([0, options.driver]);
  },
);

test("if the kernel's driver may not be detached, the readers' state says so, and what to do", async () => {
  const { bus: usb } = machine({ driver: "pn533_usb", holdsOn: true });
  const readers = startReaders({
    connect: [`acr122u-usb:${path}`],
    detect: false,
    drivers: [acr122uOn(usb)],
    bus: createBus(silentLog),
    clock: systemClock,
    log: silentLog,
  });
  try {
    await eventually(() => expect(faultLine(readers.faults())).toContain("does not let go"));
    expect(faultLine(readers.faults())).toBe(
      `${path}: ${path}: the kernel's driver pn533_usb has it, and does not let go: add "blacklist pn533_usb" to a file in /etc/modprobe.d, and plug the reader in again`,
    );
  } finally {
    await readers.close();
  }
});

test("a listener whose link breaks its word ends alone: it reports that, and the reader is asked from then on", async () => {
  const { open } = machine();
  const link = await open();
  const told = Promise.withResolvers<string>();
  const log = createLog({ debug: false, write: told.resolve });
  let asked = 0;
  const interruptIn = async () => {
    asked += 1;
    if (asked === 1) return Uint8Array.of(0x50, 0x03);
    throw new Error(borrowed);
  };
  const slot = watchSlot({ ...link, interruptIn }, 0, systemClock, log);
  expect(await within("log line", told.promise, { seen: () => ({ asked }) })).toContain(
    `cannot listen any more error="${borrowed}"`,
  );
  await slot.close();
  expect([slot.takeChange(), slot.tells]).toEqual([true, false]);
  await link.close();
});
