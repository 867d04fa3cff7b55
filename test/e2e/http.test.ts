/** The HTTP side, against the compiled binary: POST, the event stream, the launch endpoint, and refused callers. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { untrustedLaunchesMax } from "../../src/core/limits.ts";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

let place: Place;
let service: Running;
let base: string;

beforeAll(async () => {
  place = await makePlace(`allowed_origins = ["https://cards.example"]
${noReaders}`);
  service = await startTapdeck(place);
  base = `http://127.0.0.1:${place.port}`;
  // The service indexes media soon after its start, so the test waits for the end of these events.
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

test("POST of bytes that are not UTF-8 is no JSON, so no card with other letters is launched", async () => {
  const latin1 = Buffer.from(request("launch", "SNES/Café.sfc"), "latin1");
  const answer = await post(latin1);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      jsonrpc: "2.0",
      error: { code: -32700, message: "this is not UTF-8", data: { reason: "parse-error" } },
    },
  ]);
  expect((await service.client.call("tokens.history")).entries).toEqual([]);
});

test("POST of more than 1 MiB without its length is refused with 413 and a sentence, before it is read to its end", async () => {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      if (sent <= 32) controller.enqueue(new Uint8Array(64 * 1024));
      else controller.close();
    },
  });
  const answer = await post(body);
  expect([answer.status, await answer.text()]).toEqual([413, "a message has at most 1048576 bytes\n"]);
});

test("an unknown version path answers 404, another verb 405", async () => {
  for (const method of ["GET", "POST", "PUT"])
    expect([method, (await fetch(`${base}/api/v9`, { method })).status]).toEqual([method, 404]);
  expect((await fetch(`${base}/api/v0.1`, { method: "PUT" })).status).toBe(405);
  expect((await fetch(`${base}/api/v0.1`)).status).toBe(426);
});

test("the heartbeat and health answer over HTTP", async () => {
  const ping = await fetch(`${base}/ping`);
  expect([ping.status, await ping.text()]).toEqual([200, "pong"]);
  const health = await fetch(`${base}/health`);
  expect([health.status, await health.text()]).toEqual([200, "OK"]);
});

test("the reason of a fault is one line, whatever the name of the folder is", async () => {
  await using other = await makePlace(`${noReaders}[systems]\nroot_folders = ["/none\\nhere\\u202e"]\n`);
  await using _running = await startTapdeck(other);
  const health = await fetch(`http://127.0.0.1:${other.port}/health`);
  expect([health.status, await health.text()]).toEqual([
    503,
    "no media are at /none\\u{a}here\\u{202e}: the folder is missing or empty, or its drive is not plugged in\n",
  ]);
});

test("a foreign Host, and a foreign Origin, are refused on every path", async () => {
  const foreign = [
    "evil.example",
    "0.0.0.0",
    `0.0.0.0:${place.port}`,
    "[::]",
    "[::ffff:0.0.0.0]",
    "300.1.1.1",
  ];
  for (const path of ["/api/v0.1", "/ping", "/l/x", "/api/v0.1/events"]) {
    for (const host of foreign) {
      const answer = await fetch(`${base}${path}`, { headers: { host } });
      expect([path, host, answer.status]).toEqual([path, host, 403]);
      const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
      const key = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
      const opened = await fetch(`${base}${path}`, { headers: { host, ...upgrade, ...key } });
      expect([path, host, opened.status]).toEqual([path, host, 403]);
    }
    const origin = await fetch(`${base}${path}`, { headers: { origin: "https://evil.example" } });
    expect([path, origin.status]).toEqual([path, 403]);
  }
  const allowed = await fetch(`${base}/ping`, { headers: { origin: "https://cards.example" } });
  expect(allowed.status).toBe(200);
});

test("an event stream is no page that somebody opens, prefetches or is redirected to", async () => {
  const typed = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  for (const headers of [typed, { ...typed, "sec-purpose": "prefetch" }, { "sec-fetch-site": "none" }]) {
    const answer = await fetch(`${base}/api/v0.1/events`, { headers });
    expect([headers, answer.status]).toEqual([headers, 403]);
  }
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

test("an empty text and a badly encoded one are refused with 400", async () => {
  for (const path of ["/l/", "/l/%20", "/l/%zz", "/l/%ff"]) {
    expect([path, (await fetch(`${base}${path}`)).status]).toEqual([path, 400]);
  }
});

/** The texts that ran because of `act`, in order. */
async function startedBy(act: () => Promise<unknown>): Promise<readonly string[]> {
  const started = () =>
    service.heard.all.flatMap((one) => (one.method === "running" ? [one.params.text] : []));
  const before = started().length;
  await act();
  // Notifications keep their order, and the answer to this call comes after them.
  await service.client.call("version");
  return started().slice(before);
}

