/**
 * Notifications as Server-Sent Events (HTML Living Standard, 9.2). Each has an id, so a listener that reconnects within a
 * few hundred events misses none.
 *
 *   id       `<start>-<id>`: the run of the service, and the encrypted number of the event in it
 *   data     the notification, as it goes to a WebSocket
 */
import { createCipheriv, createDecipheriv, randomFillSync } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { eventsKeptBytesMax, eventsKeptMax, unsentBytesMax } from "../core/limits.ts";
import type { Right } from "../core/rights.ts";
import type { Recipient, SendBacklog } from "./admission/connection-pool.ts";

interface StreamCaller {
  /** Whether the caller may receive events that require this right. */
  readonly mayHear: (right: Right) => boolean;
  readonly isAdmitted: () => boolean;
  /** Limits the unread output; undefined for a caller on the device. */
  readonly backlog: SendBacklog | undefined;
  readonly onSend: (bytes: number) => void;
  readonly onOpen: (drop: () => void) => void;
  /** Called once when the stream has ended. */
  readonly onEnd: () => void;
}

// Proxies and browsers time out a silent connection after a minute at the earliest.
const keepAliveMs = 25_000;

interface KeptEvent {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly right: Right;
  readonly without: Right | undefined;
}

export type EventStreams = ReturnType<typeof createEventStreams>;

export function createEventStreams(clock: Clock) {
  const start = clock.now().toString(36);
  const ids = createOpaqueIds();
  const idNow = () => `${start}-${ids.hide(sent)}`;
  const streams = new Set<ReturnType<typeof createStream>>();
  const encoder = new TextEncoder();
  // The events are kept by right. With a single list, a caller could infer from evictions how many events it may not
  // receive.
  const kept = new Map<Right, ReturnType<typeof createKept>>();
  let sent = 0;
  let keepAlive: Disposable | undefined;

  const tick = () => {
    for (const stream of streams) stream.send(encoder.encode(":\n\n"));
    keepAlive = streams.size === 0 ? undefined : clock.after(keepAliveMs, tick);
  };
  const missed = (lastEventId: string): readonly KeptEvent[] => {
    const [run, id = ""] = lastEventId.split("-");
    // An id of another run is older than all ids of this one.
    const since = run === start ? ids.reveal(id) : 0;
    if (since === undefined || since >= sent) return [];
    return [...kept.values()]
      .flatMap(({ events }) => events.filter(({ number }) => number > since))
      .toSorted((one, other) => one.number - other.number);
  };

  return {
    notify(text: string, right: Right, without?: Right) {
      sent += 1;
      const bytes = encoder.encode(`id: ${idNow()}\ndata: ${text}\n\n`);
      const ofRight = kept.get(right) ?? createKept();
      kept.set(right, ofRight);
      ofRight.add({ number: sent, bytes, right, without });
      for (const stream of streams) stream.send(bytes, right, without);
    },
    /** A stream of the kept events after `lastEventId`, if it is given, and of all events from now on. */
    open(lastEventId: string | null, caller: StreamCaller) {
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            const stream = createStream(controller, {
              ...caller,
              onEnd() {
                streams.delete(stream);
                caller.onEnd();
              },
            });
            streams.add(stream);
            stream.send(encoder.encode(`retry: 1000\nid: ${idNow()}\n\n`));
            if (lastEventId !== null)
              for (const { bytes, right, without } of missed(lastEventId)) stream.send(bytes, right, without);
            keepAlive ??= clock.after(keepAliveMs, tick);
            this.cancel = () => stream.end();
          },
        } as UnderlyingDefaultSource<Uint8Array>,
        new ByteLengthQueuingStrategy({ highWaterMark: unsentBytesMax }),
      );
      return new Response(body, {
        headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
      });
    },
    /** Ends the streams of callers that are no longer admitted. */
    review() {
      for (const stream of streams) if (!stream.isAdmitted()) stream.end();
    },
    close() {
      keepAlive?.[Symbol.dispose]();
      for (const stream of streams) stream.end();
    },
  };
}

/** The last events within the limits. */
function createKept() {
  const events: KeptEvent[] = [];
  let keptBytes = 0;
  return {
    events,
    add(event: KeptEvent) {
      events.push(event);
      keptBytes += event.bytes.length;
      while (events.length > eventsKeptMax || keptBytes > eventsKeptBytesMax)
        keptBytes -= events.shift()?.bytes.length ?? keptBytes;
    },
  };
}

function createStream(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { mayHear, isAdmitted, backlog, onSend, onOpen, onEnd }: StreamCaller,
) {
  let isOpen = true;
  const endBy = (close: () => void) => {
    if (!isOpen) return;
    isOpen = false;
    backlog?.forget(recipient);
    onEnd();
    try {
      close();
    } catch {
      // The listener has closed the stream already.
    }
  };
  const end = () => endBy(() => controller.close());
  // An ordinary end keeps the unread output of a listener that does not read; an error frees it.
  const drop = () => endBy(() => controller.error(new Error("the listener is too slow")));
  const recipient: Recipient = {
    unsentBytes: () => Math.max(0, unsentBytesMax - (controller.desiredSize ?? unsentBytesMax)),
    drop,
  };
  onOpen(drop);
  return {
    /** Sends to a listener that has `right`, or to any if no right is given. A listener that has `without` gets nothing. */
    send(bytes: Uint8Array, right?: Right, without?: Right) {
      if (!isOpen || (right !== undefined && !mayHear(right))) return;
      if (without !== undefined && mayHear(without)) return;
      if ((controller.desiredSize ?? 0) < bytes.length) return drop();
      controller.enqueue(bytes);
      onSend(bytes.length);
      backlog?.note(recipient);
    },
    isAdmitted,
    end,
  };
}

const blockBytes = 16;
const randomBytes = 8;

/**
 * Encrypts the numbers of events, because they count events that a listener may not receive.
 *
 *   block    8 random bytes, then the number in 8, big-endian; encrypted by AES-128 (FIPS 197) with a key of this run
 */
function createOpaqueIds() {
  const key = randomFillSync(new Uint8Array(blockBytes));
  // An id is a single block, which needs no chaining mode and no padding.
  const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const decipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const block = Buffer.alloc(blockBytes);
  return {
    /** The result has 32 hex digits, different ones each time. */
    hide(number: number): string {
      randomFillSync(block, 0, randomBytes);
      block.writeBigUInt64BE(BigInt(number), randomBytes);
      return cipher.update(block).toString("hex");
    },
    /** The number of an id. A forged id gives an improbably high number; a malformed one gives `undefined`. */
    reveal(id: string): number | undefined {
      if (!/^[0-9a-f]{32}$/.test(id)) return undefined;
      return Number(decipher.update(Buffer.from(id, "hex")).readBigUInt64BE(randomBytes));
    },
  };
}
