/**
 * `bun test/bench/main.ts fleet`: the cost of MQTT in one deck, and 10,000 simulated decks at one mosquitto. A simulated deck
 * sends the packets of a real one: a will, four retained topics, a subscription, and taps. FLEET_DECKS=N takes another number,
 * and FLEET_TLS=1 gives all of them a client certificate. Then fewer real decks lose their broker for a minute.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../src/bus.ts";
import { systemClock as clock } from "../../src/core/clock.ts";
import { mqttReconnectMsMax, mqttReconnectMsMin } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Token } from "../../src/core/token.ts";
import { startDeck } from "../../src/mqtt/deck.ts";
import { defaultConfig } from "../helpers/defaults.ts";
import { freePort } from "../helpers/free-port.ts";
import { makeBroker, mosquitto, type TestBroker } from "../helpers/mosquitto.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";
import { cpuSeconds, line, quantile, title } from "./figures.ts";
import { measureOutage } from "./fleet-outage.ts";

const decks = Number(process.env.FLEET_DECKS ?? 10_000);
const settledMs = 4000;
const isTls = process.env.FLEET_TLS === "1";
const outageMs = 3000;
const steadySeconds = 20;
const tapEverySeconds = 60;

export async function measureFleet(): Promise<void> {
  await using broker = await makeBroker();
  await broker.issue("hall");
  await broker.start();
  title("MQTT in one deck (TLS, client certificate)");
  await memoryOfDeck(broker);
  await tapPath(broker);
  await broker.stop();
  title(`${decks} simulated decks at one mosquitto, ${isTls ? "with" : "without"} TLS`);
  if (decks > 0) await manyDecks(broker);
  await measureOutage();
}

function tlsSettings(broker: TestBroker): string {
  return `[mqtt]
url = "mqtts://127.0.0.1:${broker.tlsPort}"
ca = "${broker.file("ca.pem")}"
certificate = "${broker.file("hall.pem")}"
key = "${broker.file("hall.key")}"
id = "hall"
`;
}

/** Private memory of the service, with and without a broker, after a few taps. */
async function memoryOfDeck(broker: TestBroker): Promise<void> {
  const measure = async (toml: string) => {
    await using place = await makePlace(`${noReaders}${toml}`);
    await using service = await startTapdeck(place);
    if (toml !== "")
      await eventually(async () => (await service.client.call("health")).mqtt?.connected === true);
    for (let tap = 0; tap < 5; tap++) {
      await service.client.call("tokens.scan", { uid: `a${tap}`, text: "**echo:x", duration: 1 });
      await service.heard.next("launch.finished");
    }
    await Bun.sleep(settledMs);
    // Clean pages are those of the program's file, which count as private if no other process has it open.
    return memoryMb(service.pid, /^Private_Dirty: +(\d+)/gm);
  };
  const [without, connected]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round++) {
    without.push(await measure(""));
    connected.push(await measure(tlsSettings(broker)));
  }
  const [before, after] = [quantile(without, 0.5), quantile(connected, 0.5)];
  line("private memory without a broker", `${before.toFixed(1)} MB`);
  line("private memory while connected", `${after.toFixed(1)} MB`);
  line("cost", `${(after - before).toFixed(1)} MB`, "15 MB");
}

/** The time that a tap spends in listeners of the event, with and without the deck among them. */
async function tapPath(broker: TestBroker): Promise<void> {
  const dataFolder = await mkdtemp(join(tmpdir(), "tapdeck-fleet-"));
  const bus = createBus(silentLog);
  const { certificate, key, ca } = { certificate: "hall.pem", key: "hall.key", ca: "ca.pem" };
  const settings = {
    ...defaultConfig.mqtt,
    url: `mqtts://127.0.0.1:${broker.tlsPort}`,
    id: "hall",
    certificate: broker.file(certificate),
    key: broker.file(key),
    ca: broker.file(ca),
  };
  const emit = async () => {
    const samples: number[] = [];
    for (let tap = 0; tap < 500; tap++) {
      const token: Token = { type: "NTAG", uid: "04a1", text: "x", data: "", scanTime: "", readerId: "" };
      const startedMs = performance.now();
      bus.emit("tokens.added", token);
      samples.push(performance.now() - startedMs);
      // The pause between two taps, which is shorter than that of a person.
      await Bun.sleep(2);
    }
    return samples;
  };
  const without = await emit();
  const deck = startDeck({
    settings,
    dataFolder,
    site: () => "",
    bus,
    clock,
    log: silentLog,
    taps: { waiting: [], missed: 0 },
    retainedPath: join(dataFolder, "mqtt-retained.json"),
    device: { name: "hall", version: "0.1.0", platform: "linux", pageUrl: "" },
    readers: () => [],
    media: async () => undefined,
    checks: async () => [],
    caller: () => ({ call: () => undefined, take: () => true, end() {} }),
  });
  await eventually(() => deck.isConnected());
  const connected = await emit();
  await deck.close();
  await rm(dataFolder, { recursive: true });
  const [median, p99] = [0.5, 0.99].map((share) => quantile(connected, share) - quantile(without, share));
  line("added to a tap", `median ${median?.toFixed(4)} ms, p99 ${p99?.toFixed(4)} ms`, "0.1 ms");
}

