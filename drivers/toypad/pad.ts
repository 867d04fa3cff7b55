/** The commands of a Toy Pad, one at a time, each with its answer or without one; and the lights of the pad. */
import { afterSilence, type Clock, sleep } from "../../src/core/clock.ts";
import type { Log } from "../../src/core/log.ts";
import { readerFaults } from "../../src/core/reader-faults.ts";
import type { Signal } from "../../src/readers/driver.ts";
import type { HidLink } from "../io/links.ts";
import { padLogText } from "../protocol/log-redaction.ts";
import {
  encodeCommand,
  type PadReport,
  padCommands,
  parsePadReport,
  type Zone,
  zones,
} from "../protocol/toypad-report.ts";

// The pad queries the tag itself, and answers by interrupts, which come every millisecond. Its time-outs are not
// documented. Two of these and the pause between looks stay within the two seconds in which a dead pad must be found.
const answerMs = 300;

type TagEvent = Extract<PadReport, { kind: "tag" }>;

export type Pad = ReturnType<typeof createPad>;

export function createPad(link: HidLink, clock: Clock, log: Log) {
  let onTag: (event: TagEvent) => void = () => {};
  let waiting: { readonly number: number; readonly end: (data: Uint8Array | undefined) => void } | undefined;
  let fail: (reason: Error) => void = () => {};
  let gone: Error | undefined;
  let number = 0;
  let turn: Promise<unknown> = Promise.resolve();

  link.onReport((bytes) => {
    if (log.debugging) log.debug("toypad", "received", { path: link.path, bytes: padLogText(bytes) });
    const report = parsePadReport(bytes);
    if (report.kind === "noise") readerFaults.badFrames += 1;
    else if (report.kind === "tag") onTag(report);
    // An answer that came too late has another number, and is ignored.
    else if (report.kind === "answer" && report.number === waiting?.number) waiting.end(report.data);
  });
  link.onGone((reason) => {
    gone = reason;
    fail(reason);
  });

  const askNow = (command: number, parameters: Uint8Array, signal: AbortSignal | undefined) =>
    new Promise<Uint8Array | undefined>((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      if (signal?.aborted) return reject(signal.reason);
      number = (number % 255) + 1;
      const done = () => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", onAbort);
        waiting = undefined;
        fail = () => {};
      };
      const refuse = (reason: unknown) => {
        done();
        reject(reason);
      };
      const end = (data: Uint8Array | undefined) => {
        done();
        resolve(data);
      };
      const onAbort = () => refuse(signal?.reason);
      const timer = afterSilence(clock, answerMs, () => end(undefined));
      waiting = { number, end };
      fail = refuse;
      signal?.addEventListener("abort", onAbort, { once: true });
      link.write(encodeCommand(command, number, parameters)).catch(refuse);
    });

  return {
    link,
    /** The data of the answer; undefined if none came. Rejects with `reader-gone`, or the signal's reason. */
    ask(command: number, parameters: Uint8Array, signal?: AbortSignal): Promise<Uint8Array | undefined> {
      const asked = turn.then(() => askNow(command, parameters, signal));
      // The next command waits for the end of this one, whatever its outcome.
      turn = asked.catch(() => {});
      return asked;
    },
    /** Sets the only listener. A later one replaces it. */
    onTag(listener: (event: TagEvent) => void) {
      onTag = listener;
    },
  };
}

type Colour = readonly [red: number, green: number, blue: number];
const white: Colour = [0xff, 0xff, 0xff];
const dark: Colour = [0, 0, 0];
const colours: Readonly<Record<Exclude<Signal, "scanned">, Colour>> = {
  failed: [0xff, 0, 0],
  written: [0, 0xff, 0],
};
const allZones = 0;
const signalMs = 600;

export type Lights = ReturnType<typeof createLights>;

export function createLights(pad: Pad, clock: Clock) {
  let lit: ReadonlySet<Zone> = new Set();
  let isSignalling = false;
  const set = (zone: number, [red, green, blue]: Colour, signal?: AbortSignal) =>
    pad.ask(padCommands.colour, Uint8Array.of(zone, red, green, blue), signal);
  const flash = async (colour: Colour, ending: AbortSignal) => {
    await set(allZones, colour, ending);
    await sleep(clock, signalMs, ending);
    for (const zone of zones) await set(zone, lit.has(zone) ? white : dark, ending);
  };
  return {
    async show(wanted: ReadonlySet<Zone>, signal: AbortSignal) {
      const changes = zones.filter((zone) => lit.has(zone) !== wanted.has(zone));
      lit = wanted;
      for (const zone of changes) await set(zone, wanted.has(zone) ? white : dark, signal);
    },
    /**
     * Lights all zones in one colour for a moment, and then as before. It behaves as `ReaderSession.signal`; white
     * means that a tag was read.
     */
    signal(kind: Signal, ending: AbortSignal) {
      if (kind === "scanned" || isSignalling) return;
      isSignalling = true;
      // The watch notices a pad that fails here.
      void flash(colours[kind], ending)
        .catch(() => {})
        .finally(() => {
          isSignalling = false;
        });
    },
    async darken() {
      await set(allZones, dark).catch(() => {});
    },
  };
}
