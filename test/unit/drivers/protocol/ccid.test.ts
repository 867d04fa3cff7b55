/** The codecs of CCID readers: messages cut from transfers, answers to reset, APDUs, and the class descriptor. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ccidInterfaceIn } from "../../../../drivers/io/usb-list.ts";
import {
  cardKindOf,
  getUid,
  parseApdu,
  pcscReadBinary,
  pcscUpdateBinary,
  waitingBytes,
} from "../../../../drivers/protocol/apdu.ts";
import {
  type CcidCut,
  ccidIn,
  ccidOut,
  createCcidAssembler,
  encodeCcid,
  parseInterrupt,
  statusOf,
} from "../../../../drivers/protocol/ccid.ts";
import { ccidConfiguration } from "../../../emulators/ccid-descriptors.ts";
import { fuzzRounds } from "../../../helpers/rounds.ts";

const hex = (text: string) => Uint8Array.fromHex(text.replaceAll(" ", ""));
const options = { types: Object.values(ccidIn), packetBytes: 64, messageBytesMax: 271 };
const answerOf = (bytes: number) =>
  encodeCcid(
    ccidIn.block,
    0,
    7,
    Uint8Array.from({ length: bytes }, (_, index) => index & 0xff),
  );

/** The transfers of a host that asks for one packet, and then for the missing bytes. */
function transfersOf(message: Uint8Array): readonly Uint8Array[] {
  return message.length <= 64 ? [message] : [message.subarray(0, 64), message.subarray(64)];
}

function cutsOf(transfers: readonly Uint8Array[]): readonly CcidCut[] {
  const assembler = createCcidAssembler(options);
  return transfers.map((transfer) => assembler.push(transfer));
}

test("commands are written as the specification draws them", () => {
  expect(encodeCcid(ccidOut.powerOn, 0, 1)).toEqual(hex("62 00000000 00 01 000000"));
  expect(encodeCcid(ccidOut.block, 0, 0xff, getUid)).toEqual(hex("6f 05000000 00 ff 000000 ffca000000"));
  expect(encodeCcid(ccidOut.block, 0, 2, new Uint8Array(261)).subarray(0, 10)).toEqual(
    hex("6f 05010000 00 02 000000"),
  );
  expect(pcscReadBinary(0x104, 16)).toEqual(hex("ff b0 01 04 10"));
  expect(pcscUpdateBinary(4, hex("01020304"))).toEqual(hex("ff d6 00 04 04 01020304"));
});

test("every length of an answer is one message, in one transfer or two", () => {
  for (let bytes = 0; bytes <= 261; bytes++) {
    const message = answerOf(bytes);
    const last = cutsOf(transfersOf(message)).at(-1);
    expect(last).toMatchObject({ kind: "message", message: { type: 0x80, slot: 0, sequence: 7 } });
    if (last?.kind === "message") expect(last.message.data).toEqual(message.subarray(10));
  }
});

test("missing bytes are reported, and an empty transfer between messages changes nothing", () => {
  const message = answerOf(100);
  expect(cutsOf([new Uint8Array(), ...transfersOf(message)]).map(({ kind }) => kind)).toEqual([
    "need",
    "need",
    "message",
  ]);
  expect(cutsOf(transfersOf(message))[0]).toEqual({ kind: "need", bytes: 46 });
});

describe("noise is reported with its reason, and never reaches the next message", () => {
  const noises = {
    short: hex("80 00 00"),
    type: hex("50 03000000 00 07 000000 3b8f00"),
    "length: shorter than it says": hex("80 09000000 00 07 000000 9000"),
    "length: longer than it says": hex("80 01000000 00 07 000000 9000"),
    "length: than any message": hex("80 ffffffff 00 07 000000 9000"),
    "length: cut off behind a whole packet": answerOf(100).subarray(0, 64),
  };
  for (const [name, bytes] of Object.entries(noises)) {
    test(name, () => {
      const assembler = createCcidAssembler(options);
      let cut = assembler.push(bytes);
      if (cut.kind === "need") cut = assembler.push(new Uint8Array());
      expect(cut).toEqual({ kind: "noise", bytes: bytes.length, why: name.split(":")[0] as "short" });
      expect(assembler.pendingBytes).toBe(0);
      expect(assembler.push(answerOf(2)).kind).toBe("message");
    });
  }
});

