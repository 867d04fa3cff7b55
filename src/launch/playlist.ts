/** The current playlist, of which there is at most one. A stop, another start, and two crashes in a row end it. */
import { type Clock, sleep } from "../core/clock.ts";
import { failed, launchFailed, messageOf, publicError, ServiceError } from "../core/errors.ts";
import { playlistFailuresMax, playlistShownMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { LoadedPlaylist } from "../core/shapes.ts";
import type { LaunchHow, PlaylistHow, PlaylistPorts, ScriptOrigin } from "../script/command.ts";
import type { Positions } from "../store/positions.ts";
import { type PlaylistItem, type ReadPlaylist, readPlaylist } from "./playlist-items.ts";
import { lowerOrigin, originNow, type RunContext } from "./run-context.ts";

// An exit with a failure within this time counts as a crash.
const crashMs = 3000;
const crashesMax = 2;
// Limits how often a player is started for items that end at once.
const startsApartMs = 1000;

interface PlaylistParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly elapsedMs: () => number;
  /** Returns the absolute path of a file that a card names. */
  readonly find: (path: string) => Promise<string>;
  readonly launch: (path: string, how: LaunchHow, run: RunContext) => Promise<void>;
  /** Runs the script of an item. */
  readonly runScript: (script: string, run: RunContext) => Promise<void>;
  /** Called when a card opens the list, for a choice by a person. */
  readonly onOpened: (list: LoadedPlaylist) => void;
  readonly stop: () => Promise<void>;
  readonly isIdle: () => boolean;
  /** Stores the place in each list; absent if places are not kept. */
  readonly positions: Positions | undefined;
  /** Whether a playlist resumes at its last item if its card has no option for this. */
  readonly resumes: () => boolean;
}

export type Playlists = ReturnType<typeof createPlaylists>;

interface Loaded extends ReadPlaylist {
  readonly how: PlaylistHow;
  readonly owner: RunContext;
  /** The caller that last asked for an item. Later items run on behalf of this caller, until another caller asks for one. */
  by: RunContext;
  at: number;
  isPlaying: boolean;
  /** True while the list is shown, until an item starts. */
  isOpen: boolean;
  crashes: number;
  /** Aborts when the current item is no longer wanted. */
  step: AbortController;
  /** The run that started the last item. */
  run: RunContext | undefined;
  /** The run whose commands have not ended. */
  begun: RunContext | undefined;
}

