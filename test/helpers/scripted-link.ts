/**
 * Plays a transcript of a serial reader to its driver, over a byte link in memory and a clock of its own:
 *
 *   > hex    the driver writes          < hex    the device answers
 *   = word   an event of the driver: `baud N`, `reader INFO`, `nothing`, `TYPE UID "TEXT" DATA`, `gone SENTENCE`
 *   # why    a comment
 *
 * The first line is `= open`, or `= open N` for a line that stays at N baud. With ` write "TEXT"` after it, the next tag is
 * to be written, and `= written` or `= not written, CAUSE: SENTENCE` follows. Time passes only while the driver waits and
 * the next line is its own.
 */
import type { ByteLink } from "../../drivers/io/links.ts";
import { openPn532 } from "../../drivers/pn532-uart.ts";
import { messageOf, ServiceError } from "../../src/core/errors.ts";
import { fromHex, spacedHex } from "../../src/core/hex.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Sighting } from "../../src/core/token.ts";
import type { ReaderSession } from "../../src/readers/driver.ts";
import { createManualClock } from "./manual-clock.ts";

export interface TranscriptLine {
  readonly mark: ">" | "<" | "=";
  readonly text: string;
}

/** The lines with a meaning. Throws if one has no mark, or has bytes that are no hex. */
export function parseTranscript(content: string): readonly TranscriptLine[] {
  return content
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [mark, text] = [line[0], line.slice(1).trim()];
      if (mark !== ">" && mark !== "<" && mark !== "=") throw new Error(`no mark: ${line}`);
      if (mark === "=") return { mark, text };
      const bytes = fromHex(text);
      if (bytes === undefined) throw new Error(`no hex: ${line}`);
      return { mark, text: spacedHex(bytes) };
    });
}

/** The acts and events of the driver, as such lines. */
export function expectedOf(lines: readonly TranscriptLine[]): readonly string[] {
  return lines.filter(({ mark }) => mark !== "<").map(({ mark, text }) => `${mark} ${text}`);
}

/** The way in which the device's bytes arrive: their division into reads, and bytes between them. */
export type Delivery = (bytes: Uint8Array) => readonly Uint8Array[];

const stepMs = 5;
const patienceMs = 3000; // A time that is longer than every wait of a driver.

/** The actual lines, up to the first one that differs, or to the transcript's last. */
export async function play(
  lines: readonly TranscriptLine[],
  deliver: Delivery = (bytes) => [bytes],
): Promise<readonly string[]> {
  const [opening, ...rest] = lines;
  const [, rate, order] = /^open(?: (\d+))?(?: write (".*"))?$/.exec(opening?.text ?? "") ?? [];
  if (opening?.mark !== "=" || !opening.text.startsWith("open"))
    throw new Error("a transcript begins with `= open`");
  const happened = [`= ${opening.text}`];
  const clock = createManualClock();
  const ending = new AbortController();
  let over = false;
  let onBytes: (bytes: Uint8Array) => void = () => {};
  const tell = (line: string) => {
    if (!over) happened.push(line);
  };
  const link: ByteLink = {
    path: "/dev/ttyUSB0",
    onBytes: (listener) => {
      onBytes = listener;
    },
    onGone: () => {},
    async write(bytes) {
      if (!over) happened.push(`> ${spacedHex(bytes)}`);
    },
    setBaudRate: async (baudRate) => tell(`= baud ${baudRate}`),
    close: async () => {},
  };
  const driven = drive(link, rate, order, { clock, signal: ending.signal, tell });

  let due = 1;
  for (const { mark, text } of rest) {
    await turn();
    if (mark === "<") {
      for (const piece of deliver(fromHex(text) ?? new Uint8Array())) {
        onBytes(piece);
        await turn();
      }
      continue;
    }
    due += 1;
    for (let waitedMs = 0; happened.length < due && waitedMs < patienceMs; waitedMs += stepMs) {
      clock.advance(stepMs);
      await turn();
    }
    if (happened[due - 1] !== `${mark} ${text}`) break;
  }
  over = true;
  ending.abort(new Error("the transcript has ended"));
  await driven;
  return happened.slice(0, due);
}

interface Driving {
  readonly clock: ReturnType<typeof createManualClock>;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

async function drive(
  link: ByteLink,
  rate: string | undefined,
  order: string | undefined,
  { clock, signal, tell }: Driving,
) {
  try {
    const options = rate === undefined ? {} : { baudRate: Number(rate) };
    const session = await openPn532(link, { clock, log: silentLog }, signal, options);
    tell(`= reader ${session.info}`);
    if (order !== undefined) void write(session, JSON.parse(order), { clock, signal, tell });
    let before = "";
    await session.watch((present) => {
      const state = present.map(described).join(", ") || "nothing";
      // The driver repeats a sighting. Only changes count here.
      if (state !== before) tell(`= ${state}`);
      before = state;
    }, signal);
  } catch (error) {
    tell(`= gone ${messageOf(error)}`);
  }
}

async function write(session: ReaderSession, text: string, { signal, tell }: Driving): Promise<void> {
  try {
    await session.write?.({ text, force: false, claim: () => true }, signal);
    tell("= written");
  } catch (error) {
    const { cause = "?" } = error instanceof ServiceError ? (error.data ?? {}) : {};
    tell(`= not written, ${cause}: ${messageOf(error)}`);
  }
}

function described({ type, uid, text, data }: Sighting): string {
  return `${type} ${uid} ${JSON.stringify(text)} ${data || "-"}`;
}

/** Resolves after the callbacks that are due have run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
