/**
 * Home Assistant's discovery by MQTT: one retained description for each entity, at
 * `<prefix>/<component>/<id>/<object>/config` (home-assistant.io/integrations/mqtt, "MQTT Discovery").
 */
import type { Role } from "../core/rights.ts";
import type { Broker } from "./broker.ts";

export interface DeviceFacts {
  /** The host name. */
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  /** The address of the device's page. */
  readonly pageUrl: string;
}

/** The payloads by topic; empty if discovery is off. */
export function discoveryOf(
  { discovery, topic, id, role }: Broker,
  { version, platform, pageUrl }: DeviceFacts,
): ReadonlyMap<string, string> {
  if (discovery === "") return new Map();
  const device = {
    identifiers: [`tapdeck-${id}`],
    // Home Assistant makes the ids of entities from it: text.tapdeck_hall_launch.
    name: id === "tapdeck" ? "Tapdeck" : `Tapdeck ${id}`,
    manufacturer: "Tapdeck",
    model: platform,
    sw_version: version,
    configuration_url: pageUrl,
  };
  const shared = {
    availability_topic: `${topic}/availability`,
    payload_available: "online",
    payload_not_available: "offline",
    origin: { name: "Tapdeck", sw_version: version },
    device,
  };
  const describe = ([component, object, facts]: (typeof entities)[number]) => {
    // The fields that end in `topic` are relative here.
    const fields = Object.entries(facts(topic, role));
    const payload =
      component === "tag"
        ? { ...Object.fromEntries(fields), device }
        : { ...Object.fromEntries(fields), unique_id: `tapdeck_${id}_${object}`, ...shared };
    return [`${discovery}/${component}/${id}/${object}/config`, JSON.stringify(payload)] as const;
  };
  return new Map(entities.map(describe));
}

type Facts = Readonly<Record<string, string | number>>;
type Entity = readonly [component: string, object: string, facts: (topic: string, role: Role) => Facts];

const diagnostic = { entity_category: "diagnostic" } as const;

const entities: readonly Entity[] = [
  ["tag", "reader", (topic) => ({ topic: `${topic}/tap`, value_template: "{{ value_json.tag }}" })],
  [
    "sensor",
    "media",
    (topic) => ({
      name: "Now playing",
      icon: "mdi:play-circle",
      state_topic: `${topic}/media`,
      // A state of Home Assistant has at most 255 characters.
      value_template: "{{ (value_json.mediaName | default('nothing', true))[:255] }}",
      json_attributes_topic: `${topic}/media`,
    }),
  ],
  [
    "binary_sensor",
    "connected",
    (topic) => ({
      name: "Reader",
      device_class: "connectivity",
      ...diagnostic,
      state_topic: `${topic}/readers`,
      value_template: "{{ 'ON' if value_json.connected > 0 else 'OFF' }}",
      json_attributes_topic: `${topic}/readers`,
    }),
  ],
  [
    "binary_sensor",
    "problem",
    (topic) => ({
      name: "Problem",
      device_class: "problem",
      ...diagnostic,
      state_topic: `${topic}/state`,
      value_template: "{{ 'ON' if value_json.status == 'degraded' else 'OFF' }}",
      json_attributes_topic: `${topic}/state`,
    }),
  ],
  [
    "sensor",
    "version",
    (topic) => ({
      name: "Version",
      icon: "mdi:tag-outline",
      ...diagnostic,
      state_topic: `${topic}/state`,
      value_template: "{{ value_json.version }}",
    }),
  ],
  ["button", "stop", (topic) => button("Stop", "mdi:stop", `${topic}/cmd/stop`)],
  ["button", "confirm", (topic) => button("Confirm", "mdi:check", `${topic}/cmd/confirm`)],
  [
    "number",
    "volume",
    (topic) => ({
      name: "Volume",
      icon: "mdi:volume-high",
      command_topic: `${topic}/cmd/run`,
      command_template: '{"text":"**volume:{{ value | int }}"}',
      state_topic: `${topic}/media`,
      // "None" makes the state unknown, because not every player reports its volume.
      value_template: "{{ value_json.volume | default('None') }}",
      min: 0,
      max: 100,
      step: 1,
      unit_of_measurement: "%",
    }),
  ],
  [
    "text",
    "launch",
    (topic) => ({
      name: "Launch",
      icon: "mdi:card-text",
      command_topic: `${topic}/cmd/launch`,
      command_template: "{{ {'text': value} | tojson }}",
      min: 1,
      max: 255,
    }),
  ],
  [
    "update",
    "system",
    (topic, role) => ({
      name: "System",
      device_class: "firmware",
      ...diagnostic,
      state_topic: `${topic}/state/update`,
      // The button of the update entity. A command from a caller with a lower role would be refused.
      ...(role === "owner" && { command_topic: `${topic}/cmd/device.update`, payload_install: "{}" }),
    }),
  ],
];

function button(name: string, icon: string, topic: string): Facts {
  return { name, icon, command_topic: topic, payload_press: "{}" };
}
