/**
 * Saves on a disk that is full, in a process of its own: `bun saves-child.ts HOME MEMORY`, where HOME is a small disk.
 * Prints the results as JSON.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { faultLine } from "../../src/core/faults.ts";
import { silentLog } from "../../src/core/log.ts";
import { createSaveKeeper } from "../../src/launch/saves/save-keeper.ts";

const [home = "", memory = ""] = process.argv.slice(2);
const kept = join(home, "NES/Game.srm");
await mkdir(join(home, "NES"));
await writeFile(kept, "old");
const keeper = createSaveKeeper({ home: () => home, memory, clock: systemClock, log: silentLog });

const game = await keeper.prepare("/media/NES/Game.nes");
if (game === undefined) throw new Error("no saves were brought");
await writeFile(join(game.folder, "NES/Game.srm"), "new".padEnd(64 * 1024));
const filler = join(home, "filler");
// The loop ends when the disk accepts no more bytes.
await writeFile(filler, Buffer.alloc(1024 * 1024)).catch(() => {});
const exited = Promise.resolve({ exitCode: 0 });
game.follow({ pid: process.pid, exited, gone: exited.then(() => {}) });
await keeper.settled();
const full = {
  fault: faultLine(keeper.faults()),
  kept: await readFile(kept, "utf8"),
  files: await readdir(join(home, "NES")),
};

await rm(filler);
// The next start of any game tries again to copy the saves home.
(await keeper.prepare("/media/SNES/Other.sfc"))?.drop();
await keeper.close();
process.stdout.write(
  JSON.stringify({
    full,
    after: { fault: faultLine(keeper.faults()), bytes: (await readFile(kept)).length },
  }),
);
