/** Hold mode: each of its rules by itself, and a long random walk beside a model that was written from the rules alone. */
import { expect, test } from "bun:test";
import { createBus } from "../../../../src/bus.ts";
import { ServiceError } from "../../../../src/core/errors.ts";
import { createLog, silentLog } from "../../../../src/core/log.ts";
import type { Requester } from "../../../../src/core/rights.ts";
import type { Reader, Token } from "../../../../src/core/token.ts";
import { createTapRules } from "../../../../src/launch/rules/tap-rules.ts";
import { cardOf } from "../../../../src/launch/run-context.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { walk } from "../../../helpers/hold-walk.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const on = { ...defaultConfig.readers, insertMode: true };
const media = { systemName: "", mediaPath: "", mediaName: "", launcherId: "", started: "" };

const noPauses = { pauseMedia() {}, resumeMedia() {}, canPauseMedia: () => false };
const pausing = { insertModeAction: "pause" } as const;
const hourMs = 3_600_000;

/** Cards come and go on readers, and the test decides on their media. */
function makeDesk(settings: Partial<typeof on> = {}) {
  const clock = createManualClock();
  const bus = createBus(createLog({ debug: false, write: (line) => did.push(line) }));
  const did: string[] = [];
  let starter: string | undefined;
  let canPause = true;
  const cards = new Map<string, Token>();
  const keys = new Map<string, string>();
  const holding = createTapRules({
    bus,
    clock,
    log: silentLog,
    readers: { ...on, ...settings },
    elapsedMs: clock.now,
    launchQueue: {
      launch: ({ text }) => void did.push(`launch ${text}`),
      stopMedia: (_why, card) => void did.push(`stop ${cards.get(card ?? "")?.text}`),
      pauseMedia: (_why, card) => void did.push(`pause ${cards.get(card)?.text}`),
      resumeMedia: () => void did.push("resume"),
      canPauseMedia: () => canPause,
      cardOfMedia: () => starter,
      isLaunching: () => false,
    },
  });
  const reader = (readerId: string, capabilities: Reader["capabilities"]) =>
    bus.emit("readers.added", {
      id: "",
      readerId,
      driver: "",
      path: "",
      info: "",
      connected: true,
      capabilities,
    });
  reader("a", ["read", "removable"]);
  reader("b", ["read", "removable"]);
  reader("line", ["read"]);
  const token = (text: string, readerId: string): Token => {
    const made = { type: "NTAG", uid: `04${text.length}`, text, data: "", scanTime: "", readerId };
    const key = JSON.stringify([made.uid, text, ""]);
    cards.set(key, made);
    keys.set(text, key);
    return made;
  };
  return {
    clock,
    did,
    put: (text: string, readerId = "a", facts: Pick<Token, "removable"> = {}) =>
      bus.emit("tokens.added", { ...token(text, readerId), ...facts }),
    take: (text: string, readerId = "a") => bus.emit("tokens.removed", token(text, readerId)),
    plays(text: string | undefined, systemId = "SNES") {
      starter = text === undefined ? undefined : keys.get(text);
      bus.emit("media.started", { ...media, systemId });
    },
    /** The card of another disc changes the disc of the game that plays. */
    insertsDisc(text: string) {
      starter = keys.get(text);
    },
    cannotPause() {
      canPause = false;
    },
    /** A person resumes the player. */
    resumes: () => bus.emit("media.resumed", { ...media, systemId: "SNES" }),
    ends: () => bus.emit("media.stopped", { ...media, systemId: "SNES", elapsed: 1, exitCode: 0 }),
    set: (more: Partial<typeof on>) => holding.configure({ ...on, ...settings, ...more }),
  };
}

test("in tap mode a card that goes stops nothing, and the same card again is launched again", () => {
  const desk = makeDesk({ insertMode: false });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.put("game");
  expect(desk.did).toEqual(["launch game", "launch game"]);
});

test("the card that started what plays stops it when it goes", () => {
  const desk = makeDesk();
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  expect(desk.did).toEqual(["launch game", "stop game"]);
});

test("with a delay it is stopped when the delay is over, and once", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(1999);
  expect(desk.did).toEqual(["launch game"]);
  desk.clock.advance(1);
  expect(desk.did).toEqual(["launch game", "stop game"]);
  desk.clock.advance(60_000);
  expect(desk.did).toHaveLength(2);
});

test("a card that is put back within the delay cancels the stop and is not launched again", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(1500);
  desk.put("game", "b");
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game"]);
  desk.take("game", "b");
  desk.clock.advance(2000);
  expect(desk.did).toEqual(["launch game", "stop game"]);
});

test("a card that is put back too late is launched again", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(2000);
  desk.put("game");
  expect(desk.did).toEqual(["launch game", "stop game", "launch game"]);
});

