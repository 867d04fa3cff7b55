/**
 * Follows the server of updates that the settings name (docs/FLEET.md). Without such a setting, none of its code is
 * loaded.
 */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Bus } from "../bus.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import type { LatestVersion, UpdateServer } from "../core/device-shapes.ts";
import { failed, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { machineFacts } from "../system/device-facts.ts";
import { tapdeckVersion } from "../system/own-program.ts";
import type { UpdateEngine } from "../system/update-engine.ts";
import type { Stops } from "./stop-order.ts";

interface UpdateServerParts {
  readonly settings: Pick<Settings, "current">;
  readonly engine: UpdateEngine;
  readonly dataFolder: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly stops: Stops;
  readonly onLatest: (latest: LatestVersion | undefined) => void;
}

interface Client {
  status(): UpdateServer;
  install(): void;
  close(): Promise<void>;
}

interface FollowedServer {
  /** Undefined if the settings name no server. */
  status(): UpdateServer | undefined;
  /** Begins to install the waiting version. Throws `failed` if no version waits. */
  install(): void;
}

export function followUpdateServer(parts: UpdateServerParts): FollowedServer {
  const { settings, engine, log, stops } = parts;
  const { fleet, update } = settings.current();
  const server = fleet.hawkbitUrl || update.url;
  const refuseInstall = (why: string) => () => {
    throw failed(why);
  };
  if (server === "")
    return {
      status: () => undefined,
      install: refuseInstall("the settings name no server of updates: give the address of an update"),
    };
  const refuse = (fault: string) => {
    log.warn("fleet", fault);
    return { status: (): UpdateServer => ({ server, fault }), install: refuseInstall(fault) };
  };
  if (!engine.isHere) return refuse("the service updates only Tapdeck's own image, so it asks no server");
  if (fleet.hawkbitUrl !== "" && update.url !== "")
    log.warn("fleet", "update.url is not read, because fleet.hawkbit_url takes precedence");
  let client: Client | undefined;
  let now: FollowedServer = {
    status: () => ({ server }),
    install: refuseInstall("the server of updates has not answered yet"),
  };
  const starting = start(parts).then(
    (started) => {
      client = started;
      now = started;
    },
    (error) => {
      now = refuse(messageOf(error));
    },
  );
  stops.add("update server", {
    async close() {
      await starting;
      await client?.close();
    },
  });
  return { status: () => now.status(), install: () => now.install() };
}

async function start({ settings, engine, dataFolder, bus, clock, log, onLatest }: UpdateServerParts) {
  const { fleet, update, device } = settings.current();
  const [{ followIdleness }, { openUpdateJob }] = await Promise.all([
    import("../fleet/idleness.ts"),
    import("../fleet/update-job.ts"),
  ]);
  const idle = followIdleness(bus, clock);
  const job = await openUpdateJob({
    engine,
    idle,
    clock,
    log,
    path: join(dataFolder, "update-job.json"),
  });
  const { board = "", slot = "" } = await machineFacts();
  const release = await readFile("/etc/tapdeck-release", "utf8").catch(() => "");
  const version = /^Tapdeck (\S+)$/.exec(release.trim())?.[1] ?? tapdeckVersion;
  const common = { dataFolder, job, clock, log, onLatest, board };
  const close = async (client: Client) => {
    idle[Symbol.dispose]();
    await client.close();
  };
  if (fleet.hawkbitUrl === "") {
    const { followIndex } = await import("../fleet/update-index.ts");
    const client = followIndex({ ...common, url: update.url, settings: fleet, version });
    return { ...client, close: () => close(client) };
  }
  const { followHawkbit } = await import("../fleet/hawkbit.ts");
  const facts = { board, slot, version, site: device.site, host_name: hostname() };
  const client = followHawkbit({
    ...common,
    settings: fleet,
    controllerId: fleet.id || targetOf(hostname()),
    attributes: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, value.slice(0, 128)])),
  });
  return { ...client, close: () => close(client) };
}

/** The target by the name of the device, in the form of `mqtt.id`: `Living Room.lan` gives `living-room-lan`. */
function targetOf(name: string): string {
  const id = name.toLowerCase().replace(/[^\w-]+/g, "-");
  return id.replace(/^-+|-+$/g, "").slice(0, 64) || "deck";
}
