/**
 * Saves beside a malicious player, which may write among the saves and in the game's folder.
 * Covers: src/launch/saves.
 */
import { afterEach, expect, test } from "bun:test";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { faultLine } from "../../../../src/core/faults.ts";
import { createLog } from "../../../../src/core/log.ts";
import { createSaveKeeper, type SavedGame } from "../../../../src/launch/saves/save-keeper.ts";
import type { Exit } from "../../../../src/system/process.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A home of saves with one save, and beside it the service's own folder with a key. */
async function openScene() {
  const top = await mkdtemp(join(tmpdir(), "tapdeck-saves-"));
  folders.push(top);
  const [home, memory, own] = [join(top, "home"), join(top, "memory"), join(top, "own")];
  await mkdir(join(home, "NES"), { recursive: true });
  await mkdir(own);
  await writeFile(join(home, "NES/Game.srm"), "old");
  await writeFile(join(own, "key.pem"), "secret");
  const clock = createManualClock();
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const openKeeper = () => createSaveKeeper({ home: () => home, memory, clock, log });
  return { home, memory, own, lines, openKeeper, keeper: openKeeper() };
}

async function bring({ keeper }: Pick<Awaited<ReturnType<typeof openScene>>, "keeper">): Promise<SavedGame> {
  const game = await keeper.prepare("/media/NES/Game.nes");
  if (game === undefined) throw new Error("no saves were brought");
  return game;
}

/** The player runs, does this, and exits with 0. */
async function play(game: SavedGame, act: () => Promise<void>): Promise<void> {
  const exited = Promise.withResolvers<Exit>();
  game.follow({ pid: process.pid, exited: exited.promise, gone: exited.promise.then(() => {}) });
  await act();
  exited.resolve({ exitCode: 0 });
}

const allBelow = async (folder: string) =>
  (await readdir(folder, { recursive: true }).catch(() => [])).sort().join("\n");

test("a folder of saves that is a link brings nothing of the place where it leads", async () => {
  const scene = await openScene();
  await rename(join(scene.home, "NES"), join(scene.home, "NES0"));
  await symlink(scene.own, join(scene.home, "NES"));
  const game = await bring(scene);
  expect(game.folder).toBe(scene.home);
  expect(await allBelow(scene.memory)).not.toContain("key.pem");
  expect(scene.lines.join("\n")).toContain("is or has a link, which is not followed");
  await scene.keeper.close();
});

test("a folder of saves that becomes a link while the game runs is not written through", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  await play(game, async () => {
    await symlink(scene.own, join(scene.home, "TLS"));
    await mkdir(join(game.folder, "TLS"));
    await writeFile(join(game.folder, "TLS/owner.pem"), "theirs");
    await writeFile(join(game.folder, "NES/Game.srm"), "newer");
  });
  await scene.keeper.settled();
  expect(await readdir(scene.own)).toEqual(["key.pem"]);
  expect(faultLine(scene.keeper.faults())).toContain("TLS is or has a link, which is not followed");
  // A save that cannot be copied home does not block others, and is not lost.
  expect(await readFile(join(scene.home, "NES/Game.srm"), "utf8")).toBe("newer");
  expect(await readFile(join(game.folder, "TLS/owner.pem"), "utf8")).toBe("theirs");
  await scene.keeper.close();
});

test("a link under the name of the file that is being written is replaced, and its target stays", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  await play(game, async () => {
    await symlink(join(scene.own, "key.pem"), join(scene.home, "NES/.tapdeck-save.new"));
    await writeFile(join(game.folder, "NES/Game.srm"), "newer");
  });
  await scene.keeper.settled();
  expect(await readFile(join(scene.own, "key.pem"), "utf8")).toBe("secret");
  expect(await readFile(join(scene.home, "NES/Game.srm"), "utf8")).toBe("newer");
  expect(faultLine(scene.keeper.faults())).toBe("");
  await scene.keeper.close();
});

test("a link in the game's folder in memory is not carried", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  await play(game, async () => {
    await symlink(join(scene.own, "key.pem"), join(game.folder, "NES/Key.srm"));
    await symlink(scene.own, join(game.folder, "Own"));
  });
  await scene.keeper.settled();
  expect(await allBelow(scene.home)).toBe("NES\nNES/Game.srm");
  await scene.keeper.close();
});

