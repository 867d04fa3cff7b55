/** The television over an emulated adapter: the events that wake it, its requests, and the effects of its remote control. */
import { expect, test } from "bun:test";
import { cecLine } from "../../../drivers/io/cec.ts";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import { type ControlAction, gameLauncherId } from "../../../src/core/playback.ts";
import { followLine, followTelevision } from "../../../src/services/television-cec.ts";
import { createCecAdapter } from "../../emulators/cec-adapter.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const [tv, deck, everyone] = [0, 4, 15];
const film = {
  systemId: "Video",
  systemName: "Video",
  mediaPath: "/films/a.mkv",
  mediaName: "a",
  launcherId: "mpv",
  started: "2026-01-01T00:00:00.000Z",
};

function follow({ wake = true, standbyMinutes = 0 } = {}) {
  const adapter = createCecAdapter();
  const line = cecLine(adapter.call, "Tapdeck");
  if (line === undefined) throw new Error("the adapter is refused");
  const bus = createBus(silentLog);
  const clock = createManualClock();
  const done: ControlAction[] = [];
  let playing: typeof film | undefined;
  let isClosed = false;
  let standbyAfter = standbyMinutes;
  const following = followLine(
    {
      ...line,
      onMessages: adapter.onMessages,
      close() {
        isClosed = true;
      },
    },
    {
      bus,
      clock,
      log: silentLog,
      open: () => undefined,
      settings: () => ({ wake, standbyMinutes: standbyAfter }),
      playing: () => playing,
      async control(action) {
        done.push(action);
      },
    },
  );
  return {
    ...adapter,
    done,
    isClosed: () => isClosed,
    close: () => following[Symbol.dispose](),
    start(launcherId = "mpv") {
      playing = { ...film, launcherId };
      bus.emit("media.started", playing);
    },
    end(reason: "ended" | "stopped" = "stopped") {
      if (playing !== undefined) bus.emit("media.stopped", { ...playing, elapsed: 1, exitCode: 0, reason });
      playing = undefined;
    },
    passMs: (ms: number) => clock.advance(ms),
    setClock: (ms: number) => clock.jump(ms),
    setStandby(minutes: number) {
      standbyAfter = minutes;
    },
    /** Lets the messages of the television arrive. */
    async hear(...messages: readonly (readonly number[])[]) {
      for (const [from = 0, to = 0, ...message] of messages) adapter.say(from, to, ...message);
      await Promise.resolve();
    },
  };
}

test("media that start switch the television on, and to the socket of the device", () => {
  const home = follow();
  home.start();
  expect(home.television).toMatchObject({ isOn: true, shows: 0x1000 });
  expect(home.sent).toEqual([
    [0x40, 0x04],
    [0x4f, 0x82, 0x10, 0x00],
  ]);
});

test("with the setting off, it is left as it is", async () => {
  const home = follow({ wake: false });
  home.start();
  await home.hear([tv, everyone, 0x36]);
  expect([home.sent, home.done]).toEqual([[], []]);
});

test("an idle deck asked for messages four times a second", async () => {
  const home = follow();
  await home.passMs(60_000);
  expect(home.asked()).toBe(0);
  await home.hear([tv, deck, 0x8f]);
  expect(home.sent).toEqual([[0x40, 0x90, 0]]);
  const asked = home.asked();
  await home.passMs(60_000);
  expect(home.asked()).toBe(asked);
});

test("its standby pauses a film, and keeps the state of a game before that", async () => {
  const home = follow();
  home.start();
  await home.hear([tv, everyone, 0x36]);
  expect(home.done).toEqual([{ kind: "pause" }]);
  home.start(gameLauncherId);
  await home.hear([tv, deck, 0x36]);
  expect(home.done.slice(1)).toEqual([{ kind: "save-state" }, { kind: "pause" }]);
});

test("its remote control works on songs and films, and leaves games to the keys of the kernel", async () => {
  const home = follow();
  await home.hear([tv, deck, 0x44, 0x46], [tv, deck, 0x45]);
  expect(home.done).toEqual([]);
  home.start();
  await home.hear([tv, deck, 0x44, 0x46], [tv, deck, 0x45], [tv, deck, 0x44, 0x4b], [tv, deck, 0x44, 0x49]);
  await home.hear([tv, deck, 0x44, 0x0d], [tv, deck, 0x44, 0x7f]);
  expect(home.done).toEqual([
    { kind: "toggle" },
    { kind: "next" },
    { kind: "fast-forward", to: { kind: "by", ms: 10_000 } },
    { kind: "stop" },
  ]);
  home.start(gameLauncherId);
  await home.hear([tv, deck, 0x44, 0x46]);
  expect(home.done).toHaveLength(4);
});

