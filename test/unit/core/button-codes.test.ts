/** Names of keys, compared with the header of this machine's kernel if it exists. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { buttonCode, buttonName, buttonNames } from "../../../src/core/button-codes.ts";

const header = "/usr/include/linux/input-event-codes.h";

test("a name in any case, a number, and a knob with its way have codes", () => {
  expect(buttonCode(" key_VolumeUp ")).toEqual({ kind: "key", code: 115, way: 1 });
  expect(buttonCode("KEY_530")).toEqual({ kind: "key", code: 530, way: 1 });
  expect(buttonCode("KEY_7")).toEqual({ kind: "key", code: 8, way: 1 });
  expect(buttonCode("REL_DIAL+")).toEqual({ kind: "turn", code: 7, way: 1 });
  expect(buttonCode("REL_WHEEL-")).toEqual({ kind: "turn", code: 8, way: -1 });
});

test.each(["", "VOLUMEUP", "KEY_NOTHING", "KEY_999", "REL_DIAL", "KEY_A+", "REL_99+", "KEY_-1"])(
  "%p is no key",
  (name) => {
    expect(buttonCode(name)).toBeUndefined();
  },
);

test.skipIf(!existsSync(header))("each name has the number of the kernel's header", () => {
  const text = readFileSync(header, "utf8");
  const defined = new Map(
    [...text.matchAll(/#define\s+(\w+)\s+(\w+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
  const numberOf = (name: string): number => {
    const value = defined.get(name) ?? "";
    return /^\d|^0x/.test(value) ? Number(value) : numberOf(value);
  };
  for (const name of buttonNames)
    expect([name, buttonCode(name)?.code]).toEqual([name, numberOf(name.replace(/[+-]$/, ""))]);
  expect(buttonNames.length).toBeGreaterThan(150);
});

test.each(["KEY_VOLUMEUP", "KEY_530", "BTN_SOUTH", "REL_DIAL-", "REL_WHEEL+", "REL_05-"])(
  "%s names its code",
  (name) => {
    const code = buttonCode(name);
    expect(code && buttonName(code)).toBe(name);
  },
);
