/**
 * Every kind of tag, read and written over the driver's own channel on the emulated chip.
 * Covers: drivers/tags.
 */
import { describe, expect, test } from "bun:test";
import { firstBlockOf } from "../../../../drivers/protocol/classic.ts";
import { encodeTextMessage } from "../../../../drivers/protocol/ndef.ts";
import { wrapMessage } from "../../../../drivers/protocol/type2-tag.ts";
import { readTag, writeTag } from "../../../../drivers/tags/tag-families.ts";
import { ServiceError } from "../../../../src/core/errors.ts";
import type { Sighting } from "../../../../src/core/token.ts";
import {
  classicKinds,
  createCardWithoutMessages,
  createClassic,
  createClassicTag,
  createFelicaTag,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
  type Type2Kind,
  type2Kinds,
} from "../../../emulators/emulated-tags.ts";
import type { Type4Options } from "../../../emulators/emulated-type4.ts";
import { otherTags } from "../../../emulators/index.ts";
import { type ChannelOptions, channelOn, isWrite, type TestChannel } from "../../../helpers/tag-channel.ts";

type Torn = EmulatedTag & { readonly tearNextWrite: (bytes: number) => void };

const never = new AbortController().signal;
const uid7 = Uint8Array.fromHex("04a1b2c3d4e5f6");
const uid4 = Uint8Array.fromHex("de4a1b7c");
const idm = Uint8Array.fromHex("0127006812345678");
const mc = 14 * 16; // The place of the emulated FeliCa's configuration, after its blocks.
const short = "SNES/Game.sfc";
const long = "x".repeat(300);

const read = (tag: EmulatedTag, options?: ChannelOptions) => readTag(channelOn(tag, options), never);
const write = (tag: EmulatedTag, text: string, force = false, options?: ChannelOptions) =>
  writeTag(channelOn(tag, options), { text, force }, never).then(
    () => "written",
    (error: unknown) => error,
  );

function causeOf(result: unknown): unknown {
  return result instanceof ServiceError ? result.data : result;
}

interface Kind {
  readonly name: string;
  readonly type: string;
  /** Without a text the tag is blank; it is formatted if such tags leave the factory formatted. */
  readonly make: (text?: string) => Torn;
  readonly holdsLong: boolean;
  /** The reported raw memory of a short text. */
  readonly data: (text: string) => Uint8Array;
  readonly unitBytes: number;
}

const inBlocks = (text: string) => wrapMessage(encodeTextMessage(text)).slice(0, -1);
const type2 = (kind: Type2Kind): Kind => ({
  name: kind,
  type: kind.startsWith("ntag") ? "NTAG" : "Ultralight",
  make: (text) => createType2Tag(kind, text === undefined ? { uid: uid7 } : { uid: uid7, text }),
  holdsLong: kind === "ntag215" || kind === "ntag216",
  data: (text) =>
    Uint8Array.of(...(kind === "ntag213" ? [0x01, 0x03, 0xa0, 0x0c, 0x34] : []), ...inBlocks(text)),
  unitBytes: 4,
});
const type4 = (name: string, options: Omit<Type4Options, "uid">): Kind => ({
  name,
  type: "DESFire",
  make: (text) => createType4Tag({ uid: uid7, ...options, ...(text === undefined ? {} : { text }) }),
  holdsLong: (options.fileBytes ?? 256) > 320,
  data: (text) => {
    const message = encodeTextMessage(text);
    return Uint8Array.of(...(options.isExtended ? [0, 0] : []), 0, message.length, ...message);
  },
  unitBytes: 52,
});
const kinds: readonly Kind[] = [
  ...type2Kinds.map(type2),
  ...(["classic-mini", "classic-1k", "classic-4k"] as const).map(
    (kind): Kind => ({
      name: kind,
      type: "MIFARE",
      make: (text) => createClassic(kind, { uid: uid4, text: text ?? "" }),
      holdsLong: kind !== "classic-mini",
      data: inBlocks,
      unitBytes: 16,
    }),
  ),
  type4("a DESFire", { fileBytes: 512 }),
  type4("a Type 4 tag of version 3 with small chunks", {
    fileBytes: 1024,
    version: 0x30,
    isExtended: true,
    readBytesMax: 15,
    writeBytesMax: 13,
  }),
  {
    name: "a FeliCa Lite-S",
    type: "FeliCa",
    make: (text) => createFelicaTag({ uid: idm, text: text ?? "" }),
    holdsLong: false,
    data: encodeTextMessage,
    unitBytes: 16,
  },
];

