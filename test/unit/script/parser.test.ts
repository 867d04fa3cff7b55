/** Launch scripts as text: their parsed form, their limits, and printing without loss. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  expressionDepthMax,
  expressionPartsMax,
  scriptBytesMax,
  scriptCommandsMax,
} from "../../../src/core/limits.ts";
import {
  type Expression,
  isVariable,
  precedences,
  type Text,
  typeOfBinary,
  type ValueType,
  variableNames,
  variables,
} from "../../../src/script/expression.ts";
import { parseScript, parseSource } from "../../../src/script/parser.ts";
import { type Command, sourceOf } from "../../../src/script/syntax.ts";
import { hostileScripts } from "../../bench/script.ts";
import { fuzzRounds } from "../../helpers/rounds.ts";
import { oddScripts, shapeOf } from "../../helpers/script-fuzz.ts";
import { printScript } from "../../helpers/script-printer.ts";
import { readAs, readTable } from "../../helpers/script-table.ts";

const rows = readTable(readFileSync(join(import.meta.dir, "../../transcripts/script/language.txt"), "utf8"));

/** The commands of a script, or the message of its error. */
function read(script: string) {
  const parsed = parseScript(script);
  return parsed.kind === "error" ? parsed.message : shapeOf(parsed.commands);
}

test("the table holds at least 150 scripts", () => {
  expect(rows.length).toBeGreaterThanOrEqual(150);
  expect(new Set(rows.map(({ script }) => script)).size).toBe(rows.length);
});

test.each(rows.map((row) => [row.script, row] as const))("%p is read as the table says", (script, row) => {
  expect(readAs(script)).toEqual([...row.expected]);
});

test.each(rows.map(({ script }) => script))("%p says the same when it is printed", (script) => {
  const parsed = parseScript(script);
  if (parsed.kind === "error") return;
  const again = parseScript(printScript(parsed.commands, parsed.traits));
  expect(again).toMatchObject({ kind: "script", traits: parsed.traits });
  expect(again.kind === "script" && shapeOf(again.commands)).toEqual(shapeOf(parsed.commands));
});

test("a plain path is read as it is read behind a blank, where no shortcut takes it", () => {
  const alphabet = [..."SNESgame019_/.()!',+&~- [*|?#^\"@=:{é\n"];
  const part = fc.array(fc.constantFrom(...alphabet), { maxLength: 12 }).map((chars) => chars.join(""));
  fc.assert(
    fc.property(part, fc.constantFrom("", "a", "SNES/", "/roms/b.sfc"), (rest, start) => {
      const script = start + rest;
      const plain = parseScript(script);
      const behind = parseScript(` ${script}`);
      expect(plain.kind).toBe(behind.kind);
      if (plain.kind === "error" || behind.kind === "error") return;
      const moved = behind.commands.map((command) => ({ ...command, offset: command.offset - 1 }));
      if (/^[^\s]/.test(script)) expect(plain.commands).toEqual(moved);
    }),
    { numRuns: fuzzRounds(2000) },
  );
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
  expect(read(`${"é".repeat(scriptBytesMax / 2)}a`)).toMatch(/longer than 16384 bytes/);
});

test("a script of plain letters may fill the limit, and one that is too long is at fault as a whole", () => {
  expect(parseScript("a".repeat(scriptBytesMax)).kind).toBe("script");
  expect(parseScript("a".repeat(scriptBytesMax + 1))).toMatchObject({
    offset: 0,
    length: scriptBytesMax + 1,
  });
});

test("options may stand at the very start of a script, and belong to a launch of nothing", () => {
  expect(read("?when=no")).toEqual([{ name: "launch", args: [[]], options: [["when", ["no"]]] }]);
});

test("the steps of a script are not less than nine tenths of its length, in macros as in values", () => {
  for (const unit of ["a", "^n", "[[1]]", "'a'"])
    for (const head of ["", "**echo:", "**input.keyboard:", "**input.text:", "**echo:a?x=", "#a="]) {
      const source = sourceOf(`${head}${unit.repeat(50)}`);
      expect(parseSource(source).kind).toBe("script");
      expect(source.steps).toBeGreaterThanOrEqual(0.9 * source.text.length);
    }
});

