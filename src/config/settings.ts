/**
 * The settings as they are now: the config file's, with what the API changed. A change is in memory at once and in the
 * file a moment later; edits by hand are taken over, or refused while the last good settings stay.
 *
 *   now = the last good text of the file, with the patches laid over it that are not in the file yet
 */

import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type ConfigFile, type ConfigFileOptions, openConfigFile } from "./config-file.ts";
import { sweepTemporaries, targetOf } from "./save.ts";
import { checkPatch, editsOf, type SettingsPatch, withPatch } from "./settings-patch.ts";
import type { Config } from "./shape.ts";
import { watchFile } from "./watch-files.ts";

export interface SettingsOptions extends ConfigFileOptions {
  /** Says why a connection string names no reader; where absent, every text is taken. */
  readonly readerFault?: (connection: string) => string | undefined;
  /** Says why a name stands for no system, by the config as it is now; where absent, every text is taken. */
  readonly systemFault?: (name: string, config: Config) => string | undefined;
  readonly clock?: Clock;
}

export interface Settings {
  current(): Config;
  /**
   * Changes the fields given: `current()` is new before this returns, and the file when it resolves. Rejects with
   * `ServiceError`: `invalid-params` naming a field that the file's reader would refuse, with nothing changed; `failed`
   * where the file cannot be written, and then the settings are again what the file says.
   */
  update(patch: SettingsPatch): Promise<void>;
  /** Calls `listener` after each change, from afar or by hand, until disposed. */
  onChange(listener: SettingsListener): Disposable;
  /** Why the file as it stands is not in use, as a sentence; undefined where it is. */
  fault(): string | undefined;
  /** Notices no more edits; resolves when the updates under way have ended. */
  close(): Promise<void>;
}

/** Throws `StartError` with exit code 78 where the file is not right. */
export async function createSettings(options: SettingsOptions): Promise<Settings> {
  const { path, dataFolder, log, readerFault = () => undefined, systemFault, clock = systemClock } = options;
  const file = await openConfigFile(options);
  const inTurn = createTurns();
  const updates = createUpdates(file, inTurn, log);
  const changes = createChanges(file.good(), () => updates.over(file.good(), dataFolder), log);
  updates.changed = changes.settle;

  const look = async () => {
    await inTurn(file.look);
    changes.settle();
  };
  const watching = watchFile(() => void look().then(aim).catch(report), clock);
  let closed = false;
  const aim = async () => {
    // A loop of links is told by the reader; until it is mended, the file's own folder is watched.
    const target = await targetOf(path).catch(() => path);
    if (!closed) watching.aim([path, target]);
    return target;
  };
  const report = (error: unknown) =>
    log.error("config", "could not look at the file", { error: messageOf(error) });

  await sweepTemporaries(await aim());
  // What changed between the first read and the watch.
  await look();

  return {
    current: changes.current,
    onChange: changes.onChange,
    fault: file.fault,
    async update(given) {
      if (closed) throw new ServiceError("busy", "the service is stopping");
      const patch = checkPatch(given, {
        reader: readerFault,
        system: (name) => systemFault?.(name, changes.current()),
      });
      if (editsOf(patch).length > 0) await updates.add(patch);
    },
    async close() {
      closed = true;
      watching[Symbol.dispose]();
      await updates.done();
      await inTurn(async () => {});
    },
  };
}

interface Update {
  readonly patch: SettingsPatch;
  readonly saved: PromiseWithResolvers<void>;
}

interface Updates {
  /** Resolves when it is in the file. */
  add(patch: SettingsPatch): Promise<void>;
  /** The config with all that is not in the file yet laid over it. */
  over(config: Config, dataFolder: string): Config;
  /** Resolves when nothing waits. */
  done(): Promise<void>;
  /** Called whenever `over` may say something else. */
  changed: () => void;
}

/** Saves updates one after another; those that came while one was being saved are saved together. */
function createUpdates(file: ConfigFile, inTurn: Turns, log: Log): Updates {
  let saving: readonly Update[] = [];
  let waiting: readonly Update[] = [];
  let working: Promise<void> | undefined;

  const saveBatch = async () => {
    [saving, waiting] = [waiting, []];
    const batch = saving;
    const patch = Object.assign({}, ...batch.map((update) => update.patch));
    const [outcome] = await Promise.allSettled([file.save(patch)]);
    if (outcome.status === "rejected") {
      log.error("config", messageOf(outcome.reason), { cause: causeOf(outcome.reason) });
      // A save may have failed half-way, so the settings return to those of the file.
      await file.look().catch((error) => log.error("config", messageOf(error)));
    }
    saving = [];
    updates.changed();
    for (const { saved } of batch) {
      if (outcome.status === "fulfilled") saved.resolve();
      else saved.reject(outcome.reason);
    }
  };
  const work = async () => {
    while (waiting.length > 0) await inTurn(saveBatch);
    working = undefined;
  };
  const updates: Updates = {
    async add(patch) {
      const update = { patch, saved: Promise.withResolvers<void>() };
      waiting = [...waiting, update];
      updates.changed();
      // A step later, so that updates of one moment are saved together.
      working ??= Promise.resolve().then(work);
      await update.saved.promise;
    },
    over: (config, dataFolder) =>
      [...saving, ...waiting].reduce((sum, { patch }) => withPatch(sum, patch, dataFolder), config),
    done: async () => await working,
    changed() {},
  };
  return updates;
}

function causeOf(error: unknown): string | undefined {
  return error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : undefined;
}

type Turns = <T>(task: () => Promise<T>) => Promise<T>;

/** Runs tasks one after another; one that fails rejects and does not stop the next. */
function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const turn = last.then(task);
    // The caller answers for the failure.
    last = turn.catch(() => {});
    return turn;
  };
}

type SettingsListener = (now: Config, before: Config) => void;

interface Changes {
  current(): Config;
  onChange(listener: SettingsListener): Disposable;
  /** Asks for the wanted settings and, where they are others, puts them in use and tells the listeners. */
  settle(): void;
}

/** Starts with `first`; `wanted` says what the settings should be now. A listener's fault hurts nobody else. */
function createChanges(first: Config, wanted: () => Config, log: Log): Changes {
  const listeners = new Set<SettingsListener>();
  let now = first;
  let settling = false;

  const tell = (before: Config) => {
    const after = now;
    for (const listener of listeners) {
      try {
        listener(after, before);
      } catch (error) {
        // One listener's fault must not keep the others on old settings.
        log.error("config", "a listener failed", { error: messageOf(error) });
      }
    }
  };
  return {
    current: () => now,
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    settle() {
      // A listener that changes settings in its turn is answered by the loop, so that all hear of changes in their order.
      if (settling) return;
      settling = true;
      try {
        for (let next = wanted(); !isDeepStrictEqual(next, now); next = wanted()) {
          const before = now;
          now = next;
          logRestart(first, before, now, log);
          tell(before);
        }
      } finally {
        settling = false;
      }
    },
  };
}

/** What was opened at the start stays open: says so once for each change that asks for another. */
function logRestart(first: Config, before: Config, now: Config, log: Log): void {
  const keys = ["port", "listen", "tlsPort"] as const;
  const isNews = (key: (typeof keys)[number]) =>
    !isDeepStrictEqual(now.api[key], before.api[key]) && !isDeepStrictEqual(now.api[key], first.api[key]);
  if (keys.some(isNews))
    log.warn("config", "api.port, api.listen and api.tls_port take effect at the next start");
}
