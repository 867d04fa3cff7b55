/**
 * This device at an MQTT broker. Below `<base>/<id>/`:
 *
 *   availability               `online`, or `offline`, also by the last will; retained
 *   state, media, readers      JSON, retained
 *   state/update               for the update entity of Home Assistant; retained
 *   tap                        a card was put on; it waits for the broker, but not for long
 *   launch                     a launch has ended
 *   certificate                retained, from others: a client certificate that takes the place of one that ends soon
 *   cmd/<method>               params of JSON-RPC from others; the answer goes to the response topic, below `reply/`
 *
 * Below `<base>/@all/` and `<base>/@<site>/`, for all devices and those of a site:
 *
 *   cmd/<method>               the same; the answer goes to `<base>/<id>/reply/...` of each device
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultLine, faultOf } from "../core/faults.ts";
import {
  mqttEventMsMax,
  mqttFarewellMs,
  mqttLeftoversMsMax,
  mqttRivalMs,
  mqttTapsKeptMax,
  mqttWayMs,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Role } from "../core/rights.ts";
import type { ActiveMedia, Reader } from "../core/shapes.ts";
import type { Token } from "../core/token.ts";
import { brokerOf, groupsOf, type MqttSettings } from "./broker.ts";
import { createCommands, type MqttCaller } from "./broker-commands.ts";
import { type BrokerLink, createLink } from "./broker-link.ts";
import { canRenew, createRenewal } from "./certificate-renewal.ts";
import {
  behindTapMs,
  createShown,
  mediaShown,
  readersShown,
  tapOf,
  type UpdateFacts,
  updateShown,
} from "./deck-contents.ts";
import { type DeviceFacts, discoveryOf } from "./home-assistant.ts";
import { type Retained, readRetained, writeRetained } from "./retained.ts";

export interface DeckParts {
  readonly settings: MqttSettings;
  readonly dataFolder: string;
  /** The file with the list of retained topics. */
  readonly retainedPath: string;
  readonly device: DeviceFacts;
  /** The site of this device; empty for none. */
  readonly site: () => string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly readers: () => readonly Reader[];
  readonly media: () => Promise<ActiveMedia | undefined>;
  /** The checks of `health`. */
  readonly checks: () => Promise<readonly DeckCheck[]>;
  readonly caller: (role: Role) => MqttCaller;
  readonly taps: WaitingTaps;
}

/** Taps that no broker has taken. The list outlives a change of the settings. */
export interface WaitingTaps {
  /** The oldest first; `atMs` is monotonic. */
  readonly waiting: { readonly atMs: number; readonly text: string }[];
  /** The number of taps that were too old, or too many, to be sent. */
  missed: number;
}

interface DeckCheck {
  readonly name: string;
  readonly faults?: readonly Fault[];
}

export type Deck = ReturnType<typeof startDeck>;

// Some faults, such as that of a drive, have no event.
const faultsMs = 5 * 60_000;
const online = "online";
const offline = "offline";

