/**
 * Every setting of the config file, except `[[launchers]]` (`launcher-settings.ts`) and `[[buttons]]` (`button-settings.ts`). One entry gives the key with its check
 * and default, its comment in the template, its field of `settings.update`, and its place in `Config`.
 */
import {
  insertModeExitDelaySecondsMax,
  playTimeMinutesMax,
  playTimeWarningsMax,
  televisionStandbyMinutesMax,
} from "../core/limits.ts";
import {
  holdActions,
  overscanMax,
  resumeModes,
  rotations,
  televisionLanguages,
  wantedSoundPlaces,
} from "../core/playback.ts";
import { buttonsHelp } from "./button-settings.ts";
import {
  allowLaunch,
  boolean,
  type Check,
  connections,
  folders,
  hook,
  hosts,
  list,
  oneOf,
  oneOfNumbers,
  patterns,
  playMinutes,
  savesFolder,
  seconds,
  systemFolders,
  texts,
  timeOfDay,
  wholeNumber,
} from "./checks.ts";
import {
  cardsSettings,
  fleetSettings,
  mqttSettings,
  placeSettings,
  updateSettings,
} from "./fleet-settings.ts";
import { launchersHelp } from "./launcher-settings.ts";
import { type Setting, setting } from "./setting.ts";

/** The settings by section and key, in the order of the template. */
export const settingsTable = {
  api: {
    port: setting({ check: wholeNumber(1, 65_535), default: 7497 }, [
      "The port of the control API and the web page. A change takes effect at the next start.",
    ]),
    listen: setting({ check: texts, default: [] }, [
      'The addresses to listen on, such as "127.0.0.1"; an empty list means all. A change takes effect at the next start.',
    ]),
    tls_port: setting({ check: wholeNumber(0, 65_535), default: 7498 }, [
      "The port for TLS; 0 switches it off. A change takes effect at the next start.",
    ]),
    allow_launch: setting({ check: allowLaunch, default: false }, [
      "Launches by other machines that open an address such as http://this-device:7497/l/SNES/Game.sfc: none (false), all (true),",
      'or only what one of these patterns matches as a whole, such as ["SNES/.*"]. The device itself may always launch so. Of',
      "several commands, joined by ||, each must match one by itself; a pattern that names \\|\\| matches texts of exactly as many",
      "commands as it names. A text with .., ^ or [[ never matches. A browser asks for one press first.",
    ]),
    allowed_hosts: setting({ check: texts, default: [] }, [
      "Further host names by which browsers and programs may address this device.",
    ]),
    allowed_origins: setting({ check: texts, default: [] }, [
      'Web sites whose pages may use the API of this device, such as "https://deck.example".',
    ]),
    allow_anonymous_local: setting({ check: boolean, default: false }, [
      "Whether programs of every user of this device may control the service if it runs as root.",
    ]),
    anonymous: setting({ check: oneOf(["none", "look", "play", "change"]), default: "play" }, [
      'What callers from the network may do over TLS without being paired: "none"; "look" at the state and the media; "play",',
      'which also starts and stops media; or "change", which also covers cards, mappings and settings. The variable',
      "TAPDECK_ANONYMOUS, which the SD image sets from anonymous= in tapdeck.conf, overrides this.",
    ]),
    metrics: setting({ check: boolean, default: false }, [
      "Whether GET /metrics shows counts and states to Prometheus, for callers who may look. It is off by default, because unpaired",
      "callers may look at most devices. A change takes effect at the next start.",
    ]),
    allow_v1_clients: setting({ check: boolean, default: false }, [
      "Whether phone apps that know only the older, weaker encryption (version 1) may pair by PIN and connect: see",
      "tapdeck pair --help. Their sessions have no forward secrecy: a thief of a phone's key can read sessions recorded before.",
    ]),
  },
  readers: {
    connect: setting({ check: connections, default: [], api: "reader", players: "kept" }, [
      'Readers that are always opened, as "driver:path": "pn532-uart:/dev/ttyUSB0", "pn532-i2c:/dev/i2c-1",',
      '"pn532-spi:/dev/spidev0.0", "mfrc522-spi:/dev/spidev0.0", "acr122u-usb:1-1.4", "toypad:/dev/hidraw0",',
      '"file:/run/deck/card", "serial-line:/dev/ttyACM0?baud=115200", or a reader that types by its USB id,',
      '"hid-keyboard:08ff:0009?layout=us".',
    ]),
    detect: setting({ check: boolean, default: true, api: "detectReaders" }, [
      "Whether readers are detected when they are plugged in. A serial adapter without an answering reader is left alone",
      "after four tries within eleven minutes, until it is plugged in again; readers of connect are tried for ever.",
    ]),
    insert_mode: setting({ check: boolean, default: false, api: "insertMode" }, [
      "Hold mode: whether removing the card from the reader stops its media, or pauses them (insert_mode_action).",
    ]),
    insert_mode_action: setting({ check: oneOf(holdActions), default: "stop", api: "insertModeAction" }, [
      'What hold mode does: "stop", or "pause" with mpv and RetroArch. Putting the card back within an hour resumes paused media;',
      "after that hour they stop.",
    ]),
    insert_mode_blocklist: setting({ check: texts, default: [], api: "insertModeBlocklist" }, [
      'Systems that are never stopped or paused that way, such as "SNES".',
    ]),
    insert_mode_exit_delay: setting(
      { check: seconds(insertModeExitDelaySecondsMax), default: 0, api: "insertModeExitDelay" },
      ["How many seconds a card may be off the reader before its media stop or pause."],
    ),
  },
  audio: {
    feedback: setting({ check: boolean, default: true, api: "audioFeedback" }, [
      "Whether short sounds signal a card that was read, a launch that failed, a card that the guard asks for once more, play",
      "time that ends, a tag that was written, and the start. It needs pw-play, paplay or aplay.",
    ]),
    volume_max: setting({ check: wholeNumber(0, 100), default: 100, api: "volumeMax" }, [
      "The highest volume that cards and programs may set for a player (mpv, RetroArch) or the device, in percent.",
    ]),
    place: setting({ check: oneOf(wantedSoundPlaces), default: "auto", api: "soundPlace" }, [
      'Where sound plays on the image: "television" (HDMI), "usb", "jack", which is also the card of a HAT, or "bluetooth". "auto" is',
      "headphones by Bluetooth while they are connected, else a card on USB, else the television, else the jack; that also applies",
      "while the wanted place is not connected.",
    ]),
    television_volume_max: setting({ check: wholeNumber(0, 100), default: 100, api: "televisionVolumeMax" }, [
      "The highest volume while sound plays on the television, in percent, on the image.",
    ]),
    usb_volume_max: setting({ check: wholeNumber(0, 100), default: 100, api: "usbVolumeMax" }, [
      "The highest volume while sound plays on a card on USB, in percent, on the image.",
    ]),
    jack_volume_max: setting({ check: wholeNumber(0, 100), default: 100, api: "jackVolumeMax" }, [
      "The highest volume while sound plays on the jack or the card of a HAT, in percent, on the image.",
    ]),
    bluetooth_volume_max: setting({ check: wholeNumber(0, 100), default: 60, api: "bluetoothVolumeMax" }, [
      "The highest volume while sound plays by Bluetooth, in percent, on the image. It is lower than the others, because it is",
      "mostly for headphones.",
    ]),
    volume_start: setting({ check: wholeNumber(0, 100), default: 100, api: "volumeStart" }, [
      "The volume with which players start after a start of the device, in percent, until somebody sets another one.",
    ]),
    quiet_from: setting({ check: timeOfDay, default: "", api: "quietFrom" }, [
      'The times of day between which quiet_volume_max is the highest volume, such as "20:00" and "07:00" in the zone of',
      "device.time_zone; an empty one means no quiet hours.",
    ]),
    quiet_until: setting({ check: timeOfDay, default: "", api: "quietUntil" }, ["The end of quiet hours."]),
    quiet_volume_max: setting({ check: wholeNumber(0, 100), default: 30, api: "quietVolumeMax" }, [
      "The highest volume in quiet hours, in percent. What plays is turned down when they begin, if its player has a volume (mpv, RetroArch).",
    ]),
  },
  log: {
    console: setting({ check: boolean, default: true, api: "consoleLogging" }, [
      "Whether anything is logged at all.",
    ]),
    debug: setting({ check: boolean, default: false, api: "debug" }, [
      "Whether the log holds every detail, including the texts of cards.",
    ]),
  },
  systems: {
    root_folders: setting(
      {
        check: folders,
        default: [],
        players: "open",
        api: "rootFolder",
        apiName: "systems.rootFolder",
      },
      [
        'The folders that hold media, each with one folder a system; an empty list means the folder "media" beside the database.',
      ],
    ),
    folders: setting({ check: systemFolders, default: [], literal: "{}", players: "open" }, [
      'Folders of single systems that lie elsewhere, such as { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.',
    ]),
    removable_folders: setting({ check: folders, default: [], players: "open" }, [
      'Folders in which the system mounts USB sticks, such as "/run/media/alex": each stick that appears there is a root folder for as',
      "long as it is plugged in. The variable TAPDECK_REMOVABLE, which the SD image sets to /media/usb, overrides this.",
    ]),
    prefer_regions: setting({ check: texts, default: ["World", "USA", "Europe", "Japan"] }, [
      "If a card names a title that several files have: the regions to prefer, the best first, in the form of the names",
      "of the files.",
    ]),
    prefer_languages: setting({ check: texts, default: ["En"] }, [
      "The same for languages; regions come first.",
    ]),
  },
  script: {
    allow_execute: setting({ check: patterns, default: [] }, [
      "Commands that a card may run with **execute: patterns that match the whole command line. An empty list means none.",
    ]),
    allow_http: setting({ check: patterns, default: [] }, [
      "Addresses that a card may call with **http.get and **http.post: patterns that match all of it. An empty list means none.",
    ]),
    allow_stream: setting({ check: hosts, default: [] }, [
      'Hosts whose web radio and podcasts play from a card with an address: "radio.example.org", all below a name as "*.example.org", or with a port.',
      "A host of this device or of your network must be named without a star. An empty list means none.",
    ]),
    allow_input: setting({ check: boolean, default: false }, [
      "Whether cards and callers may press keys of a virtual keyboard and gamepad. Keys reach the window with the focus, even a terminal.",
    ]),
  },
  launch: {
    guard: setting({ check: boolean, default: false, api: "launchGuardEnabled" }, [
      "Whether a card must be put on twice, within ten seconds, before it ends the current media and starts other media.",
    ]),
  },
  playback: {
    resume: setting({ check: oneOf(resumeModes), default: "long", api: "playbackResume" }, [
      'Which sounds and films of mpv go on where they ended: "long" for those of more than 10 minutes, "always" or "never". A card',
      "overrides this with ?resume=no or ?resume=yes. The last 2 %, or 30 seconds of a long file, count as its end. A folder or list",
      'goes on at its item, except with "never" or in a random order.',
    ]),
  },
  retroarch: {
    resume: setting({ check: boolean, default: true }, [
      "Whether a game continues where it ended: its end writes a save state, and its next start loads that. A card overrides this",
      "with ?resume=no or ?resume=yes. States then lie in folders by system and core below RetroArch's own folder for them.",
    ]),
    saves: setting({ check: savesFolder, default: "", players: "open" }, [
      "The folder for saved games. With it a loss of power leaves each file as it was before or after a change, ten",
      "seconds old at most; RetroArch alone may leave a damaged one. Without it RetroArch's own settings decide.",
    ]),
  },
  television: {
    language: setting({ check: oneOf(televisionLanguages), default: "en", api: "televisionLanguage" }, [
      'The language of the screen: "en", "de", "fr", "es", "pt" or "ja". "ja" needs a font with Japanese characters, which the SD image has.',
    ]),
    wake: setting({ check: boolean, default: true, api: "televisionWake" }, [
      "Whether a start of media switches the television on and to this device (HDMI CEC), and whether its standby pauses them.",
    ]),
    standby_minutes: setting(
      { check: wholeNumber(0, televisionStandbyMinutesMax), default: 0, api: "televisionStandbyMinutes" },
      [
        "Minutes after the last media until the television is sent to standby, if it still shows this device; 0 means never.",
      ],
    ),
    overscan: setting({ check: wholeNumber(0, overscanMax), default: 0, api: "televisionOverscan" }, [
      "Percent of each side of the screen that stay free, up to 10, for a television that cuts its edges off. RetroArch does not",
      "heed it. On the SD image, a line overscan= in tapdeck.conf overrides this.",
    ]),
    rotation: setting({ check: oneOfNumbers(rotations), default: 0, api: "televisionRotation" }, [
      "Degrees by which the picture is turned clockwise, for a screen that stands on its side or hangs upside down: 0, 90, 180",
      "or 270. A player is turned at its next start. On the SD image, a line rotation= in tapdeck.conf overrides this.",
    ]),
  },
  light: {
    brightness: setting({ check: wholeNumber(0, 100), default: 100 }, [
      "The highest brightness of the lights of the case, in percent; 0 keeps them dark. They are the LEDs of the kernel whose names",
      "begin with tapdeck (docs/USE.md).",
    ]),
  },
  playtime: {
    limits_enabled: setting({ check: boolean, default: true, api: "limitsEnabled" }, [
      "Whether the limits below count; false suspends them.",
    ]),
    daily_minutes: setting({ check: playMinutes, default: 0, api: "dailyMinutes" }, [
      "How many minutes may be played on one day; 0 means as many as you like. A paused player does not count if it reports",
      "its pauses: mpv always, RetroArch if a card or the API paused it, other players never.",
    ]),
    session_minutes: setting({ check: playMinutes, default: 0, api: "sessionMinutes" }, [
      "How many minutes may be played in one session; 0 means as many as you like.",
    ]),
    session_reset_minutes: setting({ check: playMinutes, default: 20, api: "sessionResetMinutes" }, [
      "After a pause of this many minutes a new session begins.",
    ]),
    warning_minutes: setting(
      {
        check: list(wholeNumber(1, playTimeMinutesMax), playTimeWarningsMax),
        default: [5, 1],
        api: "warningMinutes",
      },
      ["How many minutes before the end clients are warned, each once, and a sound is played."],
    ),
  },
  hooks: {
    on_scan: setting({ check: hook, default: "" }, [
      "Scripts that run around your cards; an empty one does nothing. If one fails, the log says so and nothing else",
      "happens, except for before_start. Media that a hook starts calls no hooks. This one runs whenever a card is put on a reader.",
    ]),
    on_remove: setting({ check: hook, default: "" }, ["Runs whenever a card is taken off."]),
    before_start: setting({ check: hook, default: "" }, [
      "Runs before media start, which wait for it; if it fails, nothing starts.",
    ]),
    on_start: setting({ check: hook, default: "" }, ["Runs after media have started."]),
    on_stop: setting({ check: hook, default: "" }, ["Runs after media have ended."]),
  },
  mqtt: mqttSettings,
  cards: cardsSettings,
  update: updateSettings,
  fleet: fleetSettings,
  device: placeSettings,
} as const;

