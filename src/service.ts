/**
 * The composition root: reads the config, opens the store, joins bus, readers, launcher and API, and stops them in
 * reverse. The only place that knows them all.
 */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ApiServer, serveApi } from "./api/server.ts";
import { createBus } from "./bus.ts";
import { createMappingFiles } from "./config/mapping-files.ts";
import { createSettings, type Settings } from "./config/settings.ts";
import { mediaFolders } from "./config/shape.ts";
import { systemClock } from "./core/clock.ts";
import { exitCodes, messageOf, StartError } from "./core/errors.ts";
import { type ChangeableLog, createLog, type Log } from "./core/log.ts";
import { createAllowLaunch } from "./launch/allow-launch.ts";
import { createHolding } from "./launch/holding.ts";
import { createLauncher, type Launcher } from "./launch/launcher.ts";
import { createMapper, type Mapper } from "./launch/mappings/mapper.ts";
import { createPlayTime } from "./launch/play-time.ts";
import { createMedia, type MediaLibrary } from "./media/media.ts";
import { knownSystems } from "./media/systems.ts";
import { parseConnection } from "./readers/connection.ts";
import type { Driver } from "./readers/contract.ts";
import { type Readers, startReaders } from "./readers/readers.ts";
import { acceptHandshake } from "./secure/handshake.ts";
import { createServices } from "./services.ts";
import { openStore, type Store } from "./store/open.ts";
import type { Places } from "./system/paths.ts";
import { ownerOf } from "./system/socket-owner.ts";
import { platform, version } from "./system/version.ts";
import { followFolders } from "./wiring/media.ts";
import { followScreen } from "./wiring/screen.ts";
import { followCertificate, tlsOf } from "./wiring/tls.ts";

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
  const log = createLog({ debug: false, write });
  const settings = await createSettings({
    path: places.configPath,
    dataFolder: places.dataFolder,
    mustExist: places.configNamed,
    log,
    readerFault: (text) => {
      const parsed = parseConnection(text, drivers);
      return parsed.kind === "error" ? parsed.message : undefined;
    },
  });
  log.configure(settings.current().log);
  await makeDataFolder(places.dataFolder);
  const store = openStore(places.dataFolder, { clock: systemClock, log });
  try {
    const mappingsFolder = join(dirname(places.configPath), "mappings");
    const { dataFolder, socketPath } = places;
    const tlsFolder = join(dataFolder, "tls");
    return await assemble({
      settings,
      log,
      store,
      drivers,
      dataFolder,
      tlsFolder,
      socketPath,
      mappingsFolder,
    });
  } catch (error) {
    store.close();
    await settings.close();
    throw error;
  }
}

interface Parts {
  readonly settings: Settings;
  readonly log: ChangeableLog;
  readonly store: Store;
  readonly drivers: readonly Driver[];
  readonly dataFolder: string;
  /** Mappings that people keep in files; beside the config file. */
  readonly mappingsFolder: string;
  readonly socketPath: string;
  readonly tlsFolder: string;
}

async function assemble({
  socketPath,
  settings,
  log,
  store,
  drivers,
  dataFolder,
  tlsFolder,
  mappingsFolder,
}: Parts): Promise<Service> {
  const clock = systemClock;
  const bus = createBus(log);
  const config = settings.current;
  const files = createMappingFiles({ folder: mappingsFolder, log, clock });
  const mapper = await createMapper({ store, files, log, clock });
  const media = createMedia({
    folder: dataFolder,
    folders: () => mediaFolders(config()),
    prefer: () => config().systems.prefer,
    emit: (status) => bus.emit("media.indexing", status),
    clock,
    log,
  });
  const playTime = createPlayTime({
    limits: () => config().playtime,
    bus,
    clock,
    log,
    store: store.playTimes,
    stopMedia: (why) => launcher.stopMedia(why),
  });
  const launcher = createLauncher({
    config,
    bus,
    clock,
    log,
    history: store.history,
    media,
    map: mapper.map,
    refusal: playTime.refusal,
  });
  // The API listens before the readers do, so that a port in use ends the start before any device was touched; the
  // readers are there by the time that anyone can ask.
  const wired: { readers?: Readers; api?: ApiServer } = {};
  const services = createServices({
    launcher,
    playTime,
    mapper,
    media,
    store,
    clock,
    settings,
    dataFolder,
    readers: () => wired.readers,
    cutClient: (id) => wired.api?.cutClient(id),
  });
  const tls = await tlsOf(config().api.tlsPort, tlsFolder, log);
  const serving = serveApi({
    services,
    bus,
    log,
    clock,
    port: config().api.port,
    listen: config().api.listen,
    socketPath,
    accept: (hello) => acceptHandshake(hello, (id) => store.clients.get(id)?.secret),
    onProved: store.clients.seen,
    tls,
    uid: process.getuid?.() ?? -1,
    ownerOf,
    rules: () => config().api,
    allowLaunch: createAllowLaunch(() => config().api.allowLaunch, log),
  });
  const api = await serving.catch(async (error: unknown) => {
    mapper.close();
    await media.close();
    throw error;
  });
  wired.api = api;
  const certificates = tls === undefined ? undefined : followCertificate(tlsFolder, tls, { api, clock, log });
  const launching = createHolding({ bus, clock, log, launcher, readers: config().readers });
  const readers = startReaders({
    ...config().readers,
    drivers,
    bus,
    clock,
    log,
    feedback: () => config().audio.feedback,
  });
  wired.readers = readers;
  const screen = followScreen({ port: api.port, bus, readers: () => readers.list(), clock, log });
  const indexing = followFolders(media, settings, { clock, log });
  settings.onChange((now) => {
    log.configure(now.log);
    launching.configure(now.readers);
    playTime.configure();
    readers.reconfigure(now.readers).catch((error) => log.error("readers", messageOf(error)));
  });
  // Read now, so that the first tap does not wait for it.
  knownSystems();
  log.info("service", "listening", { port: api.port, version, platform });

  return {
    port: api.port,
    close: () =>
      closeAll({
        log,
        launcher,
        launching,
        playTime,
        readers,
        api,
        certificates,
        screen,
        indexing,
        media,
        mapper,
        store,
        settings,
      }),
  };
}

interface Running {
  readonly log: Log;
  readonly launching: Disposable;
  readonly playTime: Disposable;
  readonly launcher: Launcher;
  readonly readers: Readers;
  readonly api: ApiServer;
  readonly store: Store;
  readonly settings: Settings;
  readonly mapper: Mapper;
  readonly certificates: Disposable | undefined;
  readonly screen: Disposable;
  readonly indexing: Disposable;
  readonly media: MediaLibrary;
}

async function closeAll({
  log,
  launching,
  playTime,
  launcher,
  readers,
  api,
  certificates,
  screen,
  indexing,
  media,
  mapper,
  store,
  settings,
}: Running): Promise<void> {
  log.info("service", "stopping");
  launching[Symbol.dispose]();
  const steps: readonly [string, () => Promise<void> | void][] = [
    ["players", () => launcher.close()],
    ["play time", () => playTime[Symbol.dispose]()],
    ["readers", () => readers.close()],
    ["screen", () => screen[Symbol.dispose]()],
    ["certificates", () => certificates?.[Symbol.dispose]()],
    ["connections", () => api.close()],
    ["mappings", () => mapper.close()],
    ["indexing", () => indexing[Symbol.dispose]()],
    ["media", () => media.close()],
    ["settings", () => settings.close()],
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