test("random transfers, and good ones with altered bytes, throw nothing and hold no more than one message", () => {
  const good = fc.integer({ min: 0, max: 261 }).map(answerOf);
  const altered = fc
    .tuple(good, fc.array(fc.tuple(fc.nat(270), fc.nat(255)), { maxLength: 4 }))
    .map(([message, changes]) => {
      const bytes = message.slice();
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return bytes;
    });
  const transfer = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    altered,
    altered.map((bytes) => bytes.subarray(0, 64)),
  );
  fc.assert(
    fc.property(fc.array(transfer, { maxLength: 12 }), (transfers) => {
      const assembler = createCcidAssembler(options);
      for (const bytes of transfers) {
        const cut = assembler.push(bytes);
        expect(assembler.pendingBytes).toBeLessThanOrEqual(options.messageBytesMax);
        if (cut.kind === "need") expect(cut.bytes).toBeGreaterThan(0);
        if (cut.kind === "message") {
          expect(options.types).toContain(cut.message.type as 0x80);
          expect(cut.message.data.length).toBeLessThanOrEqual(261);
        }
      }
      // Two whole answers bring the assembler back to its first state from any other state.
      assembler.push(answerOf(0));
      expect(assembler.push(answerOf(0)).kind).toBe("message");
    }),
    { numRuns: fuzzRounds(2000), seed: 122 },
  );
});

test("the status reports card and command; without a card a failed answer may bring bytes", () => {
  expect(statusOf({ specific: hex("42fe00") })).toEqual({ card: "none", command: "failed", error: 0xfe });
  expect(statusOf({ specific: hex("000000") })).toEqual({ card: "active", command: "done", error: 0 });
  // Real readers send this: the error byte of a finished command means nothing.
  expect(statusOf({ specific: hex("008100") })).toEqual({ card: "active", command: "done", error: 0 });
  expect(statusOf({ specific: hex("810100") })).toEqual({ card: "present", command: "more-time", error: 0 });
  expect(statusOf({ specific: hex("c30000") })).toEqual({ card: "none", command: "failed", error: 0 });
});

test("interrupts report a slot's card, and everything else is noise", () => {
  expect(parseInterrupt(hex("5003"), 0)).toEqual({ kind: "slot-change", present: true, changed: true });
  expect(parseInterrupt(hex("5002"), 0)).toEqual({ kind: "slot-change", present: false, changed: true });
  expect(parseInterrupt(hex("500c"), 1)).toEqual({ kind: "slot-change", present: true, changed: true });
  expect(parseInterrupt(hex("500c"), 0)).toEqual({ kind: "slot-change", present: false, changed: false });
  expect(parseInterrupt(hex("500c"), 4)).toEqual({ kind: "slot-change", present: false, changed: false });
  expect(parseInterrupt(hex("500003"), 4)).toEqual({ kind: "slot-change", present: true, changed: true });
  expect(parseInterrupt(hex("51000701"), 0)).toEqual({ kind: "hardware-error", code: 1 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
      const told = parseInterrupt(bytes, 0);
      expect(told.kind === "noise").toBe(
        !((bytes[0] === 0x50 && bytes.length >= 2) || (bytes[0] === 0x51 && bytes.length >= 4)),
      );
    }),
    { numRuns: fuzzRounds(2000), seed: 122 },
  );
});

test("an answer to reset tells a memory card's name, or a processor's historical bytes", () => {
  // An example of the ACR122U's manual (Application Programming Interface 2.04, section 3.1).
  expect(cardKindOf(hex("3b 8f 80 01 80 4f 0c a0 00 00 03 06 03 00 01 00 00 00 00 6a"))).toEqual({
    kind: "storage",
    card: 0x0001,
  });
  expect(cardKindOf(hex("3b 81 80 01 80 80"))).toEqual({ kind: "processor", historicalBytes: hex("80") });
  expect(cardKindOf(hex("3b 00"))).toBeUndefined();
});

test("answers to reset and APDUs of any bytes throw nothing", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      cardKindOf(bytes);
      const answer = parseApdu(bytes);
      expect(answer === undefined).toBe(bytes.length < 2);
      if (answer !== undefined) waitingBytes(answer);
    }),
    { numRuns: fuzzRounds(2000), seed: 122 },
  );
});

describe("the descriptors of a device", () => {
  test("tell the endpoints and the longest message of its reader", () => {
    expect(ccidInterfaceIn(ccidConfiguration)).toEqual({
      number: 0,
      bulkIn: 2,
      bulkOut: 2,
      interruptIn: 1,
      packetBytes: 64,
      messageBytesMax: 271,
    });
  });

  test("cut short anywhere, or of any bytes, give none or a whole one", () => {
    for (let length = 0; length < ccidConfiguration.length; length++)
      expect(ccidInterfaceIn(ccidConfiguration.subarray(0, length))).toBeUndefined();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(92), fc.nat(255), (random, at, value) => {
        ccidInterfaceIn(random);
        const altered = ccidConfiguration.slice();
        altered[at] = value;
        const found = ccidInterfaceIn(altered);
        if (found !== undefined) expect(found.packetBytes).toBeGreaterThanOrEqual(8);
      }),
      { numRuns: fuzzRounds(2000), seed: 122 },
    );
  });
});
