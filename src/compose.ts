/**
 * The composition root: creates all parts in the order of their dependencies, and stops them. `launchQueue`, `readers`, `api` and
 * `screen` are also used by parts that are created before them, in functions that run only after the start.
 */
import { join } from "node:path";
import type { TlsOptions } from "./api/admission/listeners.ts";
import { type ApiServer, serveApi } from "./api/server.ts";
import type { Services } from "./api/services.ts";
import { completeRestore } from "./backup/apply-restore.ts";
import { type Bus, createBus } from "./bus.ts";
import { createNamedPlaces } from "./config/named-places.ts";
import type { Overrides } from "./config/overrides.ts";
import { createSettings, type Settings } from "./config/settings.ts";
import { type Config, configuredSystems } from "./config/shape.ts";
import { type Clock, systemClock as clock } from "./core/clock.ts";
import { messageOf } from "./core/errors.ts";
import { type ChangeableLog, createLog, type Log } from "./core/log.ts";
import { createLogRing, type LogRing } from "./core/log-ring.ts";
import type {
  LocalSockets,
  OpenButtons,
  OpenFolderWatches,
  OpenInputDevice,
  OpenMenuKeys,
  OpenTelevision,
} from "./core/operating-system.ts";
import type { LaunchQueue } from "./launch/launch-queue.ts";
import { createAllowLaunch } from "./launch/rules/allow-patterns.ts";
import { followQuietHours, volumeCeiling } from "./launch/rules/quiet-hours.ts";
import { createTapRules } from "./launch/rules/tap-rules.ts";
import type { LaunchSource } from "./launch/run-context.ts";
import type { SaveKeeper } from "./launch/saves/save-keeper.ts";
import { knownSystems, systemFault } from "./media/known-systems.ts";
import { type Driver, parseConnection } from "./readers/driver.ts";
import { type Readers, startReaders } from "./readers/readers.ts";
import { screenTexts } from "./screen/status-template.ts";
import { createServices } from "./services/api-services.ts";
import { type Bluetooth, followBluetooth } from "./services/bluetooth.ts";
import { createPlayback, ofMachine } from "./services/build-playback.ts";
import { type Buttons, followButtons, withPowerKey } from "./services/buttons.ts";
import { followCaseLights } from "./services/case-lights.ts";
import { type ClientAccess, createClientAccess } from "./services/clients-and-audit.ts";
import { followCode } from "./services/code-release.ts";
import { countMetrics, fleetKeys } from "./services/fleet.ts";
import { followFolders, followSticks } from "./services/follow-media.ts";
import { diskFaults } from "./services/health-report.ts";
import { followMqtt, type Mqtt } from "./services/mqtt.ts";
import { createPairing, pairingService, pairOnScreen } from "./services/pairing-service.ts";
import { preparePorts, withHolder } from "./services/ports.ts";
import { followScreen, type Screen } from "./services/screen.ts";
import { followShare } from "./services/share.ts";
import { createStops, type Stops } from "./services/stop-order.ts";
import { followCertificate, tlsOf } from "./services/tls.ts";
import { followWifi, type Wifi } from "./services/wifi.ts";
import { announceToWindows } from "./services/windows-discovery.ts";
import { openStore, type Store } from "./store/open.ts";
import { heldAddresses } from "./system/addresses.ts";
import { confinePlayers } from "./system/confine.ts";
import { createDescriptors } from "./system/descriptors.ts";
import type { ServicePlaces } from "./system/folders.ts";
import { createLocalCallers } from "./system/local-callers.ts";
import { machineChecks } from "./system/machine-checks.ts";
import { regainAccess } from "./system/own-modes.ts";
import { platform, tapdeckVersion } from "./system/own-program.ts";
import { prepareDataFolder } from "./system/private-files.ts";
import { endSpare, prepareSpare, renewSpare } from "./system/spare-player.ts";
import { pageFile } from "./web/page-file.ts";

interface ServiceOptions {
  readonly places: ServicePlaces;
  readonly drivers: readonly Driver[];
  readonly openInput: OpenInputDevice;
  readonly watchFolders: OpenFolderWatches;
  readonly localSockets: LocalSockets;
  readonly openTelevision: OpenTelevision;
  readonly openButtons: OpenButtons;
  readonly openMenuKeys: OpenMenuKeys;
  readonly releaseCode: () => Promise<unknown>;
  /** Settings that replace those of the config file. */
  readonly overrides: Overrides;
  /** Stops the service, and soon starts it again. A start completes a restore. */
  readonly restart: () => void;
  /** Takes log lines. */
  readonly write: (line: string) => void;
}

