/**
 * Health checks of an image: faults of its boot, and its watchdog. Two variables name the files:
 *
 *   TAPDECK_FAULTS           a folder with one file for each fault of the boot, such as a broken data partition: its code, and
 *                            a line `name=value` for each fact of it
 *   TAPDECK_WATCHDOG_STATE   the state file of tapdeck-watchdog (its source describes the format)
 */
import { closeSync, existsSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { type Fault, faultOf, knownFault } from "../core/faults.ts";
import { machineFaultBytesMax, machineFaultsMax } from "../core/limits.ts";
import type { Environment } from "./folders.ts";

// An event is reported for this long, so a person who looks once a day sees it.
const eventMsMax = 24 * 60 * 60 * 1000;

/** The checks whose variables are set. There are none outside an image. `ask` returns the faults. */
export function machineChecks(environment: Environment, clock: Clock) {
  const { TAPDECK_FAULTS: faults, TAPDECK_WATCHDOG_STATE: state } = environment;
  const watchdog = (path: string) => watchdogFaults(textOf(path), clock.now());
  return [
    ...(faults ? [{ name: "device", ask: () => faultsIn(faults) } as const] : []),
    ...(state ? [{ name: "watchdog", ask: () => watchdog(state) } as const] : []),
  ];
}

function faultsIn(folder: string): readonly Fault[] {
  const names = readdirSync(folder).sort().slice(0, machineFaultsMax);
  return names.flatMap((name) => {
    const [code = "", ...lines] = textOf(join(folder, name)).trim().split("\n");
    if (code === "") return [];
    const facts = lines.map((line): [string, string] => {
      const [fact = "", ...words] = line.split("=");
      return [fact, words.join("=")];
    });
    return [knownFault(code, Object.fromEntries(facts))];
  });
}

/** The fault in the watchdog's line; none for any other text, and for an old event. */
export function watchdogFaults(line: string, nowMs: number): readonly Fault[] {
  const [, event = "", seconds = "", times = "", why = ""] =
    /^event=([a-z-]+) time=(\d+) restarts=\d+ resets=(\d+) why=(.*)/.exec(line) ?? [];
  const fault = watchdogFault(event, times, why);
  if (fault === undefined) return [];
  const agoMs = nowMs - Number(seconds) * 1000;
  // The clock of a board may be set after the event, so an event in the future counts as recent.
  return event !== "unguarded" && agoMs > eventMsMax ? [] : [fault];
}

function watchdogFault(event: string, times: string, why: string): Fault | undefined {
  switch (event) {
    case "restart":
      return faultOf("service-restarted", { why });
    case "silent":
      return faultOf("service-silent", { why });
    case "giving-up":
      return faultOf("machine-resetting", { why });
    case "reset":
      return Number(times) > 1
        ? faultOf("machine-reset-again", { times, why })
        : faultOf("machine-reset", { why });
    case "unguarded":
      return faultOf("machine-unguarded", { why });
    default:
      return undefined;
  }
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
