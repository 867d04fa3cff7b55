/** The page of a paired phone changes the discs of a game in a real RetroArch, and shows a game on several discs once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll } from "../helpers/device.ts";
import { headlessRetroArch, makeDiscCore } from "../helpers/disc-core.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { look, openPage, region, violations } from "../helpers/page-visit.ts";
import { indexMedia, noReaders } from "../helpers/tapdeck.ts";

const device = deviceForAll(noReaders);
let phone: TestBrowser;
beforeAll(async () => {
  if (canMakeNetworks) phone = await startChromium({}, device.network.onNeighbour);
}, 120_000);
afterAll(() => phone?.[Symbol.asyncDispose]());

test.skipIf(!canMakeNetworks)(
  "a game on three discs is one entry, and next and previous change the disc",
  async () => {
    const { place, service } = device;
    await writeFile(join(place.folder, "media/retroarch.cfg"), headlessRetroArch);
    const core = makeDiscCore(join(place.folder, "media"));
    for (const number of [1, 2, 3]) await place.file(`PSX/Quest (Disc ${number}).chd`);
    const launcher = [
      ...["[[launchers]]", 'id = "discs"', 'systems = ["PSX"]', 'kind = "retroarch"', `core = "${core}"`],
      `command = ["retroarch", "--config=${join(place.folder, "media/retroarch.cfg")}", "{path}"]`,
    ];
    await device.config(`${noReaders}${launcher.join("\n")}\n`);
    await service.client.call("settings.reload");
    await indexMedia(service.client);
    await using visit = await openPage(device, phone, "Phone");
    const { page, faults } = visit;
    expect((await service.client.call("media.search", { query: "quest" })).total).toBe(1);
    await service.client.call("launch", "PSX/Quest (Disc 1).chd");
    const now = region(page, "Now");
    await now.getByText("Disc 1 of 3").waitFor();
    const previous = now.getByRole("button", { name: "Previous" });
    expect(await previous.isVisible()).toBe(false);
    expect(await violations(page, "dark")).toEqual([]);
    await look(page, "discs");
    const next = now.getByRole("button", { name: "Next" });
    await next.click();
    await now.getByText("Disc 2 of 3").waitFor();
    await next.click();
    await now.getByText("Disc 3 of 3").waitFor();
    await next.waitFor({ state: "hidden" });
    await previous.click();
    await now.getByText("Disc 2 of 3").waitFor();
    await service.client.call("stop");
    expect(faults).toEqual([]);
  },
  90_000,
);
