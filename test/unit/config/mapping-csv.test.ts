/** Mappings as CSV and as TOML: written mappings can be read again, and faults have their line. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { mappingsCsv, readMappingsCsv } from "../../../src/config/mapping-csv.ts";
import { MappingFileFault, mappingsToml, readMappingsToml } from "../../../src/config/mapping-file.ts";
import { importFaultsMax } from "../../../src/core/limits.ts";
import type { MappingParams } from "../../../src/core/token.ts";

const pass = () => {};
const atOnce = async () => {};
const csv = (text: string) => readMappingsCsv(text, pass, atOnce);
const toml = (text: string) => readMappingsToml(text, pass, atOnce);

/** Texts of all characters, and often of those with a meaning in one of the formats. */
const marks = fc.constantFrom(..."\",;\t\r\n '\\=#[]\0\x7f\u2028\ufeff");
const text = fc.oneof(
  fc.string({ unit: fc.oneof(marks, fc.string({ unit: "binary", minLength: 1, maxLength: 1 })) }),
  fc.constantFrom("true", "1", "[[mapping]]", "=1+1", "04a1", '""', "type"),
);
const mapping = fc.record({
  enabled: fc.boolean(),
  label: text,
  type: fc.constantFrom("uid", "text", "data"),
  match: fc.constantFrom("exact", "partial", "regex"),
  pattern: text.filter((one) => one !== "" && !/^\d+([.,]\d+)?E\+\d+$/i.test(one)),
  override: text.filter((one) => one !== ""),
}) satisfies fc.Arbitrary<MappingParams>;

test("mappings written as CSV are read again as they were", () =>
  fc.assert(
    fc.asyncProperty(fc.array(mapping), async (mappings) => {
      const read = await csv(mappingsCsv(mappings));
      expect(read.mappings.map(({ params }) => params)).toEqual(mappings);
      expect(read.faults).toEqual([]);
    }),
  ));

test("mappings written as TOML are read again as they were", () =>
  fc.assert(
    fc.asyncProperty(fc.array(mapping), async (mappings) => {
      const read = await toml(mappingsToml(mappings));
      expect(read.mappings.map(({ params }) => params)).toEqual(mappings);
      expect(read.faults).toEqual([]);
    }),
  ));

test("any text is read as CSV or refused with a line that it has", () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.oneof(marks, fc.constantFrom("a", "type", "pattern", "override", "uid")) }),
      async (text) => {
        const source = `type,pattern,override\n${text}`;
        const lines = source.split(/\r?\n|\r/).length;
        const { mappings, faults } = await csv(source).catch((error: unknown) => {
          if (!(error instanceof MappingFileFault)) throw error;
          return { mappings: [], faults: [error] };
        });
        for (const { line = 0 } of [...mappings, ...faults]) {
          expect(line).toBeGreaterThan(1);
          expect(line).toBeLessThanOrEqual(lines);
        }
      },
    ),
  ));

test("a spreadsheet's CSV is read: other separators, TRUE, a mark at the start, empty rows, columns in any order", async () => {
  const read = await csv(
    '\ufeffOverride;Enabled;Type;"Pattern"\r\nSNES/A, B.sfc;TRUE;uid;04a1\r\n;;;\r\nx;0;text;"a\nb"',
  );
  const rest = { label: "", match: "exact" } as const;
  expect(read.faults).toEqual([]);
  expect(read.mappings).toEqual([
    { line: 2, params: { ...rest, enabled: true, type: "uid", pattern: "04a1", override: "SNES/A, B.sfc" } },
    { line: 4, params: { ...rest, enabled: false, type: "text", pattern: "a\nb", override: "x" } },
  ]);
});

test("a file of Excel's kind CSV (Macintosh), whose lines end with CR, was refused because of a quote", async () => {
  const { mappings, faults } = await csv("type,pattern,override\ruid,04a1,x\r\r\ntext,b,y\r");
  expect(faults).toEqual([]);
  expect(mappings.map(({ line, params }) => [line, params.pattern, params.override])).toEqual([
    [2, "04a1", "x"],
    [4, "b", "y"],
  ]);
});

test.each([
  ["type,patern,override\n", 1, /^there is no column "patern"; did you mean pattern\?/],
  ["type,pattern\nuid,04", 1, /^the column override is missing/],
  ["", 1, /^there is no column|^the column type is missing/],
  ["type,type,pattern,override\n", 1, /^the column type is there twice/],
  ['type,pattern,override\nuid,04,x\nuid,"04,x\n', 3, /^a quote is not closed/],
  ['type,pattern,override\nuid,"04"a,x', 2, /^a quote is not closed, or something stands beside it/],
])("CSV is refused with the line: %j", async (text, line, sentence) => {
  const fault = await csv(text).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(MappingFileFault);
  expect(fault).toMatchObject({ line, message: expect.stringMatching(sentence) });
});

const row = "type,pattern,override,enabled\n";

test.each([
  [`${row}uidd,04,x`, 2, /^type: it must be one of uid, text, data/],
  [`${row}uid,"a\nb",x\n,04,x`, 4, /^type: it is missing/],
  [`${row}uid,04,`, 2, /^override: it is missing/],
  [`${row}uid,04,x,on`, 2, /^enabled: it must be true or false/],
  [`${row}uid,04,x,1,y`, 2, /^this row has 5 cells, and the first row 4/],
  [`${row}uid,"4,12E+13",x`, 2, /^pattern: a spreadsheet has made a number of this UID/],
])("a wrong row is named with its line: %j", async (text, line, sentence) => {
  const { faults } = await csv(text);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ line, message: expect.stringMatching(sentence) });
});

test("every wrong table of TOML is named with the line of its key", async () => {
  const table = '[[mapping]]\ntype = "uid"\npattern = "04"\n';
  const { mappings, faults } = await toml(`# mine\n${table}\n${table}override = 1\n${table}override = "x"\n`);
  expect(mappings.map(({ line }) => line)).toEqual([10]);
  expect(faults.map(({ line, message }) => [line, message])).toEqual([
    [2, "override: it is missing"],
    [9, "override: it must be a text, in quotes"],
  ]);
});

test("a file of faults ends at the limit", async () => {
  const { faults } = await csv(row + "uid\n".repeat(importFaultsMax * 3));
  expect(faults).toHaveLength(importFaultsMax);
});
