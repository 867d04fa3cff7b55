/** Shapes of params and results that several methods and notifications share. */
import * as v from "valibot";
import { ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import {
  mappingLabelCharsMax,
  mappingOverrideBytesMax,
  mappingPatternBytesMax,
  playTimeMinutesMax,
  scriptBytesMax,
  tokenDataCharsMax,
  tokenTypeCharsMax,
  uidCharsMax,
} from "../core/limits.ts";
import { playbackStates } from "../core/media.ts";
import { playerKinds } from "../core/playback.ts";
import { roles } from "../core/rights.ts";
import { type TokenParams, tagProblems } from "../core/token.ts";

/** Recursively read-only. */
export type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export const nothing = v.null();
const time = v.pipe(v.string(), v.isoTimestamp());
const wholeNumber = v.pipe(v.number(), v.integer());
export const count = v.pipe(wholeNumber, v.minValue(0));

/** The JSON Schema of rules that the library cannot convert, by the rule. */
export const ruleSchemas = new WeakMap<object, Readonly<Record<string, unknown>>>();

type Texts = { readonly [Field in "text" | "uid" | "data"]?: string | undefined };

/** At least one of text, uid and data is not empty. */
export function hasContent<Input extends Texts>() {
  const fields = ["text", "uid", "data"] as const;
  const rule = v.check<Input, string>(
    (input) => fields.some((field) => (input[field] ?? "") !== ""),
    `${fields.join(", ")}: at least one of them must not be empty`,
  );
  const anyOf = fields.map((field) => ({ properties: { [field]: { minLength: 1 } }, required: [field] }));
  ruleSchemas.set(rule, { anyOf });
  return rule;
}

const hexBytes = /^(?:[\s:]*[0-9a-fA-F][\s:]*[0-9a-fA-F])*[\s:]*$/;

export const tokenFields = {
  type: v.optional(v.pipe(v.string(), v.maxLength(tokenTypeCharsMax))),
  uid: v.optional(v.pipe(v.string(), v.maxLength(uidCharsMax))),
  text: v.optional(v.string()),
  data: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(tokenDataCharsMax),
      v.regex(hexBytes, "must be bytes in hexadecimal, such as 04a1b2"),
    ),
  ),
};

export const tokenParams = v.pipe(v.object(tokenFields), hasContent());

/** Absent fields become empty strings. Throws `busy` for a text above the limit of a script. */
export function toToken({
  type = "",
  uid = "",
  text = "",
  data = "",
}: v.InferOutput<typeof tokenParams>): TokenParams {
  if (text.length > scriptBytesMax || new TextEncoder().encode(text).length > scriptBytesMax) {
    throw new ServiceError("busy", `text: a script has at most ${scriptBytesMax} bytes`, {
      data: { limit: "scriptBytesMax" },
    });
  }
  return { type, uid, text, data: toHex(fromHex(data) ?? new Uint8Array()) };
}

export const token = v.object({
  type: v.string(),
  uid: v.string(),
  text: v.string(),
  data: v.string(),
  scanTime: time,
  readerId: v.string(),
  problem: v.exactOptional(v.picklist(tagProblems)),
  removable: v.exactOptional(v.literal(false)),
});

export const reader = v.object({
  id: v.string(),
  readerId: v.string(),
  driver: v.string(),
  path: v.string(),
  info: v.string(),
  connected: v.boolean(),
  capabilities: v.array(v.picklist(["read", "write", "removable"])),
});

export const system = v.object({ id: v.string(), name: v.string(), category: v.string() });

export const mediaItem = v.object({
  system,
  name: v.string(),
  path: v.string(),
  tags: v.array(v.string()),
  zapScript: v.string(),
});

const startedMedia = {
  systemId: v.string(),
  systemName: v.string(),
  mediaPath: v.string(),
  mediaName: v.string(),
  launcherId: v.string(),
  started: time,
};
export const mediaStarted = v.object(startedMedia);
export const mediaStopped = v.object({
  ...startedMedia,
  elapsed: count,
  exitCode: v.nullable(wholeNumber),
  reason: v.exactOptional(v.picklist(["ended", "stopped", "failed"])),
  why: v.exactOptional(v.string()),
});
export const activeMedia = v.object({
  ...startedMedia,
  positionMs: v.exactOptional(count),
  durationMs: v.exactOptional(count),
  playbackState: v.exactOptional(v.picklist(playbackStates)),
  volume: v.exactOptional(count),
});

export const indexStatus = v.object({
  exists: v.boolean(),
  indexing: v.boolean(),
  optimizing: v.boolean(),
  totalSteps: v.exactOptional(count),
  currentStep: v.exactOptional(count),
  currentStepDisplay: v.exactOptional(v.string()),
  totalFiles: v.exactOptional(count),
  totalMedia: v.exactOptional(count),
});

