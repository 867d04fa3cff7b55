import { expect, test } from "bun:test";
import fc from "fast-check";
import { scriptOf } from "../../../src/core/media.ts";
import { parseScript } from "../../../src/script/parser.ts";

/** The only argument of the only command of a script without options. */
function pathIn(script: string): string | undefined {
  const parsed = parseScript(script);
  if (parsed.kind === "error" || parsed.commands.length !== 1) return undefined;
  const [{ name, args, options } = { name: "", args: [], options: new Map() }] = parsed.commands;
  return name === "launch" && args.length === 1 && options.size === 0 ? args[0]?.join("") : undefined;
}

test.each([
  "Audio/The Band |",
  "Audio/|||",
  "Audio/Trailing blank ",
  "Audio/Two  ",
  "Audio/What?a=b&c",
  "Audio/[[a]] ^n",
])("the folder %p has a script that launches it", (path) => {
  expect(pathIn(scriptOf(path))).toBe(path);
});

test("any name below a system has a script that launches it", () => {
  const name = fc.string({
    unit: fc.constantFrom(..."|^?[]*#@&=, \"'{}\\ab\n\t"),
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(name, (below) => {
      expect(pathIn(scriptOf(`SNES/${below}`))).toBe(`SNES/${below}`);
    }),
    { numRuns: 2000 },
  );
});