/** Starts everything, or throws `StartError` with nothing left running. */
export async function startService(options: ServiceOptions) {
  const { places } = options;
  const logs = createLogRing(clock);
  const log = createLog({ debug: false, write: options.write, keep: logs.keep });
  await regainAccess(places, process.env, log);
  await completeRestore(places, log);
  const settings = await openSettings(options, log);
  const stops = createStops(log);
  stops.add("settings", settings);
  try {
    log.configure(settings.current().log);
    await preparePorts(places.dataFolder, settings.current().api, log);
    await prepareDataFolder(places.dataFolder, log);
    const named = createNamedPlaces(settings.current, process.env, places.dataFolder);
    await confinePlayers(places, named, log);
    const store = stops.add("database", openStore(places.dataFolder, { clock, log }));
    const port = await startParts({
      ...options,
      ...places,
      settings,
      config: settings.current,
      clock,
      log,
      logs,
      store,
      stops,
      bus: createBus(log),
    });
    log.info("service", "listening", { port, version: tapdeckVersion, platform });
    return {
      /** The port that the API listens on. */
      port,
      /** Stops players, readers, connections and database, in this order, in under two seconds; a game that saves has five more. */
      close() {
        log.info("service", "stopping");
        return stops.run();
      },
    };
  } catch (error) {
    await stops.run();
    throw withHolder(error, settings.current().api.port);
  }
}

/** The inputs of all parts. */
interface Base extends ServiceOptions, ServicePlaces {
  readonly settings: Settings;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly log: ChangeableLog;
  readonly logs: LogRing;
  readonly store: Store;
  readonly bus: Bus;
  readonly stops: Stops;
}

/** The faults that the status screen shows: those of the start, and those that lose played media or positions. */
function screenFaults({ clock, dataFolder }: Base, saves: Pick<SaveKeeper, "faults">) {
  const start = machineChecks(process.env, clock).find(({ name }) => name === "device");
  return () => [...(start?.ask() ?? []), ...diskFaults(dataFolder), ...saves.faults()];
}

/** Returns the port of the API. */
async function startParts(base: Base): Promise<number> {
  const { config, clock, log, bus, stops, drivers } = base;
  const { tls, fingerprint, access, pairing, offer } = await createAccess(base, {
    port: () => api.port,
    show: (shown) => api.showCertificate(shown),
  });
  const playback = await createPlayback(base, {
    readers: () => readers,
    pair: () => pairOnScreen({ pairing, screen, place: offer.describe, role: access.roleByScreen }),
    shutdown: () => services.machine.shutdown(),
  });
  const { launchQueue, devices } = playback;
  const buttons = startButtons(base, launchQueue);
  let mqtt: Mqtt | undefined;
  const wifi = stops.add("Wi-Fi", followWifi({ ...ofMachine, log, onChanged: () => screen.refresh() }));
  const bluetooth = stops.add("Bluetooth", followBluetooth(ofMachine));
  const announce = (name: string) => announceToWindows({ name, log });
  const share = stops.add("share for PCs", followShare({ ...ofMachine, log, announce }));
  const services = createServices({
    ...base,
    ...playback,
    ...access,
    buttons,
    pairing: offer,
    fingerprint,
    audit: access.audit.read,
    onEnding(how) {
      const ending = how === "restart" ? "restarting" : "switching-off";
      lights.showEnding(ending);
      return screen.showEnding(ending);
    },
    readers: () => readers,
    mqtt: () => mqtt,
    wifi,
    bluetooth,
    share,
  });
  const descriptors = createDescriptors();
  const metrics = await countMetrics(base, { services, descriptors, launchQueue });
  // The API listens before the readers start, so a port in use ends the start before any device is touched.
  const serving = serveApi({
    ...base,
    ...access,
    services,
    descriptors,
    metrics,
    pairing,
    tls,
    page: pageFile,
    ...createLocalCallers(base),
    port: config().api.port,
    listen: config().api.listen,
    ownAddresses: heldAddresses,
    rules: () => config().api,
    allowLaunch: createAllowLaunch(() => config().api.allowLaunch, log),
  });
  const api = stops.add("connections", await serving);
  const launching = createTapRules({
    bus,
    clock,
    log,
    launchQueue,
    readers: config().readers,
    requesterOf: (token) => readers.requesterOf(token),
  });
  stops.add("launching", launching);
  const feedback = () => config().audio.feedback;
  const readers = startReaders({ ...config().readers, drivers, bus, clock, log, feedback });
  stops.add("readers", readers);
  const shown = shownFacts(base, { ...playback, readers });
  const screen = startScreen(base, { ...shown, api, offer, wifi });
  const lights = startLights(base, shown);
  access.onOwnerAct(screen.showAct);
  startMenu(base, { ...playback, screen, services, buttons, wifi, bluetooth });
  followSettings(base, { ...playback, access, api, launching, readers, buttons });
  devices.startSounds();
  mqtt = stops.add("MQTT", followMqtt({ ...base, services, api }));
  playback.cards?.start(playback.mapper);
  prepareSpare();
  stops.add("spare player", { close: endSpare });
  stops.add("code", followCode(base));
  // It is read now, so the first tap does not wait for it.
  knownSystems();
  return api.port;
}

