/**
 * The topics that this device has retained at a broker, in the file `mqtt-retained.json` of the data folder. A device
 * with another name, or without MQTT, removes them by this file. The file has the settings with which they were sent, and
 * no secret.
 */
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { ifThere } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { mqttFileBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { isRecord, parseJson } from "../core/text.ts";
import type { MqttSettings } from "./broker.ts";

export interface Retained {
  readonly settings: MqttSettings;
  readonly topics: readonly string[];
}

/** Undefined if there is no file, or if it cannot be read. */
export async function readRetained(path: string): Promise<Retained | undefined> {
  const found = await ifThere(stat(path)).catch(() => undefined);
  if (found === undefined || found.size > mqttFileBytesMax) return undefined;
  const value = parseJson(await readFile(path, "utf8").catch(() => ""));
  if (!isRecord(value) || !isSettings(value.settings) || !isTexts(value.topics)) return undefined;
  return { settings: value.settings, topics: value.topics };
}

/** Replaces the file; without topics, removes it. A failure is logged, and old topics may then stay at the broker. */
export async function writeRetained(path: string, retained: Retained, log: Log): Promise<void> {
  try {
    if (retained.topics.length === 0) return await rm(path, { force: true });
    await writeFile(`${path}.new`, JSON.stringify(retained), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch (error) {
    log.warn("mqtt", "cannot note the retained topics", { why: fileFault(error) });
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

const keys = [
  "url",
  "user",
  "passwordFile",
  "certificate",
  "key",
  "ca",
  "base",
  "id",
  "role",
  "discovery",
] as const satisfies readonly (keyof MqttSettings)[];

function isSettings(value: unknown): value is MqttSettings {
  return isRecord(value) && keys.every((key) => typeof value[key] === "string");
}
