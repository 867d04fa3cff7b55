/** The first start on the page of a device without media and cards: three steps, each of which is ticked once it is done. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, faultsOf, look, openPage, region, settled, violations } from "../helpers/page-visit.ts";
import { indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(noReaders + sleeper(".sfc"));
let own: TestBrowser;
let phone: TestBrowser;
beforeAll(async () => {
  if (!canMakeNetworks) return;
  own = await startChromium({}, device.network.onDevice);
  phone = await startChromium({}, device.network.onNeighbour);
}, 120_000);
afterAll(async () => {
  await own?.[Symbol.asyncDispose]();
  await phone?.[Symbol.asyncDispose]();
});

remoteTest(
  "the steps of a first start lead to their places, tick themselves off, and are gone after the last one",
  async () => {
    const { client } = device.service;
    const page = await own.browser.newPage({ viewport: { width: 390, height: 844 }, locale: "en-US" });
    const faults = faultsOf(page);
    await page.goto(`http://127.0.0.1:${port}/`);
    await connected(page);
    const steps = region(page, "First steps");
    const done = steps.getByText("done", { exact: true });
    await steps.getByRole("link", { name: /^Pair a phone/ }).waitFor();
    expect(await done.count()).toBe(0);
    expect(await violations(page, "light")).toEqual([]);
    await look(page, "first-steps");
    await using visit = await openPage(device, phone, "First");
    await region(visit.page, "First steps").getByText("done", { exact: true }).waitFor();
    await steps.getByRole("link", { name: /^Pair a phone/ }).click();
    await region(page, "Phones").waitFor();
    await device.place.file("SNES/Game.sfc");
    await indexMedia(client);
    await page.goBack();
    await done.nth(1).waitFor();
    expect(await done.count()).toBe(2);
    await client.call("launch", { uid: "04aa", text: "SNES/Game.sfc" });
    await steps.waitFor({ state: "hidden" });
    await client.call("stop");
    // After a load of the page only the newest card counted, so an empty one brought the steps back.
    await client.call("tokens.scan", { uid: "04bb", text: "" });
    await page.reload();
    await region(page, "Last taps").getByText("Card 04bb", { exact: true }).waitFor();
    await settled(page);
    expect(await steps.isVisible()).toBe(false);
    expect(faults).toEqual([]);
    expect(visit.faults).toEqual([]);
  },
  60_000,
);
