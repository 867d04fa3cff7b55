/**
 * Requests for pictures: how many may wait, whose places are kept, and that a hung drive delays no other picture.
 * Favourites.
 */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  favouritesMax,
  pagesPerConnectionMax,
  pictureMsMax,
  picturesPerConnectionMax,
  picturesWaitingMax,
} from "../../../src/core/limits.ts";
import { pictureTypes } from "../../../src/core/media.ts";
import type { Grant } from "../../../src/core/rights.ts";
import type { findPicture } from "../../../src/media/pictures.ts";
import { createLibrary, createWarningOf } from "../../../src/services/library.ts";
import { makeFiles } from "../../helpers/library.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { mediaTrial } from "../../helpers/media.ts";
import { createStores } from "../../helpers/stores.ts";

const callerWith = (grant: Grant, signal = new AbortController().signal) => ({
  access: "remote" as const,
  grant: () => grant,
  gone: () => signal,
  from: { address: "10.77.0.2" },
});
const request = { path: "SNES/Game.sfc", system: "SNES", types: pictureTypes, maxSize: undefined };

/** A library of one game, whose pictures come from `find`, and whose pages wait for `held`. */
async function libraryOf(find: typeof findPicture, held?: Promise<void>) {
  const [stores, clock] = [createStores(), createManualClock()];
  const root = await mkdtemp(join(tmpdir(), "pictured-"));
  makeFiles(root, ["SNES/Game.sfc"]);
  const { media: free, [Symbol.asyncDispose]: end } = await mediaTrial();
  const media: typeof free = {
    ...free,
    folder: (query) => Promise.resolve(held).then(() => free.folder(query)),
    filesOfSystems: () => Promise.resolve(held).then(free.filesOfSystems),
    tags: (systems) => Promise.resolve(held).then(() => free.tags(systems)),
  };
  const { plays, favourites } = stores.open(stores.newFolder());
  const folders = () => ({ roots: [root], own: [] });
  const library = createLibrary({ media, clock, find, plays, favourites, folders });
  return {
    library,
    root,
    warningOf: createWarningOf({ media, clock, folders }),
    clock,
    async [Symbol.asyncDispose]() {
      await end();
      stores.clean();
      await rm(root, { recursive: true });
    },
  };
}

const found = async () => ({ contentType: "image/jpeg", bytes: Buffer.from("x"), type: "image" as const });

test("a connection has three requests under way, strangers fill half of the places, and the rest is for members", async () => {
  const held = Promise.withResolvers<void>();
  await using made = await libraryOf(async () => {
    await held.promise;
    return found();
  });
  const { image } = made.library;
  const ask = (caller: ReturnType<typeof callerWith>) =>
    image(request, caller).then(
      () => "picture",
      (error) => error.data.limit,
    );
  const asked: Promise<string>[] = [];
  const fill = (grant: Grant, most: number) => {
    for (let n = 0, caller = callerWith(grant); n < most; n++) {
      if (n % picturesPerConnectionMax === 0) caller = callerWith(grant);
      asked.push(ask(caller));
    }
  };
  const greedy = callerWith("play");
  for (let n = 0; n < picturesPerConnectionMax; n++) asked.push(ask(greedy));
  expect(await ask(greedy)).toBe("picturesPerConnectionMax");
  fill("play", picturesWaitingMax / 2 - picturesPerConnectionMax);
  expect(await ask(callerWith("play"))).toBe("picturesWaitingMax");
  fill("change", picturesWaitingMax / 2);
  expect(await ask(callerWith("change"))).toBe("picturesWaitingMax");
  held.resolve();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(["picture"]));
  expect(await ask(greedy)).toBe("picture");
});

test("a connection has four pages under way, so that no batch of requests gathers hundreds of them", async () => {
  const held = Promise.withResolvers<void>();
  await using made = await libraryOf(found, held.promise);
  const { browse, tags } = made.library;
  const query = { path: "", systems: [], maxResults: 10, cursor: undefined, tags: [], letter: undefined };
  const page = (caller: ReturnType<typeof callerWith>) => browse({ ...query, isDescending: false }, caller);
  const [greedy, other] = [callerWith("look"), callerWith("look")];
  const asked = Array.from({ length: pagesPerConnectionMax - 1 }, () => page(greedy));
  const listed = tags([], greedy);
  const refusal = { code: "busy", data: { limit: "pagesPerConnectionMax" } };
  await expect(page(greedy)).rejects.toMatchObject(refusal);
  await expect(tags([], greedy)).rejects.toMatchObject(refusal);
  asked.push(page(other));
  held.resolve();
  expect((await Promise.all(asked)).map(({ path }) => path)).toEqual(["", "", "", ""]);
  expect(await listed).toEqual([]);
  expect((await page(greedy)).path).toBe("");
});

