/**
 * Notifications as Server-Sent Events (HTML Living Standard, 9.2): each with an id, so that a listener that comes back
 * within the last few hundred misses nothing.
 *
 *   id       `<start>-<id>`: which run of the service, and the number of the event in it, which `opaque-ids.ts` hides
 *   data     the notification, as it goes to a WebSocket
 */
import type { Clock } from "../core/clock.ts";
import { eventsKeptBytesMax, eventsKeptMax, unsentBytesMax } from "../core/limits.ts";
import type { Right } from "../core/rights.ts";
import type { Outlet, Unsent } from "./admission/send-backlog.ts";
import type { Listener } from "./notifications.ts";
import { createOpaqueIds } from "./opaque-ids.ts";

export interface EventStreams extends Listener {
  /** A stream of all events from now on; behind `lastEventId`, where one is given, of those kept since. */
  open(lastEventId: string | null, caller: StreamCaller): Response;
  /** Ends the streams of callers that would not be let in any more. */
  review(): void;
  close(): void;
}

export interface StreamCaller {
  /** Whether it may hear what requires this right. */
  readonly mayHear: (right: Right) => boolean;
  readonly isAdmitted: () => boolean;
  /** Told of what lies here for it; undefined for a caller on the device. */
  readonly unsent: Unsent | undefined;
  readonly onSend: (bytes: number) => void;
  readonly onOpen: (drop: () => void) => void;
  /** Called once when it has ended. */
  readonly onEnd: () => void;
}

// Proxies and browsers give up on a silent line after a minute at the earliest.
const keepAliveMs = 25_000;

interface KeptEvent {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly right: Right;
}

interface Stream {
  /** Without a right: what every listener gets. */
  send(bytes: Uint8Array, right?: Right): void;
  isAdmitted(): boolean;
  end(): void;
}

export function createEventStreams(clock: Clock): EventStreams {
  const start = clock.now().toString(36);
  const ids = createOpaqueIds();
  const idNow = () => `${start}-${ids.hide(sent)}`;
  const streams = new Set<Stream>();
  const encoder = new TextEncoder();
  // By right: else a stranger could tell by what is kept for it how much came that it may not hear.
  const kept = new Map<Right, ReturnType<typeof createKept>>();
  let sent = 0;
  let keepAlive: Disposable | undefined;

  const tick = () => {
    for (const stream of streams) stream.send(encoder.encode(":\n\n"));
    keepAlive = streams.size === 0 ? undefined : clock.after(keepAliveMs, tick);
  };
  const missed = (lastEventId: string): readonly KeptEvent[] => {
    const [run, id = ""] = lastEventId.split("-");
    // An id of another run is older than all of this one.
    const since = run === start ? ids.reveal(id) : 0;
    if (since === undefined || since >= sent) return [];
    return [...kept.values()]
      .flatMap(({ events }) => events.filter(({ number }) => number > since))
      .toSorted((one, other) => one.number - other.number);
  };

  return {
    notify(text, right) {
      sent += 1;
      // The same bytes for all, however many listen.
      const bytes = encoder.encode(`id: ${idNow()}\ndata: ${text}\n\n`);
      const ofRight = kept.get(right) ?? createKept();
      kept.set(right, ofRight);
      ofRight.add({ number: sent, bytes, right });
      for (const stream of streams) stream.send(bytes, right);
    },
    open(lastEventId, caller) {
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
              for (const { bytes, right } of missed(lastEventId)) stream.send(bytes, right);
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
    review() {
      for (const stream of streams) if (!stream.isAdmitted()) stream.end();
    },
    close() {
      keepAlive?.[Symbol.dispose]();
      for (const stream of streams) stream.end();
    },
  };
}

/** The last events that there is room for. */
function createKept(): { readonly events: readonly KeptEvent[]; add(event: KeptEvent): void } {
  const events: KeptEvent[] = [];
  let keptBytes = 0;
  return {
    events,
    add(event) {
      events.push(event);
      keptBytes += event.bytes.length;
      while (events.length > eventsKeptMax || keptBytes > eventsKeptBytesMax)
        keptBytes -= events.shift()?.bytes.length ?? keptBytes;
    },
  };
}

function createStream(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { mayHear, isAdmitted, unsent, onSend, onOpen, onEnd }: StreamCaller,
): Stream {
  let isOpen = true;
  /** `close` says what becomes of what was not read yet. */
  const endBy = (close: () => void) => {
    if (!isOpen) return;
    isOpen = false;
    unsent?.forget(outlet);
    onEnd();
    try {
      close();
    } catch {
      // The listener has closed it already.
    }
  };
  const end = () => endBy(() => controller.close());
  // Whoever does not read would never come to an ordinary end, and what it has not read would be kept for it.
  const drop = () => endBy(() => controller.error(new Error("the listener is too slow")));
  const outlet: Outlet = {
    unsentBytes: () => Math.max(0, unsentBytesMax - (controller.desiredSize ?? unsentBytesMax)),
    drop,
  };
  onOpen(drop);
  return {
    send(bytes, right) {
      if (!isOpen || (right !== undefined && !mayHear(right))) return;
      if ((controller.desiredSize ?? 0) < bytes.length) return drop();
      controller.enqueue(bytes);
      onSend(bytes.length);
      unsent?.note(outlet);
    },
    isAdmitted,
    end,
  };
}
