/**
 * Boards that QEMU emulates, with the image in them. `virt` is a plain machine with a Cortex-A53 and the watchdog of a PC
 * chipset. The other is the Raspberry Pi Zero 2 W with its real device tree. Each ends with its test, and leaves nothing
 * behind.
 */
import { existsSync, readFileSync } from "node:fs";
import { appendFile, cp, mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connect, RpcError } from "../../src/client/client.ts";
import { readMeta, root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { freePort } from "../helpers/free-port.ts";
import { showLog } from "../helpers/processes.ts";
import type { Card } from "./card.ts";
import { command, type Picture, takePicture } from "./picture.ts";
import { openShell, type Shell } from "./shell.ts";
import { patienceMs } from "./until.ts";

/** `make test-image IMAGE=FILE` unpacks the image to this folder (tools/image/unpack-image.ts). */
const given = process.env.IMAGE_FOLDER;
export const imageFolder = given ?? join(root, "build/image");
export const image = given === undefined ? join(root, "dist/tapdeck-qemu.img") : join(given, "tapdeck.img");
/** The size of the card is twice that of the image, rounded to a power of two, as the Pi's controller requires it. */
export const cardBytes = 2 ** 30;
const slot = join(imageFolder, "boot/slot-a");
/**
 * True for the image with Debian's kernel and programs. Buildroot's kernel has the drivers of the disk built in, and no initrd.
 */
export const isStandIn = existsSync(join(slot, "initrd"));
const first = isStandIn ? ["-initrd", join(slot, "initrd")] : [];
/** U-Boot from Debian's package u-boot-qemu. */
const loader = "/usr/lib/u-boot/qemu_arm64/u-boot.bin";
const meta = readMeta();
/** The console output of all boards of this checkout, one after the other. */
const consoles = join(root, "build/image", process.env.CONSOLES ?? "consoles-image.log");

// The guest makes the certificate at its first start, so the host cannot check it. The host cannot reach another device
// by mistake.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";

/** A command for the guest's shell: the process of the service itself, without its helpers, which are the same program. */
export const service =
  '$(for pid in $(pidof tapdeck); do grep -q -s "^PPid:.$(cat /var/run/tapdeck-watchdog.pid)$" /proc/$pid/status && echo $pid; done)';

export interface BoardOptions {
  readonly card: Pick<Card, "url">;
  readonly machine?: "virt" | "zero2w";
  /** A pty with a reader: on USB if the machine has it, otherwise on the board's own port. */
  readonly reader?: string;
  /** The socket of an emulated reader's USB port (`createUsbPort`), for `virt` only. */
  readonly usb?: string;
  /** False leaves the hardware watchdog out. */
  readonly watchdog?: boolean;
  /** True to start U-Boot, which finds the kernel on the card, instead of the kernel itself; for `virt` only. */
  readonly loader?: boolean;
  /** Further TCP ports of the guest that the host reaches, by `port`. */
  readonly ports?: readonly number[];
  /** Additional words for QEMU. */
  readonly more?: readonly string[];
  /**
   * True if the one free line is to be a root shell for `shell`, and not the kernel's console. Only `zero2w` has this
   * choice.
   */
  readonly hasShell?: true;
  /** The size of a display for `picture`, such as `320x240`. Only `virt` has one. */
  readonly display?: `${number}x${number}`;
  /** Additional words for the kernel's command line, if no boot loader supplies that line. */
  readonly append?: string;
  /** True for the command line of a Raspberry Pi. Its only console is `ttynull`, so there is no shell and no output of the kernel; for `virt` only. */
  readonly asPi?: true;
}

export interface Board extends AsyncDisposable {
  readonly pid: number;
  /** The address of its HTTP on the host. */
  readonly origin: string;
  /** The port of the host that leads to this one of `ports`. */
  port(guest: number): number;
  /** All output of its console. */
  console(): string;
  /** Resolves as soon as the service answers `ping`, with the milliseconds since the start. Rejects after seven minutes. */
  pong(): Promise<number>;
  /** Resolves when the service no longer answers. */
  silence(): Promise<void>;
  /** Resolves when the console has shown this text `count` times. */
  said(text: string, count?: number): Promise<number>;
  /** Runs a command in the guest, as root, and returns its output. Rejects if it fails. `virt` only. */
  shell(command: string): Promise<string>;
  /** Notes that the guest has restarted: the next command gets a new shell. */
  restarted(): void;
  /**
   * A client of the host over TLS. On `virt` it is a new member, paired in the guest's shell, and on the other machine
   * a stranger. It reconnects, because a first start shows another certificate once it has an address.
   */
  client(): Promise<Client>;
  /** The present picture of its display. Needs `display`. */
  picture(): Promise<Picture>;
  /** Presses the power key of its case. */
  pressPower(): Promise<void>;
  /** Resolves when the board has switched itself off, with the exit code of QEMU, 0. */
  off(): Promise<number>;
  /** Cuts the power. */
  kill(): Promise<void>;
}

const guestSaysMs = 20_000;

/**
 * The paired client of the host for each card. A card that is full, or about to lose its power, therefore need not store
 * another one.
 */
const members = new Map<string, { readonly id: string; readonly secret: string }>();

export async function startBoard(options: BoardOptions): Promise<Board> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-board-"));
  const [port, tlsPort] = [freePort(), freePort()];
  const further = new Map((options.ports ?? []).map((guest) => [guest, freePort()]));
  const forward = [[7497, port] as const, [7498, tlsPort] as const, ...further].map(
    ([guest, host]) => `,hostfwd=tcp:127.0.0.1:${host}-:${guest}`,
  );
  const shellPath = join(folder, "shell.sock");
  const controlPath = join(folder, "control.sock");
  const machine =
    options.machine === "zero2w" ? await zero2w(options, folder, shellPath) : virt(options, shellPath);
  const started = performance.now();
  const child = Bun.spawn(
    [
      // The machine ends with the test, whatever the result.
      ...["setpriv", "--pdeathsig", "KILL", "qemu-system-aarch64"],
      ...["-nodefaults", "-display", "none", "-chardev", "stdio,id=console,signal=off"],
      ...["-qmp", `unix:${controlPath},server=on,wait=off`],
      ...["-m", "512", "-smp", processors(options)],
      ...(options.loader ? ["-bios", loader] : ["-kernel", join(slot, "Image"), ...first]),
      ...["-netdev", `user,id=net${forward.join("")}`],
      ...machine,
    ],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let text = "";
  // Output of QEMU itself, which complains often while the other end of a network is missing.
  let complaints = "";
  const consoleShown = showLog(`board ${child.pid}`, () => text);
  const decoder = new TextDecoder();
  const reading = Promise.all([
    (async () => {
      for await (const chunk of child.stdout) {
        text += decoder.decode(chunk, { stream: true });
        await appendFile(consoles, chunk);
      }
    })(),
    (async () => {
      for await (const chunk of child.stderr) complaints = (complaints + decoder.decode(chunk)).slice(-1000);
    })(),
  ]);
  const fail = (what: string) =>
    new Error(
      `${what}; its console said (all of it is in ${consoles}):\n${text.slice(-3000)}\nand the machine:\n${complaints}`,
    );
  const until = async <Value>(holds: () => Promise<Value | false>, what: string): Promise<Value> => {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const value = await holds();
      if (value !== false) return value;
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw fail(`the board ended (${end}) while ${what}`);
      if (performance.now() > deadline) throw fail(`in vain: ${what}${await guestSays()}`);
      // Each ping costs the emulated processor time.
      await Bun.sleep(200);
    }
  };
  const sinceStart = () => performance.now() - started;
  let shell: Shell | undefined;
  const kill = async () => {
    consoleShown[Symbol.dispose]();
    shell?.close();
    child.kill("SIGKILL");
    await child.exited;
    await reading;
  };
  const inShell = async (command: string) => {
    shell ??= await openShell(shellPath);
    return shell.run(command);
  };
  /** The reports of root on an update, the log and the processes of the guest, if its shell answers. */
  const guestSays = async (): Promise<string> => {
    if (shell === undefined) return "";
    const said = inShell(
      "tail -n 2 /run/tapdeck-machine/update; cat /data/state/update; logread | tail -n 15; ps",
    );
    const late = Bun.sleep(guestSaysMs).then(() => "its shell does not answer");
    const words = await Promise.race([said, late]).catch((error: unknown) => String(error));
    return `; the guest says:\n${words}\n`;
  };
  // On a busy machine the service may be replaced during the request.
  const newMember = () =>
    until(
      () => inShell("tapdeck call clients.new </dev/null").then(identityIn, () => false as const),
      "it was waited for a client",
    );
  return {
    pid: child.pid,
    origin: `http://127.0.0.1:${port}`,
    port: (guest) => further.get(guest) ?? 0,
    console: () => text,
    pong: () => until(() => answers(port), "it was waited for a pong").then(sinceStart),
    off: () => child.exited,
    silence: async () => {
      await until(async () => !(await answers(port)), "it was waited for silence");
    },
    said: (wanted, count = 1) =>
      until(async () => text.split(wanted).length > count, `it was waited for "${wanted}"`).then(sinceStart),
    shell: inShell,
    restarted() {
      shell?.close();
      shell = undefined;
    },
    // TLS comes a moment after the first pong, because a missing certificate is made first.
    async client() {
      const url = `wss://127.0.0.1:${tlsPort}/api/v0.1`;
      return until(async () => {
        const known = members.get(options.card.url);
        if ((options.machine === "zero2w" && !options.hasShell) || known !== undefined) {
          try {
            const client = await connect(url, { ...known, reconnect: true });
            // A slow board may still end a connection whose proof came late.
            await client.call("version");
            return client;
          } catch (error) {
            // A damaged card has lost its clients.
            if (!(error instanceof RpcError)) return false;
          }
        }
        members.set(options.card.url, await newMember());
        return false;
      }, "it was waited for TLS");
    },
    pressPower: () => command(controlPath, { execute: "system_powerdown" }),
    picture: () => takePicture(controlPath, join(folder, "picture.ppm")),
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One processor costs the host a third less than two, which flush each other's TLB. Players need the second one for their sound. */
function processors({ machine, display }: BoardOptions): string {
  if (machine === "zero2w") return "4";
  return display === undefined ? "1" : "2";
}

const rootWords = `root=PARTUUID=${meta.diskId}-02 ro tapdeck.slot=a`;

function piWords(): string {
  const file = readFileSync(join(root, "buildroot/board/raspberrypi/cmdline.txt"), "utf8").trim();
  return file.replace("@ROOT@", `${meta.diskId}-02`).replace("@SLOT@", "a");
}

function virt(
  { card, reader, usb, display, watchdog = true, append = "", loader = false, asPi, more = [] }: BoardOptions,
  shellPath: string,
): string[] {
  // No cursor blinks until the service draws, as on a board (buildroot/board/raspberrypi/cmdline.txt).
  // With a seed for KASLR the kernel also isolates its page tables, so each system call empties QEMU's TLB, and a start
  // took a fifth longer.
  const own = `${rootWords} nokaslr console=ttyAMA0 tapdeck.shell=ttyS0 vt.global_cursor_default=0 ${append}`;
  const words = asPi === true ? piWords() : own;
  return [
    ...[
      "-M",
      `virt${loader ? ",dtb-randomness=off" : ""}`,
      "-cpu",
      "cortex-a53",
      "-serial",
      "chardev:console",
    ],
    ...(loader ? [] : ["-append", words]),
    ...["-drive", `if=none,id=card,format=raw,cache=writeback,file=${card.url}`],
    ...["-device", "virtio-blk-pci,drive=card,romfile="],
    ...["-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci"],
    ...[
      "-chardev",
      `socket,id=shell,path=${shellPath},server=on,wait=off`,
      "-device",
      "pci-serial,chardev=shell",
    ],
    ...(watchdog ? ["-device", "i6300esb", "-action", "watchdog=reset"] : []),
    ...(reader === undefined && usb === undefined && display === undefined ? [] : ["-device", "qemu-xhci"]),
    ...(display === undefined ? [] : displayDevices(display)),
    ...(reader === undefined
      ? []
      : ["-chardev", `serial,id=reader,path=${reader}`, "-device", "usb-serial,chardev=reader"]),
    ...(usb === undefined
      ? []
      : ["-chardev", `socket,id=usb,path=${usb}`, "-device", "usb-redir,chardev=usb"]),
    ...more,
  ];
}

/** QEMU's options for a display. They come after the USB controller, which the devices need. */
function displayDevices(size: string): readonly string[] {
  const [width, height] = size.split("x");
  return [
    ...["-device", `virtio-gpu-pci,romfile=,xres=${width},yres=${height}`],
    // A television has a loudspeaker. Nothing listens to this output.
    ...["-audiodev", "none,id=sound", "-device", "usb-audio,audiodev=sound"],
  ];
}

/**
 * The real device tree with two changes that a board's config.txt makes: USB as a host, and the PL011 for a reader instead
 * of Bluetooth. QEMU's model of its watchdog resets at once, and its power driver's registers are missing.
 */
async function zero2w(
  { card, reader, append = "", hasShell, more = [] }: BoardOptions,
  folder: string,
  shellPath: string,
): Promise<string[]> {
  const tree = join(folder, "board.dtb");
  // The mainline kernel has another name for the device tree than the kernel of the Raspberry Pi Foundation.
  const ofMainline = join(slot, "bcm2837-rpi-zero-2-w.dtb");
  await cp(existsSync(ofMainline) ? ofMainline : join(slot, "bcm2710-rpi-zero-2-w.dtb"), tree);
  await run(["fdtput", "-t", "s", tree, "/soc/usb@7e980000", "dr_mode", "host"]);
  await run(["fdtput", "-r", tree, "/soc/serial@7e201000/bluetooth"]);
  const missing = "initcall_blacklist=bcm2835_power_driver_init,bcm2835_wdt_driver_init";
  const words = hasShell ? "console=ttynull tapdeck.shell=ttyS1" : "console=ttyS1,115200";
  const line = hasShell ? `socket,id=shell,path=${shellPath},server=on,wait=off` : "null,id=shell";
  return [
    ...["-M", "raspi3ap", "-dtb", tree, "-append", `${rootWords} ${words} ${missing} ${append}`],
    ...["-drive", `if=sd,format=raw,cache=writeback,file=${card.url}`],
    ...["-chardev", reader === undefined ? "null,id=reader" : `serial,id=reader,path=${reader}`],
    ...[
      "-chardev",
      line,
      "-serial",
      "chardev:reader",
      "-serial",
      `chardev:${hasShell ? "shell" : "console"}`,
    ],
    // The board has one USB port.
    ...["-device", "usb-hub,id=hub", "-device", "usb-net,netdev=net"],
    ...more,
  ];
}

/**
 * A plain card. As a network block device it would be too slow for a board whose controller moves one sector at a time.
 */
export async function makePlainCard(): Promise<Pick<Card, "url"> & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-card-"));
  const url = join(folder, "card.img");
  await run(["cp", "--sparse=always", image, url]);
  await truncate(url, cardBytes);
  return { url, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function identityIn(said: string): { readonly id: string; readonly secret: string } | false {
  const [, id] = /"id": ?"([^"]+)"/.exec(said) ?? [];
  const [, secret] = /"secret": ?"([0-9a-f]{64})"/.exec(said) ?? [];
  return id === undefined || secret === undefined ? false : { id, secret };
}

/** For the guest the host is a remote caller, and `ping` needs no right. */
async function answers(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/ping`, { signal: AbortSignal.timeout(400) });
    return (await answer.text()) === "pong";
  } catch {
    // The service does not answer yet, or no longer.
    return false;
  }
}
