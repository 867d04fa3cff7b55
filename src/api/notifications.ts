/** Sends each event to each connection that may receive it. */
import * as v from "valibot";
import type { Bus } from "../bus.ts";
import { updateState } from "../core/device-shapes.ts";
import { allows, type Grant, type Right } from "../core/rights.ts";
import * as shapes from "../core/shapes.ts";
import type { EventName, Events } from "../events.ts";
import { notificationText } from "./envelope.ts";

interface Facts<Payload> {
  /** The right that a caller needs to receive the event. */
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
    params: shapes.running,
  },
  "launch.finished": {
    right: "change",
    docs: "A launch has ended; `time` is that of its `running`. If nothing started, `error` says why, and `reason` is its code. If several files fitted a title, `note` names the one that was taken. `traits` are the `#key=value` and `#key` words of the script.",
    params: shapes.launchFinished,
  },
  "launch.guarded": {
    right: "change",
    docs: "The launch guard holds a card back because `playing` plays. The same card again, or `confirm`, switches within `confirmMs`. Its `launch.finished` follows.",
    params: shapes.launchGuarded,
  },
  "playlist.opened": {
    right: "look",
    docs: "A card asks for the items of a playlist to choose from, as `media` lists them. If the card itself holds the list, there is no `path`, and the notification requires `change`.",
    params: shapes.loadedPlaylist,
  },
  "playtime.warning": {
    right: "change",
    docs: "Play time ends in `minutesLeft` minutes. If that is 0, it has ended, and the player is stopped.",
    params: shapes.playTimeWarning,
  },
  "playtime.limit.warning": {
    right: "change",
    docs: "The same as `playtime.warning`, for known apps: `interval` is the warning that is due, and `remaining` the time that is left, such as `4m59s`.",
    params: shapes.playTimeLimitWarning,
  },
  "playtime.limit.reached": {
    right: "change",
    docs: "The same as a `playtime.warning` of 0 minutes, for known apps.",
    params: shapes.playTimeLimitReached,
  },
  "clients.paired": {
    right: "own",
    docs: "A client has paired by a code or a PIN.",
    params: shapes.clientPaired,
  },
  "device.updating": {
    right: "change",
    docs: "An update of the image is fetched and installed, or `failed` because of `why`. After `restarting` the connection ends.",
    params: updateState,
  },
  "tokens.added": { right: "change", docs: "A reader has a new token.", params: shapes.token },
  "tokens.removed": { right: "change", docs: "A token left its reader.", params: shapes.token },
  "tokens.written": {
    right: "change",
    docs: "A text was written to the tag with this `uid`. The tag is not launched until it is laid on again.",
    params: shapes.tokenWritten,
  },
  "media.started": { right: "look", docs: "A player plays.", params: shapes.mediaStarted },
  "media.paused": {
    right: "look",
    docs: "The player was paused. mpv reports each pause; RetroArch only one by a card or over the API.",
    params: shapes.mediaStarted,
  },
  "media.resumed": { right: "look", docs: "The paused player continues.", params: shapes.mediaStarted },
  "media.stopped": {
    right: "look",
    docs: "The player has ended after `elapsed` seconds. `exitCode` is null if a signal ended it. `reason`: it `ended` by itself, was `stopped`, or `failed`. If its USB stick was removed, `why` is a sentence, and `stick` its name.",
    params: shapes.mediaStopped,
  },
  "media.indexing": {
    right: "look",
    docs: "The progress of indexing: at most four a second, and always at the start, at each system and at the end.",
    params: shapes.indexStatus,
  },
  "media.uploading": {
    right: "change",
    docs: "The progress of an upload, at most four times a second, and always its start and its end.",
    params: shapes.uploading,
  },
  "readers.added": { right: "change", docs: "A reader was connected.", params: shapes.reader },
  "readers.removed": { right: "change", docs: "A reader is gone.", params: shapes.reader },
};

export interface NotificationReceiver {
  /** Drops the notification if its caller lacks `right`, or if its caller has `without`. */
  notify(text: string, right: Right, without?: Right): void;
}

/** Forwards until disposed. Each event is serialized once for all receivers, and not at all if there is no receiver. */
export function forwardEvents(bus: Bus, receivers: ReadonlySet<NotificationReceiver>): Disposable {
  const subscriptions = new DisposableStack();
  for (const [name, { right }] of Object.entries(notifications)) {
    const forward = (payload: unknown) => {
      if (receivers.size === 0) return;
      const text = notificationText(name, payload);
      const isOfStream = isStream(payload);
      const needed = isOfStream || isCardsList(name, payload) ? "change" : right;
      if (isOfStream) {
        const shown = notificationText(name, mediaFor("look", payload));
        for (const receiver of receivers) receiver.notify(shown, right, "change");
      }
      for (const receiver of receivers) receiver.notify(text, needed);
    };
    subscriptions.use(bus.on(name as EventName, forward));
  }
  return subscriptions;
}

/** The address of a stream may hold a secret of the card: without the right `change`, only its scheme and host are shown. */
export function mediaFor<Media extends { readonly mediaPath: string }>(grant: Grant, media: Media): Media {
  if (allows(grant, "change") || !isAddress(media.mediaPath)) return media;
  return { ...media, mediaPath: URL.parse(media.mediaPath)?.origin ?? "" };
}

/** It is a comparison and no schema, because a tap waits for it. */
function isStream(payload: unknown): payload is { readonly mediaPath: string } {
  if (typeof payload !== "object" || payload === null || !("mediaPath" in payload)) return false;
  return typeof payload.mediaPath === "string" && isAddress(payload.mediaPath);
}

function isAddress(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

/** True for a playlist that is on a card: its names are texts of the card. */
function isCardsList(name: string, payload: unknown): boolean {
  return name === "playlist.opened" && v.is(shapes.loadedPlaylist, payload) && payload.path === "";
}
