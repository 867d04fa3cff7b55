/**
 * Loads the native addons that the compiled program carries (tools/addons.ts). The runtime would unpack them to TMPDIR
 * and map them from there. A player that can write there could change the code of the service. The addons are therefore
 * written to a folder that is hidden from players.
 */
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Environment, ownRunFolder } from "./folders.ts";

let folder: string | undefined;

/** Chooses and makes the folder, and empties it. If this fails, the readers that need an addon report it. */
export function prepareAddonFolder(dataFolder: string, environment: Environment, log: Log): void {
  const run = ownRunFolder(environment);
  const wanted = join(run !== undefined && mayExecuteIn(run) ? run : dataFolder, "addons");
  folder = undefined;
  try {
    mkdirSync(wanted, { recursive: true, mode: 0o700 });
    const found = lstatSync(wanted);
    if (!found.isDirectory() || found.uid !== process.geteuid?.())
      throw new Error("it must be a folder of this user: remove what is there");
    chmodSync(wanted, 0o700);
    for (const name of readdirSync(wanted)) if (name.endsWith(".node")) rmSync(join(wanted, name));
    folder = wanted;
  } catch (error) {
    log.warn("service", "cannot use the folder for addons", { folder: wanted, error: messageOf(error) });
  }
}

/** The exports of the addon with this path inside the program. Throws the reason if it cannot be written or loaded. */
export function loadAddon(embedded: string): unknown {
  if (folder === undefined) throw new Error("there is no folder for addons");
  const path = join(folder, basename(embedded));
  // There may be a copy that could not be loaded.
  rmSync(path, { force: true });
  writeFileSync(path, readFileSync(embedded), { mode: 0o500, flag: "wx" });
  const loaded = { exports: {} };
  process.dlopen(loaded, path);
  return loaded.exports;
}

/**
 * True if files in the folder may be executed. They may not on a file system that is mounted noexec (access(2),
 * "EACCES"), as Debian's /run is.
 */
function mayExecuteIn(parent: string): boolean {
  const probe = join(parent, `.exec-${process.pid}`);
  try {
    writeFileSync(probe, "", { mode: 0o700, flag: "wx" });
    accessSync(probe, constants.X_OK);
    return true;
  } catch {
    // The folder cannot be used.
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}
