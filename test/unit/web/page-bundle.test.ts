/** The page's files in the form in which the binary holds them. */
import { expect, test } from "bun:test";
import { bundlePage } from "../../../src/web/page-bundle.ts";

const bytesMax = 90_000;
const bundle = bundlePage();
const files = Object.entries(bundle).map(([path, { type, gzip }]) => {
  const bytes = Buffer.from(gzip, "base64");
  return { path, type, size: bytes.length, text: new TextDecoder().decode(Bun.gunzipSync(bytes)) };
});
/** The parts that each hold the texts of one language. */
const languages = ["german", "french", "spanish", "portuguese", "japanese"];
const languageOf = (path: string) => languages.find((name) => path.startsWith(`/${name}-`));
const sum = (of: typeof files) => of.reduce((total, { size }) => total + size, 0);

// Only the device's own browser loads the QR code, and only the system loads the icons.
test("a paired phone loads at most 90 KB before pictures, in any language", () => {
  const shared = files.filter(
    ({ path, type }) =>
      languageOf(path) === undefined && type !== "image/png" && !path.startsWith("/qr-code-"),
  );
  const largest = Math.max(...files.filter(({ path }) => languageOf(path)).map(({ size }) => size));
  expect(sum(shared) + largest).toBeLessThanOrEqual(bytesMax);
});

test("the manifest names icons that are there, in the sizes that it says", () => {
  const find = (name: string) => files.find(({ path }) => path === `/${name}`);
  const html = files.find(({ path }) => path === "/")?.text ?? "";
  const name = /<link rel="manifest" href="\/([^"]+)">/.exec(html)?.[1] ?? "";
  const { icons, ...facts } = JSON.parse(find(name)?.text ?? "{}");
  expect(facts).toMatchObject({ name: "Tapdeck", start_url: "/", display: "standalone" });
  const seen = icons.map(({ src, ...rest }: { src: string }) => {
    const png = Bun.gunzipSync(Buffer.from(bundle[`/${src}`]?.gzip ?? "", "base64"));
    // PNG, 11.2.2: the width and the height are the first fields of IHDR.
    const [width, height] = [16, 20].map((at) => Buffer.from(png).readUInt32BE(at));
    return { ...rest, is: `${width}x${height}` };
  });
  const of = (size: string, purpose: string) => ({ sizes: size, purpose, type: "image/png", is: size });
  expect(seen).toEqual([of("192x192", "any"), of("512x512", "any"), of("512x512", "maskable")]);
});

test("each language is a part of its own, and no part holds WebAssembly", () => {
  expect(files.flatMap(({ path }) => languageOf(path) ?? []).sort()).toEqual([...languages].sort());
  expect(files.filter(({ text }) => /\bWebAssembly\b/.test(text)).map(({ path }) => path)).toEqual([]);
});
