/**
 * The search for circles of imports.
 * Covers: test/helpers/import-circles.ts.
 */
import { expect, test } from "bun:test";
import { circlesOf } from "../../helpers/import-circles.ts";
import { importsIn } from "../../helpers/source-tree.ts";

/** The circles among the given sources, each with its text. A circle is shown by its arrows. */
const circlesAmong = (texts: Readonly<Record<string, string>>) =>
  circlesOf(Object.entries(texts).flatMap(([file, text]) => importsIn(file, text))).map((circle) =>
    circle.map(({ from, to }) => `${from} -> ${to}`),
  );

test("two files that import each other are a circle, if one imports only types", () => {
  const found = circlesAmong({
    "src/a.ts": 'import { one } from "./b.ts";\n',
    "src/b.ts": 'import type {\n  One,\n} from "./a.ts";\n',
    "src/c.ts": 'import { two } from "./a.ts";\n',
  });
  expect(found).toEqual([["src/a.ts -> src/b.ts", "src/b.ts -> src/a.ts"]]);
});

test("a circle of three folders is found, and its other imports are not part of it", () => {
  const found = circlesAmong({
    "src/one/a.ts": 'import { log } from "../core/log.ts";\nimport { b } from "../two/b.ts";\n',
    "src/two/b.ts": 'export { c } from "../three/c.ts";\n',
    "src/three/c.ts": 'import "../one/a.ts";\nimport { log } from "../core/log.ts";\n',
    "src/core/log.ts": 'import { join } from "node:path";\n',
  });
  expect(found).toEqual([
    ["src/one/a.ts -> src/two/b.ts", "src/two/b.ts -> src/three/c.ts", "src/three/c.ts -> src/one/a.ts"],
  ]);
});

test("an import at run time and the type of one close a circle", () => {
  const late = { "src/a.ts": 'const b = await import("./b.ts");\n' };
  expect(circlesAmong({ ...late, "src/b.ts": 'let a: typeof import("./a.ts");\n' })).toHaveLength(1);
  expect(circlesAmong({ ...late, "src/b.ts": 'import type { C } from "./c.ts";\n' })).toEqual([]);
});

test("two circles are two, and a file that many import is in none", () => {
  const found = circlesOf([
    { from: "a", to: "b" },
    { from: "b", to: "a" },
    { from: "b", to: "leaf" },
    { from: "a", to: "c" },
    { from: "c", to: "d" },
    { from: "d", to: "c" },
    { from: "d", to: "leaf" },
  ]);
  expect(found.map((circle) => circle.length)).toEqual([2, 2]);
});

test("a file that imports itself is a circle", () => {
  expect(circlesAmong({ "src/a.ts": 'import type { One } from "./a.ts";\n' })).toHaveLength(1);
});
