// Covers: src/media/scan, src/launch/media-file.ts.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { findMediaFile } from "../../../../src/launch/media-file.ts";
import { indexPath } from "../../../../src/media/index/index-file.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { contentOf, indexProgram, mediaTrial, pathsOf, runHere } from "../../../helpers/media.ts";

const files = ["SNES/a.sfc", "SNES/deep/b.sfc", "gb/c.gb", "gb/d.gbc"];
const found = ["SNES/a.sfc", "SNES/deep/b.sfc", "Gameboy/c.gb", "GameboyColor/d.gbc"];

test.each([
  ["its folder is gone", () => {}],
  ["an empty mount point stays behind", (root: string) => mkdirSync(root)],
  ["a link to it leads nowhere", (root: string) => symlinkSync("/nowhere/at/all", root)],
])("a file on a drive that is not there stays in the index: %s", async (_, leave) => {
  await using trial = await mediaTrial();
  rmSync(join(trial.root, ".keep"));
  makeFiles(trial.root, files);
  await trial.media.index([]);
  const drive = join(trial.data, "../drive");
  renameSync(trial.root, drive);
  leave(trial.root);
  await trial.media.index([]);
  expect(pathsOf(trial.media)).toEqual(found);
  await trial.media.index(["SNES"]);
  expect(pathsOf(trial.media)).toEqual(found);
  expect(trial.logged.join("\n")).toContain("its files stay in the index");
  await expect(findMediaFile("SNES/a.sfc", { roots: [trial.root], own: [] }, ["SNES"])).rejects.toThrow(
    "its drive may not be plugged in",
  );
  // The drive is back: nothing is written again, and changes elsewhere are noticed.
  rmSync(trial.root, { recursive: true, force: true });
  renameSync(drive, trial.root);
  const job = { path: indexPath(trial.data), folders: { roots: [trial.root], own: [] }, systems: [] };
  expect(runHere(job).at(-1)).toMatchObject({ changed: false });
  rmSync(join(trial.root, "SNES/a.sfc"));
  await trial.media.index([]);
  expect(pathsOf(trial.media)).toEqual(found.slice(1));
});

test("beside a drive that is not there, the other folders are brought up to date", async () => {
  await using trial = await mediaTrial();
  const [here, drive] = [trial.root, join(trial.data, "../drive")];
  mkdirSync(trial.data, { recursive: true });
  makeFiles(here, ["SNES/a.sfc", "NES/n.nes"]);
  makeFiles(drive, ["SNES/b.sfc"]);
  const path = indexPath(trial.data);
  const job = { path, folders: { roots: [drive, here], own: [] }, systems: [] };
  runHere(job);
  renameSync(drive, `${drive}.off`);
  makeFiles(here, ["SNES/c.sfc"]);
  rmSync(join(here, "NES"), { recursive: true });
  runHere(job);
  expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "SNES/b.sfc", "SNES/c.sfc"]);
  expect(runHere(job).at(-1)).toMatchObject({ changed: false });
  // If an owner no longer names the folder, its files are not wanted.
  runHere({ ...job, folders: { roots: [here], own: [] } });
  expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "SNES/c.sfc"]);
});

test("the folder of one system that is away stays in the index too", async () => {
  await using trial = await mediaTrial();
  const folder = join(trial.data, "../elsewhere");
  mkdirSync(trial.data, { recursive: true });
  makeFiles(folder, ["Hack.sfc"]);
  const own = [{ system: "Super Nintendo", folder }];
  const job = { path: indexPath(trial.data), folders: { roots: [trial.root], own }, systems: [] };
  runHere(job);
  rmSync(folder, { recursive: true });
  runHere(job);
  expect(contentOf(trial.data)).toEqual(["SNES/Hack.sfc"]);
});

test("an owner who deletes all games of a system finds none of them, though its folder is there", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, files);
  await trial.media.index([]);
  for (const name of readdirSync(join(trial.root, "SNES")))
    rmSync(join(trial.root, "SNES", name), { recursive: true });
  await trial.media.index([]);
  expect(pathsOf(trial.media)).toEqual(found.slice(2));
});

test("a drive that was mounted as the folder of a system stays in the index without it", async () => {
  await using trial = await mediaTrial();
  mkdirSync(trial.data, { recursive: true });
  makeFiles(trial.root, ["NES/n.nes", "SNES/.keep"]);
  rmSync(join(trial.root, "SNES/.keep"));
  const job = JSON.stringify({
    path: indexPath(trial.data),
    folders: { roots: [trial.root], own: [] },
    systems: [],
  });
  // In a namespace of its own, the script may mount freely.
  const script = `mount -t tmpfs none "$1/SNES"; touch "$1/SNES/a.sfc"; echo "$2" | "$3" "$4" index-job`;
  const argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"];
  Bun.spawnSync([...argv, trial.root, job, process.execPath, indexProgram]);
  expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "NES/n.nes"]);
  runHere(JSON.parse(job));
  expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "NES/n.nes"]);
  rmSync(join(trial.root, "SNES"), { recursive: true });
  runHere(JSON.parse(job));
  expect(contentOf(trial.data)).toEqual(["SNES/a.sfc", "NES/n.nes"]);
});
