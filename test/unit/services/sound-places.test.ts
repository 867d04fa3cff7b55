import { expect, test } from "bun:test";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import type { SoundPlace } from "../../../src/core/playback.ts";
import { followSoundPlaces } from "../../../src/services/sound-places.ts";
import { run } from "../../../tools/image/run.ts";
import { eventually } from "../../helpers/processes.ts";

async function makeMachine(report?: string) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-places-"));
  await run(["mkfifo", join(folder, "requests")]);
  const pipe = openSync(join(folder, "requests"), constants.O_RDWR);
  const say = async (line: string) => {
    await writeFile(join(folder, ".sound"), `${line}\n`);
    await rename(join(folder, ".sound"), join(folder, "sound"));
  };
  if (report !== undefined) await say(report);
  const asked = Bun.spawn(["cat", join(folder, "requests")], { stdout: "pipe" });
  const lines: string[] = [];
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of asked.stdout) lines.push(...decoder.decode(chunk).split("\n").filter(Boolean));
  })();
  return {
    folder,
    pipe,
    say,
    lines,
    async [Symbol.asyncDispose]() {
      asked.kill();
      await reading;
      closeSync(pipe);
      await rm(folder, { recursive: true });
    },
  };
}

function follow({ folder, pipe }: { readonly folder: string; readonly pipe: number }) {
  let wish: SoundPlace | "auto" = "auto";
  let moves = 0;
  const places = followSoundPlaces({
    folder,
    pipe,
    wanted: () => wish,
    log: silentLog,
    onMoved: () => moves++,
  });
  return {
    places,
    moves: () => moves,
    want(next: SoundPlace | "auto") {
      wish = next;
      places.configure();
    },
  };
}

test("the place of sound is the one that root reports, and a move calls back once", async () => {
  await using machine = await makeMachine("wanted=auto plays=television there=jack television");
  const { places, moves } = follow(machine);
  using _places = places;
  expect(places.report()).toEqual({ plays: "television", there: ["television", "jack"] });
  await machine.say("wanted=auto plays=television there=jack television usb");
  await eventually(() => expect(places.report().there).toEqual(["television", "usb", "jack"]));
  expect(moves()).toBe(0);
  await machine.say("wanted=auto plays=usb there=jack television usb");
  await eventually(() => expect([places.plays(), moves()]).toEqual(["usb", 1]));
  await machine.say("wanted=auto plays=bluetooth there=bluetooth jack television usb");
  await eventually(() => expect([places.plays(), moves()]).toEqual(["bluetooth", 2]));
  await machine.say("wanted=auto plays= there=");
  await eventually(() => expect([places.report(), moves()]).toEqual([{ there: [] }, 3]));
});

test("root gets the owner's wish when it changes, and at a start of the service if root knows another one", async () => {
  await using machine = await makeMachine("wanted=usb plays=television there=television");
  {
    const { places, want } = follow(machine);
    using _places = places;
    await eventually(() => expect(machine.lines).toEqual(["sound auto"]));
    want("usb");
    want("usb");
    want("jack");
    await eventually(() => expect(machine.lines).toEqual(["sound auto", "sound usb", "sound jack"]));
  }
  await machine.say("wanted=auto plays=television there=television");
  using again = follow(machine).places;
  again.configure();
  expect(machine.lines).toHaveLength(3);
});

test("a device that is not the image has no places, and asks nobody", () => {
  const { places, want } = follow({ folder: "", pipe: -1 });
  using _places = places;
  want("usb");
  expect(places.report()).toEqual({ there: [] });
});
