/**
 * Builds the launch queue, its players, and the parts that follow it: cards, media, uploads, limits, saves, sound and the
 * television.
 */
import { dirname, join } from "node:path";
import type { Bus } from "../bus.ts";
import { createMappingFiles } from "../config/mapping-files.ts";
import type { Settings } from "../config/settings.ts";
import { type Config, mediaFolders } from "../config/shape.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { localDay } from "../core/local-time.ts";
import type { Log } from "../core/log.ts";
import type { OpenInputDevice, OpenTelevision } from "../core/operating-system.ts";
import { createLaunchQueue, type LaunchQueue } from "../launch/launch-queue.ts";
import { createPlayTime } from "../launch/rules/play-time.ts";
import { createSleepTimer } from "../launch/rules/sleep-timer.ts";
import { createSaveKeeper } from "../launch/saves/save-keeper.ts";
import { createMapper } from "../mappings/mapper.ts";
import { createMediaWithSticks } from "../media/sticks/stick-library.ts";
import type { Readers } from "../readers/readers.ts";
import type { Store } from "../store/open.ts";
import { withRealPaths } from "../system/closed-places.ts";
import { closedPlaces, type ServicePlaces } from "../system/folders.ts";
import { createDevices } from "./devices.ts";
import { openCards } from "./fleet.ts";
import { keepPlays } from "./library.ts";
import { followSoundPlaces } from "./sound-places.ts";
import type { Stops } from "./stop-order.ts";
import { followTelevision } from "./television-cec.ts";
import { createUploadService } from "./uploads/upload-service.ts";

interface PlaybackBase extends ServicePlaces {
  readonly settings: Settings;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly bus: Bus;
  readonly stops: Stops;
  readonly openInput: OpenInputDevice;
  readonly openTelevision: OpenTelevision;
}

/** The pipe and the folder of root's scripts on the image. */
export const ofMachine = { folder: process.env.TAPDECK_MACHINE ?? "", pipe: 0 } as const;

/** Builds the launch queue and its players. */
export async function createPlayback(
  base: PlaybackBase,
  later: {
    readonly readers: () => Readers;
    readonly pair: () => Promise<void>;
    readonly shutdown: () => Promise<void>;
  },
) {
  const { config, bus, clock, log, store, stops, dataFolder } = base;
  const closed = withRealPaths(closedPlaces(base, process.env));
  const cards = await openCards(base);
  const files = createMappingFiles({
    folder: join(dirname(base.configPath), "mappings"),
    log,
    clock,
    ...(cards && { shared: cards.files }),
  });
  const mapper = stops.add("mappings", await createMapper({ store, files, log, clock }));
  const media = createMediaWithSticks({
    folder: dataFolder,
    folders: () => ({ ...mediaFolders(config()), closed }),
    prefer: () => config().systems.prefer,
    emit: (status) => bus.emit("media.indexing", status),
    clock,
    log,
  });
  stops.add("media", media);
  const folders = () => ({ ...mediaFolders(config()), closed, sticks: media.sticks() });
  const uploads = stops.add(
    "uploads",
    createUploadService({ ...base, media, folders, favourites: base.store.favourites }),
  );
  const stopMedia = (why: string) => launchQueue.stopMedia(why);
  const playTime = createPlayTime({
    bus,
    clock,
    log,
    store: store.playTimes,
    limits: () => config().playtime,
    dayOf: (wallMs) => localDay(wallMs, config().device.timeZone),
    stopMedia,
  });
  stops.add("play time", playTime);
  const sleepTimer = stops.add(
    "sleep timer",
    createSleepTimer({ clock, log, stopMedia, fade: (share) => launchQueue.fadeVolume(share) }),
  );
  const devices = stops.add("devices", createDevices({ ...base, ...later }));
  const quietly = (work: Promise<void>) => void work.catch((error) => log.warn("players", messageOf(error)));
  const holdVolume = () => quietly(launchQueue.holdVolume());
  const sound = stops.add(
    "sound places",
    followSoundPlaces({
      ...ofMachine,
      wanted: () => config().audio.place,
      log,
      onMoved() {
        holdVolume();
        quietly(launchQueue.followLateness());
      },
    }),
  );
  const saves = stops.add(
    "saves",
    createSaveKeeper({ home: () => config().retroarch.saves, memory: base.savesMemory, clock, log }),
  );
  const launchQueue = createLaunchQueue({
    config,
    bus,
    clock,
    log,
    saves,
    closed,
    media,
    sticks: media.sticks,
    devices,
    sleepTimer,
    history: store.history,
    lastMedia: store.lastMedia,
    plays: store.plays,
    positions: store.positions,
    map: mapper.map,
    refusal: playTime.refusal,
    soundPlace: sound.plays,
  });
  stops.add("players", launchQueue);
  followPlays(base, launchQueue);
  const shown = { cards, mapper, media, uploads, closed, playTime, sleepTimer };
  return { ...shown, devices, saves, launchQueue, sound, holdVolume };
}

/** Records the played media in the history, and follows the television. */
function followPlays(
  { bus, clock, config, log, openTelevision, stops, store }: PlaybackBase,
  queue: LaunchQueue,
): void {
  stops.add("play history", keepPlays(bus, store.plays));
  stops.add(
    "television",
    followTelevision({
      bus,
      clock,
      log,
      open: openTelevision,
      settings: () => config().television,
      playing: queue.activeMedia,
      control: queue.control,
    }),
  );
}
