/** The HTTP side, against the compiled binary: POST, the event stream, the launch endpoint, and who is turned away. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

let place: Place;
let service: Running;
let base: string;

beforeAll(async () => {
  place = await makePlace(`allowed_origins = ["https://cards.example"]
${noReaders}`);
  service = await startTapdeck(place);
  base = `http://127.0.0.1:${place.port}`;
  // Soon after its start it makes the index by itself: those events are over.
  await service.heard.next("media.indexing", ({ exists, indexing }) => exists && !indexing);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const post = (body: BodyInit, headers: Record<string, string> = {}, path = "/api/v0.1") =>
  fetch(`${base}${path}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
const request = (method: string, params?: unknown, id: unknown = "1") =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

test("POST of a request is answered in the body, on each of the paths", async () => {
  for (const path of ["/api/v0.1", "/api/v0", "/api/", "/api"]) {
    const answer = await post(request("version"), {}, path);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: "1", result: { platform: "linux" } });
  }
});

test("POST of a batch is answered by a batch, of a notification by 204", async () => {
  const batch = await post(`[${request("version", null, 1)},${request("nonsense", null, 2)}]`);
  const answers = (await batch.json()) as readonly { id: number }[];
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  const note = await post(JSON.stringify({ jsonrpc: "2.0", method: "stop" }));
  expect([note.status, await note.text()]).toEqual([204, ""]);
});

test("POST of anything but JSON is refused with 415, of more than 1 MiB with 413", async () => {
  expect((await post(request("version"), { "content-type": "text/plain" })).status).toBe(415);
  expect((await post(`"${"x".repeat(1024 * 1024)}"`)).status).toBe(413);
  const justFits = await post(`"${"x".repeat(1024 * 1024 - 2)}"`);
  expect([justFits.status, ((await justFits.json()) as { error: { code: number } }).error.code]).toEqual([
    200, -32600,
  ]);
});

test("an unknown version path answers 404, another verb 405", async () => {
  expect((await fetch(`${base}/api/v9`)).status).toBe(404);
  expect((await fetch(`${base}/api/v0.1`, { method: "PUT" })).status).toBe(405);
  expect((await fetch(`${base}/api/v0.1`)).status).toBe(426);
});

test("the heartbeat and health answer over HTTP", async () => {
  const ping = await fetch(`${base}/ping`);
  expect([ping.status, await ping.text()]).toEqual([200, "pong"]);
  const health = await fetch(`${base}/health`);
  expect([health.status, await health.text()]).toEqual([200, "OK"]);
});

test("a foreign Host, and a foreign Origin, are refused on every path", async () => {
  for (const path of ["/api/v0.1", "/ping", "/l/x", "/api/v0.1/events"]) {
    const host = await fetch(`${base}${path}`, { headers: { host: "evil.example" } });
    const origin = await fetch(`${base}${path}`, { headers: { origin: "https://evil.example" } });
    expect([path, host.status, origin.status]).toEqual([path, 403, 403]);
  }
  const allowed = await fetch(`${base}/ping`, { headers: { origin: "https://cards.example" } });
  expect(allowed.status).toBe(200);
});

test("events come as they happen, with ids, and a listener that comes back hears what it missed", async () => {
  const first = await openEvents();
  await launch("**delay:1?n=1");
  const heard = await first.take(2);
  expect(heard.map(({ method }) => method)).toEqual(["running", "launch.finished"]);
  await first.close();

  await launch("**delay:2?n=2");
  await service.heard.next("launch.finished", ({ text }) => text.startsWith("**delay:2"));
  const second = await openEvents(first.lastId());
  const missed = await second.take(2);
  expect(missed.map(({ params }) => params.text)).toEqual(["**delay:2?n=2", "**delay:2?n=2"]);
  await second.close();
});

test("of what a listener missed, the last 256 are kept", async () => {
  const first = await openEvents();
  await launch("**delay:3?n=0");
  await first.take(2);
  await first.close();
  for (let n = 1; n <= 150; n++) await launch(`**delay:1?n=${n}`);
  await service.heard.next("launch.finished", ({ text }) => text === "**delay:1?n=150");
  const second = await openEvents(first.lastId());
  const missed = await second.take(256);
  expect(missed.at(-1)?.params.text).toBe("**delay:1?n=150");
  await second.close();
});

test("an id of an earlier run of the service replays all that is kept", async () => {
  const stream = await openEvents("before-17");
  expect(await stream.take(3)).toHaveLength(3);
  await stream.close();
});

test("a GET of /l/ launches its text, percent-decoded once, the query string being part of it", async () => {
  for (const prefix of ["/l/", "/run/", "/r/"]) {
    const answer = await fetch(`${base}${prefix}**delay:1?why=a%2526b&x=1`);
    expect([answer.status, await answer.text()]).toEqual([200, '{"launched":true}']);
    const { script } = await service.heard.next("running", ({ text }) => text.includes("why="));
    expect(script).toBe("**delay:1?why=a%26b&x=1");
  }
});

test("a browser gets a page", async () => {
  const answer = await fetch(`${base}/l/**delay:1`, { headers: { accept: "text/html,*/*" } });
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(await answer.text()).toContain("Launched");
});

