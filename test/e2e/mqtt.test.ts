/** The deck at Debian's mosquitto: topics, commands and their rights, certificates, and Home Assistant's discovery. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mqttCommandBytesMax, mqttCommandsPerSecondMax } from "../../src/core/limits.ts";
import { makeBroker, mosquitto, type TestBroker } from "../helpers/mosquitto.ts";
import { eventually, eventuallyExists, run } from "../helpers/processes.ts";
import {
  makePlace,
  noReaders,
  type Place,
  program,
  type Running,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const brokerTest = test.skipIf(!existsSync(mosquitto));

let broker: TestBroker;
beforeAll(async () => {
  if (!existsSync(mosquitto)) return;
  broker = await makeBroker();
  await broker.issue("hall");
  await broker.start();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

/** Settings for the port with certificates. */
const byCertificate = (id: string, more = "") =>
  `${noReaders}[mqtt]
url = "mqtts://127.0.0.1:${broker.tlsPort}"
ca = "${broker.file("ca.pem")}"
certificate = "${broker.file(`${id}.pem`)}"
key = "${broker.file(`${id}.key`)}"
id = "${id}"
${more}${sleeper()}`;

/** Settings for the port with passwords. */
const byPassword = (id: string, more = "") =>
  `${noReaders}[mqtt]
url = "mqtt://127.0.0.1:${broker.plainPort}"
user = "deck"
password_file = "mqtt-password"
id = "${id}"
${more}${sleeper()}`;

async function placeOf(toml: string): Promise<Place> {
  const place = await makePlace(toml);
  await place.file("SNES/Sonic.sfc");
  await writeFile(join(place.folder, "mqtt-password"), "deck-secret\n", { mode: 0o600 });
  return place;
}

const reasonOf = async ({ client }: Pick<Running, "client">) =>
  (await client.call("health")).checks.find(({ name }) => name === "mqtt")?.reason ?? "";
const connected = (service: Running) =>
  eventually(async () => expect((await service.client.call("health")).mqtt?.connected).toBe(true));
const faultLike = (service: Running, words: RegExp) =>
  eventually(async () => expect(await reasonOf(service)).toMatch(words));

brokerTest("a deck with a certificate shows its state, and each tap and launch", async () => {
  await using place = await placeOf(byCertificate("hall"));
  const heard = await broker.listen("tapdeck/hall/#", "homeassistant/+/hall/#");
  await using service = await startTapdeck(place);
  const json = async (name: string, fits = (_payload: string) => true) =>
    JSON.parse((await heard.next(`tapdeck/hall/${name}`, fits)).payload);

  expect((await heard.next("tapdeck/hall/availability")).payload).toBe("online");
  expect(await json("state")).toMatchObject({ status: "ok", problems: [], version: expect.any(String) });
  expect(await json("media")).toEqual({ state: "idle" });
  expect(await json("readers")).toEqual({ connected: 0, readers: [] });
  const text = "SNES/Sonic.sfc";
  await service.client.call("tokens.scan", { uid: "04a1b2c3", text });
  const tap = await json("tap");
  expect(tap).toEqual({
    time: expect.any(String),
    uid: "04a1b2c3",
    type: "api",
    text,
    readerId: expect.any(String),
    tag: "04a1b2c3",
  });
  const playing = await json("media", (payload) => payload.includes("playing"));
  expect(playing).toMatchObject({ state: "playing", mediaName: "Sonic", systemId: "SNES" });
  const launch = await json("launch");
  expect(launch).toMatchObject({ uid: "04a1b2c3", text, success: true, media: { mediaName: "Sonic" } });
  await service.client.call("tokens.scan", { uid: "04", text: "SNES/Absent.sfc" });
  expect(await json("launch")).toMatchObject({ uid: "04", success: false, error: expect.any(String) });

  const written = "https://www.home-assistant.io/tag/5f0ba733-172f-430d-a7f8-e4ad940c88d7";
  await service.client.call("tokens.scan", { uid: "05", text: written });
  expect(await json("tap", (payload) => payload.includes('"uid":"05"'))).toMatchObject({
    tag: "5f0ba733-172f-430d-a7f8-e4ad940c88d7",
  });
  expect(await json("launch", (payload) => payload.includes('"uid":"05"'))).toMatchObject({ success: true });

  const status = await run([program, "status", `--data=${place.folder}`]);
  expect(status.out).toContain(`connected to mqtts://127.0.0.1:${broker.tlsPort} as hall`);
  await service.stop();
  expect((await heard.next("tapdeck/hall/availability", (payload) => payload === "offline")).retain).toBe(
    true,
  );
  const retained = heard.heard
    .filter(({ topic }) => /\/(tap|launch)$/.test(topic))
    .map(({ retain }) => retain);
  expect(retained).not.toContain(true);
});

