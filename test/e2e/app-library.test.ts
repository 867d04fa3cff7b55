/**
 * The screens of the library in the known phone app of both generations: folders, pictures, tags, lookups and played
 * media.
 */
import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { browsePage, lookedUp, mediaTagList, picture, playsPage } from "../../src/api/schemas.ts";
import {
  pictureBytesMax,
  picturesPerConnectionMax,
  unsentBytesMax,
  unsentWhileAskingMax,
} from "../../src/core/limits.ts";
import { deviceForAll } from "../helpers/device.ts";
import {
  type AppIdentity,
  type AppLine,
  androidOrigin,
  appsAllowed,
  openCurrentApp,
  openEarlierApp,
  pairApp,
} from "../helpers/known-apps.ts";
import { makeFiles } from "../helpers/library.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const names = ["Apple (USA)", "Banana (Europe) (Rev 1)", "Cherry (Japan)", "Date (USA)", "Elder"];

let app: AppIdentity;
const device = deviceForAll(
  `${appsAllowed}${noReaders}${sleeper(".sfc")}`,
  async (made) => {
    await noisePython();
    app = await pairApp(made, "phone", androidOrigin);
    const root = join(made.place.folder, "media");
    makeFiles(
      root,
      names.map((name) => `SNES/Fruit/${name}.sfc`),
    );
    makeFiles(root, ["SNES/Sole.sfc", "Pictures/Family.png", "SNES/.keep"]);
    makeFiles(made.place.folder, ["Outside.sfc"]);
    symlinkSync(made.place.folder, join(root, "SNES/way out"));
    await Bun.write(join(root, "SNES/media/covers/Fruit/Apple (USA).png"), Buffer.from(dot, "base64"));
    await Bun.write(join(root, "Pictures/Family.png"), Buffer.from(dot, "base64"));
    // A picture of the largest size. It need not be a valid one, because the service sends it unchanged.
    const large = Buffer.alloc(pictureBytesMax, Buffer.from(dot, "base64"));
    await Bun.write(join(root, "SNES/images/Fruit/Elder.png"), large);
    await indexMedia(made.service.client);
  },
  noisePythonSetUpMs,
);

/** Each generation of the app, and the rights that its sessions have. */
const generations: readonly (readonly [string, boolean, () => Promise<AppLine>])[] = [
  ["the current app", true, () => openCurrentApp(device, app, androidOrigin)],
  ["the earlier app, sealed", true, () => openEarlierApp(device, "ws")],
  ["the earlier app over TLS", false, () => openEarlierApp(device, "wss")],
];

async function result<Schema extends v.GenericSchema>(
  line: AppLine,
  schema: Schema,
  method: string,
  params?: unknown,
): Promise<v.InferOutput<Schema>> {
  const answer = await line.call(method, params);
  expect(answer.error).toBeUndefined();
  return v.parse(schema, answer.result);
}

remoteTest.each(generations)(
  "%s walks from the systems to each game, page by page",
  async (_, _mayChange, open) => {
    await using line = await open();
    // The params of the app's own screen.
    const page = (path: string, cursor?: string) =>
      result(line, browsePage, "media.browse", {
        path,
        systems: ["SNES"],
        maxResults: 2,
        sort: "name-asc",
        ...(cursor === undefined ? {} : { cursor }),
      });
    const top = await page("");
    expect(top.entries).toEqual([
      {
        type: "root",
        name: "Super Nintendo Entertainment System",
        path: "SNES",
        fileCount: 6,
        systemId: "SNES",
        systemIds: ["SNES"],
        category: "Console",
      },
    ]);
    const system = await page(top.entries[0]?.path ?? "");
    expect(system.entries.map(({ type, path, fileCount }) => [type, path, fileCount])).toEqual([
      ["directory", "SNES/Fruit", 5],
      ["media", "SNES/Sole.sfc", undefined],
    ]);
    expect([system.totalDirs, system.totalFiles, system.pagination.hasNextPage]).toEqual([1, 1, false]);
    const found: string[] = [];
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const { entries, totalFiles, pagination } = await page("SNES/Fruit", cursor);
      expect([totalFiles, pagination.pageSize]).toEqual([5, 2]);
      found.push(...entries.map(({ name }) => name));
      cursor = pagination.nextCursor;
      isMore = pagination.hasNextPage;
    }
    expect(found).toEqual(names);
    const { entries } = await result(line, browsePage, "media.browse", {
      path: "SNES/Fruit",
      tags: ["rev:rev 1"],
    });
    expect(entries).toEqual([
      {
        type: "media",
        name: "Banana (Europe) (Rev 1)",
        path: "SNES/Fruit/Banana (Europe) (Rev 1).sfc",
        systemId: "SNES",
        systemName: "Super Nintendo Entertainment System",
        zapScript: "SNES/Fruit/Banana (Europe) (Rev 1).sfc",
        tags: [
          { type: "region", tag: "europe" },
          { type: "rev", tag: "rev 1" },
        ],
      },
    ]);
    // A folder outside the media folders counts as absent, by every way that leads to it.
    for (const path of ["SNES/way out", "SNES/../..", device.place.folder])
      expect(await line.call("media.browse", { path })).toMatchObject({ error: { code: 3 } });
  },
);

