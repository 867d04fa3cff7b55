/** Closes the service's files to other users at each start. Media, the config file and mapping files are the owner's. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { prepareAddonFolder } from "./addon-folder.ts";

/** Files with the secrets of clients, the history, and the keys of certificates. */
const secretFiles = /^(tapdeck\.db.*|audit.*\.jsonl|tls\/.*key.*\.pem.*)$/;
/** The service's other files: names of media, its own certificate, its account at a broker, and shared cards. */
const otherFiles = /^(media\.db.*|stick-[0-9a-f]+\.db.*|tls\/device\.pem.*|mqtt-.*|shared-cards\..*)$/;

const pairAnew = "secrets file was readable by other users; re-pair clients you do not trust";
const readable = "other users could read this file until now";
const ownerAlone = 0o700;
const groupSearches = 0o010;
const sticky = 0o1000;

/** Makes the data folder, closes its secrets to other users, and prepares the folder for addons. Throws `StartError` if it cannot be made. */
export async function prepareDataFolder(folder: string, log: Log): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      exitCodes.cannotCreate,
      `cannot make the data folder ${folder}: ${messageOf(error)}. Name another one with --data.`,
      error,
    );
  }
  await closeToOthers(folder, log);
  prepareAddonFolder(folder, process.env, log);
}

/**
 * Removes the access of other users to the data folder, its `tls`, and the service's files in both. Logs a warning for each
 * change and each failure; a failure does not stop the service.
 *
 * A group may still enter the data folder if `media` is shared with it by the setgid bit. The Debian package makes it
 * so (`packaging/systemd/tmpfiles.conf`).
 */
export async function closeToOthers(dataFolder: string, log: Log): Promise<void> {
  const isShared = await isSharedFolder(join(dataFolder, "media"));
  await close(dataFolder, {
    keep: isShared ? ownerAlone | groupSearches : ownerAlone,
    name: dataFolder,
    log,
  });
  // The service makes a missing folder private.
  const tls = join(dataFolder, "tls");
  if (existsSync(tls)) await close(tls, { keep: ownerAlone, name: "tls", log });
  const names = [...(await namesIn(dataFolder, "")), ...(await namesIn(dataFolder, "tls/"))];
  for (const name of names) {
    const isSecret = secretFiles.test(name);
    if (!isSecret && !otherFiles.test(name)) continue;
    const warning = isSecret ? pairAnew : readable;
    await close(join(dataFolder, name), { keep: ownerAlone, name, log, warning });
  }
}

interface Closing {
  /** The permissions that may stay. */
  readonly keep: number;
  /** The name of the file in the log. */
  readonly name: string;
  readonly log: Log;
  readonly warning?: string;
}

async function close(path: string, { keep, name, log, warning = readable }: Closing): Promise<void> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o777 & ~keep) === 0) return;
    // Such a folder belongs to all users, as /tmp does.
    if ((mode & sticky) !== 0) throw new Error("it is a folder for all users: name another one with --data");
    await chmod(path, mode & (keep | 0o7000));
    log.warn("store", warning, { file: name });
  } catch (error) {
    log.warn("store", "other users may read this file", { file: name, error: messageOf(error) });
  }
}

async function isSharedFolder(folder: string): Promise<boolean> {
  const groupWrites = 0o020;
  const setgid = 0o2000;
  const shared = groupWrites | setgid;
  // A missing folder is not shared.
  const { mode } = await stat(folder).catch(() => ({ mode: 0 }));
  return (mode & shared) === shared;
}

async function namesIn(folder: string, below: string): Promise<readonly string[]> {
  // A missing folder has no files.
  const names = await readdir(join(folder, below)).catch(() => []);
  return names.map((name) => `${below}${name}`);
}
