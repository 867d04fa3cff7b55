/** Joins the device to an MQTT broker while the settings name one. Otherwise nothing of src/mqtt is loaded. */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { TokenBucket } from "../api/admission/rate-limits.ts";
import { createConnection } from "../api/connection.ts";
import type { ApiServer } from "../api/server.ts";
import type { Health, Services } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import type { Settings } from "../config/settings.ts";
import type { Config } from "../config/shape.ts";
import { fromBroker } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import { localName } from "../core/host-names.ts";
import { mqttCommandsPerSecondMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Grant, grantOfRole, type Role } from "../core/rights.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import type { Deck, DeckParts } from "../mqtt/deck.ts";

interface MqttParts {
  readonly settings: Settings;
  readonly services: Pick<Services, "health" | "updates" | "playback" | "readers" | "version" | "platform">;
  readonly api: Pick<ApiServer, "dispatch" | "port">;
  readonly dataFolder: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

export type Mqtt = ReturnType<typeof followMqtt>;

export function followMqtt(parts: MqttParts) {
  const { settings, services, api, dataFolder, bus, clock, log } = parts;
  const inTurn = createSerialQueue();
  let deck: Deck | undefined;
  let cleaning: Disposable | undefined;
  /** The settings are invalid. */
  let fault: Fault | undefined;
  let isClosed = false;
  const deckParts: Omit<DeckParts, "settings"> = {
    dataFolder,
    bus,
    clock,
    log,
    retainedPath: join(dataFolder, "mqtt-retained.json"),
    device: {
      name: hostname(),
      version: services.version,
      platform: services.platform,
      pageUrl: `http://${localName()}:${api.port}/`,
    },
    site: () => settings.current().device.site,
    readers: services.readers,
    media: services.playback,
    checks: async () => (await services.health()).checks,
    caller: createCallers(api, settings, clock),
    taps: { waiting: [], missed: 0 },
  };
  const showUpdate = () => {
    const { version: latest, summary } = services.updates()?.latest ?? {};
    deck?.showUpdate({
      ...(latest === undefined ? {} : { latest }),
      ...(summary === undefined ? {} : { summary }),
    });
  };
  const apply = async () => {
    const now = settings.current().mqtt;
    const hasEarlier = deck !== undefined || cleaning !== undefined || existsSync(deckParts.retainedPath);
    fault = undefined;
    if (now.url === "" && !hasEarlier) return;
    const module = await import("../mqtt/deck.ts");
    cleaning?.[Symbol.dispose]();
    await leave(module, now);
    if (isClosed) return;
    cleaning = await module.removeLeftovers(deckParts, now);
    if (now.url !== "") deck = module.startDeck({ ...deckParts, settings: now });
    showUpdate();
  };
  /** Ends the present deck. Its retained topics stay at the broker if the next deck replaces them, or is invalid. */
  const leave = async (module: typeof import("../mqtt/deck.ts"), now: Config["mqtt"]) => {
    const left = deck;
    deck = undefined;
    if (now.url === "") return left?.leave([]);
    try {
      const kept = module.retainedTopicsOf(now, deckParts.device, dataFolder);
      await left?.leave(left.settings.url === now.url ? kept : []);
    } catch (error) {
      await left?.close();
      throw error;
    }
  };
  const applyInTurn = () => {
    inTurn(apply).catch((error) => {
      const why = messageOf(error);
      fault = faultOf("mqtt-invalid", { why });
      log.warn("mqtt", why);
    });
  };
  const following = settings.onChange((now, before) => {
    // The site names a group of topics.
    const isMoved = now.device.site !== before.device.site;
    if (isMoved || JSON.stringify(now.mqtt) !== JSON.stringify(before.mqtt)) applyInTurn();
    else deck?.showFaults();
  });
  applyInTurn();
  return {
    /** Undefined without a broker in the settings. */
    status(): Health["mqtt"] {
      if (deck === undefined) return undefined;
      return { broker: deck.broker.address, id: deck.broker.id, connected: deck.isConnected() };
    },
    /** Undefined without a broker in the settings. */
    faults(): readonly Fault[] | undefined {
      if (settings.current().mqtt.url === "") return undefined;
      const found = deck?.fault() ?? fault;
      return found === undefined ? [] : [found];
    },
    /** The certificate that the broker showed last. */
    certificateEnd() {
      const endMs = deck?.brokerEndMs();
      return deck === undefined || endMs === undefined
        ? undefined
        : { of: "broker", endMs, host: deck.broker.host };
    },
    /** Shows the newest version that is known now. */
    showUpdate,
    /** Connects again, with the files as they are now. */
    joinAgain: applyInTurn,
    async close() {
      isClosed = true;
      following[Symbol.dispose]();
      await inTurn(async () => {
        cleaning?.[Symbol.dispose]();
        await deck?.close();
      });
    },
  };
}

/** Commands of the broker count as calls of a remote caller named mqtt, because the broker hides their senders. */
function createCallers(api: MqttParts["api"], settings: Settings, clock: Clock) {
  const commands = new TokenBucket(clock, {
    tokenMs: 1000 / mqttCommandsPerSecondMax,
    burst: mqttCommandsPerSecondMax,
  });
  return (role: Role): ReturnType<DeckParts["caller"]> => {
    // A stricter setting also applies to a launch that waits in the queue.
    const grant = (): Grant => {
      const { url, role: now } = settings.current().mqtt;
      return url !== "" && now === role ? grantOfRole[role] : "none";
    };
    const connection = createConnection(
      { access: "remote", grant, from: fromBroker, resultFor: undefined },
      () => {},
    );
    return {
      call: (payload) => api.dispatch(connection, payload),
      take: () => commands.take(),
      end: () => connection.end(),
    };
  };
}
