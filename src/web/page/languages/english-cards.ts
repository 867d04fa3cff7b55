/** The screen of the cards in English. */
import type { Numbers } from "./forms.ts";

export const englishCards = ({ number, counted }: Pick<Numbers, "number" | "counted">) => ({
  // The cards as tiles.
  yours: "Your cards",
  noCards: "No card was tapped yet. Lay one on a reader.",
  findCard: "Find a card",
  neverTapped: "not tapped yet",
  itDoes: (words: string) => `It ${words}.`,
  byDevice: (file: string) =>
    file === ""
      ? "This device remembers it; the card itself is unchanged."
      : `The file ${file} on the device says so.`,
  onCard: (text: string) => `On the card: ${text}`,
  tapsOf: (count: number, when: string) => `${counted(count, "tap", "taps")}, the last one ${when}`,
  change: "Change what it does",
  changeHow: "This device remembers the choice; the card itself stays as it is.",
  changed: (name: string) => `The card now means: ${name}`,
  copy: "Copy to another card",
  forget: "Forget",
  forgotten: (name: string) => `${name} is forgotten. What is written on the card counts again.`,
  action: "An action",
  actions: {
    "**stop": "Stop",
    "**control:toggle": "Pause or continue",
    "**playlist.next": "Next",
    "**playlist.previous": "Previous",
    "**volume:+10": "Louder",
    "**volume:-10": "Quieter",
    "**sleep:30m": "Stop in 30 minutes",
    "**shutdown": "Switch off",
  },
  labels: "Print labels",
  labelSize: "Size",
  sizes: {
    id1: "Bank card, 86 × 54 mm",
    upright: "Bank card, upright",
    round: "Round, 30 mm",
    square: "Square, 40 mm",
  },
  print: "Print",

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
  mappings: "Rules for cards",
  mappingsHow:
    "A rule gives cards another meaning, without writing to them. The command line calls it a mapping.",
  noMappings: "There is no rule yet.",
  findMapping: "Find a rule",
  mappingCount: (count: number, idle: number) =>
    counted(count, "rule", "rules") + (idle === 0 ? "" : `, ${number(idle)} without effect`),
  newMapping: "New rule",
  editMapping: "Edit the rule",
  fields: { uid: "Its number (UID)", text: "Its text", data: "Its data" },
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
  compare: "What of the card counts",
  how: "How it is compared",
  pattern: "Value",
  instead: "What it starts instead",
  takeCard: "Take the last card",
  noCard: "No card was laid on a reader yet.",
  test: "Test",
  testHow: "Lay a card on a reader, or type its value:",
  thisMapping: "this rule",
  wouldStart: (what: string, by: string) => `It ${what}, because of ${by}.`,
  wouldOwn: (what: string) => `No rule matches. It ${what}.`,
  wouldNothing: "No rule matches, and the card has no text.",
  wouldFail: "At present that starts nothing.",
  idleToo: (names: string) => `Without effect: ${names}.`,

  // Mappings as files.
  files: "As a file",
  saveAs: (format: string) => `Save as ${format}`,
  readFile: "Read from a file",
  readHow: (name: string, count: number) =>
    `Add the rules of ${name}, or replace all ${number(count)} by them?`,
  replaceAll: "Replace",
  imported: (added: number, removed: number) =>
    `${counted(added, "rule", "rules")} added${removed === 0 ? "" : `, ${number(removed)} deleted`}.`,
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
  allCards: "All cards",
  playedFor: (minutes: number) =>
    minutes < 1 ? "less than a minute" : counted(minutes, "minute", "minutes"),

  // Play time and volume.
  limits: "Limits",
  today: "Today",
  session: "This session",
  usedOf: (used: number, left: number | undefined) =>
    `${counted(used, "minute", "minutes")} played${left === undefined ? ", without a limit" : `, ${number(left)} left`}`,
  uncounted: "no limit, so it is not counted",
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
});
