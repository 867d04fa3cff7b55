/**
 * The tasks of a family on the page of a paired owner, over the sealed connection in real Chromium: on a phone by six clicks at
 * most, and on a television by arrow keys and Enter.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Download, Locator, Page } from "playwright-core";
import { mp3 } from "../helpers/audio-files.ts";
import { startChromium } from "../helpers/chromium.ts";
import { type Device, startDevice } from "../helpers/device.ts";
import {
  games,
  type Hand,
  type Home,
  media,
  plays,
  songs,
  stop,
  type Task,
  tasks,
} from "../helpers/family-tasks.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, faultsOf } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { imageCommand } from "../helpers/stand-in-image.ts";
import { firstReader, indexMedia, readerConfig, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const clicksMax = 6;
/**
 * This number is more than twice the number of keys that the longest task needs. A walk in circles soon exceeds this
 * number.
 */
const keysMax = 60;

const mpv = `
[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".mp3"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;

/** Starts a device as on the image, and pairs a phone with it as an owner, whose page has this size. */
async function makeHome(viewport: { readonly width: number; readonly height: number }): Promise<Home> {
  await using made = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-tasks-"));
  made.defer(() => rm(folder, { recursive: true }));
  const words = made.use(await readWords(join(folder, "requests")));
  const toml = readerConfig("simulated:") + mpv + sleeper(".sfc");
  const device = made.use(await startDevice(toml, imageCommand(folder)));
  const { client } = device.service;
  await fillLibrary(device);
  const [reader] = (await client.call("readers")).readers;
  const readerId = reader?.readerId ?? "";

  const { browser } = made.use(await startChromium({}, device.network.onNeighbour));
  const page = await browser.newPage({ viewport, locale: "en-GB" });
  const faults = faultsOf(page);
  const unsealed: string[] = [];
  let sealed = 0;
  page.on("websocket", (socket) => {
    const hear = ({ payload }: { readonly payload: string | Buffer }) => {
      // These are the handshake and the sealed messages, as docs/SECURE.md describes them.
      if (/^\{"(?:v":2,|e":"[\w+/=]+"\}$)/.test(`${payload}`)) sealed += 1;
      else if (!/^p[io]ng$/.test(`${payload}`)) unsealed.push(`${payload}`);
    };
    socket.on("framesent", hear);
    socket.on("framereceived", hear);
  });
  const downloads: Download[] = [];
  page.on("download", (download) => downloads.push(download));
  const host = device.network.deviceAddress;
  const { out: pairingLink } = await device.run("pair", "Mum", "--role", "owner", "--host", host);
  await page.goto(pairingLink);
  await connected(page);
  const whole = made.move();
  return {
    device,
    client,
    page,
    downloads,
    words: words.heard,
    sealed: () => sealed,
    get faults() {
      return [...faults, ...unsealed];
    },
    async lay(card) {
      const token = { ...card, readerId, duration: 3_600_000 };
      // On a busy machine, the driver may take its chip for dead, and then connects it again.
      await eventually(() => client.call("tokens.scan", token).then(() => true));
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** Reads the pipe in place of the root script of the image. */
async function readWords(pipe: string) {
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  const script = Bun.spawn(["sh", "-c", 'echo ready; exec cat <>"$1"', "sh", pipe], {
    stdin: "ignore",
    stdout: "pipe",
  });
  const heard: string[] = [];
  const read = async () => {
    for await (const word of linesOf(script.stdout)) heard.push(word);
  };
  const done = read();
  await eventually(() => heard.length === 1);
  return {
    heard,
    async [Symbol.asyncDispose]() {
      script.kill();
      await done;
    },
  };
}

async function fillLibrary(device: Device): Promise<void> {
  const { client } = device.service;
  for (const name of games) await device.place.file(`SNES/${name}.sfc`);
  for (const [at, title] of songs.entries()) {
    const tags = { title, artist: "Zoe & Band", album: "Nachtlieder", track: at + 1, disc: 1 };
    await Bun.write(media(device, `Audio/Nachtlieder/0${at + 1} ${title}.mp3`), mp3(tags, 200));
  }
  await firstReader(device.service);
  await indexMedia(client);
  // The tags of songs are read after the index exists.
  await eventually(async () =>
    expect((await client.call("media.search", { query: "zoe nachtlieder" })).total).toBe(songs.length),
  );
}

/** Nothing plays, and no card is on the reader. */
async function tidy(home: Home): Promise<void> {
  const { client } = home;
  await stop(home);
  const [card] = (await client.call("tokens")).active;
  if (card === undefined) return;
  // Scans the same card for a moment: the reader keeps it, and then the card is gone.
  const { uid, readerId } = card;
  await client.call("tokens.scan", { uid, readerId, duration: 1 });
  await eventually(async () => expect((await client.call("tokens")).active).toEqual([]));
  await stop(home);
}

/** Shows the screen Now without a dialog, a focus or a search. The page stays open, because the device limits requests. */
async function showNow({ page }: Home): Promise<void> {
  const search = page.getByRole("searchbox", { name: "Find a game, song or film" }).first();
  await eventually(async () => {
    await page.evaluate(() => {
      for (const dialog of document.querySelectorAll("dialog")) dialog.close();
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      location.hash = "#now";
    });
    await page.locator("main:not([aria-busy])").waitFor();
    await page.locator('nav a[href="#now"][aria-current=page]').waitFor();
    // A task that failed may have left its search, and every later one would fail as well.
    if ((await search.inputValue()) !== "") await search.fill("");
    expect(await search.inputValue()).toBe("");
  });
}

const hasFocus = (control: Locator) => control.evaluate((one) => one === document.activeElement);

/** A hand on a phone. */
function finger(page: Page): Hand {
  let clicks = 0;
  const press = async (control: Locator) => {
    await control.click();
    clicks += 1;
  };
  return {
    press,
    async type(field, text) {
      await field.waitFor();
      if (!(await hasFocus(field))) await press(field);
      await typeText(page, field, text);
      clicks += 1;
    },
    async choose(list, value) {
      // Two clicks: one opens the list, which the browser draws outside of the page, and one chooses.
      await list.selectOption(value);
      clicks += 2;
    },
    count: () => clicks,
  };
}

/** A hand with a remote control, which has arrow keys and Enter. */
function remote(page: Page): Hand {
  let keys = 0;
  const press = async (key: string) => {
    await page.keyboard.press(key);
    keys += 1;
  };
  const walkTo = async (control: Locator) => {
    await control.waitFor();
    const pressed: string[] = [];
    const noneTried = () => page.evaluateHandle(() => new WeakMap<Element, string[]>());
    let tried = await noneTried();
    const nameOf = (one: Locator) => one.evaluate((element) => element.outerHTML.slice(0, 120));
    for (let left = keysMax; ; left--) {
      const key = await control.evaluate(nextKey, tried);
      if (key === "there") return;
      // Results that arrive during the walk replace rows, and a key that led nowhere may lead on.
      if (key === "none") tried = await noneTried();
      if (left === 0) {
        const from = await nameOf(page.locator(":focus"));
        const way = pressed.join(" ");
        throw new Error(`arrow keys do not lead from ${from} to ${await nameOf(control)}: ${way}`);
      }
      if (key === "none") continue;
      await press(key);
      pressed.push(`${key} ${(await nameOf(page.locator(":focus"))).slice(0, 60)}`);
    }
  };
  return {
    async press(control) {
      await walkTo(control);
      await press("Enter");
    },
    async type(field, text) {
      await walkTo(field);
      await typeText(page, field, text);
      keys += 1;
    },
    async choose(list, value) {
      await walkTo(list);
      const steps = await list.evaluate((select, wanted) => {
        if (!(select instanceof HTMLSelectElement)) throw new Error("this is no list of choices");
        const options = [...select.options].filter(({ hidden }) => !hidden);
        return options.findIndex((one) => one.value === wanted) - options.findIndex((one) => one.selected);
      }, value);
      await press("Enter");
      for (let step = 0; step < Math.abs(steps); step++) await press(steps > 0 ? "ArrowDown" : "ArrowUp");
      await press("Enter");
    },
    count: () => keys,
  };
}

/** Types into the field that has the focus. */
async function typeText(page: Page, field: Locator, text: string): Promise<void> {
  expect(await hasFocus(field)).toBe(true);
  // The keys of a time depend on the language of the system.
  if ((await field.getAttribute("type")) === "time") return field.fill(text);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/**
 * Runs in the page. Returns the arrow key that leads towards the wanted control, or otherwise a key that was not tried
 * yet from the control with the focus. Returns `there` if the wanted control has the focus, and `none` after the last key
 * was tried.
 */
function nextKey(wanted: Element, tried: WeakMap<Element, string[]>): string {
  const from = document.activeElement ?? document.body;
  if (from === wanted) return "there";
  const start = from.getBoundingClientRect();
  const end = wanted.getBoundingClientRect();
  const keys: string[] = [];
  // From every edge of the page a key leads to the button of a note.
  if (wanted.closest("#notes") !== null) keys.push("ArrowRight");
  if (end.top >= start.bottom - 1) keys.push("ArrowDown");
  if (end.bottom <= start.top + 1) keys.push("ArrowUp");
  if (end.left >= start.right - 1) keys.push("ArrowRight");
  if (end.right <= start.left + 1) keys.push("ArrowLeft");
  keys.push("ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft");
  const before = tried.get(from) ?? [];
  // Left and right move the handle of a slider.
  const isSlider = from.matches("[type=range]");
  const key = keys.find((one) => !before.includes(one) && !(isSlider && /Left|Right/.test(one))) ?? "none";
  tried.set(from, [...before, key]);
  return key;
}

/** Does a task whose effect did not exist before. */
async function doTask(home: Home, { before, steps, done }: Task, hand: Hand): Promise<void> {
  await tidy(home);
  await before?.(home);
  await showNow(home);
  const faultsBefore = home.faults.length;
  await expect(done(home)).rejects.toThrow();
  await steps(hand, home);
  await eventually(() => done(home));
  expect(home.faults.slice(faultsBefore)).toEqual([]);
  expect(home.sealed()).toBeGreaterThan(0);
}

const parts = [
  {
    where: "on a phone, by six clicks at most, an owner can",
    viewport: { width: 390, height: 844 },
    handOf: finger,
    countMax: clicksMax,
  },
  {
    where: "on a television, by arrow keys and Enter, an owner can",
    viewport: { width: 1920, height: 1080 },
    handOf: remote,
    countMax: keysMax,
  },
];

test("the list has thirty tasks, each once", () => {
  expect(new Set(tasks.map(({ name }) => name)).size).toBe(30);
});

for (const { where, viewport, handOf, countMax } of parts) {
  describe(where, () => {
    let home: Home;
    beforeAll(async () => {
      if (canMakeNetworks) home = await makeHome(viewport);
    }, 120_000);
    afterAll(() => home?.[Symbol.asyncDispose]());

    for (const task of tasks) {
      remoteTest(
        task.name,
        async () => {
          const hand = handOf(home.page);
          await doTask(home, task, hand);
          expect(hand.count()).toBeLessThanOrEqual(countMax);
        },
        90_000,
      );
    }

    if (handOf !== remote) return;
    remoteTest(
      "reach the button of a note over the left and the lower edge of the page",
      async () => {
        const { client, page } = home;
        const note = page.getByRole("button", { name: "Did you mean Star Garden?" });
        for (const { edge, key } of [
          { edge: page.getByRole("link", { name: "Now", exact: true }), key: "ArrowLeft" },
          { edge: page.getByLabel("Language"), key: "ArrowDown" },
        ]) {
          await tidy(home);
          await showNow(home);
          await edge.focus();
          await client.call("launch", "SNES/Star Gardem.sfc");
          await note.waitFor();
          await page.keyboard.press(key);
          await page.keyboard.press("Enter");
          await note.waitFor({ state: "detached" });
          await eventually(() => plays(home, "Star Garden"));
        }
      },
      60_000,
    );
  });
}
