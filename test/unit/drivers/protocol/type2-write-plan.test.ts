/** The writes to a Type 2 tag, and their order: an interruption leaves the old message, the new one, or none. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeTextMessage } from "../../../../drivers/protocol/ndef.ts";
import { wrapMessage } from "../../../../drivers/protocol/type2-tag.ts";
import { type PageWrite, planWrite, type WritePlan } from "../../../../drivers/protocol/type2-write-plan.ts";
import { createType2Tag, type Type2Kind, type2Kinds } from "../../../emulators/emulated-tags.ts";
import { textIn } from "../../../helpers/emulated.ts";
import { imageOf, roomBytes } from "../../../helpers/type2-images.ts";

const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
function planFor(kind: Type2Kind, memory: Uint8Array, text: string, force = false): WritePlan {
  return planWrite(imageOf(kind, memory), encodeTextMessage(text), force);
}

function steps(plan: WritePlan): readonly PageWrite[] {
  if (plan.kind !== "plan") throw new Error(JSON.stringify(plan));
  return plan.last === undefined ? plan.draft : [...plan.draft, plan.last];
}

/** The tag's own rule: bits of page 3 can be set, but never cleared. */
function apply(memory: Uint8Array, { page, bytes }: PageWrite, count = 4): void {
  for (let index = 0; index < count; index++) {
    const at = page * 4 + index;
    memory[at] = page === 3 ? (memory[at] ?? 0) | (bytes[index] ?? 0) : (bytes[index] ?? 0);
  }
}

/** The results of a reader after each byte of each write, each result once. */
function findings(memory: Uint8Array, writes: readonly PageWrite[]): readonly (string | undefined)[] {
  const found: (string | undefined)[] = [];
  const look = (state: Uint8Array) => {
    const text = textIn(state);
    if (found.length === 0 || found.at(-1) !== text) found.push(text);
  };
  const state = memory.slice();
  look(state);
  for (const write of writes) {
    for (let count = 1; count < 4; count++) {
      // A page is torn from either side, because tags do not document their order.
      const torn = state.slice();
      apply(torn, write, count);
      look(torn);
      const other = state.slice();
      const old = state.slice(write.page * 4, write.page * 4 + count);
      apply(other, write);
      other.set(old, write.page * 4);
      look(other);
    }
    apply(state, write);
    look(state);
  }
  return found;
}

const tagWith = (kind: Type2Kind, text?: string) =>
  createType2Tag(kind, text === undefined ? { uid } : { uid, text }).memory;

describe("a new tag", () => {
  for (const kind of type2Kinds) {
    test(`of kind ${kind} is formatted where it has to be, and takes every length up to its last byte`, () => {
      const fresh = tagWith(kind);
      const longest = roomBytes[kind];
      for (const bytes of [10, 40, 48, 138, 139, 256, 257, 258, 259, 496, 872]) {
        // Block header, record header, status byte and language.
        const header = (bytes > 256 ? 4 : 2) + (bytes > 263 ? 7 : 4) + 3;
        const text = "x".repeat(Math.min(bytes, longest) - header);
        const memory = fresh.slice();
        for (const write of steps(planFor(kind, memory, text))) apply(memory, write);
        expect(textIn(memory)).toBe(text);
      }
    });

    test(`of kind ${kind} that is too small says by how many bytes`, () => {
      const fill = (bytes: number) => "x".repeat(bytes);
      const room = roomBytes[kind];
      const headerBytes = room > 263 ? 4 + 7 + 3 : 2 + 4 + 3;
      expect(planFor(kind, tagWith(kind), fill(room - headerBytes)).kind).toBe("plan");
      for (const missing of [1, 2, 7])
        expect(planFor(kind, tagWith(kind), fill(room - headerBytes + missing))).toEqual({
          kind: "too-small",
          bytesMissing: missing,
        });
    });
  }

  test("of kind ntag213 keeps the lock control block in front of its message", () => {
    const memory = tagWith("ntag213");
    for (const write of steps(planFor("ntag213", memory, "x"))) apply(memory, write);
    expect(memory.slice(12, 32).toHex()).toBe("e1101200" + "0103a00c34" + "0308d101045402656e78" + "fe");
  });
});

