/**
 * The compiled binaries and USB: the addon is unpacked and loaded once a reader is plugged in. If that fails, the reader is
 * listed with the reason. The test describes the reader in a sysfs tree of its own, in a mount namespace.
 */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ccidConfiguration, ccidDevice } from "../emulators/ccid-descriptors.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, type Place, startTapdeck } from "../helpers/tapdeck.ts";

const dist = join(import.meta.dir, "../../dist");
const libraries = existsSync("/usr/aarch64-linux-gnu") ? ["-L", "/usr/aarch64-linux-gnu"] : [];
const qemu = ["qemu-aarch64-static", "-cpu", "cortex-a53", ...libraries];
const binaries = {
  x64: [join(dist, "tapdeck-linux-x64")],
  arm64: [...qemu, join(dist, "tapdeck-linux-arm64")],
} as const;
const canMount = process.getuid?.() === 0 && Bun.which("unshare") !== null;

/**
 * The command, in a namespace in which sysfs shows one reader and no other device. The folder for addons is a file system with these
 * options.
 */
async function withReader({ folder }: Place, options: string, command: readonly string[]) {
  const tree = join(folder, "sys");
  const files: Record<string, string | Uint8Array> = {
    "1-1/idVendor": "072f\n",
    "1-1/idProduct": "2200\n",
    "1-1/bcdDevice": "0216\n",
    "1-1/busnum": "1\n",
    "1-1/devnum": "12\n",
    "1-1/devpath": "1\n",
    "1-1/speed": "12\n",
    "1-1/version": " 1.10\n",
    "1-1/bDeviceClass": "00\n",
    "1-1/bDeviceSubClass": "00\n",
    "1-1/bDeviceProtocol": "00\n",
    "1-1/descriptors": Uint8Array.of(...ccidDevice, ...ccidConfiguration),
    "1-1:1.0/bInterfaceNumber": "00\n",
    "1-1:1.0/bInterfaceClass": "0b\n",
  };
  for (const name of ["1-1", "1-1:1.0"])
    await mkdir(join(tree, "bus/usb/devices", name), { recursive: true });
  for (const [name, content] of Object.entries(files))
    await writeFile(join(tree, "bus/usb/devices", name), content);
  const addons = join(folder, "addons");
  await mkdir(addons, { mode: 0o700 });
  const script =
    'mount -t tmpfs none /sys && cp -r "$1/." /sys && mount -t tmpfs -o "$3" none "$2" && shift 3 && exec "$@"';
  return ["unshare", "--mount", "sh", "-ec", script, "sh", tree, addons, options, ...command];
}

const machines = process.arch === "x64" ? (["x64", "arm64"] as const) : (["arm64"] as const);
for (const machine of machines) {
  // The emulator of the other processor maps code without asking for execution.
  const unusable = machine === process.arch ? "noexec" : "ro";
  describe.skipIf(!canMount)(
    `the ${machine} binary (needs root and unshare, to show a device that is none)`,
    () => {
      test("loads its addon for a detected reader, which it lists with what is wrong", async () => {
        await using place = await makePlace();
        await using service = await startTapdeck(place, await withReader(place, "exec", binaries[machine]));
        // The reader has no device node.
        await eventually(() =>
          expect(service.log()).toContain("1-1: there is no such device: is it plugged in?"),
        );
        expect(await readdir(`/proc/${service.pid}/root${place.folder}/addons`)).toHaveLength(1);
        const { readers } = await service.client.call("readers");
        expect(readers).toMatchObject([{ driver: "acr122u-usb", path: "1-1", connected: false }]);
      }, 120_000);

      test("that has no folder to unpack it says so, in its log and to all who ask for its health", async () => {
        await using place = await makePlace();
        await using service = await startTapdeck(place, await withReader(place, unusable, binaries[machine]));
        const reason = "USB support cannot be loaded";
        await eventually(() => expect(service.log()).toContain(reason));
        const health = () => service.client.call("health");
        await eventually(async () => expect((await health()).status).toBe("degraded"));
        const told = (await health()).checks.find(({ name }) => name === "readers");
        expect(told?.reason).toContain(reason);
        expect(told?.reason).toContain("the folder for addons must be writable and not noexec");
      }, 120_000);
    },
  );
}
