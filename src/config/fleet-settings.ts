/** Settings that join the device to other systems. All are off by default. */

import { settingsTextCharsMax } from "../core/limits.ts";
import { roles } from "../core/rights.ts";
import { type Check, publicKey, SettingError, savesFolder, secureAddress, shown } from "./checks.ts";
import { setting } from "./setting.ts";

/**
 * Any text, also an empty one. The part that uses it judges the content and reports a fault in `health`, because a fault
 * here would keep the service from starting.
 */
const freeText: Check<string> = (value, key) => {
  if (typeof value !== "string" || value.length > settingsTextCharsMax)
    throw new SettingError(
      key,
      `${key} must be a text of at most ${settingsTextCharsMax} characters, not ${shown(value)}`,
    );
  return value;
};

const role: Check<string> = Object.assign((value: unknown, key: string) => freeText(value, key), {
  form: { choices: roles },
});

export const mqttSettings = {
  url: setting({ check: freeText, default: "" }, [
    'The address of an MQTT broker, such as "mqtts://broker.lan:8883" or "mqtt://192.168.1.5"; empty means none. The broker gets',
    "what happens here, also the texts and UIDs of cards. A fault in this section is shown by tapdeck status.",
  ]),
  user: setting({ check: freeText, default: "" }, ["The name of this device's account at the broker."]),
  password_file: setting({ check: freeText, default: "" }, [
    'A file with the password of that account, such as "mqtt-password" in the data folder, or a full path.',
  ]),
  certificate: setting({ check: freeText, default: "" }, [
    'A client certificate (PEM) for the broker, such as "mqtt-certificate.pem" in the data folder, or a full path.',
  ]),
  key: setting({ check: freeText, default: "" }, ["Its key, such as mqtt-key.pem."]),
  ca: setting({ check: freeText, default: "" }, [
    "The certificates (PEM) that the broker's certificate is checked with; empty means those of the system.",
  ]),
  base: setting({ check: freeText, default: "tapdeck" }, [
    'The first part of all topics: "tapdeck" gives tapdeck/<id>/tap and so on.',
  ]),
  id: setting({ check: freeText, default: "" }, [
    "The name of this device in topics: letters, digits, - and _. Empty means the device's host name. Two devices need two names.",
  ]),
  role: setting({ check: role, default: "player" }, [
    'What commands that come from the broker may do: "player" may look, start and stop; "member" also works with cards,',
    "mappings and settings, and its scripts are trusted.",
  ]),
  discovery: setting({ check: freeText, default: "homeassistant" }, [
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
  ca_file: setting({ check: savesFolder, default: "" }, [
    "The certificates (PEM) that the server's certificate is checked with; empty means those of the system.",
  ]),
} as const;

export const deviceSettings = {
  site: setting({ check: freeText, default: "" }, [
    'The place of this device, such as "library-north"; metrics show it.',
  ]),
} as const;
