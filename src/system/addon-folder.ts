/**
 * The folder to which the runtime unpacks native addons, and from which it maps them. The runtime takes it from TMPDIR at its start.
 * A player that can write there changes the code of the service, so the folder is one that is hidden from players.
 */
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Environment, ownRunFolder, playersFolder, playersTemporary } from "./folders.ts";

/** The environment with which this program has to start again for a folder of its own; undefined if it has one. */
export function environmentForAddons(dataFolder: string, environment: Environment): Environment | undefined {
  const present = environment.TMPDIR ?? "";
  if (present === inData(dataFolder) || isInRun(present, environment)) return undefined;
  const run = ownRunFolder(environment);
  const folder = run !== undefined && mayExecuteIn(run) ? join(run, "addons") : inData(dataFolder);
  return { ...environment, TMPDIR: folder, [playersTemporary]: tmpdir() };
}

/** Makes the folder, and removes addons of earlier starts. If that fails, readers that need an addon report it. */
export function prepareAddonFolder(dataFolder: string, environment: Environment, log: Log): void {
  const folder = environment.TMPDIR ?? "";
  if (folder !== inData(dataFolder) && !isInRun(folder, environment)) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    if (!found.isDirectory() || found.uid !== process.geteuid?.())
      throw new Error("it must be a folder of this user: remove what is there");
    chmodSync(folder, 0o700);
    for (const name of readdirSync(folder)) if (name.startsWith(".bun-")) rmSync(join(folder, name));
  } catch (error) {
    log.warn("service", "cannot use the folder for addons", { folder, error: messageOf(error) });
  }
}

const inData = (dataFolder: string) => join(dataFolder, "addons");

function isInRun(folder: string, environment: Environment): boolean {
  const run = ownRunFolder(environment);
  if (run === undefined) return false;
  const isIn = (parent: string) => folder === parent || folder.startsWith(`${parent}/`);
  return isIn(run) && !isIn(playersFolder(environment));
}

/** False on a file system that is mounted noexec (access(2), "EACCES"), as Debian's /run is. */
function mayExecuteIn(folder: string): boolean {
  const probe = join(folder, `.exec-${process.pid}`);
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
