/**
 * Scripts that run: the requests of their commands, their rights, and the values of expressions.
 * Covers: src/script/run-script.ts.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../src/core/errors.ts";
import { delayMsMax, scriptBytesMax } from "../../../src/core/limits.ts";
import { misterCommands, scriptCommands } from "../../../src/script/commands/index.ts";
import { fill } from "../../../src/script/expression.ts";
import { parseScript } from "../../../src/script/parser.ts";
import { readyScript } from "../../../src/script/run-script.ts";
import { fuzzRounds } from "../../helpers/rounds.ts";
import { oddScripts } from "../../helpers/script-fuzz.ts";
import { play, playingFacts, quietFacts, readTranscripts, scriptWorld } from "../../helpers/script-world.ts";

const never = new AbortController().signal;
const transcripts = readTranscripts(
  readFileSync(join(import.meta.dir, "../../transcripts/script/commands.txt"), "utf8"),
);

test.each(transcripts.map((one) => [one.script, one.settings.join(" "), one] as const))(
  "%p %s does what its transcript says",
  async (_script, _settings, transcript) => {
    expect(await play(transcript)).toEqual(transcript.expected);
  },
);

test.each(scriptCommands.map((command) => [command.names[0] ?? "", command] as const))(
  "**%s has its facts, an example that can run, and a transcript",
  async (name, { names, argsMin, argsMax, docs, example, allowedUntrusted }) => {
    expect(names.every((one) => /^[a-z0-9._]+$/.test(one))).toBe(true);
    expect(argsMin).toBeLessThanOrEqual(argsMax);
    expect(docs).toMatch(/^[A-Z].*\.$/);
    expect(parseScript(example)).toMatchObject({
      commands: expect.arrayContaining([expect.objectContaining({ name })]),
    });
    expect(() => readyScript(example, "reader")).not.toThrow();
    if (!allowedUntrusted) expect(() => readyScript(example, "untrusted")).toThrow(ServiceError);
    for (const one of names)
      expect(transcripts.some(({ script }) => readsAs(script).includes(one))).toBe(true);
  },
);

function readsAs(script: string): readonly string[] {
  const parsed = parseScript(script);
  return parsed.kind === "error" ? [] : parsed.commands.map(({ name }) => name);
}

test("no name belongs to two commands, and none that is there is said to be missing", () => {
  const names = [...scriptCommands.flatMap((command) => command.names), ...misterCommands];
  expect(new Set(names).size).toBe(names.length);
});

test("a script knows whether it starts media", () => {
  expect(readyScript("**stop||**echo:a", "trusted").startsMedia).toBe(false);
  expect(readyScript("**stop||a", "trusted").startsMedia).toBe(true);
});

test("expressions are worked out when their command is reached, not before", async () => {
  const { asked, ports } = scriptWorld();
  let playing = false;
  const live = {
    ...ports,
    facts: () => (playing ? playingFacts : quietFacts),
    launch: async () => {
      playing = true;
    },
  };
  await readyScript("**echo:[[media_playing]]||a||**echo:[[media_playing]]", "trusted").run(live, never);
  expect(asked).toEqual(["echo false", "echo true"]);
});

test("a delay holds the rest of the script for its time", async () => {
  const { clock, asked, ports } = scriptWorld();
  const run = readyScript("**delay:1s500ms||**echo:after", "trusted").run(ports, never);
  await Promise.resolve();
  clock.advance(1499);
  await Promise.resolve();
  expect(asked).toEqual(["delay 1500"]);
  clock.advance(1);
  await run;
  expect(asked).toEqual(["delay 1500", "echo after"]);
});

test("an abort ends a delay at once, and what stands behind it does not run", async () => {
  const { asked, ports } = scriptWorld();
  const abort = new AbortController();
  const run = readyScript(`**delay:${delayMsMax}||**echo:after`, "trusted").run(ports, abort.signal);
  abort.abort(new ServiceError("failed", "it was stopped"));
  await expect(run).rejects.toThrow("it was stopped");
  expect(asked).toEqual([`delay ${delayMsMax}`]);
});

/** The value of the only argument of a script. */
function worth(expression: string, facts = quietFacts): string {
  const parsed = parseScript(`**echo:[[${expression}]]`);
  if (parsed.kind === "error") throw new Error(parsed.message);
  return fill(parsed.commands[0]?.args[0] ?? [], () => facts);
}

