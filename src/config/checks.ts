/**
 * Checks of single values. Each takes a value of the file or of a caller and the name of the setting. It returns the typed
 * value, or throws a `SettingError` with one sentence on the valid values.
 */
import { isAbsolute } from "node:path";
import {
  configListMax,
  hostNameCharsMax,
  mappingPatternBytesMax,
  playTimeMinutesMax,
  readersMax,
  scriptBytesMax,
  settingsListMax,
  settingsTextCharsMax,
} from "../core/limits.ts";
import { isTimeZone, minuteOf } from "../core/local-time.ts";
import type { SystemFolder } from "../core/media.ts";
import { didYouMean, isRecord } from "../core/text.ts";

/** A setting with an invalid value: its name, and a sentence that includes the name. */
export class SettingError extends Error {
  override readonly name = "SettingError";
  readonly key: string;
  /** The index, from 0, among several sections of one name. */
  readonly nth: number;

  constructor(key: string, message: string, nth = 0) {
    super(message);
    this.key = key;
    this.nth = nth;
  }
}

/** The part of a check that a form needs to know to offer a fitting control. */
interface Form {
  readonly min?: number;
  readonly max?: number;
  readonly isWhole?: true;
  readonly choices?: readonly string[];
  /** True for a time of day, such as 20:30, or an empty text. */
  readonly isTime?: true;
}

export interface Check<T> {
  (value: unknown, key: string): T;
  readonly form?: Form;
  readonly placesIn?: undefined;
}

/** A check of values that name files or folders. Each setting with one states the reach of players (`setting.ts`). */
export interface PlaceCheck<T> {
  (value: unknown, key: string): T;
  readonly form?: undefined;
  /** The paths in a value; a relative one is in the data folder. */
  placesIn(value: T): readonly string[];
}

function naming<T>(check: Check<T>, placesIn: (value: T) => readonly string[]): PlaceCheck<T> {
  return Object.assign((value: unknown, key: string) => check(value, key), { placesIn });
}

export const boolean: Check<boolean> = (value, key) => {
  if (typeof value !== "boolean")
    throw new SettingError(key, `${key} must be true or false, not ${shown(value)}`);
  return value;
};

/** A text that can be an argument or a path: not empty, no NUL, well-formed, at most `charsMax` UTF-16 units. */
export const boundedText =
  (charsMax: number): Check<string> =>
  (value, key) => {
    if (typeof value !== "string" || value === "")
      throw new SettingError(key, `${key} must be a text, not ${shown(value)}`);
    if (value.length > charsMax)
      throw new SettingError(key, `${key} must be at most ${charsMax} characters long, not ${value.length}`);
    if (value.includes("\0") || !value.isWellFormed())
      throw new SettingError(
        key,
        `${key} must not hold the character NUL or half characters: ${shown(value)}`,
      );
    return value;
  };

export const text: Check<string> = boundedText(settingsTextCharsMax);

export function wholeNumber(min: number, max: number): Check<number> {
  const check: Check<number> = (value, key) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new SettingError(key, `${key} must be a whole number from ${min} to ${max}, not ${shown(value)}`);
  };
  return Object.assign(check, { form: { min, max, isWhole: true } } as const);
}

/** One of a few words. */
export function oneOf<const Words extends readonly string[]>(words: Words): Check<Words[number]> {
  const check: Check<Words[number]> = (value, key) => {
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    const known = words.map((one) => `"${one}"`).join(", ");
    throw new SettingError(key, `${key} must be one of ${known}, not ${shown(value)}`);
  };
  return Object.assign(check, { form: { choices: words } });
}

/** One of a few numbers. */
export function oneOfNumbers<const Numbers extends readonly number[]>(
  numbers: Numbers,
): Check<Numbers[number]> {
  const check: Check<Numbers[number]> = (value, key) => {
    const number = numbers.find((one) => one === value);
    if (number !== undefined) return number;
    throw new SettingError(key, `${key} must be one of ${numbers.join(", ")}, not ${shown(value)}`);
  };
  return Object.assign(check, { form: { choices: numbers.map(String) } });
}

/** Seconds, fractions allowed. */
export function seconds(max: number): Check<number> {
  const check: Check<number> = (value, key) => {
    // Adding 0 turns -0, which JSON and TOML can hold, into 0.
    if (typeof value === "number" && value >= 0 && value <= max) return value + 0;
    throw new SettingError(key, `${key} must be a number of seconds from 0 to ${max}, not ${shown(value)}`);
  };
  return Object.assign(check, { form: { min: 0, max } });
}

export const list =
  <T>(item: Check<T>, entriesMax: number): Check<readonly T[]> =>
  (value, key) => {
    if (!Array.isArray(value))
      throw new SettingError(key, `${key} must be a list in [ ], not ${shown(value)}`);
    if (value.length > entriesMax) throw new SettingError(key, `${key} has more than ${entriesMax} entries`);
    return value.map((one) => item(one, key));
  };

export const texts: Check<readonly string[]> = list(text, settingsListMax);

/** Systems or file extensions of one launcher. */
export const launcherTexts = <T>(item: Check<T>): Check<readonly T[]> => list(item, configListMax);

/**
 * Any text, also an empty one. The part that uses it judges the content and reports a fault in `health`, because a fault
 * here would keep the service from starting.
 */
export const freeText: Check<string> = (value, key) => {
  if (typeof value !== "string" || value.length > settingsTextCharsMax)
    throw new SettingError(
      key,
      `${key} must be a text of at most ${settingsTextCharsMax} characters, not ${shown(value)}`,
    );
  return value;
};

