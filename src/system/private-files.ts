/** Closes what the service keeps to other users, at each start. Media, the config file and mapping files are the owner's. */
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The secrets of clients, who came and went, and the keys of certificates. */
const secretFiles = /^(tapdeck\.db.*|audit.*\.jsonl|tls\/.*key.*\.pem.*)$/;
/** The rest of what the service writes: names of media, its own certificate. */
const otherFiles = /^(media\.db.*|stick-[0-9a-f]+\.db.*|tls\/device\.pem.*)$/;

const pairAnew = "secrets file was readable by other users; re-pair clients you do not trust";
const ownerAlone = 0o700;
const groupSearches = 0o010;
const sticky = 0o1000;

/**
 * Takes others' access away from the data folder, its `tls`, and the files that the service keeps in both; logs a warning
 * for each. What cannot be changed is logged, and no reason to stop.
 *
 * A group may still pass through the data folder where its `media` is shared with that group by the setgid bit, as the
 * Debian package makes it (`packaging/systemd/tmpfiles.conf`).
 */
export async function closeToOthers(dataFolder: string, log: Log): Promise<void> {
  const isShared = await isSharedFolder(join(dataFolder, "media"));
  await close(dataFolder, { keep: isShared ? ownerAlone | groupSearches : ownerAlone, name: ".", log });
  // No such folder yet: it is made private.
  if (await exists(join(dataFolder, "tls")))
    await close(join(dataFolder, "tls"), { keep: ownerAlone, name: "tls", log });
  const names = [...(await namesIn(dataFolder, "")), ...(await namesIn(dataFolder, "tls/"))];
  for (const name of names) {
    const isSecret = secretFiles.test(name);
    if (!isSecret && !otherFiles.test(name)) continue;
    await close(join(dataFolder, name), {
      keep: ownerAlone,
      name,
      log,
      ...(isSecret ? { told: pairAnew } : {}),
    });
  }
}

interface Closing {
  /** The permissions that may stay. */
  readonly keep: number;
  /** For the log. */
  readonly name: string;
  readonly log: Log;
  readonly told?: string;
}

async function close(path: string, { keep, name, log, told }: Closing): Promise<void> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o777 & ~keep) === 0) return;
    // Such as /tmp.
    if ((mode & sticky) !== 0) throw new Error("it is a folder for all users: name another one with --data");
    await chmod(path, mode & (keep | 0o7000));
    log.warn("store", told ?? "others could look at what the service keeps until now", { file: name });
  } catch (error) {
    log.warn("store", "others may look at what the service keeps", { file: name, error: messageOf(error) });
  }
}

async function isSharedFolder(folder: string): Promise<boolean> {
  const groupWrites = 0o020;
  const setgid = 0o2000;
  const shared = groupWrites | setgid;
  // No such folder: it is shared with nobody.
  return stat(folder).then(
    ({ mode }) => (mode & shared) === shared,
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function namesIn(folder: string, below: string): Promise<readonly string[]> {
  // No such folder yet: nothing in it to look over.
  const names = await readdir(join(folder, below)).catch(() => []);
  return names.map((name) => `${below}${name}`);
}
