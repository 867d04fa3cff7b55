/**
 * The parts of the PN532 driver that a transcript cannot show: ports, rates, and time. pn532-transcripts.test.ts has the
 * rest.
 */
import { expect, test as once } from "bun:test";
import type { ByteLink } from "../../../drivers/io/links.ts";
import { openSerial } from "../../../drivers/io/serial.ts";
import type { SerialPortInfo } from "../../../drivers/io/serial-list.ts";
import { likelyPorts, openPn532, pn532Uart } from "../../../drivers/pn532-uart.ts";
import { createFrameCutter, encodeFrame } from "../../../drivers/protocol/pn532-frame.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Sighting } from "../../../src/core/token.ts";
import type { ReaderSession } from "../../../src/readers/driver.ts";
import {
  createCardWithoutMessages,
  createClassic,
  createClassicTag,
  createType2Tag,
  createType4Tag,
} from "../../emulators/emulated-tags.ts";
import { createPn532Device } from "../../emulators/pn532-device.ts";
import { unlessHeldUp } from "../../helpers/emulated.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const test = (name: string, body: () => unknown) =>
  once(name, () => unlessHeldUp(async () => void (await body())));

const context = { clock: systemClock, log: silentLog };
const never = new AbortController().signal;
const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");

const port = (facts: Partial<SerialPortInfo>): SerialPortInfo => ({
  path: "/dev/ttyUSB0",
  hasHid: false,
  stamp: "1:2",
  ...facts,
});
const ftdi = { driver: "ftdi_sio", vendorId: "0403", productId: "6001" };

/** Watches until one card was seen. */
async function firstCard(session: ReaderSession): Promise<Sighting | undefined> {
  const ending = new AbortController();
  let card: Sighting | undefined;
  await session.watch((present) => {
    card ??= present[0];
    if (card !== undefined) ending.abort(new Error("seen"));
  }, ending.signal);
  return card;
}

const chosen = (ports: readonly SerialPortInfo[]) =>
  likelyPorts(ports).filter(({ ruledOut }) => ruledOut === undefined);
/** The paths of the ports that are no candidates, each with the reason. */
const left = (ports: readonly SerialPortInfo[]) =>
  likelyPorts(ports).flatMap(({ path, ruledOut }) => (ruledOut === undefined ? [] : [[path, ruledOut]]));

test("only known converters and the board's own UARTs are candidates, by the name of their socket", () => {
  const ports = [
    port({ ...ftdi, byPath: "/dev/serial/by-path/one" }),
    port({ path: "/dev/ttyUSB1", vendorId: "1a86", productId: "7523" }),
    port({ path: "/dev/ttyACM0", vendorId: "2341", productId: "0043" }), // An Arduino Uno.
    port({ path: "/dev/ttyUSB2", vendorId: "0403", productId: "0000" }),
    port({ path: "/dev/ttyAMA0", driver: "uart-pl011" }),
    port({ path: "/dev/ttyS0", driver: "serial8250" }),
    port({ path: "/dev/ttyS1" }),
  ];
  expect(chosen(ports)).toEqual([
    { path: "/dev/ttyUSB0", stamp: "1:2", stablePath: "/dev/serial/by-path/one", isShared: true },
    { path: "/dev/ttyUSB1", stamp: "1:2", stablePath: "/dev/ttyUSB1", isShared: true },
    { path: "/dev/ttyAMA0", stamp: "1:2", stablePath: "/dev/ttyAMA0", isOnBoard: true },
  ]);
  expect(left(ports)).toEqual([
    ["/dev/ttyACM0", "its USB id, 2341:0043, is that of no known serial adapter"],
    ["/dev/ttyUSB2", "its USB id, 0403:0000, is that of no known serial adapter"],
    ["/dev/ttyS0", "its driver, serial8250, is that of no known board"],
    ["/dev/ttyS1", "its driver, none, is that of no known board"],
  ]);
});

