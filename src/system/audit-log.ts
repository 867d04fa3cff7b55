/**
 * The audit log: JSON lines in the data folder, in three files, so a flood evicts neither pairings nor changes.
 *
 *   audit.jsonl           pairings and revocations, which people make
 *   audit-changes.jsonl   changes by remote callers, one line each; the write quota bounds them
 *   audit-traffic.jsonl   refusals and remote launches: the first of a kind at once, a count of the rest after ten minutes
 *
 * An attacker causes a limited number of lines in any ten minutes, and therefore limited wear of an SD card.
 *
 * `<name>.jsonl` is the file that is written; `<name>.1.jsonl` and so on are older. Lines are gathered and written together.
 */
import { chmod, open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Audit, AuditEntry, From, RefusalReason } from "../core/audit.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { ifThere, messageOf } from "../core/errors.ts";
import { auditBufferBytesMax, auditFileBytesMax, auditFilesMax, auditKindsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";

interface AuditLogOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

// A power cut may lose the lines of this time.
const flushMs = 5000;
// The entries of a kind after its first are one line in this time. In total these are at most 65 kinds, or 10 KB.
const countMs = 10 * 60_000;

interface Counted {
  readonly entry: Omit<AuditEntry, "time" | "count">;
  count: number;
  lastMs: number;
}

export function createAuditLog({ folder, clock, log }: AuditLogOptions) {
  let hasWarned = false;
  const onFault = (error: unknown) => {
    if (!hasWarned) log.warn("audit", "the audit log cannot be written", { error: messageOf(error) });
    hasWarned = true;
  };
  const people = createRotatedLines(join(folder, "audit"), onFault);
  const changes = createRotatedLines(join(folder, "audit-changes"), onFault);
  const traffic = createRotatedLines(join(folder, "audit-traffic"), onFault);
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
  /** Writes the count of each kind, and restarts the counts. */
  const settle = () => {
    counting?.[Symbol.dispose]();
    counting = undefined;
    for (const { entry, count, lastMs } of counted.values())
      if (count > 0) write(traffic, { time: rfc3339(lastMs), ...entry, count });
    counted.clear();
  };
  const count = (kind: Counted["entry"]) => {
    const nowMs = clock.now();
    let entry = kind;
    let key = JSON.stringify(entry);
    if (!counted.has(key) && counted.size >= auditKindsMax) {
      // There are too many addresses to name each of them.
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

  const audit: Audit = {
    note: (note) => write(people, { time: rfc3339(clock.now()), ...note }),
    refused: (why: RefusalReason, from) => count({ event: "refused", why, ...whoOf(from) }),
    launched: (from) => count({ event: "launched", ...whoOf(from) }),
    changed: (from, { method, object }) =>
      write(changes, { time: rfc3339(clock.now()), event: "changed", ...whoOf(from), method, object }),
  };
  return {
    ...audit,
    /** The entries, the newest first. */
    async read(limit: number): Promise<readonly AuditEntry[]> {
      const files = [people, changes, traffic];
      const lines = (await Promise.all(files.map((file) => file.newest(limit)))).flat();
      const running = [...counted.values()]
        .filter(({ count: n }) => n > 0)
        .map(({ entry, count: n, lastMs }) => ({ time: rfc3339(lastMs), ...entry, count: n }));
      return [...running, ...lines.flatMap(entryOf)]
        .sort((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
        .slice(0, limit);
    },
    /** Writes the lines that wait. */
    async close(): Promise<void> {
      settle();
      flushing?.[Symbol.dispose]();
      flushing = undefined;
      await flush();
    },
  };
}

function whoOf({ address, client, name }: From): Pick<AuditEntry, "address" | "client" | "name"> {
  if (client === undefined) return { address };
  return name === undefined ? { address, client } : { address, client, name };
}

function entryOf(line: string): readonly AuditEntry[] {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? [value] : [];
  } catch {
    // A power cut ended the line early. The other lines are whole.
    return [];
  }
}

function isEntry(value: unknown): value is AuditEntry {
  return typeof value === "object" && value !== null && "time" in value && "event" in value;
}

type RotatedLines = ReturnType<typeof createRotatedLines>;

const privateMode = 0o600;

/** Makes rotated files. `stem` is their path without `.jsonl`. */
function createRotatedLines(stem: string, onFault: (error: unknown) => void) {
  let waiting: string[] = [];
  let waitingBytes = 0;
  let size: number | undefined;
  let writing: Promise<void> = Promise.resolve();

  const path = (age: number) => (age === 0 ? `${stem}.jsonl` : `${stem}.${age}.jsonl`);
  const rotate = async () => {
    for (let age = auditFilesMax - 2; age >= 0; age--) await ifThere(rename(path(age), path(age + 1)));
    size = 0;
  };
  const append = async (lines: string) => {
    // A power cut may have left half a line, so the first write begins a new one.
    const isFirst = size === undefined;
    size ??= (await ifThere(stat(path(0))))?.size ?? 0;
    const text = isFirst && size > 0 ? `\n${lines}` : lines;
    const bytes = Buffer.byteLength(text);
    if (size > 0 && size + bytes > auditFileBytesMax) await rotate();
    await using file = await open(path(0), "a", privateMode);
    if (size === 0) await chmod(path(0), privateMode);
    await file.writeFile(text);
    size += bytes;
  };
  /** Writes the lines that wait. One write runs at a time. It never rejects. */
  const flush = () => {
    writing = writing.then(async () => {
      if (waiting.length === 0) return;
      const lines = waiting;
      const bytes = waitingBytes;
      waiting = [];
      waitingBytes = 0;
      try {
        await append(lines.map((line) => `${line}\n`).join(""));
      } catch (error) {
        // The next flush tries again. A limit bounds the lines that wait.
        waiting = [...lines, ...waiting];
        waitingBytes += bytes;
        size = undefined;
        onFault(error);
      }
    });
    return writing;
  };

  return {
    /** Keeps a line for the next flush. */
    add(line: string): void {
      const bytes = Buffer.byteLength(line) + 1;
      if (waitingBytes + bytes > auditBufferBytesMax) return;
      waiting.push(line);
      waitingBytes += bytes;
    },
    flush,
    /** The newest lines, the newest first, with those that are not written yet. */
    async newest(count: number): Promise<readonly string[]> {
      await writing;
      const found = waiting.toReversed();
      for (let age = 0; age < auditFilesMax && found.length < count; age++) {
        const text = (await ifThere(readFile(path(age), "utf8"))) ?? "";
        const lines = text.split("\n").filter((line) => line !== "");
        found.push(...lines.reverse());
      }
      return found.slice(0, count);
    },
  };
}