brokerTest("a deck that is killed is offline by its last will", async () => {
  await using place = await placeOf(byCertificate("hall"));
  await using service = await startTapdeck(place);
  await connected(service);
  const heard = await broker.listen("tapdeck/hall/availability");
  await eventually(() => expect(heard.heard.at(-1)?.payload).toBe("online"));
  process.kill(service.pid, "SIGKILL");
  await eventually(() => expect(heard.heard.at(-1)?.payload).toBe("offline"));
});

brokerTest(
  "an owner names the broker and its password over the API, and neither is ever read back",
  async () => {
    await using place = await makePlace(`${noReaders}# my own words\n`);
    await using service = await startTapdeck(place);
    const { client } = service;
    const url = `mqtt://127.0.0.1:${broker.plainPort}`;
    await client.call("broker.update", { url, user: "deck", password: "wrong", id: "hall" });
    expect(await client.call("broker.test")).toMatchObject({
      connected: false,
      fault: { code: "broker-refuses" },
      reason: expect.stringContaining("check mqtt.user, mqtt.password_file"),
    });
    // Only the password changes.
    await client.call("broker.update", { password: "deck-secret" });
    await connected(service);
    expect(await client.call("broker.test")).toEqual({ connected: true });
    const facts = await client.call("broker");
    expect(facts).toMatchObject({ url, user: "deck", hasPassword: true, connected: true, id: "hall" });
    const file = join(place.folder, "mqtt-password");
    expect(await readFile(file, "utf8")).toBe("deck-secret\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const toml = await readFile(join(place.folder, "config.toml"), "utf8");
    expect(toml).toContain("# my own words");
    for (const text of [
      toml,
      service.log(),
      JSON.stringify(facts),
      JSON.stringify(await client.call("settings.describe")),
    ])
      expect(text).not.toContain("deck-secret");
    await client.call("broker.update", { url: "" });
    expect(await client.call("broker")).toMatchObject({ url: "", connected: false });
  },
);

brokerTest("an owner gives the authority of the broker, and without it the reason is named", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const { client } = service;
  const ca = await readFile(broker.file("other.pem"), "utf8");
  await client.call("broker.update", { url: `mqtts://127.0.0.1:${broker.tlsPort}`, ca });
  const untrusted = await client.call("broker.test");
  expect(untrusted).toMatchObject({ connected: false, fault: { of: "others" } });
  expect(untrusted.reason).toContain("is not trusted");
  await client.call("broker.update", { ca: await readFile(broker.file("ca.pem"), "utf8") });
  // The broker is trusted now, and asks for the certificate of the device, which can only be set as a file.
  const trusted = await client.call("broker.test");
  expect(trusted.reason ?? "").not.toContain("is not trusted");
  expect(await client.call("broker")).toMatchObject({ hasCa: true });
});

brokerTest("a broker of tapdeck.conf is not changed over the API", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place, ["env", "TAPDECK_MQTT_URL=mqtt://127.0.0.1:9", program]);
  expect(await service.client.call("broker")).toMatchObject({
    isSetByImage: true,
    url: "mqtt://127.0.0.1:9",
  });
  await expect(service.client.call("broker.update", { url: "" })).rejects.toThrow(
    "tapdeck.conf on the boot partition",
  );
});

