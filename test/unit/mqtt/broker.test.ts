/** The settings of a broker, each fault with its setting and the valid values; and the files of its account. */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mqttFileBytesMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { brokerOf, type MqttSettings, readBrokerFiles } from "../../../src/mqtt/broker.ts";
import { defaultConfig } from "../../helpers/defaults.ts";

const read = (settings: Partial<MqttSettings>, name = "Living Room.lan") =>
  brokerOf({ ...defaultConfig.mqtt, url: "mqtts://broker.lan", ...settings }, name, "/data");

test("a broker has the usual port of its kind, and the topics of this device", () => {
  expect(read({})).toMatchObject({
    host: "broker.lan",
    port: 8883,
    isTls: true,
    address: "mqtts://broker.lan:8883",
    id: "living-room-lan",
    role: "player",
    topic: "tapdeck/living-room-lan",
    clientId: "tapdeck-living-room-lan",
    discovery: "homeassistant",
  });
  expect(read({ url: "mqtt://192.168.1.5" })).toMatchObject({
    host: "192.168.1.5",
    port: 1883,
    isTls: false,
  });
  expect(read({ url: "mqtt://[fd00::1]:1884/" })).toMatchObject({
    host: "fd00::1",
    address: "mqtt://[fd00::1]:1884",
  });
  const hall = read({ base: "museum/decks", id: "hall_1", role: "member", discovery: "" });
  expect(hall).toMatchObject({
    topic: "museum/decks/hall_1",
    clientId: "museum-decks-hall_1",
    role: "member",
  });
  expect(read({}, "").id).toBe("deck");
  expect(read({}, "---").id).toBe("deck");
});

test("files are full paths, or lie in the data folder", () => {
  const files = {
    user: "deck",
    passwordFile: "mqtt-password",
    certificate: "/etc/a.pem",
    key: "/etc/a.key",
    ca: "ca.pem",
  };
  expect(read(files).files).toEqual({
    password_file: "/data/mqtt-password",
    certificate: "/etc/a.pem",
    key: "/etc/a.key",
    ca: "/data/ca.pem",
  });
});

test.each<[Partial<MqttSettings>, RegExp]>([
  [
    { url: "http://broker.lan" },
    /^mqtt\.url must be an address such as "mqtts:\/\/broker\.lan:8883", not "http/,
  ],
  [{ url: "broker.lan" }, /^mqtt\.url must be/],
  [{ url: "mqtt://" }, /^mqtt\.url must be/],
  [{ url: "mqtt://broker.lan/x" }, /^mqtt\.url must be .* without a path/],
  [{ url: "mqtt://broker.lan?x" }, /^mqtt\.url must be .* without a path/],
  [{ url: "mqtt://deck:secret@broker.lan" }, /^mqtt\.url must not hold a name and password: use mqtt\.user/],
  [{ role: "own" }, /^mqtt\.role must be one of member, player, owner, not "own"$/],
  [{ id: "a/b" }, /^mqtt\.id must be at most 64 letters/],
  [{ id: "a".repeat(65) }, /^mqtt\.id must be/],
  [{ base: "" }, /^mqtt\.base must be a topic/],
  [{ base: "$SYS" }, /^mqtt\.base must be/],
  [{ base: "a/+" }, /^mqtt\.base must be/],
  [{ base: "/a" }, /^mqtt\.base must be/],
  [{ base: "a//b" }, /^mqtt\.base must be/],
  [{ discovery: "#" }, /^mqtt\.discovery must be empty, or a topic/],
  [{ passwordFile: "a" }, /^mqtt\.password_file needs mqtt\.user$/],
  [{ certificate: "a" }, /^mqtt\.certificate and mqtt\.key need each other/],
  [{ url: "mqtt://broker.lan", ca: "a" }, /need TLS: let mqtt\.url begin with "mqtts:\/\/"$/],
])("%o is a fault with advice", (settings, sentence) => {
  expect(() => read(settings)).toThrow(sentence);
});

test("a password in a bad address is not quoted", () => {
  expect(() => read({ url: "mqtt:/ /deck:secret@broker" })).toThrow(/^mqtt\.url/);
  expect(() => read({ url: "http://deck:secret@broker.lan" })).toThrow(/^(?!.*secret)/);
});

test("files that are absent or too long are faults with their setting", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-mqtt-"));
  try {
    const path = join(folder, "password");
    const broker = read({ user: "deck", passwordFile: path });
    await expect(readBrokerFiles(broker, silentLog)).rejects.toThrow(
      /^mqtt\.password_file: cannot read .*no such file/,
    );
    await writeFile(path, Buffer.alloc(mqttFileBytesMax + 1));
    await expect(readBrokerFiles(broker, silentLog)).rejects.toThrow(/it has more than 65536 bytes/);
    await writeFile(path, "secret\n");
    expect((await readBrokerFiles(broker, silentLog)).password_file?.toString()).toBe("secret\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