describe.each([...kinds])("$name", ({ type, make, holdsLong, data, unitBytes }) => {
  const texts = holdsLong ? [short, long] : [short];

  test("is read with its text, its type and the raw memory of its message", async () => {
    const tag = make(short);
    const uid = tag.uid.toHex();
    expect(await read(tag)).toEqual({ type, uid, text: short, data: data(short).toHex() } as Sighting);
    if (holdsLong) expect(await read(make(long))).toMatchObject({ type, text: long });
  });

  test("without a message says that it is blank, or not formatted", async () => {
    const seen = await read(make());
    expect(seen?.text).toBe("");
    expect(["blank", "unformatted"]).toContain(seen?.problem ?? "nothing");
  });

  test("is written and read back, over a blank tag and over another text", async () => {
    for (const old of [undefined, "before", ...texts]) {
      for (const text of texts) {
        const tag = make(old);
        expect(await write(tag, text)).toBe("written");
        expect(await read(tag)).toMatchObject({ type, text });
      }
    }
  });

  test("that already holds the text is not written", async () => {
    let writes = 0;
    const onCommand = (payload: Uint8Array) => {
      writes += isWrite(payload) ? 1 : 0;
      return undefined;
    };
    expect(await write(make(short), short, false, { onCommand })).toBe("written");
    expect(writes).toBe(0);
  });

  test("that is too small says by how many bytes, and is left as it was", async () => {
    const tag = make("before");
    const before = tag.memory.slice();
    const result = await write(tag, "x".repeat(4000));
    expect(causeOf(result)).toMatchObject({ cause: "too-small" });
    const { bytesMissing } = causeOf(result) as { bytesMissing: number };
    expect(tag.memory).toEqual(before);
    expect(await write(make("before"), "x".repeat(4000 - bytesMissing))).toBe("written");
  });

  test("that is taken off at any byte of a write holds the old text, the new one or none, and can be written again", async () => {
    for (const old of [undefined, "before", "another text, of two blocks or three"]) {
      const outcomes = new Set<string>();
      for (let at = 1, isDone = false; !isDone; at++) {
        for (let bytes = 0; bytes <= unitBytes; bytes += unitBytes > 16 ? 7 : 1) {
          const tag = make(old);
          isDone = !(await isTorn(tag, short, at, bytes));
          if (isDone) break;
          const seen = await read(tag);
          outcomes.add(seen?.text ?? "gone");
          expect(await write(tag, short)).toBe("written");
          expect(await read(tag)).toMatchObject({ text: short });
        }
      }
      expect(outcomes).toEqual(new Set([old ?? "", "", short]));
    }
  });

  test("with answers that get lost now and then is read and written all the same", async () => {
    for (let phase = 0; phase < 7; phase++) {
      let count = phase;
      const onCommand = (payload: Uint8Array) => {
        const isExchange = payload[1] === 0x40 || payload[1] === 0x42;
        count += isExchange ? 1 : 0;
        return isExchange && count % 41 === 40 ? Uint8Array.of(0xd5, (payload[1] ?? 0) + 1, 0x01) : undefined;
      };
      const tag = make("before");
      expect(await write(tag, short, false, { onCommand })).toBe("written");
      expect(await read(tag, { onCommand })).toMatchObject({ text: short });
    }
  });
});

/** Removes the tag after this many bytes of its write number `at`; false if there was no such write. */
async function isTorn(tag: Torn, text: string, at: number, bytes: number): Promise<boolean> {
  let writes = 0;
  let channel: TestChannel | undefined;
  const gone = Uint8Array.of(0xd5, 0x41, 0x01);
  const onCommand = (payload: Uint8Array): Uint8Array | undefined => {
    if (writes === at) {
      channel?.take();
      return payload[1] === 0x40 || payload[1] === 0x42 ? gone : undefined;
    }
    if (!isWrite(payload)) return undefined;
    writes += 1;
    if (writes === at) tag.tearNextWrite(bytes);
    return undefined;
  };
  channel = channelOn(tag, { onCommand });
  const result = await writeTag(channel, { text, force: false }, never).catch((error: unknown) => error);
  if (writes < at) return false;
  expect(causeOf(result)).toMatchObject({ cause: "gone" });
  return true;
}

