/**
 * An MFRC522 on SPI, on the emulated chip. The conformance suite has the behaviour of all readers.
 *
 * Covers: drivers/mfrc522-spi.ts, drivers/mfrc522
 */
import { expect, test } from "bun:test";
import { createMfrc522Spi, mfrc522Spi } from "../../../drivers/mfrc522-spi.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Sighting, TagType } from "../../../src/core/token.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";
import {
  createClassic,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
  type TearableTag,
  type2Kinds,
} from "../../emulators/emulated-tags.ts";
import { createIsoDepCard } from "../../emulators/iso-dep-card.ts";
import { createMfrc522Device, type Mfrc522Device } from "../../emulators/mfrc522-device.ts";
import { createTypeATag } from "../../emulators/type-a.ts";
import { eventually } from "../../helpers/processes.ts";

const path = "/dev/spidev0.0";
const context = { clock: systemClock, log: silentLog };
const never = new AbortController().signal;
const uid7 = Uint8Array.fromHex("04a1b2c3d4e5f6");
const uid4 = Uint8Array.fromHex("de4a1b7c");
const short = "SNES/Game.sfc";
const long = "x".repeat(300);

type Options = Omit<Parameters<typeof createMfrc522Device>[0], "path">;

/** The reader with its reports; it is open during `run`. */
async function withReader(
  run: (bench: {
    readonly device: Mfrc522Device;
    readonly session: Awaited<ReturnType<typeof mfrc522Spi.open>>;
    readonly seen: () => readonly Sighting[] | undefined;
    readonly ended: Promise<unknown>;
  }) => Promise<void>,
  tags: readonly EmulatedTag[] = [],
  options: Options = {},
): Promise<void> {
  const device = createMfrc522Device({ path, ...options });
  for (const tag of tags) device.put(tag);
  const ending = new AbortController();
  const session = await createMfrc522Spi(device.open).open(path, context, never);
  let present: readonly Sighting[] | undefined;
  const ended = session
    .watch((tokens) => {
      present = tokens;
    }, ending.signal)
    .catch((error: unknown) => error);
  try {
    await run({ device, session, seen: () => present, ended });
  } finally {
    ending.abort(new Error("the test has ended"));
    await session.close();
    await ended;
  }
}

const open = (device: Mfrc522Device, options = "") =>
  createMfrc522Spi(device.open).open(`${path}${options}`, context, never);

function causeOf(error: unknown): unknown {
  return error instanceof ServiceError ? error.data : error;
}

test("the chip's version is reported, and that of a copy with its number", async () => {
  for (const [version, info] of [
    [0x91, "MFRC522 v1.0"],
    [0x92, "MFRC522 v2.0"],
    [0x88, "FM17522 (a copy of the MFRC522, version 88)"],
    [0xb2, "FM17522 (a copy of the MFRC522, version b2)"],
    [0x15, "MFRC522 (a copy of the MFRC522, version 15)"],
  ] as const) {
    const session = await open(createMfrc522Device({ path, version }));
    expect(session.info).toBe(info);
    await session.close();
  }
});

test("lines that nothing drives, low or high, are no chip, and the sentence names the wires", async () => {
  for (const level of [0x00, 0xff]) {
    let isClosed = false;
    const driver = createMfrc522Spi(() => ({
      transfer: (bytes) => new Uint8Array(bytes.length).fill(level),
      close() {
        isClosed = true;
      },
    }));
    await expect(driver.open(path, context, never)).rejects.toThrow(
      "/dev/spidev0.0: no MFRC522 answers: check its power of 3.3 V, its wiring (SDA to CE0, pin 24), and that nothing holds RST low",
    );
    expect(isClosed).toBe(true);
  }
});

test("a device that answers, and keeps no value in its registers, is refused with its version", async () => {
  const driver = createMfrc522Spi(() => ({
    // Another chip, or wires with crosstalk: the bytes that are sent come back.
    transfer: (bytes) => bytes.map((byte) => byte ^ 0x3c),
    close() {},
  }));
  await expect(driver.open(path, context, never)).rejects.toThrow(
    "the chip that answers there is not an MFRC522, or its wires are loose: its version reads as 3c, and its registers keep no value",
  );
});

test("a bus that is not there, and a gain that the chip lacks, are refused in a sentence", async () => {
  await expect(mfrc522Spi.open("/dev/spidev9.9", context, never)).rejects.toThrow("switch SPI on");
  await expect(open(createMfrc522Device({ path }), "?gain=50")).rejects.toThrow(
    'an MFRC522 has no gain of "50" dB: use one of 18, 23, 33, 38, 43, 48',
  );
});

