/**
 * Thirty tasks of a family on the page of an owner, for each kind of hand: the state at the beginning, the way from the
 * screen Now, and the effect on the device.
 */
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Download, Locator, Page } from "playwright-core";
import type { Client } from "../../src/client/client.ts";
import { type Device, pairByCode, port } from "./device.ts";
import { region } from "./page-visit.ts";
import { eventually } from "./processes.ts";

/** The hand of a person: on a phone, or with a remote control. */
export interface Hand {
  press(control: Locator): Promise<void>;
  /** Replaces the text of a field, and ends it with Enter. */
  type(field: Locator, text: string): Promise<void>;
  /** Chooses an option of a list by its value. */
  choose(list: Locator, value: string): Promise<void>;
  /** The number of clicks or keys so far. A text counts as one. */
  count(): number;
}

interface LaidCard {
  readonly uid: string;
  readonly text?: string;
}

/** A device as on the image, and the page of its owner. */
export interface Home extends AsyncDisposable {
  readonly device: Device;
  readonly client: Client;
  readonly page: Page;
  readonly downloads: readonly Download[];
  /** Errors of the page, and frames of its connection that are not sealed. */
  readonly faults: readonly string[];
  /** The number of sealed frames so far. */
  sealed(): number;
  /** The words that the service has sent to the root script of the image. */
  readonly words: readonly string[];
  lay(card: LaidCard): Promise<void>;
}

export interface Task {
  readonly name: string;
  /** Makes the state with which the task begins. */
  readonly before?: (home: Home) => Promise<unknown>;
  /** The steps of a person from the screen Now. */
  readonly steps: (hand: Hand, home: Home) => Promise<void>;
  /** Rejects until the task has its effect. */
  readonly done: (home: Home) => Promise<void>;
}

/** The files of the system SNES. */
export const games = ["Star Garden", "Super Game", "Boat Race", "Old Game", "Lost Game"];
/** The tracks of the only album. */
export const songs = ["Der Mond", "Die Sterne", "Das Licht"];
const superNintendo = "Super Nintendo Entertainment System";

const button = (within: Page | Locator, name: string | RegExp) =>
  within.getByRole("button", { name, exact: true }).first();
const link = (within: Page | Locator, name: string | RegExp) => within.getByRole("link", { name }).first();
const dialog = (page: Page) => page.getByRole("dialog");

async function openScreen(hand: Hand, page: Page, screen: "Library" | "Cards" | "Device"): Promise<void> {
  await hand.press(page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: screen }));
}

async function openPlace(hand: Hand, page: Page, place: string): Promise<void> {
  await openScreen(hand, page, "Device");
  await hand.press(page.locator(`main .places a[href$="/${place}"]:visible`));
}

/** Opens the folder of the games in the library. */
async function openGames(hand: Hand, page: Page): Promise<Locator> {
  await openScreen(hand, page, "Library");
  const browse = region(page, "Browse");
  await hand.press(link(browse, superNintendo));
  return browse;
}

export async function plays({ client }: Home, name: string): Promise<void> {
  expect((await client.call("media.active"))?.mediaName).toBe(name);
}

async function sees(shown: Locator): Promise<void> {
  expect(await shown.first().isVisible()).toBe(true);
}

async function start({ client }: Home, text: string): Promise<void> {
  await client.call("launch", text);
  await eventually(async () => expect(await client.call("media.active")).not.toBeNull());
}

export async function stop({ client }: Home): Promise<void> {
  await client.call("stop");
  await eventually(async () => expect(await client.call("media.active")).toBeNull());
}

async function phoneOf({ client }: Home, name: string) {
  return (await client.call("clients")).clients.find((one) => one.name === name);
}

async function isWritten({ device }: Home, uid: string): Promise<void> {
  const written = device.service.heard.all.map((one) => one.method === "tokens.written" && one.params.uid);
  expect(written).toContain(uid);
}

const addPhone = ({ client }: Home, name: string) => client.call("clients.new", { name, role: "member" });

const addCard = ({ client }: Home, pattern: string, label: string) =>
  client.call("mappings.new", {
    enabled: true,
    label,
    type: "uid",
    match: "exact",
    pattern,
    override: "SNES/Boat Race.sfc",
  });

