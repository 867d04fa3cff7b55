/** Writing tags, end to end: the compiled binary, emulated tags, and Debian's libnfc as the judge of what was written. */
import { describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pn532Uart } from "../../drivers/pn532-uart.ts";
import { connect } from "../../src/client/client.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createType2Tag, type EmulatedTag, type Type2Kind, type2Kinds } from "../emulators/emulated-tags.ts";
import type { Pn532Device } from "../emulators/pn532-device.ts";
import { emulatedPn532, ntag213, textIn, unlessHeldUp } from "../helpers/emulated.ts";
import { gather } from "../helpers/lines.ts";
import { eventually } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  type Place,
  program,
  type Running,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const uids = ["04a1a2a3a4a5a6", "04b1b2b3b4b5b6", "04c1c2c3c4c5c6", "04d1d2d3d4d5d6"];
const blank = (kind: Type2Kind, index = 0) =>
  createType2Tag(kind, { uid: Uint8Array.fromHex(uids[index] ?? "") });

interface Bench {
  readonly device: Pn532Device;
  readonly place: Place;
  readonly service: Running;
}

/** The service with an emulated reader, which is connected. */
function withService(run: (bench: Bench) => Promise<void>): Promise<void> {
  return unlessHeldUp(async () => {
    await using device = emulatedPn532("real");
    await using place = await makePlace(readerConfig(device) + sleeper());
    await place.file("SNES/Game.sfc");
    await using service = await startTapdeck(place);
    await firstReader(service);
    await run({ device, place, service });
  });
}

