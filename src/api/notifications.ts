/** Stop 7 of a tap (ARCHITECTURE.md): sends each event to each connection that may hear it. */
import type * as v from "valibot";
import type { Bus } from "../bus.ts";
import type { Right } from "../core/rights.ts";
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
  /** The right that a caller needs to hear it. */
  readonly right: Right;
  readonly docs: string;
  readonly params: v.ObjectSchema<v.ObjectEntries, undefined> & v.GenericSchema<unknown, Mutable<Payload>>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : T[Key] };

/** Every event by its wire name, with its right and params. The compiler checks that none is missing. */
export const notifications: { readonly [Name in EventName]: Facts<Events[Name]> } = {
  running: {
    right: "change",
    docs: "A launch was queued. `script` is the text after mapping.",
    params: running,
  },
  "launch.finished": {
    right: "change",
    docs: "A launch has ended; `time` is that of its `running`. Where nothing started, `error` says why; where several files fitted a title, `note` says which was taken.",
    params: launchFinished,
  },
  "launch.guarded": {
    right: "change",
    docs: "The launch guard holds a card back, for `playing` plays: the same card once more, or `confirm`, within `confirmMs` switches. Its `launch.finished` follows.",
    params: launchGuarded,
  },
  "playtime.warning": {
    right: "change",
    docs: "Play time ends in `minutesLeft` minutes, or, where that is 0, has ended: what plays is stopped.",
    params: playTimeWarning,
  },
  "tokens.added": { right: "change", docs: "A reader has a new token.", params: token },
  "tokens.removed": { right: "change", docs: "A token left its reader.", params: token },
  "media.started": { right: "look", docs: "A player plays.", params: mediaStarted },
  "media.paused": {
    right: "look",
    docs: "What plays was paused. mpv tells it at once; RetroArch where it was paused by a card or over the API.",
    params: mediaStarted,
  },
  "media.resumed": { right: "look", docs: "What was paused plays on.", params: mediaStarted },
  "media.stopped": {
    right: "look",
    docs: "What played has ended, after `elapsed` seconds; `exitCode` is null where a signal ended the player. `reason`: it `ended` by itself, was `stopped`, or `failed`. `why` is a sentence, where the USB stick that it played from was removed.",
    params: mediaStopped,
  },
  "media.indexing": {
    right: "look",
    docs: "How far the indexing is: at most four a second, and always at the start, at each system and at the end.",
    params: indexStatus,
  },
  "readers.added": { right: "change", docs: "A reader was connected.", params: reader },
  "readers.removed": { right: "change", docs: "A reader is gone.", params: reader },
};

export interface NotificationReceiver {
  /** Drops a notification that its caller lacks the right for. */
  notify(text: string, right: Right): void;
}

/** Forwards until disposed. Each event is serialized once for all receivers, and not at all without one. */
export function forwardEvents(bus: Bus, receivers: ReadonlySet<NotificationReceiver>): Disposable {
  const subscriptions = new DisposableStack();
  for (const [name, { right }] of Object.entries(notifications)) {
    const forward = (payload: unknown) => {
      if (receivers.size === 0) return;
      const text = notificationText(name, payload);
      for (const receiver of receivers) receiver.notify(text, right);
    };
    subscriptions.use(bus.on(name as EventName, forward));
  }
  return subscriptions;
}
