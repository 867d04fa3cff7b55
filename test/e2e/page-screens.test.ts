/**
 * Every screen of the page in real Chromium: its accessibility tree, the rules of axe-core, narrow windows, arrow keys alone, and the
 * page as an installed program.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { goTo, goToPlace, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port } from "../helpers/device.ts";
import { emulatedPn532, ntag213 } from "../helpers/emulated.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, faultsOf, look, openPage, region, settled, violations } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { root } from "../helpers/source-tree.ts";
import { firstReader, indexMedia, readerConfig, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const reader = emulatedPn532("real");
const device = deviceForAll(readerConfig(reader) + sleeper(".sfc", ".gba"), async ({ place, service }) => {
  for (const name of ["Star Garden", "Super Game"]) await place.file(`SNES/${name}.sfc`);
  await place.file("GBA/Boat.gba");
  await firstReader(service);
  await indexMedia(service.client);
  const launched = service.heard.next("launch.finished");
  await service.client.call("launch", { uid: "04a1b2c3", text: "GBA/Boat.gba" });
  await launched;
  await service.client.call("launch", "SNES/Super Game.sfc");
});
let phone: TestBrowser;
/** A browser on the device itself, which has all rights. */
let own: TestBrowser;
beforeAll(async () => {
  if (!canMakeNetworks) return;
  phone = await startChromium({}, device.network.onNeighbour);
  own = await startChromium({}, device.network.onDevice);
}, 120_000);
afterAll(async () => {
  await phone?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
  await reader[Symbol.asyncDispose]();
});

async function openOwn(width: number, height: number): Promise<Page> {
  const page = await own.browser.newPage({ viewport: { width, height }, locale: "en-US" });
  await page.goto(`http://127.0.0.1:${port}/`);
  await connected(page);
  return page;
}

/**
 * The wait is long enough for a screen that loads no further part. A check that comes too early sees less of it, and does
 * not fail.
 */
const shortMs = 80;

/** Shows each screen and each place that the page offers, and runs `use` once it no longer changes. */
async function onEachScreen(
  page: Page,
  use: (screen: string) => Promise<void>,
  quietMs?: number,
): Promise<void> {
  const screens = await page.locator("nav a").allTextContents();
  expect(screens.length).toBeGreaterThan(2);
  for (const screen of screens) {
    await goTo(page, screen);
    await settled(page, quietMs);
    await use(screen.toLowerCase());
  }
  await goTo(page, "Device");
  const places = await page
    .locator("main .places a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")?.split("/")[1] ?? ""));
  expect(places.length).toBeGreaterThan(5);
  for (const place of places) {
    await goToPlace(page, place);
    await settled(page, quietMs);
    await use(`device-${place}`);
  }
}

/** The tree without what differs between two runs or machines, and with the first six of many choices. */
const stable = (tree: string): string =>
  tree
    .concat("\n")
    .replace(/^( *)(- log "Log"):\n(?:\1 .*\n)*/m, "$1$2\n")
    .replace(/((?:^ +- option .*\n){6})(?:^ +- option .*\n)+/gm, "$1")
    .replace(/\/tmp\/[\w./-]+/g, "PATH")
    .replace(/\b\d+:\d\d\s[AP]M/g, "TIME")
    .replace(/\bfor \d+ \w+/g, "for A WHILE")
    .replace(/[\d.]+ [kMGT]B/g, "SIZE")
    .replace(/Tapdeck \d.*/g, "Tapdeck VERSION AND NAME")
    .replace(/listitem: Network .*/, "listitem: Network NAME AND ADDRESSES");

remoteTest(
  "the accessibility tree of each screen is that of its transcript",
  async () => {
    const page = await openOwn(390, 844);
    const compare = async (screen: string) => {
      const treeNow = async () =>
        stable(await page.locator(screen === "now" ? "body" : "main").ariaSnapshot());
      const path = join(root, "test/transcripts/page", `${screen}.yaml`);
      if (process.env.PAGE_TREES === "write") await Bun.write(path, await treeNow());
      const written = await Bun.file(path).text();
      // A reader may be connecting again at first.
      await eventually(async () => expect(await treeNow(), screen).toBe(written));
    };
    await onEachScreen(page, compare, shortMs);
    await page.close();
  },
  120_000, // A tree that differs is shown after 60 s.
);

/** The elements that make the page or a dialog wider than its place. */
const tooWide = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const all = [document.documentElement, ...document.querySelectorAll("dialog")];
    return all
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .flatMap((one) => {
        const edge = one.getBoundingClientRect().left + one.clientWidth;
        const outside = [...one.querySelectorAll("*")].filter(
          (child) => child.getBoundingClientRect().right > edge,
        );
        return [one, ...outside].map(({ outerHTML }) => outerHTML.slice(0, 200));
      });
  });

