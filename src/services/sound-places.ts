/**
 * Where the image plays its sound. Root's script `overlay/usr/lib/tapdeck/sound` chooses the card, and reports in the folder that
 * TAPDECK_MACHINE names: `sound` is a line `wanted=<place> plays=<place> there=<place> <place> ...`. The owner's wish goes through the pipe of `machine`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { watchFolder } from "../config/watch-files.ts";
import type { SoundReport } from "../core/device-shapes.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type SoundPlace, soundPlaces } from "../core/playback.ts";
import { ask } from "../system/update-engine.ts";

interface SoundPlaceParts {
  /** The folder of the reports; empty if this is not the image. */
  readonly folder: string;
  /** The descriptor of the pipe. */
  readonly pipe: number;
  /** The owner's wish, `audio.place`. */
  readonly wanted: () => SoundPlace | "auto";
  readonly log: Log;
  /** Called when sound plays at another place. */
  readonly onMoved: () => void;
}

const reportBytesMax = 1024;
const none = { wanted: "auto", report: { there: [] } } as const;

/** Follows the report until disposed, and sends the owner's wish to root. Call `configure` after each change of settings. */
export function followSoundPlaces({ folder, pipe, wanted, log, onMoved }: SoundPlaceParts) {
  let seen = readReport(folder);
  let told = seen.wanted;
  /** Two simultaneous writes could arrive in the opposite order. */
  let asking = Promise.resolve();
  const look = () => {
    const before = seen.report.plays;
    seen = readReport(folder);
    if (seen.report.plays !== before) onMoved();
  };
  const configure = () => {
    const wish = wanted();
    if (folder === "" || wish === told) return;
    told = wish;
    asking = asking
      .then(() => ask(pipe, `sound ${wish}`))
      .catch((error) => log.warn("sound", messageOf(error)));
  };
  const watching = folder === "" ? undefined : watchFolder(folder, look);
  configure();
  return {
    report: (): SoundReport => seen.report,
    plays: () => seen.report.plays,
    configure,
    [Symbol.dispose]: () => watching?.[Symbol.dispose](),
  };
}

/** `wanted` is the wish that root knows. */
function readReport(folder: string): { readonly wanted: string; readonly report: SoundReport } {
  if (folder === "") return none;
  try {
    const text = readFileSync(join(folder, "sound"), "utf8").slice(0, reportBytesMax);
    const [, wanted = "auto", first, rest = ""] = /^wanted=(\S*) plays=(\S*) there=(.*)$/m.exec(text) ?? [];
    const there = soundPlaces.filter((place) => rest.split(" ").includes(place));
    const plays = there.find((place) => place === first);
    return { wanted, report: { there, ...(plays === undefined ? {} : { plays }) } };
  } catch {
    return none; // Root's script has not written the report yet.
  }
}
