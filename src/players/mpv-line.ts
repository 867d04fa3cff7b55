/**
 * The control line to mpv (mpv manual, "JSON IPC"): one JSON object a line, in both directions.
 *
 *   command   {"command": [name, ...], "request_id": n}
 *   response  {"request_id": n, "error": "success", "data": ...}
 *   event     {"event": name, ...}; for observed properties {"event": "property-change", "name": ..., "data": ...}
 *
 * The line is a socket that mpv inherits as descriptor 3 (`--input-ipc-client=fd://3`), so no other program has it.
 */
import { closeSync, writeSync } from "node:fs";
import { type Clock, sleep } from "../core/clock.ts";
import { failed, type ServiceError } from "../core/errors.ts";
import { jsonExcess } from "../core/json-excess.ts";
import {
  playerBytesASecondMax,
  playerLineBytesMax,
  playerLinesASecondMax,
  playerRequestsMax,
} from "../core/limits.ts";

type MpvMessage =
  | { readonly kind: "answer"; readonly id: number; readonly error: string; readonly data: unknown }
  | { readonly kind: "event"; readonly name: string; readonly facts: Readonly<Record<string, unknown>> }
  | { readonly kind: "noise" };

export type MpvLine = ReturnType<typeof openMpvLine>;

// mpv answers within a frame, or later while it loads from a slow disc.
const answerMsMax = 2000;

/** Opens the line on the descriptor `line`, which it then owns. */
export function openMpvLine(
  line: number,
  clock: Clock,
  onEvent: (name: string, facts: Readonly<Record<string, unknown>>) => void,
) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let isOpen = true;
  const closing = new AbortController();
  const reader = Bun.file(line).stream().getReader();
  let lines = 0;
  const cut = cutLines(playerLineBytesMax, (text) => {
    lines += 1;
    const message = messageIn(text);
    if (message.kind === "event") onEvent(message.name, message.facts);
    if (message.kind !== "answer") return;
    const asked = waiting.get(message.id);
    if (message.error === "success") asked?.resolve(message.data);
    else asked?.reject(failed(`mpv says: ${message.error}`));
  });
  const hangUp = () => {
    for (const { reject } of waiting.values()) reject(gone());
  };
  const keepPace = createPace(clock, closing.signal);
  void (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      lines = 0;
      cut(read.value);
      await keepPace(Math.max(lines / playerLinesASecondMax, read.value.length / playerBytesASecondMax));
    }
  })()
    // After the end of the line, for whatever reason, no further message comes.
    .catch(() => {})
    .finally(hangUp);
  return {
    /** Resolves with `data`. Rejects with `ServiceError("failed")` if mpv refuses, has ended, or does not answer. */
    async ask(command: readonly (string | number | boolean)[], msMax = answerMsMax): Promise<unknown> {
      if (!isOpen) throw gone();
      if (waiting.size >= playerRequestsMax) throw failed("mpv does not answer");
      const id = ++lastId;
      const asked = Promise.withResolvers<unknown>();
      waiting.set(id, asked);
      const late = clock.after(msMax, () => asked.reject(failed("mpv does not answer")));
      try {
        say(line, `${JSON.stringify({ command, request_id: id })}\n`);
        return await asked.promise;
      } finally {
        late[Symbol.dispose]();
        waiting.delete(id);
      }
    },
    close(): void {
      if (!isOpen) return;
      isOpen = false;
      hangUp();
      closing.abort();
      // The reader must release the descriptor before another file can get its number.
      void reader
        .cancel()
        .catch(() => {})
        .finally(() => closeSync(line));
    },
  };
}

const burstMs = 1000;

/**
 * A token bucket. It waits after each read until the permitted rate allows the next one, so a flood stays in the socket
 * of the player.
 */
function createPace(clock: Clock, closing: AbortSignal): (seconds: number) => Promise<void> {
  let paidUntilMs = 0;
  return async (seconds) => {
    const nowMs = performance.now();
    paidUntilMs = Math.max(paidUntilMs, nowMs) + seconds * 1000;
    const waitMs = paidUntilMs - nowMs - burstMs;
    if (waitMs > 0) await sleep(clock, waitMs, closing);
  };
}

/** The message of one line. A line that is not a JSON object, or is nested too deep, is noise. */
export function messageIn(text: string): MpvMessage {
  // A parser takes 9 ms for 64 KiB of opening brackets.
  if (!text.startsWith("{") || jsonExcess(text) !== undefined) return { kind: "noise" };
  const value = parsed(text);
  if (typeof value !== "object" || value === null) return { kind: "noise" };
  const facts: Readonly<Record<string, unknown>> = { ...value };
  if (typeof facts.event === "string") return { kind: "event", name: facts.event, facts };
  const { request_id: id, error, data } = facts;
  return typeof id === "number" && typeof error === "string"
    ? { kind: "answer", id, error, data }
    : { kind: "noise" };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The line is noise.
    return undefined;
  }
}

function say(line: number, text: string): void {
  try {
    writeSync(line, text);
  } catch (cause) {
    throw gone(cause);
  }
}

function gone(cause?: unknown): ServiceError {
  return failed("mpv has ended", cause);
}

/** Cuts chunks of UTF-8 into lines without their line feed. Drops lines of more than `bytesMax` bytes. */
export function cutLines(bytesMax: number, take: (line: string) => void): (chunk: Uint8Array) => void {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const keep = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes <= bytesMax) parts.push(part);
    else parts = [];
  };
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      if (bytes <= bytesMax) take(Buffer.concat(parts).toString("utf8"));
      parts = [];
      bytes = 0;
      from = end + 1;
    }
    // The piece is copied, because the chunk may be used again.
    if (from < chunk.length) keep(chunk.slice(from));
  };
}