test("a converter whose device is also a keyboard, mouse or light gun is none", () => {
  const ports = [port({ ...ftdi, hasHid: true }), port({ driver: "uart-pl011", hasHid: true })];
  expect(chosen(ports)).toEqual([]);
  expect(left(ports).map(([, why]) => why)).toEqual(
    Array(2).fill("its device is also a keyboard, a mouse or a light gun"),
  );
});

test("the port of the kernel's console is none", () => {
  const ports = [port({ driver: "uart-pl011", isConsole: true }), port({ ...ftdi, isConsole: true })];
  expect(chosen(ports)).toEqual([]);
  expect(left(ports).map(([, why]) => why)).toEqual(
    Array(2).fill("the kernel's console is on it, or a shell"),
  );
});

test("a rate that the chip does not know is refused before the port is touched", async () => {
  for (const rate of ["9601", "abc", "", "0", "-1", "115200.5"]) {
    // The port does not exist, and a driver that opens it would report that.
    const opening = pn532Uart.open(`/no/such/port?baud=${rate}`, context, never).catch(messageOf);
    expect(await opening).toStartWith(`/no/such/port: a PN532 cannot run at "${rate}" baud: use one of 9600`);
  }
});

test("the line is raised, and handed back at the first rate; a rate in the connection string is kept", async () => {
  const device = createPn532Device({ timing: "none" });
  try {
    const raised = await pn532Uart.open(device.path, context, never);
    expect(device.baudRate).toBe(460_800);
    await raised.close();
    // The chip receives the command a moment after it was sent.
    await eventually(() => expect(device.baudRate).toBe(115_200));
    const fixed = await pn532Uart.open(`${device.path}?baud=115200`, context, never);
    expect(device.baudRate).toBe(115_200);
    await fixed.close();
  } finally {
    await device.close();
  }
});

test("a line that cannot be raised is used as it is", async () => {
  const device = createPn532Device({ timing: "none" });
  const serial = await openSerial(device.path, { baudRate: 115_200 });
  const slow: ByteLink = {
    ...serial,
    setBaudRate: (rate) =>
      rate > 115_200 ? Promise.reject(new Error("too fast for it")) : serial.setBaudRate(rate),
  };
  try {
    // The chip has changed its rate, but the line has not. They cannot communicate until the chip gets its power again.
    let changes = 0;
    device.onCommand((payload) => {
      if (payload[1] === 0x10) changes += 1;
    });
    const opening = openPn532(slow, context, never).catch(messageOf);
    await eventually(() => expect(device.baudRate).toBe(460_800));
    device.revive();
    const session = await opening;
    if (typeof session === "string") throw new Error(session);
    expect([changes, device.baudRate]).toEqual([1, 115_200]);
    device.put(createType2Tag("ntag213", { uid, text: "x" }));
    expect((await firstCard(session))?.text).toBe("x");
    await session.close();
  } finally {
    await serial.close();
    await device.close();
  }
});

test("a card that lies there already when the reader is opened is reported first", async () => {
  const device = createPn532Device({ timing: "none" });
  try {
    device.put(createClassicTag(Uint8Array.fromHex("de4a1b7c")));
    const session = await pn532Uart.open(device.path, context, never);
    expect(await firstCard(session)).toEqual({
      type: "MIFARE",
      uid: "de4a1b7c",
      text: "",
      data: "",
      problem: "locked",
    });
    await session.close();
  } finally {
    await device.close();
  }
});

test("a tag that claims more memory than it has is known by its UID", async () => {
  const device = createPn532Device({ timing: "none" });
  try {
    for (const kind of ["ntag213", "ultralight"] as const) {
      const tag = createType2Tag(kind, { uid, text: "x" });
      // The tag has a data area of 2040 bytes with a message of 2000.
      tag.memory.set([0xe1, 0x10, 0xff, 0x00, 0x03, 0xff, 0x07, 0xd0], 12);
      device.put(tag);
      const session = await pn532Uart.open(device.path, context, never);
      expect(await firstCard(session)).toMatchObject({ uid: "04a1b2c3d4e5f6", text: "" });
      await session.close();
      device.take();
    }
  } finally {
    await device.close();
  }
});

