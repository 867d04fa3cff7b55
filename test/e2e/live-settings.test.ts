/** Changes by the owner take effect without a restart: over the API, in the config file, and in mapping files. */
import { expect, test } from "bun:test";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { eventually } from "../helpers/processes.ts";
import { indexMedia, makePlace, noReaders, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

test("readers named over the API are opened, and let go, while the service runs", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  await service.client.call("settings.update", { reader: ["simulated:"] });
  const added = await service.heard.next("readers.added");
  expect(added).toMatchObject({ driver: "simulated", connected: true });
  await service.client.call("tokens.scan", { text: "**delay:1", readerId: added.readerId });
  await service.heard.next("launch.finished");
  await service.client.call("settings.update", { readers: [] });
  expect(await service.heard.next("readers.removed")).toMatchObject({ readerId: added.readerId });
  expect(await service.client.call("readers")).toEqual({ readers: [] });
  await expect(service.client.call("settings.update", { reader: ["nonsense"] })).rejects.toThrow(
    '"nonsense" is not a reader',
  );
});

test("a new root folder and the debug log count from the next tap on", async () => {
  await using place = await makePlace(noReaders + sleeper());
  await mkdir(`${place.folder}/media/drive/SNES`, { recursive: true });
  await writeFile(`${place.folder}/media/drive/SNES/Game.sfc`, "x");
  await using service = await startTapdeck(place);
  await service.client.call("launch", "SNES/Game.sfc");
  expect(await service.heard.next("launch.finished")).toMatchObject({ success: false });
  await service.client.call("settings.update", { systems: { rootFolders: [`${place.folder}/media/drive`] } });
  await service.client.call("launch", "SNES/Game.sfc");
  expect(await service.heard.next("media.started")).toMatchObject({ mediaName: "Game" });
});

test("an edit by hand is taken over; a wrong one is reported with its line, and the last good settings stay", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const path = `${place.folder}/config.toml`;
  const good = await Bun.file(path).text();
  await writeFile(path, `${good}insert_mode = true\n`);
  await eventually(async () => expect((await service.client.call("settings")).insertMode).toBe(true));
  await writeFile(path, `${good}insert_mode = "sometimes"\n`);
  await eventually(async () => expect((await service.client.call("health")).status).toBe("degraded"));
  const { checks } = await service.client.call("health");
  const line = good.split("\n").length;
  expect(checks.find(({ name }) => name === "settings")?.reason).toContain(`config.toml, line ${line}:`);
  expect((await service.client.call("settings")).insertMode).toBe(true);
  await writeFile(path, good);
  await eventually(async () => expect((await service.client.call("health")).status).toBe("ok"));
  expect((await service.client.call("settings")).insertMode).toBe(false);
});

test("mappings in a file count a moment later, are read-only, and come behind those of the database", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  await mkdir(`${place.folder}/mappings`);
  const table = '[[mapping]]\ntype = "uid"\nmatch = "exact"\npattern = "04aa"\noverride = "**delay:3"\n';
  await writeFile(`${place.folder}/mappings/cards.toml`, table);
  await eventually(async () => expect((await service.client.call("mappings")).mappings).toHaveLength(1));
  const [mapping] = (await service.client.call("mappings")).mappings;
  expect(mapping).toMatchObject({ readOnly: true, pattern: "04aa" });
  await service.client.call("launch", { uid: "04 AA" });
  expect(await service.heard.next("running")).toMatchObject({ script: "**delay:3" });
  await expect(service.client.call("mappings.delete", { id: mapping?.id ?? 0 })).rejects.toThrow(
    "kept in the file cards.toml",
  );
  const own = { enabled: true, type: "uid", match: "exact", pattern: "04aa", override: "**delay:1" } as const;
  await service.client.call("mappings.new", own);
  await service.client.call("launch", { uid: "04aa" });
  expect(await service.heard.next("running")).toMatchObject({ script: "**delay:1" });
});

test("health names a missing media folder, and a program that is missing only if media need it", async () => {
  const player = '\n[[launchers]]\nid = "own"\nsystems = ["SNES"]\ncommand = ["no-such-player", "{path}"]\n';
  await using place = await makePlace(noReaders);
  const drive = `${place.folder}/media/drive`;
  await place.config(`${noReaders}\n[systems]\nroot_folders = ["${drive}"]\n${player}`);
  await using service = await startTapdeck(place);
  const faults = async () => {
    const { status, checks } = await service.client.call("health");
    const bad = checks.filter(({ ok }) => !ok).map(({ name, reason }) => [name, reason]);
    expect(status).toBe(bad.length === 0 ? "ok" : "degraded");
    return bad;
  };
  const away = `no media are at ${drive}: the folder is missing or empty, or its drive is not plugged in`;
  expect(await faults()).toEqual([["media", away]]);
  await mkdir(`${drive}/SNES`, { recursive: true });
  expect(await faults()).toEqual([]);
  await writeFile(`${drive}/SNES/Game.sfc`, "x");
  await indexMedia(service.client);
  const program = "there is no program no-such-player, which the launcher own needs for SNES";
  expect(await faults()).toEqual([["players", program]]);
  // This is the state after a drive was unplugged: the index still has its files.
  await rm(`${drive}/SNES`, { recursive: true });
  await indexMedia(service.client);
  expect(await faults()).toEqual([
    ["media", away],
    ["players", program],
  ]);
});
