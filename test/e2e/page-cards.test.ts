/** The page's screen of the cards in real Chromium: a paired phone drives the compiled service with an emulated reader. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { goTo, goToPlace, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll } from "../helpers/device.ts";
import { emulatedPn532, ntag213, textOn, unlessHeldUp } from "../helpers/emulated.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { look, openPage, region, unnamed } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { firstReader, indexMedia, readerConfig, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const reader = emulatedPn532("real");
const device = deviceForAll(readerConfig(reader) + sleeper(".sfc"), async ({ place, service }) => {
  for (const name of ["Star Garden", "Super Game"]) await place.file(`SNES/${name}.sfc`);
  await Bun.write(
    join(place.folder, "mappings/toys.toml"),
    '[[mapping]]\ntype = "uid"\npattern = "04ff"\noverride = "SNES/Star Garden.sfc"\n',
  );
  await service.client.call("mappings.reload");
  await firstReader(service);
  await indexMedia(service.client);
});
let phone: TestBrowser;
beforeAll(async () => {
  if (canMakeNetworks) phone = await startChromium({}, device.network.onNeighbour);
}, 120_000);
afterAll(async () => {
  await phone?.[Symbol.asyncDispose]();
  await reader[Symbol.asyncDispose]();
});

let visits = 0;

async function openCards(name: string) {
  visits += 1;
  const visit = await openPage(device, phone, `${name} ${visits}`);
  // Each wait is short, so a test that was held up has the time to begin again.
  visit.page.setDefaultTimeout(15_000);
  await goTo(visit.page, "Cards");
  return visit;
}

/** Resolves when the media of this name plays, or nothing for undefined. */
const plays = (name: string | undefined) =>
  eventually(async () => expect((await device.service.client.call("media.active"))?.mediaName).toBe(name));

async function forgetMappings(): Promise<void> {
  const { client } = device.service;
  for (const { id, readOnly } of (await client.call("mappings")).mappings)
    if (readOnly !== true) await client.call("mappings.delete", { id });
}

/**
 * Resolves when the service has noticed that no card is on the reader. If the same card were put on again before, it would
 * not count as removed.
 */
const gone = () =>
  eventually(async () => expect((await device.service.client.call("tokens")).active).toEqual([]));

remoteTest(
  "many cards are written in a row, with the next name in large letters, errors of a card, skip and back",
  () =>
    unlessHeldUp(async () => {
      await using visit = await openCards("Writer");
      const { page, faults } = visit;
      const many = region(page, "Write many cards");
      await goTo(page, "Now");
      await region(page, "Play something").getByRole("searchbox").fill("star");
      await page.getByRole("button", { name: "Write Star Garden to a card" }).click();
      await page.getByRole("button", { name: "Later, with others" }).click();
      await page.getByText("Star Garden waits. 1 card in all, on the screen Cards.").waitFor();
      await goTo(page, "Cards");
      await many.getByRole("searchbox").fill("s");
      await many.getByRole("button", { name: "Add Super Game" }).click();
      await many.getByText("Own text").click();
      await many.getByRole("textbox", { name: "Own text" }).fill("**stop");
      await many.getByRole("button", { name: "Add the text" }).click();
      await many.getByRole("spinbutton", { name: "Copies of **stop" }).fill("2");
      await many.getByRole("searchbox").fill("");
      expect(await unnamed(page)).toEqual([]);
      await look(page, "cards-queue");
      await many.getByRole("button", { name: "Write 4 cards" }).click();
      const dialog = page.getByRole("dialog", { name: "Write many cards" });
      const next = (place: string, name: string) =>
        Promise.all([dialog.getByText(place).waitFor(), dialog.locator(".next").getByText(name).waitFor()]);
      const lay = async (tag: ReturnType<typeof ntag213>, sentence: string) => {
        reader.put(tag);
        await dialog.getByText(sentence).waitFor();
        reader.take();
      };
      const written = "Written. Take it off, and lay the next card on.";
      await next("1 of 4", "Star Garden");
      const locked = ntag213("04e1e2e3e4e5e0");
      locked.memory[15] = 0x0f;
      await lay(locked, "This card is locked. Take another one.");
      const tags = ["04e1e2e3e4e5e1", "04e1e2e3e4e5e2", "04e1e2e3e4e5e3"].map((uid) => ntag213(uid));
      const [one = locked, two = locked, three = locked] = tags;
      await lay(one, written);
      await next("2 of 4", "Super Game");
      await look(page, "cards-writing");
      await dialog.getByRole("button", { name: "Skip" }).click();
      await next("3 of 4", "**stop");
      await lay(two, written);
      await next("4 of 4", "**stop");
      for (const back of ["3 of 4", "2 of 4"]) {
        await dialog.getByRole("button", { name: "Back" }).click();
        await dialog.getByText(back).waitFor();
      }
      await next("2 of 4", "Super Game");
      await lay(three, written);
      await next("3 of 4", "**stop");
      await dialog.getByRole("button", { name: "Stop" }).click();
      await page.getByText("3 cards written, 1 not.").waitFor();
      await many.getByRole("button", { name: "Write 1 card" }).waitFor();
      expect(tags.map(textOn)).toEqual(["SNES/Star Garden.sfc", "**stop", "SNES/Super Game.sfc"]);
      expect(faults).toEqual([]);
    }),
  90_000,
);

