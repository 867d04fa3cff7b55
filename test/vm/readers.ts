/** Readers that the kernel makes nodes for, each found, read, and found again after each plugging. */
import { expect, test } from "bun:test";
import type { Pn532Device } from "../../drivers/emulator/pn532-device.ts";
import type { ToypadDevice } from "../emulators/toypad-device.ts";
import type { Deck } from "./deck.ts";
import { type Bench, card, launches, replugs } from "./taps.ts";
import { typed, type UhidDevice } from "./uhid.ts";

const keyMs = 20;

export interface NodeReaders {
  readonly pn532: Pn532Device;
  readonly pad: ToypadDevice;
  readonly padHid: UhidDevice;
  readonly keys: UhidDevice;
}

export function testReaders(deckOf: () => Deck, readers: NodeReaders, testMs: number): void {
  const { pn532, pad, padHid, keys } = readers;
  const comes = async (deck: Deck, bench: Bench, name: string) => {
    const from = deck.heard();
    bench.plug();
    await deck.tells(from, "readers.added", bench.driver);
    await launches(deck, bench, name);
    await replugs(deck, bench, name);
  };

  test(
    "a PN532 behind a USB-serial converter is found, read, and found again after each plugging",
    async () => {
      const bench: Bench = {
        driver: "pn532-uart",
        plug: () => pn532.plug(),
        unplug: () => pn532.unplug(),
        lay: (name) => pn532.put(card(name)),
        lift: () => pn532.take(),
      };
      await comes(deckOf(), bench, "one.card");
    },
    testMs,
  );

  test(
    "a Toy Pad is found, woken, read, and found again after each plugging",
    async () => {
      let index = 0;
      const bench: Bench = {
        driver: "toypad",
        plug: padHid.plug,
        unplug() {
          padHid.unplug();
          pad.reset();
        },
        lay(name) {
          index = pad.put(card(name), 1);
        },
        lift: () => pad.take(index),
      };
      await comes(deckOf(), bench, "two.card");
    },
    testMs,
  );

  test(
    "a reader that types is found, taken from the console, and found again after each plugging",
    async () => {
      const deck = deckOf();
      await deck.guest.ask("exec 3< /dev/tty1; cat <&3 > /tmp/typed & console=$!; exec 3<&-");
      const bench: Bench = {
        driver: "hid-keyboard",
        plug: keys.plug,
        unplug: keys.unplug,
        async lay(name) {
          // As fast as such readers type; the kernel keeps 64 events for whoever is late.
          for (const report of typed(`SNES/${name}`)) {
            keys.input(report);
            await Bun.sleep(keyMs);
          }
        },
        lift() {},
      };
      await comes(deck, bench, "three.card");
      expect(await deck.guest.ask("kill $console; cat /tmp/typed")).toBe("");
    },
    testMs,
  );
}
