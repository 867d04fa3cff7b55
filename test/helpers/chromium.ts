/** A real Chromium that a test controls, in a network namespace if one is given. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

const program = Bun.which("chromium");

export interface TestBrowser {
  readonly browser: Browser;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `names` maps host names to addresses, like a name server. */
export async function startChromium(
  names: Readonly<Record<string, string>>,
  via: (command: readonly string[]) => readonly string[] = (command) => command,
): Promise<TestBrowser> {
  if (program === null) throw new Error("chromium is missing: install it, or run tools/test-setup");
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-chromium-"));
  const wrapper = join(folder, "chromium");
  await writeFile(wrapper, `#!/bin/sh\nexec ${via([program]).join(" ")} "$@"\n`);
  await chmod(wrapper, 0o755);
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`);
  const browser = await chromium.launch({
    executablePath: wrapper,
    // Root may not use Chromium's own sandbox; all pages here are ours.
    args: ["--no-sandbox", ...(rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(",")}`])],
    timeout: 60_000,
  });
  return {
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Shows a screen of the device's page by its link. */
export async function goTo(page: Page, screen: string): Promise<void> {
  const link = page.getByRole("link", { name: screen, exact: true });
  await link.click();
  await link.and(page.locator("[aria-current=page]")).waitFor();
  await page.locator("main:not([aria-busy])").waitFor();
}

/** Opens a place of the screen of the device, such as `phones`. */
export async function goToPlace(page: Page, place: string): Promise<void> {
  await goTo(page, "Device");
  await page.locator(`main a[href$="/${place}"]`).click();
  await page.locator("main:not([aria-busy]) > .place").waitFor();
}
