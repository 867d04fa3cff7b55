/**
 * The current settings: those of the config file, with the changes of the API. A change is in memory at once and in the
 * file a moment later. An edit by hand takes effect if it is valid; otherwise the last valid settings stay in use.
 *
 *   current = the last valid text of the file, with the patches applied that are not in the file yet, and then the overrides
 */
import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../core/clock.ts";
import { failed, messageOf, ServiceError } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import type { ButtonChange } from "./button-edit.ts";
import type { Table } from "./checks.ts";
import { type ConfigFile, type ConfigFileOptions, openConfigFile } from "./config-file.ts";
import { withOverrides } from "./overrides.ts";
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

const loggedCharsMax = 200;

export type Settings = Awaited<ReturnType<typeof createSettings>>;

/** Throws `StartError` with exit code 78 if the file is invalid. */
export async function createSettings(options: SettingsOptions) {
  const { path, dataFolder, log, readerFault = () => undefined, systemFault, clock = systemClock } = options;
  const { overrides = {} } = options;
  const file = await openConfigFile(options);
  const inTurn = createSerialQueue();
  const updates = createUpdates(file, inTurn, log, () => changes.settle());
  const wanted = () => withOverrides(updates.over(file.good(), dataFolder), overrides);
  const changes = createChanges(file.good(), wanted, log);

  const look = async () => {
    await inTurn(file.look);
    changes.settle();
  };
  const watching = watchFile(() => void look().then(aim).catch(report), clock);
  let closed = false;
  const aim = async () => {
    // A read of the file reports a loop of links. Until that is repaired, the file's own folder is watched.
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
    /** Calls `listener` after each change by the API or by hand, until disposed. */
    onChange: changes.onChange,
    /** Uses the settings of others where the file states none of its own (`withShared`). */
    share(settings: Table): void {
      file.share(settings);
      changes.settle();
    },
    /** The reason why the present file is not in use, or why some variables of the environment are not. */
    faults(): readonly Fault[] {
      const why = file.fault();
      return why === undefined ? (overrides.faults ?? []) : [faultOf("settings-invalid", { why })];
    },
    /**
     * Changes the given fields: `current()` before this returns, and the file before it resolves. Rejects with
     * `ServiceError`: `invalid-params` with the name of an invalid field, and nothing changed; or `failed` if the file cannot
     * be written. In both cases the settings return to those of the file. Logs the `unknown` names beside them.
     */
    async update(given: SettingsPatch, unknown: readonly string[] = []): Promise<void> {
      if (closed) throw new ServiceError("busy", "the service is stopping");
      const patch = checkPatch(given, {
        reader: readerFault,
        system: (name) => systemFault?.(name, changes.current()),
      });
      if (unknown.length > 0)
        log.info("config", "unknown settings were ignored", {
          names: unknown.join(" ").slice(0, loggedCharsMax),
        });
      if (editsOf(patch).length > 0) await updates.add(patch);
    },
    /**
     * Stores or removes a button. The button is in use when the promise resolves. Rejects with `failed` if the file
     * cannot be written.
     */
    async changeButton(change: ButtonChange): Promise<void> {
      if (closed) throw new ServiceError("busy", "the service is stopping");
      await inTurn(() => file.save(change));
      changes.settle();
    },
    /** Reads the file again, in case the watch has missed a change. Rejects with `failed` if the file has a fault. */
    async reload(): Promise<void> {
      await look();
      const fault = file.fault();
      if (fault !== undefined) throw failed(fault);
    },
    /** Stops watching the file. Resolves after the pending updates have ended. */
    async close(): Promise<void> {
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

/**
 * Saves updates one after another; updates that arrive during a save are saved together, unless one is refused. Calls
 * `changed` whenever the result of `over` may have changed.
 */
function createUpdates(
  file: ConfigFile,
  inTurn: ReturnType<typeof createSerialQueue>,
  log: Log,
  changed: () => void,
) {
  let saving: readonly Update[] = [];
  let waiting: readonly Update[] = [];
  let working: Promise<void> | undefined;

  const save = async (some: readonly Update[]) => {
    const patch = Object.assign({}, ...some.map((update) => update.patch));
    const [outcome] = await Promise.allSettled([file.save(patch)]);
    return outcome;
  };
  const end = async (some: readonly Update[], outcome: PromiseSettledResult<void>) => {
    if (outcome.status === "rejected") {
      log.error("config", messageOf(outcome.reason), { cause: causeOf(outcome.reason) });
      // A save may have failed half-way, so the settings return to those of the file.
      await file.look().catch((error) => log.error("config", messageOf(error)));
    }
    saving = saving.filter((update) => !some.includes(update));
    changed();
    for (const { saved } of some) {
      if (outcome.status === "fulfilled") saved.resolve();
      else saved.reject(outcome.reason);
    }
  };
  const saveBatch = async () => {
    saving = waiting;
    waiting = [];
    const batch = saving;
    const outcome = await save(batch);
    if (outcome.status === "fulfilled" || batch.length === 1) return end(batch, outcome);
    // The change of one caller may be the reason.
    for (const update of batch) await end([update], await save([update]));
  };
  const work = async () => {
    while (waiting.length > 0) await inTurn(saveBatch);
    working = undefined;
  };
  return {
    /** Resolves after the patch is in the file. */
    async add(patch: SettingsPatch): Promise<void> {
      const update = { patch, saved: Promise.withResolvers<void>() };
      waiting = [...waiting, update];
      changed();
      // The save begins in the next microtask, so simultaneous updates are saved together.
      working ??= Promise.resolve().then(work);
      await update.saved.promise;
    },
    /** The config with the patches applied that are not in the file yet. */
    over: (config: Config, dataFolder: string): Config =>
      [...saving, ...waiting].reduce((sum, { patch }) => withPatch(sum, patch, dataFolder), config),
    /** Resolves after the last pending update. */
    done: async () => await working,
  };
}

function causeOf(error: unknown): string | undefined {
  return error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : undefined;
}

type SettingsListener = (now: Config, before: Config) => void;

/** Starts with `first`; `wanted` returns the settings that should be in use. */
function createChanges(first: Config, wanted: () => Config, log: Log) {
  const listeners = new Set<SettingsListener>();
  let now = first;
  let settling = false;

  const tell = (before: Config) => {
    const after = now;
    for (const listener of listeners) {
      try {
        listener(after, before);
      } catch (error) {
        // The fault of one listener must not leave the others with old settings.
        log.error("config", "a listener failed", { error: messageOf(error) });
      }
    }
  };
  return {
    current: () => now,
    onChange(listener: SettingsListener): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    /** Takes the wanted settings into use, and calls the listeners if they differ. */
    settle(): void {
      // If a listener changes settings, the loop applies the change, so all listeners see the changes in order.
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

/** Logs once for each change of a setting that is read at the start only. */
function logRestart(first: Config, before: Config, now: Config, log: Log): void {
  const apiKeys = ["port", "listen", "tlsPort", "metrics"] as const;
  const isNews = <T>(of: (config: Config) => T) =>
    !isDeepStrictEqual(of(now), of(before)) && !isDeepStrictEqual(of(now), of(first));
  if (apiKeys.some((key) => isNews(({ api }) => api[key])))
    log.warn("config", "api.port, api.listen, api.tls_port and api.metrics take effect at the next start");
  if (isNews(({ cards }) => cards))
    log.warn("config", "the settings of shared cards take effect at the next start");
}
