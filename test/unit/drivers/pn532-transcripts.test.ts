/**
 * The PN532 driver, byte for byte: test/transcripts/pn532-uart, one file per behaviour.
 * Covers: drivers/pn532-uart.ts.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readerFaults } from "../../../src/core/reader-faults.ts";
import { type Delivery, expectedOf, parseTranscript, play } from "../../helpers/scripted-link.ts";

const folder = join(import.meta.dir, "../../transcripts/pn532-uart");
const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));

test("there are transcripts", () => {
  expect(names.length).toBeGreaterThan(20);
});

for (const name of names) {
  const lines = parseTranscript(readFileSync(join(folder, name), "utf8"));
  const expected = expectedOf(lines);
  const longest = Math.max(0, ...lines.filter(({ mark }) => mark === "<").map(({ text }) => bytesIn(text)));

  describe(name.replace(/\.txt$/, "").replaceAll("-", " "), () => {
    test("goes as written", async () => {
      expect(await play(lines)).toEqual(expected);
    });

    test("goes the same at every split of what is received", async () => {
      for (let at = 1; at < longest; at++) expect(await play(lines, splitAt(at))).toEqual(expected);
    });

    test("goes the same with every byte in a read of its own, and with noise between frames", async () => {
      expect(await play(lines, (bytes) => Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(
        expected,
      );
      const damaged = readerFaults.badFrames;
      for (let seed = 1; seed <= 20; seed++) expect(await play(lines, withNoise(seed))).toEqual(expected);
      if (longest > 0) expect(readerFaults.badFrames).toBeGreaterThan(damaged);
    });
  });
}

function bytesIn(text: string): number {
  return text.split(" ").length;
}

/** Cuts each run that is long enough at the same offset, so each offset of each run is cut once. */
function splitAt(at: number): Delivery {
  return (bytes) => (at < bytes.length ? [bytes.subarray(0, at), bytes.subarray(at)] : [bytes]);
}

/** Up to eight bytes before and after each run; none that could begin a frame, which has transcripts of its own. */
function withNoise(seed: number): Delivery {
  let state = seed;
  const below = (limit: number) => {
    // Numerical Recipes' generator, whose high bits are random enough for noise.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const noise = () => Uint8Array.from({ length: below(9) }, () => 1 + below(254));
  return (bytes) => [noise(), bytes, noise()];
}
