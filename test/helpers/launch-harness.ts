/** A launch queue with a real store, real files and real players: its settings may change, and its events are kept. */
import { expect } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createBus } from "../../src/bus.ts";
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";
import type { Config } from "../../src/config/shape.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createLog, silentLog } from "../../src/core/log.ts";
import type { EventName, Events } from "../../src/events.ts";
import { createLaunchQueue, type LaunchQueueParts } from "../../src/launch/launch-queue.ts";
import { proofMs } from "../../src/launch/playing.ts";
import { createSaveKeeper } from "../../src/launch/saves/save-keeper.ts";
import { openStore } from "../../src/store/open.ts";
import { defaultConfig } from "./defaults.ts";
import type { ManualClock } from "./manual-clock.ts";
import { eventually, processOf } from "./processes.ts";

type Heard = { [Name in EventName]: { readonly name: Name; readonly payload: Events[Name] } }[EventName];
type Parts = Omit<LaunchQueueParts, "config" | "bus" | "clock" | "log" | "history" | "saves">;

export interface DeckOptions extends Partial<Parts> {
  /** The clock. `run` and `tapAndWait` advance a manual clock, so a player proves itself at once. */
  readonly clock?: LaunchQueueParts["clock"] | ManualClock;
  readonly config?: Partial<Config>;
  /** The players, which may need the folder of the media; `extensionPlayers` if absent. */
  readonly launchers?: (folder: string) => readonly LauncherConfig[];
  /** An existing data folder, which is kept. Its folder `media` has the media. */
  readonly data?: string;
  /** The owner's folder of saves and the folder in memory; if absent, RetroArch's own settings decide. */
  readonly saves?: { readonly home: string; readonly memory: string };
}

export type Deck = Awaited<ReturnType<typeof makeDeck>>;

/** The extension chooses the player: `.sleep` keeps playing, `.true` and `.false` end at once with code 0 and 9. */
const extensionPlayers = [
  { id: "sleep", systems: [], extensions: [".sleep"], command: ["sleep", "600"] },
  { id: "true", systems: [], extensions: [".true"], command: ["true", "{path}"] },
  { id: "false", systems: [], extensions: [".false"], command: ["sh", "-c", "exit 9", "{path}"] },
];

const names = [
  ...["running", "media.started", "media.paused", "media.resumed", "media.stopped"],
  ...["launch.finished", "launch.guarded", "playlist.opened"],
] as const satisfies readonly EventName[];