test("another card takes over at once, and what it started is not stopped for the first one", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.put("other");
  desk.ends();
  desk.plays("other");
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game", "launch other"]);
});

test("a game belongs to the card of the disc that was inserted last", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("disc 1");
  desk.plays("disc 1");
  desk.take("disc 1");
  desk.put("disc two");
  desk.insertsDisc("disc two");
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch disc 1", "launch disc two"]);
  desk.take("disc two");
  desk.clock.advance(2000);
  expect(desk.did).toEqual(["launch disc 1", "launch disc two", "stop disc two"]);
});

test("a card that started nothing stops nothing", () => {
  const desk = makeDesk();
  desk.put("game");
  desk.plays("game");
  desk.put("echo", "b");
  desk.take("echo", "b");
  expect(desk.did).toEqual(["launch game", "launch echo"]);
});

test("media that no card started is stopped by no card", () => {
  const desk = makeDesk();
  desk.put("game");
  desk.plays("game");
  desk.ends();
  desk.plays(undefined);
  desk.take("game");
  expect(desk.did).toEqual(["launch game"]);
});

test("media that ended by itself is not stopped again", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.ends();
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game"]);
});

test("a system on the blocklist is never stopped, by whichever of its names", () => {
  const desk = makeDesk({ insertModeBlocklist: ["superNintendo", "snes"] });
  desk.put("game");
  desk.plays("game", "SNES");
  desk.take("game");
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game"]);
});

test("a reader that cannot tell when a card goes never stops anything", () => {
  const desk = makeDesk();
  desk.put("game", "line");
  desk.plays("game");
  desk.take("game", "line");
  expect(desk.did).toEqual(["launch game"]);
});

test("a tap on a reader that can tell of other cards when they go stops nothing, and is launched each time", () => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game", "a", { removable: false });
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(1000);
  desk.put("game", "a", { removable: false });
  desk.take("game");
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game", "launch game"]);
});

test("a token of the API's own reader counts", () => {
  const desk = makeDesk();
  desk.put("game", "");
  desk.plays("game");
  desk.take("game", "");
  expect(desk.did).toEqual(["launch game", "stop game"]);
});

