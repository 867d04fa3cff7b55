/**
 * The composition root: reads the config, opens the store, joins bus, readers, launcher and API, and stops them in
 * reverse. The only place that knows them all.
 */
import { mkdir } from "node:fs/promises";
import { type ApiServer, serveApi } from "./api/server.ts";
import { createBus } from "./bus.ts";
import { readConfig } from "./config/read.ts";
import type { Config } from "./config/shape.ts";
import { systemClock } from "./core/clock.ts";
import { exitCodes, messageOf, ServiceError, StartError } from "./core/errors.ts";
import { createLog, type Log } from "./core/log.ts";
import type { Token } from "./core/token.ts";
import { createLauncher, type Launcher } from "./launch/launcher.ts";
import type { Driver } from "./readers/contract.ts";
import { type Readers, startReaders } from "./readers/readers.ts";
import { createServices } from "./services.ts";
import { openStore, type Store } from "./store/open.ts";
import type { Places } from "./system/paths.ts";
import { platform, version } from "./system/version.ts";

export interface ServiceOptions {
  readonly places: Places;
  readonly drivers: readonly Driver[];
  /** Takes log lines. */
  readonly write: (line: string) => void;
}

export interface Service {
  /** The port that the API listens on. */
  readonly port: number;
  /** Stops players, readers, connections and database, in this order, in under two seconds. */
  close(): Promise<void>;
}

/** Starts everything, or throws `StartError` with nothing left running. */
export async function startService({ places, drivers, write }: ServiceOptions): Promise<Service> {
  const config = await readConfig(places.configPath, {
    dataFolder: places.dataFolder,
    mustExist: places.configNamed,
  });
  const log = createLog({ debug: config.log.debug, write: config.log.console ? write : () => {} });
  await makeDataFolder(places.dataFolder);
  const store = openStore(places.dataFolder);
  try {
    return await join({ config, log, store, drivers, dataFolder: places.dataFolder });
  } catch (error) {
    store.close();
    throw error;
  }
}

interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly drivers: readonly Driver[];
  readonly dataFolder: string;
}

async function join({ config, log, store, drivers, dataFolder }: Parts): Promise<Service> {
  const clock = systemClock;
  const bus = createBus(log);
  const launcher = createLauncher({ config, bus, clock, log, history: store.history, map: () => undefined });
  // The API listens before the readers do, so that a port in use ends the start before any device was touched; the
  // readers are there by the time that anyone can ask.
  const wired: { readers?: Readers } = {};
  const services = createServices({
    launcher,
    store,
    clock,
    config,
    dataFolder,
    readers: () => wired.readers,
  });
  const api = await serveApi({
    services,
    bus,
    log,
    clock,
    port: config.api.port,
    listen: config.api.listen,
    rules: () => config.api,
    allowLaunch: () => false,
  });
  const launching = bus.on("tokens.added", (token) => launchToken(launcher, log, token));
  const readers = startReaders({ ...config.readers, drivers, bus, clock, log });
  wired.readers = readers;
  log.info("service", "listening", { port: api.port, version, platform });

  return { port: api.port, close: () => closeAll({ log, launcher, launching, readers, api, store }) };
}

/** A tap asks for a launch; where it cannot have one, the log says so, for nobody waits for an answer. */
function launchToken(launcher: Launcher, log: Log, token: Token): void {
  try {
    launcher.launch(token, token.readerId === "" ? undefined : { readerId: token.readerId });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.warn("launch", error.message, { uid: token.uid });
  }
}

interface Running {
  readonly log: Log;
  readonly launching: Disposable;
  readonly launcher: Launcher;
  readonly readers: Readers;
  readonly api: ApiServer;
  readonly store: Store;
}

async function closeAll({ log, launching, launcher, readers, api, store }: Running): Promise<void> {
  log.info("service", "stopping");
  launching[Symbol.dispose]();
  const steps: readonly [string, () => Promise<void> | void][] = [
    ["players", () => launcher.close()],
    ["readers", () => readers.close()],
    ["connections", () => api.close()],
    ["database", () => store.close()],
  ];
  for (const [what, close] of steps) {
    try {
      await close();
    } catch (error) {
      // The rest must be closed all the same.
      log.error("service", "could not stop in order", { what, error: messageOf(error) });
    }
  }
}

async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      exitCodes.cannotCreate,
      `cannot make the data folder ${folder}: ${messageOf(error)}. Name another one with --data.`,
      error,
    );
  }
}
