/**
 * The device's page in real Chromium, for callers with each set of rights. Every button that it shows works, and no
 * automatic request is refused.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { goTo, goToPlace, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port, tlsPort } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { firstReader, indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const config = (anonymous: string) =>
  `[api]\nanonymous = "${anonymous}"\n${noReaders}connect = ["simulated:"]\n${sleeper(".sfc")}`;

const device = deviceForAll(config("play"), async ({ place, service }) => {
  await place.file("SNES/Game.sfc");
  await firstReader(service);
  await indexMedia(service.client);
});
let phone: TestBrowser;
beforeAll(async () => {
  if (!canMakeNetworks) return;
  const { onNeighbour } = device.network;
  // Chromium aborts its requests (ERR_NETWORK_CHANGED) when the link-local address has passed its check for duplicates.
  const addresses = onNeighbour(["ip", "-6", "-oneline", "address", "show", "scope", "link"]);
  await eventually(async () => expect(await printed(addresses)).toMatch(/fe80:(?!.*tentative)/));
  phone = await startChromium({}, onNeighbour);
}, 120_000);
afterAll(() => phone?.[Symbol.asyncDispose]());

const http = () => `http://${device.network.deviceAddress}:${port}/`;
const https = () => `https://${device.network.deviceAddress}:${tlsPort}/`;

async function restartWith(anonymous: string): Promise<void> {
  await device.stop();
  await device.config(config(anonymous));
  await device.start();
  await firstReader(device.service);
}

interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Errors in the console, and uncaught ones. */
  readonly faults: readonly string[];
  /** Every note that the page has shown. */
  readonly notes: readonly string[];
}

/** Opens the page in a browser without stored data. */
async function open({ browser }: TestBrowser, url: string): Promise<Visit> {
  const viewport = { width: 390, height: 844 };
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport });
  const page = await context.newPage();
  const faults: string[] = [];
  const notes: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await page.exposeFunction("tellNote", (text: string) => void notes.push(text));
  await page.addInitScript(`addEventListener("DOMContentLoaded", () => {
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) tellNote(node.textContent);
    }).observe(document.getElementById("notes"), { childList: true });
  })`);
  await page.goto(url);
  return { page, faults, notes, [Symbol.asyncDispose]: () => context.close() };
}

const connected = (page: Page) => page.getByText("Connected", { exact: true }).waitFor();

/** The cards that the page shows on each screen, in their order. */
async function cardsOf(page: Page): Promise<Readonly<Record<string, readonly (string | null)[]>>> {
  const seen: Record<string, readonly (string | null)[]> = {};
  const cards = () =>
    page
      .locator("section:visible")
      .evaluateAll((sections) => sections.map((card) => card.getAttribute("aria-label")));
  const screens = await page.locator("nav a:visible").allTextContents();
  if (screens.length === 0) return { "": await cards() };
  for (const screen of screens) {
    await goTo(page, screen);
    seen[screen] = await cards();
  }
  const places = await page
    .locator("main .places a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  for (const place of places.map((href) => href?.split("/")[1] ?? "")) {
    await goToPlace(page, place);
    seen[place] = await cards();
  }
  await goTo(page, "Now");
  return seen;
}

/** Cards appear one after the other, as their answers come. */
const showsCards = (page: Page, cards: Readonly<Record<string, readonly string[]>>) =>
  eventually(async () => expect(await cardsOf(page)).toEqual(cards));

/** Each visible button, as `card: name`. Buttons of several rows that have one name are listed once. */
async function buttonsOf(page: Page): Promise<readonly string[]> {
  const names = await page.locator("button:visible").evaluateAll((buttons) =>
    buttons.map((button) => {
      const card = button.closest("section")?.getAttribute("aria-label") ?? "";
      const name = button.getAttribute("aria-label") ?? (button.querySelector(".name") ?? button).textContent;
      return `${card}: ${name}`;
    }),
  );
  return [...new Set(names)].sort();
}

/** The refusals in the audit log. */
async function refusals() {
  const { entries } = await device.service.client.call("audit", { limit: 100 });
  return entries.filter(({ event }) => event === "refused");
}

async function find(page: Page): Promise<void> {
  await page.getByRole("searchbox").fill("game");
  await page
    .locator("section", { has: page.getByRole("searchbox") })
    .locator("li")
    .first()
    .waitFor();
}

