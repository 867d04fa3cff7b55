/**
 * `make test-home-assistant`: a real Home Assistant, mosquitto and the real service with its simulated reader, in a network
 * namespace of their own. It prints the entities, the event of a tag, and a launch by an automation; 1 if one is missing.
 */
import { createHmac } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { linesOf } from "../helpers/lines.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually, within } from "../helpers/processes.ts";
import { firstReader, makePlace, noReaders, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const folder = join(root, "build/home-assistant/config");
const [brokerPort, homePort] = [1883, 8123];
const startMsMax = 180_000;
const findMsMax = 30_000;
const uid = "04a1b2c3d4e5f6";
const wantedEntities = [
  "sensor.tapdeck_hall_now_playing",
  "sensor.tapdeck_hall_version",
  "binary_sensor.tapdeck_hall_reader",
  "binary_sensor.tapdeck_hall_problem",
  "button.tapdeck_hall_stop",
  "button.tapdeck_hall_confirm",
  "number.tapdeck_hall_volume",
  "text.tapdeck_hall_launch",
  "update.tapdeck_hall_system",
];

const jwtKey = "0123456789abcdef0123456789abcdef";
const token = accessToken("token-1");
await makeHome();
const broker = Bun.spawn([mosquitto, "-p", `${brokerPort}`], { stdio: ["ignore", "ignore", "ignore"] });
const home = Bun.spawn([join(root, "build/home-assistant/venv/bin/hass"), "--config", folder, "--skip-pip"], {
  stdio: ["ignore", "ignore", Bun.file(join(folder, "output.log"))],
});
try {
  await eventually(async () => (await ask("states")).ok, startMsMax);
  say("Home Assistant answers");
  await useDeck();
} finally {
  home.kill();
  broker.kill();
  await Promise.all([home.exited, broker.exited]);
}

async function useDeck(): Promise<void> {
  await using place = await makePlace(`${noReaders}connect = ["simulated:"]
[mqtt]
url = "mqtt://127.0.0.1:${brokerPort}"
id = "hall"
${sleeper()}`);
  await place.file("SNES/Sonic.sfc");
  {
    await using service = await startTapdeck(place);
    await firstReader(service);
    await eventually(async () => {
      const found = await entities();
      const missing = wantedEntities.filter((id) => !found.has(id));
      if (missing.length > 0)
        throw new Error(`missing: ${missing.join(" ")}; there: ${[...found.keys()].join(" ")}`);
    }, findMsMax);
    await eventually(async () => (await entities()).get("binary_sensor.tapdeck_hall_reader") === "on");
    for (const [id, state] of await entities()) say(`  ${id} = ${state}`);

    const events = await listen("tag_scanned");
    const { readers } = await service.client.call("readers");
    const readerId = readers[0]?.readerId ?? "";
    await service.client.call("tokens.scan", { uid, text: "**echo:tapped", readerId });
    const event = await within("tag event", events.next());
    say(`  tag event: ${JSON.stringify(event.value)}`);
    const started = await service.heard.next("media.started");
    say(`  the automation launched ${started.mediaPath}`);
    await eventually(async () => (await entities()).get("sensor.tapdeck_hall_now_playing") === "Sonic");
    say("  sensor.tapdeck_hall_now_playing = Sonic");
    await call("button", "press", { entity_id: "button.tapdeck_hall_stop" });
    await service.heard.next("media.stopped");
    say("  button.tapdeck_hall_stop stopped it");
    await call("number", "set_value", { entity_id: "number.tapdeck_hall_volume", value: 40 });
    await service.heard.next("running", ({ script }) => script === "**volume:40");
    say("  number.tapdeck_hall_volume set the volume to 40");
    process.kill(service.pid, "SIGKILL");
    await eventually(async () => (await entities()).get("text.tapdeck_hall_launch") === "unavailable");
    say("  after a kill all entities are unavailable");
  }
  await place.config(noReaders);
  await using _off = await startTapdeck(place);
  await eventually(async () => (await entities()).size === 0);
  say("  after MQTT was switched off no entity is left");
}

/** A configuration without onboarding, with one long-lived token, and an automation that launches at a tag. */
async function makeHome(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, ".storage"), { recursive: true });
  await writeFile(
    join(folder, "configuration.yaml"),
    `homeassistant:
  name: Test
  latitude: 0
  longitude: 0
http:
  server_host: 127.0.0.1
  server_port: ${homePort}
api:
tag:
logger:
  default: warning
automation:
  - alias: launch
    trigger:
      - platform: tag
        tag_id: ${uid}
    action:
      - service: text.set_value
        target: { entity_id: text.tapdeck_hall_launch }
        data: { value: "SNES/Sonic.sfc" }
`,
  );
  const store = (key: string, data: object) =>
    writeFile(join(folder, ".storage", key), JSON.stringify({ version: 1, minor_version: 1, key, data }));
  await store("core.config_entries", {
    entries: [
      {
        ...{ entry_id: "mqtt-1", version: 1, minor_version: 1, domain: "mqtt", title: "broker", options: {} },
        data: { broker: "127.0.0.1", port: brokerPort, discovery: true, discovery_prefix: "homeassistant" },
        ...{ pref_disable_new_entities: false, pref_disable_polling: false, source: "user" },
        ...{ unique_id: null, disabled_by: null },
      },
    ],
  });
  await store("auth", {
    users: [
      {
        ...{ id: "user-1", group_ids: ["system-admin"], is_owner: true, is_active: true, name: "test" },
        ...{ system_generated: false, local_only: false },
      },
    ],
    groups: [{ id: "system-admin", name: "Administrators" }],
    credentials: [],
    refresh_tokens: [
      {
        ...{ id: "token-1", user_id: "user-1", client_id: null, client_name: "test", client_icon: null },
        ...{ token_type: "long_lived_access_token", created_at: "2024-01-01T00:00:00+00:00" },
        ...{ access_token_expiration: 315_360_000, token: "unused", jwt_key: jwtKey },
        ...{ last_used_at: null, last_used_ip: null, credential_id: null, version: "2024.3.3" },
      },
    ],
  });
}

/** RFC 7519, signed by HMAC-SHA256. */
function accessToken(issuer: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const head = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: issuer, iat: now, exp: now + 86_400 })}`;
  return `${head}.${createHmac("sha256", jwtKey).update(head).digest("base64url")}`;
}

function ask(path: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${homePort}/api/${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
}

async function call(domain: string, service: string, data: object): Promise<void> {
  const answer = await ask(`services/${domain}/${service}`, data);
  if (!answer.ok) throw new Error(`${domain}.${service}: ${answer.status} ${await answer.text()}`);
}

/** States of the deck's entities by id. */
async function entities(): Promise<ReadonlyMap<string, string>> {
  const all: { entity_id: string; state: string }[] = await (await ask("states")).json();
  return new Map(
    all.filter(({ entity_id }) => entity_id.includes("tapdeck")).map((one) => [one.entity_id, one.state]),
  );
}

/** Events of this type from now on (Server-Sent Events). */
async function listen(type: string): Promise<AsyncIterator<unknown>> {
  const answer = await ask(`stream?restrict=${type}`);
  if (answer.body === null) throw new Error("no stream of events");
  return eventsOf(answer.body);
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of linesOf(body)) {
    if (!line.startsWith("data: {")) continue;
    yield JSON.parse(line.slice("data: ".length)).data;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
