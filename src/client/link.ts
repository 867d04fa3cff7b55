/**
 * Links to the service: a WebSocket with heartbeats, in the clear or over the secure layer (docs/SECURE.md), and the
 * errors that the service sends.
 */

import { startHandshake } from "../secure/handshake.ts";
import { loadPrimitives } from "../secure/primitives.ts";
import type { SecureSession } from "../secure/secure-session.ts";

export interface Link {
  send(text: string): void;
  /** Resolves after the service has answered `ping`; rejects if the link ends first. */
  ping(): Promise<void>;
  /** Resolves with the reason after either side has closed it. */
  readonly ended: Promise<Error>;
  close(): void;
}

interface LinkOptions {
  readonly onMessage: (text: string) => void;
  /** Milliseconds between heartbeats, 0 for none. A heartbeat that is not answered before the next one ends the link. */
  readonly heartbeatMs: number;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens a WebSocket. Rejects if nobody answers, or with the signal's reason. */
export async function openPlainLink(
  url: string,
  { onMessage, heartbeatMs, signal }: LinkOptions,
): Promise<Link> {
  signal?.throwIfAborted();
  if (typeof WebSocket === "undefined")
    throw new Error("this Node has no WebSocket: use Node 22 or newer, or node --experimental-websocket");
  const socket = new WebSocket(url);
  let pings: Deferred<void>[] = [];
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  const end = deferred<Error>();

  socket.addEventListener("close", ({ code, reason }) => {
    clearInterval(heartbeat);
    const error = new Error(`the connection has ended${reason === "" ? ` (${code})` : `: ${reason}`}`);
    for (const ping of pings) ping.reject(error);
    pings = [];
    end.resolve(error);
  });
  socket.addEventListener("message", ({ data }) => {
    if (data === "pong") pings.shift()?.resolve();
    else onMessage(String(data));
  });
  const ping = () => {
    const answered = deferred<void>();
    pings.push(answered);
    socket.send("ping");
    return answered.promise;
  };

  await opened(socket, signal);
  if (heartbeatMs > 0) {
    heartbeat = setInterval(() => {
      if (pings.length > 0) return socket.close();
      // `ended` reports the end of the link.
      ping().catch(() => {});
    }, heartbeatMs);
  }
  const send = (text: string) => {
    // Calls fail once the connection has ended; until then, browsers report an error for each text that is sent.
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
  };
  return { send, ping, ended: end.promise, close: () => socket.close() };
}

async function opened(socket: WebSocket, signal: AbortSignal | undefined): Promise<void> {
  const connected = deferred<void>();
  const fail = () => connected.reject(new Error("nobody answers there"));
  socket.addEventListener("error", fail, { once: true });
  socket.addEventListener("close", fail, { once: true });
  socket.addEventListener("open", () => connected.resolve(), { once: true });
  try {
    await abortable(connected.promise, signal);
  } catch (error) {
    socket.close();
    throw error;
  }
}

/** Settles as the promise, or rejects with the signal's reason if it aborts first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
  });
}

/** A request without an id is never answered (jsonrpc.org/specification, 4.1). */
const proof = JSON.stringify({ jsonrpc: "2.0", method: "version" });

/**
 * Like `openPlainLink`, over the secure layer. Rejects with `RpcError` if the device refuses, and with `ServiceError` if id or
 * secret is malformed, or the other side does not know the secret.
 */
export async function openSealedLink(
  url: string,
  { id, secret }: Identity,
  options: LinkOptions,
): Promise<Link> {
  // Each step takes a slow phone up to 60 ms, and a task of its own lets its page answer in between.
  await loadPrimitives();
  await nextTask();
  const handshake = await startHandshake(id, secret);
  await nextTask();
  const shaken = deferred<SecureSession>();
  let session: SecureSession | undefined;
  const take = (text: string) => {
    try {
      // A refusal is not encrypted, so its sender is not authenticated; but the connection ends after it anyway.
      const refusal = readProtocolError(text);
      if (refusal !== undefined) throw refusal;
      if (session === undefined) {
        session = handshake.finish(text);
        shaken.resolve(session);
        return;
      }
      const opened = session.open(text);
      if (opened.kind === "payload") options.onMessage(opened.text);
    } catch (error) {
      shaken.reject(error);
      link.close();
    }
  };
  const link = await openPlainLink(url, { ...options, onMessage: take });
  void link.ended.then((error) => {
    shaken.reject(error);
    session?.close();
  });
  options.signal?.addEventListener("abort", link.close, { once: true });
  link.send(handshake.hello);
  const open = await shaken.promise.finally(() => options.signal?.removeEventListener("abort", link.close));
  await nextTask();
  // The first sealed payload proves the secret; the device closes connections that send none.
  link.send(open.seal(proof));
  return { ...link, send: (text) => link.send(open.seal(text)) };
}

/** The credentials of a client on another machine, which keeps them like a password. */
export interface Identity {
  /** The client's id, from `clients.new`, a pairing link or `pair`. */
  readonly id: string;
  /** 64 hex characters. */
  readonly secret: string;
}

/** A refusal of the service: its code, its sentence, and `data.reason`. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The code of `secure-failure`: the device does not know the client, or the secret is wrong. */
const secureFailureCode = -32003;

/** True if the device does not know these credentials; another try with them cannot succeed. */
export function isStranger(error: unknown): boolean {
  return error instanceof RpcError && error.code === secureFailureCode;
}

/** Reads a protocol error, which belongs to no request; undefined for any other text. */
export function readProtocolError(text: string): RpcError | undefined {
  const message: unknown = JSON.parse(text);
  if (typeof message !== "object" || message === null || "id" in message || !("error" in message))
    return undefined;
  const { error } = message;
  if (typeof error !== "object" || error === null || !("code" in error) || !("message" in error))
    return undefined;
  return new RpcError(Number(error.code), String(error.message), "data" in error ? error.data : undefined);
}

/** Resolves in a further task, after the events and the drawing that wait. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

export type Deferred<T> = ReturnType<typeof deferred<T>>;

/** The same as `Promise.withResolvers`, which Node 20 and browsers before 2024 lack. */
export function deferred<T>() {
  let [resolve, reject]: [(value: T) => void, (reason: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
