import { expect, test } from "bun:test";
import fc from "fast-check";
import { scriptBytesMax, scriptCommandsMax } from "../../src/core/limits.ts";
import { parseScript } from "../../src/script/parser.ts";

type Shown = readonly [name: string, args: readonly string[], options?: Record<string, string>];

/** The commands of a script, or the message of its error. */
function shown(script: string): Shown[] | string {
  const parsed = parseScript(script);
  if (parsed.kind === "error") return parsed.message;
  return parsed.commands.map(({ name, args, options }) =>
    options.size === 0 ? [name, args] : [name, args, Object.fromEntries(options)],
  );
}

const launches = (path: string, options?: Record<string, string>): Shown[] => [
  options === undefined ? ["launch", [path]] : ["launch", [path], options],
];

const trees: readonly (readonly [script: string, tree: Shown[]])[] = [
  // Text that is not a command is one argument to launch.
  ["SNES/Game.sfc", launches("SNES/Game.sfc")],
  ["  SNES/Game.sfc \n", launches("SNES/Game.sfc")],
  ["a, b, and c.mp3", launches("a, b, and c.mp3")],
  ["a|b", launches("a|b")],
  ["5 * 3 ** 2.mp3", launches("5 * 3 ** 2.mp3")],
  ["it's.mp3", launches("it's.mp3")],
  ["ends in ^", launches("ends in ^")],
  // Several commands.
  ["a||b", [...launches("a"), ...launches("b")]],
  [" a || **stop ", [...launches("a"), ["stop", []]]],
  ["a|||b", [...launches("a"), ...launches("|b")]],
  ["**stop||**delay:5||a", [["stop", []], ["delay", ["5"]], ...launches("a")]],
  // Names.
  ["**STOP", [["stop", []]]],
  ["** Stop ", [["stop", []]]],
  ["**http.get:x", [["http.get", ["x"]]]],
  // Arguments.
  ["**echo", [["echo", []]]],
  ["**echo:", [["echo", [""]]]],
  ["**echo:,", [["echo", ["", ""]]]],
  ["**echo: a , b ", [["echo", ["a", "b"]]]],
  ["**echo:a:b", [["echo", ["a:b"]]]],
  // Quotes.
  ['**echo:" a, b ",c', [["echo", [" a, b ", "c"]]]],
  ["**echo:' \" '", [["echo", [' " ']]]],
  ['**echo:a="b,c"', [["echo", ['a="b', 'c"']]]],
  ["**echo:it's,b", [["echo", ["it's", "b"]]]],
  [
    '**echo:"a||b"||**stop',
    [
      ["echo", ["a||b"]],
      ["stop", []],
    ],
  ],
  ["'a||b'", launches("a||b")],
  ['"a" b', launches("a b")],
  ['"a^"b"', launches('a"b')],
  // Escapes.
  ["a^||b", [...launches("a||b")]],
  ["**echo:a^,b", [["echo", ["a,b"]]]],
  ["**echo:^n^t^r^^", [["echo", ["\n\t\r^"]]]],
  ["**echo:^ a^ ", [["echo", [" a "]]]],
  ["^**stop", launches("**stop")],
  ["^@x", launches("@x")],
  ["^'a", launches("'a")],
  ["^[[x]]", launches("[[x]]")],
  // Options.
  ["a?launcher=mpv", launches("a", { launcher: "mpv" })],
  ["a, b?launcher=mpv&system=NES", launches("a, b", { launcher: "mpv", system: "NES" })],
  ["**launch:a?launcher= mpv ", launches("a", { launcher: "mpv" })],
  ["a?launcher=", launches("a", { launcher: "" })],
  ["a?x='b&c?d'", launches("a", { x: "b&c?d" })],
  ["a?x=b^&c", launches("a", { x: "b&c" })],
  ["a?x=1?y=2", launches("a", { x: "1?y=2" })],
  ["a?launcher=x||**stop", [...launches("a", { launcher: "x" }), ["stop", []]]],
  ["**stop?x=1", [["stop", [], { x: "1" }]]],
  // A "?" that begins no options is text.
  ["What?.mp3", launches("What?.mp3")],
  ["What? (a=b).mp3", launches("What? (a=b).mp3")],
  ["a?1=2", launches("a?1=2")],
  ["a?b&c", launches("a?b&c")],
  ["a?x=1&!", launches("a?x=1&!")],
  ["Who? What?launcher=mpv", launches("Who? What", { launcher: "mpv" })],
  ["a^?x=1", launches("a?x=1")],
  ['**launch:"a?x=1"', launches("a?x=1")],
];

test.each(trees)("%p has its tree", (script, tree) => {
  expect(shown(script)).toEqual(tree);
});

