/**
 * A client of the control API: calls, and notifications as they come. Needs nothing but a WebSocket, so it runs in
 * browsers too.
 */
import type { Health, LaunchEntry } from "../api/services.ts";
import type { ActiveMedia } from "../core/media.ts";
import type { Reader, Token } from "../core/token.ts";
import type { EventName, Events } from "../events.ts";

type LaunchParams = string | { type?: string; uid?: string; text?: string; data?: string };
type ScanParams = Exclude<LaunchParams, string> & { duration?: number; readerId?: string };

/** Params and result of each method. */
export interface Calls {
  launch: { params: LaunchParams; result: null };
  run: { params: LaunchParams; result: null };
  stop: { params: undefined; result: null };
  tokens: { params: undefined; result: { active: Token[]; last: Token | null } };
  "tokens.scan": { params: ScanParams; result: null };
  "tokens.history": {
    params: { limit?: number; before?: string } | undefined;
    result: { entries: LaunchEntry[] };
  };
  readers: { params: undefined; result: { readers: Reader[] } };
  version: { params: undefined; result: { platform: string; version: string } };
  health: { params: undefined; result: Health };
  "media.active": { params: undefined; result: ActiveMedia | null };
}

export type Notification = {
  [Name in EventName]: { readonly method: Name; readonly params: Events[Name] };
}[EventName];

/** The service refused: its code, its sentence, and `data.reason`. */
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

export interface Client {
  call<Name extends keyof Calls>(
    method: Name,
    params?: Calls[Name]["params"],
  ): Promise<Calls[Name]["result"]>;
  /** As `call`, for a method that this client does not know. */
  callAny(method: string, params?: unknown): Promise<unknown>;
  /** Resolves when the service has answered `ping`. */
  ping(): Promise<void>;
  /** Hears every notification until disposed. */
  onNotification(listener: (notification: Notification) => void): Disposable;
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
  close(): void;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Connects to `ws://host:port/api/v0.1`; rejects where nobody answers, or when `signal` aborts before. */
export async function connect(url: string, signal?: AbortSignal): Promise<Client> {
  const socket = new WebSocket(url);
  const pending = new Map<string, Pending>();
  const listeners = new Set<(notification: Notification) => void>();
  let pings: Pending[] = [];

  const lose = () => {
    const error = new Error("the connection has ended");
    for (const wait of [...pending.values(), ...pings]) wait.reject(error);
    pending.clear();
    pings = [];
  };
  const closed = new Promise<void>((resolve) => {
    socket.addEventListener("close", () => {
      lose();
      resolve();
    });
  });
  socket.addEventListener("message", ({ data }) => {
    if (data === "pong") pings.shift()?.resolve(undefined);
    else take(JSON.parse(String(data)), pending, listeners);
  });
  await opened(socket, signal);

  const callAny = (method: string, params?: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      const id = crypto.randomUUID();
      pending.set(id, { resolve, reject });
      socket.send(
        JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }),
      );
    });
  return {
    call: (method, params) => callAny(method, params) as Promise<Calls[typeof method]["result"]>,
    callAny,
    ping: () =>
      new Promise<void>((resolve, reject) => {
        pings.push({ resolve: () => resolve(), reject });
        socket.send("ping");
      }),
    onNotification(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    closed,
    close: () => socket.close(),
  };
}

function opened(socket: WebSocket, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error("nobody answers there"));
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("error", fail, { once: true });
    socket.addEventListener("close", fail, { once: true });
    signal?.addEventListener("abort", () => {
      reject(signal.reason);
      socket.close();
    });
  });
}

interface Incoming {
  readonly id?: string;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

function take(
  message: Incoming,
  pending: Map<string, Pending>,
  listeners: ReadonlySet<(notification: Notification) => void>,
): void {
  if (message.method !== undefined) {
    for (const listener of listeners) listener(message as Notification);
    return;
  }
  const error = message.error && new RpcError(message.error.code, message.error.message, message.error.data);
  const waiting = pending.get(message.id ?? "");
  pending.delete(message.id ?? "");
  if (error === undefined) waiting?.resolve(message.result);
  else if (waiting !== undefined) waiting.reject(error);
  // A protocol error belongs to no request, and after it the service hangs up: it is everybody's.
  else for (const wait of pending.values()) wait.reject(error);
}
