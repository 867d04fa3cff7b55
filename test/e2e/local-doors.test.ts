/** Callers on the device: the socket in the file system, and the users that a service of root serves over TCP. */
import { expect, test } from "bun:test";
import { stat } from "node:fs/promises";
import { visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  program,
  readerConfig,
  startTapdeck,
  stubborn,
} from "../helpers/tapdeck.ts";

const isRoot = process.getuid?.() === 0;
const nobody = (command: readonly string[]) => [
  "setpriv",
  "--reuid=65534",
  "--clear-groups",
  "--",
  ...command,
];
const request = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "version" });
const launchRequest = JSON.stringify({ jsonrpc: "2.0", id: "2", method: "launch", params: "**delay:1" });
const tokensRequest = JSON.stringify({ jsonrpc: "2.0", id: "3", method: "tokens" });

test("the socket is for its owner only, answers as TCP does, and goes with the service", async () => {
  await using place = await makePlace(noReaders);
  const service = await startTapdeck(place);
  const path = `${place.folder}/tapdeck.sock`;
  const { mode } = await stat(path);
  expect(mode & 0o777).toBe(0o600);
  const answer = await fetch("http://localhost/api", {
    unix: path,
    method: "POST",
    body: request,
    headers: { "content-type": "application/json" },
  });
  expect(await answer.json()).toMatchObject({ result: { platform: "linux" } });
  const foreign = await fetch("http://evil.example/ping", { unix: path });
  expect(foreign.status).toBe(403);
  const socket = new WebSocket(`ws+unix://${path}:/api/v0.1`);
  const said = new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(data)));
  socket.addEventListener("open", () => socket.send("ping"));
  expect(await said).toBe("pong");
  socket.close();
  expect(await service.stop()).toBe(0);
  expect(await stat(path).catch(() => undefined)).toBeUndefined();
});

test("a socket that a killed service left behind is replaced, and the command line prefers it", async () => {
  await using place = await makePlace(noReaders);
  const first = await startTapdeck(place);
  process.kill(first.pid, "SIGKILL");
  await first.stop();
  await using _second = await startTapdeck(place);
  // The command reads settings that name a port on which nobody listens.
  await place.config("");
  await Bun.write(`${place.folder}/config.toml`, "[api]\nport = 1\n");
  const ping = Bun.spawnSync([program, "ping", `--data=${place.folder}`]);
  expect(ping.stdout.toString()).toBe("pong\n");
});

test("a second service on the port of the first ends at once, with a sentence, and leaves the first alone", async () => {
  await using place = await makePlace(noReaders);
  await using other = await makePlace();
  await using service = await startTapdeck(place);
  for (const listen of ['["127.0.0.1"]', "[]"]) {
    await Bun.write(
      `${other.folder}/config.toml`,
      `[api]\nport = ${place.port}\ntls_port = 0\nlisten = ${listen}\n${noReaders}`,
    );
    const second = Bun.spawnSync([program, `--data=${other.folder}`], { timeout: 60_000 });
    expect([listen, second.exitCode]).toEqual([listen, 69]);
    expect(second.stderr.toString()).toContain(`port ${place.port} is in use`);
  }
  expect(await service.client.call("version")).toMatchObject({ platform: "linux" });
});

test("a second service with the data folder of the first ends with a sentence, and does not take its socket; after a kill -9 there is room", async () => {
  await using place = await makePlace(noReaders);
  await using other = await makePlace(noReaders);
  const service = await startTapdeck(place);
  const flags = [`--data=${place.folder}`, `--config=${other.folder}/config.toml`];
  const second = Bun.spawnSync([program, ...flags], { timeout: 60_000 });
  expect(second.exitCode).toBe(69);
  expect(second.stderr.toString()).toContain(`another tapdeck uses the data folder ${place.folder}`);
  expect(Bun.spawnSync([program, "ping", `--data=${place.folder}`]).exitCode).toBe(0);
  process.kill(service.pid, "SIGKILL");
  service.client.close();
  await using third = await startTapdeck(place);
  expect(await third.client.call("version")).toMatchObject({ platform: "linux" });
});

test("a second Ctrl-C does not cut the orderly end short", async () => {
  await using place = await makePlace(noReaders + stubborn);
  await place.file("SNES/Game.sfc");
  const service = await startTapdeck(place);
  await service.client.call("launch", "SNES/Game.sfc");
  await service.heard.next("media.started");
  process.kill(service.pid, "SIGINT");
  await eventually(() => expect(service.log()).toContain("stopping"));
  process.kill(service.pid, "SIGINT");
  expect(await service.stop()).toBe(0);
  expect(service.heard.names()).toContain("media.stopped");
});

test("the same card tapped twice in a row from the command line waits until it is off", async () => {
  await using place = await makePlace(readerConfig("simulated:"));
  await using service = await startTapdeck(place);
  await firstReader(service);
  for (let n = 0; n < 2; n++) {
    const tap = Bun.spawnSync([
      program,
      "tap",
      "**delay:1",
      "--uid=04a1b2c3d4e5bb",
      `--data=${place.folder}`,
    ]);
    expect([tap.stderr.toString(), tap.stdout.toString()]).toEqual(["", "done\n"]);
  }
});

// Only root can act as two users.
test.skipIf(!isRoot)(
  "a service that runs as root lets other users look over TCP and no more, unless its owner says otherwise",
  async () => {
    await using place = await makePlace(noReaders);
    const settings = `[api]\nport = ${place.port}\nlisten = ["127.0.0.1", "::1"]\n`;
    await Bun.write(`${place.folder}/config.toml`, settings);
    await using service = await startTapdeck(place);
    const urls = [`ws://127.0.0.1:${place.port}/api`, `ws://[::1]:${place.port}/api`];
    for (const url of urls) {
      const lesser = await visit(nobody, { url, send: [request, launchRequest, tokensRequest] });
      expect([url, lesser.messages?.[0]]).toEqual([url, expect.stringContaining("platform")]);
      expect([url, lesser.messages?.[1]]).toEqual([url, expect.stringContaining('"right":"play"')]);
      expect([url, lesser.messages?.[2]]).toEqual([url, expect.stringContaining('"right":"change"')]);
      const ping = await visit(nobody, { url: url.replace("ws:", "http:").replace("/api", "/ping") });
      expect([url, ping.status, ping.body]).toEqual([url, 200, "pong"]);
      const root = await visit((command) => command, { url, send: [request] });
      expect([url, root.messages?.[0]]).toEqual([url, expect.stringContaining("platform")]);
    }
    await Bun.write(`${place.folder}/config.toml`, `${settings}allow_anonymous_local = true\n`);
    await eventually(async () => {
      const { messages = [] } = await visit(nobody, { url: urls[0] ?? "", send: [tokensRequest] });
      expect(messages[0]).toContain("active");
    });
    await eventually(() => expect(service.log()).toContain("callers of other users are anonymous"));
  },
);
