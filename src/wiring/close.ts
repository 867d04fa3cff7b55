/** Stops what the service started, in an order in which nothing asks for what is gone already. */
import type { ApiServer } from "../api/server.ts";
import type { Settings } from "../config/settings.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Launcher } from "../launch/launcher.ts";
import type { SaveKeeper } from "../launch/saves/keeper.ts";
import type { Mapper } from "../mappings/mapper.ts";
import type { MediaLibrary } from "../media/media-library.ts";
import type { Readers } from "../readers/readers.ts";
import type { Store } from "../store/open.ts";
import { endSpare } from "../system/spare-player.ts";
import type { Guards } from "./clients-and-audit.ts";
import type { AllDevices } from "./devices.ts";
import type { Pairing } from "./pairing-service.ts";
import type { Screen } from "./screen.ts";

export interface Running {
  readonly log: Log;
  readonly launching: Disposable;
  readonly playTime: Disposable;
  readonly devices: AllDevices;
  readonly launcher: Launcher;
  readonly saves: SaveKeeper;
  readonly readers: Readers;
  readonly api: ApiServer;
  readonly store: Store;
  readonly settings: Settings;
  readonly mapper: Mapper;
  readonly certificates: Disposable | undefined;
  readonly pairing: Pairing;
  readonly screen: Pick<Screen, "close">;
  readonly indexing: Disposable;
  readonly media: MediaLibrary;
  readonly guards: Guards;
}

/** Each part is closed, whatever comes of the others. */
export async function closeAll({
  log,
  launching,
  playTime,
  devices,
  launcher,
  saves,
  readers,
  api,
  certificates,
  pairing,
  screen,
  indexing,
  media,
  mapper,
  store,
  settings,
  guards,
}: Running): Promise<void> {
  log.info("service", "stopping");
  launching[Symbol.dispose]();
  const steps: readonly [string, () => Promise<void> | void][] = [
    ["players", () => launcher.close()],
    ["saves", () => saves.close()],
    ["spare player", endSpare],
    ["devices", () => devices.close()],
    ["play time", () => playTime[Symbol.dispose]()],
    ["readers", () => readers.close()],
    ["screen", () => screen.close()],
    ["certificates", () => certificates?.[Symbol.dispose]()],
    ["pairing", () => pairing.close()],
    ["connections", () => api.close()],
    ["mappings", () => mapper.close()],
    ["indexing", () => indexing[Symbol.dispose]()],
    ["media", () => media.close()],
    ["settings", () => settings.close()],
    ["audit log", () => guards.close()],
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
