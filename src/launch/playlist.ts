/**
 * The playlist: one at a time. An item that ends by itself is followed by the next; what is stopped, or taken over by
 * something else, ends the playlist, and so do two crashes in a row.
 */
import { type Clock, sleep } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import { playlistFailuresMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { LaunchHow, PlaylistHow, PlaylistPorts } from "../script/command.ts";
import { playlistItems } from "./playlist-items.ts";
import type { RunContext } from "./run-context.ts";

// A player that ends with a fault sooner than this has crashed.
const crashMs = 3000;
const crashesMax = 2;
// Items that end at once must not start ten players a second.
const startsApartMs = 1000;

export interface PlaylistParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds that never go back. */
  readonly elapsedMs: () => number;
  /** The absolute path of what a card names, below the media folders. */
  readonly find: (path: string) => Promise<string>;
  readonly launch: (path: string, how: LaunchHow, run: RunContext) => Promise<void>;
  /** Stops what plays. */
  readonly stop: () => Promise<void>;
  readonly startedBy: () => RunContext | undefined;
  /** From 0 up to 1, without 1. */
  readonly random?: () => number;
}

export interface PlaylistState {
  readonly path: string;
  /** Of the item that plays or is next, from 1. */
  readonly place: number;
  readonly count: number;
  readonly state: "playing" | "paused";
  readonly isShuffled: boolean;
  readonly repeat: "no" | "all" | "one";
}

export interface Playlists {
  portsOf(run: RunContext): PlaylistPorts;
  state(): PlaylistState | undefined;
  /** Whether a playlist of this card plays, between its items too. */
  isOf(card: string): boolean;
  /** A player was started, on behalf of whoever `startedBy` tells. */
  started(): void;
  /** A player ended by itself. `exitCode` is null where a signal ended it. */
  ended(exitCode: number | null): void;
  /** Forgets the playlist, and starts no more of it. */
  clear(): void;
}

interface Loaded {
  readonly path: string;
  readonly items: readonly string[];
  readonly how: PlaylistHow;
  readonly owner: RunContext;
  at: number;
  isPlaying: boolean;
  crashes: number;
  /** Aborts when something else is to be started, or nothing. */
  step: AbortController;
  /** On whose behalf its last item was started. */
  run: RunContext | undefined;
}

