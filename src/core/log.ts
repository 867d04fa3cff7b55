/**
 * The log: one line for each event, `area: sentence key=value`. Levels: `error` needs action, `warn` was handled, `info` is
 * an action of a person, `debug` holds bytes as spaced hex. Text of tokens is logged at `debug` only, secrets never.
 */
import type { LogRing } from "./log-ring.ts";
import { printable } from "./text.ts";

type LogLevel = "error" | "warn" | "info" | "debug";
type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  error(area: string, sentence: string, facts?: LogFacts): void;
  warn(area: string, sentence: string, facts?: LogFacts): void;
  info(area: string, sentence: string, facts?: LogFacts): void;
  debug(area: string, sentence: string, facts?: LogFacts): void;
  /** True if `debug` lines are written; callers check it before they build costly facts. */
  readonly debugging: boolean;
}

interface LogSettings {
  /** Whether `debug` lines are written. */
  readonly debug: boolean;
  /** If false, nothing is written. */
  readonly console: boolean;
}

/** A log whose settings may change while it is used. */
export interface ChangeableLog extends Log {
  /** The new level takes effect with the next line. */
  configure(settings: LogSettings): void;
}

interface LogOptions {
  readonly debug: boolean;
  /** Takes one whole line without its line end. */
  readonly write: (line: string) => void;
  /** Takes the same line in parts, except lines of the level `debug`. */
  readonly keep?: LogRing["keep"];
}

export function createLog({ debug, write, keep }: LogOptions): ChangeableLog {
  let settings: LogSettings = { debug, console: true };
  const line = (level: LogLevel, area: string, sentence: string, facts: LogFacts = {}) => {
    if (!settings.console) return;
    const tail = Object.entries(facts)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}=${quoted(String(value))}`)
      .join("");
    // Sentences quote cards and file names, which must not start a new line or control the terminal.
    const text = printable(`${sentence}${tail}`);
    write(`${level.padEnd(5)} ${area}: ${text}`);
    if (level !== "debug") keep?.(level, area, text);
  };
  return {
    error: (area, sentence, facts) => line("error", area, sentence, facts),
    warn: (area, sentence, facts) => line("warn", area, sentence, facts),
    info: (area, sentence, facts) => line("info", area, sentence, facts),
    debug: (area, sentence, facts) => {
      if (settings.debug) line("debug", area, sentence, facts);
    },
    get debugging() {
      return settings.debug && settings.console;
    },
    configure(now) {
      settings = now;
    },
  };
}

/** A log that writes nothing, for tests and tools. */
export const silentLog: Log = createLog({ debug: false, write: () => {} });

// Values with spaces or control characters are quoted, so one value cannot look like two.
function quoted(value: string): string {
  return /^[\x21\x23-\x7e\u00a0-\uffff]+$/.test(value) ? value : JSON.stringify(value);
}
