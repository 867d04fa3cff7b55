/** Real Chromium: a page on another site reaches nothing of the service, and the device's own page works. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { type AttackResult, attack } from "../helpers/attack-page.ts";
import { goTo, goToPlace, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { port, startDevice } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { look } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { leadingWays, pathOf, serveStranger } from "../helpers/stranger.ts";
import {
  indexMedia,
  makePlace,
  noReaders,
  type Place,
  type Running,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const strangerScript = join(import.meta.dir, "../helpers/stranger.ts");
const localName = `${hostname().toLowerCase()}.local`;

let place: Place;
let service: Running;
let chromium: TestBrowser;
/** The web server of a stranger. */
let stranger: Bun.Server<undefined>;
/** The addresses of `rebinding.test`: the stranger's at first, the service's later, on one port. */
let rebinding: ReturnType<typeof forwardTo>;

beforeAll(async () => {
  place = await makePlace();
  const listen = `[api]\nport = ${place.port}\ntls_port = 0\nlisten = ["127.0.0.1", "::1"]\n`;
  await Bun.write(join(place.folder, "config.toml"), listen + noReaders + sleeper(".sfc"));
  await place.file("SNES/Game.sfc");
  service = await startTapdeck(place);
  stranger = serveStranger("127.0.0.1");
  rebinding = forwardTo(stranger.port ?? 0);
  chromium = await startChromium({
    "stranger.test": "127.0.0.1",
    "rebinding.test": "127.0.0.1",
    [localName]: "127.0.0.1",
  });
}, 90_000);
afterAll(async () => {
  await chromium[Symbol.asyncDispose]();
  rebinding.close();
  await stranger.stop(true);
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** A port that forwards to another port; the other port can be changed. */
function forwardTo(first: number) {
  let target = first;
  const pairs = new Map<unknown, { write(bytes: Uint8Array): unknown; end(): unknown }>();
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const waiting: Uint8Array[] = [];
        pairs.set(socket, { write: (bytes) => waiting.push(bytes), end: () => {} });
        void Bun.connect({
          hostname: "127.0.0.1",
          port: target,
          socket: {
            open(onward) {
              for (const bytes of waiting) onward.write(bytes);
              pairs.set(socket, onward);
            },
            data: (_, bytes) => void socket.write(bytes),
            close: () => void socket.end(),
          },
        });
      },
      data: (socket, bytes) => void pairs.get(socket)?.write(Uint8Array.from(bytes)),
      close: (socket) => void pairs.get(socket)?.end(),
    },
  });
  return {
    port: server.port,
    change(port: number) {
      target = port;
    },
    close: () => server.stop(true),
  };
}

async function nothingLaunched({ client, heard }: Running = service): Promise<void> {
  expect((await client.call("tokens.history")).entries).toEqual([]);
  expect(heard.names().filter((name) => name !== "media.indexing")).toEqual([]);
  expect((await client.call("media.active")) ?? null).toBeNull();
}

/** A page that reaches the device under a wrong name can read only this refusal. */
const refusal = /^this name is not one of this device/;

/** Attacks from pages of `site`, each of which tries `1 / parts` of all ways, and is preceded by `before`. */
async function attackFrom(
  browser: Browser,
  site: string,
  target: string,
  { attacked = service, parts = 1, before = () => {}, arrived = () => {} }: Attacked = {},
): Promise<void> {
  const streams: number[] = [];
  const results: AttackResult[] = [];
  for (let part = 0; part < parts; part++) {
    before();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(site);
    arrived();
    // An answered stream holds a place, whether the page can read it or not.
    page.on("response", (answer) => {
      if (answer.url().endsWith("/events")) streams.push(answer.status());
    });
    results.push(...(await page.evaluate(attack, { target, part, parts })));
    // A busy browser gets its last answers after the test has ended its attack on them.
    if (part === parts - 1)
      await eventually(() => expect([target, streams.length > 2]).toEqual([target, true]));
    await context.close();
  }
  expect([target, results.length > 40]).toEqual([target, true]);
  expect(streams.filter((status) => status !== 403)).toEqual([]);
  expect(results.filter(({ read }) => read !== "" && !refusal.test(read))).toEqual([]);
  await nothingLaunched(attacked);
}

