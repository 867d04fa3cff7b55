/** Files with secrets in them are their owner's alone: looked over at each start, put right, and told. */
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The secrets of clients, who came and went, and the keys of certificates. */
const secretFiles = /^(tapdeck\.db.*|audit.*\.jsonl|tls\/.*key.*\.pem)$/;

/** Warns once for each file that others could read or write until now. What cannot be put right is told, and no reason to stop. */
export async function closeToOthers(dataFolder: string, log: Log): Promise<void> {
  const names = [...(await namesIn(dataFolder, "")), ...(await namesIn(dataFolder, "tls/"))];
  for (const name of names.filter((one) => secretFiles.test(one))) {
    const path = join(dataFolder, name);
    try {
      const { mode } = await stat(path);
      if ((mode & 0o077) === 0) continue;
      await chmod(path, mode & 0o700);
      log.warn("store", "others could read a file with secrets until now: pair anew whom you do not trust", {
        file: name,
      });
    } catch (error) {
      log.warn("store", "others may read a file with secrets", { file: name, error: messageOf(error) });
    }
  }
}

async function namesIn(folder: string, below: string): Promise<readonly string[]> {
  // No such folder yet: nothing in it to look over.
  const names = await readdir(join(folder, below)).catch(() => []);
  return names.map((name) => `${below}${name}`);
}
