/**
 * The share of the media folder for PCs, on the image. The service asks root's script `overlay/usr/lib/tapdeck/share`,
 * by the pipe of `machine`, to start Samba's file server. The script reports in the folder that TAPDECK_MACHINE names:
 *
 *   share   lines of `key=value`: state and fault
 *
 * The service sends the script a hash of the password, because SMB compares with that hash. While the share is on, the
 * service announces it to Windows. Avahi announces it to other systems.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { watchFolder } from "../config/watch-files.ts";
import { shareReportBytesMax } from "../core/console-limits.ts";
import { coded, failed, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isSharePassword, type ShareReport, shareReport } from "../core/share-shapes.ts";
import { ask } from "../system/update-engine.ts";

interface ShareParts {
  /** The folder of the reports; empty if this is not the image. */
  readonly folder: string;
  /** The descriptor of the pipe. */
  readonly pipe: number;
  readonly log: Log;
  /** Announces this device to Windows until disposed. */
  readonly announce: (name: string) => Promise<AsyncDisposable>;
}

/** Follows the report until closed. A machine that is not the image has no share of ours. */
export function followShare({ folder, pipe, log, announce }: ShareParts) {
  let seen = readReport(folder);
  /** The time of the report at the last change of the password. A report of this time is older than the change. */
  let overtakenMs: number | undefined;
  let announced: Promise<AsyncDisposable | undefined> = Promise.resolve(undefined);
  const order = async (...words: readonly string[]) => {
    if (seen.state === "none")
      throw coded(
        "share-elsewhere",
        failed("only Tapdeck's own image has a share for PCs: use that of this system"),
      );
    await ask(pipe, ["share", ...words].join(" "));
  };
  /** Begins or ends the announcement, after the change before has ended. */
  const follow = (isOn: boolean) => {
    announced = announced.then(async (host) => {
      if (isOn === (host !== undefined)) return host;
      if (!isOn) return void (await host?.[Symbol.asyncDispose]());
      try {
        return await announce(hostname());
      } catch (error) {
        log.warn("share", "Windows does not list this device", { error: messageOf(error) });
        return undefined;
      }
    });
  };
  const look = () => {
    if (overtakenMs !== undefined && timeOfReport(folder) === overtakenMs) return;
    overtakenMs = undefined;
    const now = readReport(folder);
    if (!isStarting && Bun.deepEquals(now, seen)) return;
    seen = now;
    follow(now.state === "on");
  };
  let isStarting = true;
  const watching = folder === "" ? undefined : watchFolder(folder, look);
  isStarting = false;
  return {
    report: () => seen,
    async set({ password }: { readonly password: string }): Promise<void> {
      if (seen.state !== "none" && !isSharePassword(password))
        throw coded("share-password", failed("the password of the share has 8 to 63 characters"));
      const before = timeOfReport(folder);
      await order("set", ntHashOf(password));
      overtakenMs = before;
      seen = { state: "starting", ...(seen.host === undefined ? {} : { host: seen.host }) };
      // The script may have reported already.
      look();
    },
    remove: () => order("remove"),
    async close() {
      watching?.[Symbol.dispose]();
      follow(false);
      await announced;
    },
  };
}

/** The NT hash, by which SMB compares passwords (MS-NLMP 3.3.1, NTOWFv1). With it a PC can log in. */
export function ntHashOf(password: string): string {
  return new Bun.CryptoHasher("md4").update(Buffer.from(password, "utf16le")).digest("hex").toUpperCase();
}

function timeOfReport(folder: string): number | undefined {
  return statSync(join(folder, "share"), { throwIfNoEntry: false })?.mtimeMs;
}

function readReport(folder: string): ShareReport {
  const path = join(folder, "share");
  if (folder === "" || !existsSync(path)) return { state: "none" };
  try {
    return shareReportIn(readFileSync(path, "latin1").slice(0, shareReportBytesMax), hostname());
  } catch {
    return { state: "none" }; // The script replaces the file at this moment, and the watch reports that.
  }
}

/** Reads the lines of the script. The state is `none` if the lines are cut off or from another version. */
export function shareReportIn(text: string, host: string): ShareReport {
  const facts = new Map<string, string>();
  for (const [, key = "", value = ""] of text.matchAll(/^(\w+)=(.*)$/gm)) facts.set(key, value);
  const { state, fault } = Object.fromEntries(facts);
  const read = v.safeParse(shareReport, { state, host, ...(fault === undefined ? {} : { fault }) });
  return read.success ? read.output : { state: "none" };
}
