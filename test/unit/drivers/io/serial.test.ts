/** The byte link of a serial port, on real ptys. */
import { expect, test } from "bun:test";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ioctl, requests } from "../../../../drivers/io/libc.ts";
import type { ByteLink } from "../../../../drivers/io/links.ts";
import { openSerial } from "../../../../drivers/io/serial.ts";
import type { Pty } from "../../../../drivers/io/termios.ts";
import { eventually } from "../../../helpers/processes.ts";
import {
  createSink,
  manyBytes,
  openDeafPty,
  openDescriptors,
  processorTicks,
  wakeUps,
  withPty,
} from "../../../helpers/serial-line.ts";

const megabyte = 1024 * 1024;
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
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

test("a megabyte each way at the same time arrives whole", () =>
  withLink(async (link, far) => {
    const [toPort, toFar] = [manyBytes(megabyte), manyBytes(megabyte).reverse()];
    const [atPort, atFar] = [createSink(), createSink()];
    link.onBytes(atPort.take);
    far.onBytes(atFar.take);
    await Promise.all([link.write(toFar), far.write(toPort)]);
    expect(sha256(await atPort.atLeast(megabyte))).toBe(sha256(toPort));
    expect(sha256(await atFar.atLeast(megabyte))).toBe(sha256(toFar));
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

test("a second open of a port says that it is in use", () =>
  withLink(async (link, far) => {
    const inUse = `${far.path}: another program has it open: end that one, or name another port`;
    await expect(openSerial(far.path, { baudRate: 9600 })).rejects.toThrow(inUse);
    expect(far.baudRate()).toBe(115_200);
    await link.close();
    const second = await openSerial(far.path, { baudRate: 9600 });
    await expect(openSerial(far.path, { baudRate: 115_200 })).rejects.toThrow(inUse);
    await second.close();
  }));

test("a closed port is free for others at once: neither lock nor exclusive mode stays", () =>
  withPty(async (far) => {
    // It is opened before the port is locked, because only root can open it later.
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
    await expect(openSerial(far.path, { baudRate: 0 })).rejects.toThrow("it cannot run at 0 baud");
    expect(isExclusive()).toBe(false);
    closeSync(fd);
  }));

// The UART of some boards belongs to their Bluetooth. A probe set its rate, and the radio received nothing any more.
test("a port whose bytes the kernel takes is refused, and its rate is left alone", () =>
  withPty(async (far) => {
    const fd = openSync(far.path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    const discipline = Int32Array.of(27); // N_NULL (linux/tty.h), which every kernel has.
    expect(ioctl(fd, 0x5423, discipline)).toBe(true); // TIOCSETD, asm-generic/ioctls.h.
    const baudRate = far.baudRate();
    await expect(openSerial(far.path, { baudRate: 9600 })).rejects.toThrow(`${far.path}: the kernel uses it`);
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
  for (const [path, why] of refusals)
    await expect(openSerial(path, { baudRate: 9600 })).rejects.toThrow(`${path}: ${why}`);
  expect(openDescriptors()).toBeLessThanOrEqual(before);
  await rm(folder, { recursive: true });
});

test("a write that the kernel does not take ends when the port is closed or unplugged, and says which", async () => {
  for (const [end, why] of [
    ["close", "the port is closed: open it again"],
    ["unplug", "the device went away: is it plugged in?"],
  ] as const) {
    const deaf = openDeafPty();
    const link = await openSerial(deaf.path, { baudRate: 9600 });
    const writes = Promise.allSettled([link.write(Buffer.alloc(megabyte)), link.write(Buffer.alloc(1))]);
    if (end === "close") await link.close();
    else deaf.close();
    const sentences = (await writes).map((one) => (one.status === "rejected" ? one.reason.message : "ok"));
    expect(sentences).toEqual([`${deaf.path}: ${why}`, `${deaf.path}: ${why}`]);
    await link.close();
    if (end === "close") deaf.close();
  }
});

test("fifty links that are closed or unplugged in the middle of a write leave no descriptor behind", async () => {
  const cycle = (unplug: boolean) =>
    withPty(async (far) => {
      const link = await openSerial(far.path, { baudRate: 115_200 });
      const gone = Promise.withResolvers<void>();
      link.onGone(() => gone.resolve());
      const writing = link.write(Buffer.alloc(100, "x")).catch(() => {}); // The line may be unplugged before the write ends.
      if (unplug) {
        await far.close();
        await gone.promise;
      }
      await link.close();
      await writing;
    });
  await cycle(false);
  await Bun.sleep(0);
  const before = openDescriptors();
  for (let count = 0; count < 50; count++) await cycle(count % 5 === 0);
  // Bun closes its copy of a descriptor a moment after the reader was cancelled.
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
    withLink(async () => {
      const [wakeUpsBefore, ticksBefore] = [wakeUps(), processorTicks()];
      await Bun.sleep(1000); // Observes the idle process for a second; no event is awaited.
      const woken = wakeUps() - wakeUpsBefore;
      process.stderr.write(`idle second: ${woken} wake-ups, ${processorTicks() - ticksBefore} ticks\n`);
      // A poll every 2 ms would be 500 wake-ups for each port; the runtime's own threads wake sometimes.
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
    // More bytes than the kernel takes at once, so a second write could come in between.
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
