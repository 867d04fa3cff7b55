/**
 * PC/SC's own stack judges our APDUs and the emulated reader: Debian's pcscd and libpcsclite carry what our codec writes to
 * the emulated card, and what comes back is what our own driver hears over CCID.
 */
import { describe, expect, test } from "bun:test";
import { createApduReader } from "../../drivers/emulator/ccid-apdus.ts";
import { createEmulatedChip, instantRadio } from "../../drivers/emulator/pn532-chip.ts";
import { createType2Tag, type EmulatedTag } from "../../drivers/emulator/tags.ts";
import {
  apduDone,
  cardKindOf,
  getUid,
  parseApdu,
  readBinary,
  updateBinary,
} from "../../drivers/protocol/apdu.ts";
import { encodeTextMessage, parseMessage, textOf } from "../../drivers/protocol/ndef.ts";
import { samNormalMode } from "../../drivers/protocol/pn532-commands.ts";
import { contentOf } from "../../drivers/protocol/type2-tag.ts";
import { spacedHex } from "../../src/core/hex.ts";
import { withCcid } from "../helpers/ccid-bench.ts";
import { canRunPcscd, startVirtualReader, type VirtualCard } from "../helpers/virtual-reader.ts";

const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");
const text = "SNES/Game.sfc";
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

describe.skipIf(!canRunPcscd)("through pcscd and libpcsclite", () => {
  test("our APDUs are answered with the UID, the memory and the message that our driver reads", async () => {
    const card = cardOn(make());
    await using reader = await startVirtualReader(card);
    const blocks = Array.from({ length: 8 }, (_, at) => 4 * at);
    const answers = await reader.send([getUid(), ...blocks.map((block) => readBinary(block, 16))]);
    const heard = answers.map((answer) => parseApdu(answer));
    expect(heard.map((one) => one?.status)).toEqual(Array(1 + blocks.length).fill(apduDone));
    const [told, ...memory] = heard.map((one) => one?.data ?? new Uint8Array());
    expect(told).toEqual(uid);
    const whole = Uint8Array.from(memory.flatMap((bytes) => [...bytes]));
    expect(whole).toEqual(make().memory.slice(0, whole.length));
    const content = contentOf(whole.subarray(12));
    const message = parseMessage(content.kind === "message" ? content.message : new Uint8Array());
    expect(message.kind === "message" && textOf(message.records)).toBe(text);

    await withCcid({ kind: "plain" }, async ({ reader: ours, sees, last }) => {
      ours.put(make());
      await sees(`${uid.toHex()} ${text}`);
      expect(last()?.[0]?.uid).toBe(told?.toHex());
    });
  });

  test("what our APDUs write is on the tag, and is read back", async () => {
    const tag = make();
    await using reader = await startVirtualReader(cardOn(tag));
    const page = encodeTextMessage("x").slice(0, 4);
    const answers = await reader.send([updateBinary(8, page), readBinary(8, 16)]);
    expect(answers[0]).toEqual(Uint8Array.of(0x90, 0x00));
    expect(answers[1]?.subarray(0, 4)).toEqual(page);
    expect(tag.memory.slice(32, 36)).toEqual(page);
  });

  test("what a card cannot do is refused alike, and the next command is heard", async () => {
    await using reader = await startVirtualReader(cardOn(make()));
    const refused = [readBinary(0xf0, 16), updateBinary(0xf0, new Uint8Array(4))];
    const [read, written, told] = await reader.send([...refused, getUid()]);
    for (const answer of [read, written]) expect(parseApdu(answer ?? new Uint8Array())?.status).toBe(0x6300);
    expect(parseApdu(told ?? new Uint8Array())?.data).toEqual(uid);
  });

  test("the answer to reset arrives whole, and tells the same kind of card on either way", async () => {
    const card = cardOn(make());
    await using reader = await startVirtualReader(card);
    const described = await reader.describe();
    expect(described).toContain(spacedHex(card.atr).toUpperCase());
    expect(cardKindOf(card.atr)).toEqual({ kind: "storage", card: 0x0003 });
  });
});
