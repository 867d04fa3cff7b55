/** Shapes of params and results that several methods and notifications share. */
import * as v from "valibot";
import { limitReached } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import {
  insertModeExitDelaySecondsMax,
  mappingLabelCharsMax,
  mappingOverrideBytesMax,
  mappingPatternBytesMax,
  playTimeMinutesMax,
  playTimeWarningsMax,
  readersMax,
  scriptBytesMax,
  searchSystemsMax,
  settingsListMax,
  settingsTextCharsMax,
  tagConditionsMax,
  televisionStandbyMinutesMax,
  tokenDataCharsMax,
  tokenTypeCharsMax,
} from "../core/limits.ts";
import { pictureTypes } from "../core/media.ts";
import {
  holdActions,
  overscanMax,
  playerKinds,
  resumeModes,
  rotations,
  televisionLanguages,
  wantedSoundPlaces,
} from "../core/playback.ts";
import { allRights, roles } from "../core/rights.ts";
import {
  audioTags,
  count,
  integer,
  mappingMatch,
  mediaItem,
  mediaTag,
  type TokenParams,
  time,
  uploadFields,
} from "../core/shapes.ts";
import { mappingTypeNames, mappingTypeOf } from "../core/token.ts";

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

const timeForm =
  /^\d{4}-(?:0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ](?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Whether the text is a time of RFC 3339, 5.6. `Date.parse` takes the 31st of February as a day of March. */
function isTime(text: string): boolean {
  const day = timeForm.exec(text)?.[1];
  return new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(day);
}

const timeRule = v.check(isTime, "must be a time in RFC 3339, such as 2026-01-31T12:00:00Z");
ruleSchemas.set(timeRule, { format: "date-time" });
export const isoTime = v.pipe(v.string(), timeRule);

/** A whole number from 1. */
export const upTo = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(max));

/** States in the schema which value an absent number stands for. The code itself must know that the number was absent. */
export function absentCountsAs(value: number) {
  const rule = v.metadata<number, { readonly default: number }>({ default: value });
  ruleSchemas.set(rule, { default: value });
  return rule;
}

const hexBytes = /^(?:[\s:]*[0-9a-fA-F][\s:]*[0-9a-fA-F])*[\s:]*$/;

export const tokenFields = {
  type: v.optional(v.pipe(v.string(), v.maxLength(tokenTypeCharsMax))),
  uid: v.optional(v.string()),
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

/** Absent fields become empty strings. Throws `busy` for a text or UID above the limit of a script. */
export function toToken(params: v.InferOutput<typeof tokenParams>): TokenParams {
  const { type = "", uid = "", text = "", data = "" } = params;
  for (const [field, value] of Object.entries({ uid, text }))
    if (value.length > scriptBytesMax || Buffer.byteLength(value) > scriptBytesMax)
      throw limitReached("scriptBytesMax", `${field}: it has at most ${scriptBytesMax} bytes`);
  return { type, uid, text, data: toHex(fromHex(data) ?? new Uint8Array()) };
}

/** The params of `mappings.new`; `mappings.update` takes any of them. */
export const mappingFields = {
  enabled: v.boolean(),
  label: v.optional(v.pipe(v.string(), v.maxLength(mappingLabelCharsMax))),
  type: v.pipe(v.picklist(mappingTypeNames), v.transform(mappingTypeOf)),
  match: mappingMatch,
  pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(mappingPatternBytesMax)),
  override: v.pipe(v.string(), v.minLength(1), v.maxLength(mappingOverrideBytesMax)),
};
/** A sentence about a line of an imported text. */
export const lineNote = v.object({ line: count, message: v.string(), refusal: v.optional(v.string()) });

/** A mapping's id: a number, or its digits as a string. */
export const mappingId = v.pipe(
  v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.regex(/^-?\d{1,15}$/))]),
  v.transform(Number),
);

export const role = v.picklist(roles);

export const rights = v.array(v.picklist(allRights));

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

