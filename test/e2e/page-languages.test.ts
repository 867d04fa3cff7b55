/**
 * Every text that the page shows has a key in the tables of its languages. This includes those of refusals, faults and
 * the history. The compiled service and real Chromium show each screen and many dialogs in German, with a mark around
 * each text of the tables.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { Client } from "../../src/client/client.ts";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port } from "../helpers/device.ts";
import { emulatedPn532, ntag213 } from "../helpers/emulated.ts";
import { markTexts, outsideMarks, textsSeen, withoutKey } from "../helpers/marked-page.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, settled } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { firstReader, indexMedia, readerConfig, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const reader = emulatedPn532("real");
const names = ["Star Garden", "Super Game", "Boat", "Own Words"];
const base = `${readerConfig(reader)}${sleeper(".sfc", ".gba")}
[mqtt]
url = "mqtt://127.0.0.1:9"
`;
const device = deviceForAll(base, async ({ place, service, config, stop, start }) => {
  for (const name of ["Star Garden", "Super Game"]) await place.file(`SNES/${name}.sfc`);
  await place.file("GBA/Boat.gba");
  await firstReader(service);
  await stop();
  const folders = JSON.stringify([join(place.folder, "media"), "/nowhere/media"]);
  await config(`${base}[systems]\nroot_folders = ${folders}\n`);
  await start();
});
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
  await reader[Symbol.asyncDispose]();
});

const german = { locale: "de-DE", viewport: { width: 390, height: 844 } };

async function openMarked(
  browser: TestBrowser,
  host: string,
): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.browser.newContext(german);
  await markTexts(context);
  const page = await context.newPage();
  await page.goto(`http://${host}:${port}/`);
  return { context, page };
}

/** Texts by keys are in marks. The result is the names and values that the page shows without marks. */
async function dataOf(client: Client): Promise<readonly string[]> {
  const facts = await client.call("device");
  const { settings } = await client.call("settings.describe");
  const { systems } = await client.call("uploads.systems");
  const { readers } = await client.call("readers");
  return [
    ...names,
    // Names of products, of units, of signs and of the languages, as in page-literals.test.ts.
    ...[
      "Tapdeck",
      "MQTT",
      "UID",
      "dBm",
      "https://",
      "mqtts://homeassistant.local:8883",
      "mqtt://homeassistant.local:1883",
      "CSV",
      "TOML",
    ],
    ...["English", "Deutsch", "Français", "Español", "Português", "日本語"],
    ...[facts.version, facts.name, device.place.folder, "/nowhere/media", "mqtt://127.0.0.1:9"],
    ...facts.networks.flatMap(({ name, addresses }) => [name, ...addresses]),
    ...facts.disks.flatMap(({ folders }) => folders),
    ...systems.flatMap(({ id, name }) => [id, name]),
    ...readers.flatMap(({ info, driver, path }) => [info, driver, path]),
    ...settings.flatMap(({ key, default: standard, value }) => [
      key,
      standard,
      ...[value ?? ""].flat().map(String),
    ]),
    ...typed,
  ];
}

/** Texts that this test types, sends and launches, which the page shows again. */
const typed = [
  ...[
    "SNES/Star Garden.sfc",
    "SNES/None.sfc",
    "Nowhere/None.sfc",
    "**nothing",
    "SNSE",
    "mappings.csv",
    "song.txt",
  ],
  ...["Pad", "KEY_A", "passwd", "None", "04a1b2c3", "04a1", "04a2", "one phone", "other phone", ".sfc"],
  // The name is the same in all languages.
  "Bluetooth",
];

async function expectKeys(page: Page): Promise<readonly string[]> {
  const seen = await textsSeen(page);
  expect(withoutKey(seen, await dataOf(device.service.client))).toEqual([]);
  return seen;
}

async function show(page: Page, address: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, address);
  await settled(page);
}

/** The history gets a launch of each kind of failure that cards of a household meet. */
async function failLaunches(client: Client): Promise<void> {
  const failures = ["SNES/None.sfc", "Nowhere/None.sfc", "**nothing", "/etc/passwd", "**playlist.next", ""];
  for (const text of failures) {
    const ended = Promise.withResolvers<void>();
    using _hearing = client.onNotification(({ method }) => method === "launch.finished" && ended.resolve());
    await client.call("launch", { text, uid: "04a1b2c3" });
    await ended.promise;
  }
}

const pressIn = async (place: Page | Locator, name: string) =>
  place
    .getByRole("button", { name: `⟦${name}⟧`, exact: true })
    .first()
    .click();

remoteTest(
  "every text of every screen and place, of the history and of faults has a key",
  async () => {
    const { client } = device.service;
    await indexMedia(client);
    await failLaunches(client);
    await client.call("launch", "SNES/Super Game.sfc");
    await eventually(async () => expect((await client.call("media.active"))?.mediaName).toBe("Super Game"));
    await client.call("media.favourites.update", { path: "SNES/Star Garden.sfc", favourite: true });
    reader.put(ntag213("04d1d2d3d4d5d6"));
    const { context, page } = await openMarked(own, "127.0.0.1");
    await connected(page);
    const places = [
      "sound",
      "buttons",
      "readers",
      "media",
      "network",
      "time",
      "phones",
      "backup",
      "update",
      "log",
      "about",
    ];
    const addresses = [
      "now",
      "now/find/star",
      "now/find/sstar",
      "library",
      "library/SNES",
      "cards",
      "device",
    ];
    for (const address of [...addresses, ...places.map((place) => `device/${place}`)])
      await show(page, address);
    for (const summary of await page.locator("summary").all()) await summary.click();
    await settled(page);
    const seen = await expectKeys(page);
    // The page has shown the faults of the folder and of the broker, and failed launches.
    const all = seen.join("\n");
    for (const word of ["/nowhere/media", "127.0.0.1, Port 9"]) expect(all).toContain(word);
    expect(seen.filter((text) => outsideMarks(text) !== text).length).toBeGreaterThan(250);
    // The collector of texts notices a literal.
    await page.evaluate(() => document.body.append("Stray words"));
    await expect(expectKeys(page)).rejects.toThrow("Stray words");
    reader.take();
    await context.close();
  },
  180_000,
);

