/** The page's files as the binary holds them. */
import { expect, test } from "bun:test";
import { bundlePage } from "../../../src/web/page-bundle.ts";

const bytesMax = 60_000;
const files = Object.entries(bundlePage()).map(([path, { type, gzip }]) => {
  const bytes = Buffer.from(gzip, "base64");
  return { path, type, size: bytes.length, text: new TextDecoder().decode(Bun.gunzipSync(bytes)) };
});
/** The parts that each hold the texts of one language. */
const languages = ["german", "french", "spanish", "portuguese", "japanese"];
const languageOf = (path: string) => languages.find((name) => path.startsWith(`/${name}-`));
const sum = (of: typeof files) => of.reduce((total, { size }) => total + size, 0);

test("a paired phone loads at most 60 KB, in any language", () => {
  const shared = files.filter(
    ({ path, type }) => languageOf(path) === undefined && !type.startsWith("image/png"),
  );
  const largest = Math.max(...files.filter(({ path }) => languageOf(path)).map(({ size }) => size));
  expect(sum(shared) + largest).toBeLessThanOrEqual(bytesMax);
});

test("each language is a part of its own, and no part holds WebAssembly", () => {
  expect(files.flatMap(({ path }) => languageOf(path) ?? []).sort()).toEqual([...languages].sort());
  expect(files.filter(({ text }) => /\bWebAssembly\b/.test(text)).map(({ path }) => path)).toEqual([]);
});
