import { expect, test } from "bun:test";
import { logUnsentCharsMax, logWaitersMax } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import { createLogRing, type LogPage } from "../../../src/core/log-ring.ts";
import { createLogLines } from "../../../src/system/log-lines.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

function ringOf(...texts: readonly string[]) {
  const clock = createManualClock();
  const ring = createLogRing(clock);
  const log = createLog({ debug: true, write: () => {}, keep: ring.keep });
  for (const text of texts) log.info("area", text);
  return { clock, ring, log };
}

const anyLine = { level: "info", text: "", sinceMs: 0, limit: 100 } as const;
const textsOf = ({ lines }: LogPage) => lines.map(({ text }) => text);

test("the newest lines are kept within a bound, and debug lines never, because they hold texts of cards", () => {
  const { ring, log } = ringOf(...Array.from({ length: 5000 }, (_, number) => `line ${number}`));
  log.debug("area", "the text of a card");
  const pages = [ring.page({ ...anyLine, limit: 10_000 })];
  expect(pages[0]?.lines.length).toBeLessThanOrEqual(2000);
  expect(textsOf(ring.page({ ...anyLine, limit: 2 }))).toEqual(["line 4998", "line 4999"]);
  for (let count = 0; count < 1000; count++) log.warn("area", "x".repeat(10_000));
  const { lines, hasMore } = ring.page({ ...anyLine, limit: 10_000 });
  expect(lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(256 * 1024);
  expect(hasMore).toBe(true);
});

test("lines are found by level, text, time and page", () => {
  const { clock, ring, log } = ringOf("one", "two");
  clock.advance(1000);
  log.error("Readers", "three", { path: "/dev/x" });
  log.warn("area", "four");
  const [first] = ring.page({ ...anyLine, limit: 1, text: "three" }).lines;
  expect(first).toMatchObject({ level: "error", area: "Readers", text: "three path=/dev/x" });
  expect(textsOf(ring.page({ ...anyLine, level: "error" }))).toEqual(["three path=/dev/x"]);
  expect(textsOf(ring.page({ ...anyLine, level: "warn" }))).toEqual(["three path=/dev/x", "four"]);
  expect(textsOf(ring.page({ ...anyLine, text: "READERS: THREE" }))).toEqual(["three path=/dev/x"]);
  expect(textsOf(ring.page({ ...anyLine, sinceMs: clock.now() }))).toEqual(["three path=/dev/x", "four"]);
  const newest = ring.page({ ...anyLine, limit: 3 });
  expect([textsOf(newest), newest.hasMore]).toEqual([["two", "three path=/dev/x", "four"], true]);
  const older = ring.page({ ...anyLine, limit: 3, before: newest.lines[0]?.id });
  expect([textsOf(older), older.hasMore]).toEqual([["one"], false]);
  expect(textsOf(ring.page({ ...anyLine, limit: 2, after: older.lines[0]?.id }))).toEqual([
    "two",
    "three path=/dev/x",
  ]);
});

test("a caller follows the log, over a restart, until its patience or its connection ends", async () => {
  const { clock, ring, log } = ringOf("one");
  const { last } = ring.page(anyLine);
  const { signal } = new AbortController();
  const line = ring.follow({ ...anyLine, level: "warn", after: last }, 1000, signal);
  log.info("area", "not wanted");
  log.warn("area", "wanted");
  expect(textsOf(await line)).toEqual(["wanted"]);
  const none = ring.follow({ ...anyLine, level: "error", after: last }, 1000, signal);
  clock.advance(1000);
  expect(await none).toMatchObject({ lines: [], hasMore: false });
  const leaving = new AbortController();
  const cut = ring.follow({ ...anyLine, level: "error", after: last }, 1000, leaving.signal);
  leaving.abort();
  expect(textsOf(await cut)).toEqual([]);
  expect(textsOf(await ring.follow({ ...anyLine, after: last + 1e12 }, 1000, signal))).toHaveLength(3);
  for (let count = 0; count < logWaitersMax; count++)
    void ring.follow({ ...anyLine, after: ring.page(anyLine).last }, 1000, signal);
  expect(() => ring.follow({ ...anyLine, after: ring.page(anyLine).last }, 1000, signal)).toThrow(
    expect.objectContaining({ code: "busy" }),
  );
});

test("debug lines come and go with the setting", () => {
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  log.debug("a", "unseen");
  expect(log.debugging).toBe(false);
  log.configure({ debug: true, console: true });
  log.debug("a", "seen", { bytes: "04 a1" });
  expect(log.debugging).toBe(true);
  log.configure({ debug: false, console: true });
  log.debug("a", "unseen again");
  log.info("a", "seen too");
  expect(lines).toEqual(['debug a: seen bytes="04 a1"', "info  a: seen too"]);
});

test("a log that is switched off writes nothing, not even errors, until it is switched on", () => {
  const lines: string[] = [];
  const log = createLog({ debug: true, write: (line) => lines.push(line) });
  log.configure({ debug: true, console: false });
  log.error("a", "unseen");
  log.debug("a", "unseen");
  expect(log.debugging).toBe(false);
  log.configure({ debug: true, console: true });
  log.error("a", "seen");
  expect(lines).toEqual(["error a: seen"]);
});

test("an event is one line, whatever its values hold", () => {
  const lines: string[] = [];
  createLog({ debug: false, write: (line) => lines.push(line) }).info("a", "b", {
    text: "x\ny z",
    none: undefined,
  });
  expect(lines).toEqual(['info  a: b text="x\\ny z"']);
});

test("of lines that nobody takes a megabyte is kept, and once they are taken, the number of lost ones is reported", () => {
  const written: string[] = [];
  const taken: (() => void)[] = [];
  const lines = createLogLines({
    write(text, done) {
      written.push(text);
      taken.push(done);
    },
  });
  const line = "x".repeat(logUnsentCharsMax / 8);
  for (let count = 0; count < 20; count++) {
    lines.write(line);
    lines.flush();
  }
  expect(written).toHaveLength(7);
  for (const done of taken.splice(0)) done();
  lines.write("after");
  lines.flush();
  expect(written.at(-1)).toBe("warn  log: lines were lost count=13\nafter\n");
});

test("a stderr whose disk is full takes nothing, and changes nothing of what the program does", async () => {
  const main = new URL("../../../src/main.ts", import.meta.url).pathname;
  const command = ["sh", "-c", '"$0" "$1" --config /nowhere/config.toml 2>/dev/full', process.execPath, main];
  const { exited } = Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] });
  // 78 is the exit code for a missing config file; a failed write of the log would give another one.
  expect(await exited).toBe(78);
});

test("a sentence with words from outside stays one line, and steers no terminal", () => {
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  log.info("script", "a\nerror service: \u001b[2Jgone\u202e", { path: "x\u2028y" });
  expect(lines).toEqual(["info  script: a\\u{a}error service: \\u{1b}[2Jgone\\u{202e} path=x\\u{2028}y"]);
});
