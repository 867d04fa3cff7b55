/**
 * Plays a transcript of a reader without command frames to its driver:
 *
 *   < ...    the device sends this; its notation depends on the device
 *   > hex    the driver writes
 *   = word   an event of the driver: `reader INFO`, `nothing`, `TYPE UID "TEXT" DATA`, `gone`, `log SENTENCE`;
 *            or an act of the world: `wait MS`, `unplug`
 *   # why    a comment
 *
 * Time passes only by `wait`. Only a change of the cards is an event; a repeated sighting is none.
 */
import type { Log } from "../../src/core/log.ts";
import type { Sighting } from "../../src/core/token.ts";
import type { DriverContext, ReaderSession } from "../../src/readers/driver.ts";
import { createManualClock } from "./manual-clock.ts";
import { eventually } from "./processes.ts";

export interface PlayedDevice {
  open(context: DriverContext, signal: AbortSignal): Promise<ReaderSession>;
  say(text: string): void;
  unplug(): void | Promise<void>;
  close(): void | Promise<void>;
  /** True if the driver waits for the clock behind the device. The clock then moves while a line is awaited. */
  readonly timeMoves?: boolean;
}

/** The player of the transcript calls `sent` with each line that the driver writes. */
export type CreateDevice = (sent: (hex: string) => void) => PlayedDevice;

export interface Outcome {
  readonly happened: readonly string[];
  readonly expected: readonly string[];
}

/** The actual and the expected lines, up to the first one that did not come. */
export async function playReader(content: string, create: CreateDevice): Promise<Outcome> {
  const lines = content
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const happened: string[] = [];
  const expected: string[] = [];
  const clock = createManualClock();
  const ending = new AbortController();
  const device = create((hex) => happened.push(`> ${hex}`));
  const driven = drive(device, { clock, log: logInto(happened) }, ending.signal, happened);

  for (const line of lines) {
    const [mark, text] = [line[0], line.slice(2)];
    if (mark === "<") device.say(text);
    else if (text.startsWith("wait ")) {
      // Messages that an emulated device sent a turn ago arrive before the time passes.
      await turn();
      await turn();
      clock.advance(Number(text.slice(5)));
    } else if (text === "unplug") await device.unplug();
    else {
      expected.push(line);
      const came = await eventually(() => {
        if (device.timeMoves) clock.advance(5);
        return happened.length >= expected.length;
      }).then(
        () => true,
        () => false,
      );
      if (!came || happened[expected.length - 1] !== line) break;
    }
  }
  // The acts of the driver after the transcript's last line are also reported.
  await Bun.sleep(20);
  const told = happened.slice();
  ending.abort(new Error("the transcript has ended"));
  // The device is closed first, because a driver may wait for its answer on a clock that stands still.
  await device.close();
  await driven;
  return { happened: told, expected };
}

async function drive(device: PlayedDevice, context: DriverContext, signal: AbortSignal, happened: string[]) {
  let session: ReaderSession | undefined;
  try {
    session = await device.open(context, signal);
    happened.push(`= reader ${session.info}`);
    let before: string | undefined;
    await session.watch((present) => {
      const state = present.map(described).join(", ") || "nothing";
      if (state !== before) happened.push(`= ${state}`);
      before = state;
    }, signal);
  } catch {
    happened.push("= gone");
  }
  await session?.close();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function described({ type, uid, text, data, removable }: Sighting): string {
  return `${type} ${uid || "-"} ${JSON.stringify(text)} ${data || "-"}${removable === false ? " tap" : ""}`;
}

function logInto(happened: string[]): Log {
  const line = (_area: string, sentence: string, facts: Readonly<Record<string, unknown>> = {}) => {
    happened.push(`= log ${sentence}${facts.why === undefined ? "" : `: ${facts.why}`}`);
  };
  return { error: line, warn: line, info: line, debug: line, debugging: false };
}