brokerTest("one deck cannot publish for another", async () => {
  const own = await broker.publishAs("hall", "tapdeck/hall/tap");
  expect(own).toEqual({ said: "", code: 0 });
  for (const topic of [
    "tapdeck/attic/tap",
    "tapdeck/attic/cmd/stop",
    "homeassistant/tag/attic/reader/config",
  ])
    expect((await broker.publishAs("hall", topic)).said).toContain("Not authorized");
  // The broker refuses a deck with the name of another one, and the deck reports this.
  await using place = await placeOf(byCertificate("hall").replace('id = "hall"', 'id = "attic"'));
  const heard = await broker.listen("tapdeck/attic/#", "homeassistant/+/attic/#");
  await using service = await startTapdeck(place);
  await faultLike(service, /^the broker refuses .*attic.*: allow this device to write there/);
  heard.stop();
  expect(heard.heard).toEqual([]);
});

brokerTest(
  "a wrong certificate or password, or no broker at all, is a fault with advice, and delays nothing",
  async () => {
    const wrongCa = byCertificate("hall").replace("ca.pem", "other.pem");
    await using place = await placeOf(wrongCa);
    await using service = await startTapdeck(place);
    await faultLike(service, /^the certificate of the broker is not trusted .*: let mqtt\.ca name/);
    await place.config(byCertificate("hall").replace(/certificate = .*\nkey = .*\n/, ""));
    await faultLike(service, /mqtt\.certificate/);
    await writeFile(join(place.folder, "mqtt-password"), "wrong");
    await place.config(byPassword("hall"));
    await faultLike(service, /^the broker refuses .*: check mqtt\.user/);
    await place.config(byPassword("hall").replace('"mqtt-password"', '"absent"'));
    await faultLike(service, /^mqtt\.password_file: cannot read .*absent: .*no such file/);
    await place.config(byPassword("hall", 'role = "king"\n'));
    await faultLike(service, /^mqtt\.role must be one of member, player, owner, not "king"$/);
    await place.config(`${noReaders}[mqtt]\nurl = "mqtt://127.0.0.1:1"\n`);
    await faultLike(service, /^no broker answers at 127\.0\.0\.1 port 1: check mqtt\.url/);
    const startedMs = performance.now();
    expect(await service.stop()).toBe(0);
    // The service does not wait for the broker's next retry.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(service.log()).not.toContain("internal");
  },
);

brokerTest(
  "a command has the rights of its role, and its answer goes to its response topic alone",
  async () => {
    await using place = await placeOf(byPassword("den"));
    await using service = await startTapdeck(place);
    await connected(service);
    const ask = (method: string, params: string) => broker.ask("tapdeck/den", method, params);
    expect(await ask("version", "")).toMatchObject({ result: { version: expect.any(String) } });
    expect(await ask("launch", '"SNES/Sonic.sfc"')).toMatchObject({ result: null });
    await service.heard.next("media.started");
    expect(await ask("stop", "{}")).toMatchObject({ result: null });
    await service.heard.next("media.stopped");
    expect(await ask("tokens", "{}")).toMatchObject({
      error: {
        message: expect.stringContaining('requires the right "change": mqtt.role decides'),
        data: { reason: "forbidden", right: "change" },
      },
    });
    expect(await ask("launch", '{"text":"**execute:true"}')).toMatchObject({
      error: { data: { reason: "forbidden" } },
    });
    await place.config(byPassword("den", 'role = "member"\n'));
    // A command that comes between the two connections is lost.
    await eventually(async () =>
      expect(await broker.ask("tapdeck/den", "tokens", "{}", 1)).toMatchObject({ result: { active: [] } }),
    );
    expect(await ask("clients", "{}")).toMatchObject({
      error: { data: { reason: "forbidden", right: "own" } },
    });
    expect(
      await ask(
        "mappings.new",
        '{"enabled":true,"type":"uid","match":"exact","pattern":"04aa","override":"x"}',
      ),
    ).toMatchObject({
      result: { id: expect.any(Number) },
    });
    const { entries } = await service.client.call("audit");
    expect(entries).toContainEqual(
      expect.objectContaining({ event: "changed", address: "mqtt", client: "mqtt", method: "mappings.new" }),
    );
  },
);

