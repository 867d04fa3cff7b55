import { expect, test } from "bun:test";
import { makeDeck } from "../../../helpers/launch-harness.ts";
import { eventually } from "../../../helpers/processes.ts";

const echoes = (lines: readonly string[]) =>
  lines.filter((line) => line.includes("script: ")).map((line) => line.replace(/^.*script: /, ""));
const token = { type: "NTAG", uid: "04:AB", text: "the text", data: "", scanTime: "", readerId: "r" };

test("a card that comes and goes runs its hooks, which know it", async () => {
  await using deck = await makeDeck({
    config: {
      hooks: {
        onScan: "**echo:came [[last_scanned.id]] [[last_scanned.value]]",
        onRemove: "**echo:went [[last_scanned.id]]",
      },
    },
  });
  deck.bus.emit("tokens.added", token);
  await eventually(() => expect(echoes(deck.lines)).toHaveLength(1));
  deck.bus.emit("tokens.removed", token);
  await eventually(() => expect(echoes(deck.lines)).toHaveLength(2));
  expect(echoes(deck.lines)).toEqual(["came 04ab the text", "went 04ab"]);
});

test("before_start runs before the player, knows what is to be started, and on_start and on_stop know what was", async () => {
  await using deck = await makeDeck({
    config: {
      hooks: {
        beforeStart: "**echo:before [[launching.system_id]] [[launching.launcher_id]] [[media_playing]]",
        onStart: "**echo:start [[active_media.name]] [[media_playing]]",
        onStop: "**echo:stop [[active_media.name]] [[media_playing]]",
      },
    },
  });
  await deck.files("SNES/a.sleep");
  deck.bus.on("media.started", () => deck.lines.push("script: (started)"));
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  await eventually(() => expect(echoes(deck.lines)).toHaveLength(3));
  deck.launchQueue.stop();
  await eventually(() => expect(echoes(deck.lines)).toHaveLength(4));
  expect(echoes(deck.lines)).toEqual([
    "before SNES sleep false",
    "(started)",
    "start a true",
    "stop a false",
  ]);
});

test("if before_start fails nothing is started, what plays goes on, and the launch says why", async () => {
  await using deck = await makeDeck();
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  await deck.tapAndWait("SNES/a.sleep");
  deck.set({ hooks: { beforeStart: "**execute:/bin/false" } });
  expect(await deck.tapAndWait("SNES/b.sleep")).toMatch(
    /^the hook before_start did not let it start: cards may not run/,
  );
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
  deck.set({ hooks: { beforeStart: "**echoo" } });
  expect(await deck.tapAndWait("SNES/b.sleep")).toMatch(/knows no command/);
});

test("a hook that fails hurts nothing and is logged", async () => {
  await using deck = await makeDeck({ config: { hooks: { onScan: "**nonsense", onStart: "missing.sfc" } } });
  await deck.files("SNES/a.sleep");
  deck.bus.emit("tokens.added", token);
  expect(await deck.tapAndWait("SNES/a.sleep")).toBe(true);
  await eventually(() => expect(deck.lines).toHaveLength(2));
  expect(deck.lines.toSorted().map((line) => line.slice(0, 50))).toEqual([
    expect.stringContaining("the hook on_scan failed"),
    expect.stringContaining("the hook on_start failed"),
  ]);
  expect(deck.launchQueue.activeMedia()?.mediaName).toBe("a");
});

test("a start by a hook calls no hooks, neither at its start nor at its end: a menu after each game comes once", async () => {
  await using deck = await makeDeck({
    config: {
      // The echo comes first, so it is in the log before `media.stopped` arrives here. This would also be true of a hook
      // that must not run.
      hooks: { beforeStart: "**echo:before", onStart: "**echo:start", onStop: "**echo:stop||SNES/menu.true" },
    },
  });
  await deck.files("SNES/game.true", "SNES/menu.true");
  await deck.tapAndWait("SNES/game.true");
  await eventually(() => expect(deck.count("media.stopped")).toBe(2));
  expect(deck.started()).toEqual(["game", "menu"]);
  expect(echoes(deck.lines).toSorted()).toEqual(["before", "start", "stop"]);
});

