/** The simulated reader: its chip on a pty, read by the real driver. */
import { expect, test } from "bun:test";
import { simulated } from "../../../drivers/simulated.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Sighting } from "../../../src/core/token.ts";
import type { ReaderSession } from "../../../src/readers/driver.ts";
import { unlessHeldUp } from "../../helpers/emulated.ts";
import { eventually, within } from "../../helpers/processes.ts";

async function withReader(
  run: (
    session: ReaderSession,
    next: (wanted: (present: readonly Sighting[]) => boolean) => Promise<void>,
  ) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const session = await simulated.open("demo", { clock: systemClock, log: silentLog }, stop.signal);
  let last: readonly Sighting[] | undefined;
  let wake = () => {};
  const watching = session.watch((present) => {
    last = present;
    wake();
  }, stop.signal);
  try {
    await run(session, async (wanted) => {
      const change = () => new Promise<void>((resolve) => (wake = resolve));
      while (last === undefined || !wanted(last))
        await within("such a change", change(), { seen: () => last });
    });
  } finally {
    stop.abort();
    await watching;
    await session.close();
  }
}

test("a card laid on the simulated reader is read, and leaves after its time", () =>
  unlessHeldUp(() =>
    withReader(async (session, next) => {
      expect(session.info).toBe("PN532 v1.6 (simulated)");
      await next((present) => present.length === 0);
      session.tap?.({ text: "Audio/Chime.wav" }, 300);
      let isRead = false;
      void next(([card]) => card?.text === "Audio/Chime.wav" && card.uid.startsWith("04")).then(() => {
        isRead = true;
      });
      await eventually(() => expect(isRead).toBe(true));
      await next((present) => present.length === 0);
    }),
  ));

test("a card takes the place of the one that lies there; a longer text gets a larger tag", () =>
  withReader(async (session, next) => {
    session.tap?.({ text: "first" }, 60_000);
    await next(([card]) => card?.text === "first");
    const long = "x".repeat(800);
    session.tap?.({ text: long, uid: "04a1b2c3d4e5f6" }, 60_000);
    await next(([card]) => card?.text === long && card.uid === "04a1b2c3d4e5f6");
  }));

test("a text that no tag holds, and a UID of another length, are refused with a sentence", () =>
  withReader(async (session) => {
    expect(() => session.tap?.({ text: "x".repeat(900) }, 10)).toThrow(ServiceError);
    expect(() => session.tap?.({ text: "x", uid: "04" }, 10)).toThrow("14 hex digits");
  }));

test("a text that is written to a card is read from it, until another card is laid", () =>
  withReader(async (session, next) => {
    session.tap?.({ text: "before" }, 60_000);
    await next(([card]) => card?.text === "before");
    const long = "y".repeat(300);
    const order = { text: long, force: false, claim: () => true };
    await session.write?.(order, new AbortController().signal);
    await next(([card]) => card?.text === long);
    session.tap?.({ text: "another" }, 60_000);
    await next(([card]) => card?.text === "another");
  }));
