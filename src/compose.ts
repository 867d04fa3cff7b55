/**
 * The composition root: reads the config, opens the store, joins bus, readers, launcher and API, and stops them in
 * reverse. The only place that knows them all.
 */
import { dirname, join } from "node:path";
import { type ApiOptions, type ApiServer, serveApi } from "./api/server.ts";
import { createBus } from "./bus.ts";
import { createMappingFiles } from "./config/mapping-files.ts";
import type { Overrides } from "./config/overrides.ts";
import { createSettings, type Settings } from "./config/settings.ts";
import { configuredSystems, mediaFolders } from "./config/shape.ts";
import { systemClock } from "./core/clock.ts";
import { messageOf } from "./core/errors.ts";
import { type ChangeableLog, createLog } from "./core/log.ts";
import type { ClosedPlaces } from "./core/media.ts";
import type { OpenInputDevice } from "./core/operating-system.ts";
import { createLauncher } from "./launch/launcher.ts";
import { createAllowLaunch } from "./launch/rules/allow-patterns.ts";
import { createPlayTime } from "./launch/rules/play-time.ts";
import { createTapLauncher } from "./launch/rules/tap-launcher.ts";
import { createSaveKeeper } from "./launch/saves/keeper.ts";
import { createMapper } from "./mappings/mapper.ts";
import { knownSystems, systemFault } from "./media/known-systems.ts";
import { createMediaWithSticks } from "./media/sticks/stick-library.ts";
import { type Driver, parseConnection } from "./readers/driver.ts";
import { type Readers, startReaders } from "./readers/readers.ts";
import { openStore, type Store } from "./store/open.ts";
import { withRealPaths } from "./system/closed-places.ts";
import { confinementFault, confinePlayers } from "./system/confine.ts";
import { closedPlaces, type ServicePlaces } from "./system/folders.ts";
import { machineChecks } from "./system/machine-checks.ts";
import { platform, version } from "./system/own-program.ts";
import { ownerOf } from "./system/socket-owner.ts";
import { prepareSpare } from "./system/spare-player.ts";
import { pageFile } from "./web/page-file.ts";
import { createServices } from "./wiring/api-services.ts";
import { createGuards } from "./wiring/clients-and-audit.ts";
import { closeAll } from "./wiring/close.ts";
import { prepareDataFolder } from "./wiring/data-folder.ts";
import { createDevices } from "./wiring/devices.ts";
import { followFolders, followSticks } from "./wiring/follow-media.ts";
import { createPairing, pairingService, pairOnScreen } from "./wiring/pairing-service.ts";
import { followScreen, type Screen } from "./wiring/screen.ts";
import { followCertificate, type ShownCertificate, tlsOf } from "./wiring/tls.ts";

export interface ServiceOptions {
  readonly places: ServicePlaces;
  readonly drivers: readonly Driver[];
  readonly openInput: OpenInputDevice;
  readonly refuseAt: ApiOptions["refuseAt"];
  /** Settings that count in the place of the config file's. */
  readonly overrides: Overrides;
  /** Takes log lines. */
  readonly write: (line: string) => void;
}

export interface Service {
  /** The port that the API listens on. */
  readonly port: number;
  /** Stops players, readers, connections and database, in this order, in under two seconds; a game that saves has five more. */
  close(): Promise<void>;
}

/** Starts everything, or throws `StartError` with nothing left running. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { places, drivers, openInput, refuseAt, overrides, write } = options;
  const log = createLog({ debug: false, write });
  const settings = await createSettings({
    path: places.configPath,
    dataFolder: places.dataFolder,
    mustExist: places.configNamed,
    log,
    overrides,
    readerFault: (text) => {
      const parsed = parseConnection(text, drivers);
      return parsed.kind === "error" ? parsed.message : undefined;
    },
    systemFault: (name, now) => systemFault(name, configuredSystems(now)),
  });
  log.configure(settings.current().log);
  await prepareDataFolder(places.dataFolder, log);
  await confinePlayers(places);
  if (confinementFault() !== "") log.warn("players", confinementFault());
  const store = openStore(places.dataFolder, { clock: systemClock, log });
  try {
    const mappingsFolder = join(dirname(places.configPath), "mappings");
    const { dataFolder, socketPath, savesMemory } = places;
    const tlsFolder = join(dataFolder, "tls");
    return await assemble({
      settings,
      log,
      store,
      drivers,
      openInput,
      refuseAt,
      dataFolder,
      tlsFolder,
      socketPath,
      savesMemory,
      mappingsFolder,
      closed: withRealPaths(closedPlaces(places, process.env)),
    });
  } catch (error) {
    store.close();
    await settings.close();
    throw error;
  }
}

interface Parts extends Pick<ServiceOptions, "drivers" | "openInput" | "refuseAt"> {
  readonly settings: Settings;
  readonly log: ChangeableLog;
  readonly store: Store;
  readonly dataFolder: string;
  /** Mappings that people keep in files; beside the config file. */
  readonly mappingsFolder: string;
  readonly closed: ClosedPlaces;
  readonly socketPath: string;
  readonly savesMemory: string;
  readonly tlsFolder: string;
}