remoteTest.each(generations)("%s shows the picture of a game", async (_, mayChange, open) => {
  await using line = await open();
  const ask = (path: string, more = {}) => line.call("media.image", { system: "SNES", path, ...more });
  const thumbnail = { imageTypes: ["image", "boxart"], maxSize: 256 };
  const shown = await result(line, picture, "media.image", {
    system: "SNES",
    path: "SNES/Fruit/Apple (USA).sfc",
    ...thumbnail,
  });
  expect(shown).toMatchObject({ delivery: "inline", typeTag: "property:image-boxart" });
  expect(await new Bun.Image(Buffer.from(shown.data, "base64")).metadata()).toMatchObject({
    width: 1,
    height: 1,
  });
  const whole = { contentType: "image/png", extension: "png", data: dot };
  expect((await ask("Fruit/Apple (USA).sfc")).result).toMatchObject(whole);
  // The app interprets these words as a game without a picture, and as an id that it must not use.
  for (const path of ["SNES/Sole.sfc", "SNES/Fruit/Date (USA).sfc"])
    expect((await ask(path, thumbnail)).error?.message).toBe(`no image found for media ${path}`);
  expect((await line.call("media.image", { mediaId: 1 })).error?.message).toStartWith("media id not found");
  for (const path of [
    "SNES/way out/Outside.sfc",
    join(device.place.folder, "Outside.sfc"),
    "SNES/../../config.toml",
  ])
    expect((await ask(path)).error).toMatchObject({ code: 3, message: `media not found: ${path}` });
  // A photo is shown to paired members, and not to a stranger.
  const photo = await line.call("media.image", { system: "Image", path: "Image/Family.png" });
  if (mayChange) expect(photo.result).toMatchObject(whole);
  else expect(photo.error?.message).toStartWith("no image found for media");
});

remoteTest.each(generations)(
  "%s gets as many of the largest pictures as it may ask for at a time, and is not hung up on",
  async (_, _mayChange, open) => {
    await using line = await open();
    const large = { method: "media.image", params: { system: "SNES", path: "SNES/Fruit/Elder.sfc" } };
    // The answer to this call shows that the handshake is done: only a few frames may come before that.
    await line.call("version");
    // The device may have answered some before it reads the last ones, so these are many more than the allowed number.
    const answers = await Promise.all(
      Array.from({ length: 8 * picturesPerConnectionMax }, () => line.call(large.method, large.params)),
    );
    const refused = answers.filter(({ error }) => error !== undefined);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(picturesPerConnectionMax);
    expect(refused.length).toBeGreaterThan(0);
    // The second limit is reached first if the caller reads its answers late.
    const reached: readonly unknown[] = ["picturesPerConnectionMax", "unsentWhileAskingMax"].map((limit) => ({
      reason: "busy",
      limit,
    }));
    for (const { error } of refused) expect(reached).toContainEqual(error?.data);
    const chars = Math.ceil(pictureBytesMax / 3) * 4;
    for (const answer of answers)
      if (answer.error === undefined) expect(v.parse(picture, answer.result).data.length).toBe(chars);
    const sealedChars = Math.ceil((chars * 4) / 3);
    expect(unsentWhileAskingMax + picturesPerConnectionMax * (sealedChars + 4096)).toBeLessThan(
      unsentBytesMax,
    );
    expect(await line.call("version")).toHaveProperty("result");
  },
);

remoteTest.each(generations)("%s lists the tags, and looks a title up", async (_, _mayChange, open) => {
  await using line = await open();
  const { tags } = await result(line, v.object({ tags: mediaTagList }), "media.tags", { systems: ["SNES"] });
  expect(tags).toEqual([
    { type: "region", tag: "usa" },
    { type: "region", tag: "europe" },
    { type: "region", tag: "japan" },
    { type: "rev", tag: "rev 1" },
  ]);
  const look = async (name: string) =>
    (await result(line, v.object({ match: v.nullable(lookedUp) }), "media.lookup", { system: "SNES", name }))
      .match;
  expect(await look("Banana")).toMatchObject({
    system: { id: "SNES" },
    path: "SNES/Fruit/Banana (Europe) (Rev 1).sfc",
    confidence: 1,
    tags: [{ type: "region" }, { type: "rev" }],
  });
  expect(await look("Something else")).toBeNull();
});

remoteTest("a paired app sees what was played, also after a restart, and a stranger does not", async () => {
  const { client } = device.service;
  const game = (name: string) => `SNES/Fruit/${name}.sfc`;
  for (const name of ["Apple (USA)", "Elder", "Apple (USA)"]) {
    await client.call("launch", game(name));
    await device.service.heard.next("media.started");
    if (name !== "Elder") {
      await client.call("stop");
      await device.service.heard.next("media.stopped");
    }
  }
  await device.stop();
  await device.start();
  for (const [, mayChange, open] of generations) {
    await using line = await open();
    if (!mayChange) {
      expect(await line.call("media.history")).toMatchObject({
        error: { code: 2, data: { right: "change" } },
      });
      continue;
    }
    const first = await result(line, playsPage, "media.history", { limit: 2, systems: ["SNES"] });
    expect(first.entries.map(({ mediaName }) => mediaName)).toEqual(["Apple (USA)", "Elder"]);
    expect(first.entries[0]).toMatchObject({
      systemId: "SNES",
      systemName: "Super Nintendo Entertainment System",
      launcherId: "sleeper",
      mediaPath: join(device.place.folder, "media", game("Apple (USA)")),
    });
    for (const { startedAt, endedAt = "", playTime } of first.entries)
      expect(Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)).toBe(playTime);
    const cursor = first.pagination.nextCursor;
    const rest = await result(line, playsPage, "media.history", { limit: 2, systems: ["SNES"], cursor });
    expect([rest.entries.length, rest.pagination.hasNextPage]).toEqual([1, false]);
    const each = await result(line, playsPage, "media.history", { distinctMedia: true });
    expect(each.entries.map(({ mediaName }) => mediaName)).toEqual(["Apple (USA)", "Elder"]);
  }
});