/** Returns at once. Throws an error with a sentence if a setting is invalid. */
export function startDeck(parts: DeckParts) {
  const { settings, device, bus, clock, log, readers, taps, retainedPath: path } = parts;
  const broker = brokerOf(settings, device.name, parts.dataFolder);
  const at = (name: string) => `${broker.topic}/${name}`;
  const discovery = discoveryOf(broker, device);
  const groups = groupsOf(settings.base, parts.site());
  const retainedTopics = retainedTopicsOf(settings, device, parts.dataFolder);
  const rival = createRivalWatch(clock);
  const renewal = createRenewal({ broker, clock, log, onTaken: () => later("state") });
  let update: UpdateFacts = {};
  let lastMedia: ActiveMedia | undefined;

  const contents: Readonly<Record<string, () => object | Promise<object>>> = {
    async state() {
      const checks = await parts.checks();
      const bad = checks.flatMap(({ name, faults }) => (faults === undefined ? [] : [{ name, faults }]));
      return {
        status: bad.length === 0 ? "ok" : "degraded",
        problems: bad.map(({ name, faults }) => `${name}: ${faultLine(faults)}`),
        faults: bad.flatMap(({ faults }) => faults),
        version: device.version,
        platform: device.platform,
        missedTaps: taps.missed,
        droppedCommands: commands.dropped(),
      };
    },
    media: async () => mediaShown(await parts.media()),
    readers: () => readersShown(readers()),
    "state/update": () => updateShown(device.version, update),
  };
  const shown = createShown(
    contents,
    (name, payload) => link.publish(at(name), payload, { retain: true }),
    log,
  );
  const publishEvent = (name: string, text: string, ageMs = 0) =>
    link.publish(at(name), text, { lifeMs: mqttEventMsMax - mqttWayMs - ageMs });
  const flush = createTapFlush(
    taps,
    (text, ageMs) => publishEvent("tap", text, ageMs),
    () => later("state"),
  );
  const commands = createCommands({ ...parts, groups }, broker, (topic, text, correlationData) =>
    link.publish(topic, text, { correlationData }),
  );
  const opened = async () => {
    commands.open();
    shown.forget();
    await sendDescriptions(link, path, { settings, topics: retainedTopics }, discovery, log);
    const announced = link.publish(at("availability"), online, { retain: true, isSigned: true });
    await Promise.all(Object.keys(contents).map(shown.refresh));
    if ((await announced) === "sent") rival.announced();
    await flush();
  };
  const link = createLink({
    broker,
    clock,
    log,
    will: { topic: at("availability"), payload: offline },
    subscribe: at("cmd/+"),
    more: groups.map((group) => `${group}/cmd/+`),
    watches: [at("availability"), ...(canRenew(broker) ? [at("certificate")] : [])],
    instance: rival.instance,
    onOpen: () => void opened().catch((error) => log.error("mqtt", messageOf(error))),
    onClose() {
      commands.close();
      rival.closed();
    },
    onMessage(topic, message) {
      if (topic === at("certificate")) return renewal.offer(message.payload);
      if (topic !== at("availability")) return commands.receive(topic, message);
      if (rival.shows(message.instance))
        log.warn("mqtt", "another device uses the id of this one", { broker: broker.address, id: broker.id });
    },
  });
  const later = (name: string) => shown.refreshIn(clock, name);
  const following = new DisposableStack();
  following.use(rival);
  const tapped = (token: Token) => {
    keepTap(taps, JSON.stringify(tapOf(token)));
    void flush();
  };
  following.use(bus.on("tokens.added", (token) => void clock.after(behindTapMs, () => tapped(token))));
  following.use(
    bus.on("media.started", (media) => {
      lastMedia = media;
    }),
  );
  for (const name of ["media.started", "media.paused", "media.resumed", "media.stopped"] as const)
    following.use(bus.on(name, () => later("media")));
  for (const name of ["readers.added", "readers.removed"] as const)
    following.use(
      bus.on(name, () => {
        later("readers");
        later("state");
      }),
    );
  following.use(
    bus.on("launch.finished", (launch) => {
      // The queue runs one launch at a time, so media that have started since then are those of this launch.
      const media = lastMedia !== undefined && lastMedia.started >= launch.time ? { media: lastMedia } : {};
      void publishEvent("launch", JSON.stringify({ ...launch, ...media }));
      later("media");
    }),
  );
  following.use(
    bus.on("device.updating", ({ step }) => {
      update = { ...update, isInstalling: step !== "failed" && step !== "waiting" };
      later("state/update");
    }),
  );
  following.use(everySo(clock, faultsMs, () => later("state")));

  const end = async (last: () => Promise<unknown>) => {
    following.dispose();
    shown.stop();
    if (link.isOpen()) await Promise.race([last(), Bun.sleep(mqttFarewellMs)]);
    await link.close();
  };
  return {
    settings,
    broker,
    isConnected: link.isOpen,
    brokerEndMs: link.brokerEndMs,
    /** The reason of a missing connection, a refused topic, or another device with the same id. */
    fault: () => (rival.isThere() ? faultOf("broker-same-name", { subject: broker.host }) : link.fault()),
    /** Shows another state of updates; without `latest` the installed version is the newest. */
    showUpdate(facts: Pick<UpdateFacts, "latest" | "summary">) {
      const { isInstalling = false } = update;
      update = { isInstalling, ...facts };
      later("state/update");
    },
    /** Shows the faults, as they are now. */
    showFaults: () => later("state"),
    /** Publishes `offline` and disconnects, at once or after a third of a second. */
    close: () => end(() => link.publish(at("availability"), offline, { retain: true, isSigned: true })),
    /**
     * Like `close`, but also removes the retained topics of this device, except those in `kept`. If another device uses
     * the id, the topics of that id are left to it.
     */
    async leave(kept: readonly string[]) {
      const topics = retainedTopics.filter((topic) => kept.includes(topic));
      const forget = () => writeRetained(path, { settings, topics }, log);
      if (rival.isThere()) {
        await forget();
        return end(() => Promise.resolve());
      }
      const stale = retainedTopics.filter((topic) => !kept.includes(topic));
      return end(async () => {
        if (await removeTopics(link, stale)) await forget();
      });
    },
  };
}

/** The topics that a device with these settings retains. Throws like `startDeck`. */
export function retainedTopicsOf(
  settings: MqttSettings,
  device: DeviceFacts,
  dataFolder: string,
): readonly string[] {
  const broker = brokerOf(settings, device.name, dataFolder);
  const own = ["availability", "state", "media", "readers", "state/update"];
  return [...own.map((name) => `${broker.topic}/${name}`), ...discoveryOf(broker, device).keys()];
}

/**
 * Removes what an earlier run retained at another broker, or at the same one if MQTT was switched off since. It ends by
 * itself.
 */