test("a key that was held for a second paused and resumed the film three times, and skipped songs", async () => {
  const home = follow();
  home.start();
  for (const key of [0x46, 0x4b]) {
    for (let held = 0; held < 3; held++) {
      await home.hear([tv, deck, 0x44, key]);
      await home.passMs(450);
    }
    await home.hear([tv, deck, 0x45]);
  }
  expect(home.done).toEqual([{ kind: "toggle" }, { kind: "next" }]);
  // Two presses are two, also if the message of the release was lost.
  await home.hear([tv, deck, 0x44, 0x46], [tv, deck, 0x45], [tv, deck, 0x44, 0x46]);
  await home.passMs(600);
  await home.hear([tv, deck, 0x44, 0x46], [tv, deck, 0x45]);
  expect(home.done.slice(2)).toEqual([{ kind: "toggle" }, { kind: "toggle" }, { kind: "toggle" }]);
  // A held arrow goes on.
  await home.hear([tv, deck, 0x44, 0x48]);
  await home.passMs(450);
  await home.hear([tv, deck, 0x44, 0x48]);
  expect(home.done.slice(5).map(({ kind }) => kind)).toEqual(["rewind", "rewind"]);
});

test("it is sent to standby some time after the last media, unless it shows another device or plays again", async () => {
  const home = follow({ standbyMinutes: 60 });
  home.start();
  home.end();
  await home.passMs(59 * 60_000);
  home.start();
  home.end();
  await home.passMs(59 * 60_000);
  expect(home.television.isOn).toBe(true);
  await home.passMs(2 * 60_000);
  expect(home.television.isOn).toBe(false);
  home.start();
  home.end();
  await home.hear([5, everyone, 0x82, 0x20, 0x00]);
  await home.passMs(61 * 60_000);
  expect(home.television.isOn).toBe(true);
});

test("after the clock was set back, a film that was started left the television off", async () => {
  const home = follow();
  home.start();
  home.end("ended");
  home.setClock(-8 * 3_600_000);
  await home.passMs(60_000);
  const before = home.sent.length;
  home.start();
  expect(home.sent.length).toBe(before + 2);
});

test("the standby that an owner switched off still came after the media that had ended before", async () => {
  const home = follow({ standbyMinutes: 60 });
  home.start();
  home.end();
  await home.passMs(30 * 60_000);
  home.setStandby(0);
  await home.passMs(31 * 60_000);
  expect(home.television.isOn).toBe(true);
});

test("the next song of a list does not take the picture from what the family watches meanwhile", async () => {
  const home = follow();
  home.start();
  await home.hear([5, everyone, 0x82, 0x20, 0x00]);
  home.end("ended");
  home.start();
  expect(home.sent).toHaveLength(2);
  home.end("stopped");
  home.start();
  expect(home.sent).toHaveLength(4);
  home.end("ended");
  await home.passMs(3000);
  home.start();
  expect(home.sent).toHaveLength(6);
});

test.each([
  ["its power", [0x8f], [0x40, 0x90, 0]],
  ["its menu", [0x8d, 0x02], [0x40, 0x8e, 0]],
  ["its deck without media", [0x1a, 0x03], [0x40, 0x1b, 0x1a]],
  ["its socket", [0x86, 0x10, 0x00], [0x4f, 0x82, 0x10, 0x00]],
  ["something unknown", [0xa5], [0x40, 0x00, 0xa5, 0]],
])("the television that asks for %s is answered", async (_, question, answer) => {
  const home = follow();
  await home.hear([tv, question[0] === 0x86 ? everyone : deck, ...question]);
  expect(home.sent).toEqual([answer]);
});

test("only the device that is shown says so when all are asked, and an unknown message for all is not refused", async () => {
  const home = follow();
  await home.hear([tv, everyone, 0x85], [tv, everyone, 0xa5], [tv, everyone, 0x86, 0x20, 0x00], [tv, deck]);
  expect(home.sent).toEqual([]);
  home.start();
  await home.hear([tv, everyone, 0x85]);
  expect(home.sent.at(-1)).toEqual([0x4f, 0x82, 0x10, 0x00]);
  // The user has chosen another socket, and then this one again.
  await home.hear([tv, everyone, 0x80, 0x10, 0x00, 0x20, 0x00], [tv, everyone, 0x85]);
  expect(home.sent).toHaveLength(3);
  await home.hear([tv, everyone, 0x80, 0x20, 0x00, 0x10, 0x00]);
  expect(home.sent).toHaveLength(4);
});

test("without a television nothing is claimed, and its end closes the line", () => {
  const home = follow();
  home.television.isConnected = false;
  home.start();
  expect(home.sent).toEqual([[0xf0, 0x04]]);
  home.close();
  home.start();
  expect([home.sent.length, home.isClosed()]).toEqual([1, true]);
});

test("a machine without an adapter opens nothing", () => {
  const options = { bus: createBus(silentLog), clock: createManualClock(), log: silentLog };
  const following = followTelevision({
    ...options,
    open: () => {
      throw new Error("it was opened");
    },
    settings: () => ({ wake: true, standbyMinutes: 0 }),
    playing: () => undefined,
    control: async () => {},
  });
  following[Symbol.dispose]();
});
