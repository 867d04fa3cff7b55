/** The compiled binary against launches of its own files, and against commands that only a card on a reader may give. */
import { expect, test } from "bun:test";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { emulatedPn532, ntag213, unlessHeldUp } from "../helpers/emulated.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const everywhere = `
[systems]
root_folders = ["/"]
${sleeper()}
[[launchers]]
id = "shell"
systems = ["Scripts"]
command = ["/bin/sh", "{path}"]
`;

test("no launch starts a file of the service, however its path is spelled and whatever else it names", async () => {
  await using place = await makePlace(`${noReaders}${everywhere}`);
  const game = await place.file("SNES/Game.sfc");
  const { folder } = place;
  await place.file("SNES/list.m3u", `${folder}/config.toml\n`);
  await symlink(join(folder, "config.toml"), join(folder, "media/SNES/Link.sfc"));
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const ending = async (text: string) => {
    heard.forget();
    await client.call("launch", { text });
    const { success, error = "" } = await heard.next("launch.finished");
    return { text, success, error };
  };
  const config = join(folder, "config.toml");
  for (const text of [
    ...[config, `${config}?launcher=shell`, `${config}?launcher=sleeper`, `${config}?system=Scripts`],
    ...[`${config}?system=Scripts&launcher=shell`, join(folder, "tapdeck.db"), join(folder, "tapdeck.sock")],
    ...[`${folder}/media/../config.toml`, `/proc/self/root${config}`, `/proc/${service.pid}/root${config}`],
    ...[
      `/proc/self/cwd/${"../".repeat(20)}${config.slice(1)}`,
      `${folder}/media/SNES/Link.sfc`,
      "/proc/self/environ",
    ],
    ...[config.slice(1), config.slice(1).toUpperCase(), `**playlist.play:${folder}`],
  ]) {
    const { success, error } = await ending(text);
    expect([text, success, error]).toEqual([
      text,
      false,
      "this file lies in a folder of Tapdeck itself or of the kernel, from which nothing is played",
    ]);
  }
  const list = await ending(`**playlist.play:${folder}/media/SNES/list.m3u`);
  expect(list).toMatchObject({
    success: false,
    error: expect.stringContaining("this file lies in a folder of Tapdeck"),
  });
  const shell = await ending(`${game}?system=Scripts&launcher=shell`);
  expect(shell.error).toBe(
    "the launcher shell does not take .sfc in Scripts: it takes the usual files in Scripts",
  );
  expect((await ending(`${game}?system=$(id)`)).error).toBe("there is no system $(id)");
  expect(heard.names()).not.toContain("media.started");
  await client.call("launch", { text: game });
  expect(await heard.next("media.started")).toMatchObject({ mediaPath: game, launcherId: "sleeper" });
});

test("a phone is paired by a card on a reader, and by nothing that comes over the API", () =>
  unlessHeldUp(async () => {
    await using device = emulatedPn532("real");
    await using place = await makePlace(readerConfig(device, "simulated:"));
    await using service = await startTapdeck(place);
    const { client, heard } = service;
    await firstReader(service);
    const simulated = async () =>
      (await client.call("readers")).readers.find(({ driver }) => driver === "simulated");
    while ((await simulated())?.connected !== true) await heard.next("readers.added");
    const refusal = "**pair works from a card on a reader of this device only: tap one there";
    for (const text of ["**pair", "**echo:a||**pair", "**delay:1||**PAIR"]) {
      await expect(client.call("launch", { text })).rejects.toThrow("a card on a reader of this device only");
      await expect(client.call("run", { text })).rejects.toThrow("a card on a reader of this device only");
    }
    const readerId = (await simulated())?.readerId ?? "";
    for (const reader of [{}, { readerId }]) {
      await client.call("tokens.scan", { text: "**pair", ...reader });
      expect(await heard.next("launch.finished")).toMatchObject({ success: false, error: refusal });
    }
    await client.call("mappings.new", {
      label: "pair",
      type: "uid",
      match: "exact",
      pattern: "04aabb",
      override: "**pair",
      enabled: true,
    });
    await expect(client.call("launch", { uid: "04aabb" })).rejects.toThrow(
      "a card on a reader of this device only",
    );
    await client.call("tokens.scan", { uid: "04aabb" });
    expect(await heard.next("launch.finished")).toMatchObject({ success: false, error: refusal });
    heard.forget();
    // A card on a reader may give the command; it fails only because this service has no screen.
    device.put(ntag213("04a1b2c3d4e5f6", "**pair"));
    expect(await heard.next("launch.finished")).toMatchObject({
      success: false,
      error: expect.stringContaining("there is no screen to show a code on"),
    });
  }));

test("keys are pressed only if the owner's file says so, for cards as well", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  await expect(client.call("input.keyboard", { keys: "a" })).rejects.toThrow("script.allow_input = true");
  await expect(client.call("input.gamepad", { buttons: "A" })).rejects.toThrow("script.allow_input = true");
  for (const text of ["**input.keyboard:a", "**input.gamepad:A", "**input.key:f12", "**coinp1"]) {
    await client.call("tokens.scan", { text });
    expect(await heard.next("launch.finished")).toMatchObject({
      success: false,
      error: expect.stringContaining("script.allow_input = true"),
    });
  }
});