test("a bus that refuses a transfer is a reader that is gone", async () => {
  const driver = createMfrc522Spi(() => ({
    transfer() {
      throw new Error("EIO");
    },
    close() {},
  }));
  await expect(driver.open(path, context, never)).rejects.toThrow("the bus refused a transfer");
});

test("the gain of the receiver is 43 dB, or that of the connection", async () => {
  for (const [options, code] of [
    ["", 0x60],
    ["?gain=18", 0x00],
    ["?gain=33", 0x40],
    ["?gain=48", 0x70],
  ] as const) {
    const device = createMfrc522Device({ path });
    const session = await open(device, options);
    expect(device.register(0x26)).toBe(code);
    await session.close();
  }
});

test("the field is on while the reader is open, and off afterwards", async () => {
  const device = createMfrc522Device({ path });
  const session = await open(device);
  expect(device.register(0x14) & 0x03).toBe(0x03);
  await session.close();
  expect(device.register(0x14) & 0x03).toBe(0);
});

test("a chip that another program left asleep, with CRCs and a speed of its own, reads tags", async () => {
  const device = createMfrc522Device({ path });
  const { transfer } = device.open();
  for (const [register, value] of [
    [0x12, 0xb0],
    [0x13, 0xb0],
    [0x24, 0x15],
    [0x01, 0x10],
  ] as const)
    transfer(Uint8Array.of(register << 1, value));
  device.put(createType2Tag("ntag213", { uid: uid7, text: short }));
  const session = await open(device);
  expect([0x12, 0x13, 0x24].map(device.register)).toEqual([0x00, 0x00, 0x26]);
  const ending = new AbortController();
  const seen = Promise.withResolvers<readonly Sighting[]>();
  const watching = session.watch((present) => present.length > 0 && seen.resolve(present), ending.signal);
  expect((await seen.promise)[0]?.text).toBe(short);
  ending.abort(new Error("seen"));
  await watching;
  await session.close();
});

test("a card gets the time that it needs before its first command", async () => {
  const sent: number[] = [];
  // TB with a guard time of 38.7 ms.
  const tag = createType4Tag({ uid: uid7, text: short, ats: Uint8Array.fromHex("7577870280") });
  await withReader(async ({ device, seen }) => {
    device.onFrame(([code]) => {
      if (code === 0xe0 || code === 0x02) sent.push(performance.now());
    });
    device.put(tag);
    await eventually(() => expect(seen()?.[0]?.text).toBe(short));
    const [rats = 0, command = 0] = sent;
    expect(command - rats).toBeGreaterThanOrEqual(38);
  }, []);
});

test("a chip that lost its power for a moment is opened again by its supervisor, because its field is off", () =>
  withReader(async ({ device, ended }) => {
    device.unplug();
    device.plug();
    // The loss of power is noticed at the next look, or by the command that the pause ended.
    expect(String(await ended)).toMatch(/the chip does not (answer any more|end a command)/);
  }));

test("a chip that never ends a command is a reader that is gone", async () => {
  const device = createMfrc522Device({ path, looks: Number.POSITIVE_INFINITY });
  const session = await open(device);
  await expect(session.watch(() => {}, never)).rejects.toThrow("the chip does not end a command");
  await session.close();
});

test("UIDs of one, two and three parts are read whole", async () => {
  for (const hex of ["de4a1b7c", "04a1b2c3d4e5f6", "04a1b2c3d4e5f6070809"]) {
    const uid = Uint8Array.fromHex(hex);
    const understand = () => ({ answer: undefined, fall: true });
    const ats = new Uint8Array();
    const tag = createTypeATag({ uid, atqa: 0x0044, sak: 0x40, ats, memory: ats, understand });
    await withReader(
      ({ seen }) =>
        eventually(() => expect(seen()).toEqual([{ type: "Unknown", uid: hex, text: "", data: "" }])),
      [tag],
    );
  }
});

