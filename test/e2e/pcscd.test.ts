/**
 * PC/SC's own stack judges our APDUs and the emulated reader. Debian's pcscd and libpcsclite carry our codec's bytes to the
 * emulated card. The answers must be those that our own driver gets over CCID.
 */
import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apduDone,
  cardKindOf,
  generalAuthenticate,
  getUid,
  loadKey,
  parseApdu,
  pcscReadBinary,
  pcscUpdateBinary,
} from "../../drivers/protocol/apdu.ts";
import { encodeTextMessage, parseMessage, textOfRecords } from "../../drivers/protocol/ndef.ts";
import { samNormalMode } from "../../drivers/protocol/pn532-commands.ts";
import { findMessage } from "../../drivers/protocol/tlv.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import { spacedHex } from "../../src/core/hex.ts";
import { createApduReader } from "../emulators/ccid-apdus.ts";
import {
  createClassic,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
} from "../emulators/emulated-tags.ts";
import { createEmulatedChip, instantRadio } from "../emulators/pn532-chip.ts";
import { withCcid } from "../helpers/ccid-bench.ts";
import { canRunPcscd, startVirtualReader, type VirtualCard } from "../helpers/virtual-reader.ts";

const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
const text = "SNES/Game.sfc";
const shortUid = Uint8Array.fromHex("de4a1b7c");
const make = () => createType2Tag("ntag215", { uid, text });

/** The emulated reader's own APDU layer, with this tag on it. */
function cardOn(tag: EmulatedTag): VirtualCard {
  const chip = createEmulatedChip(instantRadio);
  chip.powerUp();
  chip.wake();
  chip.run(samNormalMode);
  chip.put(tag);
  const apdus = createApduReader({ kind: "plain", answersLater: false, chip });
  apdus.powerUp();
  const atr = apdus.activate();
  if (atr === undefined) throw new Error("the tag answers");
  return { atr, run: (apdu) => apdus.run(apdu)?.data ?? Uint8Array.of(0x63, 0x00) };
}

/** The description of an answer to reset by PC/SC's own tool, and by the list of its users. */
async function describeAtr(atr: Uint8Array): Promise<string> {
  // The tool has a home folder of its own, because a usual one may have an old list, or an empty one after a failed
  // download.
  const home = await mkdtemp(join(tmpdir(), "tapdeck-atr-"));
  try {
    const tool = Bun.spawn(["ATR_analysis", spacedHex(atr).toUpperCase()], {
      env: { ...process.env, HOME: home },
      stdout: "pipe",
    });
    return await new Response(tool.stdout).text();
  } finally {
    await rm(home, { recursive: true });
  }
}

