/**
 * The connection to the broker, MQTT 5. It is tried again after a random time, because all decks of a fleet lose their broker
 * at the same moment. No other part waits for the connection.
 */
import { connect as connectTcp, isIP, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type MqttClient from "mqtt/lib/client";
import type { IClientOptions } from "mqtt/lib/client";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultOf, faultSentence } from "../core/faults.ts";
import {
  mqttCommandBytesMax,
  mqttConnectMsMax,
  mqttFarewellMs,
  mqttReconnectMsMax,
  mqttReconnectMsMin,
  mqttUnsentBytesMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Broker, type BrokerFiles, readBrokerFiles } from "./broker.ts";
import { connectionFault, isRefusal, refusalOf, silenceOf } from "./broker-advice.ts";

export interface LinkParts {
  readonly broker: Broker;
  /** The broker sets it when this device is gone; absent for a link that only removes topics. */
  readonly will?: { readonly topic: string; readonly payload: string };
  /** A topic to subscribe to. */
  readonly subscribe?: string;
  /** Further topics to subscribe to, unless the broker refuses them. */
  readonly more?: readonly string[];
  /** Topics whose retained message is also wanted, unless the broker refuses them. */
  readonly watches?: readonly string[];
  /** Names this run of the service, in its will and in messages that it publishes with `isSigned`. */
  readonly instance?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onOpen: () => void;
  readonly onClose?: () => void;
  readonly onMessage?: (topic: string, message: Message) => void;
}

export interface Message {
  readonly payload: Uint8Array;
  readonly isRetained: boolean;
  /** The run of a service that published the message, if the message names it. */
  readonly instance?: string | undefined;
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Buffer | undefined;
}

interface PublishOptions {
  readonly retain?: true;
  readonly isSigned?: true;
  /** The time after which the message must not be delivered, here and at the broker (MQTT 5, 3.3.2.3.3). */
  readonly lifeMs?: number;
  readonly correlationData?: Buffer | undefined;
}

/** `refused`: by the broker's access list. `lost`: not connected, or the connection ended first. */
export type Published = "sent" | "refused" | "lost";

export type BrokerLink = ReturnType<typeof createLink>;

// Only the client is imported, because the package also has WebSockets, proxies and a command line. `import` would look
// for the default export of this CommonJS module in another place in the compiled program.
const { default: Client }: typeof import("mqtt/lib/client") = require("mqtt/lib/client");

const keepAliveSeconds = 30;
const packetHeadBytesMax = 4096;
// The most that a socket delivers at a time.
const chunkBytesMax = 512 * 1024;

