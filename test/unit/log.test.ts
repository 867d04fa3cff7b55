import { expect, test } from "bun:test";
import { createLog } from "../../src/core/log.ts";

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
  const log = createLog({ debug: true, console: false, write: (line) => lines.push(line) });
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
