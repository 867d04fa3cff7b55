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

const paths = ["/m/PSX/Quest (Disc 1).chd", "/m/PSX/Quest (Disc 2).chd"] as const;

/** Starts a game of two discs, whose player is a program of this test. */
function startGame(playing: ReturnType<typeof newPlaying>, script: string) {
  const [first] = paths;
  playing.start(
    { path: first, system },
    {
      launcherId: "retroarch",
      kind: "retroarch",
      argv: ["/bin/sh", "-c", script],
      optionsAt: 3,
      discs: { content: first, paths, inserted: 0 },
    },
    owner,
  );
}

test("no disc is inserted into a game that ended after the card of the disc was read", async () => {
  const playing = newPlaying();
  // A RetroArch that still loads its core reads no commands.
  startGame(playing, "exec sleep 600");
  const inserting = playing.insertDisc(paths[1], owner);
  await playing.stop();
  expect(await inserting).toBe(false);
});

test("a game belongs to the card of the disc that was inserted last, but not after a failure", async () => {
  const playing = newPlaying();
  const answers = `while read -r line; do case $line in
    *ask*) echo "$line unsupported";;
    GET_STATUS) echo "GET_STATUS PLAYING psx,Quest,crc32=0";;
    QUIT) exit;;
  esac; done`;
  startGame(playing, answers);
  expect(await playing.insertDisc(paths[1], { ...owner, card: "two" })).toBe(true);
  expect(playing.owner()?.card).toBe("two");
  expect(await playing.insertDisc(paths[0], owner)).toBe(true);
  expect(playing.owner()?.card).toBe("two");
  await playing.stop();
  startGame(playing, "exec sleep 600");
  await expect(playing.insertDisc(paths[1], { ...owner, card: "two" })).rejects.toThrow(
    "RetroArch does not answer",
  );
  expect(playing.owner()?.card).toBeUndefined();
});
