/**
 * The current settings: those of the config file, with the changes of the API. A change is in memory at once and in the
 * file a moment later. An edit by hand takes effect if it is valid; otherwise the last valid settings stay in use.
 *
 *   current = the last valid text of the file, with the patches applied that are not in the file yet
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
  /** Returns why a connection string names no reader; if absent, every text is accepted. */
  readonly readerFault?: (connection: string) => string | undefined;
  /** Returns why a name is no system of this config; if absent, every text is accepted. */
  readonly systemFault?: (name: string, config: Config) => string | undefined;
  readonly clock?: Clock;
}

export interface Settings {
  current(): Config;
  /**
   * Changes the given fields: `current()` before this returns, and the file before it resolves. Rejects with
   * `ServiceError`: `invalid-params` with the name of an invalid field, and nothing changed; `failed` if the file cannot
   * be written, and then the settings return to those of the file.
   */
  update(patch: SettingsPatch): Promise<void>;
  /** Calls `listener` after each change by the API or by hand, until disposed. */
  onChange(listener: SettingsListener): Disposable;
  /** Why the present file is not in use, as a sentence; undefined if it is. */
  fault(): string | undefined;
  /** Stops watching the file. Resolves after the pending updates have ended. */
  close(): Promise<void>;
}

/** Throws `StartError` with exit code 78 if the file is invalid. */
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
    // The reader reports a loop of links; until it is repaired, the file's own folder is watched.
    const target = await targetOf(path).catch(() => path);
    if (!closed) watching.aim([path, target]);
    return target;
  };
  const report = (error: unknown) =>
    log.error("config", "could not look at the file", { error: messageOf(error) });

  await sweepTemporaries(await aim());
  // The file may have changed between the first read and the watch.
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
  /** Resolves after the patch is in the file. */
  add(patch: SettingsPatch): Promise<void>;
  /** The config with the patches applied that are not in the file yet. */
  over(config: Config, dataFolder: string): Config;
  /** Resolves after the last pending update. */
  done(): Promise<void>;
  /** Called whenever the result of `over` may have changed. */
  changed: () => void;
}

/** Saves updates one after another; updates that arrive during a save are saved together. */
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
      // In the next microtask, so that simultaneous updates are saved together.
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

/** Runs tasks one after another; a task that rejects does not stop the next one. */
function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const turn = last.then(task);
    // The caller handles the failure.
    last = turn.catch(() => {});
    return turn;
  };
}

type SettingsListener = (now: Config, before: Config) => void;

interface Changes {
  current(): Config;
  onChange(listener: SettingsListener): Disposable;
  /** Takes the wanted settings into use, and calls the listeners if they differ. */
  settle(): void;
}

/** Starts with `first`; `wanted` returns the settings that should be in use. */
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
      // If a listener changes settings, the loop applies that, so that all listeners see the changes in order.
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

/** Ports and addresses are opened at the start only; logs that once for each change of them. */
function logRestart(first: Config, before: Config, now: Config, log: Log): void {
  const keys = ["port", "listen", "tlsPort"] as const;
  const isNews = (key: (typeof keys)[number]) =>
    !isDeepStrictEqual(now.api[key], before.api[key]) && !isDeepStrictEqual(now.api[key], first.api[key]);
  if (keys.some(isNews))
    log.warn("config", "api.port, api.listen and api.tls_port take effect at the next start");
}