test("an empty text and a badly encoded one are refused with 400", async () => {
  for (const path of ["/l/", "/l/%20", "/l/%zz", "/l/%ff"]) {
    expect([path, (await fetch(`${base}${path}`)).status]).toEqual([path, 400]);
  }
});

test("nothing that happens in the background of a page launches", async () => {
  const count = () => service.heard.names().filter((name) => name === "running").length;
  const before = count();
  const refused: readonly [number, RequestInit][] = [
    [405, { method: "HEAD" }],
    [405, { method: "POST" }],
    [403, { headers: { "sec-purpose": "prefetch" } }],
    [403, { headers: { purpose: "prefetch" } }],
    [403, { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } }],
    [403, { headers: { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" } }],
    [403, { headers: { "sec-fetch-site": "cross-site" } }],
    [
      403,
      {
        headers: {
          "sec-fetch-site": "cross-site",
          "sec-fetch-mode": "navigate",
          "sec-fetch-dest": "iframe",
        },
      },
    ],
    [
      403,
      {
        headers: {
          "sec-fetch-site": "cross-site",
          "sec-fetch-mode": "navigate",
          "sec-fetch-dest": "document",
          "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
        },
      },
    ],
    [403, { headers: { origin: "https://evil.example" } }],
  ];
  for (const [status, init] of refused) {
    expect([init, (await fetch(`${base}/l/**delay:1`, init)).status]).toEqual([init, status]);
  }
  await service.client.call("version");
  expect(count()).toBe(before);
  const followed = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  expect((await fetch(`${base}/l/**delay:1`, { headers: followed })).status).toBe(200);
});

test("a browser that says nothing of where it comes from gets a page that no frame shows, and that launches", async () => {
  const browser = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)", accept: "text/html" };
  const ask = (headers: Record<string, string>) => fetch(`${base}/l/**delay:2`, { headers });
  service.heard.forget();
  const answer = await ask(browser);
  expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(await answer.text()).toContain("x-tapdeck-launch");
  await service.client.call("version");
  expect(service.heard.all.some(({ params }) => "text" in params && params.text === "**delay:2")).toBe(false);
  await ask({ ...browser, "x-tapdeck-launch": "1" });
  await service.heard.next("running", ({ text }) => text === "**delay:2");
});

async function launch(text: string): Promise<void> {
  // The queue holds 64; whoever is faster than it waits for it.
  for (;;) {
    const answer = await post(request("launch", text));
    if ("result" in ((await answer.json()) as object)) return;
    await Bun.sleep(5);
  }
}

interface Event {
  readonly method: string;
  readonly params: { readonly text: string };
}

async function openEvents(lastEventId?: string) {
  const controller = new AbortController();
  const answer = await fetch(`${base}/api/v0.1/events`, {
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
    signal: controller.signal,
  });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let lastId = "";
  const events: Event[] = [];
  const read = async () => {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) throw new Error("the stream has ended");
    const blocks = (rest + chunk.value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      lastId = /^id: (.*)$/m.exec(block)?.[1] ?? lastId;
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) events.push(JSON.parse(data));
    }
  };
  await read();
  return {
    async take(count: number): Promise<readonly Event[]> {
      while (events.length < count) await read();
      return events.splice(0, count);
    },
    lastId: () => lastId,
    close: async () => controller.abort(),
  };
}
