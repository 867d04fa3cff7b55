/** The driver of the ACR122U and other CCID readers, on emulated ones. The requirements on every driver are in test/conformance. */
import { describe, expect, test } from "bun:test";
import { likelyReaders } from "../../../drivers/ccid/detect.ts";
import type { UsbDeviceInfo } from "../../../drivers/io/links.ts";
import {
  apduDone,
  generalAuthenticate,
  loadKey,
  parseApdu,
  pcscReadBinary,
} from "../../../drivers/protocol/apdu.ts";
import { commandCodes, samNormalMode } from "../../../drivers/protocol/pn532-commands.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { createApduReader } from "../../emulators/ccid-apdus.ts";
import type { CcidFaults, Cure } from "../../emulators/ccid-faults.ts";
import {
  createCardWithoutMessages,
  createClassic,
  createClassicTag,
  createType2Tag,
  createType4Tag,
} from "../../emulators/emulated-tags.ts";
import { createEmulatedChip, instantRadio } from "../../emulators/pn532-chip.ts";
import { stepsIn, withCcid } from "../../helpers/ccid-bench.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const shortUid = Uint8Array.fromHex("de4a1b7c");
const never = new AbortController().signal;
const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
const card = (text: string, bytes = uid) => createType2Tag("ntag213", { uid: bytes, text });
const one = "04a1b2c3d4e5f6 one";
const two = "04000000000002 two";
const otherUid = Uint8Array.fromHex("04000000000002");

const device = (facts: Partial<UsbDeviceInfo>): UsbDeviceInfo => ({
  path: "1-1.4",
  stamp: "1:7",
  busNumber: 1,
  deviceNumber: 7,
  vendorId: "072f",
  productId: "2200",
  interfaces: [{ number: 0, classCode: "0b" }],
  ...facts,
});

