/** The secure layer against a public Noise library in another language, in both roles. */
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { messageBytesMax, sealedFrameCharsMax } from "../../../src/core/limits.ts";
import { acceptHandshake, startHandshake } from "../../../src/secure/handshake.ts";
import { type SecureSession, sealedPieceBytesMax } from "../../../src/secure/secure-session.ts";
import {
  noisePython,
  noisePythonSetUpMs,
  startPythonClient,
  startPythonResponder,
} from "../../helpers/noise-python.ts";
import { greeting } from "./peer.ts";

const client = { id: "1f8b6f4e-5f0c-4a53-9d0e-2f7f3c1f9a11", secret: "c3".repeat(32) };
const peer = ["pipe", process.execPath, join(import.meta.dir, "peer.ts")];
const known = { TAPDECK_PEER_ID: client.id, TAPDECK_PEER_SECRET: client.secret };
const payloads = [
  "",
  "x",
  '{"jsonrpc":"2.0","id":1,"method":"version"}',
  "Ünïcödé 😀\u0000\ufeff",
  "a".repeat(sealedPieceBytesMax),
  "b".repeat(sealedPieceBytesMax + 1),
  "é".repeat(100_000),
  "0123456789abcdef".repeat(messageBytesMax / 16),
];

beforeAll(async () => {
  await noisePython();
}, noisePythonSetUpMs);

test("a Python client shakes hands, is greeted with a fragmented payload, and every payload comes back", async () => {
  await using python = await startPythonClient(client, peer, known);
  expect(await python.next()).toEqual({ ready: true });
  expect((await python.payload()) === greeting).toBe(true);
  for (const payload of payloads) {
    python.send(payload);
    expect((await python.payload()) === payload, `${payload.length} characters`).toBe(true);
  }
  expect(await python.stop()).toBe(0);
  expect(await python.next()).toEqual({ closed: true });
});

test("a Python client may send a payload as many frames of one small message each", async () => {
  const command = ["--small-frames", ...peer];
  await using python = await startPythonClient(client, command, known);
  expect(await python.next()).toEqual({ ready: true });
  expect((await python.payload()) === greeting).toBe(true);
  for (const payload of ["", "x".repeat(183), "x".repeat(184), "é".repeat(20_000)]) {
    python.send(payload);
    expect((await python.payload()) === payload).toBe(true);
  }
  expect(await python.stop()).toBe(0);
});

test("a Python client with a wrong secret, or an id that nobody has, is refused with the same words", async () => {
  const refusals: unknown[] = [];
  const strangers = [
    { ...client, secret: "c4".repeat(32) },
    { ...client, id: "nobody" },
  ];
  for (const stranger of strangers) {
    await using python = await startPythonClient(stranger, peer, known);
    refusals.push(await python.next());
  }
  expect(refusals[0]).toMatchObject({ refused: { reason: "secure-failure" } });
  expect(refusals[1]).toEqual(refusals[0]);
});

test("the Python client speaks WebSocket as well", async () => {
  const sessions = new WeakMap<object, SecureSession>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response(null, { status: 400 })),
    websocket: {
      maxPayloadLength: sealedFrameCharsMax,
      async message(socket, text) {
        const session = sessions.get(socket);
        if (session !== undefined) {
          const opened = session.open(String(text));
          if (opened.kind === "payload") socket.send(session.seal(opened.text));
          return;
        }
        const accepted = await acceptHandshake(String(text), () => client.secret);
        if (accepted.kind === "refused") return socket.close();
        sessions.set(socket, accepted.session);
        socket.send(accepted.reply);
      },
    },
  });
  try {
    await using python = await startPythonClient(client, [`ws://127.0.0.1:${server.port}/api/v0.1`]);
    expect(await python.next()).toEqual({ ready: true });
    for (const payload of payloads) {
      python.send(payload);
      expect((await python.payload()) === payload, `${payload.length} characters`).toBe(true);
    }
    expect(await python.stop()).toBe(0);
    expect(await python.next()).toEqual({ closed: true });
  } finally {
    await server.stop(true);
  }
});

for (const flags of [[], ["--small-frames"]]) {
  test(`our client speaks to a service in Python${flags.length === 0 ? "" : " that sends small frames"}`, async () => {
    await using python = await startPythonResponder(client.secret, flags);
    const started = await startHandshake(client.id, client.secret);
    python.send(started.hello);
    const session = started.finish(await python.next());
    for (const payload of payloads.slice(0, flags.length === 0 ? undefined : 6)) {
      python.send(session.seal(payload));
      let opened = session.open(await python.next());
      while (opened.kind === "partial") opened = session.open(await python.next());
      expect(opened.text === payload, `${payload.length} characters`).toBe(true);
    }
  });
}
