/**
 * Lines kept in a file that is replaced when it is full: `<name>.jsonl` is written, `<name>.1.jsonl` and so on are older.
 * Lines are gathered for a while and written in one go, and nothing is written while there are none.
 */
import { chmod, open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";

export interface RotatedLinesOptions {
  readonly folder: string;
  readonly name: string;
  readonly fileBytesMax: number;
  /** How many files there are, the one that is written among them. */
  readonly filesMax: number;
  /** What may wait to be written; beyond it, new lines are dropped. */
  readonly bufferBytesMax: number;
  readonly onFault: (error: unknown) => void;
}

export interface RotatedLines {
  /** Keeps a line for the next flush; false where there was no room. */
  add(line: string): boolean;
  /** Writes what was added; one write runs at a time, in order. Never rejects. */
  flush(): Promise<void>;
  /** The newest lines, newest first, also those that are not written yet. */
  newest(count: number): Promise<readonly string[]>;
}

const privateMode = 0o600;

export function createRotatedLines(options: RotatedLinesOptions): RotatedLines {
  const { fileBytesMax, filesMax, bufferBytesMax, onFault } = options;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let size: number | undefined;
  let writing: Promise<void> = Promise.resolve();

  const path = (age: number) =>
    join(options.folder, age === 0 ? `${options.name}.jsonl` : `${options.name}.${age}.jsonl`);
  const rotate = async () => {
    for (let age = filesMax - 2; age >= 0; age--) await unlessMissing(rename(path(age), path(age + 1)));
    size = 0;
  };
  const append = async (lines: string) => {
    // A pulled plug may have left half a line: what comes now begins on one of its own.
    const isFirst = size === undefined;
    size ??= (await unlessMissing(stat(path(0))))?.size ?? 0;
    const text = isFirst && size > 0 ? `\n${lines}` : lines;
    const bytes = Buffer.byteLength(text);
    if (size > 0 && size + bytes > fileBytesMax) await rotate();
    await using file = await open(path(0), "a", privateMode);
    if (size === 0) await chmod(path(0), privateMode);
    await file.writeFile(text);
    size += bytes;
  };
  const flush = () => {
    writing = writing.then(async () => {
      if (waiting.length === 0) return;
      const lines = waiting;
      const bytes = waitingBytes;
      [waiting, waitingBytes] = [[], 0];
      try {
        await append(lines.map((line) => `${line}\n`).join(""));
      } catch (error) {
        // The disk may have room later: what waits is bounded.
        waiting = [...lines, ...waiting];
        waitingBytes += bytes;
        size = undefined;
        onFault(error);
      }
    });
    return writing;
  };

  return {
    add(line) {
      const bytes = Buffer.byteLength(line) + 1;
      if (waitingBytes + bytes > bufferBytesMax) return false;
      waiting.push(line);
      waitingBytes += bytes;
      return true;
    },
    flush,
    async newest(count) {
      await writing;
      const found = waiting.toReversed();
      for (let age = 0; age < filesMax && found.length < count; age++) {
        const text = (await unlessMissing(readFile(path(age), "utf8"))) ?? "";
        found.push(
          ...text
            .split("\n")
            .filter((line) => line !== "")
            .reverse(),
        );
      }
      return found.slice(0, count);
    },
  };
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
