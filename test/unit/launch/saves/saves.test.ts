/**
 * Saves of games: the files of a game, the time when a file is complete, and the order of the copies.
 * Covers: src/launch/saves.
 */
import { afterEach, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { savesBytesMax } from "../../../../src/core/console-limits.ts";
import { faultLine } from "../../../../src/core/faults.ts";
import { createLog } from "../../../../src/core/log.ts";
import { gameNamesOf, isComplete, isForGame } from "../../../../src/launch/saves/retroarch-saves.ts";
import { createSaveKeeper, type SavedGame } from "../../../../src/launch/saves/save-keeper.ts";
import type { Exit } from "../../../../src/system/process.ts";
import { seededRandom } from "../../../emulators/emulated-line.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";
import { eventually } from "../../../helpers/processes.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-saves-"));
  folders.push(folder);
  return folder;
}

interface SceneOptions {
  readonly home?: string;
  readonly memory?: string;
}

/** A keeper, its log, and a home with files. */
async function openScene(files: Readonly<Record<string, string>> = {}, options: SceneOptions = {}) {
  const top = await newFolder();
  const { home = join(top, "home"), memory = join(top, "memory") } = options;
  const clock = createManualClock();
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const at = (path: string) => join(home, path);
  const put = async (path: string, text: string) => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), text);
  };
  for (const [path, text] of Object.entries(files)) await put(path, text);
  const keeper = createSaveKeeper({ home: () => home, memory, clock, log });
  const read = (path: string) => readFile(at(path), "utf8").catch(() => undefined);
  return { home, memory, clock, lines, keeper, read, put };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** A player of this test: it ends when the test ends it. */
function follow(game: SavedGame, pid = process.pid) {
  const exited = Promise.withResolvers<Exit>();
  game.follow({ pid, exited: exited.promise, gone: exited.promise.then(() => {}) });
  return (exitCode: number | null) => exited.resolve({ exitCode });
}

async function bring({ keeper }: Pick<Scene, "keeper">, path = "/media/NES/Game.nes"): Promise<SavedGame> {
  const game = await keeper.prepare(path);
  if (game === undefined) throw new Error("no saves were brought");
  return game;
}

/** Writes a file into the game's folder, as RetroArch does. */
async function save({ folder }: SavedGame, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Lets two checks of the files begin and end. A file that did not change between them is copied. */
async function lookTwice({ clock }: Scene): Promise<void> {
  for (let look = 0; look < 2; look++) {
    clock.advance(1000);
    // No event reports the end of a check, so callers repeat this until they see its effect.
    await Bun.sleep(10);
  }
}

test("names follow the file that is played, and the folder around it", () => {
  expect(gameNamesOf("/media/NES/Game (USA).nes")).toEqual({ folder: "NES", game: "Game (USA)" });
  expect(gameNamesOf("/media/PSX/A.B/Game.v1.2.m3u")).toEqual({ folder: "A.B", game: "Game.v1.2" });
  expect(gameNamesOf("/media/NES/G\ufffd.nes")).toEqual({ folder: "NES", game: "G_" });
});

test.each([
  ["Game.srm", true],
  ["Game.rtc", true],
  ["Game.state", true],
  ["Game.state.auto.png", true],
  ["Other.srm", false],
  ["Other.state7", false],
  ["Other.state.auto", false],
  ["Other.0.mcr", false],
  ["Gamer.srm", false],
  ["pcsx-card2.mcd", true],
  ["nvram.bin", true],
  ["Game.srm.bak", false],
  [".tapdeck-save.new", false],
])("%s is for the game: %p", (name, isFor) => {
  expect(isForGame(name, "Game")).toBe(isFor);
});

/** A file in RetroArch's packed format, whose pieces need not be packed here. */
function rzip(pieces: readonly number[], chunk = 1000): Buffer {
  const head = Buffer.alloc(20);
  head.write("#RZIPv\x01#", "latin1");
  head.writeUInt32LE(chunk, 8);
  head.writeBigUInt64LE(BigInt(pieces.length * chunk - 1), 12);
  const body = pieces.flatMap((bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes);
    return [length, Buffer.alloc(bytes, 7)];
  });
  return Buffer.concat([head, ...body]);
}

function rastate(bytes: number): Buffer {
  const block = (name: string, length: number) => {
    const head = Buffer.alloc(8);
    head.write(name, "latin1");
    head.writeUInt32LE(length, 4);
    return [head, Buffer.alloc(Math.ceil(length / 8) * 8)];
  };
  return Buffer.concat([Buffer.from("RASTATE\x01", "latin1"), ...block("MEM ", bytes), ...block("END ", 0)]);
}

