/**
 * The emulated PN532 on its pty, spoken to byte for byte.
 * Covers: test/emulators/pn532-chip.ts.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { openSerial } from "../../../drivers/io/serial.ts";
import {
  type Cut,
  createFrameCutter,
  encodeFrame,
  nackFrame,
  wakeUp,
} from "../../../drivers/protocol/pn532-frame.ts";
import { createCardWithoutMessages, createType2Tag } from "../../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../../emulators/pn532-device.ts";
import { within } from "../../helpers/processes.ts";

const uid = Uint8Array.fromHex("04112233445566");
const firmware = "d50332010607";
const listed = `d54b010100440007${uid.toHex()}`;

interface Host {
  readonly device: Pn532Device;
  send(bytes: Uint8Array): Promise<void>;
  command(hex: string): Promise<void>;
  setBaudRate(baudRate: number): Promise<void>;
  /** The next cut that is no noise: `ack`, `error`, or a frame's payload in hex. */
  next(): Promise<string>;
  /** A command, its ACK and its answer. */
  ask(hex: string): Promise<string>;
}

async function withChip(run: (host: Host) => Promise<void>, timing: "real" | "none" = "none"): Promise<void> {
  const device = createPn532Device({ timing });
  const link = await openSerial(device.path, { baudRate: 115_200 });
  const cutter = createFrameCutter();
  const heard: string[] = [];
  let wake = () => {};
  const nameOf = (cut: Cut) => (cut.kind === "frame" ? cut.payload.toHex() : cut.kind);
  link.onBytes((bytes) => {
    const cuts = cutter.push(bytes).filter((cut) => cut.kind !== "noise");
    heard.push(...cuts.map(nameOf));
    wake();
  });
  const next = async () => {
    const more = () => new Promise<void>((resolve) => (wake = resolve));
    while (heard.length === 0) await within("frame of the chip", more());
    return heard.shift() ?? "";
  };
  const command = (hex: string) => link.write(encodeFrame(Uint8Array.fromHex(hex)));
  const ask = async (hex: string) => {
    await command(hex);
    expect(await next()).toBe("ack");
    return next();
  };
  try {
    await link.write(Uint8Array.of(...wakeUp));
    expect(await ask("d414010000")).toBe("d515");
    await run({ device, send: link.write, command, setBaudRate: link.setBaudRate, next, ask });
  } finally {
    await link.close();
    await device.close();
  }
}

test("an unconfigured chip refuses the radio, and a sleeping one hears nothing but the wake-up", () =>
  withChip(async ({ device, send, command, ask }) => {
    device.revive();
    await command("d402");
    await send(wakeUp);
    expect(await ask("d402")).toBe(firmware);
    expect(await ask("d44a0100")).toBe("error");
  }));

test("a waiting list command is answered when a tag comes, and again while it stays", () =>
  withChip(async ({ device, command, next, ask }) => {
    await command("d44a0100");
    expect(await next()).toBe("ack");
    device.put(createType2Tag("ntag213", { uid }));
    expect(await next()).toBe(listed);
    for (let round = 0; round < 3; round++) expect(await ask("d44a0100")).toBe(listed);
    device.take();
    expect(await ask("d4400130" + "00")).toBe("d54101");
    await ask("d43205ff0102");
    expect(await ask("d44a0100")).toBe("d54b00");
  }));

test("the host's ACK ends a waiting command, and a new command takes its place", () =>
  withChip(async ({ device, send, command, next, ask }) => {
    await command("d44a0100");
    expect(await next()).toBe("ack");
    await send(Uint8Array.fromHex("0000ff00ff00"));
    expect(await ask("d402")).toBe(firmware);
    device.put(createType2Tag("ntag213", { uid }));
    expect(await ask("d402")).toBe(firmware);
  }));

test("a NACK brings the last answer again; a frame with a broken sum brings nothing", () =>
  withChip(async ({ send, next, ask }) => {
    expect(await ask("d402")).toBe(firmware);
    await send(nackFrame);
    expect(await next()).toBe(firmware);
    await send(encodeFrame(Uint8Array.fromHex("d402")).with(6, 0x03));
    expect(await ask("d40000616263")).toBe("d50100616263");
  }));