export type SettingsTable = typeof settingsTable;

/** The documentation of a setting, without its value. */
export interface SettingFacts {
  /** The place of the setting in the config file: `readers.insert_mode`. */
  readonly key: string;
  /** The field of `SettingsPatch`; absent if only the file can change it. */
  readonly api?: string;
  readonly kind: "switch" | "number" | "choice" | "text" | "time" | "list";
  readonly form: NonNullable<Check<unknown>["form"]>;
  /** The default as it is written in TOML. */
  readonly default: string;
  readonly docs: string;
}

export function describeSettings(): readonly SettingFacts[] {
  return Object.entries(settingsTable).flatMap(([section, settings]) =>
    Object.entries<Setting<unknown, string>>(settings).map(([name, one]) => ({
      key: `${section}.${name}`,
      ...(one.api === undefined ? {} : { api: one.api }),
      kind: kindOf(one),
      form: one.check.form ?? {},
      default: one.literal ?? literalOf(one.default),
      docs: one.docs.join(" "),
    })),
  );
}

function kindOf({ check, default: value }: Setting<unknown, string>): SettingFacts["kind"] {
  if (check.form?.choices !== undefined) return "choice";
  if (check.form?.isTime) return "time";
  if (Array.isArray(value)) return "list";
  return typeof value === "boolean" ? "switch" : typeof value === "number" ? "number" : "text";
}

/** The name of a field: `insertMode` for `insert_mode`. */
export type FieldName<Key extends string> = Key extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<FieldName<Rest>>}`
  : Key;

export function fieldNameOf(key: string): string {
  return key.replace(/_(\w)/g, (_underscore, letter: string) => letter.toUpperCase());
}

/**
 * The config file that explains itself, with every key and its comment. It states exactly the defaults. A line that begins
 * with `#` and no space is a default that can be uncommented; prose and examples have a space.
 */
export function template(): string {
  const sections = Object.entries(settingsTable).map(
    ([name, settings]) => `[${name}]\n${Object.entries(settings).map(settingText).join("\n\n")}`,
  );
  return [head, ...sections, buttonsHelp, launchersHelp].join("\n\n");
}

function settingText([key, setting]: readonly [string, Setting<unknown, string>]): string {
  const comment = setting.docs.map((line) => `# ${line}\n`).join("");
  return `${comment}#${key} = ${setting.literal ?? literalOf(setting.default)}`;
}

function literalOf(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(literalOf).join(", ")}]` : JSON.stringify(value);
}

const head = `# The settings of Tapdeck. Each key has its default here, after a #.
# Take the # away and change the value; what you save is in use a moment later, unless its sentence says otherwise.`;
