/**
 * The real drivers, in the real binary, on a real kernel: four readers in the sockets of one virtual machine, found, read,
 * plugged and unplugged. `make test-vm` runs it; what it needs comes with the parts of the image.
 *
 *   PN532          QEMU's FTDI converter, joined to the emulated chip
 *   ACR122U        QEMU's usb-redir, joined to the emulated reader; the kernel's pn533 tries it first
 *   HID keyboard   /dev/uhid of the guest
 *   Toy Pad        /dev/uhid of the guest
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCcidReader } from "../../drivers/emulator/ccid-reader.ts";
import { createType2Tag, type EmulatedTag } from "../../drivers/emulator/tags.ts";
import { createToypadDevice } from "../emulators/toypad-device.ts";
import { type Guest, startGuest } from "./guest.ts";
import { createMachinePort } from "./port.ts";
import { createSerialPn532 } from "./serial-port.ts";
import { createUhidDevice, keyboardDescriptor, padDescriptor, typed } from "./uhid.ts";
import { createUsbPort } from "./usb-redir.ts";

const guestMs = 120_000;
const testMs = 300_000;
const keyMs = 20;
const folder = await mkdtemp(join(tmpdir(), "tapdeck-sockets-"));
const socket = (name: string) => join(folder, name);

const acr122u = createCcidReader({ kind: "acr122u", timing: "none" });
const usbPort = createUsbPort(socket("usb"), acr122u);
const { device: pn532 } = createSerialPn532(socket("serial"));
const events = createMachinePort(socket("events"));
const pad = createToypadDevice();
const padPort = createMachinePort(socket("pad"));
const padHid = createUhidDevice(padPort, {
  name: "LEGO READER V2.10",
  vendor: 0x0e6f,
  product: 0x0241,
  descriptor: padDescriptor,
  output: pad.receive,
});
pad.onReport(padHid.input);
const keysPort = createMachinePort(socket("keys"));
const keys = createUhidDevice(keysPort, {
  name: "Symbol Bar Code Scanner",
  vendor: 0x05e0,
  product: 0x1200,
  descriptor: keyboardDescriptor,
});

/** What the service told, line by line. */
const heard: { readonly method: string; readonly line: string }[] = [];
let guest: Guest;

beforeAll(async () => {
  let rest = "";
  events.onBytes((bytes) => {
    const lines = (rest + new TextDecoder().decode(bytes)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("{")) heard.push({ method: JSON.parse(line).method, line });
  });
  guest = await startGuest({
    usbPorts: [usbPort.socketPath],
    serialPorts: [socket("serial")],
    ports: { events: events.path, pad: padPort.path, keys: keysPort.path },
    files: {
      "/data/config.toml": config,
      "/usr/bin/player": '#!/bin/sh\necho "player: $1" > /dev/console\n',
      ...Object.fromEntries(cards.map((name) => [`/data/media/SNES/${name}`, ""])),
    },
  });
  await shows("guest: ready");
  guest.type(
    "while [ ! -e /sys/bus/usb/devices/1-1 ]; do sleep 0.1; done; ls /sys/bus/usb/drivers/pn533_usb",
  );
  await shows("module");
  guest.type("uhid-relay /dev/pad & uhid-relay /dev/keys &");
  guest.type(
    "tapdeck --data=/data < /dev/null & until tapdeck --data=/data ping < /dev/null; do sleep 0.2; done",
  );
  await shows("connected");
  guest.type("tapdeck --data=/data watch --json < /dev/null | cat > /dev/events &");
  // It says nothing when it has begun to listen, so it is given something to hear.
  guest.type(
    "for i in 1 2 3 4 5 6; do sleep 2; tapdeck --data=/data call media.index; done < /dev/null > /dev/null 2>&1 &",
  );
  await tells(0, "media.indexing", "");
}, testMs);

afterAll(async () => {
  await guest?.[Symbol.asyncDispose]();
  for (const one of [usbPort, events, padPort, keysPort]) one.close();
  await pn532.close();
  await rm(folder, { recursive: true, force: true });
});

const cards: readonly string[] = ["one.card", "two.card", "three.card"];
const config = `[[launchers]]
id = "player"
systems = ["SNES"]
extensions = [".card"]
command = ["player", "{path}"]
`;
const plugs = 2;

test(
  "an ACR122U is found where the kernel's own driver tried it first, read, healed, and found again after each plugging",
  async () => {
    const lay = (name: string) => put(acr122u, name);
    await launches("acr122u-usb", lay, acr122u.take, "one.card");
    acr122u.faults.hang("reset");
    await shows('step="USB reset"');
    await launches("acr122u-usb", lay, acr122u.take, "two.card");
    await replugs("acr122u-usb", usbPort, () => launches("acr122u-usb", lay, acr122u.take, "three.card"));
  },
  testMs,
);

