/** The page by which a phone sets up the Wi-Fi, in real Chromium without scripts, as the small browsers of phones show it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { silentLog } from "../../src/core/log.ts";
import type { WifiReport, WifiRequest } from "../../src/core/wifi-shapes.ts";
import { servePointPage } from "../../src/services/wifi-point.ts";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { look, violations } from "../helpers/page-visit.ts";

const hex = (text: string) => Buffer.from(text).toString("hex");
const network = (name: string, signal: number, security: "open" | "password" | "other") => ({
  id: hex(name),
  name,
  signal,
  security,
});
const report: WifiReport = {
  state: "point",
  point: { name: "Tapdeck-AB12", password: "abcd2345", address: "127.0.0.1" },
  networks: [
    network("FRITZ!Box 7530 XQ", -41, "password"),
    network("Nachbar mit einem Namen aus 32 Z.", -58, "password"),
    network("Gäste", -60, "open"),
    network("Office", -71, "other"),
  ],
  known: [],
};

let browser: TestBrowser;
let seen = report;
const joined: WifiRequest[] = [];
const served = servePointPage({
  address: "127.0.0.1",
  port: 0,
  log: silentLog,
  report: () => seen,
  async join(request) {
    joined.push(request);
  },
  async scan() {},
});
const origin = `http://127.0.0.1:${served.port}/`;
const hasChromium = Bun.which("chromium") !== null;

beforeAll(async () => {
  if (hasChromium) browser = await startChromium({});
}, 120_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  served.close();
});

async function open(options: {
  readonly locale: string;
  readonly javaScriptEnabled: boolean;
}): Promise<Page> {
  const viewport = { width: 390, height: 844 };
  const context = await browser.browser.newContext({ viewport, ...options });
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

test.skipIf(!hasChromium)(
  "a phone without scripts chooses its network, corrects its password, and is told what happens next",
  async () => {
    const page = await open({ locale: "en-US", javaScriptEnabled: false });
    await page.getByRole("radio", { name: "FRITZ!Box 7530 XQ" }).check();
    await page.getByRole("textbox", { name: "Password", exact: true }).fill("short");
    await page.getByRole("button", { name: "Connect" }).click();
    const alert = page.getByRole("alert");
    expect(await alert.textContent()).toBe("A Wi-Fi password has 8 to 63 characters.");
    expect(await page.getByRole("radio", { name: "FRITZ!Box 7530 XQ" }).isChecked()).toBe(true);
    await page.getByRole("textbox", { name: "Password", exact: true }).fill("correct horse");
    await page.getByRole("button", { name: "Connect" }).click();
    expect(await page.getByRole("heading").textContent()).toBe("Trying “FRITZ!Box 7530 XQ”");
    expect(joined).toEqual([{ id: hex("FRITZ!Box 7530 XQ"), password: "correct horse" }]);
    await page.context().close();
  },
  60_000,
);

test.skipIf(!hasChromium)(
  "axe-core finds nothing on the form, its refusal and the page after it, in light and dark, and 320 pixels are enough",
  async () => {
    const page = await open({ locale: "de-DE", javaScriptEnabled: true });
    const check = async (name: string) => {
      for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
      await look(page, name);
    };
    await check("wifi-form");
    seen = { ...report, network: "FRITZ!Box 7530 XQ", fault: "wrong-password" };
    await page.reload();
    await check("wifi-refused");
    await page.setViewportSize({ width: 320, height: 640 });
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBe(320);
    await page.getByRole("textbox", { name: "Passwort", exact: true }).fill("correct horse");
    await page.getByRole("button", { name: "Verbinden" }).click();
    await page.getByRole("status").waitFor();
    await check("wifi-trying");
    await page.context().close();
  },
  60_000,
);
