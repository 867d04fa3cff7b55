/** The playlist: one at a time. A stop, another start, and two crashes in a row end it. */
import { constants } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, sleep } from "../core/clock.ts";
import { failed, messageOf, publicError, ServiceError } from "../core/errors.ts";
import { playlistBytesMax, playlistFailuresMax, playlistItemsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { extensionOf } from "../core/media.ts";
import { eachInSlices, sortInSlices } from "../core/slices.ts";
import { kindOf } from "../media/known-systems.ts";
import { playlistEntries } from "../media/playlists.ts";
import type { LaunchHow, PlaylistHow, PlaylistPorts } from "../script/command.ts";
import type { RunContext } from "./run-context.ts";

// An exit with a failure within this time counts as a crash.
const crashMs = 3000;
const crashesMax = 2;
// Limits how often items that end at once start a player.
const startsApartMs = 1000;

interface PlaylistParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly elapsedMs: () => number;
  /** The absolute path of a file that a card names. */
  readonly find: (path: string) => Promise<string>;
  readonly launch: (path: string, how: LaunchHow, run: RunContext) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export type Playlists = ReturnType<typeof createPlaylists>;

interface Loaded {
  readonly path: string;
  readonly items: readonly string[];
  readonly how: PlaylistHow;
  readonly owner: RunContext;
  at: number;
  isPlaying: boolean;
  crashes: number;
  /** Aborts when the current item is no longer wanted. */
  step: AbortController;
  /** The run that started its last item. */
  run: RunContext | undefined;
}

export function createPlaylists(parts: PlaylistParts) {
  const { clock, log, elapsedMs, find, launch, stop } = parts;
  let loaded: Loaded | undefined;
  let startedMs = 0;
  let startedRun: RunContext | undefined;

  const need = (): Loaded => {
    if (loaded === undefined)
      throw publicError("failed", "no playlist is loaded: a card with **playlist.play starts one");
    return loaded;
  };
  const clear = () => {
    loaded?.step.abort(publicError("failed", "the playlist was ended"));
    loaded = undefined;
  };
  const load = async (path: string, how: PlaylistHow, owner: RunContext): Promise<Loaded> => {
    const place = await find(path);
    const items = await playlistItems(place);
    owner.signal.throwIfAborted();
    clear();
    loaded = {
      path: place,
      items: how.isShuffled ? shuffled(items) : items,
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

  /** Starts the item at `from`, or the next in this direction that can be played, on behalf of the run `by`. */
  const playFrom = async (list: Loaded, from: number, direction: 1 | -1, by?: RunContext) => {
    list.step.abort(publicError("failed", "another item of the playlist was asked for"));
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
    throw failed(`nothing more of the playlist can be played: ${why}`);
  };
  const playNext = async (list: Loaded, from: number) => {
    const { signal } = list.step;
    const restMs = startsApartMs - (elapsedMs() - startedMs);
    try {
      if (restMs > 0) await sleep(clock, restMs, signal);
      await playFrom(list, from, 1);
    } catch (error) {
      // If it was aborted, another request took its place.
      if (!signal.aborted) log.warn("playlist", messageOf(error));
    }
  };
  const isItem = (list: Loaded) => list.run !== undefined && startedRun === list.run;

  return {
    portsOf: (owner: RunContext): PlaylistPorts => ({
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
        if (!list.isPlaying) throw publicError("failed", "the playlist does not play");
        list.isPlaying = false;
        list.step.abort(publicError("failed", "the playlist was paused"));
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
    state: () =>
      loaded && {
        path: loaded.path,
        /** The place of the item that plays or is next, from 1. */
        place: loaded.at + 1,
        count: loaded.items.length,
        state: loaded.isPlaying ? ("playing" as const) : ("paused" as const),
        isShuffled: loaded.how.isShuffled,
        repeat: loaded.how.repeat,
      },
    /** Whether a playlist of this card plays, or is between two items. */
    isOf: (card: string) => loaded?.isPlaying === true && loaded.owner.card === card,
    /** To be called when a player was started for this run. */
    started(run: RunContext) {
      startedMs = elapsedMs();
      startedRun = run;
      // A start of other media ends the playlist, but not a paused one.
      if (loaded?.isPlaying === true && !isItem(loaded)) clear();
    },
    /** To be called when a player ended by itself. `exitCode` is null if a signal ended it. */
    ended(exitCode: number | null) {
      const list = loaded;
      if (list === undefined || !list.isPlaying || !isItem(list)) return;
      list.crashes = exitCode !== 0 && elapsedMs() - startedMs < crashMs ? list.crashes + 1 : 0;
      const next = list.how.repeat === "one" ? list.at : placeAfter(list, list.at, 1);
      if (list.crashes >= crashesMax)
        log.warn("playlist", "it ends: two players in a row ended with a fault as soon as they were started");
      if (list.crashes >= crashesMax || next === undefined) return clear();
      void playNext(list, next);
    },
    clear,
  };
}

/** Undefined at an end of the list. */
function placeAfter({ items, how }: Loaded, at: number, direction: 1 | -1): number | undefined {
  const next = at + direction;
  if (next >= 0 && next < items.length) return next;
  return how.repeat === "no" ? undefined : (next + items.length) % items.length;
}

/** All orders have the same probability (Durstenfeld's version of the Fisher-Yates shuffle). */
function shuffled(items: readonly string[]): readonly string[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = Math.floor(Math.random() * (last + 1));
    [order[last], order[chosen]] = [order[chosen] ?? "", order[last] ?? ""];
  }
  return order;
}

const lists = [".m3u", ".m3u8", ".pls"];

export async function isFolderOrList(path: string): Promise<boolean> {
  return lists.includes(extensionOf(path)) || (await stat(path)).isDirectory();
}

/** By name, numbers as numbers. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** At most `playlistItemsMax` items: as listed, or sorted by `compare`. Throws `ServiceError("failed")` if there are none. */
export async function playlistItems(path: string, compare = byName): Promise<readonly string[]> {
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !lists.includes(extensionOf(path)))
    throw failed(`${path} is no playlist: it takes a folder, .m3u, .m3u8 or .pls`);
  const items = (isFolder ? await inFolder(path, compare) : await inList(path)).slice(0, playlistItemsMax);
  if (items.length === 0) throw failed(`the playlist ${path} names nothing to play`);
  return items;
}

async function inList(path: string): Promise<readonly string[]> {
  const items: string[] = [];
  await eachInSlices(playlistEntries(await textOf(path), extensionOf(path)), (listed) => {
    const entry = listed.replaceAll("\\", "/");
    if (/^\w[\w+.-]+:/.test(entry) || entry.includes("\0")) return;
    items.push(entry.startsWith("/") ? entry : join(dirname(path), entry));
  });
  return items;
}

/**
 * Reads `playlistBytesMax` at most; a line that is cut there names no file, and is left out later. An open pipe would block,
 * and `path` may have become a link since its check, so the open file must still be that plain file.
 */
async function textOf(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!(await file.stat()).isFile() || (await realpath(`/proc/self/fd/${file.fd}`)) !== path)
    throw failed(`${path} is no plain file, or was replaced while it was read`);
  const bytes = new Uint8Array(playlistBytesMax);
  const { bytesRead } = await file.read(bytes, 0, playlistBytesMax, 0);
  return new TextDecoder().decode(bytes.subarray(0, bytesRead));
}

/** Only sounds and films if there are any, so that a cover beside songs is left out. */
async function inFolder(folder: string, compare: typeof byName): Promise<readonly string[]> {
  const names: string[] = [];
  const runs: string[] = [];
  await eachInSlices(await readdir(folder, { withFileTypes: true }), (entry) => {
    const { name } = entry;
    const extension = extensionOf(name);
    if (entry.isDirectory() || name.startsWith(".") || lists.includes(extension)) return;
    names.push(name);
    if (["Audio", "Video"].includes(kindOf(extension)?.id ?? "")) runs.push(name);
  });
  const inOrder = await sortInSlices(runs.length > 0 ? runs : names, compare);
  return inOrder.slice(0, playlistItemsMax).map((name) => join(folder, name));
}
