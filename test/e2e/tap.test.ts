/** The main task, end to end, on the compiled binary: a card is tapped, a player starts, and all clients get the events. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { makeLibrary } from "../../tools/demo-library.ts";
import { childrenOf } from "../bench/memory.ts";
import { emulatedPn532, ntag213, unlessHeldUp } from "../helpers/emulated.ts";
import { eventually } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  program,
  readerConfig,
  sleeper,
  startTapdeck,
  stubborn,
} from "../helpers/tapdeck.ts";

const uid = "04a1b2c3d4e5f6";
/** Matches the command lines of `sleeper` and `stubborn` in the kernel. */
const sleeping = /sleep[ \0]600/;

test("a tap on an emulated reader plays a real file in mpv, and everybody hears of it in order", () =>
  unlessHeldUp(async () => {
    await using device = emulatedPn532("real");
    await using place = await makePlace(`${readerConfig(device)}
[[launchers]]
id = "mpv-silent"
extensions = [".wav"]
kind = "mpv"
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--", "{path}"]
`);
    await makeLibrary(`${place.folder}/media`);
    await using first = await startTapdeck(place);
    const { heard } = first;
    await firstReader(first);
    const { readers } = await first.client.call("readers");

    const card = ntag213(uid, "Audio/Doorbell.wav");
    device.put(card);
    const started = await heard.next("media.started");
    const cmdline = await argvOf(await playerOf(first.pid, /^mpv\0/));
    device.take(card);
    const stopped = await heard.next("media.stopped");
    await heard.next("tokens.removed");
    await heard.next("launch.finished");

    expect(started).toMatchObject({ systemId: "Audio", mediaName: "Doorbell", launcherId: "mpv-silent" });
    expect(cmdline.at(-1)).toBe(`${place.folder}/media/Audio/Doorbell.wav`);
    expect(stopped).toMatchObject({ mediaName: "Doorbell", exitCode: 0 });
    const names = heard.names().filter((name) => name !== "readers.added" && name !== "media.indexing");
    expect(names.slice(0, 3)).toEqual(["tokens.added", "running", "media.started"]);
    // A launch is finished when its player has shown that it plays; the card does not wait for that.
    expect(names.slice(3).toSorted()).toEqual(["launch.finished", "media.stopped", "tokens.removed"]);
    expect(heard.all.find(({ method }) => method === "tokens.added")?.params).toMatchObject({
      type: "NTAG",
      uid,
      text: "Audio/Doorbell.wav",
      readerId: readers[0]?.readerId ?? "",
    });

    first.client.close();
    expect(await first.stop()).toBe(0);
    await using second = await startTapdeck(place);
    const { entries } = await second.client.call("tokens.history");
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ text: "Audio/Doorbell.wav", uid, success: true });
  }));

test("a tag without a text launches nothing, and says why", async () => {
  await using device = emulatedPn532("none");
  await using place = await makePlace(readerConfig(device));
  await using service = await startTapdeck(place);
  const { heard } = service;
  device.put(ntag213(uid));
  expect(await heard.next("tokens.added")).toMatchObject({ type: "NTAG", text: "", problem: "blank" });
  expect(await heard.next("launch.finished")).toMatchObject({
    success: false,
    error: "the tag is blank: there is no text on it yet, and no mapping for it",
  });
});

test("tapdeck tap taps the simulated reader, whose bytes run through the real driver", async () => {
  await using place = await makePlace(readerConfig("simulated:") + sleeper());
  await place.file("SNES/Game.sfc");
  await using service = await startTapdeck(place);
  await firstReader(service);

  const tap = Bun.spawnSync([program, "tap", "SNES/Game.sfc", `--data=${place.folder}`]);
  expect(tap.stdout.toString()).toBe("started Game (sleeper)\n");
  expect(tap.exitCode).toBe(0);
  const token = await service.heard.next("tokens.added");
  expect(token).toMatchObject({ type: "NTAG", text: "SNES/Game.sfc" });
  expect(token.data).not.toBe("");
  expect(await service.client.call("media.active")).toMatchObject({
    systemId: "SNES",
    launcherId: "sleeper",
  });

  const missing = Bun.spawnSync([program, "tap", "SNES/Other.sfc", `--data=${place.folder}`]);
  expect(missing.stderr.toString()).toBe(
    "tapdeck: there is no file SNES/Other.sfc below the media folders\n",
  );
  expect(missing.exitCode).toBe(1);
});

test("a second card takes over: the old player is gone before the new one starts", async () => {
  await using place = await makePlace(noReaders + sleeper());
  await place.file("SNES/One.sfc");
  await place.file("SNES/Two.sfc");
  await using service = await startTapdeck(place);
  await service.client.call("launch", "SNES/One.sfc");
  await service.heard.next("media.started");
  const player = await playerOf(service.pid, sleeping);
  await service.client.call("launch", "SNES/Two.sfc");
  const second = await service.heard.next("media.started");
  expect(second.mediaName).toBe("Two");
  expect(await Bun.file(`/proc/${player}/cmdline`).exists()).toBe(false);
  const media = service.heard
    .names()
    .filter((name) => name.startsWith("media.") && name !== "media.indexing");
  expect(media).toEqual(["media.started", "media.stopped", "media.started"]);
});

test("TERM stops player, readers, connections and database in order, with exit code 0", async () => {
  await using place = await makePlace(readerConfig("simulated:") + stubborn);
  await place.file("SNES/One.sfc");
  const service = await startTapdeck(place);
  await service.client.call("launch", "SNES/One.sfc");
  await service.heard.next("media.started");
  const player = await playerOf(service.pid, sleeping);
  expect(await service.stop()).toBe(0);
  expect(await Bun.file(`/proc/${player}/cmdline`).exists()).toBe(false);
  expect(service.heard.names()).toContain("media.stopped");
});

/**
 * The child process of the service whose command line matches, as soon as it exists. Processes of the media index come
 * and go beside it.
 */
async function playerOf(pid: number, command: RegExp): Promise<number> {
  let player: number | undefined;
  await eventually(async () => {
    const children = childrenOf(pid);
    const cmdlines = await Promise.all(
      children.map((child) => readFile(`/proc/${child}/cmdline`, "latin1").catch(() => "")),
    );
    player = children[cmdlines.findIndex((cmdline) => command.test(cmdline))];
    expect(player, cmdlines.join("\n")).toBeDefined();
  });
  return player ?? 0;
}

/** The arguments of a process, which has none directly after its start. */
async function argvOf(pid: number): Promise<readonly string[]> {
  let text = "";
  await eventually(async () => {
    text = await Bun.file(`/proc/${pid}/cmdline`).text();
    expect(text).not.toBe("");
  });
  return text.split("\0").slice(0, -1);
}
