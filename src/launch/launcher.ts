/**
 * A token becomes a run: its text, or what a mapping makes of it, joins the queue as a script; scripts run one after
 * another. Every accepted launch has one history row and one `launch.finished`.
 */
import type { Bus } from "../bus.ts";
import type { Config } from "../config/shape.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import { launchQueueMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia } from "../core/media.ts";
import type { TokenParams } from "../core/token.ts";
import { readyScript } from "../script/run.ts";
import type { History } from "../store/history.ts";
import type { SearchedMedia } from "./index-port.ts";
import { createPlaying } from "./playing.ts";
import { createScriptPorts } from "./script-ports.ts";

export interface LauncherParts {
  /** Asked at each launch, so that new folders and players take effect at the next one. */
  readonly config: () => Config;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly history: History;
  /** The media index, for the commands that look something up. */
  readonly media?: SearchedMedia;
  /** The text that a mapping puts in the place of the token's own; undefined where none matches. */
  readonly map: (token: TokenParams) => string | undefined;
}

export interface Launcher {
  /**
   * Queues the token's script and returns. Throws `ServiceError`: `busy` where the queue is full, `invalid-params` for a
   * token that says nothing, `forbidden` for a script that an untrusted source may not run.
   */
  launch(token: TokenParams, from?: LaunchSource): void;
  /** Ends what plays and what runs, empties the queue, and returns at once. */
  stop(): void;
  activeMedia(): ActiveMedia | undefined;
  /** As `stop`, and resolves when the player is gone; nothing is launched from then on. */
  close(): Promise<void>;
}

export interface LaunchSource {
  readonly readerId?: string;
  /** False for a page or a link that anybody may have made: commands that reach outside the device are refused. */
  readonly trusted?: boolean;
}

interface Run {
  readonly id: number;
  readonly time: string;
  readonly uid: string;
  readonly text: string;
  readonly script: string;
  readonly trusted: boolean;
}

const noToken: TokenParams = { type: "", uid: "", text: "", data: "" };
const stoppedReason = new ServiceError("failed", "it was stopped");

export function createLauncher({ config, bus, clock, log, history, media, map }: LauncherParts): Launcher {
  const playing = createPlaying(bus, clock);
  let queue: Run[] = [];
  let working: Promise<void> | undefined;
  let stopping = new AbortController();
  let closed = false;
  let lastToken = noToken;
  let note: string | undefined;
  const ports = createScriptPorts({
    config,
    clock,
    log,
    playing,
    media,
    stopping: () => stopping.signal,
    token: () => lastToken,
    explain(why) {
      note = why;
    },
  });
  const finish = (run: Run, error?: unknown, said?: string) => {
    const why = error === undefined ? {} : { error: sentenceOf(error, log) };
    history.finish(run.id, why.error);
    bus.emit("launch.finished", {
      time: run.time,
      uid: run.uid,
      text: run.text,
      success: error === undefined,
      ...why,
      ...(said === undefined ? {} : { note: said }),
    });
  };
  const runOne = async (run: Run, signal: AbortSignal): Promise<void> => {
    if (run.script === "")
      throw new ServiceError("failed", "there is no text on this token, and no mapping for it");
    await readyScript(run.script, run.trusted).run(ports, signal);
  };
  const work = async () => {
    for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
      const one = run;
      note = undefined;
      await runOne(one, stopping.signal).then(
        () => finish(one, undefined, note),
        (error) => finish(one, error, note),
      );
    }
    working = undefined;
  };
  const stopAll = (): Promise<void> => {
    const waiting = queue;
    queue = [];
    stopping.abort(stoppedReason);
    stopping = new AbortController();
    for (const run of waiting) finish(run, stoppedReason);
    return playing.stop();
  };

  return {
    launch(token, from) {
      const { type, uid, text, data } = token;
      if (uid === "" && text === "" && data === "")
        throw new ServiceError("invalid-params", "at least one of uid, text and data must not be empty");
      if (closed) throw new ServiceError("busy", "the service is stopping");
      if (queue.length >= launchQueueMax) {
        throw new ServiceError("busy", `${launchQueueMax} launches wait already`, {
          data: { limit: "launchQueueMax" },
        });
      }
      const { readerId = "", trusted = true } = from ?? {};
      const timeMs = clock.now();
      const script = map(token) ?? text;
      if (trusted) lastToken = token;
      else refuseForbidden(script);
      const id = history.open({ timeMs, type, uid, text, data, script, readerId });
      const time = rfc3339(timeMs);
      queue.push({ id, time, uid, text, script, trusted });
      bus.emit("running", { type, uid, text, data, time, script });
      // A step later, so that a listener of ours that launches in its turn finds that the work has begun.
      working ??= Promise.resolve().then(work);
    },
    stop() {
      // What cannot be stopped is told by `media.stopped`, which then does not come.
      void stopAll().catch((error) =>
        log.error("launch", "could not stop the player", { error: messageOf(error) }),
      );
    },
    activeMedia: playing.active,
    async close() {
      closed = true;
      await stopAll();
      await working;
    },
  };
}

/** Who follows a link is told at once what it may not do; what else is wrong with its script is told when it runs. */
function refuseForbidden(script: string): void {
  try {
    readyScript(script, false);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "forbidden") throw error;
  }
}

/** What people are told: the sentence of a refusal; a fault of ours goes to the log. */
function sentenceOf(error: unknown, log: Log): string {
  if (error instanceof ServiceError) return error.message;
  log.error("launch", "internal error", {
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return "internal error: see the log";
}
