/** Checks readers, database, disk, settings and players. A failed check has a reason, which is a sentence. */
import { statfsSync } from "node:fs";
import type { Health, HealthCheck } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";

// With less, the next checkpoint of the database may not fit.
const freeBytesMin = 16 * 1024 * 1024;

interface HealthParts {
  readonly clock: Clock;
  readonly startedMs: number;
  readonly dataFolder: string;
  /** Why saves of games are not kept, or an empty string. */
  readonly savesFault: () => string;
  readonly connected: () => number;
  readonly configured: () => number;
  /** Sentences about missing readers. */
  readonly readerFaults: () => readonly string[];
  /** Throws if the database does not answer. */
  readonly askDatabase: () => void;
  /** Why the current config file is not in use. */
  readonly settingsFault: () => string | undefined;
  /** Why players are not confined, or an empty string. */
  readonly playersFault: () => string;
  /** Of the certificate; undefined without TLS. */
  readonly fingerprint: () => string | undefined;
  /** Checks of the SD image; none elsewhere. */
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

/** `ask` returns the reason of a failure, or an empty string. An error is a reason too. */
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
