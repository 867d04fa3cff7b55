/**
 * Measures the device's page on a slow phone: real Chromium with six-fold throttling, in a network of its own, on a library
 * of 100,000 files (`bun test/bench/page.ts [FILES]`, as root). Prints the first paint, and the longest tasks of the
 * page's thread at the start and of each use. The times are of this thread alone, so other programs of this machine do
 * not count.
 */
import type { CDPSession, Locator } from "playwright-core";
import { goTo, startChromium } from "../helpers/chromium.ts";
import { startDevice } from "../helpers/device.ts";
import { makeFiles } from "../helpers/library.ts";
import { connected } from "../helpers/page-visit.ts";
import { indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";
import { msOf, partsOf, tasksIn, tracedWhile } from "./trace.ts";

const [count = 100_000] = process.argv.slice(2).map(Number);
const throttling = 6;
/** The files are of two systems, so each of the two folders has 5,000. */
const filesOfFolder = 10_000;
const visitMs = 3000;

/** The main threads' tasks while `run` runs, the longest first: their milliseconds, and the longest events within them. */
async function traced(session: CDPSession, run: () => Promise<unknown>): Promise<readonly string[]> {
  const { own } = await tracedWhile(session, run);
  return tasksIn(own)
    .slice(0, 4)
    .map((task) => {
      const waitsMs = Math.round((task.dur ?? 0) / 1000);
      return `${Math.round(msOf(task))} (${waitsMs} with waits): ${partsOf(task, own, 10).join(", ")}`;
    });
}

const print = (text: string) => process.stdout.write(`${text}\n`);
const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

await using device = await startDevice(noReaders + sleeper(".sfc", ".gba"));
const names = Array.from({ length: count }, (_, number) => {
  const folder = Math.floor(number / filesOfFolder);
  return `${number % 2 === 0 ? "SNES" : "GBA"}/Folder ${folder}/Game ${String(number).padStart(6, "0")}.${number % 2 === 0 ? "sfc" : "gba"}`;
});
makeFiles(`${device.place.folder}/media`, names);
await indexMedia(device.service.client);
await using phone = await startChromium({}, device.network.onNeighbour);
const { out: link } = await device.run("pair", "Bench", "--host", device.network.deviceAddress);
const page = await phone.browser.newPage({ viewport: { width: 390, height: 844 } });
const session = await page.context().newCDPSession(page);
await session.send("Emulation.setCPUThrottlingRate", { rate: throttling });
const measure = async (name: string, run: () => Promise<unknown>) => {
  const tasks = await traced(session, run);
  print(`${name}\n  ${tasks.join("\n  ")}`);
};
const paint = () =>
  page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1));

/**
 * A press on a control that Playwright has found before the measurement, because its search would count as a task of the
 * page's thread.
 */
const pressOf = async (control: Locator) => {
  const found = await control.elementHandle();
  await found?.evaluate(() => {});
  return () =>
    found?.evaluate((one) => {
      if (one instanceof HTMLElement) one.focus();
      if (one instanceof HTMLElement) one.click();
    });
};
const measurePress = async (name: string, control: Locator) => {
  const press = await pressOf(control);
  await measure(name, async () => {
    await press();
    await settle(visitMs);
  });
};

await measure("first visit, by the pairing link", async () => {
  await page.goto(link);
  await settle(visitMs);
});
await connected(page);
print(`first paint: ${await paint()} ms`);
await measure("second visit", async () => {
  await page.reload();
  await settle(visitMs);
});
await connected(page);
print(`first paint: ${await paint()} ms`);
for (const screen of await page.locator("nav a").allTextContents())
  await measurePress(`screen ${screen}`, page.getByRole("link", { name: screen, exact: true }));
await goTo(page, "Library");
await page.getByRole("link", { name: /Game Boy Advance/ }).click();
await measurePress("a folder", page.getByRole("link", { name: /^Folder 1/ }).first());
await page
  .getByRole("button", { name: /^Game 0/ })
  .first()
  .waitFor();
await measure("its further tiles", async () => {
  for (let at = 1; at <= 10; at++) {
    await page.evaluate(`scrollTo(0, ${at * 1500})`);
    await settle(visitMs / 10);
  }
});
await goTo(page, "Now");
const field = page.getByRole("searchbox");
await measure("a search", async () => {
  await field.evaluate((one) => {
    if (one instanceof HTMLInputElement) one.value = "game 0123";
    one.dispatchEvent(new Event("input"));
  });
  await settle(visitMs);
});
await measurePress("more results", page.locator("button:visible").getByText("Show more"));
await goTo(page, "Library");
await page.locator("main .tiles a").first().focus();
await measure("an arrow key", async () => {
  await page.keyboard.press("ArrowDown");
  await settle(visitMs);
});
