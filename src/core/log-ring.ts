/**
 * The newest lines of the log, in memory, for `logs` of the API. Lines of the level `debug` are not kept, because they hold
 * bytes and texts of cards.
 */
import { type Clock, rfc3339 } from "./clock.ts";
import { limitReached } from "./errors.ts";
import { logWaitersMax } from "./limits.ts";

const linesKeptMax = 2000; // Lines of some days of taps.
const ringCharsMax = 512 * 1024; // The characters of all kept lines in total.
const lineCharsMax = 4000; // One line, which may be as long as a stack trace. The console has the whole line.
const answerCharsMax = 256 * 1024; // One answer. In base64 twice, as in a sealed frame, the page stays below 1 MiB.

/** The kept levels, the worst first. A query for one level also finds the levels before it. */
export const keptLevels = ["error", "warn", "info"] as const;
export type KeptLevel = (typeof keptLevels)[number];

export interface KeptLine {
  /** A number that is larger than those of all earlier lines, also over restarts. */
  readonly id: number;
  readonly time: string;
  readonly level: KeptLevel;
  readonly area: string;
  /** The sentence and its facts. */
  readonly text: string;
}

export interface LogQuery {
  readonly level: KeptLevel;
  /** A part of the area or of the text, in upper or lower case. */
  readonly text: string;
  readonly sinceMs: number;
  readonly limit: number;
  /** Limits the page to lines with a smaller id. */
  readonly before?: number | undefined;
  /** Limits the page to lines with a larger id, the oldest of them first. An id that is not known yet counts as 0. */
  readonly after?: number | undefined;
}

export interface LogPage {
  /** The lines of the page, the oldest first. */
  readonly lines: readonly KeptLine[];
  /** Whether more lines fit: older ones, or with `after` newer ones. */
  readonly hasMore: boolean;
  /** The id of the newest line that the query has examined. */
  readonly last: number;
}

export type LogRing = ReturnType<typeof createLogRing>;

export function createLogRing(clock: Clock) {
  let lines: (KeptLine & { readonly ms: number })[] = [];
  let chars = 0;
  let last = clock.now() * 1000;
  const waiting = new Set<() => void>();

  const page = ({ level, text, sinceMs, limit, before, after }: LogQuery): LogPage => {
    const wanted = text.toLowerCase();
    const levels = keptLevels.slice(0, keptLevels.indexOf(level) + 1);
    const from = after === undefined || after > last ? 0 : after;
    const fits = (line: (typeof lines)[number]) =>
      line.id > from &&
      (before === undefined || line.id < before) &&
      line.ms >= sinceMs &&
      levels.includes(line.level) &&
      `${line.area}: ${line.text}`.toLowerCase().includes(wanted);
    const all = lines.filter(fits);
    const ordered = after === undefined ? all.toReversed() : all;
    let room = answerCharsMax;
    const found = ordered.slice(0, limit).filter((line, place) => {
      room -= line.text.length;
      return place === 0 || room >= 0;
    });
    const hasMore = found.length < all.length;
    const taken = after === undefined ? found.toReversed() : found;
    const seen = after !== undefined && hasMore ? (taken.at(-1)?.id ?? last) : last;
    return { lines: taken.map(({ ms: _, ...line }) => line), hasMore, last: seen };
  };

  return {
    keep(level: KeptLevel, area: string, text: string): void {
      const ms = clock.now();
      // The clock of a board may be set back.
      last = Math.max(last + 1, ms * 1000);
      const kept = text.length > lineCharsMax ? `${text.slice(0, lineCharsMax)} …` : text;
      lines.push({ id: last, time: rfc3339(ms), ms, level, area, text: kept });
      chars += kept.length;
      if (lines.length > linesKeptMax || chars > ringCharsMax) {
        // A quarter of the lines is dropped at once, so the cost does not come with each line.
        lines = lines.slice(Math.ceil(lines.length / 4));
        chars = lines.reduce((sum, line) => sum + line.text.length, 0);
      }
      for (const wake of waiting) wake();
    },
    page,
    /** Resolves with lines after `after` as soon as there are some, or with none after `ms` milliseconds, or if the signal aborts. */
    follow(query: LogQuery, ms: number, signal: AbortSignal): Promise<LogPage> | LogPage {
      const now = page(query);
      if (now.lines.length > 0 || ms === 0) return now;
      if (waiting.size >= logWaitersMax)
        throw limitReached("logWaitersMax", "too many callers follow the log: ask without waitMs");
      return new Promise((resolve) => {
        const end = (found: LogPage) => {
          waiting.delete(look);
          timer[Symbol.dispose]();
          signal.removeEventListener("abort", giveUp);
          resolve(found);
        };
        const look = () => {
          const found = page(query);
          if (found.lines.length > 0) end(found);
        };
        const giveUp = () => end(page(query));
        const timer = clock.after(ms, giveUp);
        waiting.add(look);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}