describe("a plain PC/SC reader, which sends no frames,", () => {
  for (const { name, type, make, data, holdsLong } of kinds) {
    if (name === "a FeliCa Lite-S") continue;
    test(`reads and writes ${name} with the same raw memory`, async () => {
      const options = { isPlain: true };
      const tag = make(short);
      expect((await read(tag, options))?.data).toBe(data(short).toHex());
      expect(await write(tag, holdsLong ? long : "other", false, options)).toBe("written");
      // Without the answer to GET_VERSION, the container of an NTAG 210u is that of an Ultralight.
      const plainType = name === "ntag210u" ? "Ultralight" : type;
      const seen = await read(tag, options);
      expect({ ...seen, type }).toEqual((await read(tag)) as Sighting);
      expect(seen).toMatchObject({ type: plainType, text: holdsLong ? long : "other" });
    });
  }
});

// The tag answers only to Sony's system code. The fault: it counted as a transit card, and could not be written.
describe("a FeliCa Lite-S as it leaves the factory", () => {
  test("is formatted with the first text, as somebody else would", async () => {
    const tag = createFelicaTag({ uid: idm });
    expect(await read(tag)).toMatchObject({ type: "FeliCa", text: "", problem: "unformatted" });
    expect(await write(tag, short)).toBe("written");
    expect(await read(tag)).toMatchObject({ text: short });
    // FeliCa Lite-S user's manual, memory configuration; Type 3 Tag 1.1, attribute information block.
    expect(tag.memory.subarray(mc, mc + 5).toHex()).toBe("ffffff0107");
    expect(tag.memory.subarray(0, 11).toHex()).toBe("100401000d000000000001");
    expect(tag.memory.toHex()).toBe(createFelicaTag({ uid: idm, text: short }).memory.toHex());
  });

  test("is refused before anything is written where the text does not fit, and takes as much as one that is formatted", async () => {
    const tag = createFelicaTag({ uid: idm });
    const before = tag.memory.slice();
    const [fresh, formatted] = [
      causeOf(await write(tag, long)),
      causeOf(await write(createFelicaTag({ uid: idm, text: "" }), long)),
    ];
    expect(fresh).toMatchObject({ cause: "too-small" });
    expect(fresh).toEqual(formatted);
    expect(tag.memory).toEqual(before);
  });

  test("that is taken off at any byte of it is reported as blank or not formatted, and is finished next time", async () => {
    const outcomes = new Set<string>();
    for (let at = 1, isDone = false; !isDone; at++) {
      for (let bytes = 0; bytes <= 16; bytes++) {
        const tag = createFelicaTag({ uid: idm });
        isDone = !(await isTorn(tag, short, at, bytes));
        if (isDone) break;
        const seen = await read(tag);
        outcomes.add(seen?.text || (seen?.problem ?? "nothing is wrong"));
        expect(await write(tag, short)).toBe("written");
        expect(await read(tag)).toMatchObject({ text: short });
      }
    }
    expect(outcomes).toEqual(new Set(["unformatted", "blank", "half-written", short]));
  });

  test("with somebody's data is overwritten where that is asked for", async () => {
    const tag = liteWith(0, 0x55);
    expect(await write(tag, short, true)).toBe("written");
    expect(await read(tag)).toMatchObject({ type: "FeliCa", text: short });
  });

  test("that answers to the NFC Forum's code already, and has no attributes, is given some", async () => {
    const tag = liteWith(mc + 3, 1);
    expect(await read(tag)).toMatchObject({ problem: "unformatted" });
    expect(await write(tag, short)).toBe("written");
    expect(await read(tag)).toMatchObject({ text: short });
  });

  test("with answers that get lost now and then is reported and formatted all the same", async () => {
    for (let phase = 0; phase < 11; phase++) {
      let count = phase;
      const onCommand = (payload: Uint8Array) => {
        const isExchange = payload[1] === 0x40 || payload[1] === 0x42;
        count += isExchange ? 1 : 0;
        return isExchange && count % 11 === 10 ? Uint8Array.of(0xd5, (payload[1] ?? 0) + 1, 0x01) : undefined;
      };
      const tag = createFelicaTag({ uid: idm });
      expect(await read(tag, { onCommand })).toMatchObject({ problem: "unformatted" });
      expect(await write(tag, short, false, { onCommand })).toBe("written");
      expect(await read(tag)).toMatchObject({ text: short });
    }
  });
});

