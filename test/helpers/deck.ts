/** A launcher with a real store, real files and real players, whose settings a test may change as it runs. */
import { expect } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Bus, createBus } from "../../src/bus.ts";
import { type Config, defaultConfig } from "../../src/config/shape.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { createLog, silentLog } from "../../src/core/log.ts";
import type { EventName, Events } from "../../src/events.ts";
import { createLauncher, type LauncherParts } from "../../src/launch/launcher.ts";
import { proofMs } from "../../src/launch/playing.ts";
import { openStore } from "../../src/store/open.ts";
import type { ManualClock } from "./manual-clock.ts";
import { eventually } from "./processes.ts";

export interface DeckOptions
  extends Partial<Pick<LauncherParts, "refusal" | "elapsedMs" | "closed" | "devices" | "lastMedia">> {
  readonly config?: Partial<Config>;
  readonly clock?: Clock | ManualClock;
  /** Given the deck's bus before anything else listens to it. */
  readonly before?: (bus: Bus) => void;
}

/** A file's extension says what its player does: `.sleep` stays, `.true` and `.false` end at once with code 0 and 9. */
const players = [
  { id: "sleep", systems: [], extensions: [".sleep"], command: ["sleep", "600"] },
  { id: "true", systems: [], extensions: [".true"], command: ["true", "{path}"] },
  { id: "false", systems: [], extensions: [".false"], command: ["sh", "-c", "exit 9", "{path}"] },
];

export type Deck = Awaited<ReturnType<typeof makeDeck>>;

export async function makeDeck({ config = {}, clock = systemClock, before, ...more }: DeckOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-deck-"));
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const bus = createBus(silentLog);
  const heard: { readonly name: EventName; readonly payload: Events[EventName] }[] = [];
  before?.(bus);
  const names = ["running", "media.started", "media.stopped", "launch.finished", "launch.guarded"] as const;
  for (const name of names) bus.on(name, (payload) => heard.push({ name, payload }));
  const store = openStore(folder);
  let now: Config = {
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: [join(folder, "media")] },
    launchers: players,
    ...config,
  };
  const launcher = createLauncher({
    config: () => now,
    bus,
    clock,
    log,
    history: store.history,
    map: () => undefined,
    ...more,
  });
  const count = (name: EventName) => heard.filter((event) => event.name === name).length;
  const ends = () =>
    heard.flatMap(({ name, payload }) =>
      name === "launch.finished" && "success" in payload ? [payload.error ?? (true as const)] : [],
    );
  const token = (text: string) => ({ type: "NTAG", uid: `04${text.length}`, text, data: "" });
  return {
    launcher,
    bus,
    store,
    lines,
    heard,
    count,
    ends,
    folder: join(folder, "media"),
    token,
    async files(...paths: readonly string[]) {
      for (const path of paths) {
        const whole = join(folder, "media", path);
        await mkdir(dirname(whole), { recursive: true });
        await writeFile(whole, "");
      }
    },
    set(change: Partial<Config>) {
      now = { ...now, ...change };
    },
    tap: (text: string) => launcher.launch(token(text), { isTap: true }),
    /** Taps, and resolves with how the launch ended: true, or what it failed with. */
    async run(text: string): Promise<string | true> {
      const before = ends().length;
      const begun = count("media.started");
      launcher.launch(token(text), { isTap: true });
      await eventually(() => ends().length > before || count("media.started") > begun);
      // A player of this kind has proved itself when it still plays some seconds later.
      if ("advance" in clock && ends().length === before) clock.advance(proofMs);
      await eventually(() => expect(ends().length).toBeGreaterThan(before));
      return ends()[before] ?? "";
    },
    /** Names of what was started, in order. */
    started: () =>
      heard.flatMap(({ name, payload }) =>
        name === "media.started" && "mediaName" in payload ? [payload.mediaName] : [],
      ),
    async [Symbol.asyncDispose]() {
      await launcher.close();
      store.close();
      await rm(folder, { recursive: true });
    },
  };
}