async function manyDecks(certificates: TestBroker): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-fleet-"));
  const port = freePort();
  const file = join(folder, "mosquitto.conf");
  await writeFile(
    file,
    `user root
listener ${port}
allow_anonymous true
persistence true
persistence_location ${folder}/
max_queued_messages 0
${isTls ? tlsLines(certificates) : ""}`,
  );
  const startBroker = () => Bun.spawn([mosquitto, "-c", file], { stdio: ["ignore", "ignore", "ignore"] });
  let broker = startBroker();
  const fleet = createFleet(port, isTls ? await clientTls(certificates) : undefined);
  try {
    await eventually(async () => {
      const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
      socket.end();
    });
    line("an idle broker", `${memoryMb(broker.pid, pss).toFixed(1)} MB`);
    const beganMs = performance.now();
    fleet.connectAll();
    await eventually(() => fleet.ready() === decks, 300_000);
    line("all connected, with their state retained", `${seconds(beganMs)} s`);
    const cpuBefore = await cpuSeconds(broker.pid);
    fleet.tap();
    await Bun.sleep(steadySeconds * 1000);
    const share = ((await cpuSeconds(broker.pid)) - cpuBefore) / steadySeconds;
    line(
      `broker with a tap of each deck in ${tapEverySeconds} s`,
      `${(100 * share).toFixed(1)} % of a processor`,
    );
    line("broker memory", `${memoryMb(broker.pid, pss).toFixed(1)} MB`);
    fleet.rest();
    broker.kill();
    await broker.exited;
    await eventually(() => fleet.ready() === 0);
    await Bun.sleep(outageMs);
    const restartedMs = performance.now();
    broker = startBroker();
    await Bun.sleep(500);
    const kept = await retainedStates(port, certificates);
    line("retained states after the restart", `${kept} of ${decks}`);
    await eventually(() => fleet.ready() === decks, 300_000);
    line("all back after the restart", `${seconds(restartedMs)} s`, "30 s and the time of their work");
    line("reconnects, by second", fleet.perSecond(restartedMs).join(" "));
    line("broker's processor time for the return", `${(await cpuSeconds(broker.pid)).toFixed(1)} s`);
  } finally {
    fleet.close();
    broker.kill();
    await broker.exited;
    await rm(folder, { recursive: true });
  }
}

function tlsLines({ file }: TestBroker): string {
  const [ca, certificate, key] = ["ca.pem", "broker.pem", "broker.key"].map(file);
  return `cafile ${ca}\ncertfile ${certificate}\nkeyfile ${key}\nrequire_certificate true\n`;
}

async function clientTls({ file }: TestBroker): Promise<Bun.TLSOptions> {
  const [cert, key] = await Promise.all(["hall.pem", "hall.key"].map((name) => Bun.file(file(name)).text()));
  // The broker's certificate is valid for one of its addresses.
  return { cert, key, rejectUnauthorized: false };
}

const pss = /^Pss: +(\d+)/gm;

function memoryMb(pid: number, row: RegExp): number {
  const rows = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").matchAll(row);
  return [...rows].reduce((sum, [, kb]) => sum + Number(kb), 0) / 1024;
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(1);
}

/** The number of decks whose retained state at the broker is the one that they sent. */
async function retainedStates(port: number, { file }: TestBroker): Promise<number> {
  const tls = ["--cafile", file("ca.pem"), "--cert", file("hall.pem"), "--key", file("hall.key")];
  const words = [
    "-h",
    "127.0.0.1",
    "-p",
    `${port}`,
    "-t",
    "tapdeck/+/state",
    "--retained-only",
    "-C",
    `${decks}`,
  ];
  const out = await printed(["mosquitto_sub", ...words, ...(isTls ? tls : []), "-W", "60", "-F", "%t %p"]);
  const right = out.split("\n").filter((row) => {
    const [, id, payload] = /^tapdeck\/(deck-\d+)\/state (.*)$/.exec(row) ?? [];
    return id !== undefined && payload === stateOf(id);
  });
  return new Set(right).size;
}