test("of tags whose answers collide one is read, and the next one after it was taken off", async () => {
  // The UIDs of the first group differ in one late bit; those of other groups share the first part, or nothing.
  const groups = [
    ["04a1b2c3d4e5f6", "04a1b2c3d4e5f7"],
    ["04a1b2c3d4e5f6", "04a1b2c3d4e576", "04a1b2c3d4e566"],
    ["de4a1b7c", "5e4a1b7c"],
    ["00000001", "00000080", "80000001", "ff000000"],
    ["04a1b2c3d4e5f6", "de4a1b7c"],
  ];
  for (const countsAlign of [true, false]) {
    for (const group of groups) {
      const tags = group.map((hex) => {
        const uid = Uint8Array.fromHex(hex);
        const make = () => createType2Tag("ntag213", { uid, text: hex });
        return uid.length === 4 ? createClassic("classic-1k", { uid, text: hex }) : make();
      });
      await withReader(
        async ({ device, seen }) => {
          const left = new Set(group);
          while (left.size > 0) {
            await eventually(() => expect([...left]).toContain(seen()?.[0]?.uid ?? ""));
            const [sighting] = seen() ?? [];
            // The reader stays with this tag while other tags are beside it.
            expect(sighting?.text).toBe(sighting?.uid ?? "");
            left.delete(sighting?.uid ?? "");
            device.take(tags[group.indexOf(sighting?.uid ?? "")]);
          }
          await eventually(() => expect(seen()).toEqual([]));
        },
        tags,
        { countsAlign },
      );
    }
  }
});

test("a tag that is laid beside another one does not take its place", async () => {
  const first = createType2Tag("ntag213", { uid: uid7, text: "first" });
  await withReader(
    async ({ device, seen }) => {
      await eventually(() => expect(seen()?.[0]?.text).toBe("first"));
      const states = new Set<string>();
      let frames = 0;
      device.onFrame(() => {
        frames += 1;
        states.add(JSON.stringify(seen()));
      });
      // At each collision, the reader would follow the bits of this tag first.
      device.put(createType2Tag("ntag213", { uid: Uint8Array.fromHex("04ffffffffffff"), text: "second" }));
      await eventually(() => expect(frames).toBeGreaterThan(20));
      expect(states.size).toBe(1);
      expect(seen()?.[0]?.text).toBe("first");
    },
    [first],
  );
});

interface Writable {
  readonly name: string;
  /** Makes the tag in its factory state, or ready for a message. */
  readonly make: () => TearableTag;
  readonly text: string;
  readonly type: TagType;
}

const smallFrames = Uint8Array.fromHex("70778102"); // A frame holds 16 bytes, so every command is a chain of frames.
const writable: readonly Writable[] = [
  ...type2Kinds.map((kind) => ({
    name: kind,
    make: () => createType2Tag(kind, { uid: uid7 }),
    text: kind === "ntag215" || kind === "ntag216" ? long : short,
    type: kind.startsWith("ntag") ? ("NTAG" as const) : ("Ultralight" as const),
  })),
  ...(["classic-mini", "classic-1k", "classic-4k"] as const).flatMap((kind) =>
    [uid4, uid7].map((uid) => ({
      name: `${kind} with ${uid.length} bytes of UID`,
      make: () => createClassic(kind, { uid }),
      text: kind === "classic-mini" ? short : long,
      type: "MIFARE" as const,
    })),
  ),
  {
    name: "a formatted DESFire",
    make: () => createType4Tag({ uid: uid7, fileBytes: 512 }),
    text: long,
    type: "DESFire",
  },
  {
    name: "a card of short blocks, whose commands are chains",
    make: () => createType4Tag({ uid: uid7, fileBytes: 512, ats: smallFrames }),
    text: long,
    type: "ISO14443-4",
  },
];

for (const { name, make, text, type } of writable) {
  test(`${name} is written, read back, and reported`, async () => {
    const tag = make();
    await withReader(
      async ({ session, seen }) => {
        await session.write?.({ text, force: false, claim: () => true }, never);
        await eventually(() => expect(seen()?.[0]?.text).toBe(text));
        expect(seen()?.[0]?.type).toBe(type);
      },
      [tag],
    );
  });
}

test("a tag that is taken off during its write is reported to the order as gone", async () => {
  for (const make of [
    () => createType2Tag("ntag213", { uid: uid7, text: "old" }),
    () => createClassic("classic-1k", { uid: uid4, text: "old" }),
    () => createType4Tag({ uid: uid7, text: "old" }),
  ]) {
    const tag = make();
    await withReader(
      async ({ device, session }) => {
        device.onFrame(([code = 0, , instruction]) => {
          // The frame is WRITE, the first step of the older command for a write, or UPDATE BINARY in a block.
          const isUpdate = (code & 0xe2) === 0x02 && instruction === 0xd6;
          if (code === 0xa2 || code === 0xa0 || isUpdate) device.take();
        });
        const failed = await session
          .write?.({ text: short, force: false, claim: () => true }, never)
          .catch((error: unknown) => error);
        expect(causeOf(failed)).toEqual({ cause: "gone" });
      },
      [tag],
    );
  }
});