async function meaningOf({ client }: Home, pattern: string) {
  return (await client.call("mappings")).mappings.find((one) => one.pattern === pattern)?.override;
}

const playing: readonly Task[] = [
  {
    name: "start a game by its cover",
    async steps(hand, { page }) {
      await hand.press(link(region(page, "Systems"), superNintendo));
      await hand.press(button(region(page, "Browse"), "Star Garden"));
    },
    done: (home) => plays(home, "Star Garden"),
  },
  {
    name: "stop what plays",
    before: (home) => start(home, "SNES/Super Game.sfc"),
    steps: (hand, { page }) => hand.press(button(region(page, "Now playing"), "Stop")),
    async done({ client }) {
      expect(await client.call("media.active")).toBeNull();
    },
  },
  {
    name: "search a song and play it",
    async steps(hand, { page }) {
      const search = region(page, "Play something");
      await hand.type(search.getByRole("searchbox"), "licht");
      await hand.press(button(search, /^Das Licht/));
    },
    done: (home) => plays(home, "03 Das Licht"),
  },
  {
    name: "open an album and play its second track",
    async steps(hand, { page }) {
      const browse = region(page, "Browse");
      await openScreen(hand, page, "Library");
      await hand.press(link(browse, /^Audio/));
      await hand.press(link(browse, "Nachtlieder"));
      await hand.press(button(browse, "Die Sterne"));
    },
    done: (home) => plays(home, "02 Die Sterne"),
  },
  {
    name: "pause a song",
    before: (home) => start(home, "Audio/Nachtlieder/01 Der Mond.mp3"),
    steps: (hand, { page }) => hand.press(button(region(page, "Now playing"), "Pause")),
    async done({ client }) {
      expect(await client.call("media.active")).toMatchObject({ playbackState: "paused" });
    },
  },
  {
    name: "let a game stop in 30 minutes",
    before: (home) => start(home, "SNES/Super Game.sfc"),
    steps: (hand, { page }) => hand.choose(page.getByLabel("Sleep timer"), "30"),
    async done({ client }) {
      const { endsAt = "" } = await client.call("sleep");
      const minutes = (Date.parse(endsAt) - Date.now()) / 60_000;
      // The list also has 15 and 60 minutes, and neither must have been chosen.
      expect(minutes).toBeGreaterThan(15);
      expect(minutes).toBeLessThan(60);
    },
  },
  {
    name: "make a game a favourite",
    async steps(hand, { page }) {
      const browse = await openGames(hand, page);
      await hand.press(button(browse, "More about Star Garden"));
      await hand.press(button(dialog(page), "Add to the favourites"));
    },
    async done({ client }) {
      expect((await client.call("media.favourites")).favourites).toContainEqual(
        expect.objectContaining({ path: "SNES/Star Garden.sfc" }),
      );
    },
  },
  {
    name: "find a game among the favourites and start it",
    before: ({ client }) =>
      client.call("media.favourites.update", { path: "SNES/Boat Race.sfc", favourite: true }),
    steps: (hand, { page }) => hand.press(button(region(page, "Favourites"), "Boat Race")),
    done: (home) => plays(home, "Boat Race"),
  },
  {
    name: "play again what was played lately",
    async before(home) {
      await start(home, "SNES/Super Game.sfc");
      await stop(home);
    },
    steps: (hand, { page }) => hand.press(button(region(page, "Played lately"), "Super Game")),
    done: (home) => plays(home, "Super Game"),
  },
  {
    name: "delete a game",
    async steps(hand, { page }) {
      const browse = await openGames(hand, page);
      await hand.press(button(browse, "More about Old Game"));
      await hand.press(button(page.getByRole("dialog", { name: "Old Game" }), "Delete"));
      await hand.press(button(page.getByRole("dialog", { name: "Delete" }), "Delete"));
    },
    async done({ device }) {
      expect(existsSync(media(device, "SNES/Old Game.sfc"))).toBe(false);
    },
  },
  {
    name: "move a game to another system",
    async steps(hand, { page }) {
      const browse = await openGames(hand, page);
      await hand.press(button(browse, "More about Lost Game"));
      await hand.choose(dialog(page).getByLabel("Move to"), "SNESMSU1");
      await hand.press(button(dialog(page), "Move"));
    },
    async done({ device }) {
      expect(existsSync(media(device, "SNESMSU1/Lost Game.sfc"))).toBe(true);
    },
  },
];

