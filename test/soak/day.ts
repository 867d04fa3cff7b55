/**
 * A day in ten minutes: a hundred thousand taps through real drivers, supervision, presence and launcher. Readers are
 * emulated, time is emulated, and every second tap has a fault. The same seed gives the same day.
 *
 * The requirements: a card is reported once, within two seconds after it was put on the reader, or after the end of the
 * fault that hid it. The same applies to its removal. Each card is launched once. Every reader is back within two
 * seconds. No resource stays open or accumulates.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { removalDebounceMs } from "../../src/readers/driver.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { createType2Tag, type EmulatedTag } from "../emulators/emulated-tags.ts";
import { createEmulatedTime, type EmulatedTime } from "./emulated-time.ts";
import { growthOf } from "./memory.ts";
import { acr122uReader, type Fault, pn532Reader, type Random, type SoakReader } from "./readers.ts";
import { type SoakService, soakFolder, startSoakService, type Told } from "./service.ts";

export interface DayOptions {
  readonly taps: number;
  readonly seed: number;
  /** Called from time to time with the counts so far. */
  readonly progress?: (taps: number, failures: number) => void;
}

export interface DayFigures {
  readonly taps: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly emulatedHours: number;
  readonly launches: number;
  readonly players: number;
  readonly readerEvents: { readonly added: number; readonly removed: number };
  /** The longest time from a card, or from the end of the fault that hid it, to its event, with the tap and the fault. */
  readonly slowestAdded: Slowest;
  readonly slowestRemoved: Slowest;
  readonly descriptors: readonly [before: number, after: number];
  /** The size of the heap in MB, after a collection, at thirty moments. */
  readonly heapMb: readonly number[];
  readonly timers: number;
  /** Sentences, each with its tap. */
  readonly failures: readonly string[];
}

interface Slowest {
  readonly ms: number;
  readonly what: string;
}

const heapMoments = 30;
const deafMsMax = 2000;
const faultShare = 0.5;
const faultMsMax = 1500;
const mediaEach = 50;
const places = ["before it comes", "while it is read", "while it lies", "as it goes"] as const;

interface Plan {
  readonly what: string;
  readonly fault: Fault;
  readonly place: (typeof places)[number];
  readonly ms: number;
}

export async function liveDay({ taps, seed, progress }: DayOptions): Promise<DayFigures> {
  const time = createEmulatedTime();
  const next = seededRandom(seed);
  const random: Random = (below) => Math.floor(next() * below);
  const readers = [pn532Reader(time), acr122uReader(time)];
  const service = await startSoakService(
    time,
    readers.map(({ driver }) => driver),
    readers.map(({ connection }) => connection),
  );
  const beganMs = time.now();
  const hub = hubOf(readers);
  const faults = new Map<string, number>();
  const failures: string[] = [];
  const heapMb: number[] = [];
  let launches = 0;
  let slowestAdded: Slowest = { ms: 0, what: "" };
  let slowestRemoved: Slowest = { ms: 0, what: "" };
  let descriptors = await openDescriptors();
  const warmUp = Math.min(500, Math.floor(taps / 10));

  for (let tap = 0; tap < taps; tap++) {
    if (tap === warmUp) descriptors = await openDescriptors();
    if (tap >= warmUp && tap % Math.ceil(taps / heapMoments) === 0) heapMb.push(heapNow());
    const reader = readers[random(readers.length)];
    if (reader === undefined) throw new Error("there is a reader");
    const plan = next() < faultShare ? planOf(reader, hub, random) : undefined;
    const what = `tap ${tap} on ${reader.connection}${plan === undefined ? "" : `, ${plan.what} ${plan.place}`}`;
    const outcome = await oneTap({ time, service, reader, random, plan, tap });
    if (plan !== undefined) faults.set(plan.what, (faults.get(plan.what) ?? 0) + 1);
    launches += outcome.told.running;
    if (outcome.addedMs > slowestAdded.ms) slowestAdded = { ms: outcome.addedMs, what };
    if (outcome.removedMs > slowestRemoved.ms) slowestRemoved = { ms: outcome.removedMs, what };
    const wrong = [...outcome.wrong, ...service.phantoms.splice(0)];
    if (wrong.length > 0) {
      const log = service.lines.slice(-8).join("\n    ");
      failures.push(`${what}: ${wrong.join("; ")}\n    ${log}`);
    }
    if (tap % 1000 === 999) progress?.(tap + 1, failures.length);
  }
  const timers = time.timers;
  const after = await openDescriptors();
  heapMb.push(heapNow());
  const emulatedHours = (time.now() - beganMs) / 3_600_000;
  const ofDatabase = await fewestOfDatabase();
  await service.close();
  for (const reader of readers) await reader.close();
  if (ofDatabase > databaseDescriptorsMax)
    failures.push(`${ofDatabase} descriptors of the database were open`);
  if (after.length > descriptors.length)
    failures.push(`descriptors were left open: ${descriptors.join(" ")} became ${after.join(" ")}`);
  const growth = growthOf(heapMb);
  if (growth !== undefined) failures.push(growth);
  const left = readers.filter((reader) => reader.openLinks() > 0);
  for (const { connection } of left) failures.push(`${connection} is still open after the service has ended`);
  return {
    taps,
    faults,
    emulatedHours,
    launches,
    players: service.started(),
    readerEvents: service.readerEvents,
    slowestAdded,
    slowestRemoved,
    descriptors: [descriptors.length, after.length],
    heapMb,
    timers,
    failures,
  };
}

