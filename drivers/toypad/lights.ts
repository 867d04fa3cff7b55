/** The lights of a Toy Pad. They are a courtesy: one that does not answer is left as it is. */
import { type Clock, sleep } from "../../src/core/clock.ts";
import type { Signal } from "../../src/readers/driver.ts";
import { commands, type Zone, zones } from "../protocol/toypad-report.ts";
import type { Pad } from "./pad.ts";

type Colour = readonly [red: number, green: number, blue: number];
const white: Colour = [0xff, 0xff, 0xff];
const dark: Colour = [0, 0, 0];
const colours: Readonly<Record<Exclude<Signal, "scanned">, Colour>> = {
  failed: [0xff, 0, 0],
  written: [0, 0xff, 0],
};
const allZones = 0;
const signalMs = 600;

export interface Lights {
  /** These zones are white, the others dark. */
  show(lit: ReadonlySet<Zone>, signal: AbortSignal): Promise<void>;
  /** All zones in one colour for a moment, then as before. As `ReaderSession.signal`; white says that a tag was heard. */
  signal(kind: Signal, ending: AbortSignal): void;
  /** All dark, best effort. */
  darken(): Promise<void>;
}

export function createLights(pad: Pad, clock: Clock): Lights {
  let lit: ReadonlySet<Zone> = new Set();
  let isSignalling = false;
  const set = (zone: number, [red, green, blue]: Colour, signal?: AbortSignal) =>
    pad.ask(commands.colour, Uint8Array.of(zone, red, green, blue), signal);
  const flash = async (colour: Colour, ending: AbortSignal) => {
    await set(allZones, colour, ending);
    await sleep(clock, signalMs, ending);
    for (const zone of zones) await set(zone, lit.has(zone) ? white : dark, ending);
  };
  return {
    async show(wanted, signal) {
      const changes = zones.filter((zone) => lit.has(zone) !== wanted.has(zone));
      lit = wanted;
      for (const zone of changes) await set(zone, wanted.has(zone) ? white : dark, signal);
    },
    signal(kind, ending) {
      if (kind === "scanned" || isSignalling) return;
      isSignalling = true;
      // A pad that fails at this is found out by its watch.
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
