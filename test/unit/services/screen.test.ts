/** The screen of a board without a frame buffer, on a real pty. */
import { expect, test } from "bun:test";
import { openPty } from "../../../drivers/io/termios.ts";
import { createBus } from "../../../src/bus.ts";
import { qrText } from "../../../src/cli/pair-command.ts";
import { silentLog } from "../../../src/core/log.ts";
import { codeLink } from "../../../src/core/pairing-link.ts";
import { pairingText, screenText } from "../../../src/services/console-text.ts";
import { createPairing, pairOnScreen } from "../../../src/services/pairing-service.ts";
import { followScreen } from "../../../src/services/screen.ts";
import type { ShownReader } from "../../../src/services/screen-facts.ts";
import { silentAudit } from "../../helpers/defaults.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const reader = { path: "/dev/ttyUSB0", info: "PN532 v1.6", connected: true };
const added = { id: "", readerId: "one", driver: "x", capabilities: [], ...reader };
const role = () => "member" as const;
const place = async () => ({ hosts: ["deck.local"], port: 7497 });
const refusal = () => undefined;
const noScreen = { isThere: false, showPairing: () => new DisposableStack() };
const lines = (text: string) => text.split("\r\n").map((line) => line.trimEnd());

test("name, addresses and readers are shown, on a screen that was cleared", () => {
  const text = screenText({ name: "deck", addresses: ["192.168.1.20"], port: 7497, readers: [reader] });
  expect(text).toStartWith("\x1b[H\x1b[J");
  expect(lines(text)).toContain("  Name      deck.local");
  expect(lines(text)).toContain("  Address   http://192.168.1.20:7497");
  expect(lines(text)).toContain("  Reader    PN532 v1.6, /dev/ttyUSB0: put a card on it");
});

test("without a network and a reader it says what to do", () => {
  const text = screenText({
    name: "deck",
    addresses: [],
    port: 7497,
    readers: [{ ...reader, connected: false }],
  });
  expect(lines(text)).toContain("  Address   none yet; a tap needs none");
  expect(lines(text)).toContain("  Reader    none found yet: plug one in");
});

test("the act of an owner has a line of its own", () => {
  const shown = {
    name: "deck",
    addresses: [],
    port: 7497,
    readers: [],
    act: { act: "restore", name: "Mum\x1b[2J" },
  } as const;
  expect(lines(screenText(shown))).toContain("  Owner     Mum?[2J restores a backup.");
});