const ask = (text: string, headers: Record<string, string>) => fetch(`${base}/l/${text}`, { headers });
const chromium = {
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0",
};
const opened = (site: string) => ({
  ...chromium,
  "sec-fetch-site": site,
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
});
const press = { "x-tapdeck-launch": "1" };

test("a link above the limit of waiting launches is refused with 429, because 503 means that the service stops", async () => {
  const link = `${base}/l/${encodeURIComponent("**delay:9000")}`;
  for (let n = 0; n < untrustedLaunchesMax; n++) expect((await fetch(link)).status).toBe(200);
  const refused = await fetch(link);
  expect([refused.status, refused.headers.get("retry-after"), await refused.text()]).toEqual([
    429,
    "1",
    `${untrustedLaunchesMax} launches wait already\n`,
  ]);
  await service.client.call("stop");
});

test("programs launch at once, whatever they call themselves", async () => {
  const programs: readonly Record<string, string>[] = [
    { "user-agent": "curl/8.5.0" },
    { "user-agent": "Python-urllib/3.11", connection: "close" },
    // Node's fetch sends these headers.
    { "user-agent": "node", accept: "*/*", "sec-fetch-mode": "cors" },
    // A program that is taken for a browser declares that it is no browser.
    { "user-agent": "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1", ...press },
    { "user-agent": "Java/21", accept: "text/html, image/gif, */*; q=.2", ...press },
  ];
  for (const headers of programs) {
    const started = await startedBy(async () => {
      const answer = await ask("**delay:4", headers);
      expect([headers, answer.status, await answer.text()]).toEqual([headers, 200, '{"launched":true}']);
    });
    expect([headers, started]).toEqual([headers, ["**delay:4"]]);
  }
});

test("a browser gets a page with a button, wherever the link was, and nothing is launched", async () => {
  const browsers: readonly Record<string, string>[] = [
    opened("cross-site"),
    { ...opened("cross-site"), "sec-fetch-user": "?1" },
    { ...opened("same-site"), "sec-fetch-user": "?1" },
    { ...opened("same-origin"), "sec-fetch-user": "?1" },
    // A person typed the address, or a foreign server redirected to here.
    { ...opened("none"), "sec-fetch-user": "?1" },
    // By plain HTTP to an address of the network, a browser sends none of the `sec-fetch` headers.
    chromium,
    { "user-agent": chromium["user-agent"] },
    { "user-agent": "Shop/2.1", accept: "text/html" },
    // An old browser does not send the destination of the request.
    { ...chromium, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
  ];
  for (const headers of browsers) {
    const started = await startedBy(async () => {
      const answer = await ask("**delay:5", headers);
      const page = await answer.text();
      expect([headers, answer.status, page.includes("<button")]).toEqual([headers, 200, true]);
    });
    expect([headers, started]).toEqual([headers, []]);
  }
});

test("the button's own request launches, and no other request with its header", async () => {
  const own = { ...chromium, accept: "*/*", "sec-fetch-mode": "same-origin", "sec-fetch-dest": "empty" };
  const pressed: readonly Record<string, string>[] = [
    { ...own, ...press, "sec-fetch-site": "same-origin" },
    // By plain HTTP to an address of the network, a browser sends none of the `sec-fetch` headers.
    { "user-agent": chromium["user-agent"], ...press },
    { "user-agent": chromium["user-agent"], ...press, origin: base },
  ];
  for (const headers of pressed)
    expect([headers, await startedBy(() => ask("**delay:6", headers))]).toEqual([headers, ["**delay:6"]]);
  const foreign: readonly Record<string, string>[] = [
    { ...own, ...press, "sec-fetch-site": "cross-site" },
    { ...own, ...press, "sec-fetch-site": "same-site" },
    { ...own, ...press, "sec-fetch-site": "none" },
    { ...opened("cross-site"), ...press },
    {
      ...own,
      ...press,
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "cors",
      origin: "https://cards.example",
    },
    // Origins that may use the API launch by the API.
    { "user-agent": chromium["user-agent"], ...press, origin: "https://cards.example" },
    { "user-agent": chromium["user-agent"], ...press, origin: "http://localhost:3000" },
    { "user-agent": chromium["user-agent"], ...press, origin: "null" },
    { ...own, ...press, "sec-fetch-site": "same-origin", "sec-purpose": "prefetch" },
  ];
  for (const headers of foreign) {
    const started = await startedBy(async () => {
      expect([headers, (await ask("**delay:6", headers)).status]).toEqual([headers, 403]);
    });
    expect([headers, started]).toEqual([headers, []]);
  }
});

test("no preflight for the button's header is granted, not even to an origin that may use the API", async () => {
  for (const origin of ["https://cards.example", "http://localhost:3000", base]) {
    for (const path of ["/l/**delay:1", "/run/x", "/r/x", "/", "/api/v0.1"]) {
      const answer = await fetch(`${base}${path}`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "GET",
          "access-control-request-headers": "x-tapdeck-launch",
          "access-control-request-private-network": "true",
        },
      });
      const granted = [...answer.headers.keys()].filter((name) => name.startsWith("access-control-"));
      expect([origin, path, answer.status, granted]).toEqual([origin, path, 405, []]);
    }
  }
});

