/** The serial port on real ptys: our binding below `@serialport/stream`, and the byte link that drivers use. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReadlineParser } from "@serialport/parser-readline";
import fc from "fast-check";
import { ioctl, requests } from "../../../../drivers/io/libc.ts";
import type { ByteLink } from "../../../../drivers/io/links.ts";
import { openSerial } from "../../../../drivers/io/serial.ts";
import { SerialBindingError, serialBinding } from "../../../../drivers/io/serial-binding.ts";
import { listSerialPorts } from "../../../../drivers/io/serial-list.ts";
import type { Pty } from "../../../../drivers/io/termios.ts";
import { eventually } from "../../../helpers/processes.ts";
import {
  createSink,
  done,
  manyBytes,
  type OpenStream,
  openDeafPty,
  openDescriptors,
  openStream,
  processorTicks,
  wakeUps,
  withPty,
} from "../../../helpers/serial-line.ts";

const megabyte = 1024 * 1024;
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const closed = (port: OpenStream) => done((callback) => port.close(callback));

/** The rejection of each call, in the stream's terms; undefined for a call that succeeded. */
async function reasonsOf(calls: readonly Promise<unknown>[]) {
  const results = await Promise.allSettled(calls);
  return results.map((result) => {
    if (result.status === "fulfilled" || !(result.reason instanceof SerialBindingError)) return undefined;
    const { canceled, disconnected } = result.reason;
    return { disconnected, canceled };
  });
}

async function withStream(run: (port: OpenStream, far: Pty) => Promise<void>): Promise<void> {
  await withPty(async (far) => {
    const port = await openStream(far.path);
    try {
      await run(port, far);
    } finally {
      if (port.isOpen) await closed(port);
    }
  });
}

async function withLink(run: (link: ByteLink, far: Pty) => Promise<void>): Promise<void> {
  await withPty(async (far) => {
    const link = await openSerial(far.path, { baudRate: 115_200 });
    try {
      await run(link, far);
    } finally {
      await link.close();
    }
  });
}

test("lines go both ways through the stream and its line parser", () =>
  withStream(async (port, far) => {
    const lines: string[] = [];
    port.pipe(new ReadlineParser({ delimiter: "\n" })).on("data", (line: string) => lines.push(line));
    const heard = createSink();
    far.onBytes(heard.take);
    await far.write(Buffer.from("SCAN\tuid=04a1b2\nSCAN\tu"));
    await far.write(Buffer.from("id=ff\n"));
    port.write("ping\npong\n");
    expect((await heard.atLeast(10)).toString()).toBe("ping\npong\n");
    await eventually(() => expect(lines).toHaveLength(2));
    expect(lines).toEqual(["SCAN\tuid=04a1b2", "SCAN\tuid=ff"]);
  }));

test("a megabyte each way at the same time arrives whole", () =>
  withStream(async (port, far) => {
    const [toPort, toFar] = [manyBytes(megabyte), manyBytes(megabyte).reverse()];
    const [atPort, atFar] = [createSink(), createSink()];
    port.on("data", atPort.take);
    far.onBytes(atFar.take);
    port.write(toFar);
    await far.write(toPort);
    expect(sha256(await atPort.atLeast(megabyte))).toBe(sha256(toPort));
    expect(sha256(await atFar.atLeast(megabyte))).toBe(sha256(toFar));
  }));

test("a host that does not read holds the far end back, and then gets everything", () =>
  withPty(async (far) => {
    const port = await serialBinding.open({ path: far.path, baudRate: 115_200 });
    const sent = manyBytes(megabyte);
    let taken = false;
    const writing = far.write(sent).then(() => {
      taken = true;
    });
    const buffer = Buffer.alloc(1000);
    const arrived = createSink();
    while (arrived.length() < megabyte) {
      // Most of it cannot have left, because most of it was not read.
      if (arrived.length() < megabyte / 2) expect(taken).toBe(false);
      const { bytesRead } = await port.read(buffer, 10, 900);
      expect(bytesRead).toBeWithin(1, 901);
      arrived.take(buffer.subarray(10, 10 + bytesRead));
    }
    await writing;
    expect(sha256(await arrived.atLeast(megabyte))).toBe(sha256(sent));
    await port.close();
  }));

test("a rate that no table knows is set, and read back", () =>
  withPty(async (far) => {
    const port = await serialBinding.open({ path: far.path, baudRate: 250_000 });
    expect(await port.getBaudRate()).toEqual({ baudRate: 250_000 });
    expect(far.baudRate()).toBe(250_000);
    await port.update({ baudRate: 31_250 });
    expect(far.baudRate()).toBe(31_250);
    await port.close();
  }));