function tapdeck(place: Place, ...words: readonly string[]) {
  const child = Bun.spawn([program, ...words, `--data=${place.folder}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error] = [gather(child.stdout), gather(child.stderr)];
  return {
    out: out.text,
    error: error.text,
    interrupt: () => child.kill("SIGINT"),
    /** Resolves with the command's exit code, after all of its output. */
    async ended() {
      await Promise.all([out.whole, error.whole]);
      return child.exited;
    },
  };
}

test("a tag that was written is not launched where it lies, and plays when it is laid on again", () =>
  withService(async ({ device, place, service }) => {
    const tag = blank("ntag213");
    const writing = tapdeck(place, "write", "SNES/Game.sfc");
    await eventually(() => expect(writing.error()).not.toBe(""));
    expect(writing.error()).toBe("lay a tag on the reader\n");
    device.put(tag);
    expect(await writing.ended()).toBe(0);
    expect(writing.out()).toBe("written\n");
    expect(textIn(tag.memory)).toBe("SNES/Game.sfc");
    const { active, last } = await service.client.call("tokens");
    expect([active, last]).toEqual([[], null]);
    device.take();
    // The report of another card shows that the removal of the first one was noticed.
    device.put(ntag213("04b1b2b3b4b5b6", "**delay:1"));
    await service.heard.next("tokens.added");
    device.take();
    await service.heard.next("tokens.removed");
    device.put(tag);
    expect(await service.heard.next("media.started")).toMatchObject({ mediaName: "Game" });
  }));

test("many tags are written in a row from a list, each with its own line, until Ctrl-C", () =>
  withService(async ({ device, place }) => {
    const list = join(place.folder, "list.txt");
    await writeFile(list, `one\r\n\n${"two ".repeat(30)}\nthree\nfour\n`);
    const writing = tapdeck(place, "write", "--list", list);
    const asked = (line: string) => eventually(() => expect(writing.error()).toContain(line));
    const [first, small, second, third] = [
      blank("ntag213", 0),
      blank("ultralight", 1),
      blank("ntag215", 2),
      blank("ntag213", 3),
    ];
    const lay = (tag: EmulatedTag) => {
      device.take();
      device.put(tag);
    };
    await asked("1/4 one: lay a tag on the reader");
    lay(first);
    await asked("2/4 ");
    // A tag that is too small does not end the write.
    lay(small);
    await asked("bytes are missing");
    lay(second);
    await asked("3/4 three");
    lay(third);
    await asked("4/4 four");
    writing.interrupt();
    expect(await writing.ended()).toBe(0);
    expect(writing.error().trim().split("\n").at(-1)).toBe("3 written");
    expect(writing.out()).toBe(`written one\nwritten ${"two ".repeat(30)}\nwritten three\n`);
    expect([first, small, second, third].map(({ memory }) => textIn(memory))).toEqual([
      "one",
      undefined,
      "two ".repeat(30),
      "three",
    ]);
  }));

test("Ctrl-C calls the write off: the tag that comes next is left as it is", () =>
  withService(async ({ device, place, service }) => {
    const writing = tapdeck(place, "write", "x");
    await eventually(() => expect(writing.error()).not.toBe(""));
    writing.interrupt();
    expect(await writing.ended()).toBe(1);
    expect(writing.error()).toEndWith("tapdeck: nothing was written\n");
    const tag = blank("ntag213");
    device.put(tag);
    await service.heard.next("tokens.added");
    expect(textIn(tag.memory)).toBeUndefined();
  }));

test("over the API: what was refused says why, for people and for programs", () =>
  withService(async ({ device, place, service: { client, heard } }) => {
    const refusal = (params: { text: string; force?: boolean }) =>
      client.call("readers.write", params).then(
        () => "written",
        (error: unknown) => error,
      );
    const first = refusal({ text: "x" });
    await client.call("version");
    const other = await connect(`ws://127.0.0.1:${place.port}/api/v0.1`);
    const taken = other.call("readers.write", { text: "y" }).catch((error: unknown) => error);
    expect(await taken).toMatchObject({ code: 6, data: { reason: "conflict" } });
    other.close();
    await client.call("readers.write.cancel");
    expect(await first).toMatchObject({ code: 1, message: "it was called off" });

    device.put(blank("ultralight"));
    expect(await refusal({ text: "x".repeat(50) })).toMatchObject({
      code: 5,
      message: "the tag is too small: 11 bytes are missing. Use a larger one, or a shorter text",
      data: { reason: "write-failed", cause: "too-small", bytesMissing: 11 },
    });
    device.take();
    // The removal of a tag that came to be written is not announced. The report of another card shows that the removal was
    // noticed. Otherwise the next write could still claim the first tag, which the reader saw a moment before its removal.
    device.put(ntag213("04c1c2c3c4c5c6", "**delay:1"));
    await heard.next("tokens.added");
    device.take();
    await heard.next("tokens.removed");
    const ticket = blank("ultralight", 1);
    ticket.memory.set([1, 2, 3], 20);
    device.put(ticket);
    expect(await refusal({ text: "x" })).toMatchObject({ code: 5, data: { cause: "foreign" } });
    expect(await refusal({ text: "x", force: true })).toBe("written");
    expect(textIn(ticket.memory)).toBe("x");
  }));

test("a write whose caller has gone is called off, so that the next card keeps what it says", () =>
  withService(async ({ device, place, service: { client, heard } }) => {
    /**
     * Starts one more write and returns its refusal. If no write was in progress, it returns an empty text and cancels
     * its own write.
     */
    const refusalOfAnother = async () => {
      let refusal = "";
      client.call("readers.write", { text: "z" }).catch((error: unknown) => {
        refusal = String(error);
      });
      // A refusal arrives before the next answer.
      await client.call("version");
      if (refusal === "") await client.call("readers.write.cancel");
      return refusal;
    };
    const taken = "waits for a tag";
    const other = await connect(`ws://127.0.0.1:${place.port}/api/v0.1`);
    other.call("readers.write", { text: "x" }).catch(() => {});
    await other.call("version");
    expect(await refusalOfAnother()).toContain(taken);
    other.close();
    await eventually(async () => expect(await refusalOfAnother()).not.toContain(taken));

    const leaving = new AbortController();
    const post = () =>
      fetch(`http://127.0.0.1:${place.port}/api`, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "readers.write", params: { text: "y" } }),
        headers: { "content-type": "application/json" },
        signal: leaving.signal,
      }).then(
        () => "answered",
        () => "left",
      );
    let posted = post();
    await eventually(async () => {
      const answer = await refusalOfAnother();
      if (answer.includes(taken)) return;
      // The POST may have been refused because of the write of this check, so it is sent again.
      if ((await Promise.race([posted, ""])) === "answered") posted = post();
      expect(answer).toContain(taken);
    });
    leaving.abort();
    expect(await posted).toBe("left");
    await eventually(async () => expect(await refusalOfAnother()).not.toContain(taken));

    const tag = blank("ntag213");
    device.put(tag);
    await heard.next("tokens.added");
    expect(textIn(tag.memory)).toBeUndefined();
  }));

