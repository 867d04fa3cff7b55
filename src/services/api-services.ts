/** The services that the API may call. Each call is passed to the part that implements it. */

import { requesterOf } from "../api/method.ts";
import type { ApiSettings, OpenRpcDocument, Services } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import type { Overrides } from "../config/overrides.ts";
import type { Settings } from "../config/settings.ts";
import { describeSettings } from "../config/settings-table.ts";
import { type Config, mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import type { SoundReport, UpdateServer } from "../core/device-shapes.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import type { ClosedPlaces } from "../core/media.ts";
import type { SharedCards } from "../fleet/shared-cards.ts";
import type { LaunchQueue } from "../launch/launch-queue.ts";
import { describeLaunchers, missingPrograms } from "../launch/launchers.ts";
import { installedCores } from "../launch/ports/script-ports.ts";
import type { PlayTimeLimiter } from "../launch/rules/play-time.ts";
import type { SleepTimer } from "../launch/rules/sleep-timer.ts";
import type { SaveKeeper } from "../launch/saves/save-keeper.ts";
import type { Mapper } from "../mappings/mapper.ts";
import type { MediaWithSticks } from "../media/sticks/stick-library.ts";
import type { Readers } from "../readers/readers.ts";
import type { Store } from "../store/open.ts";
import { confinementFaults } from "../system/confine.ts";
import { diskFacts, machineFacts } from "../system/device-facts.ts";
import { machineChecks } from "../system/machine-checks.ts";
import { createMachineControl, type MachineControl } from "../system/machine-control.ts";
import { platform, tapdeckVersion } from "../system/own-program.ts";
import { createBackupService } from "./backup-service.ts";
import { createBrokerService } from "./broker-service.ts";
import { createButtonTeaching } from "./button-teaching.ts";
import type { Buttons } from "./buttons.ts";
import { createCertificateEnds } from "./certificates.ts";
import type { AllDevices } from "./devices.ts";
import { createHealth, createMediaCheck, diskFaults, type FolderToCheck } from "./health-report.ts";
import { createLibrary, createWarningOf, idBelow } from "./library.ts";
import type { Mqtt } from "./mqtt.ts";
import { createScreenshots } from "./screenshots.ts";
import type { Stops } from "./stop-order.ts";
import { followUpdateServer } from "./update-server.ts";

interface ServiceSources
  extends Pick<
    Services,
    "logs" | "clients" | "pairByPin" | "audit" | "pairing" | "uploads" | "wifi" | "bluetooth" | "share"
  > {
  readonly media: MediaWithSticks;
  /** The files and folders of the service. */
  readonly closed: ClosedPlaces;
  readonly launchQueue: LaunchQueue;
  readonly playTime: PlayTimeLimiter;
  readonly sleepTimer: Pick<SleepTimer, "set" | "endsAt">;
  readonly sound: { readonly report: () => SoundReport };
  readonly mapper: Mapper;
  readonly buttons: Pick<Buttons, "learn">;
  readonly devices: Pick<AllDevices, "write" | "inputText" | "captureScreen" | "refuseFullScreenshots">;
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly dataFolder: string;
  readonly configPath: string;
  readonly overrides: Pick<Overrides, "fleet">;
  /** Stops the service, and soon starts it again. */
  readonly restart: () => void;
  readonly onEnding: (how: "restart" | "shutdown") => Promise<void>;
  readonly cards: Pick<SharedCards, "faults" | "status"> | undefined;
  /** The reasons why saves of games are not kept. */
  readonly saves: Pick<SaveKeeper, "faults">;
  /** The fingerprint of the TLS certificate. */
  readonly fingerprint: () => string | undefined;
  readonly readers: () => Readers;
  /** The connection to a broker; undefined during the start. */
  readonly mqtt: () => Mqtt | undefined;
  readonly log: Log;
  readonly bus: Bus;
  readonly stops: Stops;
}

export function createServices(sources: ServiceSources): Services {
  const { launchQueue, playTime, mapper, devices, store, clock, settings, readers, mqtt } = sources;
  const { closed, dataFolder, cards, fingerprint, media } = sources;
  const { machine, updates } = createMachine(sources);
  // Created on demand, because only `rpc.discover` needs it.
  let description: OpenRpcDocument | undefined;
  const folders = () => ({ ...mediaFolders(settings.current()), closed, sticks: media.sticks() });
  const describe = async () =>
    (description ??= (await import("../api/openrpc.ts")).describeApi(tapdeckVersion));
  return {
    platform,
    version: tapdeckVersion,
    launch: (token, from) => launchQueue.launch(token, from),
    stop: () => launchQueue.stop(),
    confirm: () => launchQueue.confirm(),
    playTime() {
      const state = playTime.state();
      return { ...state, limits: { ...state.limits, volumeMax: settings.current().audio.volumeMax } };
    },
    playlist: (from) => launchQueue.playlist(from),
    sleepTimer: sources.sleepTimer,
    tokens: () => readers().tokens(),
    scan: (token, durationMs, readerId, requester) => readers().scan(token, durationMs, readerId, requester),
    history({ cursor, ...asked }) {
      const { entries, nextId } = store.history.page({ ...asked, belowId: idBelow(cursor) });
      return { entries, nextCursor: nextId === undefined ? undefined : String(nextId) };
    },
    cards: (limit) => store.history.cards(limit),
    readers: () => readers().list(),
    refusedReaders: () => readers().refused(),
    write: (request, signal) => devices.write(request, signal),
    input: devices.inputText,
    cancelWrite: (readerId) => readers().cancel(readerId),
    async playback() {
      const active = await launchQueue.playback();
      const audio = active && media.audioOf(active.mediaPath);
      return active && { ...active, ...(audio && { audio }) };
    },
    control: (action, caller) => launchQueue.control(action, requesterOf(caller)),
    screenshot: createScreenshots({ devices, launchQueue }),
    launchers: () => describeLaunchers(settings.current().launchers, Bun.which, installedCores),
    health: createHealth({
      clock,
      readers: () => ({
        connected: readers()
          .list()
          .filter((reader) => reader.connected).length,
        configured: settings.current().readers.connect.length,
      }),
      fingerprint,
      mqtt: () => mqtt()?.status(),
      updates: updates.status,
      certificates: createCertificateEnds({
        config: settings.current,
        dataFolder,
        broker: () => mqtt()?.certificateEnd(),
      }),
      checks: checksOf(sources),
    }),
    device: () => describeDevice(sources, machine, updates.status()),
    updates: updates.status,
    machine: {
      restart: machine.restart,
      shutdown: machine.shutdown,
      update: (url) => (url === undefined ? updates.install() : machine.update(url)),
    },
    logs: sources.logs,
    media,
    uploads: sources.uploads,
    library: createLibrary({ media, clock, plays: store.plays, favourites: store.favourites, folders }),
    mappings: { ...mapper, warningOf: createWarningOf({ media, clock, folders }) },
    sharedCards: () => cards?.status(),
    settings: {
      ...settings,
      read: () => publicSettings(settings),
      describe: () => describeSettings().map(({ form, ...facts }) => ({ ...facts, ...form })),
    },
    clients: sources.clients,
    pairByPin: sources.pairByPin,
    audit: sources.audit,
    pairing: sources.pairing,
    backup: createBackupService({ ...sources, places: sources }),
    broker: createBrokerService(sources),
    buttons: createButtonTeaching({ ...sources, playing: launchQueue.activeMedia }),
    wifi: sources.wifi,
    bluetooth: sources.bluetooth,
    share: sources.share,
    describe: () => description ?? describe(),
  };
}

/** The checks of `health`, in its order. */
function checksOf(sources: ServiceSources): Parameters<typeof createHealth>[0]["checks"] {
  const { readers, store, dataFolder, saves, settings, cards, media, mqtt, clock } = sources;
  return [
    { name: "readers", ask: () => readers().faults() },
    { name: "database", ask: () => databaseFaults(store) },
    { name: "disk", ask: () => [...diskFaults(dataFolder), ...saves.faults()] },
    { name: "settings", ask: () => [...settings.faults(), ...(cards?.faults() ?? [])] },
    { name: "media", ask: createMediaCheck(() => foldersToCheck(settings.current(), media)) },
    { name: "players", ask: () => [...confinementFaults(), ...programFaults(sources)] },
    { name: "mqtt", ask: () => mqtt()?.faults() },
    ...machineChecks(process.env, clock),
  ];
}

function databaseFaults(store: Store): readonly Fault[] {
  try {
    store.check();
    return [];
  } catch (error) {
    return [faultOf("database-failed", { why: messageOf(error) })];
  }
}

function programFaults({ settings, media }: ServiceSources): readonly Fault[] {
  const used = media.systems().map(({ id }) => id);
  return missingPrograms(settings.current().launchers, Bun.which, used);
}

function createMachine(sources: ServiceSources) {
  const machine = sources.stops.add(
    "machine",
    createMachineControl({
      ...sources,
      environment: process.env,
      pipe: 0,
      async stopMedia() {
        await sources.launchQueue.stopAll();
        // The last position waits for a transaction and its sync.
        await sources.store.settle();
      },
      onUpdate: (state) => sources.bus.emit("device.updating", state),
    }),
  );
  const updates = followUpdateServer({
    ...sources,
    engine: machine.engine,
    onLatest: () => sources.mqtt()?.showUpdate(),
  });
  return { machine, updates };
}

const startedMs = performance.now();

async function describeDevice(
  { settings, dataFolder, sound }: ServiceSources,
  machine: MachineControl,
  updates: UpdateServer | undefined,
) {
  const { roots, own } = mediaFolders(settings.current());
  const folders = [dataFolder, ...roots, ...own.map(({ folder }) => folder)];
  const [facts, disks] = await Promise.all([machineFacts(), diskFacts(folders)]);
  const updating = machine.updating();
  return {
    ...facts,
    version: tapdeckVersion,
    platform,
    uptime: Math.floor((performance.now() - startedMs) / 1000),
    disks,
    actions: machine.actions,
    ...(sound.report().there.length === 0 ? {} : { sound: sound.report() }),
    ...(updating === undefined ? {} : { updating }),
    ...(updates === undefined ? {} : { updates }),
  };
}

function foldersToCheck(config: Config, media: Pick<MediaWithSticks, "bases">): readonly FolderToCheck[] {
  const { roots, own } = mediaFolders(config);
  const stated = [...config.systems.statedRootFolders, ...own.map(({ folder }) => folder)];
  const bases = media.bases();
  return [...new Set([...roots, ...stated])].map((folder) => ({
    folder,
    isStated: stated.includes(folder),
    indexed: bases.filter(({ root }) => root === folder).map(({ path }) => path),
  }));
}

function publicSettings(settings: Settings): ApiSettings {
  const { readers, audio, log, systems, launch, playback, television, device } = settings.current();
  return {
    reader: readers.connect,
    audioFeedback: audio.feedback,
    detectReaders: readers.detect,
    insertMode: readers.insertMode,
    insertModeAction: readers.insertModeAction,
    insertModeBlocklist: readers.insertModeBlocklist,
    insertModeExitDelay: readers.insertModeExitDelay,
    consoleLogging: log.console,
    debug: log.debug,
    launchGuardEnabled: launch.guard,
    playbackResume: playback.resume,
    soundPlace: audio.place,
    televisionVolumeMax: audio.televisionVolumeMax,
    usbVolumeMax: audio.usbVolumeMax,
    jackVolumeMax: audio.jackVolumeMax,
    bluetoothVolumeMax: audio.bluetoothVolumeMax,
    volumeStart: audio.volumeStart,
    quietFrom: audio.quietFrom,
    quietUntil: audio.quietUntil,
    quietVolumeMax: audio.quietVolumeMax,
    timeZone: device.timeZone,
    televisionLanguage: television.language,
    televisionWake: television.wake,
    televisionStandbyMinutes: television.standbyMinutes,
    televisionOverscan: television.overscan,
    televisionRotation: television.rotation,
    rootFolder: systems.statedRootFolders,
  };
}
