/** The kernel's watch on a descriptor: named pipes stand for devices. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchReadable } from "../../../../drivers/io/readiness.ts";

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-readiness-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A device, the writer at its other end, and the bytes that were read after each event. */
function plug(name: string, isGone = false) {
  const path = join(folder, name);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  const device = openSync(path, O_RDONLY | O_NONBLOCK);
  let writer = openSync(path, O_WRONLY);
  if (isGone) closeSync(writer);
  const heard: string[] = [];
  let next = Promise.withResolvers<string>();
  let isOpen = true;
  const watching = watchReadable(device, () => {
    const bytes = Buffer.alloc(64);
    heard.push(bytes.toString("utf8", 0, readSync(device, bytes)));
    next.resolve(heard.at(-1) ?? "");
    next = Promise.withResolvers();
  });
  return {
    heard,
    say(text: string) {
      const told = next.promise;
      writeSync(writer, text);
      return told;
    },
    comeBack() {
      writer = openSync(path, O_WRONLY);
    },
    stop: () => watching?.[Symbol.dispose](),
    [Symbol.dispose]() {
      watching?.[Symbol.dispose]();
      if (isOpen) closeSync(device);
      closeSync(writer);
      isOpen = false;
    },
  };
}

test("the listener of each of two devices hears of every message, also of one after a silence", async () => {
  using one = plug("one");
  using other = plug("other");
  expect(await one.say("a")).toBe("a");
  expect(await one.say("b")).toBe("b");
  expect(await other.say("c")).toBe("c");
  await Bun.sleep(50);
  expect(await one.say("d")).toBe("d");
  expect([one.heard, other.heard]).toEqual([["a", "b", "d"], ["c"]]);
});

test("after a collection of garbage the kernel read a request that was no longer in memory", async () => {
  using device = plug("device");
  expect(await device.say("a")).toBe("a");
  for (let round = 0; round < 20; round++) {
    Bun.gc(true);
    // New arrays take the memory of collected ones.
    await Bun.sleep(0);
    const others = Array.from({ length: 2000 }, () => new Uint8Array(new ArrayBuffer(64)).fill(0xff));
    expect(await device.say(`${round}`)).toBe(`${round}`);
    expect(others.length).toBe(2000);
  }
});

test("the listener also hears of a message that came before the watch", async () => {
  const path = join(folder, "early");
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  const device = openSync(path, O_RDONLY | O_NONBLOCK);
  const writer = openSync(path, O_WRONLY);
  writeSync(writer, "early");
  const told = Promise.withResolvers<void>();
  using _watching = watchReadable(device, () => {
    readSync(device, Buffer.alloc(64));
    told.resolve();
  });
  await told.promise;
  closeSync(writer);
  closeSync(device);
});

test("a watch that was ended, and one whose device has gone, tells nothing more", async () => {
  using ended = plug("ended");
  using gone = plug("gone", true);
  using still = plug("still");
  expect(await ended.say("a")).toBe("a");
  ended.stop();
  ended.stop();
  void ended.say("b");
  // The event of the end comes before that of a later message of another device.
  expect(await still.say("c")).toBe("c");
  gone.comeBack();
  void gone.say("d");
  expect(await still.say("e")).toBe("e");
  expect([ended.heard, gone.heard, still.heard]).toEqual([["a"], [], ["c", "e"]]);
});

test("a descriptor that is not open is not watched", () => {
  expect(watchReadable(-1, () => {})).toBeUndefined();
});
