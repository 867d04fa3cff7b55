/**
 * Log lines on the way to stderr: gathered while a tap is under way and written when the loop is free again. Where nobody
 * takes them, as on a full disk or a pipe that is not read, the newest are lost, and nothing else is.
 */
import { logUnsentCharsMax } from "../core/limits.ts";

export interface LogLines {
  readonly write: (line: string) => void;
  /** Writes what is left: before the process ends. */
  readonly flush: () => void;
}

export interface LogOutput {
  /** Calls `done` when the text is written, or cannot be. */
  write(text: string, done: () => void): unknown;
}

export function createLogLines(output: LogOutput): LogLines {
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
    write(line) {
      if (unsentChars + line.length > logUnsentCharsMax) {
        lost += 1;
        return;
      }
      if (lost > 0) add(`warn  log: lines were lost count=${lost}`);
      lost = 0;
      add(line);
    },
    flush,
  };
}
