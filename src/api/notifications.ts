/** Stop 7 of a tap: each event in its public form, to each connection that may hear it. */
import type * as v from "valibot";
import type { Bus } from "../bus.ts";
import type { EventName, Events } from "../events.ts";
import { notificationText } from "./envelope.ts";
import {
  indexStatus,
  launchFinished,
  launchGuarded,
  mediaStarted,
  mediaStopped,
  playTimeWarning,
  reader,
  running,
  token,
} from "./schemas.ts";

interface Facts<Payload> {
  readonly docs: string;
  readonly params: v.ObjectSchema<v.ObjectEntries, undefined> & v.GenericSchema<unknown, Mutable<Payload>>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : T[Key] };

/** Every event, by its wire name, with the shape of its params; the compiler asks for a new one here. */
export const notifications: { readonly [Name in EventName]: Facts<Events[Name]> } = {
  running: {
    docs: "A launch was queued. `script` is the text after mapping.",
    params: running,
  },
  "launch.finished": {
    docs: "A launch has ended; `time` is that of its `running`. Where nothing started, `error` says why; where several files fitted a title, `note` says which was taken.",
    params: launchFinished,
  },
  "launch.guarded": {
    docs: "The launch guard holds a card back, for `playing` plays: the same card once more, or `confirm`, within `confirmMs` switches. Its `launch.finished` follows.",
    params: launchGuarded,
  },
  "playtime.warning": {
    docs: "Play time ends in `minutesLeft` minutes, or, where that is 0, has ended: what plays is stopped.",
    params: playTimeWarning,
  },
  "tokens.added": { docs: "A reader has a new token.", params: token },
  "tokens.removed": { docs: "A token left its reader.", params: token },
  "media.started": { docs: "A player plays.", params: mediaStarted },
  "media.paused": {
    docs: "What plays was paused. mpv tells it at once; RetroArch where it was paused by a card or over the API.",
    params: mediaStarted,
  },
  "media.resumed": { docs: "What was paused plays on.", params: mediaStarted },
  "media.stopped": {
    docs: "What played has ended, after `elapsed` seconds; `exitCode` is null where a signal ended the player. `reason`: it `ended` by itself, was `stopped`, or `failed`.",
    params: mediaStopped,
  },
  "media.indexing": {
    docs: "How far the indexing is: at most four a second, and always at the start, at each system and at the end.",
    params: indexStatus,
  },
  "readers.added": { docs: "A reader was connected.", params: reader },
  "readers.removed": { docs: "A reader is gone.", params: reader },
};

/** Whoever hears notifications. */
export interface Listener {
  notify(text: string): void;
}

/** Forwards until disposed. An event's text is made once, however many hear it, and not at all where nobody does. */
export function forwardEvents(bus: Bus, listeners: ReadonlySet<Listener>): Disposable {
  const subscriptions = Object.keys(notifications).map((name) =>
    bus.on(name as EventName, (payload) => {
      if (listeners.size === 0) return;
      const text = notificationText(name, payload);
      for (const listener of listeners) listener.notify(text);
    }),
  );
  return {
    [Symbol.dispose]: () => {
      for (const subscription of subscriptions) subscription[Symbol.dispose]();
    },
  };
}