test("any whole rate up to the limit is kept, and anything else is refused and changes nothing", () =>
  withLink(async (link, far) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12_000_000 }), async (baudRate) => {
        await link.setBaudRate(baudRate);
        expect(far.baudRate()).toBe(baudRate);
      }),
      { numRuns: 50 },
    );
    await link.setBaudRate(57_600);
    for (const bad of [0, -9600, 9600.5, Number.NaN, Number.POSITIVE_INFINITY, 12_000_001]) {
      await expect(link.setBaudRate(bad)).rejects.toThrow(`it cannot run at ${bad} baud`);
    }
    expect(far.baudRate()).toBe(57_600);
  }));

test("a second open of a port says that it is in use, through link and stream alike", () =>
  withStream(async (port, far) => {
    const inUse = `${far.path}: another program has it open: end that one, or name another port`;
    await expect(openStream(far.path)).rejects.toThrow(inUse);
    await expect(openSerial(far.path, { baudRate: 9600 })).rejects.toThrow(inUse);
    expect(far.baudRate()).toBe(115_200);
    await closed(port);
    const link = await openSerial(far.path, { baudRate: 9600 });
    await expect(openStream(far.path)).rejects.toThrow(inUse);
    await link.close();
  }));

test("a closed port is free for others at once: neither lock nor exclusive mode stays", () =>
  withPty(async (far) => {
    // Opened before the port is locked: later only root can open it.
    const fd = openSync(far.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    const isExclusive = () => {
      const answer = new Int32Array(1);
      ioctl(fd, 0x80045440, answer); // TIOCGEXCL, asm-generic/ioctls.h.
      return answer[0] === 1;
    };
    const link = await openSerial(far.path, { baudRate: 9600 });
    expect(isExclusive()).toBe(true);
    await link.close();
    expect(isExclusive()).toBe(false);
    const port = await openStream(far.path);
    expect(isExclusive()).toBe(true);
    await closed(port);
    expect(isExclusive()).toBe(false);
    await expect(openSerial(far.path, { baudRate: 0 })).rejects.toThrow("it cannot run at 0 baud");
    expect(isExclusive()).toBe(false);
    closeSync(fd);
  }));

test("a port that is opened without a lock leaves others alone", () =>
  withPty(async (far) => {
    const first = await openStream(far.path, { lock: false });
    const second = await openStream(far.path, { lock: false });
    await closed(first);
    await closed(second);
  }));

// The UART of some boards belongs to their Bluetooth: a probe set its rate, and the radio was deaf.
test("a port whose bytes the kernel takes is refused, and its rate is left alone", () =>
  withPty(async (far) => {
    const fd = openSync(far.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    const discipline = Int32Array.of(27); // N_NULL (linux/tty.h), which every kernel has.
    expect(ioctl(fd, 0x5423, discipline)).toBe(true); // TIOCSETD, asm-generic/ioctls.h.
    const baudRate = far.baudRate();
    for (const open of [openSerial, openStream])
      await expect(open(far.path, { baudRate: 9600 })).rejects.toThrow(`${far.path}: the kernel uses it`);
    expect(far.baudRate()).toBe(baudRate);
    closeSync(fd);
  }));

test("a path that is missing, a folder, a file or a device of another kind is refused by a sentence", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-serial-"));
  const file = join(folder, "file");
  await writeFile(file, "no port");
  const refusals = [
    [join(folder, "none"), "there is no such device: is it plugged in?"],
    [folder, "it is no serial port: name another one"],
    [file, "it is no serial port: name another one"],
    ["/dev/null", "it is no serial port: name another one"],
  ] as const;
  const before = openDescriptors();
  for (const [path, why] of refusals) {
    for (const open of [openSerial, openStream]) {
      await expect(open(path, { baudRate: 9600 })).rejects.toThrow(`${path}: ${why}`);
    }
  }
  expect(openDescriptors()).toBeLessThanOrEqual(before);
  await rm(folder, { recursive: true });
});

test("a framing that Linux cannot make is refused, and every one that it can is set", () =>
  withPty(async (far) => {
    const open = (options: object) => openStream(far.path, options);
    await expect(open({ stopBits: 1.5 })).rejects.toThrow("it cannot run with 1.5 stop bits: choose 1 or 2");
    await expect(open({ parity: "mark" })).rejects.toThrow(
      "it cannot run with mark parity: choose none, even or odd",
    );
    await expect(open({ dataBits: 9 })).rejects.toThrow(
      "it cannot run with 9 data bits: choose 5, 6, 7 or 8",
    );
    for (const options of [
      { dataBits: 7, parity: "even", stopBits: 2 },
      { dataBits: 5, parity: "odd", rtscts: true, xon: true, xoff: true, xany: true, hupcl: false },
    ]) {
      await closed(await open(options));
    }
  }));

test("unplugging ends the stream once, with an error that says disconnected", () =>
  withStream(async (port, far) => {
    port.resume();
    const closes: unknown[] = [];
    port.on("close", (reason: unknown) => closes.push(reason));
    await far.close();
    await eventually(() => expect(closes.length).toBeGreaterThan(0));
    await Bun.sleep(0);
    expect(closes).toHaveLength(1);
    expect(closes[0]).toMatchObject({ disconnected: true });
    expect(String(closes[0])).toContain("the device went away: is it plugged in?");
    expect(port.isOpen).toBe(false);
  }));

test("a read that waits ends when the port is unplugged, and when it is closed, and says which", async () => {
  const buffer = Buffer.alloc(10);
  await withPty(async (far) => {
    const port = await serialBinding.open({ path: far.path, baudRate: 9600 });
    const reasons = reasonsOf([port.read(buffer, 0, 10)]);
    await far.close();
    expect(await reasons).toEqual([{ disconnected: true, canceled: false }]);
    expect(port.isOpen).toBe(true);
    expect(
      await reasonsOf([port.read(buffer, 0, 10), port.write(buffer), port.drain(), port.flush()]),
    ).toEqual(Array(4).fill({ disconnected: true, canceled: false }));
    await port.close();
  });
  await withPty(async (far) => {
    const port = await serialBinding.open({ path: far.path, baudRate: 9600 });
    const reasons = reasonsOf([port.read(buffer, 0, 10)]);
    await expect(port.read(buffer, 0, 10)).rejects.toThrow("one at a time");
    await port.close();
    expect(await reasons).toEqual([{ disconnected: false, canceled: true }]);
    const calls = [
      port.read(buffer, 0, 10),
      port.write(buffer),
      port.drain(),
      port.flush(),
      port.update({ baudRate: 9600 }),
      port.set({ dtr: true }),
      port.get(),
      port.getBaudRate(),
      port.close(),
    ];
    expect(await reasonsOf(calls)).toEqual(calls.map(() => ({ disconnected: false, canceled: true })));
  });
});

test("a write that the kernel does not take is canceled when the port is closed", async () => {
  const deaf = openDeafPty();
  const port = await serialBinding.open({ path: deaf.path, baudRate: 9600 });
  const reasons = reasonsOf([port.write(Buffer.alloc(megabyte)), port.write(Buffer.alloc(1))]);
  await port.close();
  expect(await reasons).toEqual(Array(2).fill({ disconnected: false, canceled: true }));
  deaf.close();
});

test("a write that the kernel does not take fails when the port is unplugged", async () => {
  const deaf = openDeafPty();
  const port = await serialBinding.open({ path: deaf.path, baudRate: 9600 });
  const reasons = reasonsOf([port.write(Buffer.alloc(megabyte))]);
  deaf.close();
  expect(await reasons).toEqual([{ disconnected: true, canceled: false }]);
  await port.close();
});

test("a drain waits for the write that runs", () =>
  withStream(async (port, far) => {
    const heard = createSink();
    far.onBytes(heard.take);
    const order: string[] = [];
    port.write(manyBytes(megabyte), () => order.push("written"));
    await done((callback) => port.drain(callback));
    order.push("drained");
    expect(order).toEqual(["written", "drained"]);
    await heard.atLeast(megabyte);
  }));

test("a flush drops what came and was not read, and nothing that comes later", () =>
  withPty(async (far) => {
    const port = await serialBinding.open({ path: far.path, baudRate: 9600 });
    const buffer = Buffer.alloc(100);
    await far.write(Buffer.from("never read"));
    await port.flush();
    await far.write(Buffer.from("read in part"));
    expect(await port.read(buffer, 0, 4)).toMatchObject({ bytesRead: 4 });
    await port.flush();
    const waiting = port.read(buffer, 0, 100);
    await port.flush();
    await far.write(Buffer.from("new"));
    expect(await waiting).toMatchObject({ bytesRead: 3 });
    expect(buffer.toString("latin1", 0, 3)).toBe("new");
    await port.close();
  }));

test("a pty has no modem lines, and says so", () =>
  withStream(async (port) => {
    await expect(done((callback) => port.set({ dtr: true }, callback))).rejects.toThrow(
      "no modem lines to set",
    );
    await expect(done((callback) => port.get(callback))).rejects.toThrow("no modem lines to read");
    expect(port.isOpen).toBe(true);
  }));

test("fifty cycles of opening and closing leave no descriptor behind, idle, busy or unplugged", async () => {
  const cycle = (unplug: boolean) =>
    withPty(async (far) => {
      const port = await openStream(far.path);
      port.resume();
      port.write("x".repeat(100));
      if (unplug) {
        const gone = once(port, "close");
        await far.close();
        await gone;
      } else await closed(port);
    });
  await cycle(false);
  await Bun.sleep(0);
  const before = openDescriptors();
  for (let count = 0; count < 50; count++) await cycle(count % 5 === 0);
  // Bun frees its copy of a descriptor a moment after the reader was cancelled.
  await eventually(() => expect(openDescriptors()).toBeLessThanOrEqual(before));
});

test("fifty cycles of a link leave no descriptor behind", () =>
  withPty(async (far) => {
    const before = openDescriptors();
    for (let count = 0; count < 50; count++) {
      const link = await openSerial(far.path, { baudRate: 115_200 });
      if (count % 2 === 0) await link.write(Buffer.from("x"));
      await link.close();
      await link.close();
    }
    await eventually(() => expect(openDescriptors()).toBeLessThanOrEqual(before));
  }));

test("open ports that are silent wake nobody", () =>
  withLink(() =>
    withStream(async (port) => {
      port.resume();
      const [wakeUpsBefore, ticksBefore] = [wakeUps(), processorTicks()];
      await Bun.sleep(1000); // The time of the observation: no event is awaited.
      const woken = wakeUps() - wakeUpsBefore;
      process.stderr.write(`idle second: ${woken} wake-ups, ${processorTicks() - ticksBefore} ticks\n`);
      // A poll every 2 ms would be 500 for each port; the runtime's own threads wake now and then.
      expect(woken).toBeLessThan(400);
    }),
  ));

test("bytes reach a link's listener, and the latest listener only", () =>
  withLink(async (link, far) => {
    const [first, second] = [createSink(), createSink()];
    link.onBytes(first.take);
    await far.write(Buffer.from("one"));
    expect((await first.atLeast(3)).toString()).toBe("one");
    link.onBytes(second.take);
    await far.write(Buffer.from("two"));
    expect((await second.atLeast(3)).toString()).toBe("two");
    expect(first.length()).toBe(3);
  }));

test("writes that a link was given at once leave one after another", () =>
  withLink(async (link, far) => {
    const heard = createSink();
    far.onBytes(heard.take);
    // More than the kernel takes at once, so that a second write could slip in between.
    const parts = ["a", "b", "c"].map((letter) => Buffer.alloc(50_000, letter));
    await Promise.all(parts.map((part) => link.write(part)));
    expect((await heard.atLeast(150_000)).equals(Buffer.concat(parts))).toBe(true);
  }));

test("a change of rate waits for the write that runs", () =>
  withLink(async (link, far) => {
    const heard = createSink();
    far.onBytes(heard.take);
    let written = false;
    const writing = link.write(manyBytes(megabyte)).then(() => {
      written = true;
    });
    await link.setBaudRate(460_800);
    expect(written).toBe(true);
    expect(far.baudRate()).toBe(460_800);
    await writing;
    await heard.atLeast(megabyte);
  }));

test("an unplugged link says so once, also to who asks late, and refuses to go on", () =>
  withLink(async (link, far) => {
    const reasons: Error[] = [];
    link.onGone((reason) => reasons.push(reason));
    await far.close();
    await eventually(() => expect(reasons.length).toBeGreaterThan(0));
    const late: Error[] = [];
    link.onGone((reason) => late.push(reason));
    const sentence = `${link.path}: the device went away: is it plugged in?`;
    await expect(link.write(Buffer.from("x"))).rejects.toThrow(sentence);
    await expect(link.setBaudRate(9600)).rejects.toThrow(sentence);
    await link.close();
    expect([...reasons, ...late].map((reason) => reason.message)).toEqual([sentence, sentence]);
    expect(reasons[0]).toMatchObject({ code: "reader-gone" });
  }));

test("a closed link is not gone, and says that it is closed", () =>
  withLink(async (link, far) => {
    const reasons: Error[] = [];
    link.onGone((reason) => reasons.push(reason));
    await link.close();
    const sentence = `${link.path}: the port is closed: open it again`;
    await expect(link.write(Buffer.from("x"))).rejects.toThrow(sentence);
    await expect(link.setBaudRate(9600)).rejects.toThrow(sentence);
    await far.close();
    await Bun.sleep(0);
    expect(reasons).toEqual([]);
  }));

test("a link opens where the kernel has no low-latency mode", () =>
  withPty(async (far) => {
    const fd = openSync(far.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    expect(ioctl(fd, requests.tiocgserial, new Uint8Array(72))).toBe(false);
    closeSync(fd);
    const link = await openSerial(far.path, { baudRate: 115_200 });
    await link.close();
  }));

test("the list of ports is what the machine has, in the stream's words", async () => {
  const ports = await serialBinding.list();
  expect(ports.map(({ path }) => path)).toEqual((await listSerialPorts()).map(({ path }) => path));
  for (const port of ports) expect(Object.keys(port)).toContain("vendorId");
});
