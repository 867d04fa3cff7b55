import { expect, test } from "bun:test";
import { readersText } from "../../../src/cli/show.ts";

const reader = {
  id: "/dev/ttyUSB0",
  readerId: "pn532-uart-3f9a1c2b",
  driver: "pn532-uart",
  path: "/dev/ttyUSB0",
  info: "PN532 v1.6",
  connected: true,
  capabilities: ["read", "write", "removable"] as const,
};

test("tapdeck readers did not say why a reader cannot be opened: each one has a line with its reason", () => {
  const why = "/dev/ttyUSB1: this user may not open it: join the group dialout and log in again";
  expect(readersText({ readers: [], refused: [{ driver: "pn532-uart", path: "/dev/ttyUSB1", why }] })).toBe(
    `No reader is connected.\nnot connected: ${why}`,
  );
  expect(
    readersText({ readers: [{ ...reader, capabilities: [...reader.capabilities] }] }).split("\n"),
  ).toEqual([
    "STATE      DRIVER      PATH          READER      ID",
    "connected  pn532-uart  /dev/ttyUSB0  PN532 v1.6  pn532-uart-3f9a1c2b",
  ]);
});

test("a reason cannot write over the terminal", () => {
  expect(readersText({ readers: [], refused: [{ why: "a\u001b[2Jb" }] })).not.toContain("\u001b");
});