const ofCards: readonly Task[] = [
  {
    name: "start again what the last card started",
    async before(home) {
      await home.lay({ uid: "04a10000000001", text: "SNES/Boat Race.sfc" });
      await eventually(() => plays(home, "Boat Race"));
      await stop(home);
    },
    steps: (hand, { page }) => hand.press(button(region(page, "Last taps"), /^Boat Race/)),
    done: (home) => plays(home, "Boat Race"),
  },
  {
    name: "give a new card a game",
    before: (home) => home.lay({ uid: "04a10000000002" }),
    async steps(hand, { page }) {
      const card = region(page, "New card");
      await hand.type(card.getByRole("searchbox"), "super");
      await hand.press(button(card, /^Put Super Game /));
      await page.getByText("Written: Super Game").waitFor();
    },
    done: (home) => isWritten(home, "04a10000000002"),
  },
  {
    name: "write a card for a game",
    async steps(hand, { page, lay }) {
      const search = region(page, "Play something");
      await hand.type(search.getByRole("searchbox"), "star");
      await hand.press(button(search, "Write Star Garden to a card"));
      await dialog(page).getByText("Lay a card on the reader").waitFor();
      await lay({ uid: "04a10000000003" });
      await page.getByText("Written: Star Garden").waitFor();
    },
    done: (home) => isWritten(home, "04a10000000003"),
  },
  {
    name: "change what a card does",
    before: (home) => addCard(home, "04a10000000004", "Blue card"),
    async steps(hand, { page }) {
      await openScreen(hand, page, "Cards");
      await hand.press(button(region(page, "Your cards"), "Blue card"));
      await hand.press(button(dialog(page), "Change what it does"));
      await hand.press(dialog(page).getByText("An action"));
      await hand.press(button(dialog(page), "Louder"));
    },
    async done(home) {
      expect(await meaningOf(home, "04a10000000004")).toBe("**volume:+10");
    },
  },
  {
    name: "forget a card",
    before: (home) => addCard(home, "04a10000000005", "Red card"),
    async steps(hand, { page }) {
      await openScreen(hand, page, "Cards");
      await hand.press(button(region(page, "Your cards"), "Red card"));
      await hand.press(button(dialog(page), "Forget"));
    },
    async done(home) {
      expect(await meaningOf(home, "04a10000000005")).toBeUndefined();
    },
  },
];