interface ShownParts extends Pick<Awaited<ReturnType<typeof createPlayback>>, "playTime" | "saves"> {
  readonly readers: Readers;
}

/** The facts that the screen and the lights of the case show. */
function shownFacts(base: Base, { playTime, readers, saves }: ShownParts) {
  const { bus, clock, log } = base;
  return {
    bus,
    clock,
    log,
    refusal: playTime.refusal,
    readers: () => readers.list(),
    brokenReader: () => readers.broken(),
    faults: screenFaults(base, saves),
  };
}

type ShownFacts = ReturnType<typeof shownFacts>;

interface ScreenParts extends ShownFacts {
  readonly api: ApiServer;
  readonly offer: ReturnType<typeof pairingService>;
  readonly wifi: Wifi;
}

/** Starts the status screen. */
function startScreen({ settings, stops }: Base, { api, offer, wifi, ...facts }: ScreenParts) {
  const screen = followScreen({
    ...facts,
    port: api.port,
    place: offer.describe,
    wifi: wifi.state,
    hasGames: Bun.which("retroarch") !== null,
    language: () => settings.current().television.language,
    view: () => settings.current().television,
  });
  settings.onChange(({ television: now }, { television: before }) => {
    const isSame =
      now.language === before.language &&
      now.rotation === before.rotation &&
      now.overscan === before.overscan;
    if (!isSame) screen.refresh();
  });
  return stops.add("screen", screen);
}

/** Starts the lights of the case. */
function startLights({ settings, stops }: Base, facts: ShownFacts) {
  const lights = followCaseLights({ ...facts, brightness: () => settings.current().light.brightness });
  settings.onChange((now, before) => {
    if (now.light.brightness !== before.light.brightness) lights.refresh();
  });
  return stops.add("lights", lights);
}

interface MenuBase extends Pick<Awaited<ReturnType<typeof createPlayback>>, "launchQueue"> {
  readonly screen: Screen;
  readonly services: Services;
  readonly buttons: Buttons;
  readonly wifi: Wifi;
  readonly bluetooth: Bluetooth;
}

/** Starts the menu of the status screen. Without such a screen, its code is not loaded. */
function startMenu(base: Base, parts: MenuBase): void {
  const { launchQueue, screen, services, buttons, wifi, bluetooth } = parts;
  const { bus, clock, log, openMenuKeys, settings, stops } = base;
  if (!screen.isThere) return;
  // In public places, a controller in reach may play but change nothing.
  const isHome = process.env.TAPDECK_FIRST_OWNER === "yes";
  const menu = import("./services/menu.ts").then(({ followMenu }) =>
    followMenu({
      bus,
      clock,
      log,
      screen,
      open: openMenuKeys,
      isTeaching: buttons.isTeaching,
      library: services.library,
      launch: (text) => launchQueue.launch(...byHand("Menu", text)),
      volume: launchQueue.idleVolume,
      wifi: () => (isHome && wifi.state().state !== "none" ? wifi : undefined),
      bluetooth: () => (isHome && bluetooth.report().state !== "none" ? bluetooth : undefined),
      canSwitchOff: isHome && process.env.TAPDECK_MACHINE !== undefined,
      texts: () => screenTexts[settings.current().television.language].menu,
    }),
  );
  menu.catch((error: unknown) => log.error("menu", messageOf(error)));
  stops.add("menu", { close: async () => (await menu)[Symbol.dispose]() });
}

