/**
 * One HTTP exchange with a server at a given address. The connection is made here and not by an agent of the runtime, so
 * proxies, the environment and the name service have no influence.
 */
import type { IncomingMessage } from "node:http";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { compose, type Duplex, Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import { failed, ServiceError } from "../core/errors.ts";
import { webBodyBytesMax, webHeadBytesMax } from "../core/limits.ts";

export interface HttpExchange {
  readonly method: "GET" | "POST";
  /** The content of a POST. */
  readonly content?: { readonly type: string; readonly body: string };
  /** Asks a radio station to put titles into the body, and to state their interval (`icy-metaint`). */
  readonly hasTitles?: true;
  /** The URL. Its host name goes to the server, whose certificate must be for that name. */
  readonly url: URL;
  /** The address to connect to. */
  readonly address: string;
}

/** The head of a response, and its body as it comes. */
export interface WebBody {
  readonly host: string;
  readonly status: number;
  /** The fields, by names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Ends the connection, and with it the body. */
  close(): void;
}

/**
 * Sends one request, and resolves with the head of the response. The signal has no effect after that. Throws
 * `ServiceError("failed")`, with `data.connected` false if there was no connection, and the signal's reason if that aborts.
 */
export async function openBody(asked: HttpExchange, signal: AbortSignal): Promise<WebBody> {
  const { url, content, hasTitles } = asked;
  if (content !== undefined && !/^[\x20-\x7e]+$/.test(content.type))
    throw failed("a content type is written in plain letters, such as text/plain");
  const body = Buffer.from(content?.body ?? "");
  const headers = {
    Host: url.host,
    "User-Agent": "tapdeck",
    Accept: "*/*",
    "Accept-Encoding": "identity",
    Connection: "close",
    ...(hasTitles === true ? { "Icy-MetaData": "1" } : {}),
    ...(content === undefined ? {} : { "Content-Type": content.type, "Content-Length": body.length }),
  };
  // The module takes 2.7 MB of memory, and most decks call no server.
  const { request } = await import("node:http");
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    let connected = false;
    const onOpen = () => {
      connected = true;
    };
    const sent = request({
      method: asked.method,
      path: url.pathname + url.search,
      headers,
      maxHeaderSize: webHeadBytesMax,
      createConnection: () => asHttp(connect(asked, onOpen)),
    });
    const onAbort = () => sent.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    sent.once("response", (response) => {
      signal.removeEventListener("abort", onAbort);
      resolve(bodyOf(url.host, response));
    });
    sent.on("error", (cause) => {
      signal.removeEventListener("abort", onAbort);
      const sentence = `${url.host} ${connected ? faultOf(cause) : `could not be reached: ${cause.message}`}`;
      const error = new ServiceError("failed", sentence, { cause, data: { connected } });
      reject(signal.aborted ? signal.reason : error);
    });
    sent.end(body);
  });
}

function bodyOf(host: string, response: IncomingMessage): WebBody {
  const fields = Object.entries(response.headers).map(([name, value = ""]) => [name, String(value)] as const);
  return {
    host,
    status: response.statusCode ?? 0,
    fields: new Map(fields),
    chunks: response,
    close: () => void response.destroy(),
  };
}

/** The fault of a server that accepted the connection but did not answer. */
function faultOf(error: NodeJS.ErrnoException): string {
  const code = error.code ?? "";
  if (code === "HPE_HEADER_OVERFLOW") return `answered with a head of more than ${webHeadBytesMax} bytes`;
  return code.startsWith("HPE_") ? "did not answer in HTTP" : "closed the connection without an answer";
}

/** Reads a body to its end and drops it. Throws `ServiceError("failed")` if it is too long or incomplete. */
export async function dropBody({ host, chunks, close }: WebBody, signal: AbortSignal): Promise<void> {
  signal.addEventListener("abort", close, { once: true });
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > webBodyBytesMax) throw failed(`${host} answered with more than ${webBodyBytesMax} bytes`);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceError) throw error;
    throw failed(`${host} closed the connection before the end of its answer`, error);
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

function connect({ url, address }: HttpExchange, onOpen: () => void): Socket {
  const port = portOf(url);
  if (url.protocol !== "https:") return connectPlain({ host: address, port }, onOpen);
  const name = url.hostname.replace(/^\[|\]$/g, "");
  // An address is not a server name (RFC 6066, 3).
  const servername = isIP(name) > 0 ? {} : { servername: name };
  return connectTls({ host: address, port, ...servername, ALPNProtocols: ["http/1.1"] }, onOpen);
}

/** The port of the URL, or that of its scheme. */
export function portOf({ port, protocol }: URL): number {
  return Number(port === "" ? (protocol === "https:" ? 443 : 80) : port);
}

/**
 * A connection on which an answer of SHOUTcast 1 begins with `HTTP/1.0`. Such a server writes `ICY`, which `node:http` refuses.
 */
function asHttp(socket: Socket): Duplex {
  let begin: Buffer | undefined = Buffer.alloc(0);
  const readable = new Transform({
    transform(chunk: Buffer, _encoding, give) {
      if (begin === undefined) return give(null, chunk);
      const bytes = Buffer.concat([begin, chunk]);
      begin = bytes.length < 4 ? bytes : undefined;
      if (begin !== undefined) return give();
      const isIcy = bytes.toString("latin1", 0, 4) === "ICY ";
      give(null, isIcy ? Buffer.concat([Buffer.from("HTTP/1.0 "), bytes.subarray(4)]) : bytes);
    },
    flush: (give) => give(null, begin),
  });
  return compose(socket, readable);
}
