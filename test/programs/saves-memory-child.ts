/**
 * Saves that do not fit into the memory, in a process of its own: `bun saves-memory-child.ts HOME DISK`, where DISK is a
 * small disk. Whichever two of the three saves are first, the second one fills the disk. Prints the saves at the end.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createSaveKeeper } from "../../src/launch/saves/save-keeper.ts";

const [home = "", disk = ""] = process.argv.slice(2);
const names = ["Game.srm", "Game.rtc", "card.mcd"];
const write = async (text: string) => {
  for (const name of names) await writeFile(join(home, "NES", name), text.padEnd(300 * 1024));
};
const openKeeper = () =>
  createSaveKeeper({
    home: () => home,
    memory: join(disk, "memory"),
    clock: systemClock,
    log: silentLog,
  });
await mkdir(join(home, "NES"));
await write("old");
const keeper = openKeeper();
const game = await keeper.prepare("/media/NES/Game.nes");
// RetroArch writes in place.
await write("new");
await keeper.close();
// The next service looks for saves that the first one left.
const next = openKeeper();
await next.settled();
await next.close();
const saves = await Promise.all(names.map((name) => readFile(join(home, "NES", name), "utf8")));
process.stdout.write(
  JSON.stringify({ isInPlace: game?.folder === home, saves: saves.map((text) => text.trimEnd()) }),
);