describe("a MIFARE Classic as it leaves the factory", () => {
  for (const kind of ["classic-mini", "classic-1k", "classic-4k"] as const) {
    test(`is formatted with the first text (${kind}), as somebody else would`, async () => {
      const tag = createClassic(kind, { uid: uid4 });
      expect(await read(tag)).toMatchObject({ type: "MIFARE", text: "", problem: "unformatted" });
      expect(await write(tag, short)).toBe("written");
      expect(await read(tag)).toMatchObject({ text: short });
      const ready = createClassic(kind, { uid: uid4, text: short });
      expect(tag.memory.toHex()).toBe(ready.memory.toHex());
    });
  }

  test("is refused before anything is written where the text does not fit", async () => {
    const tag = createClassic("classic-mini", { uid: uid4 });
    const before = tag.memory.slice();
    expect(causeOf(await write(tag, long))).toMatchObject({ cause: "too-small" });
    expect(tag.memory).toEqual(before);
  });

  test("is refused where one of its sectors has a key of its own, or holds data, and force replaces the data", async () => {
    const locked = createClassic("classic-1k", { uid: uid4 });
    locked.memory.set([1, 2, 3, 4, 5, 6], 19 * 16);
    const full = createClassic("classic-1k", { uid: uid4 });
    full.memory.set([1, 2, 3, 4, 5, 6], 20 * 16);
    const full0 = createClassic("classic-1k", { uid: uid4 });
    full0.memory.set([1, 2, 3, 4, 5, 6], 16);
    for (const tag of [locked, full, full0]) {
      const before = tag.memory.slice();
      expect(causeOf(await write(tag, short))).toMatchObject({ cause: "foreign" });
      expect(tag.memory).toEqual(before);
    }
    expect(causeOf(await write(locked, short, true))).toMatchObject({ cause: "foreign" });
    expect(await write(full, short, true)).toBe("written");
    expect(await read(full)).toMatchObject({ text: short });
  });

  test("that is taken off between two blocks of it is reported as blank or not formatted, and is finished next time", async () => {
    for (let at = 1, isDone = false; !isDone; at++) {
      for (const bytes of [0, 16]) {
        const tag = createClassic("classic-mini", { uid: uid4 });
        isDone = !(await isTorn(tag, short, at, bytes));
        if (isDone) break;
        const seen = await read(tag);
        expect(["", short]).toContain(seen?.text ?? "gone");
        expect(await write(tag, short)).toBe("written");
        expect(await read(tag)).toMatchObject({ text: short });
      }
    }
  });

  test("that is taken off in the midst of any block holds no text that nobody wrote", async () => {
    for (let at = 1, isDone = false; !isDone; at++) {
      for (let bytes = 1; bytes < 16; bytes++) {
        const tag = createClassic("classic-mini", { uid: uid4 });
        isDone = !(await isTorn(tag, short, at, bytes));
        if (isDone) break;
        expect(["", short]).toContain((await read(tag))?.text ?? "gone");
      }
    }
  });
});

