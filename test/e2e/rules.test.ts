/** The rules around a tap as people meet them, through the compiled program: hold mode, the guard, hooks, limits, playlists. */
import { expect, test } from "bun:test";
import { emulatedPn532, ntag213, unlessHeldUp } from "../helpers/emulated.ts";
import { eventually } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const players = `${sleeper(".sfc")}
[[launchers]]
id = "short"
extensions = [".mp3"]
command = ["/bin/sh", "-c", "exec sleep 0.2", "{path}"]
`;

test("hold mode: taking the card off a reader ends its game; settings over the API count at once", () =>
  unlessHeldUp(async () => {
    await using place = await makePlace(`${readerConfig("simulated:")}insert_mode = true\n${players}`);
    await place.file("SNES/Game.sfc");
    await using service = await startTapdeck(place);
    const { client, heard } = service;
    await firstReader(service);
    const [reader] = (await client.call("readers")).readers;
    const readerId = reader?.readerId ?? "";
    const card = { uid: "04aaaaaaaaaa80", text: "SNES/Game.sfc", readerId };
    await client.call("tokens.scan", { ...card, duration: 600_000 });
    await heard.next("media.started");
    // Scans the same card for a moment: the reader keeps it, and then the card is gone.
    await client.call("tokens.scan", { ...card, duration: 1 });
    await heard.next("tokens.removed");
    expect(await heard.next("media.stopped")).toMatchObject({ mediaName: "Game", exitCode: null });

    // From now on the system SNES is exempt from hold mode.
    await client.call("settings.update", { insertModeBlocklist: ["SNES"] });
    await client.call("tokens.scan", { ...card, duration: 600_000 });
    await heard.next("media.started");
    await client.call("tokens.scan", { ...card, duration: 1 });
    await heard.next("tokens.removed");
    expect(await client.call("media.active")).toMatchObject({ mediaName: "Game" });
    expect(heard.names().filter((name) => name === "media.stopped")).toHaveLength(1);
  }));

test("hold mode: a card that is back within the delay goes on without a new launch, on the API's own reader too", async () => {
  await using place = await makePlace(
    `${noReaders}insert_mode = true\ninsert_mode_exit_delay = 600\n${players}`,
  );
  await place.file("SNES/Game.sfc");
  await place.file("SNES/Other.sfc");
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const card = { text: "SNES/Game.sfc", uid: "04aa" };
  await client.call("tokens.scan", { ...card, duration: 50 });
  await heard.next("media.started");
  await heard.next("tokens.removed");
  await client.call("tokens.scan", { ...card, duration: 60_000 });
  await heard.next("tokens.added");
  expect(heard.names().filter((name) => name === "running")).toHaveLength(1);

  // Another card replaces the player at once, and no card stops a player that no card started.
  await client.call("settings.update", { insertModeExitDelay: 0 });
  await client.call("launch", "SNES/Other.sfc");
  await heard.next("media.started", ({ mediaName }) => mediaName === "Other");
  await client.call("tokens.scan", { text: "**echo:nothing", duration: 50 });
  await heard.next("tokens.removed", ({ text }) => text === "**echo:nothing");
  expect(await client.call("media.active")).toMatchObject({ mediaName: "Other" });
});

test("hold mode: taking the card off pauses mpv, putting it back goes on, and a program that cannot pause ends", async () => {
  const mode = `insert_mode = true\ninsert_mode_action = "pause"\n`;
  await using place = await makePlace(`${noReaders}${mode}${players}`);
  await Bun.write(await place.file("Audio/Song.wav"), makeSound(600));
  await place.file("SNES/Game.sfc");
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const card = { text: "Audio/Song.wav", uid: "04aa" };
  await client.call("tokens.scan", { ...card, duration: 50 });
  expect(await heard.next("media.paused")).toMatchObject({ mediaName: "Song" });
  await client.call("tokens.scan", { ...card, duration: 60_000 });
  expect(await heard.next("media.resumed")).toMatchObject({ mediaName: "Song" });
  await eventually(async () =>
    expect(await client.call("media.active")).toMatchObject({ playbackState: "playing" }),
  );
  const names = heard.names().filter((name) => name === "running" || name === "media.stopped");
  expect(names).toEqual(["running"]);
  await client.call("tokens.scan", { text: "SNES/Game.sfc", uid: "04bb", duration: 50 });
  await heard.next("media.stopped", ({ mediaName }) => mediaName === "Song");
  await heard.next("media.stopped", ({ mediaName }) => mediaName === "Game");
});

test("hold mode: a reader that is pulled out stops nothing; back with its card nothing either, back without it does", async () => {
  await using device = emulatedPn532("none");
  await using place = await makePlace(`${readerConfig(device)}insert_mode = true\n${players}`);
  await place.file("SNES/Game.sfc");
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  await firstReader(service);
  heard.forget();
  const card = ntag213("04112233445566", "SNES/Game.sfc");
  device.put(card);
  await heard.next("media.started");
  for (const isTakenMeanwhile of [false, true]) {
    await device.unplug();
    await heard.next("readers.removed");
    if (isTakenMeanwhile) device.take(card);
    expect(await client.call("media.active")).toMatchObject({ mediaName: "Game" });
    device.plug();
    await heard.next("readers.added");
  }
  await heard.next("media.stopped");
  const heardOf = (wanted: string) => heard.names().filter((name) => name === wanted).length;
  expect([heardOf("running"), heardOf("media.started"), heardOf("media.stopped")]).toEqual([1, 1, 1]);
});

