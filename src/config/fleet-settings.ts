/** Settings that join the device to other systems, all off by default, and those of the place where it stands. */

import { roles } from "../core/rights.ts";
import {
  boolean,
  type Check,
  freeText,
  namedFile,
  publicKey,
  SettingError,
  secureAddress,
  shown,
  timeZone,
  webAddress,
} from "./checks.ts";
import { setting } from "./setting.ts";

const role: Check<string> = Object.assign((value: unknown, key: string) => freeText(value, key), {
  form: { choices: roles },
});

export const mqttSettings = {
  url: setting({ check: freeText, default: "", api: "mqttUrl" }, [
    'The address of an MQTT broker, such as "mqtts://broker.lan:8883" or "mqtt://192.168.1.5"; empty means none. The broker gets',
    "what happens here, also the texts and UIDs of cards. A fault in this section is shown by tapdeck status.",
  ]),
  user: setting({ check: freeText, default: "", api: "mqttUser" }, [
    "The name of this device's account at the broker.",
  ]),
  password_file: setting({ check: namedFile, default: "", api: "mqttPasswordFile", players: "hidden" }, [
    'A file with the password of that account, such as "mqtt-password" in the data folder, or a full path.',
  ]),
  certificate: setting({ check: namedFile, default: "", players: "hidden" }, [
    'A client certificate (PEM) for the broker, such as "mqtt-certificate.pem" in the data folder, or a full path.',
  ]),
  key: setting({ check: namedFile, default: "", players: "hidden" }, ["Its key, such as mqtt-key.pem."]),
  ca: setting({ check: namedFile, default: "", api: "mqttCa", players: "hidden" }, [
    "The certificates (PEM) that the broker's certificate is checked with; empty means those of the system.",
  ]),
  base: setting({ check: freeText, default: "tapdeck" }, [
    'The first part of all topics: "tapdeck" gives tapdeck/<id>/tap and so on.',
  ]),
  id: setting({ check: freeText, default: "", api: "mqttId" }, [
    "The name of this device in topics: letters, digits, - and _. Empty means the device's host name. Two devices need two names.",
  ]),
  role: setting({ check: role, default: "player", api: "mqttRole" }, [
    'What commands that come from the broker may do: "player" may look, start and stop; "member" also works with cards,',
    'mappings and settings, and its scripts are trusted; "owner" also administers the device: everybody who may write to the',
    "command topics can then restart and update it, make backups and pair phones.",
  ]),
  discovery: setting({ check: freeText, default: "homeassistant", api: "mqttDiscovery" }, [
    "The prefix under which the device describes itself to Home Assistant; empty means not at all.",
  ]),
} as const;

export const cardsSettings = {
  url: setting({ check: secureAddress, default: "" }, [
    'The address of a bundle of shared mappings, launchers and limits, such as "https://cards.example/all.cards" (docs/FLEET.md).',
    "It is read each hour. Settings and mappings of this device come first. A change of this section takes effect at the next start.",
  ]),
  key: setting({ check: publicKey, default: "" }, [
    "The public key that the bundle must be signed with. Its owner may start any program on this device: a launcher is a command.",
  ]),
  ca_file: setting({ check: namedFile, default: "", players: "hidden" }, [
    'An authority (PEM) that may also sign the server\'s certificate, beside those of the system; such as "cards-ca.pem" in the data',
    "folder, or a full path.",
  ]),
} as const;

export const updateSettings = {
  url: setting({ check: secureAddress, default: "" }, [
    'The address of an index of versions, such as "https://updates.example/index.json" (docs/FLEET.md); empty means none. It is read',
    "each day. A newer version is installed when nothing plays and nobody tapped for ten minutes. For Tapdeck's own image only;",
    "fleet.hawkbit_url takes precedence. A change takes effect at the next start.",
  ]),
} as const;

/** The name of a device at hawkBit, which is a part of an address. */
const targetName: Check<string> = (value, key) => {
  if (typeof value === "string" && /^[\w-]{0,64}$/.test(value)) return value;
  throw new SettingError(key, `${key} must be at most 64 letters, digits, - and _, not ${shown(value)}`);
};

export const fleetSettings = {
  hawkbit_url: setting({ check: webAddress, default: "" }, [
    'The address of a hawkBit server that updates this device, such as "https://updates.example"; a path names another tenant than',
    'DEFAULT: "https://updates.example/MUSEUM". Empty means none. A change of this section takes effect at the next start.',
  ]),
  id: setting({ check: targetName, default: "" }, [
    "The name of this device there, its controllerId: letters, digits, - and _. Empty means the device's host name.",
  ]),
  token_file: setting({ check: namedFile, default: "", players: "hidden" }, [
    'A file with the security token of this target, such as "hawkbit-token" in the data folder, or a full path. Without it the',
    "client certificate must be enough for the server.",
  ]),
  certificate_file: setting({ check: namedFile, default: "", players: "hidden" }, [
    'A client certificate (PEM) for that server and the one of update.url, such as "fleet-certificate.pem", or a full path.',
  ]),
  key_file: setting({ check: namedFile, default: "", players: "hidden" }, [
    "Its key, such as fleet-key.pem.",
  ]),
  ca_file: setting({ check: namedFile, default: "", players: "hidden" }, [
    "The authority (PEM) that must sign the certificate of hawkBit, and may sign that of update.url; empty means those of the system.",
  ]),
  interrupt: setting({ check: boolean, default: false }, [
    "Whether a forced deployment of hawkBit may end what plays. Otherwise it waits until nothing plays.",
  ]),
} as const;

/** Where the device stands: the section `device`. */
export const placeSettings = {
  time_zone: setting({ check: timeZone, default: "", api: "timeZone" }, [
    'The time zone of days of play time and of quiet hours, such as "Europe/Berlin"; empty means that of the machine. On the SD image',
    "time_zone= in tapdeck.conf takes the place of an empty one.",
  ]),
  site: setting({ check: freeText, default: "" }, [
    'The place of this device, such as "library-north"; metrics show it.',
  ]),
} as const;
