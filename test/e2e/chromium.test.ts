/** Real Chromium: a page on another site reaches nothing of the service, and the device's own page does what it is for. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { hostname } from "node:os";
import type { Page } from "playwright-core";
import { attack } from "../helpers/attack-page.ts";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, type Place, type Running, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const localName = `${hostname().toLowerCase()}.local`;

/** How a page leads its visitor elsewhere without being asked: the HTML of it, by its path. */
const ways: Readonly<Record<string, (url: string) => string>> = {
  assign: (url) => `<script>location.assign("${url}")</script>`,
  form: (url) => `<form action="${url}"></form><script>document.forms[0].submit()</script>`,
  refresh: (url) => `<meta http-equiv="refresh" content="0;url=${url}">`,
};

let place: Place;
let service: Running;
let chromium: TestBrowser;
/** A web server of somebody else's. */
let stranger: Bun.Server<undefined>;
/** What `rebinding.test` leads to: the stranger at first, the service later, on one port. */
let rebinding: ReturnType<typeof forwardTo>;

beforeAll(async () => {
  place = await makePlace(noReaders + sleeper(".sfc"));
  await place.file("SNES/Game.sfc");
  service = await startTapdeck(place);
  stranger = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url }) {
      const { pathname, search } = new URL(url);
      const body = ways[pathname.slice(1)]?.(decodeURIComponent(search.slice(1))) ?? "";
      const html = `<!doctype html><title>Stranger</title><body><a id="link">A link</a>${body}`;
      return new Response(html, { headers: { "content-type": "text/html", connection: "close" } });
    },
  });
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

/** A port whose bytes go to another one, which may change. */
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

async function nothingLaunched(): Promise<void> {
  expect((await service.client.call("tokens.history")).entries).toEqual([]);
  expect(service.heard.names().filter((name) => name !== "media.indexing")).toEqual([]);
  expect((await service.client.call("media.active")) ?? null).toBeNull();
}

/** What a page of a wrong name may read: that it is one. */
const refusal = /^this name is not one of this device/;

async function attackFrom(page: Page, target: string): Promise<void> {
  // A stream that is answered holds a place, whether the page can read it or not.
  const streams: number[] = [];
  page.on("response", (answer) => {
    if (answer.url().endsWith("/events")) streams.push(answer.status());
  });
  const results = await page.evaluate(attack, target);
  await eventually(() => streams.length > 2);
  expect(streams.filter((status) => status !== 403)).toEqual([]);
  expect(results.length).toBeGreaterThan(20);
  expect(results.filter(({ read }) => read !== "" && !refusal.test(read))).toEqual([]);
  await nothingLaunched();
}

test("a page on another site launches, reads and hears nothing, by any way, on the device's own browser", async () => {
  const page = await chromium.browser.newPage();
  await page.goto(`http://stranger.test:${stranger.port}/`);
  await attackFrom(page, `127.0.0.1:${place.port}`);
  await attackFrom(page, `localhost:${place.port}`);
  // To a name like this one browsers do not say where a request comes from.
  await attackFrom(page, `${localName}:${place.port}`);
  await page.close();
  // Leading its visitor there by itself is no link that somebody follows. In a page of its own, for what a test runs inside
  // of a page counts as its visitor's doing.
  for (const way of Object.keys(ways)) {
    const page = await chromium.browser.newPage();
    const arrived = page.waitForResponse((answer) =>
      answer.url().startsWith(`http://127.0.0.1:${place.port}/l/`),
    );
    const target = `http://127.0.0.1:${place.port}/l/SNES/Game.sfc`;
    await page.goto(`http://stranger.test:${stranger.port}/${way}?${target}`, { waitUntil: "commit" });
    expect([way, (await arrived).status()]).toEqual([way, 403]);
    await page.close();
    await nothingLaunched();
  }
});

test("a name that changes to the device's address gets nothing, though the browser takes it for one site", async () => {
  const page = await chromium.browser.newPage();
  rebinding.change(stranger.port ?? 0);
  await page.goto(`http://rebinding.test:${rebinding.port}/`);
  expect(await page.title()).toBe("Stranger");
  rebinding.change(place.port);
  // Same origin: the browser itself stops nothing of this.
  await attackFrom(page, `rebinding.test:${rebinding.port}`);
  const seen = await page.evaluate(async () => {
    const answer = await fetch("/health");
    return { status: answer.status, text: await answer.text() };
  });
  expect(seen.status).toBe(403);
  expect(seen.text).toContain("this name is not one of this device");
  await page.close();
});

test("the device's own page works at loopback and by its .local name, and a link that is followed launches", async () => {
  for (const host of [`127.0.0.1:${place.port}`, `${localName}:${place.port}`]) {
    const page = await chromium.browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(`http://${host}/`);
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pair a phone" }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  }
  // By the name the browser says nothing of who follows it, and a page of the device's stands between.
  for (const host of ["127.0.0.1", localName]) {
    const page = await chromium.browser.newPage();
    await page.goto(`http://stranger.test:${stranger.port}/`);
    await page.evaluate((url) => {
      document.querySelector("a")?.setAttribute("href", url);
    }, `http://${host}:${place.port}/l/SNES/Game.sfc`);
    await page.click("#link");
    await page.getByText("Launched.").waitFor();
    await service.heard.next("media.started");
    await service.client.call("stop");
    await service.heard.next("media.stopped");
    await page.close();
  }
});

remoteTest(
  "a phone that follows a pairing link searches, launches and stops, and what it says is sealed",
  async () => {
    await using device = await startDevice(`${noReaders}[log]\ndebug = true\n${sleeper(".sfc")}`);
    const { network } = device;
    const { client } = device.service;
    await device.place.file("SNES/Game.sfc");
    await client.call("media.index", {});
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
    // What is for the device itself is not offered.
    expect(await page.getByRole("button", { name: "Pair a phone" }).count()).toBe(0);

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

    // It stays paired.
    await page.reload();
    await page.getByText("Connected", { exact: true }).waitFor();
    expect((await device.run("pair", "--revoke", "Phone")).code).toBe(0);
    await page.getByText("no longer knows this phone").waitFor();

    // By the code, from the same page.
    const { code } = await client.call("pairing.open");
    const paired = client.call("pairing.wait");
    await page.getByLabel("The six digits").fill(code === "000000" ? "000001" : "000000");
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByText("2 tries are left").waitFor();
    await page.getByLabel("The six digits").fill(`${code.slice(0, 3)} ${code.slice(3)}`);
    await page.getByRole("button", { name: "Pair" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    expect(await paired).toMatchObject({ reason: "paired" });

    // By the link that the device's screen shows: the digits are typed by the page itself, and leave its address.
    expect(
      (await device.run("pair", "--revoke", (await client.call("clients")).clients[0]?.id ?? "")).code,
    ).toBe(0);
    await page.getByText("no longer knows this phone").waitFor();
    const { code: shown } = await client.call("pairing.open");
    await page.goto(`http://${network.deviceAddress}:7497/#code=${shown}`);
    await page.getByText("Connected", { exact: true }).waitFor();
    expect(page.url()).toBe(`http://${network.deviceAddress}:7497/`);

    // By its name, too; that is another address to the browser, and not paired.
    await page.goto(`http://${localName}:7497/`);
    await page.getByLabel("The six digits").waitFor();
  },
  90_000,
);
