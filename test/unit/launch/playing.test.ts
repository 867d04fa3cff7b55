import { afterEach, expect, test } from "bun:test";
import { createBus } from "../../../src/bus.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { createPlaying } from "../../../src/launch/playing.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function newPlaying() {
  const playing = createPlaying({
    bus: createBus(silentLog),
    log: silentLog,
    clock: systemClock,
    elapsedMs: () => performance.now(),
    volumeMax: () => 100,
    volumeStart: () => 100,
    view: () => ({ rotation: 0, overscan: 0 }),
    latenessMs: () => 0,
    onStarted() {},
    onEnded() {},
  });
  closing.push(() => playing.stop());
  return playing;
}

const owner = {
  card: undefined,
  origin: "trusted",
  isHook: false,
  signal: new AbortController().signal,
} as const;
const system = { id: "PSX", name: "PlayStation", category: "Console" };

test("a disc of a game that ends while the disc is to be changed is in no drive, and its card starts the game anew", async () => {
  const playing = newPlaying();
  const paths = ["/m/PSX/Quest (Disc 1).chd", "/m/PSX/Quest (Disc 2).chd"];
  const [first = "", second = ""] = paths;
  playing.start(
    { path: first, system },
    {
      launcherId: "retroarch",
      kind: "retroarch",
      // A RetroArch that still loads its core reads no commands.
      argv: ["/bin/sh", "-c", "exec sleep 600"],
      optionsAt: 3,
      discs: { content: first, paths, inserted: 0 },
    },
    owner,
  );
  const inserting = playing.insertDisc(second);
  await playing.stop();
  expect(await inserting).toBe(false);
});
