/** Visits of the device's page by a newly paired phone, for the tests of its screens. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { TestBrowser } from "./chromium.ts";
import type { Device } from "./device.ts";
import { root } from "./source-tree.ts";

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** The uncaught errors, and those of the console. */
  readonly faults: readonly string[];
}

/** Opens the page of a newly paired member, and waits for its connection. */
export async function openPage(
  device: Pick<Device, "run" | "network">,
  { browser }: TestBrowser,
  name: string,
  locale = "en-US",
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const { out: link, error } = await device.run("pair", name, "--host", device.network.deviceAddress);
  expect(error).not.toContain("error");
  const viewport = { width: 390, height: 844 };
  const context = await browser.newContext({ viewport, locale, ...options });
  const page = await context.newPage();
  const faults = faultsOf(page);
  await page.goto(link);
  await connected(page);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** Collects from now on the uncaught errors of the page, and those of its console. */
export function faultsOf(page: Page): readonly string[] {
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  return faults;
}

/** Waits until the page is connected. The tests do not depend on the language of the page. */
export async function connected(page: Page): Promise<void> {
  await page.locator("#line[data-state=on]").waitFor();
}

/** Waits until the lists of a place have their rows, and the screen has not changed for a while. */
export async function settled(page: Page, quietMs = 500): Promise<void> {
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".place ul.rows:empty")].every((list) => !list.checkVisibility()),
  );
  await page.evaluate(
    (quietMs) =>
      new Promise<void>((resolve) => {
        const end = () => {
          watch.disconnect();
          resolve();
        };
        let timer = setTimeout(end, quietMs);
        const watch = new MutationObserver(() => {
          clearTimeout(timer);
          timer = setTimeout(end, quietMs);
        });
        watch.observe(document.body, { subtree: true, childList: true });
      }),
    quietMs,
  );
}

/** The sizes of a phone, a tablet and a television. */
const sizes = [
  { width: 390, height: 844 },
  { width: 820, height: 1180 },
  { width: 1920, height: 1080 },
];

/** With the environment variable PAGE_PICTURES, a folder, stores pictures of the page in three widths and two schemes. */
export async function look(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_PICTURES;
  if (folder === undefined) return;
  const before = page.viewportSize() ?? { width: 390, height: 844 };
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const path = join(folder, `${name}-${size.width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: size.width < 1000 });
    }
  }
  await page.setViewportSize(before);
}

/** The visible controls without an accessible name, and the pictures without an alternative text. */
export const unnamed = (page: Page) =>
  page.locator("button:visible, input:visible, select:visible, img").evaluateAll((elements) =>
    elements
      .filter((one) => {
        if (one instanceof HTMLImageElement) return !one.hasAttribute("alt");
        return (one.getAttribute("aria-label") ?? one.textContent ?? "").trim() === "";
      })
      .map((one) => one.outerHTML),
  );

const axe = await Bun.file(join(root, "node_modules/axe-core/axe.min.js")).text();

/** The violations of axe-core's rules, each with its element. The rule about colors takes longer than all others together. */
export async function violations(
  page: Page,
  colorScheme: "light" | "dark",
  hasColors = true,
): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme });
  if (await page.evaluate("globalThis.axe === undefined")) await page.evaluate(axe);
  const rules = { "color-contrast": { enabled: hasColors } };
  const { violations }: { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] } =
    await page.evaluate(`axe.run(${JSON.stringify({ resultTypes: ["violations"], rules })})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

export const region = (page: Page, name: string) => page.getByRole("region", { name });