async function assemble({
  socketPath,
  savesMemory,
  settings,
  log,
  store,
  drivers,
  openInput,
  refuseAt,
  dataFolder,
  tlsFolder,
  mappingsFolder,
  closed,
}: Parts): Promise<Service> {
  const clock = systemClock;
  const bus = createBus(log);
  const config = settings.current;
  const files = createMappingFiles({ folder: mappingsFolder, log, clock });
  const mapper = await createMapper({ store, files, log, clock });
  const media = createMediaWithSticks({
    folder: dataFolder,
    folders: () => ({ ...mediaFolders(config()), closed }),
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
  const wired: { readers?: Readers; api?: ApiServer; certificates?: ShownCertificate; screen?: Screen } = {};
  const pair = () =>
    pairOnScreen({ pairing, screen: () => wired.screen, place: () => pairingOffer.describe() });
  const device = { openInput, pair, settings, bus, clock, log, socketPath };
  const devices = createDevices({ ...device, readers: () => wired.readers });
  const saves = createSaveKeeper({ home: () => config().retroarch.saves, memory: savesMemory, clock, log });
  const launcher = createLauncher({
    config,
    bus,
    clock,
    log,
    history: store.history,
    lastMedia: store.lastMedia,
    saves,
    closed,
    media,
    sticks: media.sticks,
    devices,
    map: mapper.map,
    refusal: playTime.refusal,
  });
  /** Ends all that a client has here. */
  const expel = (id: string) => {
    wired.api?.cutClient(id);
    wired.readers?.withdraw(({ client }) => client === id);
    launcher.revoke(id);
  };
  // The API listens before the readers do, so that a port in use ends the start before any device was touched; the
  // readers are there by the time that anyone can ask.
  const fingerprint = () => wired.certificates?.fingerprint();
  const guards = createGuards({
    ...{ store, clock, log, dataFolder, fingerprint },
    isV1Allowed: () => config().api.allowV1Clients,
    cut: (id) => expel(id),
  });
  const pairing = createPairing({
    ...{ clock, log, addClient: guards.addByCode },
    ...{ guesses: store.pairingGuesses, audit: guards.doors.audit },
  });
  const surroundings = {
    listen: () => config().api.listen,
    port: () => wired.api?.port ?? 0,
    fingerprint,
  };
  const pairingOffer = pairingService(pairing, surroundings);
  const services = createServices({
    ...{ launcher, playTime, mapper, media, devices, store, clock, settings, dataFolder },
    savesFault: saves.fault,
    readers: () => wired.readers,
    ...guards.services,
    fingerprint,
    pairing: pairingOffer,
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
    ...guards.doors,
    pairing,
    page: pageFile,
    tls,
    uid: process.getuid?.() ?? -1,
    ...{ ownerOf, refuseAt },
    rules: () => config().api,
    allowLaunch: createAllowLaunch(() => config().api.allowLaunch, log),
  });
  const api = await serving.catch(async (error: unknown) => {
    mapper.close();
    await saves.close();
    await media.close();
    throw error;
  });
  wired.api = api;
  if (tls !== undefined) wired.certificates = followCertificate(tlsFolder, tls, { api, clock, log });
  const launching = createTapLauncher({
    ...{ bus, clock, log, launcher },
    readers: config().readers,
    requesterOf: (token) => wired.readers?.requesterOf(token),
  });
  const readers = startReaders({
    ...config().readers,
    drivers,
    bus,
    clock,
    log,
    feedback: () => config().audio.feedback,
  });
  wired.readers = readers;
  const deviceFault = machineChecks(process.env, clock).find(({ name }) => name === "device");
  const screen = followScreen({
    ...{ port: api.port, bus, clock, log, refusal: playTime.refusal },
    readers: () => readers.list(),
    fault: () => deviceFault?.ask() ?? "",
    hasGames: Bun.which("retroarch") !== null,
    place: () => pairingOffer.describe(),
  });
  wired.screen = screen;
  const indexing = new DisposableStack();
  indexing.use(followFolders(media.main, settings, { clock, log }));
  indexing.use(followSticks({ media, settings, launcher, clock }));
  settings.onChange((now, before) => {
    log.configure(now.log);
    api.review();
    launcher.review();
    if (before.api.allowV1Clients && !now.api.allowV1Clients)
      for (const { id } of store.v1Clients.list()) expel(id);
    launching.configure(now.readers);
    playTime.configure();
    if (now.audio.volumeMax < before.audio.volumeMax)
      launcher.holdVolume().catch((error) => log.warn("players", messageOf(error)));
    readers.reconfigure(now.readers).catch((error) => log.error("readers", messageOf(error)));
  });
  devices.startSounds();
  prepareSpare();
  // Read now, so that the first tap does not wait for it.
  knownSystems();
  log.info("service", "listening", { port: api.port, version, platform });

  return {
    port: api.port,
    close: () =>
      closeAll({
        ...{ log, launcher, saves, launching, playTime, devices, readers, api, pairing, screen },
        ...{ indexing, media, mapper, store, settings, guards },
        certificates: wired.certificates,
      }),
  };
}
