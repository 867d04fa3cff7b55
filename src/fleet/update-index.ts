/**
 * Updates of a single deck: an index of versions on a web server with TLS, read each day. A newer version is installed at a quiet
 * moment. A version that was not kept is not tried again. The bundle itself is signed, and the index names its hash.
 * Loaded only if `update.url` is set.
 *
 *   { "version": "0.2.0", "summary": "one line for people",
 *     "boards": { "zero2w": { "url": "tapdeck-zero2w-0.2.0.bundle", "bytes": 81335110, "sha256": "64 hex digits" } } }
 */
import * as v from "valibot";
import type { Config } from "../config/shape.ts";
import { type Clock, rfc3339, sleep } from "../core/clock.ts";
import {
  indexPausesMs,
  updateBootBytesMax,
  updateRootBytesMax,
  updateSummaryCharsMax,
} from "../core/console-limits.ts";
import type { LatestVersion, UpdateServer } from "../core/device-shapes.ts";
import { failed, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { besideSystem } from "../system/tls-files.ts";
import { backoffMs } from "./backoff.ts";
import { accountReader, getJson, withoutIdentity } from "./server-requests.ts";
import type { UpdateJob } from "./update-job.ts";

/** The parts that follow a server of updates. */
export interface UpdateSourceParts {
  /** The settings, as they were at the start. */
  readonly settings: Config["fleet"];
  readonly board: string;
  readonly dataFolder: string;
  readonly job: UpdateJob;
  readonly clock: Clock;
  readonly log: Log;
  readonly onLatest: (latest: LatestVersion | undefined) => void;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
}

interface IndexParts extends UpdateSourceParts {
  readonly url: string;
  /** The version that runs. */
  readonly version: string;
}

const version = v.pipe(v.string(), v.maxLength(32), v.regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}$/));
const file = v.object({
  url: v.pipe(v.string(), v.minLength(1), v.maxLength(2048)),
  bytes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(updateBootBytesMax + updateRootBytesMax)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
});
const index = v.object({
  version,
  summary: v.exactOptional(v.pipe(v.string(), v.maxLength(updateSummaryCharsMax))),
  boards: v.record(v.string(), file),
});

// The first request is made within this time. It is short enough for a device that is on for an hour a day, and does not
// come while the owner waits for the start.
const firstMs = 10 * 60_000;
const dayMs = 24 * 60 * 60_000;

export function followIndex(parts: IndexParts) {
  const { url, settings, board, job, clock, log, onLatest, random = Math.random } = parts;
  const readAccount = accountReader({ ...settings, tokenFile: "" }, parts.dataFolder, log);
  const ending = new AbortController();
  let failures = 0;
  let fault = "";
  let checkedMs: number | undefined;
  let latest: LatestVersion | undefined;
  /** A person wants the waiting version at once. */
  let isWanted = false;
  let wake = () => {};

  /** Returns true if the version waits for a quiet moment still, so that the index is to be read again. */
  const install = async (): Promise<boolean> => {
    // A bundle is signed, and RAUC checks it.
    const tls = besideSystem((await readAccount()).tls);
    const value = await getJson({ url, headers: {}, tls, signal: ending.signal });
    const found = readIndex(value, url);
    const own = found.boards[board];
    checkedMs = clock.now();
    const isNewer = own !== undefined && isLater(found.version, parts.version);
    latest = isNewer ? latestOf(found) : undefined;
    onLatest(latest);
    if (!isNewer) return false;
    const id = `index:${found.version}:${own.sha256.slice(0, 8)}`;
    const { id: earlier, outcome } = job.current() ?? {};
    // A version that was not kept, or that cannot be installed.
    if (earlier === id && outcome !== undefined) {
      if (!isWanted) return false;
      await job.forget();
    }
    const late = new AbortController();
    using _late = clock.after(dayMs, () => late.abort());
    const signal = AbortSignal.any([ending.signal, late.signal]);
    const isOwn = new URL(own.url).origin === new URL(url).origin;
    const what = { ...own, setting: url, tls: isOwn ? tls : withoutIdentity(tls) };
    const moment = isWanted ? "now" : "quiet";
    const wish = { id, what, fetch: moment, install: moment, onStep: () => {} } as const;
    try {
      const refused = await job.run(wish, signal);
      if (refused !== undefined) fault = `${found.version}: ${refused.sentence}`;
      return false;
    } catch (error) {
      if (!late.signal.aborted) throw error;
      return true;
    }
  };
  const look = async (): Promise<number> => {
    try {
      fault = "";
      const isWaiting = await install();
      failures = 0;
      return isWaiting ? firstMs * random() : dayMs * (0.8 + 0.4 * random());
    } catch (error) {
      failures += 1;
      fault = messageOf(error);
      if (!ending.signal.aborted)
        log.warn("fleet", "the index of updates is read again later", { why: fault });
      return backoffMs(failures, indexPausesMs, random);
    } finally {
      isWanted = false;
    }
  };
  const pause = async (ms: number) => {
    const woken = new AbortController();
    wake = () => woken.abort();
    await sleep(clock, ms, AbortSignal.any([ending.signal, woken.signal])).catch(() => {});
    ending.signal.throwIfAborted();
  };
  const follow = async () => {
    try {
      const before = job.current();
      if (before !== undefined) {
        const outcome = await job.settle(ending.signal);
        if (outcome !== undefined) log.info("fleet", "an update has ended", { sentence: outcome.sentence });
        if (outcome?.isKept === true) await job.forget();
      }
      for (let ms = firstMs * random(); ; ms = await look()) await pause(ms);
    } catch (error) {
      if (!ending.signal.aborted) log.error("fleet", messageOf(error));
    }
  };
  const following = follow();
  return {
    status: (): UpdateServer => ({
      server: url,
      ...(latest === undefined ? {} : { latest }),
      ...(checkedMs === undefined ? {} : { checked: rfc3339(checkedMs) }),
      ...(fault === "" ? {} : { fault }),
    }),
    /** Installs the waiting version, without waiting for a quiet moment; once more, if it was not kept. */
    install(): void {
      if (latest === undefined) throw failed(nothingWaits);
      if (job.hasten()) return;
      isWanted = true;
      wake();
    },
    async close(): Promise<void> {
      ending.abort(new Error("the service ends"));
      // A running installation outlives the service.
      if (job.current() === undefined) await following;
    },
  };
}

export const nothingWaits = "the server of updates offers no other version now";

/** The index with whole addresses. Throws an error with a sentence. */
export function readIndex(value: unknown, base: string): v.InferOutput<typeof index> {
  const { success, output, issues } = v.safeParse(index, value);
  if (!success)
    throw new Error(`${base} is no index of updates: ${v.getDotPath(issues[0]) ?? ""} ${issues[0].message}`);
  const boards = Object.entries(output.boards).map(([name, one]) => {
    const url = URL.parse(one.url, base);
    if (url === null || url.protocol !== new URL(base).protocol)
      throw new Error(`${base} is no index of updates: ${one.url.slice(0, 200)} is no address with TLS`);
    return [name, { ...one, url: url.href }] as const;
  });
  return { ...output, boards: Object.fromEntries(boards) };
}

function latestOf({ version, summary }: v.InferOutput<typeof index>): LatestVersion {
  return { version, ...(summary === undefined ? {} : { summary }) };
}

/** A version that cannot be read is older than all others. */
export function isLater(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) =>
    v.is(version, text) ? text.split(".").map(Number) : [-1],
  );
  for (const place of [0, 1, 2]) {
    const difference = (left?.[place] ?? 0) - (right?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