/** Exact ids of systems. */
export const systemIds = v.pipe(v.array(v.pipe(v.string(), v.maxLength(128))), v.maxLength(searchSystemsMax));

export const pagination = v.object({
  hasNextPage: v.boolean(),
  pageSize: count,
  nextCursor: v.exactOptional(v.string()),
});
/** Conditions on the tags of files. */
const tagCondition = v.pipe(
  v.string(),
  v.maxLength(128),
  v.regex(/^\s*[+~-]?[A-Za-z]+:.+$/, 'a condition is written type:tag, such as "region:usa"'),
);
export const tagConditions = v.nullable(v.pipe(v.array(tagCondition), v.maxLength(tagConditionsMax)));
export const mediaTagList = v.array(mediaTag);
export const lookedUp = v.object({ ...mediaItem.entries, confidence: v.number() });

/** A system, a folder or a file. Fields of folders are absent for files, and the other way round. */
const browseEntry = v.object({
  type: v.picklist(["root", "directory", "media"]),
  name: v.string(),
  path: v.string(),
  systemId: v.string(),
  fileCount: v.exactOptional(count),
  systemIds: v.exactOptional(v.array(v.string())),
  /** The category of a system, as in `systems`. */
  category: v.exactOptional(v.string()),
  systemName: v.exactOptional(v.string()),
  zapScript: v.exactOptional(v.string()),
  tags: v.exactOptional(mediaTagList),
  audio: v.exactOptional(audioTags),
});
export const browsePage = v.object({
  path: v.string(),
  entries: v.array(browseEntry),
  totalFiles: count,
  totalDirs: count,
  durationMs: v.exactOptional(count),
  pagination,
});

/** A folder; `path` is that of `media.browse`. */
export const foundFolders = v.object({
  folders: v.array(
    v.object({
      name: v.string(),
      path: v.string(),
      systemId: v.string(),
      systemName: v.string(),
      fileCount: count,
    }),
  ),
  total: count,
});

/** The favourites, which are files and folders. */
export const favourites = v.array(
  v.object({
    type: v.picklist(["directory", "media"]),
    name: v.string(),
    path: v.string(),
    systemId: v.string(),
    systemName: v.string(),
    zapScript: v.string(),
  }),
);

export const pictureType = v.picklist(pictureTypes);
export const picture = v.object({
  delivery: v.literal("inline"),
  contentType: v.string(),
  extension: v.string(),
  /** The picture in base64. */
  data: v.string(),
  /** `property:image-` and the type. */
  typeTag: v.string(),
});

/** A picture of the device's output. */
export const screenshot = v.object({
  /** The path of the file that stays on the device. */
  path: v.string(),
  contentType: v.string(),
  /** The number of bytes in `data`. */
  size: count,
  /** The picture in base64. */
  data: v.string(),
});

const played = {
  systemId: v.string(),
  systemName: v.string(),
  mediaName: v.string(),
  /** An absolute path; empty for a system that was started without a file. */
  mediaPath: v.string(),
  audio: v.exactOptional(audioTags),
};

export const play = v.object({
  ...played,
  launcherId: v.string(),
  startedAt: time,
  endedAt: v.exactOptional(time),
  /** In seconds. */
  playTime: count,
});
export const playsPage = v.object({ entries: v.array(play), pagination });

export const topPlays = v.array(
  v.object({
    ...played,
    /** In seconds. */
    totalPlayTime: count,
    sessionCount: count,
    lastPlayedAt: time,
  }),
);

/** An unfinished upload. `path` is relative to the folder of the system. */
export const upload = v.object(uploadFields);