/** The hub that all readers are plugged into. */
function hubOf(readers: readonly SoakReader[]): Fault {
  return {
    name: "unplugged hub",
    begin() {
      for (const reader of readers) reader.unplug();
    },
    end() {
      for (const reader of readers) reader.plug();
    },
  };
}

function planOf(reader: SoakReader, hub: Fault, random: Random): Plan {
  const kinds = reader.faults.length + 2;
  const kind = random(kinds);
  const place = places[random(places.length)] ?? places[0];
  const torn = kind === kinds - 1;
  const fault = torn ? tornTag : (reader.faults[kind] ?? hub);
  const what = `${reader.driver.id} ${fault.name}`;
  // A tag that is away for longer than the debounce counts as removed.
  return { what, fault, place, ms: 10 + random(torn ? removalDebounceMs - 200 : faultMsMax) };
}

/** The tag leaves the field for a moment. The code of the tap does this, because it knows the tag. */
const tornTag: Fault = { name: "torn tag", begin: () => {}, end: () => {} };

interface OneTap {
  readonly time: EmulatedTime;
  readonly service: SoakService;
  readonly reader: SoakReader;
  readonly random: Random;
  readonly plan: Plan | undefined;
  readonly tap: number;
}

interface Outcome {
  readonly told: Told;
  readonly addedMs: number;
  readonly removedMs: number;
  readonly wrong: readonly string[];
}

async function oneTap({ time, service, reader, random, plan, tap }: OneTap): Promise<Outcome> {
  const uid = `04${tap.toString(16).padStart(12, "0")}`;
  const text = tap % mediaEach === 0 ? "SNES/a.true" : `**echo:${tap}`;
  const tag = createType2Tag("ntag213", { uid: Uint8Array.fromHex(uid), text });
  const told = service.expect(uid);
  const wrong: string[] = [];
  const trouble = troubleOf({ time, reader, random, plan, tag });

  if (plan?.place === "before it comes") {
    trouble.begin();
    await time.pass(random(300));
  }
  const putMs = time.now();
  if (plan?.place === "while it is read") trouble.arm(random(25));
  trouble.lay();
  const addedMs = await heard(() => told.added > 0, putMs);
  await time.pass(random(250));
  if (plan?.place === "while it lies") {
    trouble.begin();
    await time.pass(random(400));
  }
  if (plan?.place === "as it goes") trouble.arm(random(6));
  trouble.lift();
  const takenMs = time.now();
  if (plan?.place === "as it goes") await time.pass(random(50));
  const removedMs = await heard(() => told.removed > 0, takenMs);
  trouble.disarm();
  await time.until(trouble.isOver, faultMsMax + 100);
  const backMs = await time.until(service.allConnected, 10_000);

  if (addedMs === undefined || addedMs > deafMsMax)
    wrong.push(`deaf: told after ${addedMs ?? "more than 10000"} ms`);
  if (removedMs === undefined || removedMs > deafMsMax + removalDebounceMs)
    wrong.push(`its removal was told after ${removedMs ?? "more than 10000"} ms`);
  if (backMs === undefined || backMs > deafMsMax)
    wrong.push(`a reader was back after ${backMs ?? "more than 10000"} ms`);
  for (const event of ["added", "removed", "running"] as const)
    if (told[event] !== 1) wrong.push(`${event} was told ${told[event]} times`);
  await ended(told);
  if (told.finished !== 1) wrong.push(`its launch ended ${told.finished} times`);
  service.forget(uid);
  return { told, addedMs: addedMs ?? 0, removedMs: removedMs ?? 0, wrong };

  /** The milliseconds from `sinceMs`, or from the end of the fault, until the condition holds. */
  async function heard(holds: () => boolean, sinceMs: number): Promise<number | undefined> {
    const took = await time.until(holds, 12_000 + faultMsMax);
    return took === undefined ? undefined : Math.max(0, time.now() - Math.max(sinceMs, trouble.endedMs()));
  }

  /** Players are real processes, and end at their own time. */
  async function ended({ running }: Told): Promise<void> {
    for (let waits = 0; told.finished < running && waits < 2000; waits++) await Bun.sleep(1);
  }
}