describe.skipIf(!canRunPcscd)("through pcscd and libpcsclite", () => {
  test("our APDUs are answered with the UID, the memory and the message that our driver reads", async () => {
    const card = cardOn(make());
    await using reader = await startVirtualReader(card);
    const blocks = Array.from({ length: 8 }, (_, at) => 4 * at);
    const answers = await reader.send([getUid, ...blocks.map((block) => pcscReadBinary(block, 16))]);
    const heard = answers.map((answer) => parseApdu(answer));
    expect(heard.map((one) => one?.status)).toEqual(Array(1 + blocks.length).fill(apduDone));
    const [told, ...memory] = heard.map((one) => one?.data ?? new Uint8Array());
    expect(told).toEqual(uid);
    const whole = Uint8Array.from(memory.flatMap((bytes) => [...bytes]));
    expect(whole).toEqual(make().memory.slice(0, whole.length));
    const content = contentOf(whole.subarray(12));
    const message = parseMessage(content.kind === "message" ? content.message : new Uint8Array());
    expect(message.kind === "message" && textOfRecords(message.records)).toBe(text);

    await withCcid({ kind: "plain" }, async ({ reader: ours, sees, last }) => {
      ours.put(make());
      await sees(`${uid.toHex()} ${text}`);
      expect(last()?.[0]?.uid).toBe(told?.toHex());
    });
  });

  test("the bytes that our APDUs write are on the tag, and are read back", async () => {
    const tag = make();
    await using reader = await startVirtualReader(cardOn(tag));
    const page = encodeTextMessage("x").slice(0, 4);
    const answers = await reader.send([pcscUpdateBinary(8, page), pcscReadBinary(8, 16)]);
    expect(answers[0]).toEqual(Uint8Array.of(0x90, 0x00));
    expect(answers[1]?.subarray(0, 4)).toEqual(page);
    expect(tag.memory.slice(32, 36)).toEqual(page);
  });

  test("a MIFARE Classic is read by the keys of its sectors, and not by another key", async () => {
    const classic = createClassic("classic-1k", { uid: shortUid, text });
    await using reader = await startVirtualReader(cardOn(classic));
    const keys: Readonly<Record<string, Uint8Array>> = {
      directory: Uint8Array.fromHex("a0a1a2a3a4a5"),
      ndef: Uint8Array.fromHex("d3f7d3f7d3f7"),
    };
    const open = (block: number, key: string) => [
      loadKey(keys[key] ?? new Uint8Array()),
      generalAuthenticate(block, "A"),
    ];
    const asked = [
      ...[getUid, ...open(1, "directory"), pcscReadBinary(1, 16)],
      ...[...open(7, "ndef"), pcscReadBinary(4, 16), pcscReadBinary(5, 16), pcscReadBinary(6, 16)],
    ];
    const heard = (await reader.send(asked)).map((answer) => parseApdu(answer));
    expect(heard.map((one) => one?.status)).toEqual(Array(asked.length).fill(apduDone));
    expect(heard[0]?.data).toEqual(shortUid);
    expect(heard[3]?.data).toEqual(classic.memory.slice(16, 32));
    const whole = Uint8Array.from(heard.slice(6).flatMap((one) => [...(one?.data ?? [])]));
    const found = findMessage(whole, whole.length);
    if (found.kind !== "message") throw new Error("there is no message");
    const message = parseMessage(whole.subarray(found.start, found.end));
    expect(message.kind === "message" && textOfRecords(message.records)).toBe(text);

    const [, refused] = await reader.send([...open(4, "directory"), getUid]);
    expect(parseApdu(refused ?? new Uint8Array())?.status).toBe(0x6300);

    await withCcid({ kind: "plain" }, async ({ reader: ours, sees, last }) => {
      ours.put(createClassic("classic-1k", { uid: shortUid, text }));
      await sees(`${shortUid.toHex()} ${text}`);
      expect(last()?.[0]?.type).toBe("MIFARE");
    });
  });

  test("a command that a card lacks is refused alike, and the next command is heard", async () => {
    await using reader = await startVirtualReader(cardOn(make()));
    const refused = [pcscReadBinary(0xf0, 16), pcscUpdateBinary(0xf0, new Uint8Array(4))];
    const [read, written, told] = await reader.send([...refused, getUid]);
    for (const answer of [read, written]) expect(parseApdu(answer ?? new Uint8Array())?.status).toBe(0x6300);
    expect(parseApdu(told ?? new Uint8Array())?.data).toEqual(uid);
  });

  // The fault: emulator and driver both left out the first historical byte, so the answer of a real reader was not recognized
  // as that of a storage card.
  test("the answer to reset of each kind is known as that kind to a list that others keep", async () => {
    const kinds: readonly (readonly [EmulatedTag, RegExp, number])[] = [
      [make(), /MIFARE Ultralight \(as per PCSC std part3\)/, 0x0003],
      [createClassic("classic-1k", { uid: shortUid }), /MIFARE Classic 1K \(as per PCSC std part3\)/, 0x0001],
      [createClassic("classic-4k", { uid: shortUid }), /MIFARE Classic 4K \(as per PCSC std part3\)/, 0x0002],
      [createClassic("classic-mini", { uid: shortUid }), /Mifare Mini \(as per PCSC std part3\)/, 0x0026],
    ];
    for (const [tag, known, name] of kinds) {
      const { atr } = cardOn(tag);
      const described = await describeAtr(atr);
      expect(described).toMatch(known);
      expect(described).toContain("correct checksum");
      expect(cardKindOf(atr)).toEqual({ kind: "storage", card: name });
    }
    const desfire = cardOn(createType4Tag({ uid, text })).atr;
    expect(await describeAtr(desfire)).toContain("RFID - ISO 14443 Type A - NXP DESFire");
    expect(cardKindOf(desfire)?.kind).toBe("processor");
    // No reader with a FeliCa was available, so these are the outputs that makers publish.
    const felica = Uint8Array.fromHex("3b8f8001804f0ca00000030611003b0000000042");
    expect(await describeAtr(felica)).toContain("FeliCa (as per PCSC std part3)");
    expect(cardKindOf(felica)).toEqual({ kind: "storage", card: 0x003b });
  });

  test("the answer to reset arrives whole, and tells the same kind of card on either way", async () => {
    const card = cardOn(make());
    await using reader = await startVirtualReader(card);
    const described = await reader.describe();
    expect(described).toContain(spacedHex(card.atr).toUpperCase());
    expect(cardKindOf(card.atr)).toEqual({ kind: "storage", card: 0x0003 });
  });
});
