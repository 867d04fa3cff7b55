/** Shapes of results on the device itself: its health, its log, its settings with explanations, and its API. */
import * as v from "valibot";
import { deviceActions, soundReport, updateServer, updateState } from "../core/device-shapes.ts";
import { faultCodes, faultOrigins } from "../core/faults.ts";
import { keptLevels } from "../core/log-ring.ts";
import { count, integer, time } from "../core/shapes.ts";

/** Further facts are texts, such as `why`. */
export const fault = v.objectWithRest(
  {
    code: v.picklist(faultCodes),
    of: v.picklist(faultOrigins),
    subject: v.exactOptional(v.string()),
  },
  v.string(),
);

const healthCheck = v.object({
  name: v.picklist([
    "readers",
    "database",
    "disk",
    "settings",
    "media",
    "players",
    "mqtt",
    "certificates",
    "device",
    "watchdog",
  ]),
  ok: v.boolean(),
  /** The faults in a sentence. */
  reason: v.exactOptional(v.string()),
  faults: v.exactOptional(v.array(fault)),
});
export const healthReport = v.object({
  status: v.picklist(["ok", "degraded"]),
  readers: v.object({ connected: integer, configured: integer }),
  uptime: integer,
  checks: v.array(healthCheck),
  tls: v.exactOptional(v.object({ fingerprint: v.string() })),
  mqtt: v.exactOptional(v.object({ broker: v.string(), id: v.string(), connected: v.boolean() })),
  updates: v.exactOptional(updateServer),
  certificates: v.exactOptional(v.array(v.object({ of: v.string(), ends: time }))),
});

export const logLine = v.object({
  id: count,
  time,
  level: v.picklist(keptLevels),
  area: v.string(),
  text: v.string(),
});

/** Sizes in bytes, times in seconds, the temperature in °C. */
export const deviceReport = v.object({
  name: v.string(),
  version: v.string(),
  platform: v.string(),
  uptime: count,
  systemUptime: count,
  memory: v.object({ totalBytes: count, availableBytes: count, serviceBytes: count }),
  temperature: v.exactOptional(integer),
  disks: v.array(v.object({ folders: v.array(v.string()), freeBytes: count, totalBytes: count })),
  networks: v.array(
    v.object({
      name: v.string(),
      isWireless: v.boolean(),
      isUp: v.boolean(),
      addresses: v.array(v.string()),
      signalDbm: v.exactOptional(integer),
    }),
  ),
  sound: v.exactOptional(soundReport),
  board: v.exactOptional(v.string()),
  slot: v.exactOptional(v.string()),
  actions: v.array(v.picklist(deviceActions)),
  updating: v.exactOptional(updateState),
  updates: v.exactOptional(updateServer),
});

/** A setting, for people. Without `name` only the config file changes it, and `value` is not shown. */
export const settingFacts = v.object({
  key: v.string(),
  name: v.exactOptional(v.string()),
  kind: v.picklist(["switch", "number", "choice", "text", "time", "list"]),
  min: v.exactOptional(v.number()),
  max: v.exactOptional(v.number()),
  isWhole: v.exactOptional(v.boolean()),
  choices: v.exactOptional(v.array(v.string())),
  /** The default in the form of the config file. */
  default: v.string(),
  docs: v.string(),
  value: v.exactOptional(
    v.union([v.boolean(), v.number(), v.string(), v.array(v.union([v.string(), v.number()]))]),
  ),
  right: v.exactOptional(v.picklist(["change", "own"])),
});

/** The members of any OpenRPC document (OpenRPC 1.3). */
export const openRpcDocument = v.object({
  openrpc: v.string(),
  info: v.looseObject({ title: v.string(), version: v.string() }),
  methods: v.array(v.looseObject({ name: v.string() })),
});