export function createPlaylists(parts: PlaylistParts): Playlists {
  const { clock, log, elapsedMs, find, launch, stop, startedBy, random = Math.random } = parts;
  let loaded: Loaded | undefined;
  let startedMs = 0;

  const need = (): Loaded => {
    if (loaded === undefined)
      throw new ServiceError("failed", "no playlist is loaded: a card with **playlist.play starts one", {
        isPublic: true,
      });
    return loaded;
  };
  const clear = () => {
    loaded?.step.abort(new ServiceError("failed", "the playlist was ended", { isPublic: true }));
    loaded = undefined;
  };
  const load = async (path: string, how: PlaylistHow, owner: RunContext): Promise<Loaded> => {
    const place = await find(path);
    const items = await playlistItems(place);
    owner.signal.throwIfAborted();
    clear();
    loaded = {
      path: place,
      items: how.isShuffled ? shuffled(items, random) : items,
      how,
      owner,
      at: 0,
      isPlaying: false,
      crashes: 0,
      step: new AbortController(),
      run: undefined,
    };
    return loaded;
  };

  /** Starts the item at `from`, or the first after it, in this direction, that can be played. `by` is the run that asks. */
  const playFrom = async (list: Loaded, from: number, direction: 1 | -1, by?: RunContext) => {
    list.step.abort(
      new ServiceError("failed", "another item of the playlist was asked for", { isPublic: true }),
    );
    list.step = new AbortController();
    const step = by === undefined ? list.step.signal : AbortSignal.any([list.step.signal, by.signal]);
    const { card, isHook } = list.owner;
    let why = "";
    let at: number | undefined = from;
    for (let tries = Math.min(list.items.length, playlistFailuresMax); tries > 0; tries--) {
      list.at = at;
      list.isPlaying = true;
      const run = { card, isHook, origin: (by ?? list.owner).origin, signal: step };
      list.run = run;
      try {
        return await launch(list.items[at] ?? "", list.how, run);
      } catch (error) {
        if (step.aborted || !(error instanceof ServiceError) || error.code === "forbidden") {
          if (loaded === list && list.run === run) list.isPlaying = false;
          throw error;
        }
        why = messageOf(error);
        log.warn("playlist", "an item was left out", { place: at + 1, error: why });
      }
      at = placeAfter(list, at, direction);
      if (at === undefined) break;
    }
    if (loaded === list) clear();
    throw new ServiceError("failed", `nothing more of the playlist can be played: ${why}`);
  };
  const goOn = async (list: Loaded, from: number) => {
    const { signal } = list.step;
    const restMs = startsApartMs - (elapsedMs() - startedMs);
    try {
      if (restMs > 0) await sleep(clock, restMs, signal);
      await playFrom(list, from, 1);
    } catch (error) {
      // Whoever asked for something else meanwhile has been told what came of that.
      if (!signal.aborted) log.warn("playlist", messageOf(error));
    }
  };
  const isItem = (list: Loaded) => list.run !== undefined && startedBy() === list.run;

  return {
    portsOf: (owner) => ({
      async play(path, how) {
        const list = path === undefined ? need() : await load(path, how, owner);
        await playFrom(list, list.at, 1, owner);
      },
      load: async (path, how) => void (await load(path, how, owner)),
      async stop() {
        const list = need();
        const wasPlaying = list.isPlaying && isItem(list);
        clear();
        if (wasPlaying) await stop();
      },
      async pause() {
        const list = need();
        if (!list.isPlaying)
          throw new ServiceError("failed", "the playlist does not play", { isPublic: true });
        list.isPlaying = false;
        list.step.abort(new ServiceError("failed", "the playlist was paused", { isPublic: true }));
        if (isItem(list)) await stop();
      },
      async move(by) {
        const list = need();
        const direction = by < 0 ? -1 : 1;
        const to = placeAfter(list, list.at, direction);
        if (to === undefined)
          throw new ServiceError("failed", `this is the ${by < 0 ? "first" : "last"} item of the playlist`, {
            isPublic: true,
          });
        await playFrom(list, to, direction, owner);
      },
      async goTo(place) {
        const list = need();
        if (place > list.items.length)
          throw new ServiceError(
            "failed",
            `the playlist has ${list.items.length} items, and no number ${place}`,
            { isPublic: true },
          );
        await playFrom(list, place - 1, 1, owner);
      },
    }),
    state: () =>
      loaded && {
        path: loaded.path,
        place: loaded.at + 1,
        count: loaded.items.length,
        state: loaded.isPlaying ? "playing" : "paused",
        isShuffled: loaded.how.isShuffled,
        repeat: loaded.how.repeat,
      },
    isOf: (card) => loaded?.isPlaying === true && loaded.owner.card === card,
    started() {
      startedMs = elapsedMs();
      // Something else was started, while it played or waited for its next item. A paused one may go on later.
      if (loaded?.isPlaying === true && !isItem(loaded)) clear();
    },
    ended(exitCode) {
      const list = loaded;
      if (list === undefined || !list.isPlaying || !isItem(list)) return;
      list.crashes = exitCode !== 0 && elapsedMs() - startedMs < crashMs ? list.crashes + 1 : 0;
      const next = list.how.repeat === "one" ? list.at : placeAfter(list, list.at, 1);
      if (list.crashes >= crashesMax)
        log.warn("playlist", "it ends: two players in a row ended with a fault as soon as they were started");
      if (list.crashes >= crashesMax || next === undefined) return clear();
      void goOn(list, next);
    },
    clear,
  };
}

/** Undefined where the list ends there. */
function placeAfter({ items, how }: Loaded, at: number, direction: 1 | -1): number | undefined {
  const next = at + direction;
  if (next >= 0 && next < items.length) return next;
  return how.repeat === "no" ? undefined : (next + items.length) % items.length;
}

/** Each order with even odds (Fisher and Yates, as Durstenfeld wrote it down). */
function shuffled(items: readonly string[], random: () => number): readonly string[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = Math.floor(random() * (last + 1));
    [order[last], order[chosen]] = [order[chosen] ?? "", order[last] ?? ""];
  }
  return order;
}
