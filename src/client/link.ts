/** One WebSocket to the service: text out, text in, heartbeats that notice a dead line. Ends once, with a reason. */
import { type Deferred, deferred } from "./deferred.ts";

export interface Link {
  send(text: string): void;
  /** Resolves when the service has answered `ping`; rejects with the link's end. */
  ping(): Promise<void>;
  /** Resolves with the reason when it has ended, whoever ended it. */
  readonly ended: Promise<Error>;
  close(): void;
}

export interface LinkOptions {
  readonly onMessage: (text: string) => void;
  /** How often the line is tried while it is up; a heartbeat that is not answered before the next ends it. 0: never. */
  readonly heartbeatMs: number;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Rejects where nobody answers, or with the signal's reason. */
export async function openLink(url: string, { onMessage, heartbeatMs, signal }: LinkOptions): Promise<Link> {
  signal?.throwIfAborted();
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
      // The end of the link is told by `ended`.
      ping().catch(() => {});
    }, heartbeatMs);
  }
  return { send: (text) => socket.send(text), ping, ended: end.promise, close: () => socket.close() };
}

function opened(socket: WebSocket, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal?.reason);
      socket.close();
    };
    const fail = () => {
      signal?.removeEventListener("abort", onAbort);
      reject(new Error("nobody answers there"));
    };
    socket.addEventListener("error", fail, { once: true });
    socket.addEventListener("close", fail, { once: true });
    socket.addEventListener(
      "open",
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      { once: true },
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
