/** Macros of keys and buttons: in any macro, every key that is pressed is released, within the limits. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { macroKeysMax, macroMsMax } from "../../../src/core/limits.ts";
import { codesOf, gamepad, keyboard } from "../../../src/script/input-keys.ts";
import { readMacro } from "../../../src/script/input-macro.ts";
import { parseScript, parseSource } from "../../../src/script/parser.ts";
import { sourceOf } from "../../../src/script/syntax.ts";
import { shapeOf } from "../../helpers/script-fuzz.ts";
import { printScript } from "../../helpers/script-printer.ts";

const pieces = [
  ..."abzAZ019 {}\\\"'^~_+*:,?|&[]é🎮\n",
  ..."{ } {enter} {ctrl+ {_ {^ {~ {press: {release: {hold: {delay: {text: *3 *512 :1s :70s 99999 || ?speed= \\{ \\}".split(
    " ",
  ),
];
const macros = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((some) => some.join(""));

test("for any macro, nothing throws, no key stays down, none goes down twice, and no limit is passed", () => {
  let read = 0;
  fc.assert(
    fc.property(macros, fc.constantFrom(keyboard, gamepad), fc.nat(200), (text, table, speedMs) => {
      const macro = readMacro(text, table, speedMs);
      if (macro.kind === "error") return expect(macro.message).not.toBe("");
      read += 1;
      const known = new Set(codesOf(table));
      const down = new Set<number>();
      let [ms, presses] = [0, 0];
      for (const step of macro.steps) {
        if (step.kind === "wait") {
          ms += step.ms;
          continue;
        }
        if (step.kind === "down") presses += 1;
        for (const code of step.codes) {
          expect(known.has(code)).toBe(true);
          expect(down.has(code)).toBe(step.kind === "up");
          if (step.kind === "down") down.add(code);
          else down.delete(code);
        }
      }
      expect([...down]).toEqual([]);
      expect(ms).toBeLessThanOrEqual(macroMsMax);
      expect(presses).toBeLessThanOrEqual(macroKeysMax);
    }),
    { numRuns: 20_000, seed: 7 },
  );
  expect(read).toBeGreaterThan(1000);
});

test("scripts with macros survive printing, and are read in linear time", () => {
  let read = 0;
  fc.assert(
    fc.property(macros, (text) => {
      const source = sourceOf(`**input.keyboard:${text}||**input.gamepad:${text}?when=true`);
      const parsed = parseSource(source);
      expect(source.steps).toBeLessThanOrEqual(10 * source.text.length + 10);
      if (parsed.kind === "error") return;
      read += 1;
      const again = parseScript(printScript(parsed.commands));
      expect(again.kind === "script" && shapeOf(again.commands)).toEqual(shapeOf(parsed.commands));
    }),
    { numRuns: 20_000, seed: 7 },
  );
  expect(read).toBeGreaterThan(1000);
});

test("every character of a US keyboard is typed, and none else", () => {
  for (let code = 0x20; code < 0x7f; code++) {
    const char = String.fromCharCode(code);
    const macro = readMacro(`\\${char}`, keyboard);
    expect([char, macro.kind]).toEqual([char, "macro"]);
  }
  for (const char of "äßø\u0000\u007f") expect(readMacro(char, keyboard).kind).toBe("error");
});

test("a macro may press as many keys as the limit, and take as long, and no more", () => {
  expect(readMacro(`{a*${macroKeysMax}}`, keyboard, 0).kind).toBe("macro");
  expect(readMacro(`{a*${macroKeysMax}}b`, keyboard, 0)).toEqual({
    kind: "error",
    message: `it presses more than ${macroKeysMax} keys`,
  });
  expect(readMacro(`a{delay:${macroMsMax - 100}}`, keyboard).kind).toBe("macro");
  expect(readMacro(`a{delay:${macroMsMax - 99}}`, keyboard)).toMatchObject({
    message: "it takes longer than 60 seconds",
  });
});
