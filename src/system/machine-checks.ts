/**
 * What the machine's own start and its watchdog have to say, where an image names the places:
 *
 *   TAPDECK_FAULTS           folder of one file for each fault of the start, which holds a sentence: a broken data
 *                            partition, a mistake in tapdeck.conf
 *   TAPDECK_WATCHDOG_STATE   the state file of tapdeck-watchdog (its format stands at the head of its source)
 */
import { closeSync, existsSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { machineFaultBytesMax, machineFaultsMax } from "../core/limits.ts";
import { startedAgain } from "../core/watchdog.ts";

export interface MachineCheck {
  readonly name: "device" | "watchdog";
  /** Why it is not well, or an empty string. */
  readonly ask: () => string;
}

// Long enough to be seen by somebody who looks once a day, and then it is history.
const eventMsMax = 24 * 60 * 60 * 1000;

/** The checks that the environment names places for: none on a machine that is not ours. */
export function machineChecks(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): readonly MachineCheck[] {
  const { TAPDECK_FAULTS: faults, TAPDECK_WATCHDOG_STATE: state } = environment;
  return [
    ...(faults ? [{ name: "device", ask: () => faultsIn(faults) } as const] : []),
    ...(state
      ? [{ name: "watchdog", ask: () => watchdogSentence(textOf(state), clock.now()) } as const]
      : []),
  ];
}

function faultsIn(folder: string): string {
  const names = readdirSync(folder).sort().slice(0, machineFaultsMax);
  return names
    .map((name) => textOf(join(folder, name)).trim())
    .filter((sentence) => sentence !== "")
    .join("; ");
}

/** What the watchdog's line means for people; empty where it is none, or long ago. */
export function watchdogSentence(line: string, nowMs: number): string {
  const [, event = "", seconds = "", resets = "", why = ""] =
    /^event=([a-z-]+) time=(\d+) restarts=\d+ resets=(\d+) why=(.*)/.exec(line) ?? [];
  const sentence = sentenceOf(event, { why, resets: Number(resets) });
  if (sentence === undefined) return "";
  const agoMs = nowMs - Number(seconds) * 1000;
  // A board has no clock of its own: an event of the future is one of before it was set.
  return event !== "unguarded" && agoMs > eventMsMax ? "" : sentence;
}

function sentenceOf(
  event: string,
  { why, resets }: { readonly why: string; readonly resets: number },
): string | undefined {
  switch (event) {
    case "restart":
      return `${startedAgain}: ${why}`;
    case "giving-up":
      return `the watchdog is about to reset this machine: ${why}`;
    case "reset":
      return `the watchdog reset this machine${resets > 1 ? `, ${resets} times in a row` : ""}: ${why}`;
    case "unguarded":
      return `nothing resets this machine should it hang: ${why}`;
    case "silent":
      return `the watchdog got no answer: ${why}`;
    default:
      return undefined;
  }
}

/** The first bytes of a file; empty where there is none, for a machine that was always well has none. */
function textOf(path: string): string {
  if (!existsSync(path)) return "";
  const bytes = new Uint8Array(machineFaultBytesMax);
  const file = openSync(path, "r");
  try {
    return new TextDecoder().decode(bytes.subarray(0, readSync(file, bytes)));
  } finally {
    closeSync(file);
  }
}
