/**
 * A reader that sends lines, on a pty, like the sketch of an Arduino. It repeats `SCAN` with the card while it is present,
 * and sends `SCAN` alone when the card is gone.
 */

import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty, type Pty } from "../../drivers/io/termios.ts";
import type { Card, EmulatedReader, Line } from "./index.ts";

const repeatMs = 100;

export interface LineReader {
  /** A link to its port, which is the same after re-plugging, like /dev/serial/by-id. */
  readonly path: string;
  /** Sends these bytes. */
  say(bytes: Uint8Array | string): void;
  lay(card: Card): void;
  lift(): void;
  plug(): void;
  unplug(): Promise<void>;
  /** Called once, in the middle of the first line about the next card. */
  onceSpeaking(run: () => void): void;
  noise(seed: number): void;
  close(): Promise<void>;
}

export function createLineReader(): LineReader {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-line-"));
  const path = join(folder, "tty");
  let pty: Pty | undefined;
  let repeating: NodeJS.Timeout | undefined;
  let onceSpeaking: (() => void) | undefined;
  let noise: (() => Uint8Array) | undefined;

  // An unplugged port has no reader of the bytes.
  const say = (bytes: Uint8Array | string) => {
    const sent = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    void pty?.write(sent).catch(() => {});
  };
  const stop = () => clearInterval(repeating);
  const sayNoise = () => {
    if (noise !== undefined) say(noise());
  };
  const plug = () => {
    if (pty !== undefined) return;
    pty = openPty();
    rmSync(path, { force: true });
    symlinkSync(pty.path, path);
  };
  plug();
  return {
    path,
    say,
    plug,
    lay({ uid, text }) {
      stop();
      const line = new TextEncoder().encode(`SCAN\tuid=${uid}\ttext=${text}\n`);
      const run = onceSpeaking;
      onceSpeaking = undefined;
      sayNoise();
      say(line.subarray(0, line.length / 2));
      run?.();
      say(line.subarray(line.length / 2));
      repeating = setInterval(() => {
        sayNoise();
        say(line);
      }, repeatMs);
    },
    lift() {
      stop();
      sayNoise();
      say("SCAN\n");
    },
    async unplug() {
      stop();
      rmSync(path, { force: true });
      const gone = pty;
      pty = undefined;
      await gone?.close();
    },
    onceSpeaking: (run) => {
      onceSpeaking = run;
    },
    noise: (seed) => {
      noise = seed === 0 ? undefined : noiseOf(seed);
    },
    async close() {
      stop();
      await pty?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function linesOnPty(): EmulatedReader {
  const reader = createLineReader();
  const line: Line = {
    kind: "line",
    speaksOnly: true,
    plug: reader.plug,
    unplug: reader.unplug,
    onCommand: () => {},
    onceReading: reader.onceSpeaking,
    noise: reader.noise,
  };
  return {
    path: reader.path,
    expected: ({ uid, text }) => ({ type: "Unknown", uid, text, data: "" }),
    lay: (_session, card) => reader.lay(card),
    lift: () => reader.lift(),
    line,
    close: reader.close,
  };
}

/** Up to 40 random bytes, and a line feed after a byte that is no text, as a framing error leaves it. */
function noiseOf(seed: number): () => Uint8Array {
  let state = seed;
  const below = (limit: number) => {
    // The generator of Numerical Recipes. Its high bits are random enough for noise.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return () => {
    const bytes = Uint8Array.from({ length: below(41) }, () => below(256)).filter((byte) => byte !== 0x0a);
    return Uint8Array.of(...bytes, 0xff, 0x0a);
  };
}