test("the page shows the text as it is, cut where it is long, and nobody can frame or cache it", async () => {
  const text = `"><img src=x onerror='alert(1)'>&amp;\u202e\u0007`;
  const answer = await ask(encodeURIComponent(text), chromium);
  const page = await answer.text();
  expect(page).toContain(
    "&quot;&gt;&lt;img src=x onerror=&#x27;alert(1)&#x27;&gt;&amp;amp;\\u{202e}\\u{7}</code>",
  );
  expect(page).not.toContain("<img");
  const { headers } = answer;
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  const hash = "'sha256-[A-Za-z0-9+/]{43}='";
  expect(headers.get("content-security-policy")).toMatch(
    new RegExp(
      `^default-src 'none'; script-src ${hash}; style-src ${hash}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`,
    ),
  );
  const long = await (await ask(encodeURIComponent(`${"é".repeat(600)}😀||**stop`), chromium)).text();
  expect(long).toContain(`${"é".repeat(600)}</code>`);
  expect(long).toContain("9 more characters");
});

test("nothing that happens in the background of a page launches", async () => {
  const refused: readonly [number, RequestInit][] = [
    [405, { method: "HEAD" }],
    [405, { method: "POST" }],
    [405, { method: "POST", headers: { ...opened("same-origin"), ...press } }],
    [403, { headers: { "sec-purpose": "prefetch" } }],
    [403, { headers: { purpose: "prefetch" } }],
    [403, { headers: { "x-moz": "prefetch" } }],
    // Speculation rules of a foreign page, as Chromium 156 sends them.
    [403, { headers: { ...opened("none"), "sec-purpose": "prefetch" } }],
    [403, { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } }],
    [403, { headers: { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" } }],
    [403, { headers: { "sec-fetch-site": "cross-site" } }],
    [
      403,
      { headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" } },
    ],
    [403, { headers: { "sec-fetch-site": "none", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" } }],
    ...["iframe", "frame", "fencedframe", "object", "embed", "empty"].map((dest): [number, RequestInit] => [
      403,
      { headers: { ...opened("cross-site"), "sec-fetch-dest": dest } },
    ]),
    [403, { headers: { origin: "https://evil.example" } }],
  ];
  const started = await startedBy(async () => {
    for (const [status, init] of refused) {
      expect([init, (await fetch(`${base}/l/**delay:1`, init)).status]).toEqual([init, status]);
    }
  });
  expect(started).toEqual([]);
});

async function launch(text: string): Promise<void> {
  // The queue holds 64 launches, and a caller that is faster waits for a free place.
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
