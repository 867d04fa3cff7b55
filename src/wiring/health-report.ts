/** The health of the service, by its checks. A failed check has a reason, which is a sentence. */
import { statfsSync } from "node:fs";
import type { Health, HealthCheck } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";

// With less, the next checkpoint of the database may not fit.
const freeBytesMin = 16 * 1024 * 1024;

interface HealthParts {
  readonly clock: Clock;
  readonly startedMs: number;
  readonly readers: () => Health["readers"];
  /** The fingerprint of the certificate; undefined without TLS. */
  readonly fingerprint: () => string | undefined;
  /** Each returns the reason of a failure, or an empty string. An error is a reason too. */
  readonly checks: readonly { readonly name: HealthCheck["name"]; readonly ask: () => string }[];
}

export function createHealth({
  clock,
  startedMs,
  readers,
  fingerprint,
  checks: all,
}: HealthParts): () => Health {
  return () => {
    const checks = all.map(({ name, ask }) => check(name, ask));
    const print = fingerprint();
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "degraded",
      readers: readers(),
      uptime: Math.floor((clock.now() - startedMs) / 1000),
      checks,
      ...(print === undefined ? {} : { tls: { fingerprint: print } }),
    };
  };
}

function check(name: HealthCheck["name"], ask: () => string): HealthCheck {
  try {
    const reason = ask();
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