describe("a tag that is not ours is left as it is:", () => {
  const classicWith = (edit: (memory: Uint8Array) => void) => {
    const tag = createClassic("classic-1k", { uid: uid4, text: "before" });
    edit(tag.memory);
    return tag;
  };
  const ats = Uint8Array.of(0x78, 0x80, 0x70, 0x02);
  const cases: readonly (readonly [name: string, tag: EmulatedTag, cause: string])[] = [
    ["a MIFARE Classic with keys of its own", createClassicTag(uid4), "password"],
    // Access bits 07 8F 0F: data for reading only, by either key (AN1304, 6.1).
    [
      "a MIFARE Classic for reading only",
      classicWith((m) => m.set([0x07, 0x8f, 0x0f], 7 * 16 + 6)),
      "locked",
    ],
    ["a MIFARE Classic whose directory is broken", classicWith((m) => m.fill(0x55, 20, 24)), "foreign"],
    ["a payment card", createCardWithoutMessages(uid4, ats, { isPayment: true }), "foreign"],
    ["a transit card of ISO/IEC 14443-4", createCardWithoutMessages(uid7, ats), "foreign"],
    [
      "a DESFire without a place for messages",
      createCardWithoutMessages(uid7, Uint8Array.fromHex("7577810280")),
      "unsupported",
    ],
    [
      "a Type 4 tag for reading only",
      createType4Tag({ uid: uid7, text: "before", writeAccess: 0xff }),
      "locked",
    ],
    [
      "a Type 4 tag with a password",
      createType4Tag({ uid: uid7, text: "before", writeAccess: 0x80 }),
      "password",
    ],
    ["a FeliCa of a transit card", createFelicaTag({ uid: idm, systemCode: 0x0003 }), "foreign"],
    ["a FeliCa Lite-S that holds data of another kind", liteWith(16, 1), "foreign"],
    ["a FeliCa Lite-S whose blocks want a key", liteWith(mc + 8, 1), "locked"],
    ["a FeliCa Lite-S that is nobody's and may not be changed", liteWith(mc + 2, 0), "locked"],
    ["a FeliCa for reading only", createFelicaTag({ uid: idm, text: "before", isWritable: false }), "locked"],
    ["a LEGO Dimensions toy", legoToy("0413bb1a994080", "0139ed60e4be307c00000000"), "foreign"],
    ["an amiibo", amiibo("01000000034b0902"), "foreign"],
  ];
  for (const [name, tag, cause] of cases) {
    test(name, async () => {
      const before = tag.memory.slice();
      const result = await write(tag, short);
      expect(causeOf(result)).toMatchObject({ cause });
      expect(tag.memory).toEqual(before);
      expect(String(result)).toMatch(/[a-z]+ [a-z]+/);
    });
  }

  test("a LEGO Dimensions toy is overwritten where that is asked for", async () => {
    const toy = legoToy("0413bb1a994080", "0139ed60e4be307c00000000");
    expect(await write(toy, short, true)).toBe("written");
    expect(await read(toy)).toMatchObject({ type: "NTAG", text: short });
  });
});

