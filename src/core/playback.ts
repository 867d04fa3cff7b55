/** Playback: kinds of players, control actions and volumes as cards and the API name them, and records of launches. */
export type { LaunchEntry } from "./shapes.ts";

/** How the service controls a player; a `process` is only started and stopped. */
export const playerKinds = ["process", "mpv", "retroarch"] as const;
export type PlayerKind = (typeof playerKinds)[number];

/** The signals that may ask a player to end, without their SIG. */
export const stopSignals = ["TERM", "INT", "QUIT", "HUP"] as const;
export type StopSignal = (typeof stopSignals)[number];

/** How a player is stopped: by the signal, and by KILL if one of its processes is left after the grace time. */
export interface StopHow {
  readonly signal: StopSignal;
  readonly graceMs: number;
}

/** How players of a kind are stopped by default. */
export const usualStops: Readonly<Record<PlayerKind, StopHow>> = {
  // A hand takes about a second to change cards, so this grace time rarely delays the next start.
  process: { signal: "TERM", graceMs: 1000 },
  mpv: { signal: "TERM", graceMs: 1000 },
  /*
   * RetroArch overwrites the save state and the battery RAM in place, so a KILL would truncate them. With nestopia it
   * ends 10 ms after QUIT on a PC, and up to a second after TERM on the emulated board. RetroArch compresses the states
   * of later consoles, which have megabytes.
   */
  retroarch: { signal: "TERM", graceMs: 5000 },
};

/** Whether a game starts from the save state of its last end, and whether its next end writes one. */
export interface Resuming {
  readonly loadsState: boolean;
  readonly savesState: boolean;
}

/** The position in a file. */
export interface Progress {
  readonly positionMs: number;
  readonly durationMs: number;
  /** True if the file was played to its end. */
  readonly isOver: boolean;
}

/** Which sounds and films resume where they ended: `long` ones are longer than `resumedMsMin`. */
export const resumeModes = ["long", "always", "never"] as const;
export const resumedMsMin = 10 * 60_000;

/** Languages of the television, by their codes (ISO 639-1). */
export const televisionLanguages = ["en", "de", "fr", "es", "pt", "ja"] as const;
export type TelevisionLanguage = (typeof televisionLanguages)[number];

/** Where sound plays on the image: on HDMI, on a card on USB, on the jack or another card of the board, or by Bluetooth. */
export const soundPlaces = ["television", "usb", "jack", "bluetooth"] as const;
export type SoundPlace = (typeof soundPlaces)[number];
/** The owner's wish: `auto` is the best place that is connected. */
export const wantedSoundPlaces = ["auto", ...soundPlaces] as const;

/**
 * How much later than a player assumes sound is heard at each place, in milliseconds. By Bluetooth, 60 ms are the buffer of alsaloop
 * (overlay/usr/lib/tapdeck/sound-out), and 200 ms are an estimate for the buffers of BlueALSA and of headphones with SBC.
 */
export const soundLatenessMs = {
  television: 0,
  usb: 0,
  jack: 0,
  bluetooth: 260,
} as const satisfies Record<SoundPlace, number>;

/** Degrees by which the picture of the television is turned clockwise. */
export const rotations = [0, 90, 180, 270] as const;
export type Rotation = (typeof rotations)[number];

/** Percent of each side; with more, too little of the screen would be left. */
export const overscanMax = 10;

/** The use of the screen by pictures and players. */
export interface ScreenView {
  readonly rotation: Rotation;
  /** The percentage of each side that stays free, because the television cuts its edges off. */
  readonly overscan: number;
}

/** The effects of hold mode on the media of a removed card. */
export const holdActions = ["stop", "pause"] as const;

/** A position: relative to the current one, from the start, or in percent of the duration. */
export type SeekTarget =
  | { readonly kind: "by"; readonly ms: number }
  | { readonly kind: "to"; readonly ms: number }
  | { readonly kind: "part"; readonly percent: number };

const plainActions = {
  pause: ["pause"],
  resume: ["resume", "play", "unpause", "continue"],
  toggle: ["toggle", "toggle_pause", "pause_toggle", "play_pause"],
  stop: ["stop"],
  mute: ["mute", "toggle_mute"],
  next: ["next"],
  previous: ["previous", "prev"],
  "save-state": ["save_state", "save"],
  "load-state": ["load_state", "load"],
  reset: ["reset"],
  menu: ["menu", "toggle_menu"],
  screenshot: ["screenshot"],
} as const;

export type PlainAction = keyof typeof plainActions;

/** The built-in RetroArch of src/launch/launchers.ts: the image has its hot keys. */
export const gameLauncherId = "retroarch";

export type ControlAction =
  | { readonly kind: PlainAction }
  | { readonly kind: "seek"; readonly to: SeekTarget }
  /** Seeks if the player can; otherwise it plays faster. */
  | { readonly kind: "fast-forward"; readonly to: SeekTarget }
  | { readonly kind: "rewind"; readonly to: SeekTarget }
  /** The player's own volume; the script command `volume` sets the device's. */
  | { readonly kind: "volume"; readonly change: VolumeChange };

export interface VolumeChange {
  /** `to` from 0 to 100, `by` from -100 to 100. */
  readonly kind: "to" | "by";
  readonly percent: number;
}