/** The fault of one tap, and the tag itself, which a torn write needs. */
function troubleOf({
  time,
  reader,
  random,
  plan,
  tag,
}: Omit<OneTap, "service" | "tap"> & { readonly tag: EmulatedTag }) {
  let state: "none" | "on" | "over" = "none";
  let endedMs = 0;
  let lies = false;
  const isTorn = plan?.fault === tornTag;
  const end = () => {
    state = "over";
    endedMs = time.now();
    if (isTorn && lies) reader.put(tag);
    plan?.fault.end?.();
  };
  const trouble = {
    isOver: () => state !== "on",
    /** The end of the fault; 0 if the fault did not happen, or has no end of its own. */
    endedMs: () => (state === "on" ? time.now() : endedMs),
    begin() {
      if (plan === undefined || state !== "none") return;
      trouble.disarm();
      plan.fault.begin(random);
      if (isTorn) reader.take();
      if (plan.fault.end === undefined) {
        [state, endedMs] = ["over", time.now()];
        return;
      }
      state = "on";
      time.after(plan.ms, end);
    },
    /** The fault begins after this many further commands of the driver. */
    arm(commands: number) {
      let left = commands;
      reader.onCommand(() => {
        left -= 1;
        if (left < 0) trouble.begin();
      });
    },
    disarm: () => reader.onCommand(() => {}),
    lay() {
      lies = true;
      if (!(isTorn && state === "on")) reader.put(tag);
    },
    lift() {
      lies = false;
      reader.take();
    },
  };
  return trouble;
}

/** The open descriptors at the moment with the fewest of them, because players that end hold some for a while. */
async function openDescriptors(): Promise<readonly string[]> {
  let fewest: readonly string[] | undefined;
  for (let looks = 0; looks < 10; looks++) {
    const open = readdirSync("/proc/self/fd")
      .filter((fd) => !isDatabase(fd))
      .map(targetOf);
    if (fewest === undefined || open.length < fewest.length) fewest = open;
    await Bun.sleep(20);
  }
  return fewest ?? [];
}

/** A copy of the database may be in progress, which opens further descriptors until it is complete. */
async function fewestOfDatabase(): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let looks = 0; looks < 500 && fewest > databaseDescriptorsMax; looks++) {
    fewest = Math.min(fewest, readdirSync("/proc/self/fd").filter(isOfService).length);
    await Bun.sleep(20);
  }
  return fewest;
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The descriptor of the listing itself.
    return "";
  }
}

/**
 * Descriptors of the database. Closing the descriptor of a second connection would release the locks of the first
 * (fcntl(2)). SQLite therefore keeps it for the next connection, which is that of the backup copy. The number of these
 * descriptors is checked at the end.
 */
function isDatabase(fd: string): boolean {
  return targetOf(fd).includes("/tapdeck.db");
}

/** Other tests in this process have databases of their own. */
const isOfService = (fd: string) => isDatabase(fd) && targetOf(fd).includes(`/${soakFolder}`);

// The database, its companion files, its lock, and one kept descriptor for the next copy of each of the first two.
const databaseDescriptorsMax = 6;

function heapNow(): number {
  Bun.gc(true);
  return Math.round(process.memoryUsage().heapUsed / 1e5) / 10;
}