test("a chip that does not wait for a tag was asked again as fast as the line went", async () => {
  const clock = createManualClock();
  let lists = 0;
  let onBytes: (bytes: Uint8Array) => void = () => {};
  const cutter = createFrameCutter();
  const answers: ReadonlyMap<number, string> = new Map([
    [0x14, "d515"],
    [0x02, "d50332010607"],
    [0x32, "d533"],
    [0x4a, "d54b00"],
  ]);
  const link: ByteLink = {
    path: "/dev/ttyUSB0",
    onBytes: (listener) => {
      onBytes = listener;
    },
    onGone: () => {},
    async write(bytes) {
      for (const cut of cutter.push(bytes)) {
        if (cut.kind !== "frame") continue;
        if (cut.payload[1] === 0x4a) lists += 1;
        const answer = encodeFrame(Uint8Array.fromHex(answers.get(cut.payload[1] ?? 0) ?? "d57f"));
        setImmediate(() => onBytes(Uint8Array.of(0, 0, 0xff, 0, 0xff, 0, ...answer)));
      }
    },
    setBaudRate: async () => {},
    close: async () => {},
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5) {
      clock.advance(5);
      for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const ending = new AbortController();
  const opening = openPn532(link, { clock, log: silentLog }, never, { baudRate: 115_200 });
  await pass(50);
  const session = await opening;
  const watching = session.watch(() => {}, ending.signal);
  await pass(1000);
  ending.abort(new Error("enough"));
  await watching;
  expect(lists).toBeLessThanOrEqual(12);
  expect(lists).toBeGreaterThan(5);
});

test("two phones' made-up UIDs are one card only while it stays; a card that changes is another", async () => {
  const device = createPn532Device({ timing: "none" });
  const ending = new AbortController();
  try {
    const session = await pn532Uart.open(device.path, context, never);
    const seen: string[] = [];
    const watching = session.watch((present) => {
      const uids = present.map((sighting) => sighting.uid).join(" ");
      if (seen.at(-1) !== uids) seen.push(uids);
    }, ending.signal);
    const random = (hex: string) => createClassicTag(Uint8Array.fromHex(hex));
    await eventually(() => expect(seen.at(-1)).toBe(""));
    device.put(random("08aaaaaa"));
    await eventually(() => expect(seen.at(-1)).toBe("08aaaaaa"));
    device.take();
    device.put(random("08bbbbbb"));
    let commands = 0;
    device.onCommand(() => {
      commands += 1;
    });
    await eventually(() => expect(commands).toBeGreaterThanOrEqual(2));
    expect(seen).toEqual(["", "08aaaaaa"]);
    device.take();
    await eventually(() => expect(seen.at(-1)).toBe(""));
    device.put(random("08cccccc"));
    await eventually(() => expect(seen.at(-1)).toBe("08cccccc"));
    ending.abort(new Error("seen"));
    await watching;
    await session.close();
  } finally {
    await device.close();
  }
});

test("two tags in the field took each other's place again and again, and neither could be written", async () => {
  const makeClassic = () => createClassic("classic-1k", { uid: Uint8Array.fromHex("de4a1b7c"), text: "old" });
  const makeNtag = () => createType2Tag("ntag213", { uid, text: "old" });
  const makeCard = () =>
    createCardWithoutMessages(Uint8Array.fromHex("04a1b2c3d4e5f607b8c9"), Uint8Array.of(0x78));
  const pairs = [
    { tag: makeClassic(), other: makeNtag(), text: "old" },
    { tag: makeNtag(), other: makeCard(), text: "old" },
    { tag: makeCard(), other: makeClassic(), text: "" },
  ];
  for (const { tag, other, text } of pairs) {
    const device = createPn532Device({ timing: "none" });
    const ending = new AbortController();
    try {
      device.put(tag);
      const session = await pn532Uart.open(device.path, context, never);
      const seen: string[] = [];
      let reports = 0;
      const watching = session.watch((present) => {
        reports += 1;
        const cards = present.map((card) => `${card.uid} ${card.text}`).join(", ");
        if (seen.at(-1) !== cards) seen.push(cards);
      }, ending.signal);
      const first = `${tag.uid.toHex()} ${text}`;
      await eventually(() => expect(seen).toEqual([first]));
      device.put(other);
      reports = 0;
      await eventually(() => expect(reports).toBeGreaterThan(4));
      expect(seen).toEqual([first]);
      if (text !== "") {
        const claim = (hex: string) => hex === tag.uid.toHex();
        await session.write?.({ text: "new", force: false, claim }, never);
        await eventually(() => expect(seen.at(-1)).toBe(`${tag.uid.toHex()} new`));
      }
      const count = seen.length;
      device.take(tag);
      await eventually(() => expect(seen.at(-1)).toStartWith(other.uid.toHex()));
      expect(seen.length).toBe(count + 1);
      ending.abort(new Error("seen"));
      await watching;
      await session.close();
    } finally {
      await device.close();
    }
  }
});

test("a phone that starts its app for 0.9 s before it answers was a reader that failed", async () => {
  const device = createPn532Device({ timing: "real" });
  try {
    const phone = { uid: Uint8Array.fromHex("08a1b2c3"), ats: Uint8Array.of(0x78, 0x80, 0x70, 0x02) };
    device.put(createType4Tag({ ...phone, text: "x", selectMs: 900 }));
    const session = await pn532Uart.open(device.path, context, never);
    expect(await firstCard(session)).toMatchObject({ type: "ISO14443-4", text: "x" });
    await session.close();
  } finally {
    await device.close();
  }
});

test("a tag that was laid down slowly, and could not be read at first, stayed unreadable while it lay there", async () => {
  const tags = [
    createClassic("classic-1k", { uid: Uint8Array.fromHex("de4a1b7c"), text: "x" }),
    createType2Tag("ntag215", { uid, text: "x" }),
    createType4Tag({ uid, text: "x" }),
  ];
  for (const tag of tags) {
    const device = createPn532Device({ timing: "none" });
    const ending = new AbortController();
    try {
      const session = await pn532Uart.open(device.path, context, never);
      device.faults.failExchanges(Array<number>(tag.sak === 0x08 ? 7 : 12).fill(0x01));
      device.put(tag);
      const seen: string[] = [];
      const watching = session.watch((present) => {
        const now = present.map(({ uid, text, problem = "none" }) => `${uid} ${text} ${problem}`).join(", ");
        if (seen.at(-1) !== now && now !== "") seen.push(now);
      }, ending.signal);
      await eventually(() => expect(seen.at(-1)).toBe(`${tag.uid.toHex()} x none`));
      expect(seen.length).toBe(2);
      expect(seen[0]).toMatch(/ (locked|unreadable)$/);
      ending.abort(new Error("seen"));
      await watching;
      await session.close();
    } finally {
      await device.close();
    }
  }
});

test("an exchange that the chip fails, by whatever status, is tried again, and the tag is read", async () => {
  const device = createPn532Device({ timing: "none" });
  try {
    for (const status of [0x01, 0x02, 0x0a, 0x13, 0x14, 0x27]) {
      device.put(createType2Tag("ntag215", { uid, text: "x" }));
      const session = await pn532Uart.open(device.path, context, never);
      device.faults.failExchanges([undefined, status]);
      expect(await firstCard(session)).toMatchObject({ type: "NTAG", text: "x" });
      await session.close();
      device.take();
    }
  } finally {
    await device.close();
  }
});