describe("a write that is interrupted at any byte", () => {
  const texts = ["a", "SNES/Game.sfc", "x".repeat(100), "y".repeat(240), "z".repeat(300)];

  for (const kind of type2Kinds) {
    test(`leaves a ${kind} with the old text, the new one, or none`, () => {
      const fits = texts.filter((text) => encodeTextMessage(text).length + 4 <= roomBytes[kind]);
      for (const old of [undefined, "", ...fits]) {
        for (const text of fits) {
          const memory = tagWith(kind, old);
          const found = findings(memory, steps(planFor(kind, memory, text)));
          expect(new Set(found)).toEqual(new Set(old === text ? [text] : [old, undefined, text]));
          expect(found.at(-1)).toBe(text);
        }
      }
    });
  }

  test("leaves the same wherever the message begins, and whatever block its length stood in", () => {
    const shift = fc.nat(9);
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 150 });
    const header = fc.constantFrom("short" as const, "long" as const);
    fc.assert(
      fc.property(shift, text, text, header, fc.boolean(), (nulls, old, next, form, hasOwn) => {
        fc.pre(!old.startsWith("\ufeff") && !next.startsWith("\ufeff") && old !== next);
        const memory = tagWith("ntag216");
        const message = encodeTextMessage(old);
        const wrapped = wrapMessage(message);
        const long = Uint8Array.of(0x03, 0xff, message.length >> 8, message.length & 0xff, ...message, 0xfe);
        const own = hasOwn ? [0xfd, 0x02, 0x03, 0x07] : [];
        memory.fill(0xd1, 16, 800);
        memory.set([...new Array(nulls).fill(0), ...own, ...(form === "long" ? long : wrapped)], 16);
        const found = findings(memory, steps(planFor("ntag216", memory, next)));
        expect(new Set(found)).toEqual(new Set([old, undefined, next]));
        expect(found.at(-1)).toBe(next);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  test("leaves none or the new one where there was none, whatever stands behind the place", () => {
    for (let nulls = 0; nulls < 8; nulls++) {
      const ended = tagWith("ntag213");
      ended.fill(0x07, 16, 16 + 144);
      ended.set([...new Array(nulls).fill(0), 0xfe], 16);
      const foreign = tagWith("ntag213");
      foreign.fill(0x07, 16, 16 + 144);
      foreign.fill(0x03, 16 + nulls, 16 + nulls + 1);
      foreign[16] = 0x42;
      for (const memory of [ended, foreign]) {
        const found = findings(memory, steps(planFor("ntag213", memory, "afterwards", true)));
        expect(new Set(found)).toEqual(new Set([textIn(memory), undefined, "afterwards"]));
        expect(found.at(-1)).toBe("afterwards");
      }
    }
  });

  test("can be tried again, without force, from each state that it may leave", () => {
    for (const kind of type2Kinds) {
      for (const old of [undefined, "before"]) {
        const fresh = tagWith(kind, old);
        const writes = steps(planFor(kind, fresh, "afterwards"));
        const state = fresh.slice();
        for (const write of writes) {
          for (let count = 0; count <= 4; count++) {
            const torn = state.slice();
            apply(torn, write, count);
            for (const again of steps(planFor(kind, torn, "afterwards"))) apply(torn, again);
            expect(textIn(torn)).toBe("afterwards");
          }
          apply(state, write);
        }
      }
    }
  });
});

test("a container that is good as it is stays so: a later version, and a size below that of the memory", () => {
  const memory = tagWith("ntag216", "x");
  memory.set([0xe1, 0x11, 0x06, 0x00], 12);
  const writes = steps(planFor("ntag216", memory, "y".repeat(20)));
  expect(writes.map(({ page }) => page)).not.toContain(3);
  for (const write of writes) apply(memory, write);
  expect(textIn(memory)).toBe("y".repeat(20));
  expect(planFor("ntag216", memory, "y".repeat(60))).toMatchObject({ kind: "too-small" });
});

test("a message of 254 bytes has a length of one byte, one of 255 bytes a length of three", () => {
  for (const [length, block] of [
    [254, [0x03, 0xfe]],
    [255, [0x03, 0xff, 0x00, 0xff]],
  ] as const) {
    const memory = tagWith("ntag216");
    const plan = planWrite(imageOf("ntag216", memory), new Uint8Array(length).fill(0x5a), false);
    for (const write of steps(plan)) apply(memory, write);
    expect([...memory.subarray(16, 16 + block.length + 1)]).toEqual([...block, 0x5a]);
  }
});

test("a tag of zeros, or of ones, is blank: it is formatted first, and its data area is no data", () => {
  for (const byte of [0x00, 0xff]) {
    const memory = tagWith("ultralight");
    memory.fill(byte, 16);
    const writes = steps(planFor("ultralight", memory, "y"));
    expect(writes[0]?.page).toBe(3);
    for (const write of writes) apply(memory, write);
    expect(textIn(memory)).toBe("y");
  }
});

test("a message that just fits has no end block behind it, and one a byte longer misses one byte", () => {
  const memory = tagWith("ntag213");
  const text = "z".repeat(roomBytes.ntag213 - 2 - 4 - 3);
  const before = memory.slice();
  for (const write of steps(planFor("ntag213", memory, text))) apply(memory, write);
  expect(textIn(memory)).toBe(text);
  expect(memory.subarray(160)).toEqual(before.subarray(160));
  expect(planFor("ntag213", before, `${text}z`)).toEqual({ kind: "too-small", bytesMissing: 1 });
  for (const write of steps(planFor("ntag213", before, text.slice(1)))) apply(before, write);
  expect(before[159]).toBe(0xfe);
});

test("a tag that holds this very text already is not written", () => {
  for (const kind of type2Kinds)
    expect(planFor(kind, tagWith(kind, "same"), "same")).toMatchObject({ kind: "plan", draft: [] });
});

describe("a tag is refused, and nothing written,", () => {
  const why = (plan: WritePlan) => (plan.kind === "refused" ? plan.why : plan.kind);

  test("if its container says that it is for reading only", () => {
    const memory = tagWith("ntag213", "x");
    memory[15] = 0x0f;
    expect(why(planFor("ntag213", memory, "y"))).toBe("locked");
  });

  test("if a lock bit stands against one of its pages, and only then", () => {
    const long = "y".repeat(100);
    const lock = (at: number, bit: number) => {
      const memory = tagWith("ntag213", "x");
      memory[at] = (memory[at] ?? 0) | (1 << bit);
      return memory;
    };
    expect(why(planFor("ntag213", lock(10, 5), "y"))).toBe("locked"); // Page 5 holds the length.
    expect(why(planFor("ntag213", lock(11, 7), "y"))).toBe("plan"); // The short text does not need page 15.
    expect(why(planFor("ntag213", lock(11, 7), long))).toBe("locked"); // The long text needs page 15.
    expect(why(planFor("ntag213", lock(0xa0, 0), "y"))).toBe("plan"); // The locked pages are 16 and 17.
    expect(why(planFor("ntag213", lock(0xa0, 0), long))).toBe("locked");
    expect(why(planFor("ntag213", lock(10, 5), "x"))).toBe("plan"); // The tag has this text already.
  });

  test("if its container is locked and not written yet", () => {
    const memory = tagWith("ultralight");
    memory[10] = 0x08;
    expect(why(planFor("ultralight", memory, "y"))).toBe("locked");
  });

  test("if a page needs the password, and only then", () => {
    const memory = tagWith("ntag215", "x");
    memory[0x83 * 4 + 3] = 0x10;
    expect(why(planFor("ntag215", memory, "y"))).toBe("plan");
    expect(why(planFor("ntag215", memory, "y".repeat(100)))).toBe("password");
    memory[0x83 * 4 + 3] = 0x04;
    expect(why(planFor("ntag215", memory, "y"))).toBe("password");
  });

  test("if AUTH0 is the last page to be written, and not where it is the page behind it", () => {
    const memory = tagWith("ntag215", "x");
    const text = "y".repeat(90);
    const last = Math.max(...steps(planFor("ntag215", memory, text)).map(({ page }) => page));
    memory[0x83 * 4 + 3] = last;
    expect(why(planFor("ntag215", memory, text))).toBe("password");
    memory[0x83 * 4 + 3] = last + 1;
    expect(why(planFor("ntag215", memory, text))).toBe("plan");
  });

  test("if it is an amiibo; force does not help, for its container was set for good", () => {
    const memory = tagWith("ntag215");
    memory.set([0xf1, 0x10, 0xff, 0xee, 0xa5, 0x00, 0x01, 0x00], 12);
    expect(why(planFor("ntag215", memory, "y"))).toBe("amiibo");
    expect(why(planFor("ntag215", memory, "y", true))).toBe("one-time-bits");
  });

  test("if it was never an NDEF tag and holds data, unless forced", () => {
    const memory = tagWith("ultralight");
    memory.set([1, 2, 3, 4], 24);
    expect(why(planFor("ultralight", memory, "y"))).toBe("other-data");
    const writes = steps(planFor("ultralight", memory, "y", true));
    const found = findings(memory, writes);
    expect([new Set(found), found.at(-1)]).toEqual([new Set([undefined, "y"]), "y"]);
  });

  test("if it is a ticket, whose one-time bits are used", () => {
    const memory = tagWith("ultralight");
    memory.set([0x00, 0x00, 0x00, 0x07, 9, 9, 9, 9], 12);
    expect(why(planFor("ultralight", memory, "y"))).toBe("other-data");
    expect(why(planFor("ultralight", memory, "y", true))).toBe("one-time-bits");
  });

  test("if its blocks make no sense, unless forced", () => {
    for (const blocks of [
      [0x42, 0x01, 0x00],
      [0xfd, 0xf0],
      [0x01, 0x02, 0xa0, 0x0c],
      [0xff, 0x03, 0x00],
    ]) {
      const memory = tagWith("ntag213");
      memory.fill(0x55, 16, 16 + 144);
      memory.set(blocks, 16);
      expect(why(planFor("ntag213", memory, "y"))).toBe("other-data");
      expect(findings(memory, steps(planFor("ntag213", memory, "y", true))).at(-1)).toBe("y");
    }
  });

  test("if a control block keeps bytes inside the data area", () => {
    for (const blocks of [
      [0x01, 0x03, 0x80, 0x0c, 0x04], // Lock bits at byte 128.
      [0x02, 0x03, 0x50, 0x10, 0x04], // Sixteen bytes at byte 80.
    ]) {
      const memory = tagWith("ntag213");
      memory.set([...blocks, 0x03, 0x00, 0xfe], 16);
      expect(why(planFor("ntag213", memory, "y"))).toBe("reserved-bytes");
    }
  });
});

test("for any content of a tag, a plan touches its data area and container alone, and ends with the text", () => {
  const kinds = fc.constantFrom(...type2Kinds);
  const piece = fc.oneof(
    fc.constantFrom([0x00], [0xfe], [0x03, 0x04], [0x03, 0xff, 0x01, 0x00], [0x01, 0x03, 0xa0, 0x0c, 0x34]),
    fc.constantFrom([0xfd, 0xff], [0xfd, 0x01, 0x03], [0xff, 0xff]),
    fc.array(fc.nat(255), { maxLength: 12 }),
  );
  const container = fc.oneof(
    fc.tuple(
      fc.constantFrom(0xe1, 0x00, 0x61),
      fc.constantFrom(0x10, 0x11, 0x20),
      fc.nat(255),
      fc.constantFrom(0, 0x0f),
    ),
    fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
  );
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(
      kinds,
      container,
      fc.array(piece, { maxLength: 20 }),
      text,
      fc.boolean(),
      (kind, cc, pieces, next, force) => {
        fc.pre(!next.startsWith("\ufeff"));
        // A tag without a version may claim any size. In this case it has enough memory, so only the plan is tried.
        const memory = new Uint8Array(2048);
        memory.set(tagWith(kind));
        memory.set([...cc, ...pieces.flat()].slice(0, 4 + roomBytes[kind]), 12);
        const image = imageOf(kind, memory);
        const plan = planWrite(image, encodeTextMessage(next), force);
        if (plan.kind !== "plan") return;
        const state = memory.slice();
        for (const write of steps(plan)) {
          expect(write.page).toBeGreaterThanOrEqual(3);
          expect(write.page * 4).toBeLessThan(image.memory.length);
          apply(state, write);
        }
        expect(textIn(state)).toBe(next);
        expect(state.slice(0, image.memory.length)).toEqual(plan.written.slice());
      },
    ),
    { seed: 12, numRuns: 3000 },
  );
});