test.each([
  ["1 + 2", "3"],
  ["0.1 + 0.2", "0.3"],
  ["999999999999999 + 1", "1000000000000000"],
  ['"a" + 1 + 2', "a12"],
  ['1 + 2 + "a"', "3a"],
  ['"" + true', "true"],
  ["1 < 2", "true"],
  ["2 < 10", "true"],
  ["2 > 10", "false"],
  ["1 == 1.0", "true"],
  ["1 != 1", "false"],
  ["0.5 < 0.25", "false"],
  ['"Disc 1" < "Disc 2"', "true"],
  ['"Disc 2" < "Disc 1"', "false"],
  ['"10" < "a"', "true"],
  ['"a" < "10"', "false"],
  ['"a" < "b"', "true"],
  ['"a" > "a"', "false"],
  ['"a" < "ab"', "true"],
  ['"1.10.0" > "1.9.0"', "true"],
  ['"1.10" < "1.9"', "false"],
  ['"a007" < "a7"', "false"],
  ['"a007" == "a7"', "false"],
  ['"Disc 2" < "Disc 10"', "true"],
  ['"" < "a"', "true"],
  ['"é" > "z"', "true"],
  ["true && false", "false"],
  ["true || false", "true"],
  ["!true || !false", "true"],
  ["false && false || true", "true"],
  ["false && (false || true)", "false"],
  ["!media_playing", "true"],
  ['platform == "linux" && device.arch != "amd64"', "true"],
  ['version > "1.9.9"', "true"],
  ['active_media.name == ""', "true"],
])("[[%s]] comes to %s", (expression, expected) => {
  expect(worth(expression)).toBe(expected);
});

test("the value of an expression may be as long as a script, and no longer", () => {
  const facts = { ...quietFacts, "last_scanned.data": "f".repeat(scriptBytesMax / 2) };
  expect(worth("last_scanned.data + last_scanned.data", facts).length).toBe(scriptBytesMax);
  expect(() => worth('last_scanned.data + last_scanned.data + "f"', facts)).toThrow(
    /more than 16384 characters/,
  );
});

test("the arguments of a command may be as long as a script in all, and no longer", async () => {
  const facts = { ...quietFacts, "last_scanned.data": "f".repeat(scriptBytesMax / 2) };
  const { asked, ports } = scriptWorld({ facts });
  const both = "**echo:[[last_scanned.data]],[[last_scanned.data]]";
  await readyScript(both, "trusted").run(ports, never);
  expect(asked.length).toBe(1);
  await expect(readyScript(`${both},f`, "trusted").run(ports, never)).rejects.toThrow(
    /the arguments of \*\*echo have more/,
  );
});

test("odd scripts, 50,000 of them, run or are refused with a sentence, and the untrusted reach nothing outside", async () => {
  const odd = oddScripts(
    transcripts.map(({ script }) => script),
    4,
  );
  const rounds = fuzzRounds(50_000);
  let ran = 0;
  for (let count = 0; count < rounds; count++) {
    const script = odd.next().value;
    const lines = await play({ script, settings: count % 2 === 0 ? ["untrusted"] : ["playing"] });
    const refusal = lines.find((line) => line.startsWith("!"));
    if (refusal === undefined) ran++;
    const isOrdinary = refusal === undefined || /^! (failed|forbidden): ./.test(refusal);
    const reaches = count % 2 === 0 && lines.some((line) => /^= (GET|POST|execute) /.test(line));
    if (!isOrdinary || reaches) throw new Error(`${JSON.stringify(script)}: ${lines.join("; ")}`);
  }
  expect(ran).toBeGreaterThan(rounds / 50);
});

test("music for the background ends no other script, and does not wait for the launch guard", () => {
  for (const slot of ["background", "BG"]) {
    const ready = readyScript(`Audio/Rain.mp3?slot=${slot}||**playlist.stop?slot=${slot}`, "reader");
    expect(ready).toMatchObject({ startsMedia: true, switchesMedia: false, takesOver: false });
  }
  const mixed = readyScript("Audio/Rain.mp3?slot=background||SNES/Game.sfc?slot=primary", "reader");
  expect(mixed).toMatchObject({ switchesMedia: true, takesOver: true });
});
