/**
 * Many real decks (`src/mqtt/deck.ts`, in one process) at one mosquitto that is away for a minute, while cards are tapped
 * on all decks and readers are unplugged. Measures the age of each delivered event, and the time until all retained
 * states are right. OUTAGE_DECKS=N takes another number.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bus, createBus } from "../../src/bus.ts";
import { systemClock as clock } from "../../src/core/clock.ts";
import { mqttEventMsMax } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Reader } from "../../src/core/shapes.ts";
import { type Deck, startDeck, type WaitingTaps } from "../../src/mqtt/deck.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { freePort } from "../helpers/free-port.ts";
import { linesOf } from "../helpers/lines.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually } from "../helpers/processes.ts";
import { cpuSeconds, judgedLine, line, quantile, title } from "./figures.ts";

const decks = Number(process.env.OUTAGE_DECKS ?? 2000);
const outageMs = 60_000;
const beforeMs = 20_000;
const afterMs = 60_000;
const tapEveryMs = 20_000;
const waitMsMax = 300_000;
const statesSecondsMax = 60;

interface BenchDeck {
  readonly id: string;
  readonly bus: Bus;
  readonly taps: WaitingTaps;
  readonly deck: Deck;
  tapped: number;
}

export async function measureOutage(): Promise<void> {
  title(
    `${decks} decks at one mosquitto that is away for ${outageMs / 1000} s, with a tap of each in ${tapEveryMs / 1000} s`,
  );
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-outage-"));
  const port = freePort();
  const file = join(folder, "mosquitto.conf");
  await writeFile(
    file,
    `user root\nlistener ${port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location ${folder}/\nmax_queued_messages 0\n`,
  );
  const startBroker = () => Bun.spawn([mosquitto, "-c", file], { stdio: ["ignore", "ignore", "ignore"] });
  let broker = startBroker();
  await eventually(async () => {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
  });
  const plugged = { connected: 1 };
  const fleet: BenchDeck[] = [];
  await using hearing = hearAll(port);
  const all = (isRight: (one: BenchDeck) => boolean) => eventually(() => fleet.every(isRight), waitMsMax);
  let tapping: ReturnType<typeof setInterval> | undefined;
  try {
    for (let number = 0; number < decks; number++) {
      fleet.push(startOne(number, port, folder, plugged));
      if (number % 20 === 0) await Bun.sleep(5);
    }
    await all(hearing.shows(plugged));
    line("memory of this process, with all decks", `${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`);
    tapping = tapAll(fleet);
    await Bun.sleep(beforeMs);
    broker.kill();
    await broker.exited;
    await Bun.sleep(outageMs / 2);
    plugged.connected = 0;
    for (const { bus } of fleet) bus.emit("readers.removed", readerOf(plugged));
    await Bun.sleep(outageMs / 2);
    const restartedMs = performance.now();
    hearing.forget();
    broker = startBroker();
    await all(hearing.shows(plugged));
    const seconds = (performance.now() - restartedMs) / 1000;
    judgedLine("all states right after the restart", `${seconds.toFixed(1)} s`, seconds, {
      figure: statesSecondsMax,
      unit: "s",
      bound: "the processors, which also run all decks",
    });
    await Bun.sleep(Math.max(0, afterMs - seconds * 1000));
    const { ages } = hearing;
    const oldest = Math.max(...ages);
    judgedLine("the oldest event that was delivered", `${(oldest / 1000).toFixed(2)} s`, oldest / 1000, {
      figure: mqttEventMsMax / 1000,
      unit: "s",
      bound: "the way from a deck to a listener",
    });
    line("events delivered, median age", `${ages.length}, ${quantile(ages, 0.5).toFixed(0)} ms`);
    const tapped = fleet.reduce((sum, one) => sum + one.tapped, 0);
    const missed = fleet.reduce((sum, { taps }) => sum + taps.missed, 0);
    line("taps, and those that were counted as missed", `${tapped}, ${missed}`);
    line("broker's processor time since the restart", `${(await cpuSeconds(broker.pid)).toFixed(1)} s`);
  } finally {
    clearInterval(tapping);
    broker.kill();
    await broker.exited;
    await Promise.all(fleet.map(({ deck }) => deck.close()));
    await rm(folder, { recursive: true });
  }
}

function startOne(
  number: number,
  port: number,
  folder: string,
  plugged: { readonly connected: number },
): BenchDeck {
  const id = `deck-${number}`;
  const bus = createBus(silentLog);
  const taps: WaitingTaps = { waiting: [], missed: 0 };
  const deck = startDeck({
    settings: { ...defaultConfig.mqtt, url: `mqtt://127.0.0.1:${port}`, id },
    dataFolder: folder,
    site: () => "",
    bus,
    clock,
    log: silentLog,
    taps,
    retainedPath: join(folder, `${id}.json`),
    device: { name: id, version: "0.1.0", platform: "linux", pageUrl: "" },
    readers: () => [readerOf(plugged)],
    media: async () => undefined,
    checks: async () => [],
    caller: () => ({ call: () => undefined, take: () => true, end() {} }),
  });
  return { id, bus, taps, deck, tapped: 0 };
}

function readerOf({ connected }: { readonly connected: number }): Reader {
  const id = "r";
  return { id, readerId: id, driver: "d", path: "", info: "", connected: connected > 0, capabilities: [] };
}

/** Each deck in turn has a tap and the end of its launch. */
function tapAll(fleet: readonly BenchDeck[]): ReturnType<typeof setInterval> {
  const stepMs = 100;
  let due = 0;
  let at = 0;
  return setInterval(() => {
    for (due += (fleet.length * stepMs) / tapEveryMs; due >= 1; due--) {
      const one = fleet[at++ % fleet.length];
      if (one === undefined) continue;
      one.tapped += 1;
      const now = new Date().toISOString();
      const token = { type: "NTAG", uid: "04a1", text: "x", data: "", scanTime: now, readerId: "r" };
      one.bus.emit("tokens.added", token);
      one.bus.emit("launch.finished", { time: now, uid: "04a1", text: "x", success: true });
    }
  }, stepMs);
}

/** A client that receives all messages: the ages of events when they arrive, and the last state of each deck. */
function hearAll(port: number) {
  const ages: number[] = [];
  const last = new Map<string, string>();
  const child = Bun.spawn(
    ["mosquitto_sub", "-p", `${port}`, "-V", "5", "-q", "1", "-t", "tapdeck/#", "-F", "%U %t %p"],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const read = async () => {
    for await (const row of linesOf(child.stdout)) {
      const [, atSeconds = "", topic = "", payload = ""] = /^(\S+) (\S+) (.*)$/.exec(row) ?? [];
      if (/\/(tap|launch)$/.test(topic))
        ages.push(Number(atSeconds) * 1000 - Date.parse(JSON.parse(payload).time));
      else last.set(topic, payload);
    }
  };
  const done = read();
  const fieldOf = (id: string, topic: string, field: string) => {
    const text = last.get(`tapdeck/${id}/${topic}`);
    return text === undefined ? undefined : JSON.parse(text)[field];
  };
  return {
    ages,
    forget: () => last.clear(),
    shows:
      (plugged: { readonly connected: number }) =>
      ({ id, taps }: BenchDeck): boolean =>
        last.get(`tapdeck/${id}/availability`) === "online" &&
        fieldOf(id, "readers", "connected") === plugged.connected &&
        fieldOf(id, "state", "missedTaps") === taps.missed,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      await done;
    },
  };
}