test("a Classic whose keys nobody knows is reported as locked", async () => {
  const tag = createClassic("classic-1k", { uid: uid4, text: short });
  for (let sector = 0; sector < 16; sector++) {
    tag.memory.fill(0x11, sector * 64 + 48, sector * 64 + 54);
    tag.memory.fill(0x22, sector * 64 + 58, sector * 64 + 64);
  }
  await withReader(
    ({ seen }) =>
      eventually(() =>
        expect(seen()?.[0]).toEqual({
          type: "MIFARE",
          uid: "de4a1b7c",
          text: "",
          data: "",
          problem: "locked",
        }),
      ),
    [tag],
  );
});

test("a card that asks for more time gets it, and answers in short blocks are put together", async () => {
  const tag = createType4Tag({ uid: uid7, text: short });
  const slowInstruction = 0xb0;
  await withReader(({ seen }) => eventually(() => expect(seen()?.[0]?.text).toBe(short)), [tag], {
    cardOf: (card) => createIsoDepCard(card, { slowInstruction, answerBytesMax: 16 }),
  });
});

test("a card that asks for time for ever, or never ends its answer, is given up as unreadable", async () => {
  const ats = Uint8Array.fromHex("067577800280");
  const frame = (...bytes: readonly number[]) =>
    ({ kind: "frame", bytes: Uint8Array.from(bytes), hasCrc: true }) as const;
  const hostile: readonly ((code: number) => readonly number[])[] = [
    () => [0xf2, 0x01],
    // A block that more blocks follow, with the number of the reader's block.
    (code) => [0x12 | (code & 1), ...new Uint8Array(61)],
    (code) => [0x12 | (code & 1)],
    // The tag acknowledges each block, and answers none.
    (code) => [0xa2 | (code & 1)],
  ];
  for (const answerTo of hostile) {
    let frames = 0;
    const cardOf = () => ({
      isOpen: false,
      hear([code = 0]: Uint8Array) {
        frames += 1;
        return code === 0xe0 ? frame(...ats) : frame(...answerTo(code));
      },
    });
    await withReader(
      async ({ seen }) => {
        await eventually(() => expect(seen()?.[0]?.problem).toBe("unreadable"));
        // There are three tries. Each ends after 20 extensions, 68 whole blocks or 512 empty blocks.
        expect(frames).toBeLessThan(3 * 520);
      },
      [createType4Tag({ uid: uid7, text: short })],
      { looks: 0, cardOf },
    );
  }
});

test("a chip whose answers are noise is a reader that is gone, or goes on, and nothing else", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const device = createMfrc522Device({ path, looks: 0 });
    const random = seededRandom(seed);
    let isNoisy = false;
    const driver = createMfrc522Spi(() => ({
      transfer(bytes) {
        const answer = device.open().transfer(bytes);
        return isNoisy && random() < 0.2 ? answer.map(() => Math.floor(random() * 256)) : answer;
      },
      close() {},
    }));
    device.put(createType2Tag("ntag215", { uid: uid7, text: short }));
    const session = await driver.open(path, context, never);
    isNoisy = true;
    const failed = await session.watch(() => {}, never).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ServiceError);
    if (failed instanceof ServiceError) expect(failed.code).toBe("reader-gone");
    await session.close();
  }
});

test("a card is read through answers that are broken on their way, whatever kind it is", async () => {
  const makes: readonly (readonly [TagType, () => EmulatedTag])[] = [
    ["NTAG", () => createType2Tag("ntag215", { uid: uid7, text: short })],
    ["MIFARE", () => createClassic("classic-1k", { uid: uid4, text: short })],
    ["DESFire", () => createType4Tag({ uid: uid7, text: short })],
    ["ISO14443-4", () => createType4Tag({ uid: uid7, text: short, ats: smallFrames })],
  ];
  for (const [type, make] of makes) {
    // Each answer in turn is the broken one, until a read has fewer answers.
    let wasBroken = true;
    for (let broken = 1; wasBroken && broken < 200; broken++) {
      await withReader(
        async ({ device, seen }) => {
          await eventually(() => expect(seen()).toEqual([]));
          let answers = 0;
          device.disturb(() => ++answers === broken);
          device.put(make());
          await eventually(() => expect(seen()?.[0]?.text).toBe(short));
          expect(seen()?.[0]?.type).toBe(type);
          wasBroken = answers >= broken;
        },
        [],
        { looks: 0 },
      );
    }
    expect(wasBroken).toBe(false);
  }
});