brokerTest(
  "a command to all decks or to a site runs on each of them, which answers below its own name",
  async () => {
    const site = (name: string) => `[device]\nsite = "${name}"\n`;
    await using onePlace = await placeOf(byPassword("east", site("museum")));
    await using otherPlace = await placeOf(byPassword("west", site("library")));
    await using one = await startTapdeck(onePlace);
    await using other = await startTapdeck(otherPlace);
    await connected(one);
    await connected(other);
    const heard = await broker.listen("tapdeck/+/reply/#");
    const ask = (group: string, to: string) => [
      ...[`tapdeck/${group}/cmd/version`, ""],
      ...["-V", "5", "-D", "publish", "response-topic", `tapdeck/${group}/reply/${to}`],
    ];
    const send = (words: readonly string[]) =>
      broker.publish(words[0] ?? "", words[1] ?? "", ...words.slice(2));
    await send(ask("@all", "all"));
    for (const deck of ["east", "west"])
      await heard.next(`tapdeck/${deck}/reply/all`, (payload) => payload.includes('"version"'));
    await send(ask("@museum", "museum"));
    await heard.next("tapdeck/east/reply/museum");
    // A response topic of another device or group does not belong to this command.
    await send([...ask("@all", "x").slice(0, -1), "tapdeck/west/reply/x"]);
    await eventually(() => expect(one.log()).toContain("its response topic must begin with"));
    await send(ask("@all", "end"));
    for (const deck of ["east", "west"]) await heard.next(`tapdeck/${deck}/reply/end`);
    heard.stop();
    const replies = heard.heard.map(({ topic }) => topic).toSorted();
    expect(replies).toEqual([
      ...["tapdeck/east/reply/all", "tapdeck/east/reply/end", "tapdeck/east/reply/museum"],
      ...["tapdeck/west/reply/all", "tapdeck/west/reply/end"],
    ]);
  },
);

brokerTest("a deck that was moved to another site still took the commands of the old one", async () => {
  const at = (site: string) => byPassword("moved", `[device]\nsite = "${site}"\n`);
  await using place = await placeOf(at("museum"));
  await using service = await startTapdeck(place);
  await connected(service);
  const heard = await broker.listen("tapdeck/moved/reply/#");
  const ask = (group: string, to: string) =>
    broker.publish(
      `tapdeck/${group}/cmd/version`,
      "",
      ...["-V", "5", "-D", "publish", "response-topic", `tapdeck/${group}/reply/${to}`],
    );
  await ask("@museum", "before");
  await heard.next("tapdeck/moved/reply/before");
  await place.config(at("library"));
  await eventually(async () => {
    await ask("@library", "new");
    expect(heard.heard.some(({ topic }) => topic.endsWith("/new"))).toBe(true);
  });
  await ask("@museum", "old");
  await ask("@all", "end");
  await heard.next("tapdeck/moved/reply/end");
  heard.stop();
  expect(heard.heard.filter(({ topic }) => topic.endsWith("/old"))).toEqual([]);
});

