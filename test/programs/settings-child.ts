/**
 * Changes settings in a process of its own. `count FILE FROM`: one after another, and prints each number that is in the
 * file. `refused FOLDER` does so on a disk of its own, which it fills and then makes read-only, and prints the results
 * of the updates.
 */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSettings, type Settings } from "../../src/config/settings.ts";
import { messageOf } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";

const [mode, path = "", from = "0"] = process.argv.slice(2);
if (mode === "count") await count(path, Number(from));
else process.stdout.write(JSON.stringify(await refused(path)));

async function count(path: string, from: number): Promise<void> {
  const settings = await createSettings({ path, dataFolder: "/data", mustExist: true, log: silentLog });
  for (let number = from; ; number++) {
    // The list grows and shrinks, so the file's length changes.
    const reader = Array.from({ length: number % 20 }, (_, nth) => `simulated:${nth}`);
    await settings.update({ insertModeExitDelay: number, reader });
    process.stdout.write(`${number}\n`);
  }
}

async function refused(folder: string): Promise<unknown> {
  const path = join(folder, "config.toml");
  await writeFile(path, "# mine\n[log]\ndebug = false\n");
  const settings = await createSettings({ path, dataFolder: "/data", mustExist: true, log: silentLog });
  const full = join(folder, "full");
  await writeFile(full, Buffer.alloc(1 << 20)).catch(() => {});
  const onFull = await attempt(settings);
  await rm(full);
  remount(folder, "ro");
  const onReadOnly = await attempt(settings);
  remount(folder, "rw");
  const healed = await attempt(settings);
  await settings.close();
  return { onFull, onReadOnly, healed, text: await readFile(path, "utf8"), files: await readdir(folder) };
}

async function attempt(settings: Settings): Promise<unknown> {
  const updating = settings.update({ debug: true }).then(() => "saved", messageOf);
  const meanwhile = settings.current().log.debug;
  return { meanwhile, outcome: await updating, after: settings.current().log.debug };
}

function remount(folder: string, how: "ro" | "rw"): void {
  const { exitCode, stderr } = Bun.spawnSync(["mount", "-o", `remount,${how}`, folder]);
  if (exitCode !== 0) throw new Error(stderr.toString());
}
