/**
 * The steps of an update of the image that the service takes: it fetches a bundle, writes a word into the pipe of
 * `overlay/usr/lib/tapdeck/machine`, and reads the reports of the root script:
 *
 *   update        the output of `tapdeck update --json`, and `{"exit":<code>}` after a failure; new after each word, and gone after a
 *                 restart of the machine
 *   last-update   the note of the last update that was tried (`src/update/trial.ts`), from some moments after the start of the
 *                 machine; empty if there is none
 */
import { existsSync, fstatSync, write } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { type Clock, sleep } from "../core/clock.ts";
import {
  updateBootBytesMax,
  updateFetchMsMax,
  updateFreeBytesMin,
  updateRootBytesMax,
} from "../core/console-limits.ts";
import type { UpdateState } from "../core/device-shapes.ts";
import { coded, codeOf, failed, messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { count } from "../core/shapes.ts";
import { type Download, download, removeDownload } from "./download.ts";

interface EngineParts {
  /** The folder of the reports; empty if this is not the image. */
  readonly folder: string;
  readonly pipe: number;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each change of the state of an update. */
  readonly onUpdate: (state: UpdateState) => void;
}

/** The reports of the root script. A stamp differs after each writing. */
export interface Seen {
  readonly progress: { readonly stamp: string; readonly state: UpdateState | undefined };
  /** The note of the last update; undefined until the image has written it. */
  readonly last:
    | {
        readonly stamp: string;
        readonly event: "trying" | "kept" | "back" | "none";
        readonly version: string;
      }
    | undefined;
}

export type UpdateEngine = ReturnType<typeof createUpdateEngine>;

export function createUpdateEngine({ folder, pipe, dataFolder, clock, log, onUpdate }: EngineParts) {
  const bundle = join(dataFolder, "update.bundle");
  const ending = new AbortController();
  let updating: UpdateState | undefined;
  let isBusy = false;
  /** True while an installation runs that had begun before the service was restarted. */
  let isFollowing = false;
  const show = (state: UpdateState) => {
    if (Bun.deepEquals(state, updating)) return;
    updating = state;
    onUpdate(state);
  };
  const seen = async (): Promise<Seen> => {
    const [progress, last] = await Promise.all([
      stampedText(join(folder, "update")),
      stampedText(join(folder, "last-update")),
    ]);
    const [, event, version = ""] = /^event=(trying|kept|back) slot=[ab] version=(\S+)/.exec(last.text) ?? [];
    const known = event === "trying" || event === "kept" || event === "back" ? event : "none";
    return {
      progress: { stamp: progress.stamp, state: stateIn(progress.text) },
      last: last.stamp === "" ? undefined : { stamp: last.stamp, event: known, version },
    };
  };
  /** Shows the progress; rejects when the installation has failed. Otherwise the machine restarts. */
  const follow = async (signal: AbortSignal): Promise<never> => {
    for (;;) {
      await sleep(clock, progressMs, signal);
      // The script makes the file a moment after it reads the word.
      const { state = { step: "checking", percent: 0 } } = (await seen()).progress;
      if (state.step === "failed") throw new InstallFailed(state.why ?? "it was not installed");
      show(state);
    }
  };
  const fetchBundle = async (what: Download, signal: AbortSignal) => {
    show({ step: "fetching" });
    const place = {
      path: bundle,
      freeBytesMin: updateFreeBytesMin,
      clock,
      bytesMax: updateBootBytesMax + updateRootBytesMax,
      progress: (percent: number) => show({ step: "fetching", percent }),
    };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(updateFetchMsMax)]);
    await download(what, place, inTime);
  };
  /** Runs work that must not overlap with other work of an update. A failure is shown. */
  const alone = async (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) => {
    isBusy = true;
    try {
      await started;
      if (isFollowing) throw busy();
      await work(AbortSignal.any([signal, ending.signal]));
    } catch (error) {
      const why = messageOf(error);
      if (!ending.signal.aborted) {
        log.warn("update", "not installed", { error: why });
        show(failedAt(updating, why));
      }
      throw error;
    } finally {
      isBusy = false;
    }
  };
  const install = async (what: Download, begun: (now: Seen) => Promise<void>, signal: AbortSignal) => {
    await fetchBundle(what, signal);
    await begun(await seen());
    // From this point on, the bundle is not a download that could be continued.
    await rm(`${bundle}.source`, { force: true });
    await ask(pipe, "update");
    show({ step: "checking", percent: 0 });
    try {
      await follow(ending.signal);
    } finally {
      // A leftover is overwritten by the next update.
      if (!ending.signal.aborted) await removeDownload(bundle).catch(() => {});
    }
  };
  /** Shows an installation that continues although the service was restarted. */
  const followEarlier = async () => {
    isFollowing = true;
    try {
      await follow(ending.signal);
    } catch (error) {
      isFollowing = false;
      if (!ending.signal.aborted) show(failedAt(updating, messageOf(error)));
    }
  };
  const isUnderWay = async () => {
    const { state } = (await seen()).progress;
    return state !== undefined && state.step !== "failed";
  };
  const begin = async () => {
    if (await isUnderWay()) void followEarlier();
  };
  /** After an update that worked, the machine restarts before its bundle is deleted. */
  const clean = async () => {
    if (isBusy || isFollowing) return;
    if (await isUnderWay()) return followEarlier();
    if (!existsSync(`${bundle}.source`)) await removeDownload(bundle);
  };
  const started = folder === "" ? undefined : begin();
  // After this time the root script has read every word, even a word that was written right before the restart of the
  // service.
  const cleaning = folder === "" ? undefined : clock.after(cleanAfterMs, () => void clean().catch(() => {}));
  const refuseBusy = () => {
    if (isBusy || isFollowing) throw busy();
  };
  return {
    isHere: folder !== "",
    /** The state of the update; undefined if no update has begun since the start. */
    updating: () => updating,
    refuseBusy,
    seen,
    /** Fetches a bundle for a later `install`. Rejects with `DownloadRefused`, another error, or the signal's reason. */
    async fetch(what: Download, signal: AbortSignal): Promise<void> {
      refuseBusy();
      await alone(signal, (either) => fetchBundle(what, either));
      show({ step: "waiting" });
    },
    /**
     * Fetches a bundle, unless it was fetched before, and installs it. `begun` is called before the request. Rejects with
     * `InstallFailed` if the bundle was not installed, or in the same way as `fetch`. Otherwise the machine restarts.
     */
    async install(what: Download, begun: (now: Seen) => Promise<void>, signal: AbortSignal): Promise<void> {
      refuseBusy();
      await alone(signal, (either) => install(what, begun, either));
    },
    /** Removes a fetched bundle that is not wanted any more. */
    async discard(): Promise<void> {
      if (!isBusy) await removeDownload(bundle);
    },
    [Symbol.dispose]() {
      cleaning?.[Symbol.dispose]();
      ending.abort();
    },
  };
}

