/** Undisturbed sessions: handshake, round trips, fragments, limits, and the end. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../../src/core/errors.ts";
import { messageBytesMax, sealedFrameCharsMax, sealedMessageBytesMax } from "../../../src/core/limits.ts";
import { SecureFailure } from "../../../src/secure/failure.ts";
import { acceptHandshake, startHandshake } from "../../../src/secure/handshake.ts";
import { type SecureSession, sealedPieceBytesMax } from "../../../src/secure/secure-session.ts";
import { clientId, lookup, makePair, secret, startClient } from "../../helpers/secure-pair.ts";

function carry(from: SecureSession, to: SecureSession, text: string): void {
  const opened = to.open(from.seal(text));
  // They are compared outside of expect, which would print a megabyte.
  if (opened.kind !== "payload" || opened.text !== text)
    throw new Error(`${text.length} characters came out otherwise`);
}

test("a client and the service shake hands and speak, each text in the shape of the decisions", async () => {
  const started = await startHandshake(clientId, secret);
  expect(started.hello).toMatch(
    /^\{"v":2,"t":"1f8b6f4e-5f0c-4a53-9d0e-2f7f3c1f9a11","e":"[A-Za-z0-9+/]{64}"\}$/,
  );
  const accepted = await acceptHandshake(started.hello, lookup);
  if (accepted.kind === "refused") throw accepted.error;
  expect(accepted.reply).toMatch(/^\{"v":2,"e":"[A-Za-z0-9+/]{64}"\}$/);
  const client = started.finish(accepted.reply);
  expect(client.clientId).toBe(clientId);
  expect(accepted.session.clientId).toBe(clientId);
  const sealed = client.seal('{"jsonrpc":"2.0","method":"version","id":1}');
  expect(sealed).toMatch(/^\{"e":"[A-Za-z0-9+/]+=*"\}$/);
  expect(accepted.session.open(sealed)).toEqual({
    kind: "payload",
    text: '{"jsonrpc":"2.0","method":"version","id":1}',
  });
  carry(accepted.session, client, "pong");
});

test("the service knows its peer only once a frame of theirs has opened", () => {
  const { client, service } = makePair();
  expect(client.peerIsProved).toBe(true);
  expect(service.peerIsProved).toBe(false);
  service.seal("a notification for somebody who may be nobody");
  expect(service.peerIsProved).toBe(false);
  service.open(client.seal("hello"));
  expect(service.peerIsProved).toBe(true);
});

test("payloads of every size from 0 bytes to 1 MiB come out as they went in, in both directions", () => {
  const { client, service } = makePair();
  const sizes = [
    0,
    1,
    2,
    3,
    255,
    sealedPieceBytesMax - 1,
    sealedPieceBytesMax,
    sealedPieceBytesMax + 1,
    2 * sealedPieceBytesMax,
    500_000,
  ];
  for (const size of [...sizes, messageBytesMax - 1, messageBytesMax]) {
    const text = "0123456789abcdef".repeat(Math.ceil(size / 16)).slice(0, size);
    carry(client, service, text);
    carry(service, client, text);
  }
});

test("any text comes out as it went in", () => {
  const { client, service } = makePair();
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => carry(client, service, text)),
  );
  for (const text of ["\ufeffwith a byte order mark", "\u0000", "é".repeat(60_000), "😀".repeat(200_000)]) {
    carry(service, client, text);
  }
});

test("the largest payload is one frame within its limit, of messages of at most 65,535 bytes", () => {
  const { client } = makePair();
  const frame = client.seal("x".repeat(messageBytesMax));
  expect(frame.length).toBeLessThanOrEqual(sealedFrameCharsMax);
  const bytes = Uint8Array.fromBase64(JSON.parse(frame).e).length;
  const messages = Math.ceil(messageBytesMax / sealedPieceBytesMax);
  expect(bytes).toBe(messageBytesMax + messages * 17);
  expect(Math.ceil(bytes / sealedMessageBytesMax)).toBe(messages);
});

test("a payload of 1 MiB and one byte is refused before it is sealed, and the session goes on", () => {
  const { client, service } = makePair();
  for (const text of ["x".repeat(messageBytesMax + 1), "é".repeat(messageBytesMax / 2 + 1)]) {
    const refusal = thrownBy(() => client.seal(text));
    expect(refusal).toBeInstanceOf(ServiceError);
    expect(refusal).not.toBeInstanceOf(SecureFailure);
    expect(refusal).toMatchObject({ code: "busy", data: { limit: "messageBytesMax" } });
  }
  carry(client, service, "still here");
});

test("a payload may come in several frames, cut at any message", () => {
  const { client, service } = makePair();
  const text = "0123456789".repeat(20_000);
  const bytes = Uint8Array.fromBase64(JSON.parse(client.seal(text)).e);
  const messages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += sealedMessageBytesMax)
    messages.push(bytes.subarray(at, at + sealedMessageBytesMax));
  expect(messages.length).toBe(4);
  const frames = messages.map((message) => JSON.stringify({ e: message.toBase64() }));
  for (const frame of frames.slice(0, -1)) expect(service.open(frame)).toEqual({ kind: "partial" });
  expect(service.open(frames.at(-1) ?? "")).toEqual({ kind: "payload", text });
  carry(client, service, "the next one");
});

test("a frame may be written otherwise, with spaces, escapes and members that nobody knows", () => {
  const { client, service } = makePair();
  const { e } = JSON.parse(client.seal("a"));
  expect(service.open(`{ "later" : [1], "e" : "${e.replaceAll("/", "\\/")}" }\n`)).toEqual({
    kind: "payload",
    text: "a",
  });
});

test("after close nothing is sealed or opened, and closing again does nothing", () => {
  const { client, service } = makePair();
  const frame = client.seal("too late");
  service.close();
  service.close();
  expect(() => service.open(frame)).toThrow(SecureFailure);
  expect(() => service.seal("too late")).toThrow(SecureFailure);
});

test("a started handshake finishes once, and not after it was given up", () => {
  const once = startClient();
  expect(() => once.finish("{}")).toThrow(SecureFailure);
  expect(() => once.finish("{}")).toThrow(SecureFailure);
  const given = startClient();
  given.close();
  expect(() => given.finish("{}")).toThrow(SecureFailure);
});

test("an id or a secret that cannot be right is refused to the person who typed it", async () => {
  const wrong: readonly (readonly [string, string, string])[] = [
    ["", secret, "id"],
    ["küche", secret, "id"],
    ["a b", secret, "id"],
    ["x".repeat(65), secret, "id"],
    [clientId, secret.slice(1), "secret"],
    [clientId, `${secret.slice(1)}g`, "secret"],
    [clientId, `${secret}5a`, "secret"],
  ];
  for (const [id, withSecret, field] of wrong) {
    const refusal = await startHandshake(id, withSecret).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "invalid-params", data: { field } });
    expect(String(refusal)).not.toContain(withSecret);
  }
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    // The test checks the thrown error.
    return error;
  }
  throw new Error("nothing was thrown");
}