interface Attacked {
  readonly attacked?: Running;
  readonly parts?: number;
  /** Runs before each page of the site is opened. */
  readonly before?: () => void;
  /** Runs when a page of the site was loaded. */
  readonly arrived?: () => void;
}

/** The button of the page that asks, once it can be pressed. */
async function enabledButton(page: Page): Promise<Locator> {
  const button = page.getByRole("button", { name: "Launch" });
  await button.and(page.locator(":enabled")).waitFor();
  return button;
}

/** Visits each page of the stranger that leads to a launch at `host` by itself, and waits until it arrived there. */
async function ledFrom(
  browser: Browser,
  site: string,
  host: string,
  { attacked = service, before = () => {} }: Attacked = {},
): Promise<void> {
  for (const way of leadingWays) {
    before();
    // Each is visited in a browser context of its own, because Chromium takes a script of the test for an act of the
    // visitor.
    const context = await browser.newContext();
    const target = `http://${host}/l/SNES/Game.sfc`;
    const arrived = context.waitForEvent("response", (answer) => answer.url().startsWith(target));
    const page = await context.newPage();
    await page.goto(site + pathOf(way, target), { waitUntil: "commit" });
    const answer = await arrived;
    expect([host, way, answer.status()]).toEqual([host, way, way === "form post" ? 403 : 200]);
    if (way === "href" || way === "redirect") await enabledButton(page);
    await context.close();
    await nothingLaunched(attacked);
  }
}

test("a page on another site launches, reads and hears nothing, by any way, on the device's own browser", async () => {
  const site = `http://stranger.test:${stranger.port}`;
  // For a name like the last one, browsers do not send the origin of a request.
  for (const host of ["127.0.0.1", "localhost", "[::1]", localName])
    await attackFrom(chromium.browser, site, `${host}:${place.port}`);
}, 120_000);

for (const host of ["127.0.0.1", "localhost", "[::1]", localName]) {
  test(`a page that leads its visitor to ${host === localName ? "the .local name" : host} launches nothing there`, async () => {
    const site = `http://stranger.test:${stranger.port}`;
    await ledFrom(chromium.browser, site, `${host}:${place.port}`);
  }, 120_000);
}

test("a page that leads its visitor to an unspecified address gets nowhere", async () => {
  for (const host of ["0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]"]) {
    const page = await chromium.browser.newPage();
    // The browser itself refuses some of these requests.
    const outcomes: (number | string)[] = [];
    page.on("response", (answer) => answer.url().includes("/l/") && outcomes.push(answer.status()));
    page.on(
      "requestfailed",
      (asked) => asked.url().includes("/l/") && outcomes.push(asked.failure()?.errorText ?? ""),
    );
    const target = `http://${host}:${place.port}/l/SNES/Game.sfc`;
    await page.goto(`http://stranger.test:${stranger.port}${pathOf("href", target)}`, {
      waitUntil: "commit",
    });
    await eventually(() => expect(outcomes.length).toBeGreaterThan(0));
    expect([
      host,
      outcomes.filter((outcome) => outcome !== 403 && outcome !== "net::ERR_ADDRESS_INVALID"),
    ]).toEqual([host, []]);
    await page.close();
    await nothingLaunched();
  }
});

