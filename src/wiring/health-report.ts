/** Whether the service is truly well: readers, database, disk, settings and players, each with a sentence where it is not. */
import { statfsSync } from "node:fs";
import type { Health, HealthCheck } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";

// Less than this, and the database's next checkpoint may not fit.
const freeBytesMin = 16 * 1024 * 1024;

export interface HealthParts {
  readonly clock: Clock;
  readonly startedMs: number;
  readonly dataFolder: string;
  /** Why what games saved is not kept, or an empty string. */
  readonly savesFault: () => string;
  readonly connected: () => number;
  readonly configured: () => number;
  /** Sentences on readers that should be there and are not. */
  readonly readerFaults: () => readonly string[];
  /** Throws where the database does not answer. */
  readonly askDatabase: () => void;
  /** Why the config file as it stands is not in use. */
  readonly settingsFault: () => string | undefined;
  /** Why players are not confined, or an empty string. */
  readonly playersFault: () => string;
  /** Of the certificate that is shown; undefined without TLS. */
  readonly fingerprint: () => string | undefined;
  /** What the image around the service found wrong; none elsewhere. */
  readonly machine: readonly { readonly name: HealthCheck["name"]; readonly ask: () => string }[];
}

export function createHealth(parts: HealthParts): () => Health {
  return () => {
    const checks = [
      check("readers", () => parts.readerFaults().join("; ")),
      check("database", () => {
        parts.askDatabase();
        return "";
      }),
      check("disk", () => [fullness(parts.dataFolder), parts.savesFault()].filter(Boolean).join("; ")),
      check("settings", () => parts.settingsFault() ?? ""),
      check("players", parts.playersFault),
      ...parts.machine.map(({ name, ask }) => check(name, ask)),
    ];
    const fingerprint = parts.fingerprint();
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "degraded",
      readers: { connected: parts.connected(), configured: parts.configured() },
      uptime: Math.floor((parts.clock.now() - parts.startedMs) / 1000),
      checks,
      ...(fingerprint === undefined ? {} : { tls: { fingerprint } }),
    };
  };
}

/** `ask` returns why it is not well, or an empty string; what it throws is a reason too. */
function check(name: HealthCheck["name"], ask: () => string): HealthCheck {
  try {
    const reason = ask();
    return reason === "" ? { name, ok: true } : { name, ok: false, reason };
  } catch (error) {
    return { name, ok: false, reason: messageOf(error) };
  }
}

function fullness(folder: string): string {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  return freeBytes >= freeBytesMin
    ? ""
    : `only ${Math.floor(freeBytes / 1024)} KiB are free where the data is kept`;
}
