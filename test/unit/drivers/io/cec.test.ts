/** The line to a television, over an emulated adapter behind the ioctl layer. */
import { expect, test } from "bun:test";
import { cecLine } from "../../../../drivers/io/cec.ts";
import { createCecAdapter } from "../../../emulators/cec-adapter.ts";

test("it is a playback device with its name, and follows", () => {
  const adapter = createCecAdapter();
  expect(cecLine(adapter.call, "Täpdeck of the living room")).toBeDefined();
  expect(adapter.television.name).toBe("Tpdeck of the ");
  expect(adapter.mode()).toBe(0x11);
  const claim = adapter.claim();
  expect([claim?.[6], claim?.[7], claim?.[31], claim?.[35], claim?.[39]]).toEqual([5, 1, 4, 3, 0x10]);
});

test("an address that an earlier run left is given back before the claim", () => {
  const adapter = createCecAdapter();
  adapter.leaveClaim();
  const line = cecLine(adapter.call, "Tapdeck");
  expect(line?.send(0, [0x04])).toBe(true);
  expect(adapter.sent).toEqual([[0x40, 0x04]]);
});

test.each([0x02, 0x04, 0])("an adapter with the capabilities %p is left alone", (capabilities) => {
  const adapter = createCecAdapter({ capabilities });
  expect(cecLine(adapter.call, "Tapdeck")).toBeUndefined();
  expect(adapter.claim()).toBeUndefined();
});

test("an adapter for input, which is a television itself, is left alone", () => {
  const adapter = createCecAdapter({ physical: 0 });
  expect(cecLine(adapter.call, "Tapdeck")).toBeUndefined();
  expect(adapter.claim()).toBeUndefined();
});

test("messages of others are received, and the outcomes of its own are not", () => {
  const adapter = createCecAdapter();
  const line = cecLine(adapter.call, "Tapdeck");
  line?.send(15, [0x82, 0x10, 0x00]);
  adapter.say(0, 4, 0x44, 0x46);
  adapter.say(0, 15, 0x36);
  expect(line?.receive().map((message) => [...message])).toEqual([
    [0x04, 0x44, 0x46],
    [0x0f, 0x36],
  ]);
  expect(line?.receive()).toEqual([]);
});

test("without a television it has no place, and speaks as a device without an address", () => {
  const adapter = createCecAdapter({ physical: 0x2100 });
  const line = cecLine(adapter.call, "Tapdeck");
  expect(line?.physicalAddress()).toBe(0x2100);
  adapter.television.isConnected = false;
  expect(line?.physicalAddress()).toBeUndefined();
  line?.send(0, [0x04]);
  expect(adapter.sent).toEqual([[0xf0, 0x04]]);
});