test("a JSON argument may fill a script, however deep it is, and its steps grow with its length", () => {
  for (const [open, close] of [
    ['{"a":', "}"],
    ['{"a":[', "]}"],
  ] as const) {
    const depth = Math.floor((scriptBytesMax - 32) / (open.length + close.length));
    const source = sourceOf(`**echo:${open.repeat(depth)}1${close.repeat(depth)}`);
    expect(parseSource(source).kind).toBe("script");
    expect(source.steps).toBeLessThanOrEqual(2 * source.text.length);
  }
});

test("a script may have as many commands as the limit, and no more", () => {
  const commands = Array.from({ length: scriptCommandsMax }, () => "a");
  expect(parseScript(commands.join("||")).kind).toBe("script");
  expect(parseScript(`${commands.join("||")}||`).kind).toBe("script");
  expect(read([...commands.slice(1), "#a=1", "b"].join("||"))).toMatch(/more than 64 commands/);
  expect(read([...commands, "a"].join("||"))).toMatch(/more than 64 commands/);
});

test("the expressions of a script may have as many parts as the limit, and no more; read twice they count once", () => {
  const sum = (operands: number) => `[[${Array.from({ length: operands }, () => "1").join("+")}]]`;
  const [half, rest] = [sum(expressionPartsMax / 4), sum(expressionPartsMax / 4 + 1)];
  expect(parseScript(`a?x=${half}||b?x=${half}[[1]]&!`).kind).toBe("script");
  expect(parseScript(`a?x=${half}||b?x=${rest}[[1]]&!`)).toMatchObject({
    message: "the expressions have more than 1024 parts",
  });
  expect(parseScript("[[1]]".repeat(expressionPartsMax)).kind).toBe("script");
  expect(parseScript("[[1]]".repeat(expressionPartsMax + 1)).kind).toBe("error");
});

test.each(["(", "!", "!(", "(!"])("an expression of %p without end is refused, not followed", (opening) => {
  const times = expressionDepthMax / opening.length;
  const closing = opening.replaceAll("!", "").replaceAll("(", ")");
  const nested = (depth: number) => `[[${opening.repeat(depth)}true${closing.repeat(depth)}]]`;
  expect(parseScript(nested(times)).kind).toBe("script");
  expect(read(nested(times + 1))).toMatch(/nested too deep/);
});

test("odd scripts, 200,000 of them: none makes the parser throw, every place lies inside, each tree survives printing", () => {
  const odd = oddScripts(
    rows.map(({ script }) => script),
    1,
  );
  const rounds = fuzzRounds(200_000);
  let trees = 0;
  for (let count = 0; count < rounds; count++) {
    const script = odd.next().value;
    const source = sourceOf(script);
    const parsed = parseSource(source);
    const places = parsed.kind === "error" ? [parsed] : parsed.commands;
    const isInside = places.every(
      ({ offset, length }) => offset >= 0 && length >= 0 && offset + length <= script.length,
    );
    if (!isInside || source.steps > 10 * script.length + 10) throw new Error(JSON.stringify(script));
    if (parsed.kind === "error" || count % 4 > 0) continue;
    trees++;
    const again = parseScript(printScript(parsed.commands, parsed.traits));
    const same =
      again.kind === "script" &&
      Bun.deepEquals(shapeOf(again.commands), shapeOf(parsed.commands)) &&
      Bun.deepEquals(again.traits, parsed.traits);
    if (!same) throw new Error(`printed otherwise: ${JSON.stringify(script)}`);
  }
  expect(trees).toBeGreaterThan(rounds / 20);
});

