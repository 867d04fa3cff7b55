/** The picture of the device's screen on the page, in real Chromium: with a frame buffer, and without a screen. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { connected, faultsOf, look, region, violations } from "../helpers/page-visit.ts";
import { canStage, screenSize, startOnStage } from "../helpers/staged-screen.ts";
import { makePlace, noReaders, type Place, startTapdeck } from "../helpers/tapdeck.ts";

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startChromium({});
}, 120_000);
afterAll(() => browser?.[Symbol.asyncDispose]());

async function openSound({ port }: Place) {
  const page = await browser.browser.newPage({ viewport: { width: 390, height: 844 }, locale: "en-US" });
  await page.goto(`http://127.0.0.1:${port}/#device/sound`);
  await connected(page);
  return { page, faults: faultsOf(page), card: region(page, "Picture of the screen") };
}

test.skipIf(!canStage)(
  "an owner sees what the screen shows by the keyboard alone, and downloads it",
  async () => {
    await using place = await makePlace(noReaders);
    await using _service = await startOnStage(place);
    const { page, faults, card } = await openSound(place);
    const take = card.getByRole("button", { name: "Take a picture" });
    await take.focus();
    await page.keyboard.press("Enter");
    const image = card.getByRole("img", { name: "What the device shows" });
    await image.waitFor();
    const { width, height } = screenSize;
    const shown = await image.evaluate((one: HTMLImageElement) => [one.naturalWidth, one.naturalHeight]);
    expect(shown).toEqual([width, height]);
    await card.getByText(/^Taken at /).waitFor();
    await look(page, "picture-of-screen");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    const first = await image.getAttribute("src");
    const downloading = page.waitForEvent("download");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("screen.png");
    const base64 = (await readFile(await download.path())).toString("base64");
    expect(`data:image/png;base64,${base64}`).toBe(first ?? "");
    await card.getByRole("button", { name: "Take another one" }).click();
    await card.getByRole("button", { name: "Take another one", disabled: false }).waitFor();
    await image.waitFor();
    expect(faults).toEqual([]);
    await page.close();
  },
  60_000,
);

test("without a screen the page says why there is no picture", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const { page, faults, card } = await openSound(place);
  await card.getByRole("button", { name: "Take a picture" }).click();
  await card.getByText("nothing plays, and there is no screen to save").waitFor();
  expect(await card.getByRole("img").count()).toBe(0);
  for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
  expect(faults).toEqual([]);
  await page.close();
}, 60_000);
