/**
 * A caller in a process of its own, controlled by a test: a neighbour, another user of the device, or the device itself. The
 * caller sends requests over HTTP, and opens connections: WebSockets, in cleartext or sealed, and event streams.
 */
import { join } from "node:path";
import * as v from "valibot";
import { linesOf } from "./lines.ts";

export interface Identity {
  readonly id: string;
  readonly secret: string;
}

export interface Visited {
  /** The address: `http(s)://` to call, or to read an event stream, and `ws(s)://` to open a WebSocket. */
  readonly url: string;
  /** The path of a socket in the file system, which replaces the URL's host. */
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The identity for a handshake, after which all messages over the WebSocket are sealed. */
  readonly client?: Identity;
}

/** The input of the child. */
export type Command =
  | { readonly do: "ask" | "open"; readonly number: number; readonly what: Visited }
  | { readonly do: "send"; readonly number: number; readonly text: string }
  | { readonly do: "close"; readonly number: number };

/** The output of the child. */
export type Came =
  | { readonly number: number; readonly kind: "answer"; readonly status: number; readonly body: string }
  | { readonly number: number; readonly kind: "open" }
  | { readonly number: number; readonly kind: "text"; readonly text: string }
  | { readonly number: number; readonly kind: "closed"; readonly code: number }
  | { readonly number: number; readonly kind: "failed"; readonly why: string };

const failure = v.object({
  code: v.number(),
  message: v.string(),
  data: v.optional(v.record(v.string(), v.unknown())),
});
const message = v.object({
  id: v.optional(v.nullable(v.union([v.number(), v.string()]))),
  method: v.optional(v.string()),
  params: v.optional(v.unknown()),
  result: v.optional(v.unknown()),
  error: v.optional(failure),
});
type Message = v.InferOutput<typeof message>;

/** The end of a call: its result or its error, or no answer, because the connection was refused or closed. */
export interface Answer {
  readonly result?: unknown;
  readonly error?: v.InferOutput<typeof failure> | undefined;
  /** The status of HTTP, if it was not 200. */
  readonly status?: number;
  readonly closed?: number;
}

export interface Line {
  /** All messages, unparsed. */
  readonly texts: readonly string[];
  /** Names of the received notifications. */
  heard(): readonly string[];
  call(method: string, params?: unknown): Promise<Answer>;
  /** Makes the calls one after another. */
  callAll(calls: readonly Call[]): Promise<readonly Answer[]>;
  /** Makes the calls in one payload. */
  batch(calls: readonly Call[]): Promise<readonly Answer[]>;
  send(text: string): void;
  /** Resolves when all earlier messages of the service over a WebSocket have arrived. */
  fence(): Promise<void>;
  close(): void;
  /** True after either side has closed the connection. */
  isOver(): boolean;
}

export interface Call {
  readonly method: string;
  readonly params?: unknown;
}

export interface Peer extends AsyncDisposable {
  ask(what: Visited): Promise<{ readonly status: number; readonly body: string }>;
  /** Opens a connection, or resolves with the answer that refused it; for a refused handshake, that is its error. */
  open(what: Visited): Promise<Line | Answer>;
  /** Makes the calls in one batch over HTTP. If HTTP refuses the batch, each call gets that answer. */
  post(what: Visited, calls: readonly Call[]): Promise<readonly Answer[]>;
}

export function isLine(opened: Line | Answer): opened is Line {
  return "texts" in opened;
}

/** The answer in a word: `result`, `error CODE`, `status CODE` or `closed CODE`; for a missing right, the name of the right. */
export function wordOf({ error, status, closed }: Answer): string {
  const right = error?.data?.right;
  if (right !== undefined) return `error ${error?.code}, needs ${right}`;
  if (error !== undefined) return `error ${error.code}`;
  if (status !== undefined) return `status ${status}`;
  return closed === undefined ? "result" : `closed ${closed}`;
}