const errors: readonly (readonly [script: string, message: RegExp, offset: number, length: number])[] = [
  ["", /a command is missing/, 0, 0],
  ["  ", /a command is missing/, 0, 0],
  ["a||", /a command is missing/, 3, 0],
  ["||a", /a command is missing/, 0, 0],
  ["a|| ||b", /a command is missing/, 3, 0],
  ["**", /name of a command/, 0, 2],
  ["**:a", /name of a command/, 0, 2],
  ["a||**no way", /name of a command/, 3, 8],
  ["**echo:'a", /no end: close it with '/, 7, 2],
  ['"a', /no end: close it with "/, 0, 2],
  ["a?x='b", /no end/, 4, 2],
  ["@SNES/Game", /titles .* not supported yet/, 0, 1],
  ["a|| @SNES/Game", /titles .* not supported yet/, 4, 1],
  ["**echo:[[platform]]", /expressions .* not supported yet/, 7, 2],
  ["**echo:'[[platform]]'", /expressions .* not supported yet/, 8, 2],
  ["a?launcher=[[x]]", /expressions .* not supported yet/, 11, 2],
  ["**stop?when=true", /conditions .* not supported yet/, 0, 16],
  ["a?when=true ||b", /conditions .* not supported yet/, 0, 11],
  ["**stop?", /followed by key=value/, 6, 1],
  ["**stop?x", /followed by key=value/, 6, 1],
];

test.each(errors)("%p is refused at its place", (script, message, offset, length) => {
  const parsed = parseScript(script);
  expect(parsed).toMatchObject({ kind: "error", offset, length });
  expect(shown(script)).toMatch(message);
});

test("a command knows where it stands", () => {
  const parsed = parseScript(" a ||  **echo:b ");
  if (parsed.kind === "error") throw new Error(parsed.message);
  expect(parsed.commands.map(({ offset, length }) => [offset, length])).toEqual([
    [1, 1],
    [7, 8],
  ]);
});

test("a script may be as long as the limit, in bytes, and no longer", () => {
  expect(parseScript("é".repeat(scriptBytesMax / 2)).kind).toBe("script");
  expect(shown(`${"é".repeat(scriptBytesMax / 2)}a`)).toMatch(/longer than 16384 bytes/);
});

test("a script may have as many commands as the limit, and no more", () => {
  const commands = Array.from({ length: scriptCommandsMax }, () => "a");
  expect(parseScript(commands.join("||")).kind).toBe("script");
  expect(shown([...commands, "a"].join("||"))).toMatch(/more than 64 commands/);
});

const piece = fc.constantFrom(
  "**",
  "||",
  "|",
  ":",
  ",",
  "?",
  "&",
  "=",
  "^",
  "'",
  '"',
  "[",
  "[[",
  "@",
  " ",
  "a",
  "é",
);
const anyScript = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("")),
  fc.array(piece, { maxLength: 40 }).map((pieces) => `**echo:${pieces.join("")}`),
);

test("no text makes the parser throw, and every place that it names lies inside the text", () => {
  fc.assert(
    fc.property(anyScript, (script) => {
      const parsed = parseScript(script);
      const places = parsed.kind === "error" ? [parsed] : parsed.commands;
      for (const { offset, length } of places) {
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(length).toBeGreaterThanOrEqual(0);
        expect(offset + length).toBeLessThanOrEqual(script.length);
      }
    }),
    { seed: 1, numRuns: 3000 },
  );
});

const controls: Readonly<Record<string, string>> = { "\n": "^n", "\t": "^t", "\r": "^r" };
const escaped = (text: string) =>
  Array.from(text.split(""), (char) => controls[char] ?? (/[ntr]/.test(char) ? char : `^${char}`)).join("");

test("whatever is escaped, character by character, comes back as it was", () => {
  const words = fc.array(fc.oneof(fc.string({ unit: "binary" }), anyScript), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(words, (args) => {
      expect(shown(`**echo:${args.map(escaped).join(",")}||**stop`)).toEqual([
        ["echo", args],
        ["stop", []],
      ]);
    }),
    { seed: 2, numRuns: 1000 },
  );
});

test("whatever is quoted comes back as it was, with only ^, the quote and [ escaped", () => {
  fc.assert(
    fc.property(anyScript, (text) => {
      const script = `**echo:"${text.replace(/[\^"[]/g, "^$&")}",b?x=1`;
      expect(shown(script)).toEqual([["echo", [text, "b"], { x: "1" }]]);
    }),
    { seed: 3, numRuns: 1000 },
  );
});

test("hostile scripts are read in one pass", () => {
  const fill = (unit: string) => unit.repeat(Math.floor(scriptBytesMax / unit.length));
  const hostile = [
    "?a=",
    "?a=&",
    "?a='",
    "a?b=c&d=e&",
    "',",
    "^",
    "'",
    " ",
    "?",
    "|",
    "[",
    "**echo:'a',",
  ].map(fill);
  const started = performance.now();
  for (const script of hostile) parseScript(script);
  // In one pass all of them take some tens of milliseconds.
  expect(performance.now() - started).toBeLessThan(5000);
});
