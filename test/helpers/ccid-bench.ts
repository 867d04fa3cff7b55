/** An emulated CCID reader on a bus of its own, its driver, and the driver's reports and log. */
import { expect } from "bun:test";
import { acr122uOn } from "../../drivers/acr122u-usb.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { createLog } from "../../src/core/log.ts";
import type { Sighting } from "../../src/core/token.ts";
import type { ReaderSession } from "../../src/readers/driver.ts";
import { type CcidReader, type CcidReaderOptions, createCcidReader } from "../emulators/ccid-reader.ts";
import { createUsbBus, type UsbSocket } from "../emulators/usb-bus.ts";
import { eventually } from "./processes.ts";

export interface CcidBench {
  readonly reader: CcidReader;
  readonly socket: UsbSocket;
  readonly session: ReaderSession;
  /** The cards on the reader after each change, as UIDs and texts. */
  readonly states: readonly string[];
  readonly last: () => readonly Sighting[] | undefined;
  /** The lines of the log. */
  readonly lines: readonly string[];
  /** The error that ended the watch; undefined after an orderly end. */
  readonly ended: Promise<unknown>;
  readonly hasEnded: () => boolean;
  /** Resolves once this state was reported, and all reports before this call have arrived. */
  readonly sees: (state: string) => Promise<void>;
}

export interface CcidBenchOptions extends Partial<CcidReaderOptions> {
  readonly feedback?: () => boolean;
  /** The driver's clock; the system's if absent. */
  readonly clock?: Clock;
  /** The ids of the USB device; those of an ACR122U if absent. */
  readonly ids?: Parameters<ReturnType<typeof createUsbBus>["add"]>[1];
  /** Called before the reader is opened. */
  readonly before?: (reader: CcidReader) => void;
}

export async function withCcid(
  options: CcidBenchOptions,
  run: (bench: CcidBench) => Promise<void>,
): Promise<void> {
  const { feedback, before, ids, clock = systemClock, ...reading } = options;
  const reader = createCcidReader({ kind: "acr122u", timing: "none", ...reading });
  const bus = createUsbBus();
  const socket = bus.add(reader, ids);
  before?.(reader);
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const context = { clock, log, ...(feedback === undefined ? {} : { feedback }) };
  const ending = new AbortController();
  const session = await acr122uOn(bus).open(socket.path, context, ending.signal);
  const states: string[] = [];
  let last: readonly Sighting[] | undefined;
  let over = false;
  const ended = session
    .watch((present) => {
      last = present;
      const state = present.map(({ uid, text }) => `${uid} ${text}`).join(", ");
      if (states.at(-1) !== state) states.push(state);
    }, ending.signal)
    .catch((error: unknown) => error)
    .finally(() => {
      over = true;
    });
  const sees = (state: string) => eventually(() => expect(states.at(-1)).toBe(state));
  try {
    await run({
      reader,
      socket,
      session,
      states,
      last: () => last,
      lines,
      ended,
      hasEnded: () => over,
      sees,
    });
  } finally {
    ending.abort(new Error("the test has ended"));
    await session.close();
    await ended;
    expect(socket.openLinks).toBe(0);
    socket.remove();
  }
}

/** Steps of recovery in the log, each with its outcome. */
export function stepsIn(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const step = /step=("[^"]*"|\S+)/.exec(line)?.[1]?.replaceAll('"', "");
    if (step === undefined) return [];
    return [`${step}: ${line.includes("does again") ? "helped" : "no"}`];
  });
}
