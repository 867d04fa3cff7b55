/** Positions of sounds and films: which are kept, when they are written, and where a later start resumes. */
import { expect, test } from "bun:test";
import type { Progress } from "../../../../src/core/playback.ts";
import { createResuming, savedApartMs } from "../../../../src/launch/ports/resuming.ts";
import type { StoredPosition } from "../../../../src/store/positions.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const hourMs = 3_600_000;
const system = { id: "Video", name: "Video", category: "Media" };

/** A shelf of films, their positions, and the writes of these. */
function makeShelf(mode: "long" | "always" | "never" = "long") {
  const clock = createManualClock();
  const kept = new Map<string, StoredPosition>();
  const writes: (number | "forgotten")[] = [];
  let resume = mode;
  const { of } = createResuming({
    config: () => ({ ...defaultConfig, playback: { resume } }),
    clock,
    positions: {
      get: (path) => kept.get(path),
      save(path, position) {
        kept.set(path, position);
        writes.push(position.positionMs);
      },
      forget(path) {
        if (kept.delete(path)) writes.push("forgotten");
      },
    },
  });
  const choose = (asked?: boolean) =>
    of({ path: "/m/film", system }, { launcherId: "mpv", kind: "mpv", argv: ["mpv"], optionsAt: 1 }, asked)
      .choice.resumption;
  return {
    clock,
    kept,
    writes,
    of,
    set(mode: "long" | "always" | "never") {
      resume = mode;
    },
    startMs: (asked?: boolean) => choose(asked)?.startMs(),
    play(durationMs: number, asked?: boolean) {
      const exited = Promise.withResolvers<{ exitCode: number | null }>();
      let progress: Progress | undefined;
      choose(asked)?.follow({
        state: async () => ({}),
        progress: () => progress,
        process: { exited: exited.promise },
      });
      const goTo = (positionMs: number, isOver = false) => {
        progress = { positionMs, durationMs, isOver };
      };
      const next = async () => {
        clock.advance(savedApartMs);
        await Promise.resolve();
        await Promise.resolve();
      };
      return {
        goTo,
        next,
        async end(positionMs: number, isOver = false) {
          goTo(positionMs, isOver);
          exited.resolve({ exitCode: 0 });
          await exited.promise;
          await Promise.resolve();
        },
      };
    },
  };
}

test("an hour of a film is 720 writes, a paused hour none, and its end none", async () => {
  const shelf = makeShelf();
  const film = shelf.play(3 * hourMs);
  for (let second = 5; second <= 3600; second += 5) {
    film.goTo(second * 1000);
    await film.next();
  }
  expect(shelf.writes).toHaveLength(720);
  for (let second = 5; second <= 3600; second += 5) await film.next();
  await film.end(hourMs + 400);
  expect(shelf.writes).toHaveLength(720);
  await film.next();
  expect([shelf.writes.length, shelf.startMs()]).toEqual([720, hourMs]);
});

test("the position of a stop is written, also before the first five seconds", async () => {
  const shelf = makeShelf();
  await shelf.play(hourMs).end(3200);
  expect([shelf.writes, shelf.startMs()]).toEqual([[3200], 3200]);
});

test.each([
  ["long", undefined, 600_001, 60_000, "kept"],
  ["long", undefined, 600_000, 60_000, "not kept"],
  ["long", true, 600_000, 60_000, "kept"],
  ["always", undefined, 20_000, 5000, "kept"],
  ["never", undefined, hourMs, 60_000, "not kept"],
  ["never", true, hourMs, 60_000, "kept"],
  // 2 % of a short file, 30 s of a long one.
  ["always", undefined, 100_000, 97_999, "kept"],
  ["always", undefined, 100_000, 98_000, "not kept"],
  ["long", undefined, 10 * hourMs, 10 * hourMs - 30_001, "kept"],
  ["long", undefined, 10 * hourMs, 10 * hourMs - 30_000, "not kept"],
] as const)(
  "with %s, and %p on the card, of %i ms the position %i is %s",
  async (mode, asked, durationMs, positionMs, is) => {
    const shelf = makeShelf(mode);
    shelf.kept.set("/m/film", { positionMs: 2000, durationMs, item: "" });
    const film = shelf.play(durationMs, asked);
    await film.end(positionMs);
    expect(shelf.kept.get("/m/film")?.positionMs === positionMs).toBe(is === "kept");
  },
);

test("a film that was played to its end, or nearly, starts at its beginning again", async () => {
  const shelf = makeShelf();
  await shelf.play(hourMs).end(60_000);
  await shelf.play(hourMs).end(61_000, true);
  expect([shelf.writes, shelf.startMs()]).toEqual([[60_000, "forgotten"], undefined]);
  await shelf.play(hourMs).end(60_000);
  const film = shelf.play(hourMs);
  film.goTo(hourMs - 20_000);
  await film.next();
  expect([shelf.writes.at(-1), shelf.startMs()]).toEqual(["forgotten", undefined]);
});

test("the card decides on its start, and a start at the beginning replaces the position as it plays on", async () => {
  const shelf = makeShelf();
  await shelf.play(hourMs).end(1_800_000);
  expect([shelf.startMs(), shelf.startMs(true), shelf.startMs(false)]).toEqual([
    1_800_000,
    1_800_000,
    undefined,
  ]);
  shelf.set("never");
  expect([shelf.startMs(), shelf.startMs(true)]).toEqual([undefined, 1_800_000]);
  shelf.set("long");
  await shelf.play(hourMs, false).end(4000);
  expect(shelf.startMs()).toBe(4000);
});

test("a short file that a card continued does not continue without that card", async () => {
  const shelf = makeShelf();
  await shelf.play(60_000, true).end(30_000);
  expect([shelf.startMs(), shelf.startMs(true)]).toEqual([undefined, 30_000]);
});

test("a player without a position, and a name that is not UTF-8, have nothing to continue", async () => {
  const shelf = makeShelf("always");
  const order = { launcherId: "any", argv: ["any"], optionsAt: 1 } as const;
  const file = { path: "/m/film", system };
  expect(shelf.of(file, { ...order, kind: "process" }, undefined).choice.resumption).toBeUndefined();
  const odd = { ...file, bytes: new Uint8Array([255]) };
  expect(shelf.of(odd, { ...order, kind: "mpv" }, undefined).choice.resumption).toBeUndefined();
});