test("a FIFO in the place of the service's note keeps no later start waiting, and no note says where saves go", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  const folder = join(game.folder, "..");
  for (const name of ["made", "home"]) {
    await rm(join(folder, name), { force: true });
    Bun.spawnSync(["mkfifo", join(folder, name)]);
  }
  // The files of a second keeper, which claims another home.
  const other = join(scene.memory, "000000000000001");
  await mkdir(join(other, "files/NES"), { recursive: true });
  for (const name of ["made", "home"]) await writeFile(join(other, name), scene.own);
  await writeFile(join(other, "files/NES/Other.srm"), "theirs");
  const later = { keeper: scene.openKeeper() };
  expect(await readFile(join((await bring(later)).folder, "NES/Game.srm"), "utf8")).toBe("old");
  expect(await readdir(scene.own)).toEqual(["key.pem"]);
  expect(await readFile(join(scene.home, "NES/Other.srm"), "utf8")).toBe("theirs");
  await later.keeper.close();
});

test("a save with the longest name that a file can have is kept, without a backup", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  const name = `${"n".repeat(251)}.srm`;
  await play(game, () => writeFile(join(game.folder, "NES", name), "long"));
  await scene.keeper.settled();
  expect(await readFile(join(scene.home, "NES", name), "utf8")).toBe("long");
  expect(faultLine(scene.keeper.faults())).toBe("");
  await scene.keeper.close();
});

test("a player that exchanges the folder in memory for a link at its end does not empty the folder there", async () => {
  const scene = await openScene();
  await scene.keeper.close();
  await mkdir(scene.memory, { mode: 0o700 });
  const exchange = `
    const { renameSync, symlinkSync } = require("node:fs");
    const [memory, own] = process.argv.slice(-2);
    process.on("SIGTERM", () => {
      renameSync(memory, memory + "0");
      symlinkSync(own, memory);
      process.exit(0);
    });
    setInterval(() => {}, 60_000);
    console.log("ready");`;
  // The service takes the process for a RetroArch of an earlier run, because of its option.
  const option = `--appendconfig=${scene.memory}/1/settings.cfg`;
  const orphan = Bun.spawn([process.execPath, "-e", exchange, option, scene.memory, scene.own]);
  await orphan.stdout.getReader().read();
  const later = scene.openKeeper();
  await later.settled();
  await orphan.exited;
  expect(await readlink(scene.memory)).toBe(scene.own);
  expect(await readdir(scene.own)).toEqual(["key.pem"]);
  await later.close();
});

test("a folder in memory that becomes a link while the game runs is not removed where the link leads", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  const name = basename(join(game.folder, ".."));
  await play(game, async () => {
    await rename(scene.memory, `${scene.memory}0`);
    await mkdir(join(scene.own, name, "files"), { recursive: true });
    await writeFile(join(scene.own, name, "cert.pem"), "secret");
    await symlink(scene.own, scene.memory);
  });
  await scene.keeper.settled();
  expect(await allBelow(join(scene.own, name))).toBe("cert.pem\nfiles");
  await scene.keeper.close();
});

test("a large file of holes, which takes up no memory, does not fill the disk at home, and other saves are kept", async () => {
  const scene = await openScene();
  const game = await bring(scene);
  const sparse = join(game.folder, "NES/Sparse.srm");
  await play(game, async () => {
    await writeFile(sparse, "x");
    await truncate(sparse, 64 * 1024 * 1024);
    await writeFile(join(game.folder, "NES/Game.srm"), "newer");
  });
  await scene.keeper.settled();
  expect(await readFile(join(scene.home, "NES/Game.srm"), "utf8")).toBe("newer");
  expect(await allBelow(scene.home)).not.toContain("Sparse");
  expect(scene.lines.join("\n")).toContain("it has holes, and would take up 67108864 bytes of the disk");
  // No save is left that the keeper would try again and again.
  expect(faultLine(scene.keeper.faults())).toBe("");
  expect(await readdir(scene.memory)).toEqual([]);
  await scene.keeper.close();
});
