import { expect, test } from "bun:test";
import { logUnsentCharsMax } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import { createLogLines } from "../../../src/system/log-lines.ts";

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
  // The end after a missing config file, which differs from that after a failed write.
  expect(await exited).toBe(78);
});

test("a sentence with words from outside stays one line, and steers no terminal", () => {
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  log.info("script", "a\nerror service: \u001b[2Jgone\u202e", { path: "x\u2028y" });
  expect(lines).toEqual(["info  script: a\\u{a}error service: \\u{1b}[2Jgone\\u{202e} path=x\\u{2028}y"]);
});