/** Runs in the page. */
const addressesOf = (links: readonly Element[]) =>
  links.map((one) => one.getAttribute("href")?.slice(1) ?? "");

/** Controls that open a dialog, by screen. A list opens one dialog after the other. They have other names in each language. */
const openers: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "now/find/star": [[".rows:not(.tiles) > li > button:not(.row, .corner)"]],
  "library/SNES": [[".corner", "dialog .acts > :last-child"]],
  cards: [
    [".cards .tiles button", "dialog .main"],
    [".cards > .bar button"],
    ["section:has(input[accept]) > .bar > .main"],
  ],
  "device/phones": [
    ["main .bar > .main"],
    ["main .bar > :last-child"],
    ["main .rows li .bar > :nth-last-child(2)"],
    ["main .rows li .bar > :last-child"],
  ],
};

remoteTest(
  "no screen and no dialog breaks a rule of axe-core in any language, or is wider than 320 pixels or a window at 200 %",
  async () => {
    const page = await openOwn(320, 640);
    const faults = faultsOf(page);
    const dialog = page.getByRole("dialog");
    const screens = await page.locator("nav a").evaluateAll(addressesOf);
    await goTo(page, "Device");
    const places = await page.locator("main .places a").evaluateAll(addressesOf);
    expect(places.length).toBeGreaterThan(5);
    const addresses = new Set([...screens, ...places, ...Object.keys(openers)]);
    const show = async (address: string) => {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, address);
      await page.locator("main:not([aria-busy])").waitFor();
      await settled(page, shortMs);
    };
    const found: string[] = [];
    const check = async (name: string, where = page) => {
      const broken = [...(await tooWide(where)), ...(await violations(where, "light", false))];
      found.push(...broken.map((what) => `${name}: ${what}`));
    };
    const unpaired = await phone.browser.newPage({ viewport: { width: 320, height: 640 } });
    await unpaired.goto(`http://${device.network.deviceAddress}:${port}/`);
    for (const language of ["en", "fr", "es", "pt", "ja", "de"]) {
      for (const one of [page, unpaired]) {
        await one.locator("#foot select").selectOption(language);
        await one.locator(`html[lang=${language}]`).waitFor();
      }
      await unpaired.locator("main form").waitFor();
      await check(`${language} unpaired`, unpaired);
      await connected(page);
      for (const address of addresses) {
        await show(address);
        await check(`${language} ${address}`);
        for (const path of openers[address] ?? []) {
          for (const opener of path) {
            // A click would wait for further frames.
            await page.locator(opener).first().dispatchEvent("click");
            await dialog.waitFor();
            await check(`${language} ${address} ${opener}`);
          }
          await page.keyboard.press("Escape");
          await dialog.waitFor({ state: "detached" });
        }
      }
    }
    // A window of 1280 pixels at 200 %; German has the longest words.
    await page.setViewportSize({ width: 640, height: 400 });
    for (const address of addresses) {
      await show(address);
      expect(await tooWide(page), address).toEqual([]);
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
    await unpaired.close();
  },
  180_000,
);

remoteTest(
  "axe-core finds nothing on any screen, in a dialog, or before the pairing, in light and dark",
  async () => {
    for (const [width, height, scheme] of [
      [390, 844, "light"],
      [1920, 1080, "dark"],
    ] as const) {
      const page = await openOwn(width, height);
      const faults = faultsOf(page);
      const check = async (screen: string) => {
        expect(await violations(page, scheme), screen).toEqual([]);
        await look(page, `screen-${screen}`);
      };
      await onEachScreen(page, check, shortMs);
      await goToPlace(page, "phones");
      await page.getByRole("button", { name: "Pair a phone" }).click();
      await page.getByRole("dialog").waitFor();
      expect(await violations(page, scheme)).toEqual([]);
      await look(page, "dialog");
      await page.keyboard.press("Escape");
      await goTo(page, "Now");
      await page.getByRole("searchbox").fill("star");
      await page.getByRole("button", { name: /^Star Garden/ }).waitFor();
      expect(await violations(page, scheme)).toEqual([]);
      expect(faults).toEqual([]);
      await page.close();
    }
    const page = await phone.browser.newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(`http://${device.network.deviceAddress}:${port}/`);
    await page.getByText("Not paired").waitFor();
    expect(await violations(page, "light")).toEqual([]);
    await look(page, "unpaired");
    await page.close();
  },
  180_000,
);