function busy(): ServiceError {
  return coded(
    "update-running",
    new ServiceError("conflict", "an update is being installed: wait until it has ended"),
  );
}

/** The root script did not install the bundle. Nothing was changed. */
export class InstallFailed extends Error {
  override readonly name = "InstallFailed";
}

const progressMs = 500;
const cleanAfterMs = 15_000;

/** Writes a word into the pipe. Rejects with `failed` if the descriptor is no pipe, or if nobody reads it. */
export async function ask(pipe: number, word: string): Promise<void> {
  refuseNoPipe(pipe);
  await promisify(write)(pipe, `${word}\n`).catch(refuse);
}

/** Throws `failed` if the descriptor is no pipe: without one, the descriptor may be a terminal or a file. */
export function refuseNoPipe(pipe: number): void {
  try {
    if (!fstatSync(pipe).isFIFO()) throw new Error("it is no pipe");
  } catch (error) {
    refuse(error);
  }
}

function refuse(error: unknown): never {
  throw failed(
    `the image did not take the request (${codeOf(error) || messageOf(error)}): restart it by its power switch`,
    error,
  );
}

/** The text of a file with its stamp, which is empty if there is no such file. */
async function stampedText(path: string): Promise<{ readonly stamp: string; readonly text: string }> {
  try {
    const [{ mtimeMs }, text] = [await stat(path), await readFile(path, "utf8")];
    return { stamp: `${mtimeMs} ${text.trim()}`, text };
  } catch {
    return { stamp: "", text: "" }; // The image writes both files only when they have a content.
  }
}

const fact = v.union([
  v.object({ step: v.picklist(["checking", "writing", "reading back"]), percent: count }),
  v.object({ restarting: v.string() }),
  v.object({ failed: v.string() }),
  v.object({ exit: count }),
]);

/** The state of an update that failed in the state `before`. */
function failedAt(before: UpdateState | undefined, why: string): UpdateState {
  const { step = "checking", at } = before ?? {};
  return { step: "failed", why, at: step === "failed" ? (at ?? "checking") : step };
}

/** The state in the output of `tapdeck update --json`; undefined before its first step. Other lines are ignored. */
export function stateIn(text: string): UpdateState | undefined {
  let state: UpdateState | undefined;
  for (const line of text.split("\n")) {
    const read = v.safeParse(v.pipe(v.string(), v.parseJson(), fact), line);
    if (!read.success) continue;
    const found = read.output;
    if ("step" in found) state = found;
    else if ("restarting" in found) state = { step: "restarting" };
    else if ("failed" in found) state = failedAt(state, found.failed);
    else if (state?.step !== "failed") state = failedAt(state, `it ended with the code ${found.exit}`);
  }
  return state;
}