test("changed settings count at once, for a delay that runs too", () => {
  const desk = makeDesk({ insertModeExitDelay: 60 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(5000);
  desk.set({ insertModeExitDelay: 6 });
  desk.clock.advance(999);
  expect(desk.did).toEqual(["launch game"]);
  desk.clock.advance(1);
  expect(desk.did).toEqual(["launch game", "stop game"]);
});

test.each([
  ["hold mode is switched off", { insertMode: false }],
  ["its system comes to the blocklist", { insertModeBlocklist: ["SNES"] }],
])("a stop that waits is dropped when %s, for good", (_what, change) => {
  const desk = makeDesk({ insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.set(change);
  desk.set({});
  desk.clock.advance(60_000);
  expect(desk.did).toEqual(["launch game"]);
});

test("a card that goes pauses its media if that is set, and they resume without a launch when it is put back", () => {
  const desk = makeDesk({ ...pausing, insertModeExitDelay: 2 });
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(1999);
  expect(desk.did).toEqual(["launch game"]);
  desk.clock.advance(1);
  expect(desk.did).toEqual(["launch game", "pause game"]);
  desk.clock.advance(hourMs - 1);
  desk.put("game", "b");
  expect(desk.did).toEqual(["launch game", "pause game", "resume"]);
  desk.resumes();
  desk.clock.advance(2 * hourMs);
  expect(desk.did).toHaveLength(3);
  desk.take("game", "b");
  desk.clock.advance(1000);
  // The card is on the reader again before the pause.
  desk.put("game");
  desk.clock.advance(2 * hourMs);
  expect(desk.did).toHaveLength(3);
});

test("paused media stop after an hour, and the card is then launched again", () => {
  const desk = makeDesk(pausing);
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.clock.advance(hourMs - 1);
  expect(desk.did).toEqual(["launch game", "pause game"]);
  desk.clock.advance(1);
  expect(desk.did).toEqual(["launch game", "pause game", "stop game"]);
  desk.put("game");
  expect(desk.did.at(-1)).toBe("launch game");
});

test("media of a player that cannot pause stop, and another card takes over from paused ones", () => {
  const desk = makeDesk(pausing);
  desk.put("film");
  desk.plays("film");
  desk.take("film");
  desk.put("other");
  desk.ends();
  desk.cannotPause();
  desk.plays("other");
  desk.clock.advance(2 * hourMs);
  desk.take("other");
  expect(desk.did).toEqual(["launch film", "pause film", "launch other", "stop other"]);
});

test("media that a person resumes play on without their card, and a tap on another kind of reader launches", () => {
  const desk = makeDesk(pausing);
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.resumes();
  desk.clock.advance(2 * hourMs);
  expect(desk.did).toEqual(["launch game", "pause game"]);
  desk.put("game");
  desk.take("game");
  desk.put("game", "line");
  expect(desk.did.slice(2)).toEqual(["launch game", "pause game", "launch game"]);
});

test.each([
  ["media are to stop instead", { insertModeAction: "stop" }, ["stop game"]],
  ["hold mode is switched off", { insertMode: false }, []],
  ["its system comes to the blocklist", { insertModeBlocklist: ["SNES"] }, []],
] as const)("a changed setting counts for paused media too: %s", (_what, change, does) => {
  const desk = makeDesk(pausing);
  desk.put("game");
  desk.plays("game");
  desk.take("game");
  desk.set(change);
  desk.clock.advance(2 * hourMs);
  expect(desk.did).toEqual(["launch game", "pause game", ...does]);
});

test("100,000 steps of cards, faults, ends and settings do what a model of the rules says", () => {
  const seeds = 50;
  const stepsEach = 2000;
  let launches = 0;
  let stops = 0;
  let putBack = 0;
  let pauses = 0;
  let resumes = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const { told, expected, kept } = walk(seed, stepsEach);
    expect(told).toEqual(expected);
    launches += told.filter((line) => line.includes("launch")).length;
    stops += told.filter((line) => line.includes("stop")).length;
    putBack += kept;
    pauses += told.filter((line) => line.includes("pause")).length;
    resumes += told.filter((line) => line.includes("resume")).length;
  }
  // The walk reaches every state.
  expect(launches).toBeGreaterThan(5000);
  expect(stops).toBeGreaterThan(1000);
  expect(putBack).toBeGreaterThan(500);
  expect(pauses).toBeGreaterThan(300);
  expect(resumes).toBeGreaterThan(40);
});

test("a reader that was never announced, or a system that nobody knows, is no special case", () => {
  const desk = makeDesk({ insertModeBlocklist: ["MySystem"] });
  desk.put("game", "unheard of");
  desk.plays("game");
  desk.take("game", "unheard of");
  expect(desk.did).toEqual(["launch game"]);
  desk.put("other");
  desk.plays("other", "mysystem");
  desk.take("other");
  desk.put("third");
  desk.plays("third", "another");
  desk.take("third");
  expect(desk.did).toEqual(["launch game", "launch other", "launch third", "stop third"]);
});

test("a delay waits a whole number of milliseconds, at least one, and for nothing once it is dropped", () => {
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const waits: number[] = [];
  let stops = 0;
  const token = { type: "", uid: "04", text: "game", data: "", scanTime: "", readerId: "" };
  using launching = createTapRules({
    bus,
    clock: {
      now: clock.now,
      after(ms, run) {
        waits.push(ms);
        return clock.after(ms, run);
      },
    },
    log: silentLog,
    readers: { ...on, insertModeExitDelay: 0.0004 },
    elapsedMs: clock.now,
    launchQueue: {
      launch() {},
      stopMedia() {
        stops += 1;
      },
      ...noPauses,
      cardOfMedia: () => cardOf(token),
      isLaunching: () => false,
    },
  });
  bus.emit("tokens.added", token);
  bus.emit("media.started", { ...media, systemId: "SNES" });
  bus.emit("tokens.removed", token);
  expect(waits).toEqual([1]);
  launching.configure({ ...on, insertModeExitDelay: 2 });
  expect(waits).toEqual([1, 2000]);
  launching.configure({ ...on, insertMode: false });
  expect(waits).toEqual([1, 2000]);
  clock.advance(60_000);
  expect(stops).toBe(0);
});

test("a tap is launched with its reader, its caller and the problem of its tag; a refusal is in the log", () => {
  const bus = createBus(silentLog);
  const [sources, lines]: [unknown[], string[]] = [[], []];
  const requester: Requester = { client: "phone", grant: () => "change" };
  let refusal: Error | undefined;
  using _launching = createTapRules({
    bus,
    clock: createManualClock(),
    log: createLog({ debug: false, write: (line) => lines.push(line) }),
    readers: defaultConfig.readers,
    requesterOf: ({ readerId }) => (readerId === "" ? requester : undefined),
    launchQueue: {
      launch(_token, from) {
        sources.push(from);
        if (refusal !== undefined) throw refusal;
      },
      stopMedia() {},
      ...noPauses,
      cardOfMedia: () => undefined,
      isLaunching: () => false,
    },
  });
  const token = { type: "", uid: "04aa", text: "game", data: "", scanTime: "" };
  bus.emit("tokens.added", { ...token, readerId: "" });
  bus.emit("tokens.added", { ...token, readerId: "chip", problem: "blank" });
  expect(sources).toEqual([
    { isTap: true, isFromReader: false, requester },
    { isTap: true, isFromReader: false, requester: undefined, readerId: "chip", problem: "blank" },
  ]);
  expect(lines).toEqual([]);
  refusal = new ServiceError("busy", "64 launches wait already");
  bus.emit("tokens.added", { ...token, readerId: "chip" });
  const line = 'warn  launch: nothing started error="64 launches wait already" uid=04aa reader=chip';
  expect(lines).toEqual([line]);
  refusal = new Error("a fault");
  bus.emit("tokens.added", { ...token, readerId: "chip" });
  expect(lines).toHaveLength(1);
});

test("a card that is put back in hold mode has a line in the log, too", () => {
  const bus = createBus(silentLog);
  const lines: string[] = [];
  let starter: string | undefined;
  using _launching = createTapRules({
    bus,
    clock: createManualClock(),
    log: createLog({ debug: false, write: (line) => lines.push(line) }),
    readers: { ...on, insertModeExitDelay: 2 },
    elapsedMs: () => 0,
    launchQueue: {
      ...noPauses,
      launch() {},
      stopMedia() {},
      cardOfMedia: () => starter,
      isLaunching: () => false,
    },
  });
  const token = { type: "", uid: "04aa", text: "game", data: "", scanTime: "", readerId: "" };
  bus.emit("tokens.added", token);
  starter = cardOf(token);
  bus.emit("media.started", { ...media, systemId: "SNES" });
  bus.emit("tokens.removed", token);
  expect(lines).toEqual([]);
  bus.emit("tokens.added", token);
  const why = "it was put back in hold mode: its media play, or start";
  expect(lines).toEqual([`warn  launch: nothing started error="${why}" uid=04aa reader=api`]);
});

test("a phone that is put back in hold mode made up another UID, and was launched again", () => {
  const bus = createBus(silentLog);
  const [launched, clock]: [string[], ReturnType<typeof createManualClock>] = [[], createManualClock()];
  let stops = 0;
  let starter: string | undefined;
  using _launching = createTapRules({
    bus,
    clock,
    log: silentLog,
    readers: { ...on, insertModeExitDelay: 2 },
    elapsedMs: clock.now,
    launchQueue: {
      ...noPauses,
      launch: ({ uid }) => void launched.push(uid),
      stopMedia() {
        stops += 1;
      },
      cardOfMedia: () => starter,
      isLaunching: () => false,
    },
  });
  const phone = (uid: string, text = "game") =>
    ({ type: "ISO14443-4", uid, text, data: "", scanTime: "", readerId: "" }) as const;
  bus.emit("tokens.added", phone("08aaaaaa"));
  starter = cardOf(phone("08aaaaaa"));
  bus.emit("media.started", { ...media, systemId: "SNES" });
  bus.emit("tokens.removed", phone("08aaaaaa"));
  clock.advance(1000);
  bus.emit("tokens.added", phone("08bbbbbb"));
  clock.advance(60_000);
  expect([launched, stops]).toEqual([["08aaaaaa"], 0]);
  bus.emit("tokens.removed", phone("08bbbbbb"));
  clock.advance(2000);
  expect(stops).toBe(1);
  // Without a text only the UID distinguishes two cards, and a UID of seven bytes is not made up.
  const cards = [
    phone("08aaaaaa", ""),
    phone("08bbbbbb", ""),
    phone("08aaaaaaaaaaaa"),
    phone("08bbbbbbbbbbbb"),
  ];
  expect(new Set(cards.map(cardOf)).size).toBe(4);
});

test("a card counts as one of a reader of the device, unless the API laid it there", () => {
  const bus = createBus(silentLog);
  const said: string[] = [];
  using _holding = createTapRules({
    bus,
    clock: createManualClock(),
    log: silentLog,
    readers: defaultConfig.readers,
    launchQueue: {
      launch: ({ text }, from) => void said.push(`${text}: ${from?.isFromReader}`),
      stopMedia() {},
      ...noPauses,
      cardOfMedia: () => undefined,
      isLaunching: () => false,
    },
  });
  const reader = (readerId: string, driver: string) => {
    const facts = { id: "", path: "", info: "", connected: true, capabilities: ["read"] } as const;
    bus.emit("readers.added", { readerId, driver, ...facts });
  };
  const put = (readerId: string) =>
    bus.emit("tokens.added", { type: "", uid: "04", text: readerId, data: "", scanTime: "", readerId });
  reader("chip", "pn532-uart");
  reader("file", "file");
  reader("pretended", "simulated");
  for (const readerId of ["chip", "file", "pretended", "", "unheard of"]) put(readerId);
  expect(said).toEqual(["chip: true", "file: true", "pretended: false", ": false", "unheard of: false"]);
  // The same port may get another reader.
  reader("chip", "simulated");
  put("chip");
  expect(said.at(-1)).toBe("chip: false");
});
