/**
 * One HTTP/1.1 exchange with a server at a given address (RFC 9112): a request, the head of the response, and its body. The
 * body is read and dropped. Proxies, the environment and the name service have no influence.
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { failed, messageOf, ServiceError } from "../core/errors.ts";
import { webBodyBytesMax, webHeadBytesMax } from "../core/limits.ts";

export interface HttpExchange {
  readonly method: "GET" | "POST";
  /** Only with POST. */
  readonly content?: { readonly type: string; readonly body: string };
  /** Its host name goes to the server, whose certificate must be for that name. */
  readonly url: URL;
  /** The address to connect to. */
  readonly address: string;
}

/**
 * Sends one request and resolves with the head of the response when all of it has arrived. Throws `ServiceError("failed")`,
 * with `data.connected` false if there was no connection, and the signal's reason if that aborts.
 */
export function exchange(asked: HttpExchange, signal: AbortSignal): Promise<ResponseHead> {
  const request = requestOf(asked, "1.1");
  return new Promise((resolve, reject) => {
    let connected = false;
    const reading = newReading();
    const socket = open(asked, () => {
      connected = true;
      socket.write(request);
    });
    const finish = (settle: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      settle();
    };
    const fail = (why: string, cause?: unknown) =>
      finish(() => {
        const sentence = `${asked.url.host} ${why}`;
        reject(new ServiceError("failed", sentence, { cause, data: { connected } }));
      });
    const onAbort = () => finish(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("data", (bytes: Buffer) => {
      const fault = take(reading, bytes);
      if (fault !== undefined) fail(fault);
      else if (isWhole(reading)) finish(() => reading.head && resolve(reading.head));
    });
    socket.on("error", (error) => fail(`could not be reached: ${messageOf(error)}`, error));
    socket.on("close", () => {
      const { head } = reading;
      // A body without a length ends with the connection (RFC 9112, 6.3).
      if (head === undefined) fail("closed the connection without an answer");
      else if (head.length !== undefined || head.isChunked)
        fail("closed the connection before the end of its answer");
      else finish(() => resolve(head));
    });
  });
}

/** The head of a response, and its body as it comes. */
export interface WebBody extends ResponseHead {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Ends the connection, and with it the body. */
  close(): void;
}

/**
 * Sends a GET of HTTP/1.0, which has no chunks, and resolves with the head of the response; the signal counts until then.
 * Throws as `exchange` does.
 */
export async function openBody(asked: HttpExchange, signal: AbortSignal): Promise<WebBody> {
  let connected = false;
  const socket = open(asked, () => {
    connected = true;
    socket.write(requestOf(asked, "1.0"));
  });
  const onAbort = () => socket.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  const reading = newReading();
  const fail = (why: string, cause?: unknown): never => {
    socket.destroy();
    signal.throwIfAborted();
    throw new ServiceError("failed", `${asked.url.host} ${why}`, { cause, data: { connected } });
  };
  while (reading.head === undefined) {
    const read = await chunks
      .next()
      .catch((error: unknown) => fail(`could not be reached: ${messageOf(error)}`, error));
    if (read.done === true) return fail("closed the connection without an answer");
    const fault = take(reading, read.value);
    if (fault !== undefined) return fail(fault);
  }
  signal.removeEventListener("abort", onAbort);
  if (reading.head.isChunked) return fail("sends chunks, which HTTP/1.0 does not have");
  const first = reading.rest;
  return {
    ...reading.head,
    chunks: (async function* () {
      yield first;
      yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
    close: () => void socket.destroy(),
  };
}

function open({ url, address }: HttpExchange, onOpen: () => void): Socket {
  const port = portOf(url);
  if (url.protocol !== "https:") return connectPlain({ host: address, port }, onOpen);
  const name = url.hostname.replace(/^\[|\]$/g, "");
  // An address is no server name (RFC 6066, 3).
  const servername = isIP(name) > 0 ? {} : { servername: name };
  return connectTls({ host: address, port, ...servername, ALPNProtocols: ["http/1.1"] }, onOpen);
}

/** The port of the URL, or that of its scheme. */
export function portOf({ port, protocol }: URL): number {
  return Number(port === "" ? (protocol === "https:" ? 443 : 80) : port);
}

function requestOf({ method, url, content }: HttpExchange, version: "1.0" | "1.1"): Buffer {
  const body = Buffer.from(content?.body ?? "");
  if (content !== undefined && !/^[\x20-\x7e]+$/.test(content.type))
    throw failed("a content type is written in plain letters, such as text/plain");
  const lines = [
    `${method} ${url.pathname}${url.search} HTTP/${version}`,
    `Host: ${url.host}`,
    "User-Agent: tapdeck",
    "Accept: */*",
    "Accept-Encoding: identity",
    "Connection: close",
    // Radio stations put titles into the body, and say how (`icy-metaint`).
    ...(version === "1.0" ? ["Icy-MetaData: 1"] : []),
    ...(content === undefined ? [] : [`Content-Type: ${content.type}`, `Content-Length: ${body.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

export interface ResponseHead {
  readonly status: number;
  readonly location: string | undefined;
  /** Bytes of the body; undefined if it ends with the connection, or comes in chunks. */
  readonly length: number | undefined;
  readonly isChunked: boolean;
  /** The fields, by names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
}

interface Reading {
  /** The head, as far as it has arrived. */
  bytes: Buffer;
  head: ResponseHead | undefined;
  bodyBytes: number;
  /** The last characters of the body, which mark the end of a body in chunks. */
  tail: string;
  /** The last piece of the body. */
  rest: Buffer;
}

function newReading(): Reading {
  const none = Buffer.alloc(0);
  return { bytes: none, head: undefined, bodyBytes: 0, tail: "", rest: none };
}

/** Reads bytes; returns a sentence if they are no valid response. */
function take(reading: Reading, bytes: Buffer): string | undefined {
  let body = bytes;
  while (reading.head === undefined) {
    reading.bytes = Buffer.concat([reading.bytes, body]);
    const end = reading.bytes.indexOf("\r\n\r\n");
    if (end < 0 && reading.bytes.length <= webHeadBytesMax) return undefined;
    if (end < 0 || end > webHeadBytesMax) return `answered with a head of more than ${webHeadBytesMax} bytes`;
    const head = headOf(reading.bytes.subarray(0, end).toString("latin1"));
    if (head === undefined) return "did not answer in HTTP";
    body = reading.bytes.subarray(end + 4);
    reading.bytes = Buffer.alloc(0);
    // A final response follows 1xx (RFC 9110, 15.2).
    if (head.status >= 200) reading.head = head;
  }
  reading.rest = body;
  reading.bodyBytes += body.length;
  reading.tail = (reading.tail + body.subarray(-7).toString("latin1")).slice(-7);
  return reading.bodyBytes > webBodyBytesMax ? `answered with more than ${webBodyBytesMax} bytes` : undefined;
}

function headOf(text: string): ResponseHead | undefined {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = /^(?:HTTP\/1\.[01]|ICY) ([1-9][0-9]{2})( |$)/.exec(statusLine)?.[1];
  if (status === undefined) return undefined;
  const fields = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const code = Number(status);
  const isChunked = /chunked\s*$/i.test(fields.get("transfer-encoding") ?? "");
  const length = /^[0-9]{1,15}$/.exec(fields.get("content-length") ?? "")?.[0];
  // 204 and 304 have no body, even with a Content-Length (RFC 9112, 6.3).
  const known =
    code === 204 || code === 304 ? 0 : length === undefined || isChunked ? undefined : Number(length);
  return { status: code, location: fields.get("location"), length: known, isChunked, fields };
}

function isWhole({ head, bodyBytes, tail }: Reading): boolean {
  if (head === undefined) return false;
  if (head.isChunked && head.length === undefined)
    return tail.endsWith("\r\n0\r\n\r\n") || tail === "0\r\n\r\n";
  return head.length !== undefined && bodyBytes >= head.length;
}