test("a packed file or a state that is cut off anywhere is not whole", async () => {
  const path = join(await newFolder(), "state");
  for (const whole of [rzip([300]), rzip([10, 1, 90]), rastate(37), rastate(64)]) {
    await writeFile(path, whole);
    expect(await isComplete(path)).toBe(true);
    // Seven bytes identify the format; with fewer it is unknown.
    for (let length = 7; length < whole.length; length++) {
      await writeFile(path, whole.subarray(0, length));
      if (await isComplete(path)) throw new Error(`${length} of ${whole.length} bytes count as whole`);
    }
  }
  // The total size is written last.
  const unfinished = rzip([300]);
  unfinished.writeBigUInt64LE(0n, 12);
  await writeFile(path, unfinished);
  expect(await isComplete(path)).toBe(false);
});

test("random bytes behind either mark are judged, and never fail", async () => {
  const path = join(await newFolder(), "state");
  const random = seededRandom(1);
  for (let round = 0; round < 300; round++) {
    const noise = Uint8Array.from({ length: round }, () => Math.floor(random() * 256));
    await writeFile(path, Buffer.concat([Buffer.from(round % 2 ? "#RZIPv" : "RASTATE"), noise]));
    expect(typeof (await isComplete(path))).toBe("boolean");
  }
});

test("a game gets its own files and shared ones, and nothing of other games", async () => {
  const scene = await openScene({
    "NES/Game.srm": "mine",
    "NES/Nestopia/Game.state.auto": "state",
    "NES/Other.srm": "other",
    "NES/card.mcd": "shared",
    "SNES/Game.srm": "elsewhere",
  });
  const game = await bring(scene);
  expect((await readdir(game.folder, { recursive: true })).sort()).toEqual([
    "NES",
    "NES/Game.srm",
    "NES/Nestopia",
    "NES/Nestopia/Game.state.auto",
    "NES/card.mcd",
  ]);
  game.drop();
  await scene.keeper.settled();
  expect(await readdir(scene.memory)).toEqual([]);
  expect(await scene.read("NES/Game.srm")).toBe("mine");
});

test("a changed save is carried home while the game runs, with one backup of the version before it", async () => {
  const scene = await openScene({ "NES/Game.srm": "old" });
  const game = await bring(scene);
  const end = follow(game);
  for (const text of ["first", "second"]) {
    await save(game, "NES/Game.srm", text);
    await eventually(async () => {
      await lookTwice(scene);
      expect(await scene.read("NES/Game.srm")).toBe(text);
    });
  }
  expect(await scene.read("NES/Game.srm.bak")).toBe("old");
  end(0);
  await scene.keeper.close();
  expect((await readdir(join(scene.home, "NES"))).sort()).toEqual(["Game.srm", "Game.srm.bak"]);
});