export function createPlaylists(parts: PlaylistParts) {
  const { clock, log, elapsedMs, find, launch, runScript, onOpened, stop, isIdle, positions } = parts;
  const { resumes } = parts;
  let loaded: Loaded | undefined;
  let startedMs = 0;
  let startedRun: RunContext | undefined;

  const need = (): Loaded => {
    if (loaded === undefined)
      throw publicError(
        "failed",
        "no playlist is loaded: a card with **playlist.play starts one",
        "nothing-plays",
      );
    return loaded;
  };
  const clear = () => {
    loaded?.step.abort(publicError("failed", "the playlist was ended", "stopped"));
    loaded = undefined;
  };
  const load = async (path: string, how: PlaylistHow, owner: RunContext): Promise<Loaded> => {
    const list = await readPlaylist(path, owner.origin, find);
    owner.signal.throwIfAborted();
    clear();
    const last = how.isShuffled || !(how.resume ?? resumes()) ? undefined : positions?.get(list.path)?.item;
    const at = list.items.findIndex((item) => "path" in item && item.path === last);
    loaded = {
      ...list,
      items: how.isShuffled ? shuffled(list.items) : list.items,
      how,
      owner,
      by: owner,
      // If the list no longer has the kept item, playback begins at the first item.
      at: Math.max(0, at),
      isPlaying: false,
      isOpen: false,
      crashes: 0,
      step: new AbortController(),
      run: undefined,
      begun: undefined,
    };
    return loaded;
  };

  const startItem = async (item: PlaylistItem | undefined, how: LaunchHow, run: RunContext) => {
    if (item === undefined) return;
    if ("path" in item) return launch(item.path, how, run);
    await runScript(item.script, run);
    // Without media there is no end that starts the next item.
    if (loaded?.run === run && startedRun !== run && isIdle()) throw failed("its script started nothing");
  };
  /**
   * Starts the item at `from`, or the next in this direction that can be played. The item has the lower rights of two
   * callers: the maker of the list, and the caller that last chose an item. That caller is `by`, which is absent if the
   * list continues by itself.
   */
  const playFrom = async (list: Loaded, from: number, direction: 1 | -1, by?: RunContext) => {
    list.step.abort(publicError("failed", "another item of the playlist was asked for", "taken-over"));
    list.step = new AbortController();
    const step = by === undefined ? list.step.signal : AbortSignal.any([list.step.signal, by.signal]);
    const { card, isHook } = list.owner;
    // A command of an item may ask for another item, on behalf of the same callers.
    if (by !== undefined && by !== list.run) list.by = by;
    list.isOpen = false;
    let why = "";
    let at: number | undefined = from;
    for (let tries = Math.min(list.items.length, playlistFailuresMax); tries > 0; tries--) {
      list.at = at;
      list.isPlaying = true;
      const run = { card, isHook, origin: originOfItem(list), signal: step };
      list.run = run;
      list.begun = run;
      try {
        return await startItem(list.items[at], list.how, run);
      } catch (error) {
        if (step.aborted || !(error instanceof ServiceError) || error.code === "forbidden") {
          if (loaded === list && list.run === run) list.isPlaying = false;
          throw error;
        }
        why = messageOf(error);
        log.warn("playlist", "an item was left out", { place: at + 1, error: why });
      } finally {
        if (list.begun === run) list.begun = undefined;
      }
      at = placeAfter(list, at, direction);
      if (at === undefined) break;
    }
    if (loaded === list) clear();
    throw launchFailed("playlist-over", `nothing more of the playlist can be played: ${why}`);
  };
  const playNext = async (list: Loaded, from: number) => {
    let { signal } = list.step;
    const restMs = startsApartMs - (elapsedMs() - startedMs);
    try {
      if (restMs > 0) await sleep(clock, restMs, signal);
      const started = playFrom(list, from, 1);
      signal = list.step.signal;
      await started;
    } catch (error) {
      // If the item was aborted, another request has replaced it.
      if (!signal.aborted) log.warn("playlist", messageOf(error));
    }
  };
  /**
   * A list on the card has no path, and a random order is drawn again at each start. The first item needs no stored
   * place.
   */
  const keepPlace = ({ path, items, at, how }: Loaded) => {
    const item = items[at];
    if (path === "" || how.isShuffled || !(how.resume === true || resumes())) return;
    if (item === undefined || !("path" in item) || at === 0) positions?.forget(path);
    else positions?.save(path, { positionMs: 0, durationMs: 0, item: item.path });
  };
  const isItem = (list: Loaded) => list.run !== undefined && startedRun === list.run;

  return {
    portsOf: (owner: RunContext): PlaylistPorts => ({
      async play(path, how) {
        const list = path === undefined ? need() : await load(path, how, owner);
        await playFrom(list, list.at, 1, owner);
      },
      load: async (path, how) => void (await load(path, how, owner)),
      async open(path, how) {
        const list = path === undefined ? need() : await load(path, how, owner);
        list.isOpen = true;
        onOpened(stateOf(list));
      },
      async stop() {
        const list = need();
        const wasPlaying = list.isPlaying && isItem(list);
        clear();
        if (wasPlaying) await stop();
      },
      async pause() {
        const list = need();
        if (!list.isPlaying) throw publicError("failed", "the playlist does not play");
        list.isPlaying = false;
        list.step.abort(publicError("failed", "the playlist was paused", "stopped"));
        if (isItem(list)) await stop();
      },
      async move(by) {
        const list = need();
        const direction = by < 0 ? -1 : 1;
        const to = placeAfter(list, list.at, direction);
        if (to === undefined)
          throw publicError("failed", `this is the ${by < 0 ? "first" : "last"} item of the playlist`);
        await playFrom(list, to, direction, owner);
      },
      async goTo(place) {
        const list = need();
        if (place > list.items.length)
          throw publicError("failed", `the playlist has ${list.items.length} items, and no number ${place}`);
        await playFrom(list, place - 1, 1, owner);
      },
    }),
    /** The state of the loaded playlist, with its items from the place `from` on if it is given. */
    state: (from?: number): LoadedPlaylist | undefined => loaded && stateOf(loaded, from),
    /** Whether a playlist of this card plays, or is between two of its items. */
    isOf: (card: string) => loaded?.isPlaying === true && loaded.owner.card === card,
    /** Call it after a player was started for this run. */
    started(run: RunContext) {
      startedMs = elapsedMs();
      startedRun = run;
      // A start of other media ends the playlist, but not a paused one.
      if (loaded?.isPlaying !== true) return;
      if (isItem(loaded)) keepPlace(loaded);
      else clear();
    },
    /** Call it after a player has ended by itself. `exitCode` is null if a signal ended it. */
    ended(exitCode: number | null) {
      const list = loaded;
      // An item whose script started nothing lets the media before it play on, and their end is its end.
      if (list === undefined || !list.isPlaying || !(isItem(list) || list.begun === undefined)) return;
      list.crashes = exitCode !== 0 && elapsedMs() - startedMs < crashMs ? list.crashes + 1 : 0;
      const next = list.how.repeat === "one" ? list.at : placeAfter(list, list.at, 1);
      if (list.crashes >= crashesMax)
        log.warn("playlist", "it ends: two players in a row ended with a fault as soon as they were started");
      if (next === undefined) keepPlace({ ...list, at: 0 });
      if (list.crashes >= crashesMax || next === undefined) return clear();
      void playNext(list, next);
    },
    /**
     * Ends the commands of the current item if one of its callers is the revoked `client`, or has fewer rights than at their
     * start. The playlist is then paused, and running media continue.
     */
    review(why: ServiceError, client?: string) {
      const list = loaded;
      if (list?.begun === undefined) return;
      const callers = [list.owner.requester?.client, list.by.requester?.client];
      const isIts = client !== undefined && callers.includes(client);
      if (isIts || originOfItem(list) !== list.begun.origin) list.step.abort(why);
    },
    clear,
  };
}

