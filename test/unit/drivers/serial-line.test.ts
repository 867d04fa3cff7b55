/** A reader that sends lines, on a real pty: floods, rates, and lines at every split. */
import { expect, test } from "bun:test";
import { serialLine } from "../../../drivers/serial-line.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { readerTapsPerSecondMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { createLineReader, type LineReader } from "../../emulators/line-reader.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const line = "SCAN\tuid=04a1b2c3\ttext=ünd\tremovable=yes\n";

async function watched(
  run: (reader: LineReader, texts: string[], clock: ReturnType<typeof createManualClock>) => Promise<void>,
): Promise<void> {
  const reader = createLineReader();
  const clock = createManualClock();
  const ending = new AbortController();
  const session = await serialLine.open(reader.path, { clock, log: silentLog }, ending.signal);
  const texts: string[] = [];
  const watching = session.watch((present) => {
    const text = present.map((sighting) => sighting.text).join();
    if (texts.at(-1) !== text) texts.push(text);
  }, ending.signal);
  clock.advance(1000);
  try {
    await run(reader, texts, clock);
  } finally {
    ending.abort(new Error("the test ends"));
    await watching;
    await session.close();
    await reader.close();
  }
}

test("a line is the same card at every split of its bytes", () =>
  watched(async (reader, texts, clock) => {
    const bytes = new TextEncoder().encode(line);
    for (let at = 1; at < bytes.length; at++) {
      clock.advance(1000);
      reader.say(bytes.subarray(0, at));
      reader.say(bytes.subarray(at));
      await eventually(() => expect(texts.at(-1)).toBe("ünd"));
      reader.say("SCAN\n");
      await eventually(() => expect(texts.at(-1)).toBe(""));
    }
    expect(texts.length).toBe(1 + 2 * (bytes.length - 1));
  }));

test("a megabyte without a line end is skipped, and the card after it is read", () =>
  watched(async (reader, texts) => {
    for (let sent = 0; sent < 16; sent++) reader.say(new Uint8Array(64 * 1024).fill(0x41));
    reader.say(`\n${line}`);
    await eventually(() => expect(texts.at(-1)).toBe("ünd"));
    expect(texts).toEqual(["", "ünd"]);
  }));

test("cards that come faster than a hand are passed over, and a second later they are not", () =>
  watched(async (reader, texts, clock) => {
    const manyCards = Array.from({ length: 1000 }, (_, at) => `SCAN\ttext=card ${at}\tremovable=yes\n`);
    reader.say(`${manyCards.join("")}SCAN\n`);
    await eventually(() => {
      expect(texts.length).toBeGreaterThan(1);
      expect(texts.at(-1)).toBe("");
    });
    expect(texts.length).toBe(readerTapsPerSecondMax + 2);
    clock.advance(1000);
    reader.say(line);
    await eventually(() => expect(texts.at(-1)).toBe("ünd"));
  }));

test("a rate that is none is refused before the port is touched", async () => {
  for (const baud of ["0", "-1", "fast", "1.5"]) {
    const opening = serialLine.open(
      `/dev/null?baud=${baud}`,
      { clock: systemClock, log: silentLog },
      new AbortController().signal,
    );
    expect(await opening.then(() => "opened", messageOf)).toContain("is no baud rate");
  }
});
