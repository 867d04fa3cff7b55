import { expect, test } from "bun:test";
import { sleep } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { delayMsMax } from "../../src/core/limits.ts";
import type { ScriptPorts } from "../../src/script/command.ts";
import { commands } from "../../src/script/commands/index.ts";
import { readyScript } from "../../src/script/run.ts";
import { createManualClock } from "../helpers/manual-clock.ts";

/** Ports that note what they were asked for. */
function world() {
  const clock = createManualClock();
  const asked: string[] = [];
  const ports: ScriptPorts = {
    async launch(path, how) {
      if (path === "missing") throw new ServiceError("failed", "there is no file missing");
      asked.push(`launch ${path} ${JSON.stringify(how)}`);
    },
    async stop() {
      asked.push("stop");
    },
    async delay(ms, signal) {
      asked.push(`delay ${ms}`);
      await sleep(clock, ms, signal);
    },
    echo: (text) => asked.push(`echo ${text}`),
  };
  return { clock, asked, ports };
}

const never = new AbortController().signal;

test("commands run in order, with their arguments and options", async () => {
  const { asked, ports } = world();
  await readyScript("**stop||**echo:a,b||SNES/A, B.sfc?launcher=x&system=SNES").run(ports, never);
  expect(asked).toEqual(["stop", "echo a, b", 'launch SNES/A, B.sfc {"launcher":"x","system":"SNES"}']);
});

test("the first failure ends the script", async () => {
  const { asked, ports } = world();
  const run = readyScript("**echo:1||missing||**echo:2").run(ports, never);
  await expect(run).rejects.toThrow("there is no file missing");
  expect(asked).toEqual(["echo 1"]);
});

test("nothing of a script runs when one of its commands is wrong", () => {
  expect(() => readyScript("a||**stopp")).toThrow(
    "this version knows no command **stopp; did you mean stop?",
  );
});

const refusals: readonly (readonly [script: string, sentence: string])[] = [
  ["**lunch:a", "this version knows no command **lunch; did you mean launch?"],
  ["**playlist.next", "this version knows no command **playlist.next"],
  ["**stop:a", "**stop takes 0 arguments, not 1"],
  ["**launch", "**launch takes 1 arguments, not 0"],
  ["**launch:a,b", "**launch takes 1 arguments, not 2"],
  ["**delay", "**delay takes 1 arguments, not 0"],
  ["a?laucher=mpv", "**launch has no option laucher; did you mean launcher?"],
  ["a||'b", `script, character 4: a quoted text has no end: close it with ', or write ^'`],
];

test.each(refusals)("%p is refused with a sentence", (script, sentence) => {
  expect(() => readyScript(script)).toThrow(new ServiceError("failed", sentence));
});

test.each(["x", "-1", "1.5", "1e3", "", `${delayMsMax + 1}`])("a delay of %p is refused", async (ms) => {
  const { asked, ports } = world();
  await expect(readyScript(`**delay:${ms}`).run(ports, never)).rejects.toThrow(
    /delay takes milliseconds from 0 to/,
  );
  expect(asked).toEqual([]);
});

test("a delay holds the rest of the script for its milliseconds", async () => {
  const { clock, asked, ports } = world();
  const run = readyScript("**delay:1500||**echo:after").run(ports, never);
  clock.advance(1499);
  await Promise.resolve();
  expect(asked).toEqual(["delay 1500"]);
  clock.advance(1);
  await run;
  expect(asked).toEqual(["delay 1500", "echo after"]);
});

test("an abort ends a delay at once, and what stands behind it does not run", async () => {
  const { asked, ports } = world();
  const abort = new AbortController();
  const run = readyScript("**delay:1500||**echo:after").run(ports, abort.signal);
  abort.abort(new ServiceError("failed", "it was stopped"));
  await expect(run).rejects.toThrow("it was stopped");
  expect(asked).toEqual(["delay 1500"]);
});

test("every command has its facts, and no name belongs to two", () => {
  const names = commands.flatMap((command) => command.names);
  expect(new Set(names).size).toBe(names.length);
  for (const { names: own, argsMin, argsMax, docs } of commands) {
    expect(own.every((name) => name === name.toLowerCase())).toBe(true);
    expect(argsMin).toBeLessThanOrEqual(argsMax);
    expect(docs).toMatch(/^[A-Z].*\.$/);
  }
});
