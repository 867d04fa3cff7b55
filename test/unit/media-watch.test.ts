import { expect, test } from "bun:test";
import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import { watchMedia } from "../../src/media/watching.ts";
import { makeFiles } from "../helpers/library.ts";
import { mediaTrial, pathsOf } from "../helpers/media.ts";
import { eventually } from "../helpers/processes.ts";

test("new files are found without being asked for, those of systems that live in one folder too", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/Old.sfc", "gb/Old.gb"]);
  await trial.media.index([]);
  using _ = watchMedia({ media: trial.media, folders: { roots: [trial.root], own: [] }, log: silentLog });
  // Nothing tells when the watches are set: a file is made again until it is seen.
  let number = 0;
  await eventually(async () => {
    makeFiles(trial.root, [`SNES/New ${number++ % 3}.sfc`, "gb/deep/New.gbc"]);
    await Bun.sleep(300);
    return number > 6 || trial.told.length > 8;
  });
  await eventually(() => pathsOf(trial.media, "new").includes("SNES/New 0.sfc"));
  expect(pathsOf(trial.media, "new")).toContain("GameboyColor/deep/New.gbc");
});

test("a folder that cannot be watched is told in the log", async () => {
  await using trial = await mediaTrial();
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: string, sentence: string) => warned.push(sentence) };
  using _ = watchMedia({
    media: trial.media,
    folders: { roots: [join(trial.root, "nowhere")], own: [] },
    log,
  });
  await eventually(() => warned.length > 0);
  expect(warned[0]).toBe("changes are not seen");
});

test("a folder that appears later, as that of a drive does when it is plugged in, is indexed and watched then", async () => {
  await using trial = await mediaTrial();
  const drive = join(trial.root, "../drive");
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  using _ = watchMedia({ media, folders: { roots: [drive], own: [] }, log: silentLog });
  // It is looked for from the moment on that the process runs, which nothing tells.
  await Bun.sleep(500);
  makeFiles(drive, ["SNES/a.sfc"]);
  await eventually(() => asked.length > 0);
  expect(asked[0]).toEqual([]);
  makeFiles(drive, ["NES/b.nes"]);
  await eventually(() => asked.some((systems) => systems.includes("NES")));
});

test("a change in the folder of one system is that system's", async () => {
  await using trial = await mediaTrial();
  const folder = join(trial.root, "../elsewhere");
  makeFiles(folder, ["a.sfc"]);
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const own = [{ system: "Super Nintendo", folder }];
  using _ = watchMedia({ media, folders: { roots: [], own }, log: silentLog });
  let number = 0;
  await eventually(async () => {
    if (number++ < 6) makeFiles(folder, [`deep/b${number % 3}.sfc`]);
    await Bun.sleep(300);
    return asked.length > 0;
  });
  expect(asked[0]).toContain("SNES");
});