/** Presses a button that starts the game, and the one that stops it. */
async function startAndStop(page: Page, card: string): Promise<void> {
  await page.getByRole("region", { name: card }).getByRole("button", { name: /Game/ }).first().click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Nothing plays.").waitFor();
}

/** Presses a button that opens a dialog, and the dialog's last one. */
async function openAndClose(page: Page, button: string, last: string): Promise<void> {
  await page.getByRole("button", { name: button }).click();
  await page.getByRole("dialog").getByRole("button", { name: last }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

const library = ["Browse", "Library"];
const pairing = "Pair this phone to do more";
const lookCards = { Now: ["Now playing", "Search", "Systems"], Library: library };
const playCards = { Now: ["Now playing", "Play something", "Systems"], Library: library };
const changeCards = {
  Now: ["First steps", "Now playing", "Play something", "Played lately", "Systems", "Last taps", "Readers"],
  Library: ["Browse", "Add media", "Library"],
  Cards: ["Your cards", "Write many cards", "Rules for cards", "History"],
  Device: ["State of the device", "All of the device"],
  sound: ["Sound", "Quiet hours", "Television", "Picture of the screen"],
  readers: ["Readers", "Settings"],
  media: ["Media"],
  network: ["Network"],
  time: ["Limits", "Settings"],
  log: ["Log", "Settings"],
  about: ["About", "Settings in the file only"],
};
const ownCards = {
  ...changeCards,
  network: ["Network", "MQTT broker"],
  buttons: ["Buttons"],
  phones: ["Phones"],
  backup: ["Backup"],
  update: ["Restart and update"],
};
/** The same cards, and the one that leads to more rights. */
const withPairing = (cards: typeof lookCards) => ({ ...cards, Now: [...cards.Now, pairing] });
/** For callers with any right, the folders are links. */
const libraryButtons = ["Browse: Covers", "Browse: List"];
const playButtons = ["Play something: Game"];
const changeButtons = [
  "First steps: Not now",
  "Last taps: Game",
  ...playButtons,
  "Play something: More about Game",
  "Play something: Write Game to a card",
  "Played lately: Game",
  "Played lately: More about Game",
];

/** Without the right to change, the library has no button but those of its folders. */
async function onlyBrowses(page: Page): Promise<void> {
  await goTo(page, "Library");
  await page.getByRole("link", { name: /^Super Nintendo/ }).waitFor();
  // A screen that is shown again loads its rows again.
  await eventually(async () => expect(await buttonsOf(page)).toEqual(libraryButtons));
  await goTo(page, "Now");
}

/** A caller with the right `look` only: it can only open folders. */
async function onlyLooks({ page }: Visit): Promise<void> {
  await find(page);
  expect(await buttonsOf(page)).toEqual([]);
  await device.service.client.call("launch", "SNES/Game.sfc");
  await page.getByText(/· since/).waitFor();
  expect(await buttonsOf(page)).toEqual([]);
  await onlyBrowses(page);
  await device.service.client.call("stop");
  await page.getByText("Nothing plays.").waitFor();
}

async function plays({ page, notes }: Visit): Promise<void> {
  await find(page);
  expect(await buttonsOf(page)).toEqual(playButtons);
  await onlyBrowses(page);
  await startAndStop(page, "Play something");
  expect(notes).toEqual(["Asked the device to start it."]);
}

/** Presses all buttons that a member has. The page on the device itself has more buttons, which are not pressed. */
async function changes({ page, notes }: Visit): Promise<void> {
  await find(page);
  await startAndStop(page, "Play something");
  await page.getByText(/No card was tapped yet/).waitFor({ state: "detached" });
  // Cards can be written once the reader is there, perhaps after the page.
  await page.getByRole("button", { name: "Write Game to a card" }).waitFor();
  await eventually(async () => expect(await buttonsOf(page)).toEqual(changeButtons));
  await startAndStop(page, "Last taps");
  await openAndClose(page, "Write Game to a card", "Cancel");
  await goTo(page, "Library");
  // The service looks for media by itself as it starts.
  await page.getByRole("button", { name: "Look for new media" }).waitFor();
  await page.getByRole("link", { name: /^Super Nintendo/ }).waitFor();
  await eventually(async () =>
    expect(await buttonsOf(page)).toEqual([
      ...["Add media: Choose a folder", "Add media: Choose files"],
      ...[...libraryButtons, "Library: Look for new media"],
    ]),
  );
  device.service.heard.forget();
  const indexed = device.service.heard.next("media.indexing", ({ indexing }) => !indexing);
  await page.getByRole("button", { name: "Look for new media" }).click();
  await indexed;
  await page.getByRole("button", { name: "Look for new media" }).waitFor();
  expect(notes).toEqual(["Starting Game"]);
}

const strangers = [
  ["look", withPairing(lookCards), onlyLooks],
  ["play", withPairing(playCards), plays],
  ["change", changeCards, changes],
] as const;

for (const [anonymous, cards, use] of strangers) {
  remoteTest(
    `with api.anonymous = "${anonymous}", a stranger over https sees buttons that work, and no others`,
    async () => {
      await restartWith(anonymous);
      const before = await refusals();
      await using visit = await open(phone, https());
      await connected(visit.page);
      expect(await cardsOf(visit.page)).toEqual(cards);
      await use(visit);
      expect(visit.faults).toEqual([]);
      expect(await refusals()).toEqual(before);
    },
    90_000,
  );
}

remoteTest(
  'with api.anonymous = "none", a stranger over https sees how to pair, and nothing was refused',
  async () => {
    await restartWith("none");
    const before = await refusals();
    await using visit = await open(phone, https());
    const { page, faults } = visit;
    await page.getByText("Not paired").waitFor();
    await showsCards(page, { "": ["Pair this phone"] });
    expect(await buttonsOf(page)).toEqual(["Pair this phone: Pair"]);
    // The browser asks for the digits before any request.
    await page.getByRole("button", { name: "Pair" }).click();
    expect(await page.getByLabel("The six digits").evaluate((input) => input.matches(":invalid"))).toBe(true);
    expect(await page.locator("[role=alert]").textContent()).toBe("");
    expect(faults).toEqual([]);
    expect(await refusals()).toEqual(before);
  },
  90_000,
);

for (const scheme of ["http", "https"] as const) {
  remoteTest(
    `a paired member over ${scheme} sees taps, readers and cards to write, and every button works`,
    async () => {
      // No rights come from api.anonymous.
      await restartWith("none");
      const { out: link } = await device.run("pair", `Member ${scheme}`);
      const before = await refusals();
      await using visit = await open(phone, (scheme === "http" ? http() : https()) + new URL(link).hash);
      await connected(visit.page);
      expect(await cardsOf(visit.page)).toEqual(changeCards);
      await changes(visit);
      expect(visit.faults).toEqual([]);
      expect(await refusals()).toEqual(before);
    },
    90_000,
  );
}

for (const scheme of ["http", "https"] as const) {
  remoteTest(
    `a paired player over ${scheme} plays, and sees how to become a member`,
    async () => {
      await restartWith("none");
      const { out: link } = await device.run("pair", `Player ${scheme}`, "--role", "player");
      const before = await refusals();
      await using visit = await open(phone, (scheme === "http" ? http() : https()) + new URL(link).hash);
      const { page } = visit;
      await connected(page);
      await showsCards(page, withPairing(playCards));
      await plays(visit);
      expect(visit.faults).toEqual([]);
      expect(await refusals()).toEqual(before);

      await page.getByText(pairing).click();
      await page.getByText("Paired as a player, this phone can start and stop media.").waitFor();
      const { code } = await device.service.client.call("pairing.open");
      await page.getByLabel("The six digits").fill(code);
      await page.getByRole("button", { name: "Pair", exact: true }).click();
      await page.getByRole("region", { name: "Last taps" }).waitFor();
      await showsCards(page, changeCards);
    },
    90_000,
  );
}

remoteTest(
  "on the device itself the page pairs and revokes phones, too, and every button works",
  async () => {
    await using own = await startChromium({}, device.network.onDevice);
    for (const { id } of (await device.service.client.call("clients")).clients)
      await device.service.client.call("clients.delete", { id });
    const before = await refusals();
    await using visit = await open(own, `http://127.0.0.1:${port}/`);
    const { page, notes, faults } = visit;
    await connected(page);
    await showsCards(page, ownCards);
    await changes(visit);
    await goToPlace(page, "readers");
    await page.getByText("For experts").click();
    const reader = (await device.service.client.call("settings")).reader.join();
    await page.getByRole("button", { name: `Remove ${reader}` }).waitFor();
    expect(await buttonsOf(page)).toEqual([
      "Settings: Add to Readers that are always opened",
      "Settings: Add to Systems without hold mode",
      `Settings: Remove ${reader}`,
    ]);
    for (const [place, names] of [
      ["backup", ["Backup: Download a backup", "Backup: Restore a backup"]],
      ["log", ["Log: Download"]],
      ["network", ["MQTT broker: Save"]],
      ["update", []],
    ] as const) {
      await goToPlace(page, place);
      expect(await buttonsOf(page)).toEqual([...names]);
    }
    await goToPlace(page, "phones");
    await page.getByText("No phone is paired yet.").waitFor();
    expect(await buttonsOf(page)).toEqual(["Phones: Pair a phone", "Phones: Show a short code"]);
    await page.getByLabel("Whose phone is it?").fill("Anna");
    await openAndClose(page, "Pair a phone", "Done");
    await openAndClose(page, "Show a short code", "Cancel");
    const revoke = async () => {
      await page.getByRole("button", { name: "Revoke Anna" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
      await page.getByText("No phone is paired yet.").waitFor();
    };
    await revoke();
    // A link that nobody has used is made again, and not restored.
    expect(notes).toEqual(["Starting Game", "Anna can no longer connect."]);
    expect(faults).toEqual([]);
    expect(await refusals()).toEqual(before);
  },
  90_000,
);

remoteTest(
  "a stranger over https pairs by the code, and is a stranger again once it was revoked",
  async () => {
    await restartWith("play");
    const { client } = device.service;
    await using visit = await open(phone, https());
    const { page, faults } = visit;
    await connected(page);
    await page.getByText(pairing).click();
    const { code } = await client.call("pairing.open");
    await page.getByLabel("The six digits").fill(code === "000000" ? "000001" : "000000");
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByText("2 tries are left").waitFor();
    await page.getByLabel("The six digits").fill(`${code.slice(0, 3)} ${code.slice(3)}`);
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByRole("region", { name: "Last taps" }).waitFor();
    await showsCards(page, changeCards);

    const revoke = async () => {
      for (const { id } of (await client.call("clients")).clients)
        await client.call("clients.delete", { id });
      await page.getByText("no longer knows this phone").waitFor();
    };
    await revoke();
    await page.reload();
    await connected(page);
    await showsCards(page, withPairing(playCards));

    // The open page pairs by the link that the device's screen shows.
    const { code: shown } = await client.call("pairing.open");
    await page.goto(`${https()}#code=${shown}`);
    await page.getByRole("region", { name: "Last taps" }).waitFor();
    expect(page.url()).toBe(https());
    await revoke();
    expect(faults).toEqual([]);
  },
  90_000,
);

remoteTest(
  "the owner's page changes the role of a phone, whose open page follows at once",
  async () => {
    await restartWith("none");
    const { out: link } = await device.run("pair", "Ben", "--host", device.network.deviceAddress);
    await using visit = await open(phone, link);
    await connected(visit.page);
    await using own = await startChromium({}, device.network.onDevice);
    await using owner = await open(own, `http://127.0.0.1:${port}/#device/phones`);
    const role = owner.page.getByLabel("Role of Ben");
    await role.selectOption("Player");
    await owner.page.getByText("Ben: Player").waitFor();
    await visit.page.getByText("Paired as a player").waitFor({ state: "attached" });
    await showsCards(visit.page, withPairing(playCards));
    expect(await role.inputValue()).toBe("player");
    expect((await device.run("pair", "--change", "Ben", "--role", "member")).out).toBe("Ben is a member now");
    await visit.page.getByRole("region", { name: "Last taps" }).waitFor();
    await showsCards(visit.page, changeCards);
    const { entries } = await device.service.client.call("audit", { limit: 10 });
    expect(entries.filter(({ event }) => event === "role-changed").map(({ role }) => role)).toEqual([
      "member",
      "player",
    ]);
    expect([...visit.faults, ...owner.faults]).toEqual([]);
  },
  90_000,
);

remoteTest(
  "a page that stays open shows what the rights are after the service was restarted",
  async () => {
    await restartWith("look");
    await using visit = await open(phone, https());
    const { page } = visit;
    await connected(page);
    await showsCards(page, withPairing(lookCards));
    await restartWith("play");
    await page.getByRole("region", { name: "Play something" }).waitFor();
    await restartWith("none");
    await page.getByText("Not paired").waitFor();
    await showsCards(page, { "": ["Pair this phone"] });
  },
  90_000,
);
