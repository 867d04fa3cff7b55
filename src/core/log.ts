/**
 * The log: one line, one event, `area: sentence key=value`. Levels: `error` someone must act, `warn` we coped,
 * `info` a person did something, `debug` bytes as spaced hex. Token text stands at `debug` only; secrets nowhere.
 */
import { printable } from "./text.ts";

type LogLevel = "error" | "warn" | "info" | "debug";
type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  error(area: string, sentence: string, facts?: LogFacts): void;
  warn(area: string, sentence: string, facts?: LogFacts): void;
  info(area: string, sentence: string, facts?: LogFacts): void;
  debug(area: string, sentence: string, facts?: LogFacts): void;
  /** True where `debug` lines are kept: ask before you build costly facts. */
  readonly debugging: boolean;
}

interface LogSettings {
  /** Whether `debug` lines are kept. */
  readonly debug: boolean;
  /** False: nothing is written at all. */
  readonly console: boolean;
}

/** A log whose settings may change while it is used. */
export interface ChangeableLog extends Log {
  /** Takes effect with the next line. */
  configure(settings: LogSettings): void;
}

interface LogOptions {
  readonly debug: boolean;
  /** True where absent. */
  readonly console?: boolean;
  /** Takes one whole line without its line end. */
  readonly write: (line: string) => void;
}

export function createLog({ debug, console: written = true, write }: LogOptions): ChangeableLog {
  let settings: LogSettings = { debug, console: written };
  const line = (level: LogLevel, area: string, sentence: string, facts: LogFacts = {}) => {
    if (!settings.console) return;
    const tail = Object.entries(facts)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}=${quoted(String(value))}`)
      .join("");
    // Sentences hold words of cards and names of files: none of them begins a line of its own, or steers a terminal.
    write(printable(`${level.padEnd(5)} ${area}: ${sentence}${tail}`));
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

/** For tests and tools that want none. */
export const silentLog: Log = createLog({ debug: false, write: () => {} });

// Values with spaces or control characters are quoted, so that one value can never look like two.
function quoted(value: string): string {
  return /^[\x21\x23-\x7e\u00a0-\uffff]+$/.test(value) ? value : JSON.stringify(value);
}
