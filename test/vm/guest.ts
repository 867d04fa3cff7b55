/**
 * A Linux guest with the compiled service in it: QEMU's arm64 machine on an emulated Cortex-A53, and Debian's kernel. Its
 * initramfs is made here from the packages of the image. Its shell listens on a port of its own, because output of other
 * programs on the console can end a shell.
 */
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { unpackHeaders, unpackPackages } from "../../tools/image/debs.ts";
import { root } from "../../tools/image/meta.ts";
import { copyModules } from "../../tools/image/modules.ts";
import { addonLibraries, packages } from "../../tools/image/packages.ts";
import { makeFolders, putBusyBox, putLibrariesOf } from "../../tools/image/programs.ts";
import { run } from "../../tools/image/run.ts";
import { showLog } from "../helpers/processes.ts";
import { createMachinePort } from "./port.ts";

export interface GuestOptions {
  /** The sockets of `createUsbPort`. Each is a device of the guest. */
  readonly usbPorts: readonly string[];
  /** The sockets of serial devices. Each has a USB-serial converter while it is connected. */
  readonly serialPorts: readonly string[];
  /** The sockets by the port's name in the guest: `/dev/NAME`. */
  readonly ports: Readonly<Record<string, string>>;
  /** The files to add, by path. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Guest extends AsyncDisposable {
  readonly pid: number;
  readonly hasEnded: () => boolean;
  /** The output of its console so far. */
  console(): string;
  /** Runs commands, one after another, and resolves with their output; rejects if the machine ends. */
  ask(commands: string): Promise<string>;
}

const program = join(root, "dist/tapdeck-linux-arm64");
const libraryFolder = "usr/lib/aarch64-linux-gnu";
/**
 * Modules of the guest. The kernel's driver for the chip claims an ACR122U before the service starts, and a gamepad
 * needs joydev.
 */
const modules = [
  ...["virtio_pci", "virtio_console", "xhci-pci", "evdev", "joydev", "uinput", "uhid", "hid-generic"],
  ...["ftdi_sio", "pn533_usb", "i2c-dev", "vivid", "led-class-multicolor"],
];
const pollMs = 20;
const answerMsMax = 300_000; // The first answer comes when all modules are loaded, which takes long on a busy machine.

