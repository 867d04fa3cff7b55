/**
 * The texts of the page: the English ones are the table, and every other language in `languages/` is a value of `PageTexts`, so
 * that a missing text does not compile. Numbers, times and dates are in the form of the language.
 */

import { englishCards } from "./languages/english-cards.ts";
import { englishDevice } from "./languages/english-device.ts";

export let locale = "en";

/** A form of the locale, kept: a slow phone takes some milliseconds to make one, and longer for the first (`number-forms.ts`). */
export function inLocale<Form>(make: (locale: string) => Form): () => Form {
  let kept: { readonly of: string; readonly form: Form } | undefined;
  return () => {
    if (kept?.of !== locale) kept = { of: locale, form: make(locale) };
    return kept.form;
  };
}

const numbers = inLocale((tag) => new Intl.NumberFormat(tag));
const plurals = inLocale((tag) => new Intl.PluralRules(tag));
const number = (value: number) => numbers().format(value);
const counted = (count: number, one: string, many = `${one}s`) =>
  `${number(count)} ${plurals().select(count) === "one" ? one : many}`;

/** `counted` takes the forms for one and for more. */
export interface Numbers {
  readonly number: (value: number) => string;
  readonly counted: (count: number, one: string, many: string) => string;
}

const english = {
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
    shown < total ? `${number(shown)} of ${number(total)} results` : counted(total, "result"),
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
      ? counted(count, "system")
      : `${place} · ${counted(count, "file or folder", "files and folders")}`,
  files: (count: number) => counted(count, "file"),

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
    cutShort: "The text on this card is cut short. Write it again.",
    otherKind: "This card holds data of another kind.",
    locked: "This card is locked.",
    unreadable: "This card could not be read. Put it on again.",
    noMeaning: "This card has no meaning yet.",
  },

  // Phones.
  phones: "Phones",
  noPhones: "No phone is paired yet.",
  whose: "Whose phone is it?",
  whatMay: "What may it do?",
  roles: { member: "Member", player: "Player" },
  roleOf: (name: string) => `Role of ${name}`,
  member: "Member: plays, cards and settings",
  player: "Player: plays only",
  pairPhone: "Pair a phone",
  shortCode: "Show a short code",
  phoneOf: (id: string) => `Phone ${id}`,
  notUsed: "not used yet",
  lastUsed: (ago: string, address: string) => `last used ${ago} at ${address}`,
  paired: (ago: string) => `paired ${ago}`,
  revoke: "Revoke",
  revokeOf: (name: string) => `Revoke ${name}`,
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

  cards: englishCards({ number, counted }),
  device: englishDevice,
  upload: {
    title: "Add media",
    drop: "Drop files or folders here, or choose them.",
    files: "Choose files",
    folder: "Choose a folder",
    system: "System",
    automatic: "By folder or kind of file",
    unknown: (count: number) => `${counted(count, "file")} without a known system: choose it.`,
    progress: "Progress",
    sent: (done: number, count: number, bytes: string, all: string) =>
      `${number(done)} of ${counted(count, "file")} · ${bytes} of ${all}`,
    arrived: (count: number) => `${counted(count, "file")} arrived.`,
    waiting: "Waiting",
    thereAlready: "There already",
    replace: (count: number) => `Replace ${counted(count, "file")}`,
    stop: "Stop sending",
    unfinished: (count: number) => `${counted(count, "file")} unfinished: choose the same again to continue.`,
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
    madeAt: (time: Date, version: string) => `Made ${time.toLocaleString(locale)} by Tapdeck ${version}.`,
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
};

/** The shape of the table, with any string for a text. */
type Shape<T> = T extends (...given: infer Given) => string
  ? (...given: Given) => string
  : T extends string
    ? string
    : { readonly [Name in keyof T]: Shape<T[Name]> };

export type PageTexts = Shape<typeof english>;

/** The texts in the page's language. */
export let say: PageTexts = english;

/** Makes `say` a further language; the locale is that of numbers and dates. */
export function speak(texts: ((numbers: Numbers) => PageTexts) | undefined, newLocale: string): void {
  locale = newLocale;
  say = texts?.({ number, counted }) ?? english;
}

/** By the start of the service's sentence. */
const reasonStarts: readonly (readonly [string, keyof PageTexts["reasons"]])[] = [
  ["the tag is blank", "blank"],
  ["the tag is not formatted", "unformatted"],
  ["the message on the tag is cut short", "cutShort"],
  ["the message on the tag is neither", "otherKind"],
  ["the tag keeps its memory locked", "locked"],
  ["the tag's memory could not be read", "unreadable"],
  ["there is no text on this token", "noMeaning"],
];

/** A known reason in short words, or the service's sentence. */
export function reasonOf(sentence: string): string {
  const [, known] = reasonStarts.find(([start]) => sentence.startsWith(start)) ?? [];
  return known === undefined ? sentence : say.reasons[known];
}