test("the button stays disabled until its page was in view and at rest, and ignores the presses of scripts", async () => {
  const page = await chromium.browser.newPage();
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(1000);
  await page.goto(`http://127.0.0.1:${place.port}/l/SNES/Game.sfc`);
  const button = page.getByRole("button", { name: "Launch" });
  const isEnabled = () => button.isEnabled();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.clock.runFor(600);
  expect(await isEnabled()).toBe(false);
  // The second half of a double-click that began elsewhere falls on the disabled button, and postpones it.
  await button.click({ force: true });
  await page.clock.runFor(600);
  expect(await isEnabled()).toBe(false);
  await page.clock.runFor(200);
  expect(await isEnabled()).toBe(true);
  // Another window comes in front.
  const setFocus = (hasFocus: boolean) =>
    page.evaluate((has) => {
      document.hasFocus = () => has;
      dispatchEvent(new Event(has ? "focus" : "blur"));
    }, hasFocus);
  await setFocus(false);
  expect(await isEnabled()).toBe(false);
  await page.clock.runFor(5000);
  expect(await isEnabled()).toBe(false);
  await setFocus(true);
  await page.clock.runFor(600);
  expect(await isEnabled()).toBe(false);
  await page.clock.runFor(200);
  expect(await isEnabled()).toBe(true);
  // The page goes out of view.
  const setView = (state: string) =>
    page.evaluate((now) => {
      Object.defineProperty(document, "visibilityState", { value: now, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await setView("hidden");
  await page.clock.runFor(5000);
  expect(await isEnabled()).toBe(false);
  await setView("visible");
  await page.clock.runFor(800);
  expect(await isEnabled()).toBe(true);
  // A press by a script does not count.
  await page.evaluate(() => {
    const button = document.querySelector("button");
    button?.click();
    button?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  await page.evaluate(() => fetch("/ping").catch(() => {}));
  expect(asked).toEqual([`http://127.0.0.1:${place.port}/ping`]);
  await nothingLaunched();
  await page.close();
});

test("a name that changes to the device's address gets nothing, though the browser takes it for one site", async () => {
  rebinding.change(stranger.port ?? 0);
  const target = `rebinding.test:${rebinding.port}`;
  const page = await chromium.browser.newPage();
  await page.goto(`http://${target}/`);
  expect(await page.title()).toBe("Stranger");
  // Same origin: the browser itself allows all of this.
  await attackFrom(chromium.browser, `http://${target}`, target, {
    arrived: () => rebinding.change(place.port),
  });
  const seen = await page.evaluate(async () => {
    const answer = await fetch("/health");
    return { status: answer.status, text: await answer.text() };
  });
  expect(seen.status).toBe(403);
  expect(seen.text).toContain("this name is not one of this device");
  await page.close();
});

test("the device's own page works at loopback and by its .local name, and a link launches by its page's button", async () => {
  for (const host of [`127.0.0.1:${place.port}`, `${localName}:${place.port}`]) {
    const page = await chromium.browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(`http://${host}/`);
    await page.getByText("Connected", { exact: true }).waitFor();
    await goToPlace(page, "phones");
    await page.getByRole("button", { name: "Pair a phone" }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  }
  // Under this name the browser does not send the origin of the request.
  for (const host of ["127.0.0.1", "[::1]", localName]) {
    const page = await chromium.browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(`http://stranger.test:${stranger.port}/`);
    await page.evaluate((url) => {
      document.querySelector("a")?.setAttribute("href", url);
    }, `http://${host}:${place.port}/l/SNES/Game.sfc`);
    await page.click("#link");
    await page.getByText("SNES/Game.sfc").waitFor();
    await (await enabledButton(page)).click();
    await page.getByRole("heading", { name: "Launched." }).waitFor();
    expect(await page.getByRole("button").count()).toBe(0);
    await page.getByText("Nothing starts until").waitFor({ state: "hidden" });
    expect(faults.filter((fault) => !isIgnoredHeader.test(fault))).toEqual([]);
    await service.heard.next("media.started");
    await service.client.call("stop");
    await service.heard.next("media.stopped");
    await page.close();
  }
});

test("the page lists a playlist that a card opens, and marks the item that plays; a press starts another one", async () => {
  for (const name of ["One", "Two", "Three"]) await place.file(`SNES/List/${name}.sfc`);
  const page = await chromium.browser.newPage();
  await page.goto(`http://127.0.0.1:${place.port}/`);
  await page.getByText("Connected", { exact: true }).waitFor();
  const list = page.getByRole("region", { name: "Choose one" });
  expect(await list.isVisible()).toBe(false);
  await service.client.call("launch", "**playlist.open:SNES/List");
  await list.getByText("List · 3 in all").waitFor();
  expect(await list.getByRole("button").allTextContents()).toEqual(["1. One", "2. Three", "3. Two"]);
  await page.reload();
  await list.getByRole("button", { name: "2. Three" }).click();
  expect(await service.heard.next("media.started")).toMatchObject({ mediaName: "Three" });
  await list.waitFor({ state: "hidden" });
  const playing = page.getByRole("region", { name: "The list" });
  const current = playing.locator("[aria-current]");
  await current.getByText("2. Three").waitFor();
  await page.getByText(/^2 of 3 · /).waitFor();
  await playing.getByRole("button", { name: "3. Two" }).click();
  await current.getByText("3. Two").waitFor();
  await page.getByText(/^3 of 3 · /).waitFor();
  await look(page, "now-list");
  await service.client.call("stop");
  await playing.waitFor({ state: "hidden" });
  // A long list shows only the items around the one that plays.
  for (let at = 1; at <= 30; at++) await place.file(`SNES/Long/Track ${at}.sfc`);
  await service.client.call("launch", "**playlist.load:SNES/Long||**playlist.goto:10");
  await current.getByText("10. Track 10").waitFor();
  const items = playing.getByRole("listitem");
  expect([await items.count(), await items.first().textContent()]).toEqual([12, "8. Track 8"]);
  await playing.getByRole("button", { name: "Show more" }).click();
  await eventually(async () => expect(await items.count()).toBe(30));
  await service.client.call("stop");
  await playing.waitFor({ state: "hidden" });
  service.heard.forget();
  await page.close();
});

test("a launch that is refused after the press is explained on its page", async () => {
  const page = await chromium.browser.newPage();
  await page.goto(`http://127.0.0.1:${place.port}/l/**execute:true`);
  await (await enabledButton(page)).click();
  await page.getByText(/^Not launched: .*execute/).waitFor();
  // The launch may be tried again.
  await enabledButton(page);
  await page.close();
});

/** The console message for a header that Chromium ignores at addresses that it does not trust. */
const isIgnoredHeader = /^The Cross-Origin-Opener-Policy header has been ignored/;

remoteTest(
  "in a neighbour's browser a foreign page launches nothing of what is allowed from afar, and a press of the button does",
  async () => {
    await using device = await startDevice(
      `[api]\nallow_launch = ["SNES/.*"]\n${noReaders}${sleeper(".sfc")}`,
    );
    const { network, service } = device;
    await device.place.file("SNES/Game.sfc");
    await using children = new AsyncDisposableStack();
    const site = Bun.spawn(
      [...network.onNeighbour([process.execPath, strangerScript, network.neighbourAddress])],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    children.defer(async () => {
      site.kill();
      await site.exited;
    });
    const { value: strangerPort } = await linesOf(site.stdout).next();
    const names = { "stranger.test": network.neighbourAddress, [localName]: network.deviceAddress };
    await using phone = await startChromium(names, network.onNeighbour);
    const stranger = `http://stranger.test:${strangerPort}`;
    const sources = network.addNeighbourAddresses(50);
    for (const [family, address] of [
      [4, network.deviceAddress],
      [6, network.deviceAddress6],
    ] as const) {
      const left = [...sources[family]];
      // An address may ask 100 times a minute.
      const before = () => network.callAs(left.pop() ?? "", address);
      const target = family === 4 ? `${address}:${port}` : `[${address}]:${port}`;
      await attackFrom(phone.browser, stranger, target, { attacked: service, parts: 3, before });
      await ledFrom(phone.browser, stranger, target, { attacked: service, before });
    }

    for (const host of [network.deviceAddress, localName]) {
      const page = await phone.browser.newPage({ viewport: { width: 390, height: 844 } });
      await page.goto(`http://${host}:${port}/l/SNES/Game.sfc`);
      await (await enabledButton(page)).click();
      await page.getByRole("heading", { name: "Launched." }).waitFor();
      await service.heard.next("media.started");
      await service.client.call("stop");
      await service.heard.next("media.stopped");
      await page.close();
    }
    // A request that is not allowed is refused at once.
    const page = await phone.browser.newPage();
    await page.goto(`http://${network.deviceAddress}:${port}/l/GBA/Other.gba`);
    await page.getByText("remote launches are off, or not allowed for this text").waitFor();
    expect(await page.getByRole("button").count()).toBe(0);
  },
  240_000,
);

remoteTest(
  "a phone that follows a pairing link searches, launches and stops, and what it says is sealed",
  async () => {
    await using device = await startDevice(`${noReaders}[log]\ndebug = true\n${sleeper(".sfc")}`);
    const { network } = device;
    const { client } = device.service;
    await device.place.file("SNES/Game.sfc");
    await indexMedia(client);
    await using phone = await startChromium({ [localName]: network.deviceAddress }, network.onNeighbour);
    const { out: link } = await device.run("pair", "Phone", "--host", network.deviceAddress);
    const page = await phone.browser.newPage({ viewport: { width: 390, height: 844 } });
    const asked: string[] = [];
    const frames: string[] = [];
    page.on("request", (request) => asked.push(request.url() + JSON.stringify(request.headers())));
    page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => frames.push(String(payload)));
      socket.on("framereceived", ({ payload }) => frames.push(String(payload)));
    });
    await page.goto(link);
    await page.getByText("Connected", { exact: true }).waitFor();
    expect(page.url()).toBe(`http://${network.deviceAddress}:7497/`);
    // The page does not offer functions for the device only.
    await goToPlace(page, "readers");
    await page.getByRole("region", { name: "Readers" }).waitFor();
    expect(await page.locator('main a[href$="/phones"]').count()).toBe(0);
    await goTo(page, "Now");

    await page.getByRole("searchbox").fill("game");
    await page.getByRole("button", { name: /^Game/ }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Nothing plays.").waitFor();
    expect(frames.length).toBeGreaterThan(10);
    const sealed = /^(\{"v":2,("t":"[0-9a-f-]+",)?"e":"[^"]+"\}|\{"e":"[^"]+"\}|ping|pong)$/;
    expect(frames.filter((frame) => !sealed.test(frame))).toEqual([]);
    const secret = link.slice(-64);
    expect(asked.filter((one) => one.includes(secret))).toEqual([]);
    expect(device.log()).not.toContain(secret);

    // The page stays paired.
    await page.reload();
    await page.getByText("Connected", { exact: true }).waitFor();
    expect((await device.run("pair", "--revoke", "Phone")).code).toBe(0);
    await page.getByText("no longer knows this phone").waitFor();

    // The same page pairs by the code.
    const { code } = await client.call("pairing.open");
    const paired = client.call("pairing.wait");
    await page.getByLabel("The six digits").fill(code === "000000" ? "000001" : "000000");
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByText("2 tries are left").waitFor();
    await page.getByLabel("The six digits").fill(`${code.slice(0, 3)} ${code.slice(3)}`);
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    expect(await paired).toMatchObject({ reason: "paired" });

    // The phone pairs by the link that the device's screen shows: the page itself types the digits and removes them
    // from its address.
    expect(
      (await device.run("pair", "--revoke", (await client.call("clients")).clients[0]?.id ?? "")).code,
    ).toBe(0);
    await page.getByText("no longer knows this phone").waitFor();
    const { code: shown } = await client.call("pairing.open");
    await page.goto(`http://${network.deviceAddress}:7497/#code=${shown}`);
    await page.getByText("Connected", { exact: true }).waitFor();
    expect(page.url()).toBe(`http://${network.deviceAddress}:7497/`);

    // The device's name is another origin for the browser, which is not paired.
    await page.goto(`http://${localName}:7497/`);
    await page.getByLabel("The six digits").waitFor();
  },
  90_000,
);
