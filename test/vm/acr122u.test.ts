/**
 * The real driver, in the real binary, on a real kernel: an emulated ACR122U in the USB socket of a virtual machine, plugged,
 * hung and unplugged. The kernel and a root folder come from Debian's packages (test/vm/guest.ts); TAPDECK_VM_ROOT
 * names the folder that they were unpacked into, and without it there is nothing to start.
 */
import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCcidReader } from "../../drivers/emulator/ccid-reader.ts";
import { createType2Tag } from "../../drivers/emulator/tags.ts";
import { startGuest } from "./guest.ts";
import { createUsbPort } from "./usb-redir.ts";

const root = process.env.TAPDECK_VM_ROOT ?? "";
const program = join(import.meta.dir, "../../dist/tapdeck-linux-arm64");
const guestMs = 120_000;

/** The kernel's own driver of the chip, which takes the reader before the service is there. */
const rival = [
  "net/rfkill/rfkill.ko",
  "net/nfc/nfc.ko",
  "drivers/nfc/pn533/pn533.ko",
  "drivers/nfc/pn533/pn533_usb.ko",
];
const card = (text: string, last: number) =>
  createType2Tag("ntag215", { uid: Uint8Array.of(0x04, 1, 2, 3, 4, 5, last), text });

describe.skipIf(root === "")("an ACR122U in a virtual machine (needs TAPDECK_VM_ROOT)", () => {
  test("is taken from the kernel's driver, read, healed, and found again after each plugging", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-redir-"));
    const reader = createCcidReader({ kind: "acr122u", timing: "none" });
    const port = createUsbPort(join(folder, "usb"), reader);
    try {
      await using guest = await startGuest({ root, program, modules: rival, usbPorts: [port.socketPath] });
      let from = 0;
      /** Waits for these words on the console, behind those that were waited for before. */
      const shows = async (words: string) => {
        const deadline = performance.now() + guestMs;
        for (;;) {
          const at = guest.console().indexOf(words, from);
          if (at >= 0) {
            from = at + words.length;
            return;
          }
          if (performance.now() > deadline)
            throw new Error(`no "${words}" in:\n${guest.console().slice(-6000)}`);
          await Bun.sleep(20);
        }
      };
      await shows("guest: ready");
      guest.type(
        "while [ ! -e /sys/bus/usb/devices/1-1 ]; do sleep 0.1; done; ls /sys/bus/usb/drivers/pn533_usb",
      );
      await shows("module");
      guest.type(
        "tapdeck --data=/data < /dev/null & until tapdeck --data=/data ping < /dev/null; do sleep 0.2; done",
      );
      await shows("connected");
      await shows("ACR122U216 with a PN532 v1.6");
      guest.type("tapdeck --data=/data watch < /dev/null &");
      // It says nothing when it has begun to listen, so it is given something to hear.
      guest.type(
        "for i in 1 2 3 4 5 6; do sleep 2; tapdeck --data=/data call media.index; done < /dev/null > /dev/null 2>&1 &",
      );
      await shows("media.indexing");
      for (const [index, text] of ["first card", "second card"].entries()) {
        const tag = card(text, index);
        reader.put(tag);
        await shows(text);
        reader.take(tag);
        await shows("tokens.removed");
      }
      reader.faults.hang("reset");
      await shows('step="USB reset"');
      reader.put(card("after a reset", 7));
      await shows("after a reset");
      reader.take();
      await shows("tokens.removed");
      const plugs = 3;
      for (let round = 0; round < plugs; round++) {
        port.unplug();
        await shows("readers.removed");
        port.plug();
        await shows("connected");
        reader.put(card(`round ${round}`, 20 + round));
        await shows(`round ${round}`);
        reader.take();
        await shows("tokens.removed");
      }
      expect(guest.console().split("readers.removed").length - 1).toBe(plugs);
    } finally {
      port.close();
      await rm(folder, { recursive: true, force: true });
    }
  }, 600_000);
});