test("a stop ends the hooks that run, and one that holds a start back is no start", async () => {
  await using deck = await makeDeck({ config: { hooks: { beforeStart: "**delay:5m" } } });
  await deck.files("SNES/a.sleep");
  deck.tap("SNES/a.sleep");
  await eventually(() => expect(deck.count("running")).toBe(1));
  deck.launchQueue.stop();
  await eventually(() => expect(deck.ends()).toHaveLength(1));
  expect(deck.ends()).toEqual(["it was stopped"]);
  expect(deck.started()).toEqual([]);
});

test("a hook and a card that start at one moment leave one player", async () => {
  await using deck = await makeDeck({ config: { hooks: { onScan: "SNES/a.sleep" } } });
  await deck.files("SNES/a.sleep", "SNES/b.sleep");
  let playing = 0;
  let most = 0;
  deck.bus.on("media.started", () => {
    most = Math.max(most, ++playing);
  });
  deck.bus.on("media.stopped", () => {
    playing--;
  });
  for (let tap = 0; tap < 5; tap++) {
    deck.bus.emit("tokens.added", token);
    deck.tap("SNES/b.sleep");
  }
  await eventually(() => {
    expect(deck.ends()).toHaveLength(5);
    expect(deck.started()).toHaveLength(10);
  });
  expect(most).toBe(1);
});

test("cards at the edge of the field do not pile hooks up", async () => {
  await using deck = await makeDeck({ config: { hooks: { onScan: "**delay:5m" } } });
  for (let tap = 0; tap < 20; tap++) deck.bus.emit("tokens.added", token);
  expect(deck.lines.filter((line) => line.includes("16 hooks run already"))).toHaveLength(4);
});

test("a hook shows how a phone is let in only for a card on a reader of the device", async () => {
  let pairings = 0;
  await using deck = await makeDeck({
    config: { hooks: { onScan: "**pair" } },
    devices: {
      input: async () => {},
      writeTag: async () => {},
      async pair() {
        pairings += 1;
      },
    },
  });
  const refusals = () => deck.lines.filter((line) => line.includes("**pair works from a card"));
  for (const [readerId, driver] of [
    ["chip", "pn532-uart"],
    ["pretended", "simulated"],
  ] as const) {
    const facts = { id: "", path: "", info: "", connected: true, capabilities: ["read"] } as const;
    deck.bus.emit("readers.added", { readerId, driver, ...facts });
  }
  for (const readerId of ["", "pretended"]) deck.bus.emit("tokens.added", { ...token, readerId });
  await eventually(() => expect(refusals()).toHaveLength(2));
  expect(pairings).toBe(0);
  deck.bus.emit("tokens.added", { ...token, readerId: "chip" });
  await eventually(() => expect(pairings).toBe(1));

  // Before a start, the card whose script starts the media is used.
  await deck.files("SNES/a.sleep");
  deck.set({ hooks: { beforeStart: "**pair" } });
  expect(await deck.tapAndWait("SNES/a.sleep")).toMatch(/did not let it start: \*\*pair works from a card/);
  deck.launchQueue.launch(deck.token("SNES/a.sleep"), { isTap: true, isFromReader: true });
  await eventually(() => expect(deck.count("media.started")).toBe(1));
  expect(pairings).toBe(2);
  // If a caller requests an item of a card's playlist, the start counts as the caller's.
  deck.set({ hooks: {} });
  await deck.files("A/1.sleep", "A/2.sleep");
  deck.launchQueue.launch(deck.token("**playlist.play:A"), { isTap: true, isFromReader: true });
  await eventually(() => expect(deck.count("media.started")).toBe(2));
  deck.set({ hooks: { beforeStart: "**pair" } });
  await expect(deck.launchQueue.control({ kind: "next" })).rejects.toThrow("**pair works from a card");
  expect(pairings).toBe(2);
});
