/** The HTTP of WS-Discovery on a real port: requests in pieces, silent connections, and too many of them. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  wsdConnectionsPerAddressMax,
  wsdHeadBytesMax,
  wsdMessageBytesMax,
} from "../../../src/core/console-limits.ts";
import { httpRequestIn, serveWsdHttp } from "../../../src/services/wsd-http.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";
import { freePort } from "../../helpers/free-port.ts";
import { eventually } from "../../helpers/processes.ts";

let port = 0;
let server: Disposable;
const near = new Set<string>();

beforeEach(() => {
  port = freePort();
  near.clear();
  near.add("127.0.0.1");
  server = serveWsdHttp({
    port,
    path: "/deck",
    isNear: (address) => near.has(address),
    answer: (body) => (body.length === 0 ? undefined : `${body.length} bytes`),
  });
});
afterEach(() => server[Symbol.dispose]());

const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: deck\r\nUser-Agent: WSDAPI\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A connection, which resolves with all that it got when it has ended. */
async function connect() {
  const ended = Promise.withResolvers<string>();
  let got = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, chunk) {
        got += chunk.toString();
      },
      close: () => ended.resolve(got),
      error: () => ended.resolve(got),
    },
  });
  return { say: (text: string) => void socket.write(text), ended: ended.promise, end: () => socket.end() };
}

const ask = async (text: string) => {
  const { say, ended } = await connect();
  say(text);
  return ended;
};

test("a question is answered, and another request refused", async () => {
  expect(await ask(post("/deck", "hello"))).toEndWith(
    "Content-Length: 7\r\nConnection: close\r\n\r\n5 bytes",
  );
  expect(await ask(post("/deck", ""))).toStartWith("HTTP/1.1 400 ");
  expect(await ask(post("/other", "hello"))).toStartWith("HTTP/1.1 404 ");
  expect(await ask("GET /deck HTTP/1.1\r\nHost: deck\r\n\r\n")).toStartWith("HTTP/1.1 404 ");
  expect(await ask(post("/deck", "x".repeat(wsdMessageBytesMax + 1)))).toStartWith("HTTP/1.1 413 ");
  expect(await ask("x".repeat(wsdHeadBytesMax + 1))).toStartWith("HTTP/1.1 413 ");
});

test("connections that said nothing kept the deck from all others, and used up its descriptors", async () => {
  const silent = await Promise.all(Array.from({ length: wsdConnectionsPerAddressMax }, () => connect()));
  const extra = await Promise.all(Array.from({ length: 20 }, () => connect()));
  expect(await Promise.all(extra.map(({ ended }) => ended))).toEqual(Array(20).fill(""));
  // The first ones still have their time, and a place is free once one has ended.
  silent[0]?.say(post("/deck", "hello"));
  expect(await silent[0]?.ended).toContain("5 bytes");
  await eventually(async () => expect(await ask(post("/deck", "hello"))).toContain("5 bytes"));
  for (const { end } of silent) end();
});

test("a megabyte after a question changes nothing of its answer", async () => {
  const { say, ended } = await connect();
  say(post("/deck", "hello"));
  say("x".repeat(1_000_000));
  expect(await ended).toContain("5 bytes");
});

test("an address of another network is not heard", async () => {
  near.clear();
  expect(await ask(post("/deck", "hello"))).toBe("");
});

test("every split of a request is the same request", () => {
  const bytes = Buffer.from(post("/deck", "hello"));
  for (let cut = 0; cut < bytes.length; cut++)
    expect(httpRequestIn(bytes.subarray(0, cut))).toBe("incomplete");
  expect(httpRequestIn(bytes)).toEqual({ path: "/deck", body: new Uint8Array(Buffer.from("hello")) });
});

test("noise is read without an error, and never as a request", () => {
  const random = seededRandom(7);
  for (let round = 0; round < 2000; round++) {
    const noise = Uint8Array.from({ length: Math.floor(random() * 3000) }, () => Math.floor(random() * 256));
    const read = httpRequestIn(noise);
    expect(read === undefined || read === "incomplete" || read === "too-long").toBe(true);
  }
});
