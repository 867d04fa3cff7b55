/**
 * Every parser of a tag's bytes, on noise and on mutated tags: it never throws, never reads beyond the end, and always ends.
 * Covers: drivers/tags, drivers/protocol.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { accessOf, encodeDirectory, parseDirectory } from "../../../../drivers/protocol/classic.ts";
import {
  encodeTextMessage,
  encodeUriMessage,
  parseMessage,
  textOfRecords,
} from "../../../../drivers/protocol/ndef.ts";
import { parseFelicaTarget, parseTypeATarget } from "../../../../drivers/protocol/pn532-commands.ts";
import { findMessage, placeOfMessage, planAreaWrite } from "../../../../drivers/protocol/tlv.ts";
import { figureOf, legoToyOf } from "../../../../drivers/protocol/toys.ts";
import { contentOf, parseVersion, wrapMessage } from "../../../../drivers/protocol/type2-tag.ts";
import {
  freshAttributes,
  parseAttributes,
  parsePolled,
  parseRead,
  withMessage,
} from "../../../../drivers/protocol/type3-tag.ts";
import { lengthIn, parseAnswer, parseContainer } from "../../../../drivers/protocol/type4-tag.ts";
import { readTag, writeTag } from "../../../../drivers/tags/tag-families.ts";
import { ServiceError } from "../../../../src/core/errors.ts";
import { ndefBytesMax } from "../../../../src/core/limits.ts";
import {
  createClassic,
  createFelicaTag,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
} from "../../../emulators/emulated-tags.ts";
import { fuzzRounds } from "../../../helpers/rounds.ts";
import { channelOn } from "../../../helpers/tag-channel.ts";

const rounds = fuzzRounds(20_000);
const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
const never = new AbortController().signal;

/** Good messages, which the test cuts, joins and alters. */
const good: readonly Uint8Array[] = [
  encodeTextMessage("SNES/Game.sfc"),
  encodeTextMessage("y".repeat(300)),
  encodeUriMessage("https://www.example.org/a"),
  // A Smart Poster, and a Text record in chunks.
  Uint8Array.fromHex("d1020f5370d1010b55046578616d706c652e6f7267"),
  Uint8Array.fromHex("b101025402653600026e4156000142"),
  wrapMessage(encodeTextMessage("SNES/Game.sfc")),
  Uint8Array.of(
    0xe1,
    0x10,
    0x12,
    0x00,
    0x01,
    0x03,
    0xa0,
    0x0c,
    0x34,
    ...wrapMessage(encodeTextMessage("abc")),
  ),
  Uint8Array.of(0xfd, 0xff, 0x00, 0x20, 0x02, 0x03, 0xf0, 0x10, 0x04, 0x03, 0xff, 0x01, 0x00),
  encodeDirectory(2, 1, 15),
  encodeDirectory(3, 17, 39),
  Uint8Array.fromHex("000f20003b00340406e104010000ff"),
  Uint8Array.fromHex("0011300100010006 08e1040000100000ff".replaceAll(" ", "")),
  freshAttributes(13, 4),
  Uint8Array.fromHex("1401012700681234567800f100000001430088b4"),
  Uint8Array.fromHex("d54b010114010127006812345678" + "00f100000001430012fc"),
  Uint8Array.fromHex("d54b01010044000704a1b2c3d4e5f6"),
  Uint8Array.fromHex("0004040201001103"),
  Uint8Array.fromHex("0139ed60e4be307c00000000"),
];

const noise = fc.uint8Array({ maxLength: 600 });
const mutated = fc
  .tuple(
    fc.constantFrom(...good),
    fc.constantFrom(...good),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
    fc.nat(400),
    fc.boolean(),
  )
  .map(([first, second, changes, length, joins]) => {
    const bytes = Uint8Array.of(...first, ...(joins ? second : []));
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    return length < bytes.length ? bytes.slice(0, length) : bytes;
  });
const input = fc.oneof({ weight: 1, arbitrary: noise }, { weight: 3, arbitrary: mutated });

/** Puts the same bytes in the middle of others, so a parser that reads beyond their end gives another result. */
function amidst(bytes: Uint8Array, others: number): Uint8Array {
  const whole = new Uint8Array(bytes.length + 128).fill(others);
  whole.set(bytes, 64);
  return whole.subarray(64, 64 + bytes.length);
}

