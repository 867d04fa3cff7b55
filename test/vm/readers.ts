/** Readers with device nodes of the kernel: each is found and read, and found again after each plugging. */
import { expect, test } from "bun:test";
import type { Mfrc522Device } from "../emulators/mfrc522-device.ts";
import type { Pn532Device } from "../emulators/pn532-device.ts";
import type { ToypadDevice } from "../emulators/toypad-device.ts";
import { command, type Deck } from "./deck.ts";
import { type Bench, card, launches, replugs } from "./taps.ts";
import { typed, type UhidDevice } from "./uhid.ts";

const keyMs = 20;
/** A pause that certainly ends a code. A code ends after 250 ms (`drivers/hid-keyboard.ts`). */
const codeGapMs = 200;
const quietMs = 3000;

export interface NodeReaders {
  readonly pn532: Pn532Device;
  readonly pn532OnI2c: Pn532Device;
  readonly pn532OnSpi: Pn532Device;
  readonly mfrc522: Mfrc522Device;
  readonly pad: ToypadDevice;
  readonly padHid: UhidDevice;
  readonly keys: UhidDevice;
}

type Chip = Pick<Pn532Device, "plug" | "put" | "take"> & { unplug(): unknown };

function benchOf(driver: string, chip: Chip): Bench {
  return {
    driver,
    plug: () => chip.plug(),
    unplug: () => chip.unplug(),
    lay: (name) => chip.put(card(name)),
    lift: () => chip.take(),
  };
}

export function testReaders(deckOf: () => Deck, readers: NodeReaders, testMs: number): void {
  const { pn532, pn532OnI2c, pn532OnSpi, mfrc522, pad, padHid, keys } = readers;
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
      await comes(deckOf(), benchOf("pn532-uart", pn532), "one.card");
    },
    testMs,
  );

  const onBuses = [
    { name: "a PN532 on the kernel's I2C bus", path: "/dev/i2c-1", bench: benchOf("pn532-i2c", pn532OnI2c) },
    {
      name: "a PN532 at CE1 of its SPI bus",
      path: "/dev/spidev0.1",
      bench: benchOf("pn532-spi", pn532OnSpi),
    },
    {
      name: "an MFRC522 at CE0 of its SPI bus",
      path: "/dev/spidev0.0",
      bench: benchOf("mfrc522-spi", mfrc522),
    },
  ];
  const connect = async (deck: Deck, ...connections: readonly string[]) => {
    const settings = JSON.stringify({ readers: connections });
    const said = await deck.guest.ask(
      `${command} call settings.update '${settings}' < /dev/null 2>&1; echo "code $?"`,
    );
    expect(said).toEndWith("code 0");
  };
  for (const { name, path, bench } of onBuses)
    test(
      `${name}, which the settings name, is opened, read, and opened again after each loss of its power`,
      async () => {
        const deck = deckOf();
        await connect(deck, `${bench.driver}:${path}`);
        await comes(deck, bench, "two.card");
        // A reader that the config names is tried all the time, which would slow the other tests down.
        await bench.unplug();
        await connect(deck);
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
      let from = 0;
      const bench: Bench = {
        driver: "hid-keyboard",
        plug: keys.plug,
        unplug: keys.unplug,
        // If the machine stood still, a part of the code may be lost or split. A person would then scan once more, and so
        // does this test.
        async lay(name) {
          const isRead = () => deck.count(from, "tokens.added", name) > 0;
          do {
            from = deck.heard();
            const lost = losses(deck);
            const gapMs = await type(keys, `SNES/${name}`);
            const parts = () => deck.count(from, "tokens.removed", "hid-keyboard");
            await deck.waitFor(
              `code of ${name}`,
              () => isRead() || losses(deck) > lost || (gapMs > codeGapMs && parts() > 0),
            );
            if (!isRead()) await quiet(deck);
          } while (!isRead());
        },
        lift() {},
        since: () => from,
      };
      try {
        await comes(deck, bench, "three.card");
        expect(await deck.guest.ask("cat /tmp/typed")).toBe("");
      } finally {
        await deck.guest.ask("kill $console");
      }
    },
    testMs,
  );
}

/** Types as fast as real readers of this kind. Returns the longest real pause on this machine, in milliseconds. */
async function type(keys: UhidDevice, line: string): Promise<number> {
  let [gapMs, lastMs] = [0, performance.now()];
  for (const report of typed(line)) {
    keys.input(report);
    await Bun.sleep(keyMs);
    const nowMs = performance.now();
    gapMs = Math.max(gapMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  return gapMs;
}

/** Resolves after a time without events. */
async function quiet(deck: Deck): Promise<void> {
  let told = -1;
  while (told !== deck.heard()) {
    told = deck.heard();
    await Bun.sleep(quietMs);
  }
}

/** The number of times that the kernel dropped events. It keeps 64 for a late program, such as a guest on a busy machine. */
function losses(deck: Deck): number {
  return deck.log().split("some of its keys were lost").length - 1;
}
