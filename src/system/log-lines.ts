/**
 * The buffer of log lines before stderr. A tap adds lines, and the event loop writes them when it is free. If the output is
 * blocked (a full disk, a pipe that nobody reads), the newest lines are dropped.
 */
import { logUnsentCharsMax } from "../core/limits.ts";

interface LogOutput {
  /** Writes the text, and calls `done` afterwards, also after a failure. */
  write(text: string, done: () => void): unknown;
}

export function createLogLines(output: LogOutput) {
  let waiting: string[] = [];
  let unsentChars = 0;
  let lost = 0;
  const flush = () => {
    if (waiting.length === 0) return;
    const text = `${waiting.join("\n")}\n`;
    waiting = [];
    output.write(text, () => {
      unsentChars -= text.length;
    });
  };
  const add = (line: string) => {
    unsentChars += line.length + 1;
    if (waiting.push(line) === 1) setTimeout(flush, 0);
  };
  return {
    write(line: string): void {
      if (unsentChars + line.length > logUnsentCharsMax) {
        lost += 1;
        return;
      }
      if (lost > 0) add(`warn  log: lines were lost count=${lost}`);
      lost = 0;
      add(line);
    },
    /** Writes the remaining lines before the process ends. */
    flush,
  };
}