function originOfItem({ owner, by }: Loaded): ScriptOrigin {
  return lowerOrigin(originNow(owner.origin, owner.requester), originNow(by.origin, by.requester));
}

function stateOf(list: Loaded, from?: number): LoadedPlaylist {
  const { path, name, items, how, at, isPlaying, isOpen } = list;
  // A launch asks for the state without the items.
  const shown = () => {
    const first = from === undefined ? Math.max(0, Math.min(at, items.length - playlistShownMax)) : from - 1;
    return items
      .slice(first, first + playlistShownMax)
      .map((item, index) => ({ place: first + index + 1, name: item.name }));
  };
  return {
    path,
    name,
    place: at + 1,
    count: items.length,
    state: isPlaying ? "playing" : "paused",
    isShuffled: how.isShuffled,
    repeat: how.repeat,
    ...(isOpen || from !== undefined ? { items: shown() } : {}),
  };
}

/** The place after this one; undefined at the end of the list. */
function placeAfter({ items, how }: Loaded, at: number, direction: 1 | -1): number | undefined {
  const next = at + direction;
  if (next >= 0 && next < items.length) return next;
  return how.repeat === "no" ? undefined : (next + items.length) % items.length;
}

/** A random order. All orders have the same probability. */
function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, key: Math.random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
