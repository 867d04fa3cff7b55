/**
 * Many visits to the service, each over a connection of its own, as JSON in the file of the first argument. Prints the
 * result of each as a word. Run it in a namespace. It writes HTTP and WebSocket by hand, so every header is as given.
 *
 *   200, 403 ...       the status of an HTTP answer, or of a refused upgrade
 *   pong               of the heartbeat
 *   reply              of a handshake
 *   result             of a call
 *   error N            of a call, or a protocol error
 */
import { readFile } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { startHandshake } from "../../src/secure/handshake.ts";
import {
  closeFrame,
  frameFrom,
  frameOf,
  type Reader,
  readerOf,
  textFrame,
  upgradeHeaders,
} from "./hand-wire.ts";

export interface OneVisit {
  /** The service's address, or the path of its socket. */
  readonly to: string;
  /** The port of the service; undefined for a socket's path. */
  readonly port?: number;
  readonly isTls?: boolean;
  /** The caller's own addresses, which are used in turn, if they matter. */
  readonly from?: readonly string[];
  /** The method and the path of the request line; `ws` opens a WebSocket. */
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The message that a WebSocket sends. */
  readonly send?: string;
  /** The identity for a handshake, after which `send` is sealed. Without `send`, only the hello is sent. */
  readonly client?: { readonly id: string; readonly secret: string };
}

const atOnce = 3; // The number of simultaneous visits is lower than that of the permitted handshakes.
const retryMs = 50;

const list = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as readonly OneVisit[];
const outcomes: string[] = new Array(list.length);
let next = 0;
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let index = next++; index < list.length; index = next++)
      outcomes[index] = await visitUntilServed(index);
  }),
);
process.stdout.write(JSON.stringify(outcomes));
process.exit(0);

/** Repeats a visit that a rate limit refused, because this test is not about those. */
async function visitUntilServed(index: number): Promise<string> {
  const visit = list[index];
  if (visit === undefined) throw new Error("no such visit");
  for (let tries = 0; ; tries++) {
    const outcome = await once(visit, index + tries * 7).catch((error) => `failed: ${error}`);
    const isFull = ["429", "503", "error -32000"].includes(outcome);
    if (!isFull || tries > 400) return outcome;
    await Bun.sleep(retryMs);
  }
}

async function once(visit: OneVisit, turn: number): Promise<string> {
  const socket = open(visit, turn);
  const bytes = readerOf(socket);
  const isSocket = visit.method === "ws";
  const body = visit.body ?? "";
  const length = visit.body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const headers = { ...visit.headers, ...(isSocket ? upgradeHeaders : {}), ...length };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${isSocket ? "GET" : visit.method} ${visit.path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  try {
    const head = await bytes.until("\r\n\r\n");
    const status = head.slice(9, 12);
    if (status !== "101") return status;
    return await talk(socket, bytes, visit);
  } finally {
    socket.destroy();
  }
}

async function talk(socket: Socket, bytes: Reader, { send = "", client }: OneVisit): Promise<string> {
  const say = (text: string) => socket.write(frameOf(text));
  if (client === undefined) {
    say(send);
    return wordOf(await textOf(bytes));
  }
  const started = await startHandshake(client.id, client.secret);
  say(started.hello);
  const reply = await textOf(bytes);
  if (wordOf(reply) !== "reply" || send === "") return wordOf(reply);
  const session = started.finish(reply);
  if (send === "ping") {
    say(send);
    return wordOf(await textOf(bytes));
  }
  say(session.seal(send));
  const opened = session.open(await textOf(bytes));
  return opened.kind === "payload" ? wordOf(opened.text) : "partial";
}

function wordOf(text: string): string {
  if (text === "pong") return text;
  const { result, error, e } = JSON.parse(text);
  if (e !== undefined) return "reply";
  return error === undefined ? (result === undefined ? "?" : "result") : `error ${error.code}`;
}

function open({ to, port, isTls = false, from = [] }: OneVisit, turn: number): Socket {
  if (port === undefined) return connectTcp({ path: to });
  const localAddress = from.length === 0 ? {} : { localAddress: from[turn % from.length] };
  const options = { host: to, port, ...localAddress };
  return isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connectTcp(options);
}

/** The payload of the next text frame, without the service's notifications. */
async function textOf(bytes: Reader): Promise<string> {
  for (;;) {
    const { kind, payload } = await frameFrom(bytes);
    const text = payload.toString("utf8");
    if (kind === closeFrame) throw new Error(`closed: ${text.slice(2)}`);
    if (kind === textFrame && !text.includes('"method":')) return text;
  }
}
