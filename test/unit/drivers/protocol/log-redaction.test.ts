/** Bytes in the debug log: the commands to a reader, but no content of a tag. */
import { expect, test } from "bun:test";
import { pcscUpdateBinary } from "../../../../drivers/protocol/apdu.ts";
import { ccidIn, ccidOut } from "../../../../drivers/protocol/ccid.ts";
import { ccidLogText, chipLogText, padLogText } from "../../../../drivers/protocol/log-redaction.ts";
import {
  communicateThru,
  dataExchange,
  getFirmwareVersion,
} from "../../../../drivers/protocol/pn532-commands.ts";

const hex = (text: string) => Uint8Array.fromHex(text.replaceAll(" ", ""));

test("a PN532 is logged whole but for the bytes to and from a tag", () => {
  expect(chipLogText(getFirmwareVersion)).toBe("d4 02");
  expect(chipLogText(hex("d5 03 32 01 06 07"))).toBe("d5 03 32 01 06 07");
  expect(chipLogText(dataExchange(0xa2, 0x05, 1, 2, 3, 4))).toBe("d4 40 01 a2 05 +4 of the tag's");
  expect(chipLogText(communicateThru(0x3a, 0x04, 0x13))).toBe("d4 42 3a 04 +1 of the tag's");
  expect(chipLogText(hex("d5 41 00 01 02 03"))).toBe("d5 41 00 +3 of the tag's");
  expect(chipLogText(hex("d5 43 01"))).toBe("d5 43 01");
  // The key of a card opens the card, so the log must not have it.
  expect(chipLogText(dataExchange(0x60, 0x04, 0xd3, 0xf7, 0xd3, 0xf7, 0xd3, 0xf7, 1, 2, 3, 4))).not.toContain(
    "f7",
  );
});

test("a CCID reader is logged without the data of its blocks, also if they carry a PN532's commands", () => {
  expect(ccidLogText({ type: ccidOut.powerOn, data: new Uint8Array() })).toBe("62");
  expect(ccidLogText({ type: ccidOut.block, data: pcscUpdateBinary(4, Uint8Array.of(1, 2, 3, 4)) })).toBe(
    "6f: ff d6 00 04 04 +4 of the tag's",
  );
  expect(ccidLogText({ type: ccidOut.block, data: hex("ff 00 00 00 09 d4 40 01 a2 05 01 02 03 04") })).toBe(
    "6f: ff 00 00 00 09 d4 40 01 a2 05 +4 of the tag's",
  );
  expect(ccidLogText({ type: ccidIn.block, data: hex("d5 41 00 01 02 90 00") })).toBe(
    "80: d5 41 00 +4 of the tag's",
  );
  expect(ccidLogText({ type: ccidIn.block, data: hex("01 02 03 90 00") })).toBe("80: +5 of the tag's");
  expect(ccidLogText({ type: ccidIn.block, data: hex("90 00") })).toBe("80: 90 00");
});

test("a Toy Pad's events are logged whole, its answers without their data", () => {
  expect(padLogText(hex("56 0b 01 00 00 00 04 11 22 33 44 55 66"))).toContain("04 11 22");
  expect(padLogText(hex("55 12 05 00 01 02 03 04"))).toBe("55 12 05 00 +4 of the tag's");
});