remoteTest(
  "every refusal that the forms and dialogs of the page meet has a key",
  async () => {
    const { client } = device.service;
    await client.call("stop");
    await eventually(async () => expect(await client.call("media.active")).toBeNull());
    const { context, page } = await openMarked(own, "127.0.0.1");
    await connected(page);
    const dialog = page.getByRole("dialog");
    const close = async () => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    };
    const noted = async (words: string | RegExp) => page.getByText(words).first().waitFor();

    await show(page, "cards");
    await pressIn(page, "Neue Regel");
    await pressIn(dialog, "Speichern");
    await noted("Dieser Wert ist nicht erlaubt.");
    await dialog.locator("select").nth(1).selectOption("regex");
    await dialog.locator("input").nth(0).fill("a(b");
    await dialog.locator("input").nth(1).fill("**stop");
    await pressIn(dialog, "Speichern");
    await noted("Der reguläre Ausdruck ist ab Stelle");
    await close();
    await page.locator("details:has(input[accept]) summary").click();
    const rows = "type,pattern,override\nuid,04a1,**stop\nuid,04a1,**stop\nuid,04a2,SNES/None.sfc\n";
    const import_ = async (text: string) => {
      const input = page.locator("input[type=file][accept='.toml,.csv']");
      await input.setInputFiles({ name: "mappings.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    };
    await import_("type,pattern,override\nuid,,x\nwhat,a,b\n");
    await noted("⟦Zeile ⟦2⟧: ");
    await import_(rows);
    await noted("Eine andere Regel tut dasselbe");

    await show(page, "device/sound");
    await pressIn(page, "Bild aufnehmen");
    await noted("Nichts läuft, und das Gerät hat keinen Bildschirm.");
    await show(page, "device/time");
    const zone = page.locator("input[list=zones]");
    await zone.fill("Mars/Base");
    await zone.press("Enter");
    await noted("Dieser Wert ist hier nicht erlaubt.");
    await show(page, "device/readers");
    const blocked = page.locator("form input").first();
    await blocked.fill("SNSE");
    await blocked.press("Enter");
    await noted("Es gibt kein System SNSE.");

    await client.call("clients.new", { name: "one phone" });
    await client.call("clients.new", { name: "other phone" });
    await show(page, "device/phones");
    await page.getByText("⟦Umbenennen⟧").first().click();
    await dialog.locator("input").fill("other phone");
    await pressIn(dialog, "Speichern");
    await noted("Den Namen other phone gibt es schon.");
    await close();

    await show(page, "device/backup");
    const backup = page.locator("section:has(input[type=password]) input[type=file]");
    await backup.setInputFiles({ name: "song.txt", mimeType: "text/plain", buffer: Buffer.from("la la") });
    await noted("Diese Datei ist keine Sicherung von Tapdeck.");
    await page.locator("section input[type=password]").fill("short");
    await pressIn(page, "Sicherung herunterladen");
    await noted("Eine Passphrase hat");

    await client.call("buttons.save", { device: "Pad", key: "KEY_A", script: "**stop" });
    await show(page, "device/buttons");
    await page.locator("main li button").first().click();
    await pressIn(dialog, "Ändern, was sie tut");
    await page.locator("dialog input[type=search]").waitFor();
    await close();
    await pressIn(page, "Taste hinzufügen");
    await noted("Drücken Sie jetzt die Taste");
    await close();
    await noted("Es wurde keine Taste gedrückt.");

    await show(page, "device/network");
    await pressIn(page, "Prüfen");
    await noted("antwortet nichts");

    await show(page, "library");
    const picker = page.locator("input[type=file][multiple]");
    const again = {
      name: "Star Garden.sfc",
      mimeType: "application/octet-stream",
      buffer: Buffer.from("xy"),
    };
    await picker.setInputFiles(again);
    await noted("Schon vorhanden");
    await show(page, "cards");
    await expectKeys(page);
    await context.close();
  },
  180_000,
);

remoteTest(
  "a phone that pairs, and one that loses its device, read only texts with keys",
  async () => {
    const { context, page } = await openMarked(phone, device.network.deviceAddress);
    await page.locator("form input.code").waitFor();
    const type = async (digits: string) => {
      await page.locator("form input.code").fill(digits);
      await page.locator("form button").click();
    };
    await type("12 34");
    await page.getByRole("alert").getByText("sechs Ziffern ein").waitFor();
    await type("123 456");
    await page.getByText("Es ist keine Kopplung offen.").waitFor();
    const { code } = await device.service.client.call("pairing.open", { role: "owner" });
    await type(code === "123456" ? "654321" : "123456");
    await page.getByText("Übrige Versuche: 2.").waitFor();
    await type(code);
    await connected(page);
    await show(page, "device");
    await expectKeys(page);
    await device.stop();
    await page.getByText("Verbindung verloren").waitFor();
    await device.start();
    await connected(page);
    await expectKeys(page);
    await context.close();
  },
  120_000,
);
