/** The contents of the topics of a deck, and the times at which the retained ones are published again. */
import { homeAssistantTag } from "../core/card-addresses.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia, Reader, Token } from "../core/shapes.ts";

/** For this time, the launch has the processor to itself. */
export const behindTapMs = 30;

/** The state of updates, for the update entity. */
export interface UpdateFacts {
  /** The newest version that is known; the installed one if absent. */
  readonly latest?: string;
  readonly summary?: string;
  readonly isInstalling?: boolean;
}

/** Publishes retained contents, each only if it differs from the last one. */
export function createShown(
  contents: Readonly<Record<string, () => object | Promise<object>>>,
  publish: (name: string, payload: string) => Promise<unknown>,
  log: Log,
) {
  const last = new Map<string, string>();
  const soon = new Map<string, Disposable>();
  let isStopped = false;
  const refresh = async (name: string) => {
    try {
      const payload = JSON.stringify(await contents[name]?.());
      if (isStopped || last.get(name) === payload) return;
      last.set(name, payload);
      if ((await publish(name, payload)) === "lost") last.delete(name);
    } catch (error) {
      log.warn("mqtt", "cannot show the state", { topic: name, error: messageOf(error) });
    }
  };
  return {
    refresh,
    /** Several simultaneous events cause one message. */
    refreshIn(clock: Clock, name: string) {
      if (soon.has(name) || isStopped) return;
      const timer = clock.after(behindTapMs, () => {
        soon.delete(name);
        void refresh(name);
      });
      soon.set(name, timer);
    },
    forget: () => last.clear(),
    stop() {
      isStopped = true;
      for (const timer of soon.values()) timer[Symbol.dispose]();
    },
  };
}

export function tapOf({ scanTime, uid, type, text, readerId }: Token) {
  // The memory of the tag is left out, because it can be long.
  return { time: scanTime, uid, type, text, readerId, tag: homeAssistantTag(text) ?? uid };
}

export function mediaShown(media: ActiveMedia | undefined): object {
  if (media === undefined) return { state: "idle" };
  // The position changes all the time.
  const { positionMs: _position, playbackState = "playing", ...facts } = media;
  return { state: playbackState, ...facts };
}

export function readersShown(readers: readonly Reader[]): object {
  const shown = readers.map(({ readerId, driver, info, connected }) => ({
    readerId,
    driver,
    info,
    connected,
  }));
  return { connected: shown.filter(({ connected }) => connected).length, readers: shown };
}

/** The form is that which the update entity of Home Assistant reads. */
export function updateShown(
  version: string,
  { latest = version, summary, isInstalling = false }: UpdateFacts,
): object {
  const facts = {
    title: "Tapdeck",
    installed_version: version,
    latest_version: latest,
    in_progress: isInstalling,
  };
  return summary === undefined ? facts : { ...facts, release_summary: summary };
}
