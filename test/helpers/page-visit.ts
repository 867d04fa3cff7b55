/** Visits of the device's page by a newly paired phone, for the tests of its screens. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { TestBrowser } from "./chromium.ts";
import type { Device } from "./device.ts";

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Uncaught errors, and those of the console. */
  readonly faults: readonly string[];
}

/** Opens the page of a newly paired member. */
export async function openPage(
  device: Pick<Device, "run" | "network">,
  { browser }: TestBrowser,
  name: string,
  locale = "en-US",
): Promise<Visit> {
  const { out: link, error } = await device.run("pair", name, "--host", device.network.deviceAddress);
  expect(error).not.toContain("error");
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, locale });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await page.goto(link);
  await page.locator("#line[data-state=on]").waitFor();
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** With the environment variable PAGE_PICTURES, a folder, stores a picture of the page in two widths and schemes. */
export async function look(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_PICTURES;
  if (folder === undefined) return;
  const before = page.viewportSize() ?? { width: 390, height: 844 };
  for (const [width, height, colorScheme] of [
    [390, 844, "light"],
    [820, 1180, "dark"],
    [1920, 1080, "dark"],
    [1920, 1080, "light"],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await page.screenshot({
      path: join(folder, `${name}-${width}-${colorScheme}.png`),
      fullPage: width < 1000,
    });
  }
  await page.setViewportSize(before);
}

/** Visible controls without an accessible name, and pictures without an alternative text. */
export const unnamed = (page: Page) =>
  page.locator("button:visible, input:visible, select:visible, img").evaluateAll((elements) =>
    elements
      .filter((one) => {
        if (one instanceof HTMLImageElement) return !one.hasAttribute("alt");
        return (one.getAttribute("aria-label") ?? one.textContent ?? "").trim() === "";
      })
      .map((one) => one.outerHTML),
  );

export const region = (page: Page, name: string) => page.getByRole("region", { name });