export async function makeDeck({
  clock = systemClock,
  config = {},
  launchers = () => extensionPlayers,
  data,
  saves: kept,
  ...parts
}: DeckOptions = {}) {
  const top = data ?? (await mkdtemp(join(tmpdir(), "tapdeck-deck-")));
  const folder = join(top, "media");
  await mkdir(folder, { recursive: true });
  const [lines, taps]: [string[], string[]] = [[], []];
  const isTap = (line: string) => /^\w+ +launch: (started|nothing started) /.test(line);
  const log = createLog({ debug: false, write: (line) => (isTap(line) ? taps : lines).push(line) });
  const bus = createBus(silentLog);
  const heard: Heard[] = [];
  for (const name of names)
    bus.on(name, (payload) => {
      const one = { name, payload } as Heard;
      heard.push(one);
    });
  const store = openStore(top);
  const { history, lastMedia, plays, positions } = store;
  let now: Config = {
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: [folder] },
    launchers: launchers(folder),
    ...config,
  };
  const saves = createSaveKeeper({
    home: () => kept?.home,
    memory: kept?.memory ?? join(top, "memory"),
    clock: systemClock,
    log: silentLog,
  });
  const own = { config: () => now, bus, clock, log, history, saves };
  const launchQueue = createLaunchQueue({
    map: () => undefined,
    lastMedia,
    plays,
    positions,
    ...parts,
    ...own,
  });

  const told = <Name extends EventName>(name: Name): readonly Events[Name][] =>
    heard.flatMap((one) => (one.name === name ? [one.payload as Events[Name]] : []));
  const count = (name: EventName) => told(name).length;
  const token = (text: string) => ({ type: "NTAG", uid: `04${Bun.hash.crc32(text)}`, text, data: "" });
  let launches = 0;
  const nextToken = (text: string) => ({ ...token(text), uid: `04${String(launches++).padStart(6, "0")}` });
  const tap = (text: string) => launchQueue.launch(token(text), { isTap: true });
  /** Resolves with the end of the launch of this card: true, or the error. */
  const endOf = async (uid: string, launch: () => void): Promise<string | true> => {
    const ends = () => told("launch.finished").filter((end) => end.uid === uid);
    const [before, begun] = [ends().length, count("media.started")];
    const isOver = () => ends().length > before;
    launch();
    if ("advance" in clock) {
      await eventually(() => isOver() || expect(count("media.started")).toBeGreaterThan(begun));
      if (!isOver()) clock.advance(proofMs);
    }
    await eventually(() => expect(ends().length).toBeGreaterThan(before));
    return ends()[before]?.error ?? true;
  };
  const file = async (path: string, content: string | Uint8Array = "") => {
    const whole = join(folder, path);
    await mkdir(dirname(whole), { recursive: true });
    await writeFile(whole, content);
    return whole;
  };
  return {
    launchQueue,
    bus,
    store,
    saves,
    /** The log without the lines of taps. */
    lines,
    /** The log's lines of taps, which `lines` leaves out. */
    taps,
    /** The events so far, in order. */
    heard,
    /** The folder of the media. */
    folder,
    /** The payloads of an event so far. */
    told,
    count,
    names: () => heard.map(({ name }) => name),
    /** The ends of the launches so far: true, or the error. */
    ends: () => told("launch.finished").map(({ error }) => error ?? (true as const)),
    /** The names of the media that were started, in order. */
    started: () => told("media.started").map(({ mediaName }) => mediaName),
    /** A card with this text. The same text is always the same card. */
    token,
    set(change: Partial<Config>) {
      now = { ...now, ...change };
    },
    /** Makes a file below the folder of the media. */
    file,
    async files(...paths: readonly string[]) {
      for (const path of paths) await file(path);
    },
    /** Launches without a tap. */
    launch: (script: string) => launchQueue.launch(nextToken(script)),
    tap,
    /** Launches, and resolves with the end of the launch: true, or the error. A player proves itself in three seconds. */
    run(script: string) {
      const mine = nextToken(script);
      return endOf(mine.uid, () => launchQueue.launch(mine));
    },
    /** Like `run`, for a tap. */
    tapAndWait: (text: string) => endOf(token(text).uid, () => tap(text)),
    /** Launches, and resolves as soon as the player has loaded its media. */
    async play(script: string) {
      const before = count("media.started");
      launchQueue.launch(nextToken(script));
      await eventually(async () => {
        expect(count("media.started")).toBeGreaterThan(before);
        expect((await launchQueue.playback())?.playbackState ?? "loading").not.toBe("loading");
      });
    },
    /** The process whose command line ends with the path of this file. */
    async playerOf(file: string): Promise<number> {
      let pid = 0;
      await eventually(async () => {
        pid = await processOf(join(folder, file));
        expect(pid).toBeGreaterThan(0);
      });
      return pid;
    },
    /** Resolves with the payload of the `nth` event of this name. */
    async next<Name extends EventName>(name: Name, nth = 1): Promise<Events[Name]> {
      await eventually(() => expect(count(name)).toBeGreaterThanOrEqual(nth));
      const payload = told(name)[nth - 1];
      if (payload === undefined) throw new Error(`no ${name}`);
      return payload;
    },
    async [Symbol.asyncDispose]() {
      await launchQueue.close();
      await saves.close();
      store.close();
      if (data === undefined) await rm(top, { recursive: true });
    },
  };
}
