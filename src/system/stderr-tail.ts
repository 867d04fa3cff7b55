/** The last lines of a player's error output. The output is read without pause, so the player never blocks. */
import { playerWordsBytesMax } from "../core/limits.ts";

// The time to read the output of an ended player, which is in the pipe already. Another process may hold the pipe open.
const drainMsMax = 100;
const linesMax = 4;
const lineCharsMax = 200;

export function keepLastWords(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  let kept = new Uint8Array(0);
  const reading = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const both = read.value.length >= playerWordsBytesMax ? read.value : Buffer.concat([kept, read.value]);
      kept = both.slice(-playerWordsBytesMax);
    }
    // An error of the stream also means its end.
  })().catch(() => {});
  return {
    /** The last lines so far, or all of them after the player has ended; empty without output. */
    async lines(): Promise<string> {
      await Promise.race([reading, Bun.sleep(drainMsMax)]);
      return lastLines(new TextDecoder().decode(kept));
    },
    /** Stops reading, even if another process holds the pipe open. */
    async close(): Promise<void> {
      // A stream that has ended needs no cancel.
      await reader.cancel().catch(() => {});
      await reading;
    },
  };
}

/** The last lines that are not empty, without control characters. */
export function lastLines(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters.
  const plain = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/[\x00-\x08\x0b-\x1f\x7f\ufffd]/g, "");
  const lines = plain.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .slice(-linesMax)
    .map((line) => (line.length > lineCharsMax ? `${line.slice(0, lineCharsMax)}...` : line))
    .join("\n");
}
