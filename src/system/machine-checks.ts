/**
 * Health checks of an image: faults of its boot, and its watchdog. Two variables name the files:
 *
 *   TAPDECK_FAULTS           a folder with one file for each fault of the boot, which holds a sentence: a broken data
 *                            partition, a mistake in tapdeck.conf
 *   TAPDECK_WATCHDOG_STATE   the state file of tapdeck-watchdog (its source describes the format)
 */
import { closeSync, existsSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { machineFaultBytesMax, machineFaultsMax } from "../core/limits.ts";
import { startedAgain } from "../core/operating-system.ts";
import type { Environment } from "./folders.ts";

// A person who looks once a day sees the event.
const eventMsMax = 24 * 60 * 60 * 1000;

/** The checks whose variables are set: none outside of an image. `ask` returns what is wrong, or an empty string. */
export function machineChecks(environment: Environment, clock: Clock) {
  const { TAPDECK_FAULTS: faults, TAPDECK_WATCHDOG_STATE: state } = environment;
  const watchdog = (path: string) => watchdogSentence(textOf(path), clock.now());
  return [
    ...(faults ? [{ name: "device", ask: () => faultsIn(faults) } as const] : []),
    ...(state ? [{ name: "watchdog", ask: () => watchdog(state) } as const] : []),
  ];
}

function faultsIn(folder: string): string {
  const names = readdirSync(folder).sort().slice(0, machineFaultsMax);
  const sentences = names.map((name) => textOf(join(folder, name)).trim());
  return sentences.filter((sentence) => sentence !== "").join("; ");
}

/** The watchdog's line as a sentence; empty for any other text and for an old event. */
export function watchdogSentence(line: string, nowMs: number): string {
  const [, event = "", seconds = "", resets = "", why = ""] =
    /^event=([a-z-]+) time=(\d+) restarts=\d+ resets=(\d+) why=(.*)/.exec(line) ?? [];
  const sentence = sentenceOf(event, why, Number(resets));
  if (sentence === undefined) return "";
  const agoMs = nowMs - Number(seconds) * 1000;
  // The clock of a board may be set after the event: an event of the future counts as recent.
  return event !== "unguarded" && agoMs > eventMsMax ? "" : sentence;
}

function sentenceOf(event: string, why: string, resets: number): string | undefined {
  const facts = new Map([
    ["restart", startedAgain],
    ["giving-up", "the watchdog is about to reset this machine"],
    ["reset", `the watchdog reset this machine${resets > 1 ? `, ${resets} times in a row` : ""}`],
    ["unguarded", "nothing resets this machine should it hang"],
    ["silent", "the watchdog got no answer"],
  ]);
  const fact = facts.get(event);
  return fact === undefined ? undefined : `${fact}: ${why}`;
}

/** The first bytes of a file; empty for a missing file, because a machine without faults has none. */
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
