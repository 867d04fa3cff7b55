/**
 * An ACR122U in the machine's USB socket, where the kernel's own driver for its chip claims it first. The service detaches
 * that driver, reads, recovers, and finds the reader after each plugging.
 */
import { expect, test } from "bun:test";
import type { CcidReader } from "../emulators/ccid-reader.ts";
import { unlessHeldUp } from "../helpers/emulated.ts";
import type { Deck } from "./deck.ts";
import { type Bench, card, launches, replugs } from "./taps.ts";
import type { UsbPort } from "./usb-redir.ts";

const resets = 4;

export interface UsbReader {
  readonly reader: CcidReader;
  readonly port: UsbPort;
}

export function testAcr122u(deckOf: () => Deck, { reader, port }: UsbReader, testMs: number): void {
  const bench: Bench = {
    driver: "acr122u-usb",
    plug: port.plug,
    unplug: port.unplug,
    lay: (name) => reader.put(card(name)),
    lift: () => reader.take(),
  };

  test(
    "an ACR122U that the kernel's driver has is taken from it, and read",
    async () => {
      const deck = deckOf();
      await becomes(deck, "pn533_usb");
      await deck.start();
      await deck.logs("connected reader=acr122u-usb");
      expect(await driverOf(deck)).toBe("usbfs");
      await launches(deck, bench, "one.card");
    },
    testMs,
  );

  test(
    "an ACR122U that hangs is reset, again and again, and stays one reader with one open file",
    () =>
      unlessHeldUp(async () => {
        const deck = deckOf();
        const from = deck.heard();
        for (let round = 0; round < resets; round++) {
          reader.faults.hang("reset");
          await deck.logs('step="USB reset"');
          await launches(deck, bench, "two.card");
        }
        expect(deck.count(from, "readers.removed", "")).toBe(0);
        expect(await openFiles(deck)).toBe(1);
      }),
    testMs,
  );

  test(
    "an ACR122U is found again after each plugging",
    async () => {
      const deck = deckOf();
      await replugs(deck, bench, "three.card");
      expect(await driverOf(deck)).toBe("usbfs");
      expect(await openFiles(deck)).toBe(1);
    },
    testMs,
  );

  test(
    "an ACR122U that the kernel's driver takes again as it is plugged in is taken from it again",
    async () => {
      const deck = deckOf();
      for (const [index, name] of ["one.card", "two.card"].entries()) {
        const from = deck.heard();
        // The service is stopped meanwhile, so the kernel's driver is certainly first.
        await deck.guest.ask("kill -STOP $(cat /tmp/pid)");
        port.unplug();
        await becomes(deck, undefined);
        port.plug();
        await becomes(deck, "pn533_usb");
        await deck.guest.ask("kill -CONT $(cat /tmp/pid)");
        await deck.tells(from, "readers.removed", bench.driver);
        await deck.tells(from, "readers.added", bench.driver);
        expect(await driverOf(deck)).toBe("usbfs");
        await launches(deck, bench, name);
        // The kernel also reports that its driver had a reader, and lost it.
        const [attached, gone] = await Promise.all(
          ["now attached", "NFC device disconnected"].map((words) =>
            deck.guest.ask(`dmesg | grep -c "NFC: .*${words}"`),
          ),
        );
        expect(Number(attached)).toBeGreaterThanOrEqual(2 + index);
        expect(gone).toBe(attached ?? "");
      }
    },
    testMs,
  );
}

/** The kernel's driver of the reader's interface, by the link in sysfs; undefined if there is no driver, or no reader. */
async function driverOf(deck: Deck): Promise<string | undefined> {
  const link = await deck.guest.ask("readlink /sys/bus/usb/devices/1-1:1.0/driver");
  return link === "" ? undefined : link.slice(link.lastIndexOf("/") + 1);
}

async function becomes(deck: Deck, driver: string | undefined): Promise<void> {
  await deck.waitFor(`driver ${driver} of the reader`, async () => (await driverOf(deck)) === driver);
}

/** The number of open USB devices of the service. */
async function openFiles(deck: Deck): Promise<number> {
  // A descriptor that is closed meanwhile causes an error of `ls`, which the console would show beside the number.
  return Number(await deck.guest.ask("ls -l /proc/$(cat /tmp/pid)/fd 2>/dev/null | grep -c /dev/bus/usb/"));
}