test("a drive that does not answer delays the next picture by ten seconds, and no longer", async () => {
  const [begun, never] = [Promise.withResolvers<void>(), new Promise<undefined>(() => {})];
  let count = 0;
  await using made = await libraryOf(async () => {
    if (count++ > 0) return found();
    begun.resolve();
    return never;
  });
  const first = made.library.image(request, callerWith("look")).catch((error) => error);
  const second = made.library.image(request, callerWith("look"));
  await begun.promise;
  made.clock.advance(pictureMsMax);
  expect(await first).toMatchObject({ code: "failed", isPublic: true });
  expect(await second).toEqual({
    delivery: "inline",
    contentType: "image/jpeg",
    extension: "jpg",
    data: "eA==",
    typeTag: "property:image-image",
  });
});

test("nothing is read for a caller that is gone", async () => {
  let count = 0;
  await using made = await libraryOf(() => {
    count++;
    return found();
  });
  const gone = AbortSignal.abort(new Error("the caller is gone"));
  await expect(made.library.image(request, callerWith("look", gone))).rejects.toThrow("the caller is gone");
  expect(count).toBe(0);
});

test("a mapping to a missing file was stored without a warning", async () => {
  await using made = await libraryOf(async () => found());
  const { warningOf } = made;
  expect(await warningOf("SNES/Game.sfc")).toBeUndefined();
  expect(await warningOf("snes/game.sfc||**delay:5")).toBeUndefined();
  expect(await warningOf("**stop||SNES/Gone.sfc")).toBe(
    "there is no file SNES/Gone.sfc below the media folders",
  );
  expect(await warningOf("**launch:SNES/[[device.hostname]].sfc")).toBeUndefined();
  expect(await warningOf("http://radio.example/stream")).toBeUndefined();
  expect(await warningOf("SNES/Game.sfc||||**stop")).toStartWith(
    "the text cannot run: a command is missing here",
  );
});

test("a favourite is a file or folder that is there, and there are at most favouritesMax", async () => {
  await using made = await libraryOf(found);
  const { favourites, setFavourite } = made.library;
  await expect(setFavourite("SNES/Missing.sfc", true)).rejects.toThrow("there is no file SNES/Missing.sfc");
  await setFavourite("SNES", true);
  await setFavourite("SNES/Game.sfc", true);
  expect(favourites().map(({ type, name }) => [type, name])).toEqual([
    ["directory", "SNES"],
    ["media", "Game"],
  ]);
  const names = Array.from({ length: favouritesMax - 2 }, (_, number) => `SNES/${number}.sfc`);
  makeFiles(made.root, [...names, "SNES/a.sfc", "SNES/b.sfc"]);
  for (const name of names) await setFavourite(name, true);
  await setFavourite("SNES", false);
  await setFavourite("SNES", true);
  await expect(setFavourite("SNES", true)).rejects.toMatchObject({ data: { limit: "favouritesMax" } });
  expect(favourites().at(-1)?.name).toBe("SNES");
  // Simultaneous requests passed the limit together.
  await setFavourite("SNES", false);
  const asked = await Promise.allSettled(
    ["SNES", "SNES/a.sfc", "SNES/b.sfc"].map((one) => setFavourite(one, true)),
  );
  expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(favourites()).toHaveLength(favouritesMax);
});

test("a file whose name is not UTF-8 could be no favourite", async () => {
  await using made = await libraryOf(found);
  await writeFile(
    Buffer.concat([Buffer.from(`${made.root}/SNES/Jug`), Buffer.of(0xe9), Buffer.from(".sfc")]),
    "",
  );
  await made.library.setFavourite("SNES/Jug\ufffd.sfc", true);
  expect(made.library.favourites()).toMatchObject([{ type: "media", path: "SNES/Jug\ufffd.sfc" }]);
});