/** Runs all work that waits only for its turn. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
}

test("known readers, and those of the class that say that they are contactless, are candidates by their port", () => {
  const ccid = { number: 0, classCode: "0b" };
  const devices = [
    device({ path: "1-1.4" }),
    device({ path: "1-2", vendorId: "076b", productId: "5022", product: "OMNIKEY 5022 CL" }),
    // A maker's name that does not show the kind of reader.
    device({ path: "1-2.1", vendorId: "054c", productId: "0dc8", product: "RC-S300/S" }),
    device({ path: "1-3", vendorId: "abcd", productId: "0001", product: "Acme NFC Reader" }),
    // Contact cards are in the first slot of this reader, as the table states.
    device({ path: "1-3.1", productId: "2224", product: "ACR1281 1S Dual Reader" }),
    // A reader whose order of slots is unknown.
    device({ path: "1-3.2", productId: "2217", product: "ACR1281 Dual Reader" }),
    // A reader of contact cards, a security key that also types, and a keyboard.
    device({ path: "2-1", vendorId: "04e6", productId: "5116", product: "SCR3310 v2.0 Smart Card Reader" }),
    device({
      path: "2-2",
      vendorId: "1050",
      productId: "0407",
      product: "Security Key NFC",
      interfaces: [{ number: 0, classCode: "03" }, ccid],
    }),
    device({ path: "2-3", interfaces: [{ number: 0, classCode: "03" }] }),
  ];
  const all = likelyReaders(devices);
  expect(all.filter(({ ruledOut }) => ruledOut === undefined)).toEqual(
    ["1-1.4", "1-2", "1-2.1", "1-3", "1-3.1"].map((path) => ({
      path,
      stamp: "1:7",
      stablePath: path,
      isCertain: true,
    })),
  );
  expect(all.flatMap(({ path, ruledOut }) => (ruledOut === undefined ? [] : [[path, ruledOut]]))).toEqual([
    ["1-3.2", "the order of its slots for both kinds of card is unknown"],
    ["2-1", "its name is not that of a contactless reader"],
    ["2-2", "it is more than a reader, such as a security key"],
  ]);
});

test("numbers that a reader of contact cards has, too, promise nothing, and that one is left alone", async () => {
  const numbers = { vendorId: "072f", productId: "90cc", product: "CCID USB Reader" };
  expect(likelyReaders([device(numbers)])).toEqual([{ path: "1-1.4", stamp: "1:7", stablePath: "1-1.4" }]);
  await withCcid({ ids: numbers }, async ({ reader, session, sees }) => {
    expect(session.info).toBe("ACR122U216 with a PN532 v1.6");
    reader.put(card("one"));
    await sees(one);
  });
  await expect(withCcid({ ids: numbers, kind: "plain" }, async () => {})).rejects.toThrow(
    "9-1: it is no ACR122U, but a reader of contact cards",
  );
});

test("it says what it is: the reader's firmware and its chip's", () =>
  withCcid({}, async ({ session }) => {
    expect(session.info).toBe("ACR122U216 with a PN532 v1.6");
  }));

describe("a reader that hangs", () => {
  const helped: readonly (readonly [Cure, readonly string[]])[] = [
    ["abort", ["abort: helped"]],
    ["power", ["abort: no", "slot power cycle: helped"]],
    ["reset", ["abort: no", "slot power cycle: no", "USB reset: helped"]],
  ];
  for (const [cure, steps] of helped) {
    test(`under a card is brought back by ${cure}, and the card counts as never gone`, () =>
      withCcid({}, async ({ reader, states, lines, sees, hasEnded }) => {
        reader.put(card("one"));
        await sees(one);
        reader.faults.hang(cure);
        await eventually(() => expect(stepsIn(lines).length).toBeGreaterThanOrEqual(steps.length));
        expect(stepsIn(lines)).toEqual(steps);
        reader.take();
        reader.put(card("two", otherUid));
        await sees(two);
        expect(states.filter((state) => state !== "")).toEqual([one, two]);
        expect(states.slice(states.indexOf(one)).includes("")).toBe(false);
        expect(hasEnded()).toBe(false);
      }));

    test(`while nothing lies there is found out, brought back by ${cure}, and hears the next card`, () =>
      withCcid({}, async ({ reader, lines, sees }) => {
        await sees("");
        reader.faults.hang(cure);
        await eventually(() => expect(stepsIn(lines).length).toBeGreaterThanOrEqual(steps.length));
        expect(stepsIn(lines)).toEqual(steps);
        reader.put(card("one"));
        await sees(one);
      }));
  }

  test("for good is given up after every step, each with its outcome, and nothing is taken away", () =>
    withCcid({}, async ({ reader, states, lines, ended, sees }) => {
      reader.put(card("one"));
      await sees(one);
      reader.faults.hang("replug");
      const failure = await ended;
      expect(failure).toBeInstanceOf(ServiceError);
      expect(failure).toMatchObject({ code: "reader-gone" });
      expect(stepsIn(lines)).toEqual(["abort: no", "slot power cycle: no", "USB reset: no", "re-open: no"]);
      for (const line of lines) expect(line).toMatch(/outcome=/);
      expect(states.at(-1)).toBe(one);
    }));

  test("is set up again after a reset: its buzzer stays silent", () =>
    withCcid({}, async ({ reader, lines, sees }) => {
      await sees("");
      expect(reader.buzzes).toBe(false);
      reader.faults.hang("reset");
      await eventually(() => expect(stepsIn(lines)).toContain("USB reset: helped"));
      expect(reader.buzzes).toBe(false);
    }));
});

describe("faults on the wire", () => {
  const faults = {
    "an answer that is lost": ({ loseAnswers }) => loseAnswers(1),
    "an answer that comes twice": ({ doubleAnswers }) => doubleAnswers(3),
    "an answer with another sequence number": ({ alterAnswer }) => alterAnswer(6),
    "an answer of another type": ({ alterAnswer }) => alterAnswer(0),
    "an answer with another length": ({ alterAnswer }) => alterAnswer(1),
    "a bulk-in pipe that halts": ({ stall }) => stall("bulk-in"),
    "a bulk-out pipe that halts": ({ stall }) => stall("bulk-out"),
    "an interrupt pipe that halts": ({ stall }) => stall("interrupt-in"),
    "answers that are late": ({ delayAnswers }) => delayAnswers(60),
    "a reader that asks for time": ({ askForTime }) => askForTime(5),
  } satisfies Record<string, (faults: CcidFaults) => unknown>;

  for (const [name, strike] of Object.entries(faults)) {
    test(`${name} loses no card, and invents none`, () =>
      withCcid({}, async ({ reader, states, sees, hasEnded }) => {
        await sees("");
        strike(reader.faults);
        reader.put(card("one"));
        await sees(one);
        strike(reader.faults);
        reader.take();
        await sees("");
        expect(states).toEqual(["", one, ""]);
        expect(hasEnded()).toBe(false);
      }));
  }

  test("an answer that comes twice while the reader is opened is no answer to what follows", () =>
    withCcid(
      { before: ({ faults }) => faults.doubleAnswers(20) },
      async ({ session, reader, lines, sees }) => {
        expect(session.info).toBe("ACR122U216 with a PN532 v1.6");
        reader.put(card("one"));
        await sees(one);
        expect(stepsIn(lines)).toEqual([]);
      },
    ));

  test("a chip that dies inside a reader that answers is no removal, and ends the session", () =>
    withCcid({}, async ({ reader, states, ended, sees }) => {
      reader.put(card("one"));
      await sees(one);
      reader.killChip();
      expect(await ended).toMatchObject({ code: "reader-gone" });
      expect(states.at(-1)).toBe(one);
    }));
});

test("a clone that tells nothing by itself is asked", () =>
  withCcid({ isMute: true }, async ({ reader, states, sees }) => {
    await sees("");
    reader.put(card("one"));
    await sees(one);
    reader.take();
    await sees("");
    expect(states).toEqual(["", one, ""]);
  }));

test("a reader that reports cards is asked once a second, and heard at once", async () => {
  const clock = createManualClock();
  await withCcid({ clock }, async ({ reader, sees }) => {
    await sees("");
    let commands = 0;
    reader.onCommand(() => {
      commands += 1;
    });
    // No time passes for the driver: only the reader's message can wake it.
    reader.put(card("one"));
    await sees(one);
    reader.take();
    await eventually(() => {
      clock.advance(100);
      expect(commands).toBeGreaterThan(0);
    });
    await sees("");
    await settled();
    commands = 0;
    clock.advance(990);
    await settled();
    expect(commands).toBe(0);
    clock.advance(10);
    await eventually(() => expect(commands).toBeGreaterThan(0));
  });
});

test("an early firmware, whose answers must be fetched, is read the same", () =>
  withCcid({ answersLater: true }, async ({ reader, sees }) => {
    const long = "x".repeat(120);
    reader.put(card(long));
    await sees(`04a1b2c3d4e5f6 ${long}`);
  }));

test("a phone that starts its app for 0.9 s before it answers needs no recovery of the reader", () =>
  withCcid({ timing: "real" }, async ({ reader, lines, sees }) => {
    const ats = Uint8Array.of(0x78, 0x80, 0x70, 0x02);
    reader.put(createType4Tag({ uid: Uint8Array.fromHex("08a1b2c3"), ats, text: "x", selectMs: 900 }));
    await sees("08a1b2c3 x");
    expect(stepsIn(lines)).toEqual([]);
  }));

test("a tag that is laid beside another one does not take its place", () =>
  withCcid({}, async ({ reader, states, sees }) => {
    const first = card("one");
    reader.put(first);
    await sees(one);
    let lists = 0;
    reader.onCommand(({ data }) => {
      if (data[6] === commandCodes.inListPassiveTarget) lists += 1;
    });
    reader.put(card("two", otherUid));
    await eventually(() => expect(lists).toBeGreaterThan(8));
    expect(states.filter((state) => state !== "")).toEqual([one]);
    reader.take(first);
    await sees(two);
  }));

test("the buzzer sounds where the settings say so, and follows them", async () => {
  let feedback = true;
  await withCcid({ feedback: () => feedback }, async ({ reader }) => {
    expect(reader.buzzes).toBe(true);
    feedback = false;
    await eventually(() => expect(reader.buzzes).toBe(false));
    feedback = true;
    await eventually(() => expect(reader.buzzes).toBe(true));
  });
});

test("cards of other families are reported as by a PN532 on a line", () =>
  withCcid({}, async ({ reader, last }) => {
    reader.put(createClassicTag(Uint8Array.fromHex("de4a1b7c")));
    await eventually(() => expect(last()?.[0]?.uid).toBe("de4a1b7c"));
    expect(last()?.[0]?.type).toBe("MIFARE");
    reader.take();
    reader.put(
      createCardWithoutMessages(
        Uint8Array.fromHex("04112233445566"),
        Uint8Array.of(0x75, 0x77, 0x81, 0x02, 0x80),
      ),
    );
    await eventually(() => expect(last()?.[0]?.uid).toBe("04112233445566"));
    expect(last()?.[0]?.type).toBe("DESFire");
  }));

for (const kind of ["acr122u", "plain"] as const) {
  test(`a tag on the reader (${kind}) is written, read back, and reported again`, () =>
    withCcid({ kind }, async ({ reader, session, sees }) => {
      reader.put(card("one"));
      await sees(one);
      await session.write?.({ text: "another text", force: false, claim: () => true }, never);
      await sees("04a1b2c3d4e5f6 another text");
    }));
}

describe("any other contactless reader", () => {
  const plain = { kind: "plain" } as const;

  test("is named by its product, and reads a tag 16 bytes at a time", () =>
    withCcid(plain, async ({ reader, session, last, sees }) => {
      expect(session.info).toBe("ACR122U PICC Interface");
      const long = "y".repeat(100);
      reader.put(card(long));
      await sees(`04a1b2c3d4e5f6 ${long}`);
      expect(last()?.[0]?.type).toBe("NTAG");
    }));

  test("distinguishes cards that take each other's place, and reports each once", () =>
    withCcid(plain, async ({ reader, states, sees }) => {
      await sees("");
      reader.put(card("one"));
      await sees(one);
      reader.take();
      reader.put(card("two", otherUid));
      await sees(two);
      reader.take();
      await sees("");
      expect(states.filter((state) => state !== "")).toEqual([one, two]);
    }));

  test("knows a Classic and a processor card by their UIDs", () =>
    withCcid({ ...plain, isMute: true }, async ({ reader, last }) => {
      reader.put(createClassicTag(Uint8Array.fromHex("de4a1b7c")));
      await eventually(() => expect(last()?.[0]?.uid).toBe("de4a1b7c"));
      expect(last()?.[0]?.type).toBe("MIFARE");
      reader.take();
      await eventually(() => expect(last()?.length).toBe(0));
      reader.put(
        createCardWithoutMessages(
          Uint8Array.fromHex("04112233445566"),
          Uint8Array.of(0x75, 0x77, 0x81, 0x02, 0x80),
        ),
      );
      await eventually(() => expect(last()?.[0]?.uid).toBe("04112233445566"));
    }));

  test("reads and writes a MIFARE Classic by the keys of its sectors", () =>
    withCcid(plain, async ({ reader, session, last, sees }) => {
      const long = "SNES/".padEnd(100, "z");
      reader.put(createClassic("classic-1k", { uid: shortUid, text: long }));
      await sees(`de4a1b7c ${long}`);
      expect(last()?.[0]?.type).toBe("MIFARE");
      await session.write?.({ text: "another text", force: false, claim: () => true }, never);
      await sees("de4a1b7c another text");
    }));

  test("knew a Classic of another maker, for which it has no name but the SAK, by its UID only", () =>
    withCcid(plain, async ({ reader, session, last, sees }) => {
      reader.put(createClassic("classic-1k", { uid: shortUid, text: "one", sak: 0x88 }));
      await sees("de4a1b7c one");
      expect(last()?.[0]?.type).toBe("MIFARE");
      await session.write?.({ text: "two", force: false, claim: () => true }, never);
      await sees("de4a1b7c two");
    }));

  test("is heard in its second slot, where the first is for contact cards, and brought back there", () =>
    withCcid(
      { ...plain, slot: 1, ids: { productId: "2224", product: "ACR1281 1S Dual Reader" } },
      async ({ reader, session, lines, sees }) => {
        expect(session.info).toBe("ACR1281 1S Dual Reader");
        await sees("");
        reader.put(card("one"));
        await sees(one);
        reader.take();
        await sees("");
        reader.faults.hang("abort");
        await eventually(() => expect(stepsIn(lines).length).toBeGreaterThanOrEqual(1));
        expect(stepsIn(lines)).toEqual(["abort: helped"]);
        reader.put(card("two", otherUid));
        await sees(two);
      },
    ));

  test("that hangs is brought back by a slot power cycle", () =>
    withCcid(plain, async ({ reader, lines, sees }) => {
      await sees("");
      reader.faults.hang("power");
      await eventually(() => expect(stepsIn(lines).length).toBeGreaterThanOrEqual(2));
      expect(stepsIn(lines)).toEqual(["abort: no", "slot power cycle: helped"]);
      reader.put(card("one"));
      await sees(one);
    }));
});

describe("the commands for a sector's key", () => {
  const factoryKey = Uint8Array.fromHex("ffffffffffff");
  const load = loadKey(factoryKey);
  const prove = generalAuthenticate(4, "A");

  /** Whether a reader that gets these two commands can then read block 4 of a factory-new Classic. */
  function opens(...commands: readonly Uint8Array[]): boolean {
    const chip = createEmulatedChip(instantRadio);
    chip.powerUp();
    chip.wake();
    chip.run(samNormalMode);
    chip.put(createClassic("classic-1k", { uid: shortUid }));
    const apdus = createApduReader({ kind: "plain", answersLater: false, chip });
    apdus.powerUp();
    apdus.activate();
    for (const command of commands) apdus.run(command);
    return parseApdu(apdus.run(pcscReadBinary(4, 16))?.data ?? new Uint8Array())?.status === apduDone;
  }

  test("are those of the ACR122U's manual, and open it", () => {
    // Application Programming Interface 2.04, the examples of sections 5.1 and 5.2.
    expect(load.toHex()).toBe("ff82000006ffffffffffff");
    expect(prove.toHex()).toBe("ff860000050100046000");
    expect(generalAuthenticate(255, "B").toHex()).toBe("ff860000050100ff6100");
    expect(opens(load, prove)).toBe(true);
  });

  test("open nothing where any one byte of them is another", () => {
    expect([opens(load), opens(prove), opens(prove, load)]).toEqual([false, false, false]);
    const altered = (command: Uint8Array, at: number, by: number) =>
      command.map((byte, index) => (index === at ? byte ^ by : byte));
    // A changed bit of 2 may name a block of the same sector, or the same kind of key, so 4 is also tried.
    for (const by of [0x02, 0x04, 0x80]) {
      for (let at = 0; at < load.length; at++)
        expect([at, opens(altered(load, at, by), prove)]).toEqual([at, false]);
      for (let at = 0; at < prove.length; at++) {
        const staysInSector = at === 7 && by === 0x02;
        expect([at, opens(load, altered(prove, at, by))]).toEqual([at, staysInSector]);
      }
    }
  });
});