/** Starts the caller by `via`. It calls from these addresses in turn. */
export function startPeer(
  via: (command: readonly string[]) => readonly string[],
  sources: readonly string[] = [],
): Peer {
  const script = join(import.meta.dir, "../programs/peer-child.ts");
  const child = Bun.spawn([...via([process.execPath, script, JSON.stringify(sources)])], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const hearers = new Map<number, (came: Came) => void>();
  let count = 0;
  const say = (command: Command) => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    child.stdin.flush();
  };
  const listen = async () => {
    for await (const line of linesOf(child.stdout)) {
      const came: Came = JSON.parse(line);
      hearers.get(came.number)?.(came);
    }
    for (const [number, hear] of hearers)
      hear({ number, kind: "failed", why: "the caller's process has ended" });
  };
  void listen();
  const ask = (what: Visited) => {
    const number = count++;
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
    hearers.set(number, (came) => {
      hearers.delete(number);
      if (came.kind === "answer") resolve(came);
      else reject(new Error(`${what.url}: ${JSON.stringify(came)}`));
    });
    say({ do: "ask", number, what });
    return promise;
  };
  return {
    ask,
    async post(what, calls) {
      const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call })));
      const headers = { "content-type": "application/json", ...what.headers };
      const answer = await ask({ ...what, method: "POST", headers, body });
      if (answer.status !== 200)
        return calls.map(() => ({ ...protocolError(answer.body), status: answer.status }));
      const answers = v.parse(v.array(message), JSON.parse(answer.body));
      return calls.map((_, id) => answers.find((one) => one.id === id) ?? { closed: 0 });
    },
    open(what) {
      const number = count++;
      const { promise, resolve, reject } = Promise.withResolvers<Line | Answer>();
      const line = lineOf(
        (text) => say({ do: "send", number, text }),
        () => say({ do: "close", number }),
      );
      hearers.set(number, (came) => {
        line.hear(came);
        if (came.kind === "open") resolve(line);
        if (came.kind === "answer") resolve({ ...protocolError(came.body), status: came.status });
        if (came.kind === "closed") resolve({ ...line.lastError(), closed: came.code });
        if (came.kind === "failed") reject(new Error(`${what.url}: ${came.why}`));
      });
      say({ do: "open", number, what });
      return promise;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** The error of a body that is a protocol error; undefined for another body. */
function protocolError(body: string): Pick<Answer, "error"> {
  if (!body.startsWith("{")) return {};
  const { error } = v.parse(message, JSON.parse(body));
  return { error };
}

/** A connection over any transport of texts. `hear` takes each received text, and `request` makes the frame of a call. */
export function lineOf(
  send: (text: string) => void,
  close: () => void,
  request: (id: number, call: Call) => Readonly<{ id: number | string }> = (id, call) => ({
    jsonrpc: "2.0",
    id,
    ...call,
  }),
) {
  const texts: string[] = [];
  const names: string[] = [];
  const waiting = new Map<number | string, (answer: Answer) => void>();
  const fences: (() => void)[] = [];
  let [ids, ended] = [0, undefined as Answer | undefined];
  let last: Pick<Answer, "error"> = {};
  const take = (told: Message) => {
    if (told.method !== undefined) names.push(told.method);
    else if (told.id === undefined || told.id === null) last = { error: told.error };
    else waiting.get(told.id)?.(told);
  };
  const end = (answer: Answer) => {
    ended = answer;
    for (const resolve of waiting.values()) resolve(answer);
    for (const pass of fences.splice(0)) pass();
  };
  const prepare = (call: Call) => {
    const frame = request(ids++, call);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    if (ended !== undefined) resolve(ended);
    waiting.set(frame.id, resolve);
    return { frame, answer: promise.finally(() => waiting.delete(frame.id)) };
  };
  const call = (method: string, params?: unknown) => {
    const { frame, answer } = prepare({ method, params });
    send(JSON.stringify(frame));
    return answer;
  };
  return {
    texts,
    heard: () => names,
    call,
    async callAll(calls: readonly Call[]) {
      const answers: Answer[] = [];
      for (const { method, params } of calls) answers.push(await call(method, params));
      return answers;
    },
    batch(calls: readonly Call[]) {
      const prepared = calls.map(prepare);
      send(JSON.stringify(prepared.map(({ frame }) => frame)));
      return Promise.all(prepared.map(({ answer }) => answer));
    },
    send,
    async fence() {
      if (ended !== undefined) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      fences.push(resolve);
      send("ping");
      await promise;
    },
    close,
    isOver: () => ended !== undefined,
    lastError: () => last,
    hear(came: Came) {
      if (came.kind === "closed") end({ ...last, closed: came.code });
      if (came.kind === "failed") end({ closed: 1006 });
      if (came.kind !== "text") return;
      texts.push(came.text);
      if (came.text === "pong") return fences.shift()?.();
      const told: unknown = JSON.parse(came.text);
      for (const one of Array.isArray(told) ? told : [told]) take(v.parse(message, one));
    },
  };
}