export async function removeLeftovers(
  { dataFolder, retainedPath: path, device, clock, log }: Omit<DeckParts, "settings">,
  settings: MqttSettings,
): Promise<Disposable | undefined> {
  const old = await readRetained(path);
  // At the same broker, the deck itself removes them.
  if (old === undefined || old.settings.url === settings.url) return undefined;
  const remove = async () => {
    const isDone = await removeTopics(link, old.topics);
    await link.close();
    const now = await readRetained(path);
    if (isDone && now?.settings.url === old.settings.url)
      await writeRetained(path, { settings: old.settings, topics: [] }, log);
  };
  const broker = brokerOf(old.settings, device.name, dataFolder);
  const link = createLink({
    broker,
    clock,
    log,
    onOpen: () => void remove().catch((error) => log.error("mqtt", messageOf(error))),
  });
  const timer = clock.after(mqttLeftoversMsMax, () => void link.close());
  return {
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      void link.close();
    },
  };
}

/**
 * Describes the device to Home Assistant, and removes the topics that an earlier run with another name left at this
 * broker.
 */
async function sendDescriptions(
  link: BrokerLink,
  path: string,
  now: Retained,
  discovery: ReadonlyMap<string, string>,
  log: Log,
): Promise<void> {
  const old = await readRetained(path);
  const isSame = old?.settings.url === now.settings.url;
  const stale = isSame ? old.topics.filter((topic) => !now.topics.includes(topic)) : [];
  // The list is written first, because a topic that is retained and not in the list would stay for ever.
  if (JSON.stringify(old) !== JSON.stringify(now))
    await writeRetained(path, { ...now, topics: [...now.topics, ...stale] }, log);
  if (stale.length > 0 && (await removeTopics(link, stale))) await writeRetained(path, now, log);
  await Promise.all([...discovery].map(([topic, payload]) => link.publish(topic, payload, { retain: true })));
}

/**
 * True unless the connection was lost. A topic that the broker refuses stays. Descriptions are removed first, because an
 * entity that still exists cannot read an empty state.
 */
async function removeTopics(link: BrokerLink, topics: readonly string[]): Promise<boolean> {
  const remove = (some: readonly string[]) =>
    Promise.all(some.map((topic) => link.publish(topic, "", { retain: true })));
  const isDescription = (topic: string) => topic.endsWith("/config");
  const first = await remove(topics.filter(isDescription));
  const rest = await remove(topics.filter((topic) => !isDescription(topic)));
  return ![...first, ...rest].includes("lost");
}

/** If the list is full, the oldest tap is dropped, and counts as missed. */
function keepTap(taps: WaitingTaps, text: string): void {
  taps.waiting.push({ atMs: performance.now(), text });
  if (taps.waiting.length <= mqttTapsKeptMax) return;
  taps.waiting.shift();
  taps.missed += 1;
}

/**
 * Sends the taps in order, one after another. A tap leaves the list once the broker has it, or once it is too old for an
 * automation to act on.
 */
function createTapFlush(
  taps: WaitingTaps,
  publish: (text: string, ageMs: number) => ReturnType<BrokerLink["publish"]>,
  onMissed: () => void,
) {
  const { waiting } = taps;
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    const missedBefore = taps.missed;
    try {
      for (let tap = waiting[0]; tap !== undefined; tap = waiting[0]) {
        const ageMs = performance.now() - tap.atMs;
        if (ageMs > mqttEventMsMax - mqttWayMs) taps.missed += 1;
        else if ((await publish(tap.text, ageMs)) === "lost") return;
        // The list may have dropped the tap meanwhile.
        if (waiting[0] === tap) waiting.shift();
      }
    } finally {
      isRunning = false;
      if (taps.missed !== missedBefore) onMissed();
    }
  };
}

/**
 * Notices another device with the id of this one. A broker ends the older of two connections with one name, and publishes its
 * will. A run of the service that has announced itself therefore finds a signature at each later connection: its own, or
 * that of another device.
 */
function createRivalWatch(clock: Clock) {
  const instance = crypto.randomUUID();
  let isAnnounced = false;
  let isReturning = false;
  let forgetting: Disposable | undefined;
  return {
    instance,
    announced() {
      isAnnounced = true;
    },
    /** Until this connection has ended, a broker may still deliver messages from before the announcement. */
    closed() {
      isReturning = isAnnounced;
    },
    /** True for the first sign of another device. */
    shows(found: string | undefined): boolean {
      if (found === undefined || found === instance || !isReturning) return false;
      const isFirst = forgetting === undefined;
      forgetting?.[Symbol.dispose]();
      forgetting = clock.after(mqttRivalMs, () => {
        forgetting = undefined;
      });
      return isFirst;
    },
    isThere: () => forgetting !== undefined,
    [Symbol.dispose]: () => forgetting?.[Symbol.dispose](),
  };
}

function everySo(clock: Clock, ms: number, run: () => void): Disposable {
  let timer = clock.after(ms, tick);
  function tick() {
    run();
    timer = clock.after(ms, tick);
  }
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
