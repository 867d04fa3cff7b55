/** What a player wrote last to its error output: read on and on, so that it never waits, and kept as a few lines. */
import { playerWordsBytesMax } from "../core/limits.ts";

export interface LastWords {
  /** The last lines so far, or, where the player has ended, of all that it wrote; empty where it said nothing. */
  lines(): Promise<string>;
  /** Lets go of the stream, whoever holds its other end. */
  close(): Promise<void>;
}

// What an ended player wrote is in the pipe already: this is about whoever else holds the pipe open.
const drainMsMax = 100;
const linesMax = 4;
const lineCharsMax = 200;

export function keepLastWords(stream: ReadableStream<Uint8Array>, bytesMax = playerWordsBytesMax): LastWords {
  const reader = stream.getReader();
  let kept = new Uint8Array(0);
  const reading = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const both = read.value.length >= bytesMax ? read.value : Buffer.concat([kept, read.value]);
      kept = both.slice(-bytesMax);
    }
    // A stream that fails has nothing more to say.
  })().catch(() => {});
  return {
    async lines() {
      await Promise.race([reading, Bun.sleep(drainMsMax)]);
      return lastLines(new TextDecoder().decode(kept));
    },
    async close() {
      await reader.cancel().catch(() => {
        // It has ended, or failed: there is nothing to let go of.
      });
      await reading;
    },
  };
}

/** The last lines that say something, without what only a terminal understands. */
export function lastLines(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to go.
  const plain = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/[\x00-\x08\x0b-\x1f\x7f\ufffd]/g, "");
  const lines = plain
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines
    .slice(-linesMax)
    .map((line) => (line.length > lineCharsMax ? `${line.slice(0, lineCharsMax)}...` : line))
    .join("\n");
}