remoteTest(
  "a mapping is made of the last card, tested by a tap, switched, deleted, and brought back",
  () =>
    unlessHeldUp(async () => {
      await forgetMappings();
      await using visit = await openCards("Mapper");
      const { page, faults } = visit;
      const list = region(page, "Rules for cards");
      await list.getByText("It is in the file toys.toml on the device.").waitFor();
      reader.put(ntag213("04f1f2f3f4f5f6"));
      await eventually(async () =>
        expect((await device.service.client.call("tokens")).last?.uid).toBe("04f1f2f3f4f5f6"),
      );
      reader.take();
      await gone();
      await list.getByRole("button", { name: "New rule" }).click();
      const dialog = page.getByRole("dialog", { name: "New rule" });
      await dialog.getByRole("button", { name: "Take the last card" }).click();
      await eventually(async () =>
        expect(await dialog.getByLabel("Value", { exact: true }).inputValue()).toBe("04f1f2f3f4f5f6"),
      );
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("override").waitFor();
      await dialog.getByLabel("What it starts instead").fill("SNES/Super Game.sfc");
      reader.put(ntag213("04f1f2f3f4f5f6"));
      await dialog.getByText("It starts Super Game, because of this rule.").waitFor();
      reader.take();
      await gone();
      await dialog.getByLabel("Lay a card").fill("04ff");
      await dialog.getByRole("button", { name: "Test" }).click();
      await dialog.getByText(/It starts Star Garden, because of “Star Garden”\./).waitFor();
      await look(page, "cards-editor");
      await dialog.getByRole("button", { name: "Save" }).click();
      await list.getByText("Its number (UID) is: 04f1f2f3f4f5f6").waitFor();
      reader.put(ntag213("04f1f2f3f4f5f6"));
      await plays("Super Game");
      reader.take();
      await gone();

      // The mapping of the file matches the same UID as this one.
      const { client } = device.service;
      const rule = { enabled: true, type: "uid", match: "exact", pattern: "04:FF" } as const;
      await client.call("mappings.new", { ...rule, label: "Twin", override: "**stop" });
      await page.reload();
      await list.getByText("3 rules, 1 without effect").waitFor();
      await list.getByText("Has no effect: “Twin” comes first and matches the same.").waitFor();
      await look(page, "cards-mappings");
      await list.getByRole("switch", { name: "Twin counts" }).uncheck();
      await list.getByText("3 rules", { exact: true }).waitFor();
      await list.getByRole("searchbox").fill("twin");
      await list.getByText("1 rule", { exact: true }).waitFor();
      await list.getByRole("button", { name: "Delete Twin" }).click();
      await list.getByText("0 rules", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Undo" }).click();
      await list.getByText("1 rule", { exact: true }).waitFor();
      const { mappings } = await client.call("mappings");
      expect(mappings.map(({ label, enabled }) => [label, enabled])).toEqual([
        ["", true],
        ["Twin", false],
        ["", true],
      ]);
      expect(faults).toEqual([]);
    }),
  90_000,
);

remoteTest(
  "mappings are saved as a file and read from one, all or none, with the lines that are wrong",
  async () => {
    const { client } = device.service;
    await forgetMappings();
    await client.call("mappings.new", {
      enabled: true,
      type: "uid",
      match: "exact",
      pattern: "04a1",
      override: "**stop",
    });
    await using visit = await openCards("Keeper");
    const { page, faults } = visit;
    const list = region(page, "Rules for cards");
    await list.getByText("As a file").click();
    const download = page.waitForEvent("download");
    await list.getByRole("button", { name: "Save as CSV" }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toBe("mappings.csv");
    const csv = await Bun.file(await saved.path()).text();
    expect(csv).toBe("enabled,label,type,match,pattern,override\r\ntrue,,uid,exact,04a1,**stop\r\n");
    const read = async (name: string, text: string, how: "Add" | "Replace") => {
      const file = { name, mimeType: "text/plain", buffer: Buffer.from(text) };
      await list.locator("input[type=file]").setInputFiles(file);
      await page.getByRole("dialog").getByRole("button", { name: how, exact: true }).click();
    };
    await read("wrong.csv", "type,pattern,override\nuid,05,x\nuid,04a1,y\nuid,04A1,z\n", "Add");
    await list.getByText("Nothing was changed.").waitFor();
    await list.getByText("Line 3: pattern: the mapping").waitFor();
    await list.getByText("Line 4: pattern: the mapping").waitFor();
    await look(page, "cards-import");
    const toml = '[[mapping]]\ntype = "text"\npattern = "a"\noverride = "SNES/Gone.sfc"\n';
    await read("good.toml", toml, "Replace");
    await list.getByText("1 rule added, 1 deleted.").waitFor();
    await list.getByText("Line 1: there is no file SNES/Gone.sfc below the media folders").waitFor();
    await list.getByText("Its text is: a").waitFor();
    await list.getByRole("button", { name: "Undo" }).click();
    await list.getByText("Its number (UID) is: 04a1").waitFor();
    expect((await client.call("mappings.export", { format: "csv" })).content).toBe(csv);
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the history pages, leaves one card, and plays again",
  async () => {
    const { client } = device.service;
    for (let number = 0; number < 25; number++)
      await client.call("launch", { uid: `05${number % 2}`, text: "SNES/Missing.sfc" });
    await client.call("launch", { uid: "0599", text: "SNES/Super Game.sfc" });
    await plays("Super Game");
    await using visit = await openCards("Historian");
    const { page, faults } = visit;
    const history = region(page, "History");
    const rows = history.getByRole("listitem");
    await rows
      .getByText(/there is no file SNES\/Missing\.sfc/)
      .first()
      .waitFor();
    expect(await rows.count()).toBe(15);
    await history.getByRole("button", { name: "Show more" }).click();
    await eventually(async () => expect(await rows.count()).toBeGreaterThan(25));
    await look(page, "cards-history");
    await history.getByRole("button", { name: "Only this card: 0599" }).click();
    await history.getByRole("button", { name: "All cards" }).waitFor();
    await eventually(async () => expect(await rows.count()).toBe(1));
    await client.call("stop");
    await plays(undefined);
    await rows.getByRole("button").first().click();
    await page.getByText("Starting Super Game").waitFor();
    await plays("Super Game");
    await history.getByRole("button", { name: "Played" }).click();
    await rows.getByText("Super Nintendo").first().waitFor();
    await client.call("stop");
    await plays(undefined);
    await rows
      .getByRole("button", { name: /^Super Game/ })
      .first()
      .click();
    await plays("Super Game");
    await client.call("stop");
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "cards are tiles, which say what they do, get another meaning, forget it, and become labels on paper",
  async () => {
    const { client } = device.service;
    await client.call("launch", { uid: "04c0ffee", text: "SNES/Super Game.sfc" });
    await client.call("launch", { uid: "04deca", text: "**stop" });
    // The text of a card may be the name of a property that every JavaScript object has.
    await client.call("launch", { uid: "04c0de", text: "constructor" }).catch(() => {});
    await using visit = await openCards("Collector");
    const { page, faults } = visit;
    const cards = region(page, "Your cards");
    const dialog = page.getByRole("dialog");
    const tile = (name: string) => cards.getByRole("button", { name, exact: true }).first();
    // The history calls an action by its name, as the tiles do.
    await region(page, "History")
      .getByRole("listitem")
      .filter({ has: page.getByRole("button", { name: "Only this card: 04deca" }) })
      .getByText("Stop", { exact: true })
      .waitFor();
    await tile("constructor").waitFor();
    await cards.getByRole("searchbox").fill("04c0ffee");
    await eventually(async () => expect(await cards.getByRole("listitem").count()).toBe(1));
    await tile("Super Game").click();
    await dialog.getByText("It starts Super Game.").waitFor();
    await dialog.getByText("On the card: SNES/Super Game.sfc").waitFor();
    await look(page, "card");
    await dialog.getByRole("button", { name: "Change what it does" }).click();
    await dialog.getByText("An action").click();
    await look(page, "card-change");
    await dialog.getByRole("button", { name: "Louder" }).click();
    await page.getByText("The card now means: Louder").waitFor();
    expect((await client.call("mappings")).mappings).toContainEqual(
      expect.objectContaining({ pattern: "04c0ffee", override: "**volume:+10", label: "Louder" }),
    );
    await tile("Louder").click();
    await dialog.getByText("This device remembers it").waitFor();
    await dialog.getByRole("button", { name: "Change what it does" }).click();
    await dialog.getByRole("searchbox").fill("super");
    await dialog.getByRole("button", { name: /^Put Super Game / }).click();
    await page.getByText("The card now means: Super Game").waitFor();
    await tile("Super Game").click();
    await dialog.getByRole("button", { name: "Forget" }).click();
    await page.getByText("Super Game is forgotten.").waitFor();
    expect((await client.call("mappings")).mappings.filter(({ pattern }) => pattern === "04c0ffee")).toEqual(
      [],
    );
    await cards.getByRole("searchbox").fill("");
    await tile("Stop").waitFor();
    await look(page, "cards-tiles");
    await page.evaluate(() => {
      globalThis.print = () => {};
    });
    await cards.getByRole("button", { name: "Print labels" }).click();
    await look(page, "labels");
    await dialog.getByRole("combobox").selectOption("round");
    await dialog.getByRole("button", { name: "Print", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.emulateMedia({ media: "print" });
    const label = page.locator(".sheet .label").filter({ hasText: "Super Game" }).first();
    await label.waitFor();
    const { width = 0, height = 0 } = (await label.boundingBox()) ?? {};
    // 30 mm at 96 pixels to the inch.
    expect([width, height].map(Math.round)).toEqual([113, 113]);
    expect(await page.getByRole("navigation").count()).toBe(0);
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await page.locator(".sheet").count()).toBe(0);
    await client.call("stop");
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "a press of Show more was lost while the list was loaded again",
  async () => {
    const { client } = device.service;
    for (let number = 0; number < 31; number++)
      await client.call("launch", { uid: "0600", text: "SNES/Missing.sfc" });
    await using visit = await openCards("Impatient");
    const history = region(visit.page, "History");
    const rows = history.getByRole("listitem");
    await eventually(async () => expect(await rows.count()).toBe(15));
    // Both presses are made in one task, and so the answer to the first one comes after the second press.
    await history.evaluate((card) => {
      for (const name of ["Cards", "Show more"])
        [...card.querySelectorAll("button")].find(({ textContent }) => textContent === name)?.click();
    });
    await eventually(async () => expect(await rows.count()).toBe(30));
  },
  60_000,
);

remoteTest(
  "a phone sees what is left of the play time, and the owner changes the limits on the device",
  async () => {
    await using visit = await openCards("Player");
    const { page } = visit;
    await goToPlace(page, "time");
    const limits = region(page, "Limits");
    await limits.getByText("An owner can change this.").waitFor();
    expect(await limits.getByRole("button", { name: "Save" }).count()).toBe(0);
    await using screen = await startChromium({}, device.network.onDevice);
    const own = await screen.browser.newPage();
    await own.goto("http://127.0.0.1:7497/#device/time");
    const form = region(own, "Limits");
    await form.getByLabel("Minutes per day").fill("90");
    const perSession = form.getByLabel("Minutes per session");
    const warnings = form.getByLabel("Warn this many");
    // The note of the service named the fields of the API, and words in the warnings were saved as no warning at all.
    for (const [field, wrong, right, note] of [
      [perSession, "-3", "0", "Type a number from 0 to 10080."],
      [perSession, "", "0", "Type a number from 0 to 10080."],
      [warnings, "ten", "10, 2", "Type a number from 1 to 10080."],
    ] as const) {
      await field.fill(wrong);
      await form.getByRole("button", { name: "Save" }).click();
      await own.getByText(note).last().waitFor();
      expect(await field.evaluate((one) => one === document.activeElement)).toBe(true);
      await field.fill(right);
    }
    expect(await own.getByText("Saved.").count()).toBe(0);
    await form.getByRole("button", { name: "Save" }).click();
    await own.getByText("Saved.").waitFor();
    await look(own, "device-time");
    await goToPlace(own, "sound");
    const loudest = own.getByRole("spinbutton", { name: "Highest volume", exact: true });
    await loudest.fill("60");
    await loudest.press("Enter");
    await eventually(async () =>
      expect((await device.service.client.call("playtime")).limits.volumeMax).toBe(60),
    );
    expect((await device.service.client.call("playtime")).limits).toMatchObject({
      dailyMinutes: 90,
      warningMinutes: [10, 2],
      volumeMax: 60,
      limitsEnabled: true,
    });
    await page.reload();
    await limits.getByText(/^Today: \d+ minutes? played, \d+ left$/).waitFor();
    await goToPlace(page, "sound");
    expect(await page.getByRole("spinbutton", { name: "Highest volume", exact: true }).inputValue()).toBe(
      "60",
    );
  },
  60_000,
);
