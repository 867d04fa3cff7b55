/**
 * The page in English. It is the table of the texts: every other language is a value of `PageTexts`, so a missing text does not
 * compile.
 */
import type { FaultTexts, LaunchReason } from "../../../core/faults.ts";
export const englishTexts = ({ number, counted, moment }: Numbers) => ({
  language: "Language",

  // The connection.
  connecting: "Connecting …",
  connected: "Connected",
  lost: "Connection lost, trying again …",
  noAnswer: "The device does not answer",
  notPaired: "Not paired",
  revoked: "This device no longer knows this phone: somebody has revoked it.",
  pairFirst: "Pair this phone with the device to use it from here.",
  roleNow: (isPaired: boolean, canPlay: boolean) =>
    `${isPaired ? "Paired as a player" : "Without pairing"}, this phone can ${canPlay ? "start and stop media" : "only look"}. Paired as a member, it can also write cards, and see taps and readers.`,

  // The screens.
  navigation: "Screens",
  screens: { now: "Now", library: "Library", cards: "Cards", device: "Device" },
  allPlaces: "All of the device",
  places: {
    sound: { name: "Sound", hint: "Sounds of cards, highest volume" },
    readers: { name: "Readers", hint: "What is connected, and how cards act" },
    media: { name: "Media", hint: "Folders, and where media continue" },
    network: { name: "Network", hint: "Addresses, home automation" },
    time: { name: "Play time", hint: "Limits, and what is left today" },
    phones: { name: "Phones", hint: "Pair, rename and revoke phones" },
    backup: { name: "Backup", hint: "Save everything, or bring it back" },
    update: { name: "Update", hint: "Update, restart, switch off" },
    log: { name: "Log", hint: "What the device did, line by line" },
    about: { name: "About", hint: "Version, memory, disks" },
  },

  // The current media.
  now: "Now playing",
  nothingPlays: (canPlay: boolean) =>
    canPlay ? "Nothing plays. Tap a card, or find something below." : "Nothing plays.",
  playingSince: (system: string, time: string) => `${system || "Media"} · since ${time}`,
  state: { loading: "Starting …", buffering: "Loading …", playing: "", paused: "Paused" },
  stop: "Stop",
  pause: "Pause",
  resume: "Continue",
  next: "Next",
  previous: "Previous",
  position: "Position",
  positionOf: (position: string, duration: string) => `${position} of ${duration}`,
  volume: "Volume",
  chooseOne: "Choose one",
  playlistFacts: (name: string, count: number) => `${name} · ${number(count)} in all`,
  playingList: "The list",
  placeOf: (place: number, count: number) => `${number(place)} of ${number(count)}`,
  guarded: (name: string) => `${name} plays.`,
  switchNow: "Switch all the same",
  notStarted: "It did not start.",

  // The library.
  library: "Library",
  indexing: "Indexing",
  index: "Look for media",
  indexAlmost: (files: number) => `Almost done: ${number(files)} files`,
  indexAt: (step: string, files: number) => `Looking through ${step || "folders"}: ${number(files)} files`,
  indexed: (files: number) => `${number(files)} files, ready to search.`,
  notIndexed: "No media were looked for yet.",

  // The search.
  find: "Find a game, song or film",
  play: "Play something",
  search: "Search",
  starting: (name: string) => `Starting ${name}`,
  asked: "Asked the device to start it.",
  card: "Card",
  writeCard: (name: string) => `Write ${name} to a card`,
  nothingFits: "Nothing fits.",
  shownOf: (shown: number, total: number) =>
    shown < total ? `${number(shown)} of ${number(total)} results` : counted(total, "result", "results"),
  foundInstead: (words: string, shown: string) => `Nothing fits. Instead, for “${words}”: ${shown}`,
  showMore: "Show more",
  write: "Write a card",
  writeTo: (name: string) => `Lay a card on the reader, to hold “${name}”.`,
  written: (name: string) => `Written: ${name}`,
  cancel: "Cancel",
  done: "Done",

  // A new card.
  newCard: "New card",
  newCardIs: (uid: string, isLocked: boolean) =>
    `Card ${uid} has no meaning yet. Choose what it starts.${isLocked ? " It is locked, so this device remembers the choice." : ""}`,
  chooseFor: (name: string) => `Put ${name} on the card`,
  tryIt: "Try",
  tryOf: (name: string) => `Try ${name}`,
  ownText: "Own text",
  ownTextExample: "SNES/Game.sfc",
  typeFirst: "Type a text first.",
  saveText: "Save to the card",
  notNow: "Not now",
  mapped: (name: string) =>
    `The card cannot be written, so this device remembers it: ${name}. Tap the card again to play.`,

  // The folders.
  browse: "Browse",
  back: "Back",
  nextPage: "Next page",
  previousPage: "Previous page",
  startingWith: "Names that start with",
  allLetters: "All names",
  nothingHere: "Nothing is here.",
  browsed: (place: string, count: number) =>
    place === ""
      ? counted(count, "system", "systems")
      : `${place} · ${counted(count, "file or folder", "files and folders")}`,
  files: (count: number) => counted(count, "file", "files"),

  // Taps and readers.
  taps: "Last taps",
  noTaps: "No card was tapped yet.",
  again: "Launch it again",
  cardOf: (uid: string) => `Card ${uid}`,
  failedAt: (time: string, reason: string) => `${time} · ${reason}`,
  readers: "Readers",
  noReaders: "No reader is plugged in.",
  notConnected: (path: string) => `${path} · not connected`,
  noToken: "No card lies on it.",
  tokenHere: (name: string) => `Here now: ${name}`,
  emptyCard: (uid: string) => `Empty card ${uid}`,

  /** The reasons of failed taps that the page shortens. */
  reasons: {
    blank: "This card is empty.",
    unformatted: "This card is empty, and not formatted yet. Writing formats it.",
    "half-written": "The text on this card is cut short. Write it again.",
    "other-message": "This card holds data of another kind.",
    locked: "This card is locked.",
    unreadable: "This card could not be read. Put it on again.",
    "no-text": "This card has no meaning yet.",
    "pairing-card": "This card pairs a phone. Tap the phone on it.",
    "taken-over": "Something else was started.",
  } satisfies Partial<Record<LaunchReason, string>>,

  // Phones.
  phones: "Phones",
  noPhones: "No phone is paired yet.",
  whose: "Whose phone is it?",
  whatMay: "What may it do?",
  roles: { member: "Member", player: "Player", owner: "Owner" },
  roleOf: (name: string) => `Role of ${name}`,
  member: "Member: plays, cards and settings",
  player: "Player: plays only",
  owner: "Owner: everything, phones and backups too",
  pairPhone: "Pair a phone",
  shortCode: "Show a short code",
  phoneOf: (id: string) => `Phone ${id}`,
  notUsed: "not used yet",
  lastUsed: (ago: string) => `last used ${ago}`,
  thisPhone: "this phone",
  rename: "Rename",
  renameOf: (name: string) => `Rename ${name}`,
  newName: "New name",
  paired: (ago: string) => `paired ${ago}`,
  revoke: "Revoke",
  revokeOf: (name: string) => `Revoke ${name}`,
  revokeSure: (name: string) => `Revoke ${name}? It can then no longer connect.`,
  revokedOf: (name: string) => `${name} can no longer connect.`,
  noNetwork: "No network that a phone could be on: see api.listen in the settings.",
  scanLink:
    "Point the phone's camera at it within ten minutes. Anybody with this link can use the device: make one for each phone.",
  qrCode: "QR code of the pairing link",
  pairByCode: "Pair by a code",
  openAndType: (address: string) => `Open ${address} on the phone, and type:`,
  goodUntil: (time: string) => `Good until ${time}, for three tries.`,
  phonePaired: "The phone is paired.",
  threeWrong: "Three wrong codes: somebody may be guessing. Open it again to go on.",

  // The pairing of this phone.
  pairThis: "Pair this phone",
  pairMore: "Pair this phone to do more",
  howToPair: [
    "On the device, press “Pair a phone” on its page, or run “tapdeck pair”, and point the phone's camera at the QR code.",
    "Or press “Show a short code” there, run “tapdeck pair --code”, or tap a card that says **pair, and type the six digits here:",
  ],
  digits: "The six digits",
  pair: "Pair",

  cards: {
    // Many cards in a row.
    writeMany: "Write many cards",
    writeManyHow: "Choose what the cards are to start. Then lay one card after another on the reader.",
    add: "Add",
    addOf: (name: string) => `Add ${name}`,
    addText: "Add the text",
    copiesOf: (name: string) => `Copies of ${name}`,
    remove: "Remove",
    removeOf: (name: string) => `Remove ${name}`,
    startWriting: (count: number) => `Write ${counted(count, "card", "cards")}`,
    later: "Later, with others",
    queued: (name: string, count: number) =>
      `${name} waits. ${counted(count, "card", "cards")} in all, on the screen Cards.`,
    place: (at: number, count: number) => `${number(at)} of ${number(count)}`,
    layNext: "Lay a card on the reader.",
    layAnother: "Written. Take it off, and lay the next card on.",
    skip: "Skip",
    tryAgain: "Try again",
    wroteMany: (written: number, left: number) =>
      `${counted(written, "card", "cards")} written${left === 0 ? "." : `, ${number(left)} not.`}`,
    causes: {
      locked: "This card is locked. Take another one.",
      "too-small": "The text does not fit on this card. Take one with more memory.",
      gone: "The card was taken off too early. Lay it on again, and leave it there.",
      mismatch: "This card does not keep what is written. Take another one.",
      password: "A password protects this card. Take another one.",
      foreign: "This card holds data of another kind. Take another one.",
      unsupported: "Cards of this kind cannot be written. Take another one.",
    },

    // The mappings.
    mappings: "Mappings",
    mappingsHow: "A mapping gives a card another text, without writing to the card.",
    noMappings: "There is no mapping yet.",
    findMapping: "Find a mapping",
    mappingCount: (count: number, idle: number) =>
      counted(count, "mapping", "mappings") + (idle === 0 ? "" : `, ${number(idle)} without effect`),
    newMapping: "New mapping",
    editMapping: "Edit the mapping",
    fields: { uid: "UID", text: "Text", data: "Data" },
    ways: { exact: "is", partial: "contains", regex: "matches the expression" },
    starts: (name: string) => `starts ${name}`,
    runs: (text: string) => `runs ${text}`,
    acts: { stop: "stops what plays", next: "plays the next one", previous: "plays the previous one" },
    shadowed: (name: string) => `Has no effect: “${name}” comes first and matches the same.`,
    inFile: (file: string) => `It is in the file ${file} on the device. Edit it there.`,
    enabledOf: (name: string) => `${name} counts`,
    delete: "Delete",
    deleteOf: (name: string) => `Delete ${name}`,
    deletedOf: (name: string) => `${name} is deleted.`,
    undo: "Undo",
    save: "Save",
    label: "Name, if you like",
    compare: "Compare",
    how: "How",
    pattern: "With",
    instead: "Text to launch instead",
    takeCard: "Take the last card",
    noCard: "No card was laid on a reader yet.",
    test: "Test",
    testHow: "Lay a card on a reader, or type its value:",
    thisMapping: "this mapping",
    wouldStart: (what: string, by: string) => `It ${what}, because of ${by}.`,
    wouldOwn: (what: string) => `No mapping matches. It ${what}.`,
    wouldNothing: "No mapping matches, and the card has no text.",
    idleToo: (names: string) => `Without effect: ${names}.`,

    // Mappings as files.
    files: "As a file",
    saveAs: (format: string) => `Save as ${format}`,
    readFile: "Read from a file",
    readHow: (name: string, count: number) =>
      `Add the mappings of ${name}, or replace all ${number(count)} by them?`,
    replaceAll: "Replace",
    imported: (added: number, removed: number) =>
      `${counted(added, "mapping", "mappings")} added${removed === 0 ? "" : `, ${number(removed)} deleted`}.`,
    notImported: "Nothing was changed.",
    inLine: (line: number, sentence: string) => `Line ${number(line)}: ${sentence}`,
    tooLong: "The file is too long. Divide it into several.",

    // The history.
    history: "History",
    tapped: "Cards",
    played: "Played",
    noneYet: "Nothing yet.",
    playAgain: "Play again",
    onlyThis: "Only this card",
    onlyOf: (uid: string) => `Only card ${uid}`,
    allCards: "All cards",
    playedFor: (minutes: number) =>
      minutes < 1 ? "less than a minute" : counted(minutes, "minute", "minutes"),

    // Play time and volume.
    limits: "Limits",
    today: "Today",
    session: "This session",
    usedOf: (used: number, left: number | undefined) =>
      `${counted(used, "minute", "minutes")} played${left === undefined ? ", without a limit" : `, ${number(left)} left`}`,
    noClock: "The device does not know the time yet, so that no new day begins.",
    limitsCount: "The limits count",
    perDay: "Minutes per day (0: no limit)",
    perSession: "Minutes per session (0: no limit)",
    newSession: "Minutes of pause until a new session",
    warnings: "Warn this many minutes before the end",
    timeLeft: (minutes: number) =>
      minutes === 0
        ? "The play time is used up."
        : `${counted(minutes, "minute", "minutes")} of play time left.`,
  },
  device: {
    health: "State of the device",
    allWell: "Everything works.",
    checks: {
      readers: "Readers",
      database: "Database",
      disk: "Disk",
      settings: "Settings",
      media: "Media",
      players: "Players",
      device: "Device",
      watchdog: "Watchdog",
    },
    advice: {
      readers: "Plug the reader in again, or try another cable. The log says what it answered.",
      database: "Restart the service. If that does not help, restore a backup.",
      disk: "Delete media that you do not need, or use a larger card or drive.",
      settings: "Correct the settings file. Until then, the settings before the mistake count.",
      media: "Plug the drive in, or correct the folders of media in the settings.",
      players: "Install the missing program. Other media are not affected.",
      device: "Correct tapdeck.conf or check the card, and restart the device.",
      watchdog: "The log of that time says why. If it happens again, report it.",
    },
    running: "Running",
    service: (span: string) => `service for ${span}`,
    system: (span: string) => `device for ${span}`,
    image: (board: string, slot: string) => `image for ${board}${slot === "" ? "" : `, slot ${slot}`}`,
    memory: "Memory",
    freeOf: (free: string, total: string) => `${free} of ${total} free`,
    ownMemory: (used: string) => `Tapdeck uses ${used}`,
    disk: "Disk",
    network: "Network",
    wifi: "Wi-Fi",
    noCable: "not connected",

    power: "Restart and update",
    noActions: "This device cannot be restarted or updated from here.",
    restart: "Restart the device",
    restartService: "Restart the service",
    restartSure: "Media stop, and their positions and saves are stored. The page connects again by itself.",
    shutdown: "Switch off",
    shutdownSure:
      "Media stop, and their positions and saves are stored. Only the power switch starts the device again.",
    update: "Update",
    updateSure:
      "The address of a signed update. It is tried, and the system of today comes back if it does not work.",
    address: "Address of the update",
    steps: {
      fetching: "Fetching the update …",
      waiting: "The update waits until nothing plays.",
      checking: "Checking the update …",
      writing: "Writing the update …",
      "reading back": "Reading the update back …",
      restarting: "The device restarts with the update.",
    },

    log: "Log",
    level: "Lines",
    levels: { info: "All lines", warn: "Warnings and errors", error: "Errors" },
    filter: "Lines with this text",
    earlier: "Earlier lines",
    download: "Download",

    settings: "Settings",
    saved: "Saved.",
    ownerChanges: "An owner can change this.",
    forExperts: "For experts",
    inFile: "Settings in the file only",
    inFileHow:
      "These open the device to others or name programs. Edit them in the settings file: tapdeck config shows it.",
    defaultIs: (value: string) => `default: ${value}`,
    rangeOf: (min: number, max: number) => `Type a number from ${min} to ${max}.`,
    add: "Add …",
    addTo: (name: string) => `Add to ${name}`,
    remove: (item: string) => `Remove ${item}`,
    choices: { stop: "Stop", pause: "Pause", long: "Long ones", always: "Always", never: "Never" },
    names: {
      reader: "Readers that are always opened",
      detectReaders: "Detect readers",
      insertMode: "Hold mode",
      insertModeAction: "When the card is removed",
      insertModeBlocklist: "Systems without hold mode",
      insertModeExitDelay: "Seconds until removal counts",
      audioFeedback: "Sounds",
      volumeMax: "Highest volume",
      consoleLogging: "Log",
      debug: "Every detail in the log",
      "systems.rootFolder": "Folders of media",
      launchGuardEnabled: "Ask before media change",
      playbackResume: "Continue where it ended",
    },
    /** The effect of each setting. */
    effects: {
      reader: "Readers that the device opens by name, as driver:path: pn532-uart:/dev/ttyUSB0.",
      detectReaders: "The device finds readers that are plugged in.",
      insertMode: "Media play as long as their card lies on the reader.",
      insertModeAction: "Stop ends the media. Pause lets them go on if the card is back within an hour.",
      insertModeBlocklist: "Their media go on without the card. A name such as SNES.",
      insertModeExitDelay: "The card may be off the reader for so long.",
      audioFeedback: "Short sounds tell whether a card was read and whether its launch failed.",
      volumeMax: "In percent. No card and no phone sets a higher one.",
      consoleLogging: "Off: the device logs nothing.",
      debug: "The log also holds the texts of cards.",
      "systems.rootFolder": "Each has one folder for a system, such as SNES and Audio.",
      launchGuardEnabled: "A card has to be put on twice before it ends what plays.",
      playbackResume: "For sounds and films. Long ones have more than 10 minutes.",
    },
  },
  upload: {
    title: "Add media",
    drop: "Drop files or folders here, or choose them.",
    files: "Choose files",
    folder: "Choose a folder",
    system: "System",
    automatic: "By folder or kind of file",
    unknown: (count: number) => `${counted(count, "file", "files")} without a known system: choose it.`,
    progress: "Progress",
    sent: (done: number, count: number, bytes: string, all: string) =>
      `${number(done)} of ${counted(count, "file", "files")} · ${bytes} of ${all}`,
    arrived: (count: number) => `${counted(count, "file", "files")} arrived.`,
    waiting: "Waiting",
    thereAlready: "There already",
    replace: (count: number) => `Replace ${counted(count, "file", "files")}`,
    stop: "Stop sending",
    unfinished: (count: number) =>
      `${counted(count, "file", "files")} unfinished: choose the same again to continue.`,
    discard: "Delete unfinished files",
    free: (bytes: string) => `${bytes} free`,
    actionsOf: (name: string) => `Move or delete ${name}`,
    moveTo: "Move to",
    move: "Move",
    moved: (name: string) => `Moved: ${name}`,
    delete: "Delete",
    deleteSure: (name: string) => `Delete ${name} from the device? This cannot be undone.`,
    deleted: (name: string) => `Deleted: ${name}`,
  },
  sleep: {
    title: "Sleep timer",
    off: "off",
    after: (minutes: number) => `in ${minutes} minutes`,
    at: (time: string) => `at ${time}`,
  },
  broker: {
    title: "MQTT broker",
    what: "Home Assistant and other programs hear of taps there, and control this device.",
    url: "Address",
    user: "Account",
    password: "Password",
    kept: "kept, empty leaves it",
    ca: "Certificate of its authority (PEM)",
    role: "What it may do here",
    save: "Save",
    test: "Test",
    testing: "Connecting …",
    connected: "Connected.",
    trying: "Not connected yet.",
    none: "No broker is set.",
    byImage: "tapdeck.conf on the memory card sets the broker.",
  },
  backup: {
    title: "Backup",
    what: "One file with settings, mappings, history and positions; with a passphrase also phones and keys. Media and saved games are not in it.",
    passphrase: "Passphrase (optional)",
    download: "Download a backup",
    made: "The backup is made, and downloads.",
    choose: "Restore a backup",
    restore: "Restore this backup",
    restoreSure:
      "What plays ends, and the service starts again. The present state is kept as a backup on the device.",
    restored: "The backup is restored. The service starts again.",
    madeAt: (time: Date, version: string) => `Made ${moment(time)} by Tapdeck ${version}.`,
    insteadOf: (count: number, now: number) => `${number(count)}, in place of ${number(now)}`,
    mappings: "Mappings",
    mappingFiles: "Files of mappings",
    history: "Taps",
    positions: "Positions",
    settings: "Settings that change",
    same: "as they are",
    locked: "only with the passphrase",
    warning: "Note",
  },
});

/** Numbers and times in the form of the language. */
export interface Numbers {
  readonly number: (value: number) => string;
  /** Takes the forms for one and for more. */
  readonly counted: (count: number, one: string, many: string) => string;
  /** A day and a time of it. */
  readonly moment: (time: Date) => string;
}

/** The shape of the table, with any string for a text. */
type Shape<T> = T extends (...given: infer Given) => string
  ? (...given: Given) => string
  : T extends string
    ? string
    : { readonly [Name in keyof T]: Shape<T[Name]> };

/** Without `faults` the sentences of the service are shown, which are English. */
export type PageTexts = Shape<ReturnType<typeof englishTexts>> & { readonly faults?: FaultTexts };

/** The texts of faults and of failed launches, by their codes. */
export type FaultedTexts = Required<Pick<PageTexts, "reasons" | "faults">>;
