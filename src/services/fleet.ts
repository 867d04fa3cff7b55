/** The parts for fleets of devices (docs/FLEET.md). Each part is loaded only if its setting is set. */
import { readFile } from "node:fs/promises";
import type { Services } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Descriptors } from "../core/operating-system.ts";
import type { LaunchQueue } from "../launch/launch-queue.ts";
import { cardOf } from "../launch/run-context.ts";
import type { Mapper } from "../mappings/mapper.ts";
import type { Environment } from "../system/folders.ts";
import type { Stops } from "./stop-order.ts";

interface FleetBase {
  readonly settings: Settings;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly bus: Bus;
  readonly stops: Stops;
}

/** Begins to count, and returns a function that gives the text for Prometheus; undefined without `api.metrics`. */
export async function countMetrics(
  { settings, dataFolder, bus, stops }: FleetBase,
  parts: {
    readonly services: Services;
    readonly descriptors: Descriptors;
    readonly launchQueue: Pick<LaunchQueue, "cardOfMedia">;
  },
): Promise<(() => Promise<string>) | undefined> {
  if (!settings.current().api.metrics) return undefined;
  const { createMetrics } = await import("../fleet/metrics.ts");
  const { services, descriptors, launchQueue } = parts;
  const { cardOfMedia } = launchQueue;
  return stops.add(
    "metrics",
    createMetrics({
      bus,
      dataFolder,
      services,
      descriptors,
      cardOf,
      cardOfMedia,
      site: () => settings.current().device.site,
    }),
  ).text;
}

/** Shared cards of an earlier run, which are in use from now on; undefined without `cards.url`. */
export async function openCards({ settings, dataFolder, clock, log, stops }: FleetBase) {
  const { cards: source } = settings.current();
  if (source.url === "") return undefined;
  const { openSharedCards } = await import("../fleet/shared-cards.ts");
  const cards = stops.add("shared cards", await openSharedCards({ source, dataFolder, clock, log }));
  settings.share(cards.settings());
  return {
    ...cards,
    /** Looks for newer cards. */
    start: (mapper: Pick<Mapper, "reload">) =>
      cards.follow(async () => {
        settings.share(cards.settings());
        await mapper.reload();
      }),
  };
}

/** The secrets of `staff_key` and `metrics_key` in `tapdeck.conf`. They are in files, because players inherit the environment. */
export async function fleetKeys(environment: Environment) {
  const [staff, metrics] = await Promise.all([
    keyIn(environment.TAPDECK_STAFF_KEY_FILE),
    keyIn(environment.TAPDECK_METRICS_KEY_FILE),
  ]);
  return { staff, metrics };
}

async function keyIn(path: string | undefined): Promise<string | undefined> {
  const text = path === undefined ? "" : await readFile(path, "utf8").catch(() => "");
  return /^([0-9a-f]{64})\n?$/.exec(text)?.[1];
}