const setting = v.pipe(v.string(), v.minLength(1), v.maxLength(settingsTextCharsMax));
const settingList = v.pipe(v.array(setting), v.maxLength(settingsListMax));
const readerStrings = v.pipe(v.array(setting), v.maxLength(readersMax));
/** In seconds. */
const exitDelay = v.pipe(v.number(), v.minValue(0), v.maxValue(insertModeExitDelaySecondsMax));
const timeOfDay = v.pipe(
  v.string(),
  v.regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d)?$/, "must be a time such as 20:30, or empty"),
);
const percent = v.pipe(integer, v.minValue(0), v.maxValue(100));
const settingsFields = {
  reader: readerStrings,
  audioFeedback: v.boolean(),
  detectReaders: v.boolean(),
  insertMode: v.boolean(),
  insertModeAction: v.picklist(holdActions),
  insertModeBlocklist: settingList,
  insertModeExitDelay: exitDelay,
  consoleLogging: v.boolean(),
  debug: v.boolean(),
  launchGuardEnabled: v.boolean(),
  playbackResume: v.picklist(resumeModes),
  soundPlace: v.picklist(wantedSoundPlaces),
  televisionVolumeMax: percent,
  usbVolumeMax: percent,
  jackVolumeMax: percent,
  bluetoothVolumeMax: percent,
  volumeStart: percent,
  quietFrom: timeOfDay,
  quietUntil: timeOfDay,
  quietVolumeMax: percent,
  timeZone: v.pipe(v.string(), v.maxLength(settingsTextCharsMax)),
  televisionLanguage: v.picklist(televisionLanguages),
  televisionWake: v.boolean(),
  televisionStandbyMinutes: v.pipe(integer, v.minValue(0), v.maxValue(televisionStandbyMinutesMax)),
  televisionOverscan: v.pipe(integer, v.minValue(0), v.maxValue(overscanMax)),
  televisionRotation: v.picklist(rotations),
};
/** The other names of some settings, which later clients use, and `readers`. */
export const laterSettings = {
  readers: readerStrings,
  audioScanFeedback: v.boolean(),
  readersAutoDetect: v.boolean(),
  /** `insertMode` under another name: `hold` is true, and `tap` is false. */
  readersScanMode: v.picklist(["tap", "hold"]),
  readersScanIgnoreSystems: settingList,
  readersScanExitDelay: exitDelay,
  debugLogging: v.boolean(),
};
export const allSettings = { ...settingsFields, ...laterSettings };
export const rootFolders = v.object({ rootFolder: settingList, rootFolders: settingList });
/** The settings that the API reads and changes. Settings with two names are in it once. */
export const apiSettings = v.object({ ...settingsFields, rootFolder: settingList });

export const writeRequest = v.object({
  text: v.pipe(v.string(), v.minLength(1)),
  readerId: v.optional(v.pipe(v.string(), v.maxLength(128))),
  force: v.optional(v.boolean()),
  newTag: v.optional(v.boolean()),
  record: v.optional(v.picklist(["text", "uri"])),
});

const minutes = v.pipe(integer, v.minValue(0), v.maxValue(playTimeMinutesMax));
const playAccount = { usedMs: count, remainingMs: v.exactOptional(count) };
/** Limits of play time. A limit of 0 minutes does not exist; `volumeMax` is in percent. */
export const playTimeLimits = {
  limitsEnabled: v.boolean(),
  dailyMinutes: minutes,
  sessionMinutes: minutes,
  sessionResetMinutes: minutes,
  volumeMax: percent,
  warningMinutes: v.pipe(v.array(v.pipe(minutes, v.minValue(1))), v.maxLength(playTimeWarningsMax)),
};
export const playTimeState = v.object({
  enabled: v.boolean(),
  limits: v.object(playTimeLimits),
  day: v.object({ date: v.string(), ...playAccount }),
  session: v.object(playAccount),
  clockBelieved: v.boolean(),
});

/** The bundle of shared cards. `serial` and the names of its files are absent if none is in use. */
export const sharedCards = v.object({
  url: v.string(),
  serial: v.exactOptional(count),
  files: v.exactOptional(v.array(v.string())),
  checked: v.exactOptional(time),
  fault: v.exactOptional(v.string()),
});