export function createLink(parts: LinkParts) {
  const {
    broker,
    will,
    subscribe,
    more = [],
    watches = [],
    instance,
    clock,
    log,
    onOpen,
    onClose,
    onMessage,
  } = parts;
  const signature = instance === undefined ? {} : { userProperties: { instance } };
  let current: MqttClient | undefined;
  let isOpen = false;
  let isClosed = false;
  let isRefused = false;
  let fault: Fault | undefined;
  let waiting: Disposable | undefined;
  let brokerEndMs: number | undefined;
  // The callbacks of a client that is closed may never be called.
  const pending = new Set<(published: Published) => void>();
  const lose = () => {
    for (const resolve of pending) resolve("lost");
    pending.clear();
  };

  /** The secrets that others can read, each of which is logged once. */
  const warned = new Set<string>();
  const { host: subject } = broker;
  const note = (found: Fault | undefined) => {
    if (Bun.deepEquals(found, fault)) return;
    fault = found;
    if (found !== undefined) log.warn("mqtt", faultSentence(found), { broker: broker.address });
  };
  const retry = () => {
    if (isClosed) return;
    const waitMs = mqttReconnectMsMin + Math.random() * (mqttReconnectMsMax - mqttReconnectMsMin);
    waiting = clock.after(waitMs, () => void attempt());
  };
  const attempt = async () => {
    try {
      const files = await readBrokerFiles(broker, log, warned);
      const connect = () =>
        openSocket(broker, files, (endMs) => {
          brokerEndMs = endMs;
        });
      if (!isClosed) follow(open(broker, files, connect, will && { ...will, properties: signature }));
    } catch (error) {
      note(faultOf("mqtt-invalid", { why: messageOf(error) }));
      retry();
    }
  };
  const follow = (client: MqttClient) => {
    current = client;
    let why: Fault | undefined;
    client.on("connect", () => {
      isOpen = true;
      isRefused = false;
      note(undefined);
      log.info("mqtt", "connected", { broker: broker.address, id: broker.id });
      // With `rh: 2` the broker sends no retained commands, which would be old.
      if (subscribe !== undefined)
        client.subscribe(subscribe, { qos: 1, rh: 2 }, (error) => {
          if (error !== null)
            note(faultOf("broker-refuses-subscription", { subject, topic: subscribe, why: error.message }));
        });
      for (const topic of more) client.subscribe(topic, { qos: 1, rh: 2 }, () => {});
      for (const topic of watches) client.subscribe(topic, { qos: 1, nl: true, rh: 0 }, () => {});
      onOpen();
    });
    client.on("error", (error) => {
      why = connectionFault(error, broker, isOpen);
    });
    client.on("disconnect", ({ reasonCode }) => {
      why = refusalOf(reasonCode ?? 0, broker);
    });
    client.on("message", (topic, payload, { retain, properties }) => {
      const { responseTopic, correlationData, userProperties } = properties ?? {};
      const signed = userProperties?.instance;
      onMessage?.(topic, {
        payload,
        isRetained: retain,
        instance: typeof signed === "string" ? signed : undefined,
        responseTopic,
        correlationData,
      });
    });
    client.once("close", () => {
      client.end(true);
      if (current !== client) return;
      current = undefined;
      const wasOpen = isOpen;
      isOpen = false;
      lose();
      if (wasOpen) onClose?.();
      note(why ?? (wasOpen ? faultOf("broker-lost", { subject }) : silenceOf(broker)));
      retry();
    });
  };
  void attempt();

  return {
    isOpen: () => isOpen,
    /** The reason why there is no connection, or the topic that the broker refuses. */
    fault: () => fault,
    /** The time at which the certificate of the broker ends; undefined before the first connection with TLS. */
    brokerEndMs: () => brokerEndMs,
    /** At QoS 1: resolves once the broker has the message. An empty payload with `retain` removes the retained one. */
    publish(
      topic: string,
      payload: string,
      { retain, isSigned, correlationData, lifeMs }: PublishOptions = {},
    ): Promise<Published> {
      const client = current;
      if (client === undefined || !isOpen) return Promise.resolve("lost");
      // A broker that does not read must not fill the memory.
      if (unsentBytes(client) > mqttUnsentBytesMax) {
        client.stream.destroy();
        return Promise.resolve("lost");
      }
      const properties = {
        ...(correlationData === undefined ? {} : { correlationData }),
        ...(lifeMs === undefined ? {} : { messageExpiryInterval: Math.max(1, Math.floor(lifeMs / 1000)) }),
        ...(isSigned === true ? signature : {}),
      };
      const options = { qos: 1, retain: retain === true, properties } as const;
      const sent = new Promise<Published>((resolve) => {
        pending.add(resolve);
        client.publish(topic, payload, options, (error) => {
          pending.delete(resolve);
          if (!error) return resolve("sent");
          if (!isRefusal(error)) return resolve("lost");
          // One topic is enough to name the cause.
          if (!isRefused) note(faultOf("broker-refuses-topic", { subject, topic }));
          isRefused = true;
          resolve("refused");
        });
      });
      if (lifeMs === undefined) return sent;
      const timer = clock.after(lifeMs, () => forget(client));
      return sent.finally(() => timer[Symbol.dispose]());
    },
    /** Ends the connection in order, so that the broker does not publish the will. Resolves within a third of a second. */
    async close() {
      isClosed = true;
      waiting?.[Symbol.dispose]();
      isOpen = false;
      lose();
      const client = current;
      current = undefined;
      if (client === undefined) return;
      onClose?.();
      const ended = Promise.withResolvers<void>();
      client.once("close", () => ended.resolve());
      if (client.connected) client.end(false);
      else client.end(true);
      const timer = clock.after(mqttFarewellMs, () => ended.resolve());
      await ended.promise;
      timer[Symbol.dispose]();
      client.end(true);
    },
  };
}

interface Will {
  readonly topic: string;
  readonly payload: string;
  readonly properties: { readonly userProperties?: { readonly instance: string } };
}

function open(broker: Broker, files: BrokerFiles, connect: () => Socket, will: Will | undefined): MqttClient {
  const { user, clientId } = broker;
  const password = files.password_file?.toString().replace(/\r?\n$/, "");
  const options: IClientOptions = {
    protocolVersion: 5,
    clientId,
    clean: true,
    keepalive: keepAliveSeconds,
    connectTimeout: mqttConnectMsMax,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    timerVariant: "native",
    // The cache of all 65,536 message ids takes 10 MB.
    writeCache: false,
    properties: { maximumPacketSize: mqttCommandBytesMax + packetHeadBytesMax, receiveMaximum: 16 },
    ...(user === "" ? {} : { username: user }),
    ...(password === undefined ? {} : { password }),
    ...(will === undefined
      ? {}
      : { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
  };
  const client = new Client(connect, options);
  limitPackets(client);
  return client;
}

function openSocket(
  { host, port, isTls }: Broker,
  { ca, certificate, key }: BrokerFiles,
  onEnd: (endMs: number) => void,
): Socket {
  // Small messages must not wait for each other.
  const noDelay = true;
  if (!isTls) return connectTcp({ host, port, noDelay });
  // An address has no name to send (RFC 6066, 3).
  const servername = isIP(host) === 0 ? host : "";
  const socket = connectTls({
    host,
    port,
    servername,
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
  });
  socket.once("secureConnect", () => {
    const endMs = Date.parse(socket.getPeerCertificate().valid_to ?? "");
    if (!Number.isNaN(endMs)) onEnd(endMs);
  });
  return socket.setNoDelay(noDelay);
}

/** Ends the connection if a packet is much longer than announced: the parser would keep all of it in memory. */
function limitPackets(client: MqttClient): void {
  let bytes = 0;
  client.on("packetreceive", () => {
    bytes = 0;
  });
  client.stream.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > mqttCommandBytesMax + chunkBytesMax) client.stream.destroy(new Error("a packet is too long"));
  });
}

/**
 * Ends the connection so that the kernel also drops the data that it has not delivered. With an ordinary end it would
 * continue to send for minutes.
 */
function forget({ stream }: MqttClient): void {
  if (stream instanceof Socket) stream.resetAndDestroy();
  else stream.destroy();
}

function unsentBytes({ stream }: MqttClient): number {
  return "writableLength" in stream && typeof stream.writableLength === "number" ? stream.writableLength : 0;
}