function stateOf(id: string): string {
  return JSON.stringify({
    status: "ok",
    problems: [],
    faults: [],
    version: "0.1.0",
    platform: "linux",
    deck: id,
  });
}

/** Decks by hand-made packets (MQTT 5, chapters 2 and 3), which take less memory than clients of a library. */
function createFleet(port: number, tls: Bun.TLSOptions | undefined) {
  let ready = 0;
  let isClosed = false;
  const backMs: number[] = [];
  const sockets = new Set<Bun.Socket<undefined>>();
  let tapping: ReturnType<typeof setInterval> | undefined;
  const connect = (number: number) => {
    const id = `deck-${number}`;
    let isReady = false;
    const retry = () => {
      if (isClosed) return;
      const waitMs = mqttReconnectMsMin + Math.random() * (mqttReconnectMsMax - mqttReconnectMsMin);
      setTimeout(() => connect(number), waitMs);
    };
    // Several addresses are needed, because one has too few ports.
    const hostname = `127.0.0.${1 + (number % 4)}`;
    const [connackType, subackType] = [0x20, 0x90];
    Bun.connect({
      hostname,
      port,
      ...(tls === undefined ? {} : { tls }),
      socket: {
        open: (socket) => void socket.write(connectPacket(id)),
        data(socket, bytes) {
          if (bytes[0] === connackType) socket.write(statePackets(id));
          if (!isReady && (bytes[0] === subackType || bytes.includes(subackType))) {
            isReady = true;
            ready += 1;
            backMs.push(performance.now());
            sockets.add(socket);
          }
        },
        close(socket) {
          sockets.delete(socket);
          if (isReady) ready -= 1;
          retry();
        },
        error() {},
      },
    }).catch(retry);
  };
  return {
    ready: () => ready,
    async connectAll() {
      for (let number = 0; number < decks; number++) {
        connect(number);
        // The broker's queue of waiting connections is short.
        if (number % 50 === 0) await Bun.sleep(5);
      }
    },
    tap() {
      const all = [...sockets];
      let at = 0;
      tapping = setInterval(() => {
        for (let n = 0; n < decks / tapEverySeconds / 10; n++) {
          const which = at++ % all.length;
          all[which]?.write(publishPacket(`tapdeck/deck-${which}/tap`, '{"uid":"04a1"}', 0x32));
        }
      }, 100);
    },
    rest: () => clearInterval(tapping),
    perSecond(sinceMs: number) {
      const counts = new Map<number, number>();
      for (const ms of backMs)
        if (ms > sinceMs) {
          const second = Math.floor((ms - sinceMs) / 1000);
          counts.set(second, (counts.get(second) ?? 0) + 1);
        }
      return Array.from(
        { length: Math.max(0, ...counts.keys()) + 1 },
        (_, second) => counts.get(second) ?? 0,
      );
    },
    close() {
      isClosed = true;
      clearInterval(tapping);
      for (const socket of sockets) socket.terminate();
    },
  };
}

function packet(type: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length: number[] = [];
  for (let rest = body.length; ; rest >>= 7) {
    if (rest < 128) {
      length.push(rest);
      break;
    }
    length.push((rest & 127) | 128);
  }
  return Buffer.concat([Buffer.of(type, ...length), body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 255), bytes]);
}

/** A clean start, and a retained will of QoS 1; keep-alive 300 s, because nothing here sends pings. */
function connectPacket(id: string): Buffer {
  const head = Buffer.concat([text("MQTT"), Buffer.of(5, 0x2e, 300 >> 8, 300 & 255, 0)]);
  return packet(
    0x10,
    head,
    text(`tapdeck-${id}`),
    Buffer.of(0),
    text(`tapdeck/${id}/availability`),
    text("offline"),
  );
}

function publishPacket(topic: string, payload: string, type = 0x33): Buffer {
  return packet(type, text(topic), Buffer.of(0, 1, 0), Buffer.from(payload));
}

function statePackets(id: string): Buffer {
  const own = (name: string) => `tapdeck/${id}/${name}`;
  return Buffer.concat([
    publishPacket(own("availability"), "online"),
    publishPacket(own("state"), stateOf(id)),
    publishPacket(own("media"), '{"state":"idle"}'),
    publishPacket(own("readers"), '{"connected":1,"readers":[]}'),
    packet(0x82, Buffer.of(0, 2, 0), text(own("cmd/+")), Buffer.of(0x21)),
  ]);
}
