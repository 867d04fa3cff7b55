/** What the API may ask, joined from the parts that know: a thin hand-over, with no judgement of its own. */
import type {
  ApiSettings,
  MediaService,
  OpenRpcDocument,
  PairingService,
  Services,
} from "../api/services.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Launcher } from "../launch/launcher.ts";
import { describeLaunchers } from "../launch/launchers.ts";
import { installedCores } from "../launch/ports/script-ports.ts";
import type { PlayTimeLimiter } from "../launch/rules/play-time.ts";
import type { Mapper } from "../mappings/mapper.ts";
import type { Readers } from "../readers/readers.ts";
import type { Store } from "../store/open.ts";
import { confinementFault } from "../system/confine.ts";
import { machineChecks } from "../system/machine-checks.ts";
import { platform, version } from "../system/own-program.ts";
import type { AllDevices } from "./devices.ts";
import { createHealth } from "./health-report.ts";

export interface Sources {
  readonly launcher: Launcher;
  readonly playTime: PlayTimeLimiter;
  readonly mapper: Mapper;
  readonly devices: Pick<AllDevices, "write" | "inputText">;
  readonly media: MediaService;
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly dataFolder: string;
  /** Why what games saved is not kept, or an empty string. */
  readonly savesFault: () => string;
  readonly clients: Services["clients"];
  readonly pairByPin: Services["pairByPin"];
  readonly audit: Services["audit"];
  readonly pairing: PairingService;
  /** Of the certificate that is shown over TLS. */
  readonly fingerprint: () => string | undefined;
  /** Undefined while the service starts. */
  readonly readers: () => Readers | undefined;
}

export function createServices({
  launcher,
  playTime,
  mapper,
  devices,
  media,
  store,
  clock,
  settings,
  dataFolder,
  savesFault,
  readers,
  clients,
  pairByPin,
  audit,
  pairing,
  fingerprint,
}: Sources): Services {
  const list = () => readers()?.list() ?? [];
  // Nothing but `rpc.discover` needs it, and few ask for it: it is made when they do.
  let description: Promise<OpenRpcDocument> | undefined;
  const describe = async () => (await import("../api/openrpc.ts")).describeApi(version);
  return {
    platform,
    version,
    launch: (token, from) => launcher.launch(token, from),
    stop: () => launcher.stop(),
    confirm: () => launcher.confirm(),
    playTime() {
      const state = playTime.state();
      return { ...state, limits: { ...state.limits, volumeMax: settings.current().audio.volumeMax } };
    },
    playlist: () => launcher.playlist(),
    tokens: () => readers()?.tokens() ?? { active: [], last: undefined },
    scan(token, durationMs, readerId, requester) {
      const ready = readers();
      if (ready === undefined)
        throw new ServiceError("failed", "the service is still starting: try again", { isPublic: true });
      ready.scan(token, durationMs, readerId, requester);
    },
    history: (page) => store.history.list(page),
    readers: list,
    write: (request, signal) => devices.write(request, signal),
    input: devices.inputText,
    cancelWrite: (readerId) => readers()?.cancel(readerId),
    playback: () => launcher.playback(),
    control: (action) => launcher.control(action),
    launchers: () => describeLaunchers(settings.current().launchers, Bun.which, installedCores),
    health: createHealth({
      clock,
      startedMs: clock.now(),
      dataFolder,
      savesFault,
      connected: () => list().filter((reader) => reader.connected).length,
      configured: () => settings.current().readers.connect.length,
      readerFaults: () => readers()?.faults() ?? [],
      askDatabase: () => store.check(),
      settingsFault: () => settings.fault(),
      playersFault: confinementFault,
      fingerprint,
      machine: machineChecks(process.env, clock),
    }),
    media,
    mappings: mapper,
    settings: { read: () => publicSettings(settings), update: (changes) => settings.update(changes) },
    clients,
    pairByPin,
    audit,
    pairing,
    describe: () => (description ??= describe()),
  };
}

function publicSettings(settings: Settings): ApiSettings {
  const { readers, audio, log, systems } = settings.current();
  return {
    reader: readers.connect,
    audioFeedback: audio.feedback,
    detectReaders: readers.detect,
    insertMode: readers.insertMode,
    insertModeBlocklist: readers.insertModeBlocklist,
    insertModeExitDelay: readers.insertModeExitDelay,
    consoleLogging: log.console,
    debug: log.debug,
    rootFolder: systems.statedRootFolders,
  };
}