test("the guard asks for the same card once more, and confirm over the API does as well", async () => {
  await using place = await makePlace(`${noReaders}[launch]\nguard = true\n${players}`);
  for (const name of ["A", "B", "C"]) await place.file(`SNES/${name}.sfc`);
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const tap = async (name: string) => {
    await client.call("tokens.scan", { text: `SNES/${name}.sfc`, duration: 20 });
    return heard.next("launch.finished");
  };
  expect(await tap("A")).toMatchObject({ success: true });
  expect(await tap("B")).toMatchObject({
    success: false,
    error: "A plays: put the same card on once more within 10 seconds to switch",
  });
  expect(await heard.next("launch.guarded")).toMatchObject({ text: "SNES/B.sfc", playing: "A" });
  expect(await tap("B")).toMatchObject({ success: true });
  await tap("C");
  await client.call("confirm");
  await heard.next("media.started", ({ mediaName }) => mediaName === "C");
  await expect(client.call("confirm")).rejects.toThrow("nothing waits to be confirmed");
});

test("play time that is used up is refused with a sentence, after a restart too", async () => {
  const limits = `${noReaders}[playtime]\ndaily_minutes = 1\n${players}`;
  await using place = await makePlace(limits);
  await place.file("SNES/Game.sfc");
  const used = 59_000;
  {
    await using service = await startTapdeck(place);
    expect(await service.client.call("playtime")).toMatchObject({
      enabled: true,
      day: { remainingMs: 60_000 },
    });
    await service.client.call("launch", "SNES/Game.sfc");
    await service.heard.next("media.started");
    // Less than a minute is left, and the warning comes at once.
    expect(await service.heard.next("playtime.warning")).toEqual({ limit: "day", minutesLeft: 1 });
    await eventually(async () =>
      expect((await service.client.call("playtime")).day.usedMs).toBeGreaterThan(0),
    );
    await service.stop();
  }
  const { Database } = await import("bun:sqlite");
  {
    using database = new Database(`${place.folder}/tapdeck.db`);
    expect(database.query("SELECT used_ms FROM play_days").all()).toHaveLength(1);
    database.run(`UPDATE play_days SET used_ms = ${used}`);
  }
  await using service = await startTapdeck(place);
  await service.client.call("launch", "SNES/Game.sfc");
  await service.heard.next("media.started");
  expect(await service.heard.next("playtime.warning", ({ minutesLeft }) => minutesLeft === 0)).toEqual({
    limit: "day",
    minutesLeft: 0,
  });
  await service.heard.next("media.stopped");
  await service.heard.next("launch.finished");
  await service.client.call("launch", "SNES/Game.sfc");
  expect(await service.heard.next("launch.finished")).toMatchObject({
    success: false,
    error: "today's play time of 1 minute is used up: there is more tomorrow",
  });
  await service.client.call("playtime.limits.update", { dailyMinutes: 0 });
  await service.client.call("launch", "SNES/Game.sfc");
  expect(await service.heard.next("launch.finished")).toMatchObject({ success: true });
});

test("a card plays a folder, item after item, in hold mode until it is taken off", async () => {
  await using place = await makePlace(`${noReaders}insert_mode = true\n${players}`);
  for (const name of ["1", "2"]) await place.file(`Audio/Album/${name}.mp3`);
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const text = "**playlist.play:Audio/Album?repeat=all";
  await client.call("tokens.scan", { text, duration: 600_000 });
  for (const name of ["1", "2", "1"])
    expect(await heard.next("media.started")).toMatchObject({ mediaName: name });
  expect((await client.call("media")).playlists).toMatchObject([
    { count: 2, state: "playing", repeat: "all" },
  ]);
  // A card in its place takes it off.
  await client.call("tokens.scan", { text: "**echo:off", duration: 20 });
  await heard.next("tokens.removed", (token) => token.text === text);
  await eventually(async () => {
    const { active, playlists } = await client.call("media");
    expect({ active, playlists }).toEqual({ active: [], playlists: [] });
  });
});

test("hooks run around a card, and end with the service", async () => {
  await using place = await makePlace(`${noReaders}[hooks]
on_scan = "**echo:scan [[last_scanned.id]]"
before_start = "**echo:before [[launching.system_id]]"
on_stop = "SNES/Menu.sfc"
${players}`);
  await place.file("SNES/Game.sfc");
  await place.file("SNES/Menu.sfc");
  const service = await startTapdeck(place);
  try {
    await service.client.call("tokens.scan", { uid: "04 AA", text: "SNES/Game.sfc", duration: 20 });
    await service.heard.next("media.started", ({ mediaName }) => mediaName === "Game");
    await service.client.call("stop");
    await service.heard.next("media.started", ({ mediaName }) => mediaName === "Menu");
    await eventually(() => expect(service.log()).toMatch(/script: scan 04aa[\s\S]*script: before SNES/));
  } finally {
    service.client.close();
    expect(await service.stop()).toBe(0);
  }
});
