/** A real Home Assistant of the version that runs with Debian 12's Python, with the custom integration of this project in it. */
import { createHmac } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { linesOf } from "../helpers/lines.ts";

export const root = join(import.meta.dir, "../..");
export const configFolder = join(root, "build/home-assistant/config");
export const python = join(root, "build/home-assistant/venv/bin/python");
const homePort = 8123;
export const brokerPort = 1883;
/** The card that the automation of the first deck waits for. */
export const uid = "04a1b2c3d4e5f6";
const jwtKey = "0123456789abcdef0123456789abcdef";
const token = accessToken("token-1");

/** Starts it with a new configuration. */
export async function startHome() {
  await makeHome();
  return Bun.spawn(
    [join(root, "build/home-assistant/venv/bin/hass"), "--config", configFolder, "--skip-pip"],
    {
      stdio: ["ignore", "ignore", Bun.file(join(configFolder, "output.log"))],
    },
  );
}

/** A configuration without onboarding, with one long-lived token, and automations; that of alerts has the words of docs/FLEET.md. */
async function makeHome(): Promise<void> {
  const fleet = await readFile(join(root, "docs/FLEET.md"), "utf8");
  const [, message = ""] = /^ +message: "(.*)"$/m.exec(fleet) ?? [];
  await rm(configFolder, { recursive: true, force: true });
  await mkdir(join(configFolder, ".storage"), { recursive: true });
  await writeFile(
    join(configFolder, "configuration.yaml"),
    `homeassistant:
  name: Test
  latitude: 0
  longitude: 0
http:
  server_host: 127.0.0.1
  server_port: ${homePort}
api:
tag:
config:
diagnostics:
webhook:
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
  - alias: alerts
    trigger:
      - platform: webhook
        webhook_id: tapdeck-alerts
        allowed_methods: [POST]
        local_only: true
    action:
      - event: alerts_told
        event_data: { message: "${message}" }
  - alias: play
    trigger:
      - platform: event
        event_type: play_sonic
    action:
      - service: media_player.play_media
        target:
          entity_id: "{{ states.media_player | map(attribute='entity_id') | first }}"
        data: { media_content_type: game, media_content_id: "SNES/Sonic.sfc" }
`,
  );
  await cp(
    join(root, "packaging/home-assistant/custom_components"),
    join(configFolder, "custom_components"),
    {
      recursive: true,
    },
  );
  const store = (key: string, data: object) =>
    writeFile(
      join(configFolder, ".storage", key),
      JSON.stringify({ version: 1, minor_version: 1, key, data }),
    );
  await store("core.config_entries", {
    entries: [
      {
        entry_id: "mqtt-1",
        version: 1,
        minor_version: 1,
        domain: "mqtt",
        title: "broker",
        options: {},
        data: { broker: "127.0.0.1", port: brokerPort, discovery: true, discovery_prefix: "homeassistant" },
        pref_disable_new_entities: false,
        pref_disable_polling: false,
        source: "user",
        unique_id: null,
        disabled_by: null,
      },
    ],
  });
  await store("auth", {
    users: [
      {
        id: "user-1",
        group_ids: ["system-admin"],
        is_owner: true,
        is_active: true,
        name: "test",
        system_generated: false,
        local_only: false,
      },
    ],
    groups: [{ id: "system-admin", name: "Administrators" }],
    credentials: [],
    refresh_tokens: [
      {
        id: "token-1",
        user_id: "user-1",
        client_id: null,
        client_name: "test",
        client_icon: null,
        token_type: "long_lived_access_token",
        created_at: "2024-01-01T00:00:00+00:00",
        access_token_expiration: 315_360_000,
        token: "unused",
        jwt_key: jwtKey,
        last_used_at: null,
        last_used_ip: null,
        credential_id: null,
        version: "2024.3.3",
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

export function ask(path: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${homePort}/api/${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
}

export async function call(domain: string, service: string, data: object): Promise<void> {
  const answer = await ask(`services/${domain}/${service}`, data);
  if (!answer.ok) throw new Error(`${domain}.${service}: ${answer.status} ${await answer.text()}`);
}

/** States of the deck's entities by id. */
export async function entities(): Promise<ReadonlyMap<string, string>> {
  const all: { entity_id: string; state: string }[] = await (await ask("states")).json();
  return new Map(
    all.filter(({ entity_id }) => entity_id.includes("tapdeck")).map((one) => [one.entity_id, one.state]),
  );
}

/** Events of this type from now on (Server-Sent Events). */
export async function listen(type: string): Promise<AsyncIterator<unknown>> {
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

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A connection to its WebSocket API, for the commands that have no path of their own. */
export async function openSocket() {
  const socket = new WebSocket(`ws://127.0.0.1:${homePort}/api/websocket`);
  const waiting = new Map<number, (message: SocketAnswer) => void>();
  const ready = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const message: SocketAnswer = JSON.parse(String(data));
    if (message.type === "auth_required") socket.send(JSON.stringify({ type: "auth", access_token: token }));
    if (message.type === "auth_ok") ready.resolve();
    waiting.get(message.id ?? 0)?.(message);
  });
  await ready.promise;
  let id = 0;
  return {
    async ask(type: string, more: object = {}): Promise<SocketAnswer["result"]> {
      const asked = ++id;
      const answered = Promise.withResolvers<SocketAnswer>();
      waiting.set(asked, answered.resolve);
      socket.send(JSON.stringify({ id: asked, type, ...more }));
      const { success, result, error } = await answered.promise;
      if (success !== true) throw new Error(`${type}: ${JSON.stringify(error)}`);
      return result;
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

interface SocketAnswer {
  readonly id?: number;
  readonly type: string;
  readonly success?: boolean;
  readonly result?: unknown;
  readonly error?: unknown;
}