type ReadAction =
  | { readonly kind: "action"; readonly action: ControlAction }
  | { readonly kind: "error"; readonly message: string };

const stepMs = 10_000;
const names: ReadonlyMap<string, PlainAction> = new Map(
  Object.entries(plainActions).flatMap(([kind, words]) =>
    words.map((word): [string, PlainAction] => [word, kind as PlainAction]),
  ),
);
const forwardNames = ["fast_forward", "forward", "ff", "skip"];
const rewindNames = ["rewind", "back"];

/** Every accepted name, for messages and docs. */
export const actionNames: readonly string[] = [
  ...names.keys(),
  "seek",
  ...forwardNames,
  ...rewindNames,
  "volume",
];

/** Reads an action with its place or volume, if it has one. Case does not matter, and `-` counts as `_`. */
export function readAction(name: string, place: string | undefined): ReadAction {
  const word = name.trim().toLowerCase().replaceAll("-", "_");
  const plain = names.get(word);
  if (plain !== undefined) {
    return place === undefined
      ? { kind: "action", action: { kind: plain } }
      : error(`${word} takes no place`);
  }
  if (word === "volume") return readVolumeAction(place);
  if (word === "seek" && place === undefined)
    return error("seek needs a place: +10, -10, 1:30, 1m30s or 50%");
  const to = place === undefined ? undefined : readPlace(place);
  if (place !== undefined && to === undefined)
    return error(`a place is written +10, -10, 1:30, 1m30s or 50%, not "${place.slice(0, 64)}"`);
  if (word === "seek" && to !== undefined) return { kind: "action", action: { kind: "seek", to } };
  if (forwardNames.includes(word))
    return { kind: "action", action: { kind: "fast-forward", to: onwards(to, 1) } };
  if (rewindNames.includes(word)) return { kind: "action", action: { kind: "rewind", to: onwards(to, -1) } };
  return error(`no player knows the action "${name.slice(0, 64)}": it is one of ${actionNames.join(", ")}`);
}

function readVolumeAction(text: string | undefined): ReadAction {
  const change = text === undefined ? undefined : readVolume(text);
  if (change !== undefined) return { kind: "action", action: { kind: "volume", change } };
  const given = text === undefined ? "" : `, not "${text.slice(0, 64)}"`;
  return error(`volume needs a number from 0 to 100, +5 or -5${given}`);
}

function onwards(to: SeekTarget | undefined, sign: 1 | -1): SeekTarget {
  const ms = to === undefined || to.kind === "part" ? stepMs : Math.abs(to.ms);
  return { kind: "by", ms: sign * ms };
}

/** Reads `90`, `90s`, `1:30`, `1:02:03`, `1m30s` or `50%`; with `+` or `-` it is relative to the current position. */
export function readPlace(text: string): SeekTarget | undefined {
  const part = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text.trim());
  if (part !== null) {
    const percent = Number(part[1]);
    return percent <= 100 ? { kind: "part", percent } : undefined;
  }
  const [, sign = "", rest = ""] = /^([+-]?)(.*)$/s.exec(text.trim()) ?? [];
  const ms = timeMs(rest);
  if (ms === undefined) return undefined;
  return sign === "" ? { kind: "to", ms } : { kind: "by", ms: sign === "-" ? -ms : ms };
}

// The number of digits is limited: a day in seconds has five.
const clockTime = /^(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:\.\d{1,3})?)$/;
const wordedTime =
  /^(?=\d)(?:(\d{1,3})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,6}(?:\.\d{1,3})?)(?:s|$))?(?:(\d{1,6})ms)?$/i;

function timeMs(text: string): number | undefined {
  const found = clockTime.exec(text) ?? wordedTime.exec(text);
  if (found === null) return undefined;
  const [hours, minutes, seconds, rest] = found.slice(1).map((one) => Number(one ?? 0));
  return Math.round((((hours ?? 0) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1000) + (rest ?? 0);
}

/** Reads `50`, `50%`, `+5` or `-5`; undefined for anything else, or above 100. */
export function readVolume(text: string): VolumeChange | undefined {
  const found = /^([+-]?)(\d{1,3})%?$/.exec(text.trim());
  if (found === null) return undefined;
  const percent = Number(found[2]);
  if (percent > 100) return undefined;
  if (found[1] === "") return { kind: "to", percent };
  return { kind: "by", percent: found[1] === "-" ? 0 - percent : percent };
}

/** A volume in whole percent, from 0 to the owner's ceiling (`audio.volume_max`). */
export function clampVolume(percent: number, ceiling: number): number {
  return Math.round(Math.min(Math.max(percent, 0), Math.min(Math.max(ceiling, 0), 100)));
}

function error(message: string): ReadAction {
  return { kind: "error", message };
}

/** The play time that is kept over restarts. Days are local dates, `2031-05-08`. */
export interface PlayRecord {
  /** The current day of the count. */
  readonly day: string;
  /** The played milliseconds of each day. */
  readonly days: ReadonlyMap<string, number>;
  /** Milliseconds of the last session. */
  readonly sessionMs: number;
  /** The latest trusted time, in milliseconds since 1970; 0 if there was none. */
  readonly seenMs: number;
}