/** A time of day, such as `20:30`; an empty text means none. */
export const timeOfDay: Check<string> = Object.assign(
  (value: unknown, key: string) => {
    if (typeof value === "string" && (value === "" || minuteOf(value) !== undefined)) return value;
    throw new SettingError(key, `${key} must be a time such as "20:30", or "", not ${shown(value)}`);
  },
  { form: { isTime: true } } as const,
);

/** A name of the IANA time zone database; an empty text means the zone of the machine. */
export const timeZone: Check<string> = (value, key) => {
  const name = freeText(value, key);
  if (isTimeZone(name)) return name;
  throw new SettingError(key, `${key} must be a time zone such as "Europe/Berlin", not ${shown(value)}`);
};

/** A file in the data folder, or a full path; an empty text means none. Like `freeText`, it is judged where it is used. */
export const namedFile: PlaceCheck<string> = naming(freeText, (path) => (path === "" ? [] : [path]));

export const folder: Check<string> = (value, key) => {
  const path = text(value, key);
  if (!isAbsolute(path))
    throw new SettingError(key, `${key} must be a full path that begins with /, not ${shown(value)}`);
  return path;
};

export const folders: PlaceCheck<readonly string[]> = naming(list(folder, settingsListMax), (paths) => paths);

/** `driver:path?option=value`. The path may be a device, a file or a USB address. */
export const connections: PlaceCheck<readonly string[]> = naming(list(text, readersMax), (all) =>
  all.map((one) => one.slice(one.indexOf(":") + 1).replace(/\?.*$/s, "")).filter(isAbsolute),
);

/** A launch script; an empty text means none. */
export const hook: Check<string> = (value, key) => {
  if (value === "") return "";
  const script = boundedText(scriptBytesMax)(value, key);
  if (Buffer.byteLength(script) > scriptBytesMax)
    throw new SettingError(key, `${key} must be at most ${scriptBytesMax} bytes long`);
  return script;
};

const host: Check<string> = (value, key) => {
  const name = boundedText(hostNameCharsMax)(value, key).toLowerCase();
  if (/^(\*\.)?([\w-]+\.)*[\w-]+$|^(([\w-]+\.)*[\w-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/.test(name)) return name;
  const examples = '"radio.example.org", "*.example.org" or "nas.lan:8000"';
  throw new SettingError(key, `${key} must hold names of hosts such as ${examples}, not ${shown(value)}`);
};
export const hosts = list(host, settingsListMax);
export const patterns = list(boundedText(mappingPatternBytesMax), settingsListMax);
export const allowLaunch: Check<boolean | readonly string[]> = (value, key) =>
  typeof value === "boolean" ? value : patterns(value, key);

/** `{ SNES = ["/games/snes"] }`: folders of single systems. */
export const systemFolders: PlaceCheck<readonly SystemFolder[]> = naming(
  (value, key) => {
    const all = Object.entries(tableOf(value, key)).flatMap(([system, paths]) =>
      folders(paths, `${key}.${system}`).map((path) => ({ system, folder: path })),
    );
    if (all.length > settingsListMax)
      throw new SettingError(key, `${key} names more than ${settingsListMax} folders`);
    return all;
  },
  (all) => all.map((one) => one.folder),
);

/** An empty text means none. The path must not hold quotes, because a settings file of RetroArch puts it in quotes. */
export const savesFolder: PlaceCheck<string> = naming(
  (value, key) => {
    if (value === "") return "";
    const path = folder(value, key);
    if (/["\n\r]/.test(path)) throw new SettingError(key, `${key} must not hold quotes or line ends`);
    return path;
  },
  (path) => (path === "" ? [] : [path]),
);

/** An address on the web with TLS; an empty text means none. */
export const secureAddress: Check<string> = (value, key) => {
  if (value === "") return "";
  const address = text(value, key);
  if (/^https:\/\/[^\s/]/.test(address) && URL.canParse(address)) return address;
  throw new SettingError(key, `${key} must be an address that begins with https://, not ${shown(value)}`);
};

/** An address on the web, without an account, query or fragment; an empty text means none. */
export const webAddress: Check<string> = (value, key) => {
  if (value === "") return "";
  const address = text(value, key);
  if (/^https?:\/\/[^\s/@?#]+(\/[^\s@?#]*)?$/.test(address) && URL.canParse(address)) return address;
  const form = "an address that begins with https:// or http:// and has no account, no ? and no #";
  throw new SettingError(key, `${key} must be ${form}, not ${shown(address.replace(/\/\/.*@/, "//...@"))}`);
};

/** An Ed25519 key; an empty text means none. */
export const publicKey: Check<string> = (value, key) => {
  if (value === "" || (typeof value === "string" && /^[0-9a-f]{64}$/.test(value))) return value;
  throw new SettingError(
    key,
    `${key} must be the 64 digits that tapdeck cards key prints, not ${shown(value)}`,
  );
};

export const playMinutes = wholeNumber(0, playTimeMinutesMax);

export type Table = Readonly<Record<string, unknown>>;

export function tableOf(value: unknown, key: string): Table {
  if (isRecord(value)) return value;
  throw new SettingError(key, `${key} must be a section, [${key}], not ${shown(value)}`);
}

/** Refuses a table that holds anything but `keys`. `prefix` stands before a key in the sentence: `readers.`. */
export function known(table: Table, keys: readonly string[], prefix: string): void {
  const wrong = Object.keys(table).find((key) => !keys.includes(key));
  if (wrong === undefined) return;
  throw new SettingError(
    `${prefix}${wrong}`,
    `there is no setting ${prefix}${wrong}${didYouMean(wrong, keys)}`,
  );
}

/** A value as a sentence shows it: at most 60 characters. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "bigint") return String(value).slice(0, 60);
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