test(
  "a PN532 behind a USB-serial converter is found, read, and found again after each plugging",
  async () => {
    const from = heard.length;
    const run = () =>
      launches(
        "pn532-uart",
        (name) => put(pn532, name),
        () => pn532.take(),
        "one.card",
      );
    pn532.plug();
    await tells(from, "readers.added", "pn532-uart");
    await run();
    await replugs("pn532-uart", pn532, run);
  },
  testMs,
);

test(
  "a Toy Pad is found, woken, read, and found again after each plugging",
  async () => {
    const from = heard.length;
    let index = 0;
    const lay = (name: string) => {
      index = pad.put(card(name), 1);
    };
    const run = () => launches("toypad", lay, () => pad.take(index), "two.card");
    padHid.plug();
    await tells(from, "readers.added", "toypad");
    await run();
    const plug = {
      plug: padHid.plug,
      unplug() {
        padHid.unplug();
        pad.reset();
      },
    };
    await replugs("toypad", plug, run);
  },
  testMs,
);

test(
  "a reader that types is found, taken from the console, and found again after each plugging",
  async () => {
    const from = heard.length;
    const shown = guest.console().length;
    const lay = async (name: string) => {
      // As fast as such readers type; the kernel keeps 64 events for whoever is late.
      for (const report of typed(`SNES/${name}`)) {
        keys.input(report);
        await Bun.sleep(keyMs);
      }
    };
    const run = () => launches("hid-keyboard", lay, () => {}, "three.card");
    keys.plug();
    await tells(from, "readers.added", "hid-keyboard");
    await run();
    await replugs("hid-keyboard", keys, run);
    expect(guest.console().slice(shown)).not.toContain("not found");
  },
  testMs,
);

function card(name: string): EmulatedTag {
  const uid = Uint8Array.of(0x04, 1, 2, 3, 4, 5, cards.indexOf(name));
  return createType2Tag("ntag215", { uid, text: `SNES/${name}` });
}

function put(reader: { put(tag: EmulatedTag): void }, name: string): void {
  reader.put(card(name));
}

/** One tap: the card is told once, its player runs, and its removal is told once. */
async function launches(
  driver: string,
  lay: (name: string) => unknown,
  lift: () => void,
  name: string,
): Promise<void> {
  const from = heard.length;
  await lay(name);
  await tells(from, "tokens.added", name);
  await tells(from, "media.started", name);
  await shows(`player: /data/media/SNES/${name}`);
  lift();
  await tells(from, "tokens.removed", name);
  await tells(from, "media.stopped", name);
  expect(count(from, "tokens.added", driver)).toBe(1);
  expect(count(from, "tokens.removed", driver)).toBe(1);
  expect(count(from, "media.started", "")).toBe(1);
}

/** Pulled out and put in again, several times: each is told once, and the reader hears. */
async function replugs(
  driver: string,
  { plug, unplug }: { plug(): void; unplug(): unknown },
  tap: () => Promise<void>,
): Promise<void> {
  for (let round = 0; round < plugs; round++) {
    const [from, excused] = [heard.length, excuses(driver)];
    await unplug();
    await tells(from, "readers.removed", driver);
    plug();
    await tells(from, "readers.added", driver);
    await tap();
    const most = 1 + excuses(driver) - excused;
    expect(count(from, "readers.added", driver)).toBeLessThanOrEqual(most);
    expect(count(from, "readers.removed", driver)).toBe(count(from, "readers.added", driver));
  }
}

/** How often the log says that this reader was too late, which a guest on a busy machine believes of it. */
function excuses(driver: string): number {
  const late = new RegExp(`(does not answer|said nothing).* reader=${driver}`, "g");
  return [...guest.console().matchAll(late)].length;
}

function count(from: number, method: string, words: string): number {
  return heard.slice(from).filter((one) => one.method === method && one.line.includes(words)).length;
}

async function tells(from: number, method: string, words: string): Promise<void> {
  await waitFor(`${method} of ${words}`, () => count(from, method, words) > 0);
}

let shownTo = 0;
/** Waits for these words on the console, behind those that were waited for before. */
async function shows(words: string): Promise<void> {
  await waitFor(words, () => {
    const at = guest.console().indexOf(words, shownTo);
    if (at < 0) return false;
    shownTo = at + words.length;
    return true;
  });
}

async function waitFor(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + guestMs;
  while (!holds()) {
    if (performance.now() > deadline || guest.hasEnded()) {
      const told = heard.slice(-12).map(({ line }) => line);
      throw new Error(`no ${what}:\n${guest.console().slice(-5000)}\n${told.join("\n")}`);
    }
    await Bun.sleep(20);
  }
}