brokerTest("bad commands are refused, and old ones do not run", async () => {
  await using place = await placeOf(byPassword("den", 'role = "member"\n'));
  await broker.publish("tapdeck/den/cmd/launch", '"SNES/Sonic.sfc"', "-r");
  await using service = await startTapdeck(place);
  await connected(service);
  const ask = (method: string, params: string) => broker.ask("tapdeck/den", method, params);
  expect(await ask("stop", "{")).toMatchObject({ error: { data: { reason: "parse-error" } } });
  expect(await ask("stop", '{},"method":"clients"')).toMatchObject({
    error: { data: { reason: "parse-error" } },
  });
  expect(await ask("nonsense", "{}")).toMatchObject({ error: { data: { reason: "method-not-found" } } });
  expect(await ask("launch", "{}")).toMatchObject({ error: { data: { reason: "invalid-params" } } });
  const deep = "[".repeat(100) + "]".repeat(100);
  expect(await ask("launch", deep)).toMatchObject({ error: { data: { limit: "jsonDepthMax" } } });
  // A response topic elsewhere would make the deck publish for others.
  const heard = await broker.listen("tapdeck/attic/#", "tapdeck/den/reply/#");
  await broker.publish(
    "tapdeck/den/cmd/version",
    "{}",
    "-D",
    "publish",
    "response-topic",
    "tapdeck/attic/cmd/stop",
  );
  await eventually(() => expect(service.log()).toContain("its response topic must begin with"));
  // More messages than the broker may send to this device.
  await broker.publish("tapdeck/den/cmd/launch", `"${"x".repeat(mqttCommandBytesMax + 5000)}"`);
  const flood = Array.from({ length: 3 * mqttCommandsPerSecondMax }, (_, at) => `{"n":${at}}`).join("\n");
  await writeFile(broker.file("flood"), `${flood}\n`);
  const lines = ["-D", "publish", "response-topic", "tapdeck/den/reply/flood"];
  const words = [
    "-h",
    "127.0.0.1",
    "-p",
    `${broker.plainPort}`,
    "-u",
    "admin",
    "-P",
    "admin-secret",
    "-V",
    "5",
  ];
  const flooding = Bun.spawn(["mosquitto_pub", ...words, "-t", "tapdeck/den/cmd/version", ...lines, "-l"], {
    stdin: Bun.file(broker.file("flood")),
  });
  expect(await flooding.exited).toBe(0);
  await heard.next("tapdeck/den/reply/flood", (payload) => payload.includes("mqttCommandsPerSecondMax"));
  // The log line arrives over another pipe than the answer.
  await eventually(() => expect(service.log()).toContain("a command was dropped"));
  heard.stop();
  expect(heard.heard.filter(({ topic }) => topic.startsWith("tapdeck/attic"))).toEqual([]);
  expect((await service.client.call("tokens.history")).entries).toEqual([]);
  await broker.publish("tapdeck/den/cmd/launch", "", "-r");
});