/** Expressions of one type, at most `depth` deep. */
function expressions(type: ValueType, depth: number): fc.Arbitrary<Expression> {
  const ofType = variableNames.filter(isVariable).filter((name) => variables[name].type === type);
  const named =
    ofType.length === 0
      ? []
      : [fc.constantFrom(...ofType).map((name): Expression => ({ kind: "variable", name }))];
  const literals: Record<ValueType, fc.Arbitrary<Expression>> = {
    text: fc.string({ unit: "binary", maxLength: 8 }).map((value) => ({ kind: "text", value })),
    number: fc
      .tuple(fc.nat(999_999_999), fc.nat(999_999))
      .map(([whole, millionths]) => ({ kind: "number", value: Number(`${whole}.${millionths}`) })),
    flag: fc.boolean().map((value) => ({ kind: "flag", value })),
  };
  if (depth === 0) return fc.oneof(literals[type], ...named);
  const types: readonly ValueType[] = ["text", "number", "flag"];
  const fitting = Object.keys(precedences).flatMap((operator) =>
    types.flatMap((left) =>
      types.flatMap((right) =>
        isOperator(operator) && typeOfBinary(operator, left, right) === type
          ? [{ operator, left, right }]
          : [],
      ),
    ),
  );
  const binaries = fitting.map(({ operator, left, right }) =>
    fc
      .tuple(expressions(left, depth - 1), expressions(right, depth - 1))
      .map(([first, second]): Expression => ({ kind: "binary", operator, left: first, right: second })),
  );
  const not = expressions("flag", depth - 1).map((of): Expression => ({ kind: "not", of }));
  return fc.oneof(literals[type], ...named, ...binaries, ...(type === "flag" ? [not] : []));
}

function isOperator(text: string): text is keyof typeof precedences {
  return Object.hasOwn(precedences, text);
}

const plain = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
const odd = fc
  .array(fc.constantFrom(..."^,|?&[]'\" \n@*=:ntr"), { minLength: 1, maxLength: 12 })
  .map((all) => all.join(""));
const expression = fc.oneof(expressions("text", 2), expressions("number", 1), expressions("flag", 2));
const text: fc.Arbitrary<Text> = fc
  .array(fc.oneof(plain, odd, expression), { maxLength: 4 })
  // Adjacent texts are one.
  .map((all) =>
    all.filter((piece, place) => typeof piece !== "string" || typeof all[place - 1] !== "string"),
  );
const command: fc.Arbitrary<Command> = fc.record({
  name: fc.stringMatching(/^[a-z0-9._]{1,8}$/),
  args: fc.array(text, { maxLength: 3 }),
  options: fc
    .array(fc.tuple(fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_]{0,5}$/), text), { maxLength: 3 })
    .map((pairs) => new Map(pairs)),
  offset: fc.constant(0),
  length: fc.constant(0),
});

test("each tree that is printed is read as the same tree", () => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 4 }), (commands) => {
      expect(read(printScript(commands))).toEqual(shapeOf(commands));
    }),
    { seed: 2, numRuns: 3000 },
  );
});

test("each text that is quoted comes back as it was, with only ^, the quote and [ escaped", () => {
  fc.assert(
    fc.property(fc.oneof(plain, odd), (value) => {
      const script = `**echo:"${value.replace(/[\^"[]/g, "^$&")}",b?x=1`;
      expect(read(script)).toEqual([{ name: "echo", args: [[value], ["b"]], options: [["x", ["1"]]] }]);
    }),
    { seed: 3, numRuns: 1000 },
  );
});

/** Each "?" would read up to the bad "&" at the end, if the first one did not remember its place. */
const optionsUpToABadOne = (bytes: number) => `${"?a=".repeat(bytes / 3 - 1)}&!`;

test.each([...Object.entries(hostileScripts), ["options up to a bad one", optionsUpToABadOne] as const])(
  "a script of %p is read in steps that grow with its length",
  (_, unit) => {
    const stepsOf = (bytes: number) => {
      const source = sourceOf(unit(bytes));
      parseSource(source);
      return source.steps;
    };
    for (const bytes of [1024, 2048, 4096, scriptBytesMax / 2]) {
      expect(stepsOf(bytes * 2)).toBeLessThanOrEqual(2.2 * stepsOf(bytes) + 64);
      expect(stepsOf(bytes)).toBeLessThanOrEqual(8 * bytes);
    }
  },
);