const ofDevice: readonly Task[] = [
  {
    name: "limit the play time of a day, and make the limits count",
    before: ({ client }) => client.call("playtime.limits.update", { limitsEnabled: false }),
    async steps(hand, { page }) {
      const limits = region(page, "Limits");
      await openPlace(hand, page, "time");
      await hand.press(limits.getByRole("switch", { name: "The limits count" }));
      await hand.type(limits.getByLabel("Minutes per day"), "45");
      await hand.press(button(limits, "Save"));
    },
    async done({ client }) {
      const { limits } = await client.call("playtime");
      expect(limits).toMatchObject({ limitsEnabled: true, dailyMinutes: 45 });
    },
  },
  {
    name: "set the highest volume",
    async steps(hand, { page }) {
      await openPlace(hand, page, "sound");
      await hand.type(page.getByLabel("Highest volume", { exact: true }), "60");
    },
    async done({ client }) {
      expect((await client.call("playtime")).limits.volumeMax).toBe(60);
    },
  },
  {
    name: "set quiet hours",
    async steps(hand, { page }) {
      await openPlace(hand, page, "sound");
      await hand.type(page.getByLabel("Quiet hours from"), "20:30");
      await hand.type(page.getByLabel("Quiet hours until"), "07:00");
    },
    async done({ client }) {
      expect(await client.call("settings")).toMatchObject({ quietFrom: "20:30", quietUntil: "07:00" });
    },
  },
  {
    name: "set the language of the television",
    async steps(hand, { page }) {
      await openPlace(hand, page, "sound");
      await hand.choose(page.getByLabel("Language of the television"), "fr");
    },
    async done({ client }) {
      expect((await client.call("settings")).televisionLanguage).toBe("fr");
    },
  },
  {
    name: "rename a phone",
    before: (home) => addPhone(home, "Iphone"),
    async steps(hand, { page }) {
      await openPlace(hand, page, "phones");
      await hand.press(button(page, "Rename Iphone"));
      await hand.type(dialog(page).getByLabel("New name"), "Lena's phone");
      await hand.press(button(dialog(page), "Save"));
    },
    async done(home) {
      expect(await phoneOf(home, "Lena's phone")).toBeDefined();
    },
  },
  {
    name: "change the role of a phone",
    before: (home) => addPhone(home, "Grandma"),
    async steps(hand, { page }) {
      await openPlace(hand, page, "phones");
      await hand.choose(page.getByLabel("Role of Grandma"), "player");
    },
    async done(home) {
      expect((await phoneOf(home, "Grandma"))?.role).toBe("player");
    },
  },
  {
    name: "revoke a phone, and take it back",
    before: (home) => addPhone(home, "Ben"),
    async steps(hand, { page }) {
      await openPlace(hand, page, "phones");
      await hand.press(button(page, "Revoke Ben"));
      await hand.press(button(dialog(page), "Revoke"));
      await hand.press(button(page, "Undo"));
    },
    async done(home) {
      const { entries } = await home.client.call("audit", { limit: 100 });
      expect(entries).toContainEqual(expect.objectContaining({ event: "revoked", name: "Ben" }));
      expect(await phoneOf(home, "Ben")).toBeDefined();
    },
  },
  {
    name: "pair another phone by a code",
    async steps(hand, { page, device }) {
      await openPlace(hand, page, "phones");
      await hand.press(button(page, "Show a short code"));
      const code = await dialog(page).locator(".code").textContent();
      await pairByCode(device.network, device.url, code?.replace(" ", "") ?? "");
    },
    async done(home) {
      expect(await phoneOf(home, "tablet")).toBeDefined();
    },
  },
  {
    name: "make a backup",
    async steps(hand, { page }) {
      await openPlace(hand, page, "backup");
      await hand.press(button(page, "Download a backup"));
    },
    async done({ downloads: [download] }) {
      expect(download?.suggestedFilename()).toMatch(/^tapdeck-[\d-]+\.tapdeck$/);
      expect((await stat((await download?.path()) ?? "")).size).toBeGreaterThan(100);
    },
  },
  {
    name: "look for an update at an address",
    async steps(hand, { page }) {
      await openPlace(hand, page, "update");
      await hand.press(button(page, "Update"));
      await hand.type(
        dialog(page).getByLabel("Address of the update"),
        `http://127.0.0.1:${port}/new.update`,
      );
      await hand.press(button(dialog(page), "Update"));
    },
    done: ({ page }) => sees(page.getByText("the server answered 404")),
  },
  {
    name: "restart the device",
    async steps(hand, { page }) {
      await openPlace(hand, page, "update");
      await hand.press(button(page, "Restart the device"));
      await hand.press(button(dialog(page), "Restart the device"));
    },
    async done({ words }) {
      expect(words).toContain("restart");
    },
  },
  {
    name: "switch off",
    async steps(hand, { page }) {
      await openPlace(hand, page, "update");
      await hand.press(button(page, "Switch off"));
      await hand.press(button(dialog(page), "Switch off"));
    },
    async done({ words }) {
      expect(words).toContain("shutdown");
    },
  },
  {
    name: "see in the warnings of the log that a card is blank",
    before: ({ lay }) => lay({ uid: "04a10000000006" }),
    async steps(hand, { page }) {
      await openPlace(hand, page, "log");
      await hand.choose(region(page, "Log").getByLabel("Lines", { exact: true }), "warn");
    },
    async done({ page }) {
      const lines = await region(page, "Log").getByRole("listitem").allTextContents();
      expect(lines.filter((line) => line.includes("uid=04a10000000006"))).not.toEqual([]);
      expect(lines.filter((line) => line.includes("service: listening"))).toEqual([]);
    },
  },
  {
    name: "see how much space is free",
    steps: (hand, { page }) => openPlace(hand, page, "about"),
    done: ({ page }) => sees(region(page, "About").getByText(/^[\d.]+ [GT]B of [\d.]+ [GT]B free · \//)),
  },
];

export const tasks: readonly Task[] = [...playing, ...ofCards, ...ofDevice];

/** The whole path of a file below the media folder. */
export const media = ({ place }: Pick<Device, "place">, path: string) => join(place.folder, "media", path);
