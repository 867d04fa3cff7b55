/**
 * The HTTP of WS-Discovery: a PC sends one question over a connection, which ends with the answer. Each device of the
 * network may connect, so the number of connections, their bytes and their time are limited. `Bun.serve` reports a
 * connection only after its first request, so it cannot limit silent ones.
 */
import type { Socket } from "bun";
import {
  wsdConnectionMsMax,
  wsdConnectionsMax,
  wsdConnectionsPerAddressMax,
  wsdHeadBytesMax,
  wsdMessageBytesMax,
} from "../core/console-limits.ts";

interface WsdHttpParts {
  readonly port: number;
  /** The path of the questions. */
  readonly path: string;
  /** Whether an address may ask. */
  readonly isNear: (address: string) => boolean;
  /** The answer to a body; undefined if there is none. */
  readonly answer: (body: Uint8Array) => string | undefined;
}

interface Asking {
  readonly late: ReturnType<typeof setTimeout>;
  bytes: Uint8Array;
  /** The connection still counts until the PC has closed it. */
  isAnswered: boolean;
}

/** Serves until disposed. Throws if the port is taken. */
export function serveWsdHttp({ port, path, isNear, answer }: WsdHttpParts): Disposable {
  const open = new Map<Socket<Asking>, string>();
  const reply = (bytes: Uint8Array): string | undefined => {
    const asked = httpRequestIn(bytes);
    if (asked === "incomplete") return undefined;
    if (asked === "too-long") return head("413 Content Too Large", "");
    if (asked?.path !== path) return head("404 Not Found", "");
    const body = answer(asked.body);
    return body === undefined ? head("400 Bad Request", "") : head("200 OK", body);
  };
  const isFull = (address: string) =>
    open.size >= wsdConnectionsMax ||
    open
      .values()
      .filter((other) => other === address)
      .toArray().length >= wsdConnectionsPerAddressMax;
  const server = Bun.listen<Asking>({
    hostname: "0.0.0.0",
    port,
    socket: {
      open(socket) {
        const { remoteAddress } = socket;
        socket.data = {
          late: setTimeout(() => socket.terminate(), wsdConnectionMsMax),
          bytes: new Uint8Array(),
          isAnswered: false,
        };
        if (!isNear(remoteAddress) || isFull(remoteAddress)) return socket.terminate();
        open.set(socket, remoteAddress);
      },
      data(socket, chunk) {
        if (!open.has(socket) || socket.data.isAnswered) return;
        socket.data.bytes = Buffer.concat([socket.data.bytes, chunk]);
        const text = reply(socket.data.bytes);
        if (text === undefined) return;
        socket.data.isAnswered = true;
        socket.end(text);
      },
      close(socket) {
        clearTimeout(socket.data.late);
        open.delete(socket);
      },
      error() {},
    },
  });
  return { [Symbol.dispose]: () => server.stop(true) };
}

interface HttpRequest {
  readonly path: string;
  readonly body: Uint8Array;
}

/**
 * Reads a POST with the length of its body (RFC 9112, 3 and 6.3), as Windows sends it. Returns undefined for any other
 * request.
 */
export function httpRequestIn(bytes: Uint8Array): HttpRequest | "incomplete" | "too-long" | undefined {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf("\r\n\r\n");
  if (at > wsdHeadBytesMax || (at < 0 && bytes.length > wsdHeadBytesMax)) return "too-long";
  if (at < 0) return "incomplete";
  const text = Buffer.from(bytes.subarray(0, at)).toString("latin1");
  const [, path] = /^POST (\S+) HTTP\/1\.[01]\r\n/.exec(text) ?? [];
  const [, digits] = /\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?:\r\n|$)/i.exec(text) ?? [];
  if (path === undefined || digits === undefined) return undefined;
  const length = Number(digits);
  if (length > wsdMessageBytesMax) return "too-long";
  const body = bytes.subarray(at + 4);
  return body.length < length ? "incomplete" : { path, body: body.slice(0, length) };
}

function head(status: string, body: string): string {
  const lines = [
    `HTTP/1.1 ${status}`,
    "Content-Type: application/soap+xml",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}