/** Launches a script of a button or the menu, with the rights of a card on the device. */
function byHand(type: string, text: string) {
  const source: LaunchSource = { isFromReader: true, isUnlisted: true };
  return [{ type, uid: "", text, data: "" }, source] as const;
}

/** Opens the certificate, the clients and pairing. */
async function createAccess(
  base: Base,
  later: { readonly port: () => number; readonly show: (shown: TlsOptions) => void },
) {
  const { config, clock, log, store, stops, dataFolder } = base;
  const folder = join(dataFolder, "tls");
  const tls = await tlsOf(config().api.tlsPort, folder, log);
  const certificate = tls && followCertificate(folder, tls, { clock, log, show: later.show });
  if (certificate !== undefined) stops.add("certificates", certificate);
  const fingerprint = () => certificate?.fingerprint();
  const isV1Allowed = () => config().api.allowV1Clients;
  const keys = await fleetKeys(process.env);
  const access = createClientAccess({
    ...base,
    fingerprint,
    metricsKey: keys.metrics,
    isV1Allowed,
    isFirstOwner: process.env.TAPDECK_FIRST_OWNER === "yes",
  });
  stops.add("audit log", access);
  const { clients, audit } = access;
  clients.keepStaff(keys.staff);
  const pairing = createPairing({
    clock,
    log,
    audit,
    addClient: clients.addPaired,
    guesses: store.pairingGuesses,
  });
  stops.add("pairing", pairing);
  const offer = pairingService(pairing, {
    listen: () => config().api.listen,
    port: later.port,
    fingerprint,
  });
  return { tls, fingerprint, access, pairing, offer };
}

interface Running extends Awaited<ReturnType<typeof createPlayback>> {
  readonly access: ClientAccess;
  readonly api: ApiServer;
  readonly launching: ReturnType<typeof createTapRules>;
  readonly readers: Readers;
  readonly buttons: Buttons;
}

/** Opens the buttons of the case. They have no effect until `followSettings` names them. */
function startButtons({ clock, log, stops, openButtons }: Base, launchQueue: LaunchQueue): Buttons {
  const launch = (text: string) => launchQueue.launch(...byHand("Button", text));
  return stops.add("buttons", followButtons({ clock, log, open: openButtons, launch }));
}

/** Applies changes of the settings, and of clients and their roles, to the running parts. */
function followSettings(
  { settings, log, clock, store, stops, watchFolders }: Base,
  { launchQueue, playTime, media, access, api, launching, readers, buttons, sound, holdVolume }: Running,
): void {
  /** Ends all running work of a client. */
  const expel = (id: string) => {
    api.cutClient(id);
    readers.withdraw(({ client }) => client === id);
    launchQueue.revoke(id);
  };
  access.onChanged(expel);
  const quietHours = stops.add(
    "quiet hours",
    followQuietHours({ config: settings.current, clock, hold: holdVolume }),
  );
  const heard = (now: Config) => withPowerKey(now.buttons, process.env.TAPDECK_MACHINE !== undefined);
  buttons.configure(heard(settings.current()));
  stops.add("media folders", followFolders(media.main, settings, { clock, log, open: watchFolders }));
  stops.add("USB sticks", followSticks({ media, settings, launchQueue, clock }));
  settings.onChange((now, before) => {
    log.configure(now.log);
    renewSpare();
    api.review();
    launchQueue.review();
    if (before.api.allowV1Clients && !now.api.allowV1Clients)
      for (const { id } of store.v1Clients.list()) expel(id);
    launching.configure(now.readers);
    buttons.configure(heard(now));
    playTime.configure();
    const ceiling = (config: Config) => volumeCeiling(config, clock.now(), sound.plays());
    if (ceiling(now) < ceiling(before)) holdVolume();
    sound.configure();
    quietHours.configure();
    readers.reconfigure(now.readers).catch((error) => log.error("readers", messageOf(error)));
  });
}

function openSettings({ places, drivers, overrides }: ServiceOptions, log: Log): Promise<Settings> {
  return createSettings({
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
}