test("the rate changes with the host's ACK, and the old one is then deaf", () =>
  withChip(async ({ device, send, command, setBaudRate, ask }) => {
    expect(await ask("d41006")).toBe("d511");
    expect(device.baudRate).toBe(115_200);
    await send(Uint8Array.fromHex("0000ff00ff00"));
    await setBaudRate(460_800);
    expect(await ask("d402")).toBe(firmware);
    let heard = 0;
    device.onCommand(() => {
      heard += 1;
    });
    await setBaudRate(115_200);
    await command("d402");
    await Bun.sleep(20); // The test can only wait for silence. A slow machine makes this test weaker, but never wrong.
    expect(heard).toBe(0);
  }));

test("four bits are heard only with the receiver's CRC switched off", () =>
  withChip(async ({ device, ask }) => {
    device.put(createType2Tag("ntag213", { uid }));
    expect(await ask("d44a0100")).toBe(listed);
    expect(await ask("d442a20601020304")).toBe("d54302");
    expect(await ask("d408630300")).toBe("d509");
    expect(await ask("d442a20605060708")).toBe("d543000a");
    expect(await ask("d4423006")).toStartWith("d54300" + "05060708");
    expect(await ask("d408630380")).toBe("d509");
    expect(await ask("d4423a0606")).toBe("d5430005060708");
  }));

test("InDataExchange writes, and takes what looks like an authentication for one", () =>
  withChip(async ({ device, ask }) => {
    device.put(createType2Tag("ntag213", { uid }));
    await ask("d44a0100");
    expect(await ask("d44001a20601020304")).toBe("d54100");
    expect(await ask(`d44001a00711121314${"00".repeat(12)}`)).toBe("d54100");
    expect(await ask("d440013a0607")).toBe("d541000102030411121314");
    expect(await ask("d4400160")).toBe("d54114");
    expect(await ask("d440023000")).toBe("d54127");
  }));

test("two tags are two targets, a card of layer 4 tells its ATS, and FeliCa finds none", () =>
  withChip(async ({ device, ask }) => {
    await ask("d43205ff0100");
    device.put(createType2Tag("ultralight", { uid }));
    device.put(createCardWithoutMessages(Uint8Array.fromHex("08010203"), Uint8Array.fromHex("7577810280")));
    expect(await ask("d44a0200")).toBe(`d54b020100440007${uid.toHex()}020004200408010203067577810280`);
    expect(await ask("d44a010100ffff0100")).toBe("d54b00");
    expect(await ask("d44a0300")).toBe("error");
    expect(await ask("d48c")).toBe("error");
  }));

test("lost, altered, split, merged and noisy bytes reach the host as such", () =>
  withChip(async ({ device, command, send, next, ask }) => {
    device.faults.splitReads("every-byte");
    expect(await ask("d402")).toBe(firmware);
    device.faults.splitReads([3, 8]);
    expect(await ask("d402")).toBe(firmware);
    device.faults.splitReads(undefined);
    device.faults.mergeReads(12);
    expect(await ask("d402")).toBe(firmware);
    device.faults.mergeReads(0);
    device.faults.corruptNext();
    await command("d402");
    expect(await next()).toBe("ack");
    await send(nackFrame);
    expect(await next()).toBe(firmware);
    device.faults.loseBytes(6);
    await command("d402");
    expect(await next()).toBe(firmware);
    device.faults.noise(7, 0.5);
    device.faults.delayAnswers(2);
    await send(nackFrame);
  }));

test("at 115200 baud an answer takes no less than its bytes do", () =>
  withChip(async ({ device, ask }) => {
    device.put(createType2Tag("ntag213", { uid }));
    await ask("d44a0100");
    const from = performance.now();
    await ask("d440013a0423");
    const bytes = 12 + 6 + 10 + 128;
    expect(device.lastAnswerAt - from).toBeGreaterThanOrEqual((bytes * 10_000) / 115_200 + 128 * 0.085);
  }, "real"));

test("unplugging takes the name away, plugging in brings it back, closing leaves nothing", async () => {
  const device = createPn532Device({ timing: "none" });
  expect(existsSync(device.path)).toBe(true);
  await device.unplug();
  expect(existsSync(device.path)).toBe(false);
  device.plug();
  expect(existsSync(device.path)).toBe(true);
  await device.close();
  expect(existsSync(dirname(device.path))).toBe(false);
});