remoteTest("the last of the three controls of a phone stood alone in another line", async () => {
  await using _paired = await openPage(device, phone, "Torn");
  const page = await openOwn(1280, 800);
  await goToPlace(page, "phones");
  const controls = page.locator("main .rows li", { hasText: "Torn" }).locator("select, button");
  for (const language of ["en", "fr", "es", "pt", "ja", "de"]) {
    await page.locator("#foot select").selectOption(language);
    await page.locator(`html[lang=${language}]`).waitFor();
    await connected(page);
    await eventually(async () => expect(await controls.count()).toBe(3));
    const middles = await controls.evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => Math.round((top + bottom) / 2)),
    );
    expect([language, ...new Set(middles)]).toHaveLength(2);
  }
  await page.close();
});

remoteTest("the chosen words of a setting were cut off", async () => {
  const page = await openOwn(390, 844);
  for (const language of ["en", "fr", "es", "pt", "ja", "de"]) {
    await page.locator("#foot select").selectOption(language);
    await page.locator(`html[lang=${language}]`).waitFor();
    await connected(page);
    for (const place of ["sound", "readers", "media"]) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `device/${place}`);
      await page.locator("main:not([aria-busy]) .settings select").first().waitFor();
      const cut = await page.locator(".settings select").evaluateAll((lists) =>
        lists.flatMap((list) => {
          const before = list.getBoundingClientRect().width;
          // A list without a width is as wide as its longest choice.
          list.style.cssText = "width: max-content";
          const wanted = list.getBoundingClientRect().width;
          list.style.cssText = "";
          return wanted > before ? [list.textContent] : [];
        }),
      );
      expect([language, place, ...cut]).toEqual([language, place]);
    }
  }
  await page.close();
});

remoteTest("the hint in an empty field, which axe-core does not check, had a contrast of 3.7:1", async () => {
  const page = await openOwn(390, 844);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const [hint, quiet] = await page.getByRole("searchbox").evaluate((field) => {
      const caption = document.createElement("p");
      caption.style.color = "var(--quiet)";
      document.body.append(caption);
      const colors = [getComputedStyle(field, "::placeholder").color, getComputedStyle(caption).color];
      caption.remove();
      return colors;
    });
    expect([colorScheme, hint]).toEqual([colorScheme, quiet]);
  }
  await page.close();
});

remoteTest(
  "axe-core finds nothing in any dialog, in light and dark",
  async () => {
    const { client } = device.service;
    await client.call("mappings.new", {
      enabled: true,
      type: "uid",
      match: "exact",
      pattern: "04a1",
      override: "**stop",
    });
    const page = await openOwn(390, 844);
    const faults = faultsOf(page);
    const dialog = page.getByRole("dialog");
    const check = async (name: string) => {
      await dialog.waitFor();
      for (const scheme of ["light", "dark"] as const)
        expect(await violations(page, scheme), name).toEqual([]);
      await look(page, `dialog-${name}`);
    };
    const close = async () => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    };
    const press = (name: string | RegExp, within: Page | Locator = page) =>
      within.getByRole("button", { name, exact: true }).click();
    const choose = (card: string, name: string, text: string) =>
      region(page, card)
        .locator("input[type=file]")
        .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

    await page.getByRole("searchbox").fill("star");
    await press("Write Star Garden to a card");
    await check("write");
    await close();
    await goTo(page, "Cards");
    const many = region(page, "Write many cards");
    await many.getByText("Own text").click();
    await many.getByRole("textbox", { name: "Own text" }).fill("**stop");
    await press("Add the text", many);
    await press("Write 1 card");
    await check("write-many");
    await close();
    await press("New rule");
    await dialog.getByLabel("Value", { exact: true }).fill("04a1");
    await dialog.getByLabel("What it starts instead").fill("**stop");
    await press("Test", dialog);
    await dialog.getByText(/^It /).waitFor();
    await dialog.getByLabel("Value", { exact: true }).fill("");
    await press("Save", dialog);
    await dialog.getByRole("alert").getByText("pattern").waitFor();
    await check("mapping");
    await close();
    await page.getByText("As a file").click();
    await choose("Rules for cards", "cards.csv", "type,pattern,override\nuid,05,x\n");
    await check("import");
    await close();
    await goTo(page, "Library");
    await page.getByRole("link", { name: /^Super Nintendo/ }).click();
    await press("More about Star Garden");
    await check("file");
    await press("Delete", dialog);
    await dialog.getByText("Star Garden").waitFor();
    await check("delete");
    await close();
    await goToPlace(page, "phones");
    await press("Show a short code");
    await check("code");
    await close();
    await goToPlace(page, "backup");
    await region(page, "Backup").getByLabel("Passphrase (optional)").fill("correct horse");
    const downloading = page.waitForEvent("download");
    await press("Download a backup");
    const downloaded = await (await downloading).path();
    await region(page, "Backup").locator("input[type=file]").setInputFiles(downloaded);
    await check("restore");
    await close();
    expect(faults).toEqual([]);
    await page.close();
  },
  180_000,
);