const parsers: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  parseMessage: (bytes) => {
    const parsed = parseMessage(bytes);
    return parsed.kind === "message" ? [parsed, textOfRecords(parsed.records)] : parsed;
  },
  contentOf,
  findMessage: (bytes) => {
    const found = findMessage(bytes, bytes.length);
    if (found.kind === "message") expect(found.end).toBeLessThanOrEqual(bytes.length);
    return found;
  },
  placeOfMessage: (bytes) => placeOfMessage(bytes),
  planAreaWrite: (bytes) => {
    const area = bytes.subarray(0, bytes.length - (bytes.length % 16));
    const message = encodeTextMessage("text");
    const plan = planAreaWrite(area, 16, message, true);
    if (plan.kind !== "plan") return plan;
    const found = findMessage(plan.written, plan.written.length);
    const written = found.kind === "message" ? plan.written.subarray(found.start, found.end) : area;
    expect(written.toHex()).toBe(message.toHex());
    return plan;
  },
  parseDirectory: (bytes) => parseDirectory(bytes, 1),
  accessOf: (bytes) => [0, 1, 2, 3].map((group) => accessOf(bytes, group)),
  parseContainer,
  parseAnswer,
  lengthIn: (bytes) => lengthIn(bytes, 4),
  parseAttributes: (bytes) => {
    const attributes = parseAttributes(bytes);
    if (attributes === undefined) return undefined;
    expect(attributes.blocks * 16).toBeLessThanOrEqual(ndefBytesMax);
    return [attributes, withMessage(attributes, { isBeingWritten: true, messageBytes: 70_000 })];
  },
  parsePolled,
  parseRead: (bytes) => [1, 2, 4].map((blocks) => parseRead(bytes, blocks)),
  parseFelicaTarget,
  parseTypeATarget,
  parseVersion,
  legoToyOf: (bytes) => legoToyOf(uid, bytes),
  figureOf,
};

describe("on noise and on mutated good ones", () => {
  for (const [name, parse] of Object.entries(parsers)) {
    test(`${name} never throws, and knows only the bytes that it was given`, () => {
      fc.assert(
        fc.property(input, (bytes) => {
          expect(Bun.deepEquals(parse(amidst(bytes, 0x00)), parse(amidst(bytes, 0xff)))).toBe(true);
        }),
        { seed: 31, numRuns: rounds },
      );
    });
  }
});

test("the shortest pieces that there are, in the most that is ever read, are gone through at once", () => {
  const nulls = new Uint8Array(ndefBytesMax);
  nulls[ndefBytesMax - 1] = 0x03;
  const records = new Uint8Array(ndefBytesMax).map((_, at) => (at % 3 === 0 ? 0x10 : 0));
  const chunks = new Uint8Array(ndefBytesMax).map((_, at) => (at % 3 === 0 ? 0x36 : 0));
  for (let round = 0; round < 20; round++) {
    expect(findMessage(nulls, nulls.length)).toEqual({ kind: "none", why: "cut-short" });
    expect(placeOfMessage(nulls)).toBe(ndefBytesMax - 1);
    expect(parseMessage(records)).toMatchObject({ kind: "broken" });
    expect(parseMessage(chunks)).toMatchObject({ kind: "broken" });
  }
});

describe("a tag whose answers are altered on the way", () => {
  const tags: Readonly<Record<string, () => EmulatedTag>> = {
    ntag213: () => createType2Tag("ntag213", { uid, text: "before" }),
    ultralight: () => createType2Tag("ultralight", { uid }),
    "classic-1k": () => createClassic("classic-1k", { uid: uid.slice(0, 4), text: "before" }),
    "a new classic-mini": () => createClassic("classic-mini", { uid: uid.slice(0, 4) }),
    desfire: () => createType4Tag({ uid, text: "before" }),
    felica: () => createFelicaTag({ uid: Uint8Array.of(1, ...uid), text: "before" }),
  };
  for (const [name, make] of Object.entries(tags)) {
    test(`${name}: reading ends with a sighting or none, and writing well or with a sentence`, async () => {
      const random = seeded(7);
      for (let round = 0; round < 400; round++) {
        let commands = 0;
        const rate = random() * 0.3;
        const onCommand = (payload: Uint8Array) => {
          commands += 1;
          return random() < rate ? brokenAnswer(payload, random) : undefined;
        };
        const seen = await readTag(channelOn(make(), { onCommand }), never);
        if (seen !== undefined) expect(seen.uid).toMatch(/^[0-9a-f]+$/);
        const order = { text: "afterwards", force: random() < 0.5 };
        const failure = await writeTag(channelOn(make(), { onCommand }), order, never).catch(
          (error: unknown) => error,
        );
        if (failure !== undefined) {
          expect(failure).toBeInstanceOf(ServiceError);
          expect(failure).toMatchObject({ code: "write-failed" });
        }
        expect(commands).toBeLessThan(4000);
      }
    });
  }
});

/** An error of the chip, fewer or more bytes, or others. */
function brokenAnswer(payload: Uint8Array, random: () => number): Uint8Array | undefined {
  const code = payload[1] ?? 0;
  if (code !== 0x40 && code !== 0x42) return undefined;
  const errors = [0x01, 0x02, 0x05, 0x0a, 0x13, 0x14, 0x27, 0x29, 0x2b];
  const below = (limit: number) => Math.floor(random() * limit);
  if (random() < 0.5) return Uint8Array.of(0xd5, code + 1, errors[below(errors.length)] ?? 0x01);
  const lengths = [0, 1, 2, 4, 8, 13, 16, 17, 18, 29, 64];
  const data = Array.from({ length: lengths[below(lengths.length)] ?? 0 }, () => below(256));
  return Uint8Array.of(0xd5, code + 1, 0x00, ...data);
}

/** Numerical Recipes' generator. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