describe("the kind of a tag, and why it has no text", () => {
  test("an amiibo is recognized by its figure", async () => {
    const seen = await read(amiibo("01000000034b0902"));
    expect(seen).toEqual({ type: "Amiibo", uid: uid7.toHex(), text: "", data: "01000000034b0902" });
  });

  // UIDs and pages of real toys and of a made-up one, with their known ids: 3, 46 and 1173.
  test.each([
    ["0413bb1a994080", "0139ed60e4be307c00000000", "0300000000000000"],
    ["0458e452252091", "4b63b1088f638a8d00000000", "2e00000000000000"],
    ["04d9c8daa24080", "950400000000000000010000", "9504000000010000"],
  ])("a LEGO Dimensions toy %p is told by its id", async (uid, pages, data) => {
    const toy = legoToy(uid, pages);
    expect(await read(toy)).toEqual({ type: "LegoDimensions", uid, text: "", data });
    expect(await read(toy, { isPlain: true })).toEqual({ type: "LegoDimensions", uid, text: "", data });
  });

  test("another tag with the pages of a toy is none: the id is enciphered with the UID", async () => {
    const copy = legoToy("04000000000001", "0139ed60e4be307c00000000");
    expect(await read(copy)).toMatchObject({ type: "NTAG", problem: "blank" });
  });

  const edited = (kind: Type2Kind, edit: (memory: Uint8Array) => void, text?: string) => {
    const tag = createType2Tag(kind, text === undefined ? { uid: uid7 } : { uid: uid7, text });
    edit(tag.memory);
    return tag;
  };
  const cases: readonly (readonly [name: string, tag: EmulatedTag, seen: object])[] = [
    ["a new NTAG213", createType2Tag("ntag213", { uid: uid7 }), { type: "NTAG", problem: "blank" }],
    [
      "a new Ultralight",
      createType2Tag("ultralight", { uid: uid7 }),
      { type: "Ultralight", problem: "unformatted" },
    ],
    [
      "a message that ends behind the tag's memory",
      edited("ntag213", (memory) => memory.set([0x03, 0xf0], 16)),
      { problem: "half-written" },
    ],
    [
      "a record that is longer than its message",
      edited("ntag215", (memory) => memory.set([0x03, 0x04, 0xd1, 0x01, 0x40, 0x54], 16)),
      { problem: "half-written" },
    ],
    [
      "a picture",
      createType2Tag("ntag215", { uid: uid7, message: Uint8Array.fromHex("d20902696d6167652f706e670102") }),
      { problem: "other-message" },
    ],
    [
      "an empty record, as phones format tags",
      createType2Tag("ntag215", { uid: uid7, message: Uint8Array.fromHex("d00000") }),
      { problem: "blank" },
    ],
    [
      "a password for reading",
      edited("ntag215", (memory) => memory.set([4, 0x80], 0x83 * 4 + 3), "x"),
      { type: "NTAG", text: "", problem: "locked" },
    ],
    [
      "a password for reading what stands behind the message",
      edited("ntag215", (memory) => memory.set([0x0a, 0x80], 0x83 * 4 + 3), "x"),
      { type: "NTAG", text: "x" },
    ],
    ["a MIFARE Classic with keys of its own", createClassicTag(uid4), { type: "MIFARE", problem: "locked" }],
    ["a blank MIFARE Classic", createClassic("classic-1k", { uid: uid4, text: "" }), { problem: "blank" }],
    [
      "a DESFire that nobody formatted",
      createCardWithoutMessages(uid7, Uint8Array.fromHex("7577810280")),
      { type: "DESFire", problem: "unformatted" },
    ],
    [
      "a FeliCa whose write was interrupted",
      interruptedFelica(),
      { type: "FeliCa", problem: "half-written" },
    ],
  ];
  for (const [name, tag, seen] of cases)
    test(`${name} says so`, async () => {
      expect(await read(tag)).toMatchObject({ text: "", ...seen });
    });

  test("a payment card and a transit card are known by their UID, and nothing is wrong with them", async () => {
    const ats = Uint8Array.of(0x78, 0x80, 0x70, 0x02);
    expect(await read(createCardWithoutMessages(uid4, ats, { isPayment: true }))).toEqual({
      type: "ISO14443-4",
      uid: uid4.toHex(),
      text: "",
      data: "",
    });
    for (const card of [createFelicaTag({ uid: idm, systemCode: 0x0003 }), liteWith(0, 0x55)])
      expect(await read(card)).toEqual({ type: "FeliCa", uid: idm.toHex(), text: "", data: "" });
  });

  test("a MIFARE Classic with a message across the second directory is read whole", async () => {
    const text = "y".repeat(900);
    const tag = createClassic("classic-4k", { uid: uid4, text });
    expect(firstBlockOf(classicKinds["classic-4k"].sectors)).toBe(256);
    expect(await read(tag)).toMatchObject({ text });
  });
});

test.each(["fewer-bytes", "wrong-length", "no-such-offset"] as const)(
  "an app on a phone that returns no bytes behind its message (%s) was unreadable",
  async (readsBeyond) => {
    const uid = Uint8Array.fromHex("08a1b2c3");
    const ats = Uint8Array.of(0x78, 0x80, 0x70, 0x02);
    for (const text of ["x", short, long])
      for (const readBytesMax of [15, 59, 246]) {
        const card = createType4Tag({ uid, ats, text, fileBytes: 512, readBytesMax, readsBeyond });
        expect(await read(card)).toMatchObject({ type: "ISO14443-4", text });
      }
  },
);

describe("an exchange that fails once, whatever the chip calls that,", () => {
  for (const { name, make, expected } of otherTags) {
    test(`does not keep ${name} from being read`, async () => {
      for (const status of [0x01, 0x02, 0x05, 0x0a, 0x0b, 0x13, 0x14, 0x27, 0x29, 0x2b]) {
        for (let at = 1, isDone = false; !isDone; at++) {
          let exchanges = 0;
          const onCommand = (payload: Uint8Array) => {
            const isExchange = payload[1] === 0x40 || payload[1] === 0x42;
            exchanges += isExchange ? 1 : 0;
            return isExchange && exchanges === at
              ? Uint8Array.of(0xd5, (payload[1] ?? 0) + 1, status)
              : undefined;
          };
          expect(await read(make(), { onCommand })).toEqual(expected);
          isDone = exchanges < at;
        }
      }
    });
  }
});

