/** Somebody else's JSON-RPC library drives the service, and our own library keeps its promises. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { connect, type Notification } from "../../src/client/client.ts";
import { opened, within } from "../helpers/processes.ts";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

let place: Place;
let service: Running;
let url: string;

beforeAll(async () => {
  place = await makePlace(noReaders);
  service = await startTapdeck(place);
  url = `ws://127.0.0.1:${place.port}/api/v0.1`;
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test("json-rpc-2.0 calls, is refused, sends a notification and a batch, and hears notifications", async () => {
  const socket = new WebSocket(url);
  await opened(socket);
  const peer = new JSONRPCServerAndClient(
    new JSONRPCServer(),
    new JSONRPCClient((payload) => socket.send(JSON.stringify(payload))),
  );
  const finished = Promise.withResolvers<{ text: string }>();
  peer.addMethod("launch.finished", (params) => finished.resolve(params));
  socket.addEventListener("message", ({ data }) => peer.receiveAndSend(JSON.parse(String(data))));

  expect(await peer.request("version", {})).toMatchObject({ platform: "linux" });
  const refused = await peer.request("launch", {}).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(JSONRPCErrorException);
  expect(refused).toMatchObject({ code: -32602, data: { reason: "invalid-params" } });
  peer.notify("launch", "**delay:1");
  expect(await within("launch.finished", finished.promise)).toMatchObject({
    text: "**delay:1",
    success: true,
  });

  const batch = await peer.client.requestAdvanced([
    { jsonrpc: "2.0", id: 101, method: "readers" },
    { jsonrpc: "2.0", id: 102, method: "no.such" },
  ]);
  expect(batch).toMatchObject([
    { id: 101, result: { readers: [] } },
    { id: 102, error: { code: -32601 } },
  ]);
  socket.close();
});

test("our client gives a call up when its signal aborts, and goes on", async () => {
  const client = await connect(url);
  const given = client.call("version", undefined, { signal: AbortSignal.abort(new Error("enough")) });
  await expect(given).rejects.toThrow("enough");
  expect(await client.call("version")).toMatchObject({ platform: "linux" });
  client.close();
  await client.closed;
  await expect(client.call("version")).rejects.toThrow();
});

test("our client's notifications are an async iterator that ends with its signal", async () => {
  const client = await connect(url);
  const until = new AbortController();
  const names: string[] = [];
  const notifications = client.notifications(until.signal);
  await client.call("launch", "**delay:1");
  for await (const { method } of notifications) {
    // The index of the start sends its events at any time.
    if (method !== "media.indexing") names.push(method);
    if (method === "launch.finished") until.abort();
  }
  expect(names).toEqual(["running", "launch.finished"]);
  client.close();
});

test("our client comes back by itself when the service does, and calls made meanwhile wait for it", async () => {
  await using ownPlace = await makePlace(noReaders);
  const first = await startTapdeck(ownPlace);
  const client = await connect(`ws://127.0.0.1:${ownPlace.port}/api/v0.1`, { reconnect: true });
  const states: string[] = [];
  const lost = Promise.withResolvers<void>();
  client.onState((state) => {
    states.push(state);
    if (state === "lost") lost.resolve();
  });
  await first.stop();
  await within("state lost", lost.promise, { seen: () => states });
  const waiting = client.call("version");
  await using _second = await startTapdeck(ownPlace);
  expect(await waiting).toMatchObject({ platform: "linux" });
  expect(states).toEqual(["lost", "connected"]);

  const heard: Notification[] = [];
  client.onNotification((notification) => {
    if (notification.method !== "media.indexing") heard.push(notification);
  });
  await client.call("launch", "**delay:1");
  await client.ping();
  expect(heard[0]?.method).toBe("running");
  client.close();
  await client.closed;
});

test("a heartbeat that is not answered ends the connection", async () => {
  using silent = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, server) => (server.upgrade(request) ? undefined : new Response()),
    websocket: { message() {} },
  });
  const client = await connect(`ws://127.0.0.1:${silent.port}/`, { heartbeatMs: 20 });
  await client.closed;
  await expect(client.call("version")).rejects.toThrow();
});
