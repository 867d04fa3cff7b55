/** JSON that costs too much is found without parsing it. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { jsonExcess } from "../../../src/core/json-excess.ts";
import { jsonDepthMax } from "../../../src/core/limits.ts";

/** The values of a parsed text, and the names of its members. */
function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countOf(one), 1);
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1);
}

test("a text is never passed that has more values than its limit", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(20), (text, valuesMax) => {
      if (jsonExcess(text, valuesMax) === undefined)
        expect(countOf(JSON.parse(text))).toBeLessThanOrEqual(valuesMax + 1);
    }),
  );
});

test("a text is never refused that has less than half as many values", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(jsonExcess(JSON.stringify(value), 3 * countOf(value))).not.toBe("values");
    }),
  );
});

test("marks within texts are no values, after escaped quotes and backslashes too", () => {
  for (const inner of [",,,,", '\\",,,', "\\\\", '\\\\\\",:[{'])
    expect([inner, jsonExcess(`{"${inner}":"${inner}"}`, 2)]).toEqual([inner, undefined]);
  expect(jsonExcess('["\\\\",[],[],[]]', 5)).toBe("values");
});

test("a text without its closing quote is left to the parser", () => {
  expect(jsonExcess(`"${"[".repeat(jsonDepthMax + 1)}`)).toBeUndefined();
});

test("the first limit that is passed is named", () => {
  expect(jsonExcess("[".repeat(jsonDepthMax + 1))).toBe("depth");
  expect(jsonExcess("[".repeat(jsonDepthMax + 1), 10)).toBe("values");
  expect(jsonExcess(`[${"0,".repeat(1000)}0]`)).toBeUndefined();
});
