/** What the API may ask, joined from the parts that know: a thin hand-over, with no judgement of its own. */
import type { OpenRpcDocument, Services } from "./api/services.ts";
import type { Config } from "./config/shape.ts";
import type { Clock } from "./core/clock.ts";
import { ServiceError } from "./core/errors.ts";
import { createHealth } from "./health.ts";
import type { Launcher } from "./launch/launcher.ts";
import { describeLaunchers } from "./launch/launchers.ts";
import type { Readers } from "./readers/readers.ts";
import type { Store } from "./store/open.ts";
import { platform, version } from "./system/version.ts";

export interface Sources {
  readonly launcher: Launcher;
  readonly store: Store;
  readonly clock: Clock;
  readonly config: Config;
  readonly dataFolder: string;
  /** Undefined while the service starts. */
  readonly readers: () => Readers | undefined;
}

export function createServices({ launcher, store, clock, config, dataFolder, readers }: Sources): Services {
  const list = () => readers()?.list() ?? [];
  const noIndex = () => {
    throw new ServiceError("failed", "the media index is not in this version yet");
  };
  const absent = () => {
    throw new ServiceError("failed", "this is not in this version yet");
  };
  // Nothing but `rpc.discover` needs it, and few ask for it: it is made when they do.
  let description: Promise<OpenRpcDocument> | undefined;
  const describe = async () => (await import("./api/openrpc.ts")).describeApi(version);
  return {
    platform,
    version,
    launch: (token) => launcher.launch(token),
    stop: () => launcher.stop(),
    tokens: () => readers()?.tokens() ?? { active: [], last: undefined },
    scan(token, durationMs, readerId) {
      const ready = readers();
      if (ready === undefined) throw new ServiceError("failed", "the service is still starting: try again");
      ready.scan(token, durationMs, readerId);
    },
    history: (page) => store.history.list(page),
    readers: list,
    async write() {
      throw new ServiceError("no-reader", "no reader that can write is connected");
    },
    cancelWrite() {},
    activeMedia: () => launcher.activeMedia(),
    launchers: () => describeLaunchers(config.launchers, Bun.which),
    health: createHealth({
      clock,
      startedMs: clock.now(),
      dataFolder,
      connected: () => list().filter((reader) => reader.connected).length,
      configured: () => config.readers.connect.length,
      readerFaults: () => readers()?.faults() ?? [],
      askDatabase: () => store.history.check(),
    }),
    media: {
      status: () => ({ exists: false, indexing: false, optimizing: false }),
      systems: () => [],
      search: noIndex,
      index: async () => noIndex(),
      cancel() {},
    },
    mappings: { list: () => [], add: absent, update: absent, remove: absent },
    settings: { read: absent, update: async () => absent() },
    clients: { list: () => [], add: absent, remove: absent },
    describe: () => (description ??= describe()),
  };
}
