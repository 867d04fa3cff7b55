/**
 * The audit log: JSON lines in the data folder, in three files, so that no flood can push pairings or changes out.
 *
 *   audit.jsonl           pairings and revocations, which people make
 *   audit-changes.jsonl   changes by remote callers, one line each; the write quota bounds them
 *   audit-traffic.jsonl   refusals and remote launches, counted: the first of a kind at once, the rest of a while as one
 *
 * Whatever an attacker does costs a bounded number of lines in each while, and so a bounded wear of an SD card.
 */
import type { Audit, AuditEntry, From, Refusal } from "../core/audit.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { auditBufferBytesMax, auditFileBytesMax, auditFilesMax, auditKindsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { createRotatedLines, type RotatedLines } from "./rotated-lines.ts";

export interface AuditLog extends Audit {
  /** Newest first. */
  read(limit: number): Promise<readonly AuditEntry[]>;
  /** Writes what waits. */
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

// What the plug may take of it. One write a while, and none where nothing happened.
const flushMs = 5000;
// What comes of a kind in this time behind its first is one line: at most 65 kinds, 10 KB, each ten minutes.
const countMs = 10 * 60_000;

interface Counted {
  readonly entry: Omit<AuditEntry, "time" | "count">;
  count: number;
  lastMs: number;
}

export function createAuditLog({ folder, clock, log }: AuditLogOptions): AuditLog {
  let hasWarned = false;
  const onFault = (error: unknown) => {
    if (!hasWarned) log.warn("audit", "the audit log cannot be written", { error: messageOf(error) });
    hasWarned = true;
  };
  const limits = {
    folder,
    fileBytesMax: auditFileBytesMax,
    filesMax: auditFilesMax,
    bufferBytesMax: auditBufferBytesMax,
    onFault,
  };
  const people = createRotatedLines({ ...limits, name: "audit" });
  const changes = createRotatedLines({ ...limits, name: "audit-changes" });
  const traffic = createRotatedLines({ ...limits, name: "audit-traffic" });
  const counted = new Map<string, Counted>();
  let flushing: Disposable | undefined;
  let counting: Disposable | undefined;

  const write = (lines: RotatedLines, entry: AuditEntry) => {
    lines.add(JSON.stringify(entry));
    flushing ??= clock.after(flushMs, () => {
      flushing = undefined;
      void flush();
    });
  };
  const flush = async () => {
    await Promise.all([people.flush(), changes.flush(), traffic.flush()]);
  };
  /** Tells what was counted behind the first of each kind, and begins anew. */
  const settle = () => {
    counting?.[Symbol.dispose]();
    counting = undefined;
    for (const { entry, count, lastMs } of counted.values())
      if (count > 0) write(traffic, { time: rfc3339(lastMs), ...entry, count });
    counted.clear();
  };
  const count = (kind: Omit<AuditEntry, "time" | "count">) => {
    const nowMs = clock.now();
    let entry = kind;
    let key = JSON.stringify(entry);
    if (!counted.has(key) && counted.size >= auditKindsMax) {
      // From too many places to name them all.
      entry = { event: kind.event, ...(kind.why === undefined ? {} : { why: kind.why }), address: "others" };
      key = JSON.stringify(entry);
    }
    const known = counted.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.lastMs = nowMs;
      return;
    }
    counted.set(key, { entry, count: 0, lastMs: nowMs });
    write(traffic, { time: rfc3339(nowMs), ...entry });
    counting ??= clock.after(countMs, settle);
  };

  return {
    note: (note) => write(people, { time: rfc3339(clock.now()), ...note }),
    refused: (why: Refusal, from) => count({ event: "refused", why, ...whoOf(from) }),
    launched: (from) => count({ event: "launched", ...whoOf(from) }),
    changed: (from, { method, object }) =>
      write(changes, { time: rfc3339(clock.now()), event: "changed", ...whoOf(from), method, object }),
    async read(limit) {
      const files = [people, changes, traffic];
      const lines = (await Promise.all(files.map((file) => file.newest(limit)))).flat();
      const running = [...counted.values()]
        .filter(({ count: n }) => n > 0)
        .map(({ entry, count: n, lastMs }) => ({ time: rfc3339(lastMs), ...entry, count: n }));
      return [...running, ...lines.flatMap(entryOf)]
        .sort((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
        .slice(0, limit);
    },
    async close() {
      settle();
      flushing?.[Symbol.dispose]();
      flushing = undefined;
      await flush();
    },
  };
}

function whoOf({ address, client }: From): { readonly address: string; readonly client?: string } {
  return client === undefined ? { address } : { address, client };
}

/** None for a line that a pulled plug cut in two. */
function entryOf(line: string): readonly AuditEntry[] {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? [value] : [];
  } catch {
    // Half a line: the others are whole.
    return [];
  }
}

function isEntry(value: unknown): value is AuditEntry {
  return typeof value === "object" && value !== null && "time" in value && "event" in value;
}
