/**
 * A client of the control API: calls and notifications. It needs only a WebSocket, so it also runs in browsers. On another
 * machine it needs an identity, from `pair` or from a link of `tapdeck pair`.
 *
 *     const { id, secret } = await pair("ws://tapdeck.local:7497/api/v0.1", "123 456", { name: "my phone" });
 *     const client = await connect("ws://tapdeck.local:7497/api/v0.1", { id, secret, reconnect: true });
 *     const { readers } = await client.call("readers");
 *     for await (const { method, params } of client.notifications()) console.log(method, params);
 */

import type { Calls, Notification } from "../api/methods/index.ts";
import { toHex } from "../core/hex.ts";
import {
  abortable,
  type Deferred,
  deferred,
  isStranger,
  type Link,
  openPlainLink,
  openSealedLink,
  RpcError,
} from "./link.ts";

export type { Identity } from "./link.ts";
export { RpcError } from "./link.ts";
export { bearerOf, type PairOptions, pair } from "./pair-client.ts";
export type { Calls, Notification };

export interface ConnectOptions {
  /** With `secret`, the connection is encrypted, as a device requires of clients on other machines. */
  readonly id?: string;
  /** 64 hex characters. */
  readonly secret?: string;
  /** Aborts the first connecting. */
  readonly signal?: AbortSignal;
  /** Reconnects after each loss; calls wait meanwhile. The client ends if the device no longer knows it. */
  readonly reconnect?: boolean;
  /** Milliseconds between heartbeats; 0 for none. A connection without an answer for twice as long counts as lost. */
  readonly heartbeatMs?: number;
}

export interface CallOptions {
  /** Stops waiting for the answer; the service may still run the call. */
  readonly signal?: AbortSignal;
}

type ParamsOf<Name extends keyof Calls> = Calls[Name]["params"];

/** The params may be left out if none of them is required. */
type RestOf<Name extends keyof Calls> =
  object extends ParamsOf<Name>
    ? [params?: ParamsOf<Name>, options?: CallOptions]
    : [params: ParamsOf<Name>, options?: CallOptions];

/** A listener. It is not called after `dispose`, or after the block of a `using` declaration. */
export interface Listening extends Disposable {
  dispose(): void;
}

export interface Client {
  /** Rejects with `RpcError` if the service refuses, and with `Error` if the connection is lost before the answer. */
  call<Name extends keyof Calls>(method: Name, ...rest: RestOf<Name>): Promise<Calls[Name]["result"]>;
  /** Like `call`, for a method that this client does not know. */
  callAny(method: string, params?: unknown, options?: CallOptions): Promise<unknown>;
  /** Resolves when the service has answered `ping`. */
  ping(): Promise<void>;
  /** Receives every notification until disposed. */
  onNotification(listener: (notification: Notification) => void): Listening;
  /** All notifications from now on, until the signal aborts or the client is closed. */
  notifications(signal?: AbortSignal): AsyncIterableIterator<Notification>;
  /** Calls `listener` when the connection is lost, and when it is restored. */
  onState(listener: (state: "connected" | "lost") => void): Listening;
  /** Resolves after `close`, or, without `reconnect`, after the connection is lost. */
  readonly closed: Promise<void>;
  close(): void;
}

const heartbeatMsDefault = 15_000;
const backOffMsMin = 250;
const backOffMsMax = 10_000;

