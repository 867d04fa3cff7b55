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
  using _ = watchMedia({ media: trial.media, roots: [trial.root], log: silentLog });
  // Nothing tells when the watches are set: a file is made again until it is seen.
  let number = 0;
  await eventually(async () => {
    makeFiles(trial.root, [`SNES/New ${number++ % 3}.sfc`, "gb/deep/New.gbc"]);
    await Bun.sleep(300);
    return number > 6 || trial.told.length > 8;
  });
  await eventually(() => pathsOf(trial.media, "new").includes("SNES/New 0.sfc"));
  expect(pathsOf(trial.media, "new")).toContain("GameboyColor/deep/New.gbc");
}, 20_000);

test("a folder that cannot be watched is told in the log", async () => {
  await using trial = await mediaTrial();
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: string, sentence: string) => warned.push(sentence) };
  using _ = watchMedia({ media: trial.media, roots: [join(trial.root, "nowhere")], log });
  await eventually(() => warned.length > 0);
  expect(warned[0]).toBe("changes are not seen");
});
