/** What the API may ask, joined from the parts that know: a thin hand-over, with no judgement of its own. */
import type {
  ClientService,
  MediaService,
  OpenRpcDocument,
  Settings as PublicSettings,
  Services,
} from "./api/services.ts";
import type { Settings } from "./config/settings.ts";
import type { Clock } from "./core/clock.ts";
import { ServiceError } from "./core/errors.ts";
import { toHex } from "./core/hex.ts";
import { createHealth } from "./health.ts";
import type { Launcher } from "./launch/launcher.ts";
import { describeLaunchers } from "./launch/launchers.ts";
import type { Mapper } from "./launch/mappings/mapper.ts";
import type { PlayTime } from "./launch/play-time.ts";
import type { Readers } from "./readers/readers.ts";
import type { Store } from "./store/open.ts";
import { machineChecks } from "./system/machine-checks.ts";
import { platform, version } from "./system/version.ts";

export interface Sources {
  readonly launcher: Launcher;
  readonly playTime: PlayTime;
  readonly mapper: Mapper;
  readonly media: MediaService;
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly dataFolder: string;
  /** Ends the live sessions of a client. */
  readonly cutClient: (id: string) => void;
  /** Undefined while the service starts. */
  readonly readers: () => Readers | undefined;
}

export function createServices({
  launcher,
  playTime,
  mapper,
  media,
  store,
  clock,
  settings,
  dataFolder,
  readers,
  cutClient,
}: Sources): Services {
  const list = () => readers()?.list() ?? [];
  // Nothing but `rpc.discover` needs it, and few ask for it: it is made when they do.
  let description: Promise<OpenRpcDocument> | undefined;
  const describe = async () => (await import("./api/openrpc.ts")).describeApi(version);
  return {
    platform,
    version,
    launch: (token, from) => launcher.launch(token, from),
    stop: () => launcher.stop(),
    confirm: () => launcher.confirm(),
    playTime: playTime.state,
    playlist: () => launcher.playlist(),
    tokens: () => readers()?.tokens() ?? { active: [], last: undefined },
    scan(token, durationMs, readerId) {
      const ready = readers();
      if (ready === undefined) throw new ServiceError("failed", "the service is still starting: try again");
      ready.scan(token, durationMs, readerId);
    },
    history: (page) => store.history.list(page),
    readers: list,
    async write(request) {
      const ready = readers();
      if (ready === undefined)
        throw new ServiceError("no-reader", "the service is still starting: try again");
      await ready.write(request);
    },
    cancelWrite: (readerId) => readers()?.cancel(readerId),
    activeMedia: () => launcher.activeMedia(),
    launchers: () => describeLaunchers(settings.current().launchers, Bun.which),
    health: createHealth({
      clock,
      startedMs: clock.now(),
      dataFolder,
      connected: () => list().filter((reader) => reader.connected).length,
      configured: () => settings.current().readers.connect.length,
      readerFaults: () => readers()?.faults() ?? [],
      askDatabase: () => store.check(),
      settingsFault: () => settings.fault(),
      machine: machineChecks(process.env, clock),
    }),
    media,
    mappings: mapper,
    settings: { read: () => publicSettings(settings), update: (changes) => settings.update(changes) },
    clients: clientsOf(store, clock, cutClient),
    describe: () => (description ??= describe()),
  };
}

function publicSettings(settings: Settings): PublicSettings {
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

const secretBytes = 32;

function clientsOf({ clients }: Store, clock: Clock, cut: (id: string) => void): ClientService {
  return {
    list: () => clients.list(),
    add(name) {
      const secret = toHex(crypto.getRandomValues(new Uint8Array(secretBytes)));
      const client = { id: crypto.randomUUID(), name, secret, address: "" };
      clients.add(client, clock.now());
      return client;
    },
    remove(id) {
      if (!clients.remove(id)) throw new ServiceError("not-found", "there is no client with this id");
      cut(id);
    },
  };
}