export const launchEntry = v.object({
  type: v.string(),
  uid: v.string(),
  text: v.string(),
  data: v.string(),
  success: v.boolean(),
  time,
  readerId: v.exactOptional(v.string()),
  script: v.exactOptional(v.string()),
  error: v.exactOptional(v.string()),
});

export const running = v.object({
  type: v.string(),
  uid: v.string(),
  text: v.string(),
  data: v.string(),
  time,
  script: v.string(),
});

export const launchFinished = v.object({
  time,
  uid: v.string(),
  text: v.string(),
  success: v.boolean(),
  error: v.exactOptional(v.string()),
  note: v.exactOptional(v.string()),
});

export const launchGuarded = v.object({
  time,
  uid: v.string(),
  text: v.string(),
  playing: v.string(),
  confirmMs: count,
});

export const playTimeWarning = v.object({ limit: v.picklist(["day", "session"]), minutesLeft: count });

const mappingType = v.picklist(["uid", "text", "data"]);
const mappingMatch = v.picklist(["exact", "partial", "regex"]);
/** The params of `mappings.new`; `mappings.update` takes any of them. */
export const mappingFields = {
  enabled: v.boolean(),
  label: v.optional(v.pipe(v.string(), v.maxLength(mappingLabelCharsMax))),
  type: mappingType,
  match: mappingMatch,
  pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(mappingPatternBytesMax)),
  override: v.pipe(v.string(), v.minLength(1), v.maxLength(mappingOverrideBytesMax)),
};
export const mapping = v.object({
  id: wholeNumber,
  added: time,
  enabled: v.boolean(),
  label: v.string(),
  type: mappingType,
  match: mappingMatch,
  pattern: v.string(),
  override: v.string(),
  readOnly: v.exactOptional(v.boolean()),
});

/** A mapping's id: a number, or its digits as a string. */
export const mappingId = v.pipe(
  v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.regex(/^-?\d{1,15}$/))]),
  v.transform(Number),
);

export const role = v.picklist(roles);

export const client = v.object({
  id: v.string(),
  name: v.string(),
  secret: v.string(),
  address: v.string(),
  role,
  added: time,
  lastUsed: v.exactOptional(time),
  expires: v.exactOptional(time),
});

export const pairingOpening = v.object({ code: v.string(), expires: time, triesLeft: count });
export const pairingFacts = v.object({
  hosts: v.array(v.string()),
  port: count,
  fingerprint: v.exactOptional(v.string()),
  open: v.exactOptional(v.omit(pairingOpening, ["code"])),
});
export const pairingEnd = v.object({
  reason: v.picklist(["paired", "tries", "expired", "cancelled"]),
  client: v.exactOptional(v.object({ id: v.string(), name: v.string() })),
});

export const launcherEntry = v.object({
  id: v.string(),
  name: v.string(),
  kind: v.picklist(playerKinds),
  systems: v.array(v.string()),
  extensions: v.array(v.string()),
  available: v.boolean(),
  reason: v.exactOptional(v.string()),
});

/** The playlist that is loaded. `place` is the item that plays or is next, from 1. */
export const loadedPlaylist = v.object({
  path: v.string(),
  place: count,
  count,
  state: v.picklist(["playing", "paused"]),
  isShuffled: v.boolean(),
  repeat: v.picklist(["no", "all", "one"]),
});

const healthCheck = v.object({
  name: v.picklist(["readers", "database", "disk", "settings", "players", "device", "watchdog"]),
  ok: v.boolean(),
  reason: v.exactOptional(v.string()),
});
export const healthReport = v.object({
  status: v.picklist(["ok", "degraded"]),
  readers: v.object({ connected: wholeNumber, configured: wholeNumber }),
  uptime: wholeNumber,
  checks: v.array(healthCheck),
  tls: v.exactOptional(v.object({ fingerprint: v.string() })),
});

const minutes = v.pipe(wholeNumber, v.minValue(0), v.maxValue(playTimeMinutesMax));
const playAccount = { usedMs: count, remainingMs: v.exactOptional(count) };
/** Minutes of 0 are no limit; `volumeMax` is in percent. */
export const playTimeLimits = {
  dailyMinutes: minutes,
  sessionMinutes: minutes,
  sessionResetMinutes: minutes,
  volumeMax: v.pipe(wholeNumber, v.minValue(0), v.maxValue(100)),
};
export const playTimeState = v.object({
  enabled: v.boolean(),
  limits: v.object({ ...playTimeLimits, warningMinutes: v.array(minutes) }),
  day: v.object({ date: v.string(), ...playAccount }),
  session: v.object(playAccount),
  clockBelieved: v.boolean(),
});
