/** The deck without its broker for a while, and without one in its settings. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { mqttEventMsMax, mqttReconnectMsMax } from "../../src/core/limits.ts";
import { startDevice } from "../helpers/device.ts";
import { makeBroker, mosquitto, type TestBroker } from "../helpers/mosquitto.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

let broker: TestBroker;
beforeAll(async () => {
  if (!existsSync(mosquitto)) return;
  broker = await makeBroker();
  await broker.issue("hall");
});
afterAll(() => broker?.[Symbol.asyncDispose]());

test.skipIf(!existsSync(mosquitto))(
  "taps of an outage arrived 35 s late, and an automation acted on them",
  async () => {
    await using place = await makePlace(`${noReaders}[mqtt]
url = "mqtts://127.0.0.1:${broker.tlsPort}"
ca = "${broker.file("ca.pem")}"
certificate = "${broker.file("hall.pem")}"
key = "${broker.file("hall.key")}"
id = "hall"
`);
    await broker.start();
    await using service = await startTapdeck(place);
    const isConnected = async () => (await service.client.call("health")).mqtt?.connected === true;
    await eventually(isConnected);
    await broker.stop();
    await eventually(async () => !(await isConnected()));
    const tap = async (uid: string) => {
      await service.client.call("tokens.scan", { uid, text: "**echo:x", duration: 1 });
      await service.heard.next("tokens.removed");
    };
    for (const uid of ["a1", "a2", "a3"]) await tap(uid);
    await Bun.sleep(mqttEventMsMax + 500);
    await broker.start();
    const heard = await broker.listen("tapdeck/hall/#");
    await eventually(isConnected, mqttReconnectMsMax + 60_000);
    await tap("b1");
    await heard.next("tapdeck/hall/tap", (payload) => payload.includes('"b1"'));
    await heard.next("tapdeck/hall/state", (payload) => JSON.parse(payload).missedTaps === 3);
    const uids = heard.heard
      .filter(({ topic }) => topic.endsWith("/tap") || topic.endsWith("/launch"))
      .map(({ payload }) => JSON.parse(payload).uid);
    expect(uids.filter((uid) => uid.startsWith("a"))).toEqual([]);
    expect(uids).toContain("b1");
    const shown = new Map(
      heard.heard.filter(({ retain }) => retain).map(({ topic, payload }) => [topic, payload]),
    );
    expect(shown.get("tapdeck/hall/availability")).toBe("online");
    for (const name of ["state", "media", "readers", "state/update"])
      expect(JSON.parse(shown.get(`tapdeck/hall/${name}`) ?? "null")).toBeObject();
  },
);

test("without a broker in the settings, nothing of MQTT is loaded", async () => {
  await using place = await makePlace(noReaders);
  const child = join(import.meta.dir, "../programs/loaded-modules.ts");
  const loaded = async (): Promise<readonly string[]> =>
    JSON.parse(await printed([process.execPath, child, place.folder]));
  const isOfMqtt = (path: string) => /node_modules\/mqtt|\/src\/mqtt\//.test(path);
  const without = await loaded();
  expect(without.some((path) => path.endsWith("/src/services/mqtt.ts"))).toBe(true);
  expect(without.filter(isOfMqtt)).toEqual([]);
  // The same check finds the files of MQTT once a broker is set.
  await place.config(`${noReaders}[mqtt]\nurl = "mqtt://127.0.0.1:1"\n`);
  expect((await loaded()).filter(isOfMqtt).length).toBeGreaterThan(5);
});

test.skipIf(!canMakeNetworks)(
  "without a broker in the settings, nothing is sent and no descriptor is open for it",
  async () => {
    await using device = await startDevice(noReaders);
    const { pid, client } = device.service;
    await client.call("tokens.scan", { uid: "04", text: "**echo:x" });
    await device.service.heard.next("launch.finished");
    const folder = `/proc/${pid}/fd`;
    const names = await readdir(folder);
    const opened = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => "")));
    const sockets = opened
      .filter((path) => path.startsWith("socket:"))
      .map((path) => path.replace(/\D/g, ""));
    // proc(5), /proc/net/tcp: state 0A listens. The device's namespace holds only this service.
    const tables = await Promise.all(
      ["tcp", "tcp6", "udp", "udp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8")),
    );
    const rows = tables.flatMap((table) =>
      table
        .trim()
        .split("\n")
        .slice(1)
        .map((row) => row.trim().split(/\s+/)),
    );
    const own = rows.filter((row) => sockets.includes(row[9] ?? ""));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((row) => row[3] !== "0A")).toEqual([]);
    const lines = (await readFile(`/proc/${pid}/net/snmp`, "utf8")).split("\n");
    const counter = (group: string, name: string) => {
      const [head = "", values = ""] = lines.filter((line) => line.startsWith(`${group}: `));
      return values.split(" ")[head.split(" ").indexOf(name)];
    };
    expect([counter("Tcp", "ActiveOpens"), counter("Udp", "OutDatagrams")]).toEqual(["0", "0"]);
  },
);