test.each(["ntag213", "ntag215", "ntag216"] as const)(
  "an %s that reports no version was an Ultralight, and an NTAG213 seemed to have a password",
  async (kind) => {
    const make = () => createType2Tag(kind, { uid: uid7, isCopy: true });
    const text = "x".repeat({ ntag213: 120, ntag215: 470, ntag216: 840 }[kind]);
    expect(await read(make())).toMatchObject({ type: "NTAG", problem: "blank" });
    const tag = make();
    expect(await write(tag, text)).toBe("written");
    expect(await read(tag)).toMatchObject({ type: "NTAG", text });
    const locked = createType2Tag(kind, { uid: uid7, isCopy: true });
    // AUTH0: a password guards each page from the first one of the message on.
    const config = { ntag213: 0x29, ntag215: 0x83, ntag216: 0xe3 }[kind];
    locked.memory[config * 4 + 3] = 4;
    expect(causeOf(await write(locked, short))).toEqual({ cause: "password" });
  },
);

test.each(["ntag213", "ntag215", "ntag216"] as const)(
  "a copy of an %s that reports its version without FAST_READ seemed to have a password when it was written",
  async (kind) => {
    const text = "x".repeat({ ntag213: 120, ntag215: 470, ntag216: 840 }[kind]);
    const tag = createType2Tag(kind, { uid: uid7, lacksFastRead: true });
    expect(await read(tag)).toMatchObject({ type: "NTAG", problem: "blank" });
    expect(await write(tag, text)).toBe("written");
    expect(await read(tag)).toMatchObject({ type: "NTAG", text });
  },
);

test("an NTAG 210u is read at the first try, without FAST_READ", async () => {
  const codes: number[] = [];
  const onCommand = (payload: Uint8Array) => {
    if (payload[1] === 0x40 || payload[1] === 0x42) codes.push(payload[payload[1] === 0x40 ? 3 : 2] ?? 0);
    return undefined;
  };
  const tag = createType2Tag("ntag210u", { uid: uid7, text: short });
  expect(await read(tag, { onCommand })).toMatchObject({ type: "NTAG", text: short });
  expect(codes).toEqual([0x60, 0x30, 0x30]);
});

test("an NTAG whose answer to the first command was lost was an Ultralight until its next tap", async () => {
  let isLost = true;
  const loseFirst = (payload: Uint8Array) => {
    if (!isLost || payload.at(-1) !== 0x60) return undefined;
    isLost = false;
    return Uint8Array.of(0xd5, 0x43, 0x01);
  };
  const tag = createType2Tag("ntag215", { uid: uid7, text: short });
  expect(await read(tag, { onCommand: loseFirst })).toMatchObject({ type: "NTAG", text: short });
  expect(isLost).toBe(false);
});

test("an NTAG213 whose upper pages need a password is read as blank, and no toy is looked for behind it", async () => {
  const tag = createType2Tag("ntag213", { uid: uid7 });
  tag.memory.set([0x20], 0x29 * 4 + 3);
  tag.memory.set([0x80], 0x2a * 4);
  expect(await read(tag)).toMatchObject({ type: "NTAG", problem: "blank" });
});

function amiibo(figure: string): EmulatedTag {
  const tag = createType2Tag("ntag215", { uid: uid7 });
  tag.memory.set([0xf1, 0x10, 0xff, 0xee, 0xa5, 0x00, 0x01, 0x00], 12);
  tag.memory.set(Uint8Array.fromHex(figure), 21 * 4);
  return tag;
}

function legoToy(uid: string, pages: string): EmulatedTag {
  const tag = createType2Tag("ntag213", { uid: Uint8Array.fromHex(uid) });
  tag.memory.set(Uint8Array.fromHex(pages), 0x24 * 4);
  return tag;
}

/** A new FeliCa Lite-S, in which only this byte differs. */
function liteWith(at: number, byte: number) {
  const tag = createFelicaTag({ uid: idm });
  tag.memory[at] = byte;
  return tag;
}

function interruptedFelica(): EmulatedTag {
  const tag = createFelicaTag({ uid: idm, text: "before" });
  tag.memory[9] = 0x0f;
  const sum = tag.memory.subarray(0, 14).reduce((total, byte) => total + byte, 0);
  tag.memory.set([sum >> 8, sum & 0xff], 14);
  return tag;
}