/**
 * Runs in the page. Returns the visible controls by name and number, so a control that is rendered again keeps its key.
 */
const controlsInPage = `globalThis.controlsNow = () => {
  const within = document.querySelector("dialog[open]") ?? document;
  const found = [...within.querySelectorAll("button, input, select, textarea, summary, a[href], [tabindex='0']")]
    .filter((one) => !one.matches(":disabled") && one.checkVisibility({ visibilityProperty: true }));
  const named = new Map();
  for (const one of found) {
    const name = one.tagName + " " + (one.getAttribute("aria-label") ?? one.textContent).slice(0, 40);
    let number = 1;
    while (named.has(name + " " + number)) number += 1;
    named.set(name + " " + number, one);
  }
  return named;
}`;

/** The names of all controls in view, and of those that arrow keys alone reach. */
async function walk(page: Page): Promise<{ all: readonly string[]; reached: readonly string[] }> {
  await page.evaluate(controlsInPage);
  const focused = (): Promise<string> =>
    page.evaluate(
      "[...controlsNow()].find(([, one]) => one === document.activeElement)?.[0] ?? 'nothing: ' + document.activeElement?.outerHTML.slice(0, 80)",
    );
  await page.keyboard.press("ArrowDown");
  const reached = new Set([await focused()]);
  // The loop also visits the members that it adds to the set.
  for (const from of reached) {
    for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) {
      await page.evaluate(`controlsNow().get(${JSON.stringify(from)})?.focus()`);
      await page.keyboard.press(key);
      reached.add(await focused());
    }
  }
  const all: string[] = await page.evaluate("[...controlsNow().keys()]");
  return { all: all.sort(), reached: [...reached].sort() };
}

remoteTest(
  "arrow keys alone reach every control of every screen, and of a dialog, on a television and on a phone",
  async () => {
    for (const [width, height] of [
      [1920, 1080],
      [390, 844],
    ] as const) {
      const page = await openOwn(width, height);
      // A list whose end the walk brings into view loads more, and its button "Show more" goes: that is walked again.
      const walkAll = (name: string) =>
        eventually(async () => {
          const { all, reached } = await walk(page);
          expect(reached, `${name} at ${width}`).toEqual(all);
        });
      await onEachScreen(page, walkAll);
      await goToPlace(page, "phones");
      await page.getByRole("button", { name: "Pair a phone" }).click();
      await page.getByRole("dialog").waitFor();
      await walkAll("dialog");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.close();
    }
  },
  180_000,
);

remoteTest(
  "the focus stays on a visible control when its own goes away, and Enter opens a list that the arrows pass by",
  async () => {
    await using visit = await openPage(device, phone, "Remote", "en-US", {
      viewport: { width: 1920, height: 1080 },
    });
    const { page, faults } = visit;
    const hasFocus = () =>
      page.evaluate(() => {
        const { activeElement } = document;
        return activeElement !== document.body && activeElement?.checkVisibility() === true;
      });
    const stop = page.getByRole("button", { name: "Stop" });
    await stop.focus();
    await page.keyboard.press("Enter");
    await page.getByText("Nothing plays.").waitFor();
    expect(await hasFocus()).toBe(true);
    // The card on the reader has no meaning, so the page asks about it; the answer "Not now" removes the button.
    reader.put(ntag213("04d1d2d3d4d5d7"));
    const later = page.getByRole("button", { name: "Not now" });
    await later.focus();
    await page.keyboard.press("Enter");
    await later.waitFor({ state: "hidden" });
    expect(await hasFocus()).toBe(true);
    reader.take();
    const choice = page.getByLabel("Language");
    await choice.focus();
    await page.keyboard.press("ArrowUp");
    expect(await choice.inputValue()).toBe("en");
    expect(await choice.evaluate((one) => one === document.activeElement)).toBe(false);
    await choice.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByText("Es läuft nichts.").waitFor();
    expect(await page.getByLabel("Sprache").evaluate((one) => one === document.activeElement)).toBe(true);
    expect(faults).toEqual([]);
    await device.service.client.call("launch", "SNES/Super Game.sfc");
  },
  60_000,
);

remoteTest(
  "Chromium offers to install the page on the device",
  async () => {
    const page = await openOwn(390, 844);
    const session = await page.context().newCDPSession(page);
    const { errors, url } = await session.send("Page.getAppManifest");
    expect(errors).toEqual([]);
    expect(url).toMatch(/\/manifest-[a-z0-9]+\.webmanifest$/);
    await eventually(async () => {
      const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
      // The windows of this browser keep nothing, so the page cannot be installed from them.
      expect(installabilityErrors.map(({ errorId }) => errorId)).toEqual(["in-incognito"]);
    });
    await page.close();
  },
  60_000,
);
