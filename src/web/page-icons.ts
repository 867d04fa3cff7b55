/**
 * A program of the build: `page-icons.ts FOLDER` makes the bundled page in the folder installable. It renders `icon.svg` as
 * PNG, writes the manifest (W3C Web Application Manifest), and names both in `index.html`. Names hold a hash of the content.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import renderer from "@resvg/resvg-wasm/index_bg.wasm" with { type: "file" };

const [out = ""] = process.argv.slice(2);
const svg = readFileSync(join(import.meta.dir, "page/icon.svg"), "utf8");
/**
 * The background reaches the edges, because the system cuts the icon to its own shape. The drawing stays within the inner
 * 80 %.
 */
const maskable = svg
  .replace('viewBox="0 0 32 32"', 'viewBox="-5 -5 42 42"')
  .replace('<rect width="32" height="32" rx="8"', '<rect x="-5" y="-5" width="42" height="42"');

function write(name: string, type: string, content: Uint8Array | string): string {
  const hashed = `${name}-${Bun.hash(content).toString(36).slice(0, 8)}.${type}`;
  writeFileSync(join(out, hashed), content);
  return hashed;
}

await initWasm(readFileSync(renderer));
const icon = (drawing: string, name: string, size: number) =>
  write(name, "png", new Resvg(drawing, { fitTo: { mode: "width", value: size } }).render().asPng());
const whole = icon(maskable, "icon-maskable", 512);
const entry = (src: string, size: number, purpose: string) => ({
  src,
  purpose,
  sizes: `${size}x${size}`,
  type: "image/png",
});
const manifest = {
  name: "Tapdeck",
  short_name: "Tapdeck",
  id: "/",
  start_url: "/",
  display: "standalone",
  // The colours of the light page. `theme-color` in index.html also has the dark color.
  background_color: "#f4f4fa",
  theme_color: "#f4f4fa",
  icons: [
    entry(icon(svg, "icon", 192), 192, "any"),
    entry(icon(svg, "icon", 512), 512, "any"),
    entry(whole, 512, "maskable"),
  ],
};
const manifestName = write("manifest", "webmanifest", JSON.stringify(manifest));
const page = readFileSync(join(out, "index.html"), "utf8");
const links = `<link rel="manifest" href="/${manifestName}"><link rel="apple-touch-icon" href="/${whole}">`;
writeFileSync(join(out, "index.html"), page.replace("</head>", `${links}</head>`));
