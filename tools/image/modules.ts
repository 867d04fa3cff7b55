/** The modules of Debian's kernel for the emulated boards, with their dependencies. A real board has a kernel of its own. */
import { cp, mkdir, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "./run.ts";

/** Modules that are loaded before the root file system is mounted. */
export const rootModules: readonly string[] = [
  "virtio_pci",
  "virtio_mmio",
  "virtio_blk",
  "bcm2835",
  "sdhci-iproc",
  "squashfs",
];

/** Modules that the running system can load. */
export const systemModules: readonly string[] = [
  ...rootModules,
  // File systems: the data, the layer over broken data, the boot partition.
  "ext4",
  "crc32c_generic",
  "overlay",
  "vfat",
  "nls_cp437",
  "nls_ascii",
  "nls_iso8859-1",
  "nls_utf8",
  "exfat",
  "usb-storage",
  "uas",
  "sd_mod",
  "zram",
  // The bundle of an update, whose hashes are checked at each read.
  "loop",
  "dm-verity",
  // The emulated boards: network, random numbers, USB, the watchdog.
  "virtio_net",
  "virtio-rng",
  "xhci-pci",
  "dwc2",
  "phy-generic",
  "cdc_ether",
  "i6300esb",
  "bcm2835_wdt",
  "leds-gpio",
  "ledtrig-timer",
  "ledtrig-default-on",
  // Radios without hardware, for the suite of the Wi-Fi setup, and their encryption.
  "mac80211_hwsim",
  ...["ccm", "ctr", "cmac"],
  // Bluetooth: a radio on a serial line, which its suite emulates by a terminal.
  "hci_uart",
  // The keys of Bluetooth LE.
  ...["ecb", "drbg", "jitterentropy_rng", "sha512_generic"],
  // Readers and pads.
  "ftdi_sio",
  "cp210x",
  "ch341",
  "pl2303",
  "cdc-acm",
  "usbhid",
  "hid-generic",
  // The display, and sound.
  "virtio-gpu",
  "snd-usb-audio",
  "snd-aloop",
  // Controllers, keyboards, and sticks with the file systems of PCs.
  "evdev",
  "gpio_keys",
  "joydev",
  "uinput",
  "uhid",
  "usb-storage",
  "uas",
  "sd_mod",
  "exfat",
  "nls_utf8",
  // Modules that /etc/modprobe.d blacklists, so the test of the blacklist can fail.
  "pn533_usb",
];

/** Copies modules from a package's tree to `target/lib/modules`, and writes their index into this folder. */
export async function copyModules(
  tree: string,
  kernel: string,
  { names, target }: { readonly names: readonly string[]; readonly target: string },
): Promise<void> {
  const from = join(tree, "lib/modules", kernel);
  const to = join(target, "lib/modules", kernel);
  const index = await indexOf(tree, kernel);
  const wanted = new Set<string>();
  const take = (path: string) => {
    if (wanted.has(path)) return;
    wanted.add(path);
    for (const needed of index.get(path) ?? []) take(needed);
  };
  for (const name of names) take(pathOf(name, index));
  await mkdir(to, { recursive: true });
  for (const path of wanted) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await cp(join(from, path), join(to, path));
  }
  for (const name of (await readdir(from)).filter((file) => /^modules\.(order|builtin)/.test(file)))
    await cp(join(from, name), join(to, name));
  await run(["depmod", "--basedir", target, kernel]);
}

/** The dependencies of each module of the package, by path. */
async function indexOf(tree: string, kernel: string): Promise<ReadonlyMap<string, readonly string[]>> {
  await run(["depmod", "--basedir", tree, kernel]);
  const text = await readFile(join(tree, "lib/modules", kernel, "modules.dep"), "utf8");
  return new Map(
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [path = "", needed = ""] = line.split(":");
        return [path, needed.split(" ").filter((name) => name !== "")] as const;
      }),
  );
}

/** The path of a module. The kernel treats - and _ in names alike. */
function pathOf(name: string, index: ReadonlyMap<string, unknown>): string {
  const plain = (text: string) => text.replaceAll("-", "_");
  const found = [...index.keys()].find((path) => plain(basename(path, ".ko")) === plain(name));
  if (found === undefined) throw new Error(`the kernel has no module ${name}`);
  return found;
}