test("the simulated reader is written to as a real one is", async () => {
  await using place = await makePlace(readerConfig("simulated:"));
  await using service = await startTapdeck(place);
  await firstReader(service);
  const [reader] = (await service.client.call("readers")).readers;
  expect(reader?.capabilities).toEqual(["read", "write", "removable"]);
  const writing = service.client.call("readers.write", { text: "afterwards" });
  const readerId = reader?.readerId ?? "";
  await service.client.call("tokens.scan", { text: "before", readerId, duration: 60_000 });
  expect(await writing).toBeNull();
  await service.heard.next("tokens.written");
  expect(service.heard.names().filter((name) => name !== "readers.added")).toEqual(["tokens.written"]);
});

test("the command line reports its refusals itself", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  await writeFile(join(place.folder, "empty.txt"), "\n \n");
  const outcomes: readonly (readonly [readonly string[], number, string])[] = [
    [["write"], 64, "use it as: tapdeck write TEXT | --list FILE"],
    [["write", "x", "--list", "y"], 64, "use it as: tapdeck write TEXT | --list FILE"],
    [["write", "--list", `${place.folder}/none`], 64, "cannot read the list"],
    [["write", "--list", `${place.folder}/empty.txt`], 64, "holds no text"],
    [["write", "x"], 1, "no reader that can write is connected"],
    [["write", "x", "--reader", "none-such"], 1, "no reader has the id none-such"],
  ];
  for (const [words, code, sentence] of outcomes) {
    const run = tapdeck(place, ...words);
    expect([await run.ended(), run.error().split("\n").at(-2)]).toEqual([
      code,
      expect.stringContaining(sentence),
    ]);
  }
});

describe("nfc-mfultralight reads what was written", () => {
  for (const kind of type2Kinds) {
    test(`to a blank ${kind}, to the byte`, async () => {
      if (Bun.which("nfc-mfultralight") === null)
        throw new Error(
          "nfc-mfultralight is missing: install Debian's package libnfc-bin, or run tools/test-setup",
        );
      await using device = emulatedPn532("none");
      const folder = await mkdtemp(join(tmpdir(), "tapdeck-write-"));
      try {
        const tag = blank(kind);
        const text = "SNES/ゼルダ (Japan).sfc";
        device.put(tag);
        await writeOnce(device, text);
        const child = Bun.spawn(["nfc-mfultralight", "r", "dump.mfd"], {
          cwd: folder,
          env: {
            ...process.env,
            LIBNFC_AUTO_SCAN: "false",
            LIBNFC_DEFAULT_DEVICE: `pn532_uart:${device.path}`,
          },
          stdio: ["ignore", "ignore", "ignore"],
        });
        await child.exited;
        const dump = new Uint8Array(await readFile(join(folder, "dump.mfd")));
        expect(textIn(dump)).toBe(text);
        // Password and PACK follow the data area and read as zeros.
        expect(dump.subarray(0, 64)).toEqual(tag.memory.slice(0, 64));
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  }
});

async function writeOnce(device: Pn532Device, text: string): Promise<void> {
  const ending = new AbortController();
  const session = await pn532Uart.open(device.path, { clock: systemClock, log: silentLog }, ending.signal);
  const watching = session.watch(() => {}, ending.signal);
  await session.write?.({ text, force: false, claim: () => true }, ending.signal);
  ending.abort(new Error("it is written"));
  await watching;
  await session.close();
}
