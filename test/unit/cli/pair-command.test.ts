/** `tapdeck pair` at the command line: its flags, its QR code, and the names in its links. */
import { expect, test } from "bun:test";
import { hostname } from "node:os";
import { encode } from "uqr";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { clientLines, qrText } from "../../../src/cli/pair-command.ts";
import { ago } from "../../../src/core/text.ts";
import { reachableHosts } from "../../../src/system/addresses.ts";

function pairFlags(...words: readonly string[]) {
  const asked = parseArguments(["pair", ...words]);
  if (asked.kind !== "command") throw new Error(asked.kind);
  return { words: asked.words, ...asked.pair };
}

test("pair takes a name, or one of its flags", () => {
  const named = { revoke: undefined, change: undefined, bearer: undefined };
  const ways = { card: false, code: false, pin: false, list: false, ...named };
  const none = { words: [], ...ways, host: undefined, role: "member" as const };
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
  expect(pairFlags("--change", "Kid", "--role", "player")).toEqual({
    ...none,
    change: "Kid",
    role: "player",
  });
  expect(pairFlags("--bearer", "Shop")).toEqual({ ...none, bearer: "Shop" });
  expect(pairFlags("Kid", "--role", "player")).toEqual({ ...none, words: ["Kid"], role: "player" });
  expect(pairFlags("--code", "--role", "player")).toEqual({ ...none, code: true, role: "player" });
  expect(pairFlags("Kid", "--card", "--role=member")).toEqual({ ...none, words: ["Kid"], card: true });
  expect(pairFlags("--bearer", "Shop", "--role", "player")).toEqual({
    ...none,
    bearer: "Shop",
    role: "player",
  });
  for (const words of [
    ["--bearer", "x", "--card"],
    ["--bearer", "x", "--code"],
    ["y", "--bearer", "x"],
    ["--code", "--card"],
    ["--list", "--revoke", "x"],
    ["--change", "y", "--revoke", "x"],
    ["x", "--list"],
    ["x", "--code"],
    ["x", "--pin"],
    ["--pin", "--code"],
    ["x", "y"],
  ])
    expect(() => pairFlags(...words), words.join(" ")).toThrow("use it as: tapdeck pair");
});

test("a role is one of three, and is not taken where it could not be kept", () => {
  expect(() => pairFlags("--role", "king")).toThrow(
    '--role must be one of member, player, owner, not "king"',
  );
  expect(pairFlags("--role", "owner").role).toBe("owner");
  for (const way of [["--pin"], ["--list"], ["--revoke", "x"]])
    expect(() => pairFlags(...way, "--role", "player"), way[0]).toThrow("--role belongs to a new phone");
  expect(() => pairFlags("--change", "x")).toThrow("name the new role: tapdeck pair --change ID --role");
  expect(() => parseArguments(["tap", "x", "--role", "player"])).toThrow("--role belongs to tapdeck pair");
});

test("the list has a column each for id, name, role, age and last use", () => {
  const nowMs = Date.parse("2026-03-10T12:00:00Z");
  const known = [
    {
      id: "a1",
      name: "Anna's phone",
      role: "member",
      added: "2026-03-07T11:00:00Z",
      lastUsed: "2026-03-10T11:55:00Z",
      address: "10.0.0.7",
    },
    { id: "b22", name: "電話\u001b[2J", role: "player", added: "2026-03-10T11:59:30Z", address: "" },
    {
      id: "c",
      name: "",
      role: "player",
      added: "2026-03-10T11:58:00Z",
      expires: "2026-03-10T12:08:00Z",
      address: "",
    },
  ] as const;
  expect(clientLines(known, nowMs)).toEqual([
    "a1   Anna's phone   member  paired 3 days ago        last used 5 minutes ago at 10.0.0.7",
    "b22  電話\\u{1b}[2J  player  paired just now          never used",
    "c    -              player  link made 2 minutes ago  never used",
  ]);
});

test("an age is given in the largest whole unit", () => {
  const nowMs = Date.parse("2026-03-10T12:00:00Z");
  const told = (ms: number) => ago(new Date(nowMs - ms).toISOString(), nowMs);
  expect(
    [-60_000, 0, 59_999, 60_000, 3_599_999, 3_600_000, 86_399_999, 86_400_000, 800 * 86_400_000].map(told),
  ).toEqual([
    "just now",
    "just now",
    "just now",
    "1 minute ago",
    "59 minutes ago",
    "1 hour ago",
    "23 hours ago",
    "1 day ago",
    "800 days ago",
  ]);
});

test("an option of pair alone is refused elsewhere, and write's --list still takes its file", () => {
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
  // A machine without a network has no address.
  if (all.length > 0) expect(all).toContain(`${hostname().toLowerCase()}.local`);
});