export async function startGuest(options: GuestOptions): Promise<Guest> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-vm-"));
  const { tree, kernel } = await unpackPackages(packages);
  const initramfs = await makeInitramfs(folder, tree, kernel, options);
  const shell = createMachinePort(join(folder, "shell"));
  let said = "";
  let asked = 0;
  let last: Promise<unknown> = Promise.resolve();
  shell.onBytes((bytes) => {
    said += new TextDecoder().decode(bytes);
  });
  const child = Bun.spawn(
    [
      // The machine does not outlive the test, whatever its result.
      ...["setpriv", "--pdeathsig", "KILL"],
      ...["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-smp", "2", "-m", "1024"],
      ...["-nographic", "-no-reboot", "-nic", "none"],
      ...["-kernel", join(tree, "boot", `vmlinuz-${kernel}`), "-initrd", initramfs],
      ...["-append", "console=ttyAMA0 panic=-1 quiet"],
      ...devicesOf({ ...options, ports: { ...options.ports, shell: shell.path } }),
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  let shown = "";
  const consoleShown = showLog(`guest ${child.pid}`, () => shown);
  const show = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) shown += decoder.decode(chunk, { stream: true });
  };
  void show(child.stdout);
  void show(child.stderr);
  const answerTo = async (commands: string) => {
    asked += 1;
    said = "";
    const end = `=end of ${asked}=\n`;
    shell.write(new TextEncoder().encode(`${commands}\necho "=end of ${asked}="\n`));
    const deadline = performance.now() + answerMsMax;
    while (!said.endsWith(end)) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`no answer to ${commands}: ${said}\n${shown.slice(-5000)}`);
      await Bun.sleep(pollMs);
    }
    return said.slice(0, -end.length).trimEnd();
  };
  return {
    pid: child.pid,
    hasEnded: () => child.exitCode !== null,
    console: () => shown,
    ask(commands) {
      const answer = last.then(() => answerTo(commands));
      // All waiting callers get the failure.
      last = answer.catch(() => {});
      return answer;
    },
    async [Symbol.asyncDispose]() {
      consoleShown[Symbol.dispose]();
      child.kill("SIGKILL");
      await child.exited;
      shell.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function devicesOf({ usbPorts, serialPorts, ports }: GuestOptions): readonly string[] {
  return [
    ...["-device", "qemu-xhci", "-device", "virtio-serial-pci"],
    ...usbPorts.flatMap((path, index) => [
      ...["-chardev", `socket,id=usb${index},path=${path}`],
      ...["-device", `usb-redir,chardev=usb${index}`],
    ]),
    ...serialPorts.flatMap((path, index) => [
      ...["-chardev", `socket,id=converter${index},path=${path},reconnect=1`],
      ...["-device", `usb-serial,chardev=converter${index}`],
    ]),
    ...Object.entries(ports).flatMap(([name, path]) => [
      ...["-chardev", `socket,id=${name},path=${path}`],
      ...["-device", `virtserialport,chardev=${name},name=${name}`],
    ]),
  ];
}

async function makeInitramfs(
  folder: string,
  tree: string,
  kernel: string,
  { files }: GuestOptions,
): Promise<string> {
  const target = join(folder, "root");
  await makeFolders(target);
  for (const name of ["proc", "sys", "dev", "tmp", "data"]) await mkdir(join(target, name));
  await putLibrariesOf(program, tree, target);
  for (const name of addonLibraries) {
    await cp(join(tree, libraryFolder, name), join(target, libraryFolder, name), { dereference: true });
    await putLibrariesOf(join(target, libraryFolder, name), tree, target);
  }
  await putBusyBox(join(tree, "bin/busybox"), join(target, "usr/bin"));
  await copyModules(tree, kernel, { names: modules, target });
  await cp(program, join(target, "usr/bin/tapdeck"));
  for (const name of ["cec-ctl", "cec-follower"]) {
    await cp(join(tree, "usr/bin", name), join(target, "usr/bin", name));
    await putLibrariesOf(join(target, "usr/bin", name), tree, target);
  }
  const compiler = process.arch === "arm64" ? "gcc" : "aarch64-linux-gnu-gcc";
  const relay = join(target, "usr/bin/uhid-relay");
  await run([
    ...[compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-static", "-o", relay],
    join(import.meta.dir, "uhid-relay.c"),
  ]);
  await putModules(kernel, join(folder, "modules"), target);
  for (const [path, text] of Object.entries({ ...files, "/init": initScript })) {
    await mkdir(join(target, path, ".."), { recursive: true });
    await writeFile(join(target, path), text);
    await chmod(join(target, path), text.startsWith("#!") ? 0o755 : 0o644);
  }
  const archive = join(folder, "initramfs");
  await run(["sh", "-c", 'find . | cpio --quiet -H newc -o > "$1"', basename(archive), archive], {
    cwd: target,
  });
  await rm(target, { recursive: true });
  return archive;
}

/** Compiles the modules of the tests for this kernel. */
async function putModules(kernel: string, folder: string, target: string): Promise<void> {
  await mkdir(folder);
  for (const name of ownModules) await cp(join(import.meta.dir, `${name}.c`), join(folder, `${name}.c`));
  const objects = ownModules.map((name) => `${name}.o`).join(" ");
  await writeFile(join(folder, "Kbuild"), `obj-m := ${objects}\nccflags-y := -Wall -Werror\n`);
  const cross = process.arch === "arm64" ? [] : ["CROSS_COMPILE=aarch64-linux-gnu-"];
  await run(["make", "-C", await unpackHeaders(kernel), `M=${folder}`, "ARCH=arm64", ...cross, "modules"]);
  for (const name of ownModules) await cp(join(folder, `${name}.ko`), join(target, "usr/lib", `${name}.ko`));
}

/** Buses whose devices are outside the machine, and lights of a case. */
const ownModules = ["bus-relay", "case-lights"];

const initScript = `#!/bin/sh
export PATH=/usr/bin HOME=/data TMPDIR=/tmp
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
ifconfig lo up
for module in ${modules.join(" ")}; do modprobe $module; done
for module in ${ownModules.join(" ")}; do insmod /usr/lib/$module.ko; done
# Names for the ports of the machine, which udev would give.
for port in /sys/class/virtio-ports/*; do ln -s "$(basename $port)" "/dev/$(cat $port/name)"; done
# A port can be opened once at a time.
while :; do sh <> /dev/shell >&0 2>&1; done
`;
