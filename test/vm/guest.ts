/**
 * A Linux guest with the compiled service in it: QEMU's arm64 machine on an emulated Cortex-A53, a stock kernel, and an
 * initramfs that is made on the spot. People type into its console, and so does the test.
 *
 * `root` is a folder with what Debian's packages linux-image-*-arm64, busybox-static, libc6 and libgcc-s1 unpack to.
 */
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

export interface GuestOptions {
  readonly root: string;
  /** The arm64 binary. */
  readonly program: string;
  /** Modules to load after those of USB, by path below `kernel/`. */
  readonly modules?: readonly string[];
  /** Sockets of `createUsbPort`, each a device of the guest. */
  readonly usbPorts: readonly string[];
}

export interface Guest {
  /** All that its console showed so far. */
  console(): string;
  /** Types a line. */
  type(line: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const usbModules = [
  "drivers/usb/common/usb-common.ko",
  "drivers/usb/core/usbcore.ko",
  "drivers/usb/host/xhci-hcd.ko",
  "drivers/usb/host/xhci-pci.ko",
];
const libraries = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1"];

export async function startGuest({ root, program, modules = [], usbPorts }: GuestOptions): Promise<Guest> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-vm-"));
  const [kernel = ""] = (await readdir(join(root, "boot"))).filter((name) => name.startsWith("vmlinuz-"));
  const initramfs = await makeInitramfs(folder, root, program, kernel.slice(8), [...usbModules, ...modules]);
  const devices = usbPorts.flatMap((path, index) => [
    ...["-chardev", `socket,id=usb${index},path=${path}`],
    ...["-device", `usb-redir,chardev=usb${index}`],
  ]);
  const child = Bun.spawn(
    [
      ...["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-smp", "2", "-m", "1024"],
      ...[
        "-nographic",
        "-no-reboot",
        "-nic",
        "none",
        "-kernel",
        join(root, "boot", kernel),
        "-initrd",
        initramfs,
      ],
      ...["-append", "console=ttyAMA0 panic=-1 quiet", "-device", "qemu-xhci", ...devices],
    ],
    { stdin: "pipe", stdout: "pipe", stderr: "pipe" },
  );
  let shown = "";
  const show = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) shown += decoder.decode(chunk, { stream: true });
  };
  void show(child.stdout);
  void show(child.stderr);
  return {
    console: () => shown,
    type(line) {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function makeInitramfs(
  folder: string,
  root: string,
  program: string,
  version: string,
  modules: readonly string[],
): Promise<string> {
  const tree = join(folder, "root");
  for (const name of ["bin", "lib", "proc", "sys", "dev", "tmp", "data", "modules"])
    await mkdir(join(tree, name), { recursive: true });
  await copyFile(join(root, "bin/busybox"), join(tree, "bin/busybox"));
  await symlink("busybox", join(tree, "bin/sh"));
  await copyFile(program, join(tree, "bin/tapdeck"));
  const from = join(root, "lib/aarch64-linux-gnu");
  for (const name of libraries) await copyFile(join(from, name), join(tree, "lib", name));
  await copyFile(join(from, "ld-linux-aarch64.so.1"), join(tree, "lib/ld-linux-aarch64.so.1"));
  for (const path of modules)
    await copyFile(join(root, "lib/modules", version, "kernel", path), join(tree, "modules", basename(path)));
  await writeFile(join(tree, "init"), initScript(modules));
  await chmod(join(tree, "init"), 0o755);
  const archive = join(folder, "initramfs");
  const made = Bun.spawnSync(["sh", "-c", 'find . | cpio --quiet -H newc -o > "$1"', "sh", archive], {
    cwd: tree,
  });
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return archive;
}

function initScript(modules: readonly string[]): string {
  return `#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/data LD_LIBRARY_PATH=/lib
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
ifconfig lo up
mkdir -p /data/media
# Its serial line is this console, which no driver shall try.
printf '[readers]\\ndetect = false\\nconnect = ["acr122u-usb:1-1"]\\n' > /data/config.toml
${modules.map((path) => `insmod /modules/${basename(path)}`).join("\n")}
stty -echo -icrnl < /dev/console
echo "guest: ready"
# A program that was started here may leave the console non-blocking, and a shell ends of that.
while :; do sh < /dev/console > /dev/console 2>&1; done
`;
}
