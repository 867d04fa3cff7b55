/**
 * A random walk through hold mode. A world of three readers, five cards and slow players runs the real presence, tokens and
 * rules. A model that is written from the sentences of the rules predicts each launch and stop, and its time. The model
 * looks at the state every 2 or 3 ms, and gets no events.
 */
import { createBus } from "../../src/bus.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Sighting } from "../../src/core/token.ts";
import { createTapRules } from "../../src/launch/rules/tap-rules.ts";
import { cardOf } from "../../src/launch/run-context.ts";
import { removalDebounceMs } from "../../src/readers/driver.ts";
import { createPresence, createTokens, type Presence } from "../../src/readers/presence.ts";
import { defaultConfig } from "./defaults.ts";
import { createManualClock } from "./manual-clock.ts";

const tickMs = 10;
// Cards move at multiples of a tick, scripts act half a tick later, and pauses end 2 ms after one of these moments.
const pauseMs = 4002;
const looksMs = [2, 3, 2, 3];

interface Card {
  readonly name: string;
  /** The system of its media; undefined if the card's script starts nothing. */
  readonly systemId: string | undefined;
  /** The time that its script runs before and after the start of its media. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

const cards: readonly Card[] = [
  { name: "fast", systemId: "SNES", beforeMs: 0, afterMs: 0 },
  { name: "slow", systemId: "SNES", beforeMs: 700, afterMs: 0 },
  { name: "long", systemId: "Video", beforeMs: 50, afterMs: 900 },
  { name: "echo", systemId: undefined, beforeMs: 20, afterMs: 0 },
  { name: "song", systemId: "Audio", beforeMs: 110, afterMs: 0 },
];
const readerNames = ["left", "right", "line"] as const;
const isRemovable = (reader: string) => reader !== "line";

interface Rules {
  readonly isOn: boolean;
  readonly spared: readonly string[];
  readonly delayMs: number;
  readonly pauses: boolean;
}

/** A waiting or running script. */
interface Run {
  readonly card: Card | undefined;
}

/**
 * The events, and those that the model expects, as lines of time, act and card. The act `kept` is a card that was put
 * back without a launch.
 */
export function walk(seed: number, steps: number) {
  const random = randomOf(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] ?? fail();
  const clock = createManualClock(0);
  const model = createModel(clock.now);
  const world = createWorld(clock, model);
  const lay = (reader: string, card: Card | undefined) => {
    model.lay(reader, card);
    world.lay(reader, card);
  };
  const pass = (ms: number) => {
    for (const untilMs = clock.now() + ms; clock.now() < untilMs; ) {
      for (const ms of looksMs) {
        clock.advance(ms);
        model.tick();
      }
    }
  };
  const setRules = (rules: Rules) => {
    model.setRules(rules);
    world.setRules(rules);
  };
  setRules({ isOn: true, spared: [], delayMs: 1000, pauses: false });
  let last = pick(cards);
  for (let step = 0; step < steps; step++) {
    const dice = random();
    const reader = pick(readerNames);
    if (dice < 0.35) {
      // The card is often the last one that was on the reader.
      const card = random() < 0.3 ? last : pick(cards);
      last = card;
      // A card is in one place only, so it leaves its last place when a hand puts it down.
      for (const other of readerNames) if (world.on(other) === card) lay(other, undefined);
      lay(reader, card);
    } else if (dice < 0.65) lay(reader, undefined);
    else if (dice < 0.75) {
      const works = random() < 0.6;
      model.setWorking(reader, works);
      world.setWorking(reader, works);
    } else if (dice < 0.79) world.end();
    else if (dice < 0.82) world.launch(undefined);
    else if (dice < 0.84) world.resume();
    else if (dice < 0.89) {
      setRules({
        isOn: random() < 0.8,
        spared: pick([[], [], ["SNES"], ["Audio", "Video"]]),
        delayMs: pick([0, 500, 1000, 2500]),
        pauses: random() < 0.5,
      });
    }
    pass(tickMs * Math.floor(random() * random() * 120));
  }
  return { told: world.told.toSorted(), expected: model.expected.toSorted(), kept: model.kept() };
}

type Model = ReturnType<typeof createModel>;

/** A world of readers, cards, scripts and players, with the present rules. The model gets the events of scripts and players. */
function createWorld(clock: ReturnType<typeof createManualClock>, model: Model) {
  const bus = createBus(silentLog);
  const tokens = createTokens(bus, clock);
  const told: string[] = [];
  const note = (what: string) => void told.push(`${String(clock.now()).padStart(8, "0")} ${what}`);
  let queue: readonly Run[] = [];
  let current: Run | undefined;
  let wait: Disposable | undefined;
  let playing: Run | undefined;
  const keyOf = (card: Card) => cardOf(sightingOf(card));
  const cardOfKey = (key: string) => cards.find((card) => keyOf(card) === key) ?? fail();
  const facts = ({ card }: Run) => ({
    systemName: "",
    mediaPath: "",
    mediaName: "",
    launcherId: "",
    started: "",
    systemId: card?.systemId ?? "NES",
  });
  // Scripts and players act between the ticks, so none of their acts is simultaneous with those of hands.
  const later = (ms: number, run: () => void) =>
    clock.after(ms + tickMs + tickMs / 2 - (clock.now() % tickMs), run);

  // Games play in a program that cannot pause.
  const canPause = (systemId: string) => !["SNES", "NES"].includes(systemId);
  const end = () => {
    const ended = playing;
    if (ended === undefined) return;
    playing = undefined;
    model.ended();
    bus.emit("media.stopped", { ...facts(ended), elapsed: 0, exitCode: 0 });
  };
  const start = (run: Run) => {
    end();
    playing = run;
    const { systemId } = facts(run);
    model.started(run, systemId, canPause(systemId));
    bus.emit("media.started", facts(run));
  };
  const over = () => {
    if (current !== undefined) model.runOver(current);
    current = undefined;
    wait = later(0, next);
  };
  const next = () => {
    [current, ...queue] = queue;
    const run = current;
    if (run === undefined) return;
    wait = later(run.card?.beforeMs ?? 0, () => {
      wait = later(run.card?.afterMs ?? 0, over);
      if (run.card === undefined || run.card.systemId !== undefined) start(run);
    });
  };
  const launch = (card: Card | undefined) => {
    const run = { card };
    queue = [...queue, run];
    model.runQueued(run);
    if (current === undefined) {
      wait?.[Symbol.dispose]();
      wait = later(0, next);
    }
  };
  const holding = createTapRules({
    bus,
    clock,
    log: silentLog,
    readers: defaultConfig.readers,
    elapsedMs: clock.now,
    pauseMs,
    launchQueue: {
      launch({ text }) {
        note(`launch ${text}`);
        launch(cards.find(({ name }) => name === text));
      },
      stopMedia(_why, key = "") {
        const card = cardOfKey(key);
        note(`stop ${card.name}`);
        if (current?.card === card) {
          wait?.[Symbol.dispose]();
          over();
        }
        // A player takes a moment to end.
        const stopped = playing;
        later(30, () => {
          if (playing === stopped) end();
        });
      },
      pauseMedia: (_why, key) => note(`pause ${cardOfKey(key).name}`),
      resumeMedia: () => note(`resume ${playing?.card?.name}`),
      canPauseMedia: () => playing !== undefined && canPause(facts(playing).systemId),
      cardOfMedia: () => (playing?.card === undefined ? undefined : keyOf(playing.card)),
      isLaunching: (key) =>
        [current, ...queue].some((run) => run?.card !== undefined && keyOf(run.card) === key),
    },
  });
  const desks = new Map(
    readerNames.map((readerId) => {
      bus.emit("readers.added", {
        id: "",
        driver: "",
        path: "",
        info: "",
        connected: true,
        readerId,
        capabilities: isRemovable(readerId) ? ["read", "removable"] : ["read"],
      });
      const presence: Presence = createPresence({
        clock,
        added: (sighting) => tokens.added(sighting, readerId),
        removed: (sighting) => tokens.removed(sighting, readerId),
      });
      const desk: { works: boolean; card: Card | undefined } = { works: true, card: undefined };
      return [readerId as string, { presence, desk }] as const;
    }),
  );
  const at = (reader: string) => desks.get(reader) ?? fail();
  const look = (reader: string) => {
    const { presence, desk } = at(reader);
    if (desk.works) presence.see(desk.card === undefined ? [] : [sightingOf(desk.card)]);
  };
  return {
    told,
    on: (reader: string) => at(reader).desk.card,
    lay(reader: string, card: Card | undefined) {
      at(reader).desk.card = card;
      look(reader);
    },
    setWorking(reader: string, works: boolean) {
      at(reader).desk.works = works;
      if (works) look(reader);
      else at(reader).presence.hold();
    },
    end,
    launch,
    /** A person resumes the player. */
    resume() {
      if (playing === undefined) return;
      model.resumed();
      bus.emit("media.resumed", facts(playing));
    },
    setRules: ({ isOn, spared, delayMs, pauses }: Rules) =>
      holding.configure({
        ...defaultConfig.readers,
        insertMode: isOn,
        insertModeAction: pauses ? "pause" : "stop",
        insertModeBlocklist: spared,
        insertModeExitDelay: delayMs / 1000,
      }),
  };
}

/** Media or a script that belongs to a card, and the time since which that card has been removed. */
interface Owned {
  readonly card: Card | undefined;
  offMs: number | undefined;
}

interface Desk {
  works: boolean;
  card: Card | undefined;
  /** The card that the reader reports. */
  believed: Card | undefined;
  missingMs: number | undefined;
}

/** The rules of hold mode, checked at every tick. */
function createModel(now: () => number) {
  const expected: string[] = [];
  const expect = (what: string) => void expected.push(`${String(now()).padStart(8, "0")} ${what}`);
  const desks = new Map<string, Desk>(
    readerNames.map((name) => [
      name,
      { works: true, card: undefined, believed: undefined, missingMs: undefined },
    ]),
  );
  const seenLast = new Map<Card, string>();
  let rules: Rules = { isOn: false, spared: [], delayMs: 0, pauses: false };
  let runs: readonly (Owned & { readonly run: Run })[] = [];
  let media:
    | (Owned & {
        readonly systemId: string;
        readonly canPause: boolean;
        isBeingStopped: boolean;
        pausedMs: number | undefined;
      })
    | undefined;
  let kept = 0;
  const at = (reader: string) => desks.get(reader) ?? fail();
  const all = (): readonly Owned[] => [
    ...runs,
    ...(media === undefined || media.isBeingStopped ? [] : [media]),
  ];

  const came = (reader: string, card: Card) => {
    const last = seenLast.get(card);
    const isCarried = last !== undefined && at(last).believed === card;
    const its = all().filter((one) => one.card === card);
    const isPaused = media !== undefined && its.includes(media) && media.pausedMs !== undefined;
    const isBackInTime =
      isPaused || its.some(({ offMs }) => offMs !== undefined && now() - offMs < rules.delayMs);
    const stays = rules.isOn && isRemovable(reader) && its.length > 0 && (isCarried || isBackInTime);
    if (stays) kept++;
    else expect(`launch ${card.name}`);
    if (stays && isPaused) expect(`resume ${card.name}`);
    if (media !== undefined && isPaused) media.pausedMs = undefined;
    for (const one of its) one.offMs = undefined;
    if (isRemovable(reader)) seenLast.set(card, reader);
  };
  const went = (reader: string, card: Card) => {
    if (!rules.isOn || seenLast.get(card) !== reader) return;
    for (const one of all().filter((owned) => owned.card === card)) one.offMs = now();
    forgive();
  };
  const forgive = () => {
    if (!rules.isOn) for (const one of all()) one.offMs = undefined;
    if (media !== undefined && rules.spared.includes(media.systemId)) media.offMs = undefined;
    if (media !== undefined && media.offMs === undefined) media.pausedMs = undefined;
  };
  const look = (reader: string) => {
    const desk = at(reader);
    if (!desk.works) return;
    if (desk.card === desk.believed) desk.missingMs = undefined;
    else if (desk.card === undefined) desk.missingMs ??= now();
    else {
      forget(reader);
      came(reader, desk.card);
      desk.believed = desk.card;
    }
  };
  const forget = (reader: string) => {
    const desk = at(reader);
    const gone = desk.believed;
    desk.believed = undefined;
    desk.missingMs = undefined;
    if (gone !== undefined) went(reader, gone);
    stopWhatIsDue();
  };
  const stopWhatIsDue = () => {
    if (media?.offMs === undefined || media.isBeingStopped) return;
    const pauses = rules.pauses && media.canPause;
    if (pauses && media.pausedMs !== undefined) {
      if (now() - media.pausedMs < pauseMs) return;
    } else {
      if (now() - media.offMs < rules.delayMs) return;
      if (pauses) {
        media.pausedMs = now();
        return expect(`pause ${media.card?.name}`);
      }
    }
    media.isBeingStopped = true;
    expect(`stop ${media.card?.name}`);
  };
  return {
    expected,
    kept: () => kept,
    tick() {
      for (const [reader, { works, missingMs }] of desks)
        if (works && missingMs !== undefined && now() - missingMs >= removalDebounceMs) forget(reader);
      stopWhatIsDue();
    },
    lay(reader: string, card: Card | undefined) {
      at(reader).card = card;
      look(reader);
    },
    setWorking(reader: string, works: boolean) {
      at(reader).works = works;
      if (!works) at(reader).missingMs = undefined;
      look(reader);
    },
    setRules(to: Rules) {
      rules = to;
      forgive();
      stopWhatIsDue();
    },
    runQueued(run: Run) {
      runs = [...runs, { run, card: run.card, offMs: undefined }];
    },
    runOver(run: Run) {
      runs = runs.filter((one) => one.run !== run);
    },
    resumed() {
      if (media?.pausedMs === undefined) return;
      media.offMs = undefined;
      media.pausedMs = undefined;
    },
    started(run: Run, systemId: string, canPause: boolean) {
      const offMs = runs.find((one) => one.run === run)?.offMs;
      media = { card: run.card, systemId, canPause, offMs, isBeingStopped: false, pausedMs: undefined };
      forgive();
      stopWhatIsDue();
    },
    ended() {
      media = undefined;
    },
  };
}

function sightingOf({ name }: Card): Sighting {
  return { type: "NTAG", uid: `04${name}`, text: name, data: "" };
}

/** A generator of random numbers from 0 up to 1, the same for the same seed (Marsaglia's xorshift with 32 bits). */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

function fail(): never {
  throw new Error("the walk names what is not there");
}
