/** The parts of the service on the path of a tap, connected as in the service, and their events about each card. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../src/bus.ts";
import { createLog } from "../../src/core/log.ts";
import { createLaunchQueue } from "../../src/launch/launch-queue.ts";
import { createTapRules } from "../../src/launch/rules/tap-rules.ts";
import type { Driver } from "../../src/readers/driver.ts";
import { startReaders } from "../../src/readers/readers.ts";
import { openStore } from "../../src/store/open.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import type { EmulatedTime } from "./emulated-time.ts";

/** The start of the name of the folder in which a service keeps its files. */
export const soakFolder = "tapdeck-soak-";

/** The number of each kind of event for one card. */
export interface Told {
  added: number;
  removed: number;
  running: number;
  finished: number;
}

export type SoakService = Awaited<ReturnType<typeof startSoakService>>;

export async function startSoakService(
  time: EmulatedTime,
  drivers: readonly Driver[],
  connect: readonly string[],
) {
  const folder = await mkdtemp(join(tmpdir(), soakFolder));
  const media = join(folder, "media");
  await mkdir(join(media, "SNES"), { recursive: true });
  await writeFile(join(media, "SNES/a.true"), "");
  const store = openStore(folder);
  /** The last lines of the log, for the report of a failure. */
  const lines: string[] = [];
  const log = createLog({
    debug: false,
    write(line) {
      lines.push(line);
      if (lines.length > 200) lines.splice(0, 100);
    },
  });
  const bus = createBus(log);
  const config = {
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: [media] },
    launchers: [{ id: "true", systems: [], extensions: [".true"], command: ["true", "{path}"] }],
  };
  const cards = new Map<string, Told>();
  /** Events of cards that are no longer expected. */
  const phantoms: string[] = [];
  const count = (uid: string, what: keyof Told) => {
    const told = cards.get(uid);
    if (told === undefined) phantoms.push(`${what} of ${uid}`);
    else told[what] += 1;
  };
  const readerEvents = { added: 0, removed: 0 };
  let started = 0;
  bus.on("tokens.added", ({ uid }) => count(uid, "added"));
  bus.on("tokens.removed", ({ uid }) => count(uid, "removed"));
  bus.on("running", ({ uid }) => count(uid, "running"));
  bus.on("launch.finished", ({ uid }) => count(uid, "finished"));
  bus.on("media.started", () => {
    started += 1;
  });
  bus.on("readers.added", () => {
    readerEvents.added += 1;
  });
  bus.on("readers.removed", () => {
    readerEvents.removed += 1;
  });
  const parts = { bus, clock: time, log };
  const launchQueue = createLaunchQueue({
    ...parts,
    config: () => config,
    history: store.history,
    map: () => undefined,
    elapsedMs: time.now,
  });
  const holding = createTapRules({ ...parts, launchQueue, readers: config.readers, elapsedMs: time.now });
  const readers = startReaders({ ...parts, drivers, connect, detect: false });
  return {
    readers,
    lines,
    phantoms,
    readerEvents,
    started: () => started,
    /** Expects this card from now on. */
    expect(uid: string): Told {
      const told = { added: 0, removed: 0, running: 0, finished: 0 };
      cards.set(uid, told);
      return told;
    },
    forget: (uid: string) => void cards.delete(uid),
    allConnected: () => {
      const list = readers.list();
      return list.length === connect.length && list.every(({ connected }) => connected);
    },
    async close() {
      const closing = readers.close();
      await time.until(() => false, 5000);
      await closing;
      holding[Symbol.dispose]();
      await launchQueue.close();
      store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
