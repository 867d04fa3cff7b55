/** The health of the service, from its checks. A failed check has its faults, and a sentence that joins them. */
import { statfsSync } from "node:fs";
import { access, readdir } from "node:fs/promises";
import type { Health, HealthCheck } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultLine, faultOf } from "../core/faults.ts";
import { certificateWarnDays, mediaFolderMsMax } from "../core/limits.ts";

// With fewer free bytes, the next checkpoint of the database may not fit.
const freeBytesMin = 16 * 1024 * 1024;

const dayMs = 24 * 60 * 60 * 1000;

export interface CertificateEnd {
  /** The setting that names the certificate, or `tls/owner.pem`, or `broker`. */
  readonly of: string;
  readonly endMs: number;
  /** The broker that showed the certificate. */
  readonly host?: string;
}

interface HealthParts {
  readonly clock: Clock;
  readonly readers: () => Health["readers"];
  /** The fingerprint of the certificate; undefined without TLS. */
  readonly fingerprint: () => string | undefined;
  /** The connection to a broker; undefined without one in the settings. */
  readonly mqtt: () => Health["mqtt"];
  /** The server of updates; undefined without one in the settings. */
  readonly updates: () => Health["updates"];
  /** The certificates that a person must renew. */
  readonly certificates: () => Promise<readonly CertificateEnd[]>;
  /** Each check returns its faults; undefined if it does not apply. An error is also a fault. */
  readonly checks: readonly {
    readonly name: HealthCheck["name"];
    readonly ask: () => readonly Fault[] | undefined | Promise<readonly Fault[] | undefined>;
  }[];
}

export function createHealth({
  clock,
  readers,
  fingerprint,
  mqtt,
  updates,
  certificates,
  checks: all,
}: HealthParts): () => Promise<Health> {
  // The clock of a board may be set after the start.
  const startedMs = performance.now();
  return async () => {
    const ends = await certificates();
    const ofEnds = { name: "certificates", ask: () => certificateFaults(ends, clock.now()) } as const;
    const checks = (await Promise.all([...all, ofEnds].map(check))).filter((one) => one !== undefined);
    const print = fingerprint();
    const broker = mqtt();
    const server = updates();
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "degraded",
      readers: readers(),
      uptime: Math.floor((performance.now() - startedMs) / 1000),
      checks,
      ...(print === undefined ? {} : { tls: { fingerprint: print } }),
      ...(broker === undefined ? {} : { mqtt: broker }),
      ...(server === undefined ? {} : { updates: server }),
      ...(ends.length === 0
        ? {}
        : { certificates: ends.map(({ of, endMs }) => ({ of, ends: new Date(endMs).toISOString() })) }),
    };
  };
}

async function check({ name, ask }: HealthParts["checks"][number]): Promise<HealthCheck | undefined> {
  const faults = await asked(name, ask);
  if (faults === undefined) return undefined;
  return faults.length === 0 ? { name, ok: true } : { name, ok: false, reason: faultLine(faults), faults };
}

async function asked(name: HealthCheck["name"], ask: HealthParts["checks"][number]["ask"]) {
  try {
    return await ask();
  } catch (error) {
    return [faultOf("check-failed", { subject: name, why: messageOf(error) })];
  }
}

/** The faults of certificates that end soon, or have ended; undefined if there is no certificate. */
export function certificateFaults(
  ends: readonly CertificateEnd[],
  nowMs: number,
): readonly Fault[] | undefined {
  if (ends.length === 0) return undefined;
  return ends.flatMap(({ of: subject, endMs, host }) => {
    const days = Math.floor((endMs - nowMs) / dayMs);
    if (days >= certificateWarnDays) return [];
    // If the certificate of a broker has ended, the connection fails and has a fault of its own.
    if (host !== undefined)
      return days < 0 ? [] : [faultOf("broker-certificate-ends", { subject: host, days: String(days) })];
    return [
      days < 0
        ? faultOf("certificate-ended", { subject })
        : faultOf("certificate-ends", { subject, days: String(days) }),
    ];
  });
}

/** The fault of a full disk. */
export function diskFaults(folder: string): readonly Fault[] {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  return freeBytes >= freeBytesMin
    ? []
    : [faultOf("disk-full", { kib: String(Math.floor(freeBytes / 1024)) })];
}

export interface FolderToCheck {
  readonly folder: string;
  /** True if the settings state the folder, so it must exist. */
  readonly isStated: boolean;
  /** The folders in it that hold files of the index. */
  readonly indexed: readonly (string | Uint8Array)[];
}

/** The faults of media folders that are missing, or in which no file of the index is left. */
export function createMediaCheck(folders: () => readonly FolderToCheck[]): () => Promise<readonly Fault[]> {
  // While a network drive does not answer, at most one check of it runs, however many callers ask.
  const looks = new Map<string, Promise<readonly Fault[]>>();
  const look = (one: FolderToCheck): Promise<readonly Fault[]> => {
    const under = looks.get(one.folder) ?? mediaFaults(one).finally(() => looks.delete(one.folder));
    looks.set(one.folder, under);
    const late = Promise.withResolvers<readonly Fault[]>();
    const seconds = String(mediaFolderMsMax / 1000);
    const silent = faultOf("media-silent", { subject: one.folder, seconds });
    const timer = setTimeout(() => late.resolve([silent]), mediaFolderMsMax);
    return Promise.race([under, late.promise]).finally(() => clearTimeout(timer));
  };
  return async () => (await Promise.all(folders().map(look))).flat();
}

async function mediaFaults({ folder, isStated, indexed }: FolderToCheck): Promise<readonly Fault[]> {
  if (indexed.length === 0 && !isStated) return [];
  for (const place of indexed.length === 0 ? [folder] : indexed) {
    // An empty folder that had files may be the mount point of an absent drive.
    const mayBeEmpty = place !== folder || indexed.length === 0;
    const path = typeof place === "string" ? place : Buffer.from(place);
    const isThere = mayBeEmpty
      ? access(path).then(() => true)
      : readdir(path).then(({ length }) => length > 0);
    if (await isThere.catch(() => false)) return [];
  }
  return [faultOf("media-missing", { subject: folder })];
}