test("names cannot steer the terminal, and nothing is longer than a small screen", () => {
  const many = Array.from({ length: 50 }, (_, n) => ({ ...reader, info: `\x1b[2J${"x".repeat(200)}${n}` }));
  const text = screenText({
    name: "deck",
    addresses: many.map((_, n) => `10.0.0.${n}`),
    port: 7497,
    readers: many,
  });
  expect(text.slice("\x1b[H\x1b[J".length)).not.toContain("\x1b");
  expect(lines(text).length).toBeLessThan(20);
  expect(
    Math.max(
      ...lines(text)
        .slice(1)
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(70);
});

test("how a phone is let in fits a small screen: a code that cameras read, and what to type", () => {
  const base = "http://192.168.178.142:7497";
  const text = pairingText({ link: codeLink(base, "012345"), base, code: "012345" });
  expect(lines(text)[0]).toEndWith(`Point a phone at it, or type 012 345 at ${base}`);
  expect(text).toContain(qrText(`${base}/#code=012345`).trimEnd().replaceAll("\n", "\r\n"));
  expect(lines(text).length).toBeLessThanOrEqual(20);
});

test("a card that asks shows it until somebody came in, and then the screen is as before", async () => {
  const pty = openPty();
  const decoder = new TextDecoder();
  let seen = "";
  pty.onBytes((bytes) => {
    seen += decoder.decode(bytes, { stream: true });
  });
  const clock = createManualClock();
  const [bus, log] = [createBus(silentLog), silentLog];
  const screen = followScreen({
    path: pty.path,
    port: 7497,
    bus,
    readers: () => [],
    clock,
    log,
    place,
    refusal,
  });
  const pairing = createPairing({
    clock,
    log,
    audit: silentAudit,
    addClient: () => {
      throw new Error("nobody came");
    },
    guesses: { read: () => undefined, save() {} },
  });
  await eventually(() => expect(seen).toContain("plug one in"));
  await pairOnScreen({ pairing, screen, place, role });
  await eventually(() =>
    expect(seen).toMatch(/ {2}Point a phone at it, or type \d{3} \d{3} at http:\/\/deck\.local:7497/),
  );
  expect(pairing.current()).toBeDefined();
  seen = "";
  pairing.cancel();
  await eventually(() => expect(seen).toContain("plug one in"));
  await expect(pairOnScreen({ pairing, screen: noScreen, place, role })).rejects.toThrow(
    "there is no screen",
  );
  const alone = async () => ({ hosts: [], port: 7497 });
  await expect(pairOnScreen({ pairing, screen, place: alone, role })).rejects.toThrow("in no network yet");
  expect(pairing.current()).toBeUndefined();
  await screen.close();
  pty.close();
});

test("a card that pairs is tapped twice, and the end of the first opening hides the code of the second", async () => {
  const shown: string[] = [];
  const screen = {
    isThere: true,
    showPairing({ code }: { readonly code: string }) {
      shown.push(code);
      return { [Symbol.dispose]: () => void shown.splice(shown.indexOf(code), 1) };
    },
  };
  const pairing = createPairing({
    clock: createManualClock(),
    log: silentLog,
    audit: silentAudit,
    addClient: () => {
      throw new Error("nobody came");
    },
    guesses: { read: () => undefined, save() {} },
  });
  await pairOnScreen({ pairing, screen, place, role });
  const [first] = shown;
  await pairOnScreen({ pairing, screen, place, role });
  await new Promise(setImmediate);
  expect(shown).toEqual([expect.not.stringMatching(first ?? "")]);
  pairing.cancel();
  await new Promise(setImmediate);
  expect(shown).toEqual([]);
});

test("a terminal is written to at the start and when a reader comes, and otherwise left alone", async () => {
  const pty = openPty();
  let seen = "";
  let writes = 0;
  pty.onBytes((bytes) => {
    seen += new TextDecoder().decode(bytes);
    writes++;
  });
  const bus = createBus(silentLog);
  const clock = createManualClock();
  let readers: readonly ShownReader[] = [];
  const screen = followScreen({
    path: pty.path,
    port: 7497,
    bus,
    readers: () => readers,
    clock,
    log: silentLog,
    place,
    refusal,
  });
  try {
    await eventually(() => expect(seen).toContain("none found yet"));
    const before = writes;
    await clock.advance(60_000);
    bus.emit("readers.removed", added);
    readers = [reader];
    bus.emit("readers.added", added);
    await eventually(() => expect(seen).toContain("put a card on it"));
    expect(writes).toBe(before + 1);
  } finally {
    await screen.close();
    await pty.close();
  }
});

test("without a terminal, or with one that is gone, nothing happens but a line in the log", async () => {
  const bus = createBus(silentLog);
  const clock = createManualClock();
  const said: string[] = [];
  const log = { ...silentLog, warn: (area: string, sentence: string) => said.push(`${area}: ${sentence}`) };
  const parts = { port: 7497, bus, readers: () => [], clock, log, place, refusal };
  await followScreen(parts).close();
  const screen = followScreen({ ...parts, path: "/no/such/tty" });
  await eventually(() => expect(said.length).toBeGreaterThan(0));
  await clock.advance(60_000);
  bus.emit("readers.added", added);
  await screen.close();
  expect(said).toEqual(["screen: cannot be written"]);
});
