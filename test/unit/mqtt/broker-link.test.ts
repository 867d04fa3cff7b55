/** The connection to a broker that is absent, or that sends more than it may. */
import { expect, test } from "bun:test";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { mqttReconnectMsMax, mqttReconnectMsMin, mqttUnsentBytesMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { brokerOf } from "../../../src/mqtt/broker.ts";
import { connectionFault, refusalOf, silenceOf } from "../../../src/mqtt/broker-advice.ts";
import { createLink } from "../../../src/mqtt/broker-link.ts";
import { faultsAgainst } from "../../../src/update/trial.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { freePort } from "../../helpers/free-port.ts";
import { eventually } from "../../helpers/processes.ts";

const brokerAt = (port: number) =>
  brokerOf({ ...defaultConfig.mqtt, url: `mqtt://127.0.0.1:${port}` }, "deck", "/data");

test("an absent broker is tried again after times that are spread over 1 to 30 s", async () => {
  const waits: number[] = [];
  const clock = {
    ...systemClock,
    /** Timers that run at once instead of waiting. */
    after(ms: number, run: () => void) {
      waits.push(ms);
      return systemClock.after(0, run);
    },
  };
  const link = createLink({ broker: brokerAt(freePort()), clock, log: silentLog, onOpen() {} });
  await eventually(() => waits.length >= 40);
  // The close, which may come in the middle of a try, has a wait of its own.
  const seconds = waits.map((ms) => ms / 1000);
  expect(link.fault()).toMatchObject({ code: "broker-absent", of: "others", subject: "127.0.0.1" });
  expect(link.isOpen()).toBe(false);
  expect(await link.publish("a", "b")).toBe("lost");
  await link.close();
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(mqttReconnectMsMin / 1000);
  expect(Math.max(...seconds)).toBeLessThanOrEqual(mqttReconnectMsMax / 1000);
  // By chance, in one run of a million, five or fewer of forty are on one side.
  expect(seconds.filter((one) => one < 15.5).length).toBeGreaterThan(5);
  expect(seconds.filter((one) => one > 15.5).length).toBeGreaterThan(5);
});

test("each try to reach an absent broker warned again that others can read its password", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-mqtt-"));
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, "secret\n");
  await chmod(passwordFile, 0o644);
  const url = `mqtt://127.0.0.1:${freePort()}`;
  const broker = brokerOf({ ...defaultConfig.mqtt, url, user: "deck", passwordFile }, "deck", folder);
  let tries = 0;
  const clock = {
    ...systemClock,
    after(_ms: number, run: () => void) {
      tries++;
      return systemClock.after(0, run);
    },
  };
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_area: string, sentence: string) => void warnings.push(sentence) };
  const link = createLink({ broker, clock, log, onOpen() {} });
  await eventually(() => expect(tries).toBeGreaterThan(3));
  await link.close();
  await rm(folder, { recursive: true });
  expect(warnings.filter((one) => one.startsWith("other users"))).toHaveLength(1);
});

/** MQTT 5, 3.2: the answer to a connection, without properties. */
const connack = Buffer.of(0x20, 3, 0, 0, 0);

test("a packet that is longer than announced ends the connection", async () => {
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, bytes) {
        // CONNECT is the first packet.
        if (bytes[0] !== 0x10) return;
        socket.write(connack);
        // A PUBLISH of 64 MiB (2.1.4, Variable Byte Integer). Only the first part of the message must arrive.
        socket.write(Buffer.of(0x30, 0x80, 0x80, 0x80, 0x20));
        const more = () => {
          if (socket.readyState !== 1 || sent >= 64 * 1024 * 1024) return;
          sent += socket.write(Buffer.alloc(256 * 1024));
          setTimeout(more, 1);
        };
        more();
      },
      close: () => closed.resolve(),
    },
  });
  const link = createLink({ broker: brokerAt(server.port), clock: systemClock, log: silentLog, onOpen() {} });
  await closed.promise;
  expect(sent).toBeLessThan(16 * 1024 * 1024);
  await eventually(() => expect(link.fault()).toBeDefined());
  expect(link.isOpen()).toBe(false);
  await link.close();
});

test("a broker that does not read fills no memory, and delays no stop", async () => {
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, bytes) {
        if (bytes[0] !== 0x10) return;
        socket.write(connack);
        socket.pause();
      },
    },
  });
  const opened = Promise.withResolvers<void>();
  const link = createLink({
    broker: brokerAt(server.port),
    clock: systemClock,
    log: silentLog,
    onOpen: () => opened.resolve(),
  });
  await opened.promise;
  const payload = "x".repeat(1024 * 1024);
  const all: Promise<string>[] = [];
  await eventually(() => {
    all.push(link.publish("a", payload));
    return !link.isOpen();
  });
  // The buffers of the kernel take some megabytes.
  expect(all.length).toBeLessThan(mqttUnsentBytesMax / payload.length + 64);
  expect(new Set(await Promise.all(all))).toEqual(new Set(["lost"]));
  await link.close();
});

test("a broker whose name was not known during a trial undid a good update", () => {
  const broker = brokerAt(1);
  const codes = [
    "ENOTFOUND",
    "ECONNREFUSED",
    "CERT_HAS_EXPIRED",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "EPROTO",
    "?",
  ];
  const faults = [
    ...codes.flatMap((code) =>
      [broker, { ...broker, isTls: true }].map((one) =>
        connectionFault(Object.assign(new Error("x"), { code }), one, false),
      ),
    ),
    ...[1, 4, 5, 132, 133, 134, 135, 137, 138, 139, 142, 143].map((reason) => refusalOf(reason, broker)),
    silenceOf(broker),
  ];
  expect(faultsAgainst(faults, [])).toEqual([]);
  expect(faults.every(({ subject }) => subject === "127.0.0.1")).toBe(true);
});

test("a reset and an unreadable packet have advice on the port only before the connection was open", () => {
  const broker = brokerAt(1);
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  const unreadable = new Error("Invalid header flag bits");
  const codes = (error: Error, one = broker) =>
    [false, true].map((wasOpen) => connectionFault(error, one, wasOpen).code);
  expect(codes(reset)).toEqual(["broker-silent", "broker-lost"]);
  expect(codes(reset, { ...broker, isTls: true })).toEqual(["broker-silent-tls", "broker-lost"]);
  expect(codes(unreadable)).toEqual(["broker-not-mqtt", "broker-unreachable"]);
});