/** Connects to `ws://host:port/api/v0.1`. Rejects if nobody answers, or if `signal` aborts first. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const { signal, id, secret, reconnect = false, heartbeatMs = heartbeatMsDefault } = options;
  const pending = new Map<string, Deferred<unknown>>();
  const listeners = new Set<(notification: Notification) => void>();
  const stateListeners = new Set<(state: "connected" | "lost") => void>();
  const ended = deferred<void>();
  const closing = new AbortController();

  const open = (within: AbortSignal | undefined) => {
    const over = {
      onMessage: (text: string) => take(text, pending, listeners),
      heartbeatMs,
      signal: within,
    };
    return id === undefined || secret === undefined
      ? openPlainLink(url, over)
      : openSealedLink(url, { id, secret }, over);
  };
  /** The link that calls go over; pending while there is none. */
  let link = Promise.resolve(await open(signal));

  const keep = async (first: Link): Promise<void> => {
    const error = await first.ended;
    for (const wait of pending.values()) wait.reject(error);
    pending.clear();
    const again = reconnect && !closing.signal.aborted;
    link = again ? reopen(() => open(closing.signal), closing.signal) : Promise.reject(error);
    // Calls wait for this link, and report its failure.
    link.catch(() => {});
    if (!again) return ended.resolve();
    for (const listener of stateListeners) listener("lost");
    try {
      const next = await link;
      for (const listener of stateListeners) listener("connected");
      return await keep(next);
    } catch {
      // The client was closed meanwhile, or the device no longer knows it.
      ended.resolve();
    }
  };
  void keep(await link);

  const callAny = async (method: string, params?: unknown, { signal: givenUp }: CallOptions = {}) => {
    givenUp?.throwIfAborted();
    const over = await abortable(link, givenUp);
    const request = newId();
    const answered = deferred<unknown>();
    pending.set(request, answered);
    const text = { jsonrpc: "2.0", id: request, method, ...(params === undefined ? {} : { params }) };
    over.send(JSON.stringify(text));
    return abortable(answered.promise, givenUp).finally(() => pending.delete(request));
  };
  return {
    call: (method, ...[params, how]) =>
      callAny(method, params, how) as Promise<Calls[typeof method]["result"]>,
    callAny,
    ping: async () => (await link).ping(),
    onNotification: (listener) => join(listeners, listener),
    notifications(until) {
      const stream = createStream<Notification>();
      const hearing = join(listeners, stream.push);
      const end = () => {
        hearing.dispose();
        stream.end();
      };
      until?.addEventListener("abort", end, { once: true });
      void ended.promise.then(end);
      return stream.iterate(end);
    },
    onState: (listener) => join(stateListeners, listener),
    closed: ended.promise,
    close() {
      closing.abort(new Error("the client was closed"));
      link.then(
        (open) => open.close(),
        () => {},
      );
    },
  };
}

/** Retries with exponential back-off. Rejects if the signal aborts, or if the device does not know the client. */
async function reopen(open: () => Promise<Link>, signal: AbortSignal): Promise<Link> {
  for (let waitMs = backOffMsMin; ; waitMs = Math.min(waitMs * 2, backOffMsMax)) {
    // The jitter is random, so the clients of a restarted service do not all connect at once.
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
    try {
      return await open();
    } catch (error) {
      signal.throwIfAborted();
      if (isStranger(error)) throw error;
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const over = deferred<void>();
  const timer = setTimeout(over.resolve, ms);
  return abortable(over.promise, signal).finally(() => clearTimeout(timer));
}

function join<T>(set: Set<T>, member: T): Listening {
  set.add(member);
  const dispose = () => void set.delete(member);
  return { dispose, [Symbol.dispose]: dispose };
}

/** A random UUID. `crypto.randomUUID` is missing from pages that did not come over TLS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

interface Incoming {
  readonly id?: string;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

function take(
  text: string,
  pending: ReadonlyMap<string, Deferred<unknown>>,
  listeners: ReadonlySet<(notification: Notification) => void>,
): void {
  const message = JSON.parse(text) as Incoming;
  if (message.method !== undefined) {
    for (const listener of listeners) listener(message as Notification);
    return;
  }
  const error = message.error && new RpcError(message.error.code, message.error.message, message.error.data);
  const waiting = pending.get(message.id ?? "");
  if (error === undefined) waiting?.resolve(message.result);
  else if (waiting !== undefined) waiting.reject(error);
  // A protocol error belongs to no request, and the service then closes the connection: all calls fail with it.
  else for (const wait of pending.values()) wait.reject(error);
}

// A caller that falls this far behind gets an error, because memory must not grow without bound.
const keptMax = 10_000;

/** A queue of values for `for await`, with a limit. */
function createStream<T>() {
  const kept: T[] = [];
  let isOpen = true;
  let hasLost = false;
  let wake = () => {};

  return {
    push(value: T) {
      if (!isOpen) return;
      if (kept.length < keptMax) kept.push(value);
      else hasLost = true;
      wake();
    },
    /** Values that were pushed before can still be taken. */
    end() {
      isOpen = false;
      wake();
    },
    /** Calls `onReturn` when the loop ends, early or not. */
    async *iterate(onReturn: () => void): AsyncIterableIterator<T> {
      try {
        for (;;) {
          for (let next = kept.shift(); next !== undefined; next = kept.shift()) yield next;
          if (hasLost) throw new Error(`more than ${keptMax} notifications were waiting to be looked at`);
          if (!isOpen) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        onReturn();
      }
    },
  };
}