brokerTest(
  "Home Assistant finds each entity once, and none is left after a change of name or of a setting",
  async () => {
    await using place = await placeOf(byPassword("one"));
    const heard = await broker.listen("homeassistant/#", "tapdeck/one/#", "tapdeck/two/#");
    /** The present retained messages of the broker, by topic. */
    const retained = () =>
      new Map(heard.heard.filter(({ retain }) => retain).map(({ topic, payload }) => [topic, payload]));
    const present = (part: string) =>
      [...retained()]
        .filter(([topic, payload]) => topic.includes(part) && payload !== "")
        .map(([topic]) => topic);
    {
      await using service = await startTapdeck(place);
      await heard.next("tapdeck/one/state/update");
      await eventually(() => expect(present("/one/").length).toBe(15));
      const described = [...retained()].filter(([topic]) => /^homeassistant\/.*\/one\//.test(topic));
      const ids = described.map(([, payload]) => JSON.parse(payload).unique_id).filter(Boolean);
      expect(new Set(ids).size).toBe(9);
      for (const [topic, payload] of described) {
        expect(topic).toMatch(
          /^homeassistant\/(tag|sensor|binary_sensor|button|number|text|update)\/one\/\w+\/config$/,
        );
        expect(JSON.parse(payload).device.identifiers).toEqual(["tapdeck-one"]);
      }
      const tag = JSON.parse(retained().get("homeassistant/tag/one/reader/config") ?? "");
      expect(tag).toMatchObject({ topic: "tapdeck/one/tap", value_template: "{{ value_json.tag }}" });

      // Only a broker with the rights of an owner has a button to install updates.
      const system = () => JSON.parse(retained().get("homeassistant/update/one/system/config") ?? "{}");
      expect(system()).not.toContainKey("command_topic");
      await place.config(byPassword("one", 'role = "owner"\n'));
      await eventually(() =>
        expect(system()).toMatchObject({
          command_topic: "tapdeck/one/cmd/device.update",
          payload_install: "{}",
        }),
      );
      await place.config(byPassword("one", 'role = "member"\n'));
      await eventually(() => expect(system()).not.toContainKey("command_topic"));

      await place.config(byPassword("two"));
      await eventually(() => expect(present("/two/").length).toBe(15));
      expect(present("/one/")).toEqual([]);
      await place.config(byPassword("two", 'discovery = ""\n'));
      await eventually(() =>
        expect(present("/two/").filter((topic) => topic.startsWith("homeassistant/"))).toEqual([]),
      );
      await eventually(() => expect(present("tapdeck/two/").length).toBe(5));
      await place.config(byPassword("two"));
      await eventually(() => expect(present("/two/").length).toBe(15));
      await connected(service);
    }
    // Renamed while the service is off.
    await place.config(byPassword("one"));
    {
      await using service = await startTapdeck(place);
      await eventually(() => expect(present("/one/").length).toBe(15));
      await eventually(() => expect(present("/two/")).toEqual([]));
      await connected(service);
    }
    // Switched off while the service is off.
    await place.config(noReaders);
    await using service = await startTapdeck(place);
    await eventually(() => expect([...present("/one/"), ...present("/two/")]).toEqual([]));
    await eventually(() => expect(existsSync(join(place.folder, "mqtt-retained.json"))).toBe(false));
    expect((await service.client.call("health")).mqtt).toBeUndefined();
  },
);

brokerTest(
  "two decks with one id say so while they are connected, and one that gets another id leaves the other its topics",
  async () => {
    await using place = await placeOf(byPassword("twin"));
    await using otherPlace = await placeOf(byPassword("twin"));
    await using one = await startTapdeck(place);
    await connected(one);
    await using other = await startTapdeck(otherPlace);
    // Each deck reconnects up to half a minute after the other one has taken its place.
    for (const { client } of [one, other])
      await eventually(async () => {
        const { mqtt, checks } = await client.call("health");
        expect(mqtt?.connected).toBe(true);
        const { faults } = checks.find(({ name }) => name === "mqtt") ?? {};
        expect(faults).toMatchObject([{ code: "broker-same-name", of: "others", subject: "127.0.0.1" }]);
      }, 120_000);
    const heard = await broker.listen("tapdeck/twin/#", "tapdeck/single/#", "homeassistant/+/twin/#");
    await place.config(byPassword("single"));
    await heard.next("tapdeck/single/state/update");
    await connected(one);
    await eventually(async () => expect(await reasonOf(one)).toBe(""));
    await connected(other);
    expect(heard.heard.filter(({ payload }) => payload === "")).toEqual([]);
  },
);

brokerTest(
  "the list of retained topics holds no secret, and a readable password file is reported",
  async () => {
    await using place = await placeOf(byPassword("den"));
    const password = join(place.folder, "..", `${Bun.randomUUIDv7()}-password`);
    await writeFile(password, "deck-secret");
    await chmod(password, 0o644);
    await place.config(byPassword("den").replace('"mqtt-password"', `"${password}"`));
    await using service = await startTapdeck(place);
    await connected(service);
    await eventually(() => expect(service.log()).toContain("other users can read this secret: chmod o-r"));
    const list = join(place.folder, "mqtt-retained.json");
    await eventuallyExists(list);
    expect(await readFile(list, "utf8")).toContain("tapdeck/den/state");
    expect(await readFile(list, "utf8")).not.toContain("deck-secret");
    await Bun.file(password).delete();
  },
);
