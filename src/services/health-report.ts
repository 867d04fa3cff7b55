/** The health of the service, by its checks. A failed check has a reason, which is a sentence. */
import { statfsSync } from "node:fs";
import { access, readdir } from "node:fs/promises";
import type { Health, HealthCheck } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { mediaFolderMsMax } from "../core/limits.ts";
import { noMediaAt } from "../core/operating-system.ts";

// With less, the next checkpoint of the database may not fit.
const freeBytesMin = 16 * 1024 * 1024;

interface HealthParts {
  readonly clock: Clock;
  readonly startedMs: number;
  readonly readers: () => Health["readers"];
  /** The fingerprint of the certificate; undefined without TLS. */
  readonly fingerprint: () => string | undefined;
  /** The connection to a broker; undefined without one in the settings. */
  readonly mqtt: () => Health["mqtt"];
  /** The server of updates; undefined without one in the settings. */
  readonly updates: () => Health["updates"];
  /** Each returns the reason of a failure, or an empty string; undefined if it does not apply. An error is a reason too. */
  readonly checks: readonly {
    readonly name: HealthCheck["name"];
    readonly ask: () => string | undefined | Promise<string>;
  }[];
}

export function createHealth({
  clock,
  startedMs,
  readers,
  fingerprint,
  mqtt,
  updates,
  checks: all,
}: HealthParts): () => Promise<Health> {
  return async () => {
    const checks = (await Promise.all(all.map(check))).filter((one) => one !== undefined);
    const print = fingerprint();
    const broker = mqtt();
    const server = updates();
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "degraded",
      readers: readers(),
      uptime: Math.floor((clock.now() - startedMs) / 1000),
      checks,
      ...(print === undefined ? {} : { tls: { fingerprint: print } }),
      ...(broker === undefined ? {} : { mqtt: broker }),
      ...(server === undefined ? {} : { updates: server }),
    };
  };
}

async function check({ name, ask }: HealthParts["checks"][number]): Promise<HealthCheck | undefined> {
  try {
    const reason = await ask();
    if (reason === undefined) return undefined;
    return reason === "" ? { name, ok: true } : { name, ok: false, reason };
  } catch (error) {
    return { name, ok: false, reason: messageOf(error) };
  }
}

/** The fault of a full disk, or an empty string. */
export function diskFault(folder: string): string {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  return freeBytes >= freeBytesMin
    ? ""
    : `only ${Math.floor(freeBytes / 1024)} KiB are free for the data folder`;
}

export interface FolderToCheck {
  readonly folder: string;
  /** The settings state it, so that it must exist. */
  readonly isStated: boolean;
  /** The folders in it of which the index has files. */
  readonly indexed: readonly (string | Uint8Array)[];
}

/** The fault of media folders that are missing, or have lost all that the index has of them. */
export function createMediaCheck(folders: () => readonly FolderToCheck[]): () => Promise<string> {
  // A drive of the network that does not answer holds one look, and not one for each question.
  const looks = new Map<string, Promise<string>>();
  const look = (one: FolderToCheck): Promise<string> => {
    const under = looks.get(one.folder) ?? faultOf(one).finally(() => looks.delete(one.folder));
    looks.set(one.folder, under);
    const late = Promise.withResolvers<string>();
    const seconds = mediaFolderMsMax / 1000;
    const sentence = `${noMediaAt} ${one.folder}: it did not answer within ${seconds} s`;
    const timer = setTimeout(() => late.resolve(sentence), mediaFolderMsMax);
    return Promise.race([under, late.promise]).finally(() => clearTimeout(timer));
  };
  return async () => {
    const faults = await Promise.all(folders().map(look));
    return faults.filter((fault) => fault !== "").join("; ");
  };
}

async function faultOf({ folder, isStated, indexed }: FolderToCheck): Promise<string> {
  if (indexed.length === 0 && !isStated) return "";
  for (const place of indexed.length === 0 ? [folder] : indexed) {
    // An empty folder that had files may be the mount point of an absent drive.
    const mayBeEmpty = place !== folder || indexed.length === 0;
    const path = typeof place === "string" ? place : Buffer.from(place);
    const isThere = mayBeEmpty
      ? access(path).then(() => true)
      : readdir(path).then(({ length }) => length > 0);
    if (await isThere.catch(() => false)) return "";
  }
  return `${noMediaAt} ${folder}: the folder is missing or empty, or its drive is not plugged in`;
}
