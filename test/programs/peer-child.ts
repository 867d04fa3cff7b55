/**
 * A caller that a test controls: reads commands as lines of JSON, and prints their results and all received messages as
 * lines of JSON. `peer-child SOURCES`, with JSON of a list of its own addresses, from which it calls in turn. Run it in a
 * namespace, perhaps as another user. It writes HTTP and WebSocket by hand, so every header is as given.
 */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { startHandshake } from "../../src/secure/handshake.ts";
import {
  closeFrame,
  frameFrom,
  frameOf,
  pingFrame,
  pongFrame,
  type Reader,
  readerOf,
  textFrame,
  upgradeHeaders,
} from "../helpers/hand-wire.ts";
import { linesOf } from "../helpers/lines.ts";
import type { Came, Command, Visited } from "../helpers/peer.ts";

interface Line {
  send(text: string): void;
  close(): void;
}

const sources: readonly string[] = JSON.parse(process.argv[2] ?? "[]");
const lines = new Map<number, Line>();
let turn = 0;

const tell = (came: Came) => process.stdout.write(`${JSON.stringify(came)}\n`);

for await (const text of linesOf(Bun.stdin.stream())) {
  const command: Command = JSON.parse(text);
  const { number } = command;
  if (command.do === "send") lines.get(number)?.send(command.text);
  else if (command.do === "close") lines.get(number)?.close();
  else {
    // A socket that fails reports its error to the test, which knows whether the failure is expected.
    const failed = (error: unknown) => tell({ number, kind: "failed", why: String(error) });
    void (command.do === "ask" ? ask(number, command.what) : open(number, command.what)).catch(failed);
  }
}
process.exit(0);

async function ask(number: number, what: Visited): Promise<void> {
  const socket = socketTo(what);
  const bytes = readerOf(socket);
  const body = what.body ?? "";
  socket.write(`${headOf(what, { "content-length": String(Buffer.byteLength(body)) })}${body}`);
  const head = await bytes.until("\r\n\r\n");
  tell({ number, kind: "answer", status: statusOf(head), body: await bodyOf(head, bytes) });
  socket.destroy();
}

async function open(number: number, what: Visited): Promise<void> {
  const socket = socketTo(what);
  const bytes = readerOf(socket);
  const isSocket = what.url.startsWith("ws");
  socket.write(headOf(what, isSocket ? upgradeHeaders : { accept: "text/event-stream" }));
  const head = await bytes.until("\r\n\r\n");
  const status = statusOf(head);
  if (status !== (isSocket ? 101 : 200)) {
    tell({ number, kind: "answer", status, body: await bodyOf(head, bytes) });
    return void socket.destroy();
  }
  const ended = await (isSocket ? talk(number, what, socket, bytes) : listen(number, head, socket, bytes));
  lines.delete(number);
  socket.destroy();
  tell({ number, kind: "closed", code: ended });
}

async function talk(number: number, { client }: Visited, socket: Socket, bytes: Reader): Promise<number> {
  const write = (text: string) => socket.write(frameOf(text));
  const started = client && (await startHandshake(client.id, client.secret));
  let session: ReturnType<NonNullable<typeof started>["finish"]> | undefined;
  const join = () => {
    const send = (text: string) =>
      write(session === undefined || text === "ping" ? text : session.seal(text));
    lines.set(number, { send, close: () => socket.end(frameOf("", closeFrame)) });
    tell({ number, kind: "open" });
  };
  if (started === undefined) join();
  else write(started.hello);
  for (;;) {
    // A socket may end without a message.
    const frame = await frameFrom(bytes).catch(() => undefined);
    if (frame === undefined) return 1006;
    const { kind, payload } = frame;
    if (kind === closeFrame) return payload.length >= 2 ? payload.readUInt16BE() : 1005;
    if (kind === pingFrame) socket.write(frameOf(payload.toString("latin1"), pongFrame));
    if (kind !== textFrame) continue;
    const text = payload.toString("utf8");
    const isOpenly = started === undefined || text === "pong" || text.includes('"error"');
    if (isOpenly) tell({ number, kind: "text", text });
    // A refused handshake has ended, even if the service does not close the connection.
    if (isOpenly && started !== undefined && session === undefined && text !== "pong") return 1000;
    if (isOpenly) continue;
    if (session === undefined) {
      session = started.finish(text);
      join();
    } else {
      const opened = session.open(text);
      if (opened.kind === "payload") tell({ number, kind: "text", text: opened.text });
    }
  }
}

/** The data of each event (HTML Living Standard, 9.2). */
async function listen(number: number, head: string, socket: Socket, bytes: Reader): Promise<number> {
  lines.set(number, { send() {}, close: () => socket.destroy() });
  tell({ number, kind: "open" });
  const stream = { text: "" };
  try {
    for (;;) {
      const piece = await chunkOf(head, bytes);
      if (piece === undefined) return 0;
      stream.text += piece;
      const blocks = stream.text.split("\n\n");
      stream.text = blocks.pop() ?? "";
      for (const block of blocks)
        for (const line of block.split("\n"))
          if (line.startsWith("data: ")) tell({ number, kind: "text", text: line.slice(6) });
    }
  } catch {
    // The service, or the test, has closed the connection.
    return 1006;
  }
}

function socketTo({ url, path }: Visited): Socket {
  if (path !== undefined) return connectTcp({ path });
  const { hostname, port, protocol } = new URL(url);
  const localAddress = sources.length === 0 ? {} : { localAddress: sources[turn++ % sources.length] };
  const options = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port), ...localAddress };
  const isTls = protocol === "wss:" || protocol === "https:";
  return isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connectTcp(options);
}

function headOf(
  { url, method = "GET", headers = {} }: Visited,
  more: Readonly<Record<string, string>>,
): string {
  const { host, pathname, search } = new URL(url);
  const all = { host, ...more, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

function statusOf(head: string): number {
  return Number(head.slice(9, 12));
}

async function bodyOf(head: string, bytes: Reader): Promise<string> {
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return Buffer.from(await bytes.take(Number(length))).toString("utf8");
  if (!/^transfer-encoding: chunked/im.test(head)) return "";
  const pieces: string[] = [];
  for (let piece = await chunkOf(head, bytes); piece !== undefined; piece = await chunkOf(head, bytes))
    pieces.push(piece);
  return pieces.join("");
}

/** The next chunk (RFC 9112, 7.1); undefined after the last one. No chunk of these messages is cut within a character. */
async function chunkOf(head: string, bytes: Reader): Promise<string | undefined> {
  if (!/^transfer-encoding: chunked/im.test(head)) throw new Error(`no chunks come: ${head}`);
  const size = Number.parseInt(await bytes.until("\r\n"), 16);
  const piece = Buffer.from(await bytes.take(size)).toString("utf8");
  await bytes.take(2);
  return size === 0 ? undefined : piece;
}
