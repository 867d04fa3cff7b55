/** `tapdeck pair` at the command line: its flags, its QR code, and the names it puts into links. */
import { expect, test } from "bun:test";
import { hostname } from "node:os";
import { encode } from "uqr";
import { parseArguments } from "../../src/cli/arguments.ts";
import { qrText } from "../../src/cli/qr.ts";
import { reachableHosts } from "../../src/system/reachable.ts";

function pairFlags(...words: readonly string[]) {
  const asked = parseArguments(["pair", ...words]);
  if (asked.kind !== "command") throw new Error(asked.kind);
  return { words: asked.words, ...asked.pair };
}

test("pair takes a name, or one of its flags", () => {
  const ways = { card: false, code: false, pin: false, list: false, revoke: undefined };
  const none = { words: [], ...ways, host: undefined };
  expect(pairFlags()).toEqual(none);
  expect(pairFlags("Anna's phone", "--host", "deck.lan")).toEqual({
    ...none,
    words: ["Anna's phone"],
    host: "deck.lan",
  });
  expect(pairFlags("Fridge", "--card")).toEqual({ ...none, words: ["Fridge"], card: true });
  expect(pairFlags("--code")).toEqual({ ...none, code: true });
  expect(pairFlags("--pin")).toEqual({ ...none, pin: true });
  expect(pairFlags("--list")).toEqual({ ...none, list: true });
  expect(pairFlags("--revoke", "Anna's phone")).toEqual({ ...none, revoke: "Anna's phone" });
  for (const words of [
    ["--code", "--card"],
    ["--list", "--revoke", "x"],
    ["x", "--list"],
    ["x", "--code"],
    ["x", "--pin"],
    ["--pin", "--code"],
    ["x", "y"],
  ])
    expect(() => pairFlags(...words), words.join(" ")).toThrow("use it as: tapdeck pair");
});

test("what belongs to pair alone is refused elsewhere, and write's --list still takes its file", () => {
  expect(() => parseArguments(["tap", "x", "--card"])).toThrow("--card belongs to tapdeck pair");
  expect(() => parseArguments(["--host", "x"])).toThrow("--host belongs to a command");
  expect(parseArguments(["write", "--list", "cards.txt"])).toMatchObject({ list: "cards.txt" });
  expect(() => parseArguments(["write", "--list"])).toThrow();
});

test("the QR code is dark on light whatever the terminal's colours are, with its quiet zone", () => {
  const link = `http://192.168.178.42:7497/#pair=${"a".repeat(64)}`;
  const lines = qrText(link).split("\n").slice(0, -1);
  const [blackOnWhite, asBefore] = ["\x1b[38;5;16;48;5;231m", "\x1b[0m"];
  const rows = lines.flatMap((line) => {
    expect([line.startsWith(blackOnWhite), line.endsWith(asBefore)]).toEqual([true, true]);
    const characters = [...line.slice(blackOnWhite.length, -asBefore.length)];
    return [
      characters.map((one) => one === "▀" || one === "█"),
      characters.map((one) => one === "▄" || one === "█"),
    ];
  });
  const { data, size } = encode(link, { ecc: "L", border: 4 });
  expect(size).toBeLessThanOrEqual(49);
  expect(lines.length).toBeLessThan(30);
  expect(rows.slice(0, size)).toEqual(data);
  for (const row of rows) expect([...row.slice(0, 4), ...row.slice(-4)].includes(true)).toBe(false);
});

test("links name what others on the network can reach: never loopback, the owner's addresses where there are some", async () => {
  expect(await reachableHosts(["127.0.0.1", "::1"])).toEqual([]);
  expect(await reachableHosts(["127.0.0.1", "192.168.1.2", "fd77::1"])).toEqual(["192.168.1.2", "[fd77::1]"]);
  const all = await reachableHosts([]);
  expect(all.filter((host) => host.startsWith("127."))).toEqual([]);
  // A machine without a network has none at all.
  if (all.length > 0) expect(all).toContain(`${hostname().toLowerCase()}.local`);
});