test("a file that its player has open is not carried, however long nothing is written", async () => {
  const scene = await openScene({ "NES/Game.srm": "old" });
  const game = await bring(scene);
  const script = 'exec 3>"$0"; printf half >&3; echo open; read word; printf whole >&3; exec 3>&-; read word';
  const player = Bun.spawn(["/bin/sh", "-c", script, join(game.folder, "NES/Game.srm")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const end = follow(game, player.pid);
  await player.stdout.getReader().read();
  // Another file shows that checks have taken place.
  await save(game, "NES/Game.rtc", "time");
  await eventually(async () => {
    await lookTwice(scene);
    expect(await scene.read("NES/Game.rtc")).toBe("time");
  });
  await lookTwice(scene);
  expect(await scene.read("NES/Game.srm")).toBe("old");
  player.stdin.write("on\n");
  player.stdin.flush();
  await eventually(async () => {
    await lookTwice(scene);
    expect(await scene.read("NES/Game.srm")).toBe("halfwhole");
  });
  player.kill();
  await player.exited;
  end(null);
  await scene.keeper.close();
});

test("of a player that was killed, a file that became shorter, or is not whole, stays as it was", async () => {
  const scene = await openScene({
    "NES/Game.srm": "battery",
    "NES/Game.rtc": "time",
    "NES/Core/Game.state": "s",
  });
  const game = await bring(scene);
  const end = follow(game);
  await save(game, "NES/Game.srm", "bat");
  await save(game, "NES/Game.rtc", "");
  await save(game, "NES/Core/Game.state", rzip([300]).toString("latin1", 0, 200));
  await save(game, "NES/new.dat", "fresh");
  end(null);
  await scene.keeper.settled();
  expect(await scene.read("NES/Game.srm")).toBe("battery");
  expect(await scene.read("NES/Game.rtc")).toBe("time");
  expect(await scene.read("NES/Core/Game.state")).toBe("s");
  expect(await scene.read("NES/new.dat")).toBe("fresh");
  expect(scene.lines.filter((line) => line.includes("the version before is kept"))).toHaveLength(3);
  expect(await readdir(scene.memory)).toEqual([]);
});

test("a player that ended well may have made a file shorter, but never empty", async () => {
  const scene = await openScene({ "NES/Game.srm": "battery", "NES/Game.rtc": "time" });
  const game = await bring(scene);
  const end = follow(game);
  await save(game, "NES/Game.srm", "bat");
  await save(game, "NES/Game.rtc", "");
  end(0);
  await scene.keeper.settled();
  expect(await scene.read("NES/Game.srm")).toBe("bat");
  expect(await scene.read("NES/Game.rtc")).toBe("time");
});

test("saves that are too many for the memory are written in place, and none is lost", async () => {
  const scene = await openScene({ "NES/Game.srm": "mine", "NES/big.dat": "x".repeat(savesBytesMax) });
  const game = await bring(scene);
  expect(game.folder).toBe(scene.home);
  expect(scene.lines.join("\n")).toContain("a loss of power may damage the saves of this game");
  follow(game)(0);
  await scene.keeper.settled();
  expect(await scene.read("NES/Game.srm")).toBe("mine");
});

test("a folder in memory that others may enter is not used", async () => {
  const memory = join(await newFolder(), "memory");
  await mkdir(memory);
  await chmod(memory, 0o777);
  const scene = await openScene({}, { memory });
  expect((await bring(scene)).folder).toBe(scene.home);
  expect(await readdir(memory)).toEqual([]);
});

test("a save that an earlier service left is carried home, and one that it was only preparing is deleted", async () => {
  const first = await openScene({ "NES/Game.srm": "old", "NES/Game.rtc": "time" });
  const game = await bring(first);
  await save(game, "NES/Game.srm", "new");
  await save(game, "NES/Game.rtc", "ti");
  await mkdir(join(first.memory, "000000000000001/files/NES"), { recursive: true });
  await writeFile(join(first.memory, "000000000000001/files/NES/Game.srm"), "prepared");
  const second = await openScene({}, first);
  await second.keeper.settled();
  expect(await second.read("NES/Game.srm")).toBe("new");
  expect(await second.read("NES/Game.rtc")).toBe("time");
  expect(await readdir(first.memory)).toEqual([]);
});

test("a file that cannot be carried home keeps no other file back", async () => {
  const scene = await openScene({ "NES/Game.srm": "old" });
  const game = await bring(scene);
  const end = follow(game);
  await scene.put("NES/A", "a file in the place of a folder");
  await save(game, "NES/A/Game.state", "state");
  await save(game, "NES/Game.srm", "new");
  await save(game, "NES/Z/Game.state", "state");
  end(0);
  await scene.keeper.settled();
  expect(faultLine(scene.keeper.faults())).toStartWith(`saves cannot be kept in ${scene.home}: `);
  expect(await scene.read("NES/Game.srm")).toBe("new");
  expect(await scene.read("NES/Z/Game.state")).toBe("state");
  await scene.keeper.close();
});

test("a save that cannot be carried home is tried again, and another game's newer file is not overwritten by it", async () => {
  const scene = await openScene({ "NES/card.mcd": "old" });
  const one = await bring(scene);
  await save(one, "NES/Game.srm", "mine");
  await save(one, "NES/card.mcd", "older");
  await rm(scene.home, { recursive: true });
  await writeFile(scene.home, "no folder");
  follow(one)(0);
  await scene.keeper.settled();
  expect(faultLine(scene.keeper.faults())).toStartWith(`saves cannot be kept in ${scene.home}: `);
  const two = await bring(scene, "/media/NES/Other.nes");
  expect(await readFile(join(two.folder, "NES/card.mcd"), "utf8")).toBe("older");
  await save(two, "NES/card.mcd", "newer");
  await rm(scene.home);
  follow(two)(0);
  await scene.keeper.settled();
  expect(await scene.read("NES/card.mcd")).toBe("newer");
  scene.clock.advance(10_000);
  await scene.keeper.settled();
  expect(await scene.read("NES/Game.srm")).toBe("mine");
  expect(await scene.read("NES/card.mcd")).toBe("newer");
  expect(faultLine(scene.keeper.faults())).toBe("");
});

const child = join(import.meta.dir, "../../../programs/saves-child.ts");
// A separate disk, which only the child sees and which disappears with it.
const onSmallDisk = (folder: string, ...argv: string[]) =>
  Bun.spawnSync([
    ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
    ...['mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"', folder, ...argv],
  ]);
const canMount = Bun.which("unshare") !== null && onSmallDisk("/tmp", "true").exitCode === 0;

// The test fills a small disk, which it needs the right to mount.
test.skipIf(!canMount)(
  "a full disk keeps the version before, and the new one waits in memory for space",
  async () => {
    const home = await newFolder();
    const memory = join(await newFolder(), "memory");
    const { stdout, stderr } = onSmallDisk(home, process.execPath, child, home, memory);
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual({
      full: {
        fault: `saves cannot be kept in ${home}: the disk is full: free some space`,
        kept: "old",
        files: ["Game.srm"],
      },
      after: { fault: "", bytes: 64 * 1024 },
    });
  },
);

test.skipIf(!canMount)(
  "copies of a preparation that failed halfway replace nothing that the game then saved in place",
  async () => {
    const home = await newFolder();
    const disk = await newFolder();
    const program = join(import.meta.dir, "../../../programs/saves-memory-child.ts");
    const { stdout, stderr } = onSmallDisk(disk, process.execPath, program, home, disk);
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual({ isInPlace: true, saves: ["new", "new", "new"] });
  },
);
