/** The screen of the cards in German. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

export const germanCards = ({
  number,
  counted,
}: Pick<Numbers, "number" | "counted">): PageTexts["cards"] => ({
  // The cards as tiles.
  yours: "Ihre Karten",
  noCards: "Noch keine Karte wurde aufgelegt. Legen Sie eine auf einen Leser.",
  findCard: "Karte suchen",
  neverTapped: "noch nicht aufgelegt",
  itDoes: (words) => `Sie ${words}.`,
  byDevice: (file) =>
    file === ""
      ? "Das Gerät merkt es sich; die Karte selbst ist unverändert."
      : `So steht es in der Datei ${file} auf dem Gerät.`,
  onCard: (text) => `Auf der Karte: ${text}`,
  tapsOf: (count, when) => `${counted(count, "Mal", "Mal")} aufgelegt, zuletzt ${when}`,
  change: "Ändern, was sie tut",
  changeHow: "Das Gerät merkt sich die Wahl; die Karte selbst bleibt, wie sie ist.",
  changed: (name) => `Die Karte bedeutet jetzt: ${name}`,
  copy: "Auf eine andere Karte kopieren",
  forget: "Vergessen",
  forgotten: (name) => `${name} ist vergessen. Es zählt wieder, was auf der Karte steht.`,
  action: "Eine Handlung",
  actions: {
    "**stop": "Stopp",
    "**control:toggle": "Pause oder weiter",
    "**playlist.next": "Nächstes",
    "**playlist.previous": "Voriges",
    "**volume:+10": "Lauter",
    "**volume:-10": "Leiser",
    "**sleep:30m": "In 30 Minuten stoppen",
    "**shutdown": "Ausschalten",
  },
  labels: "Etiketten drucken",
  labelSize: "Größe",
  sizes: {
    id1: "Bankkarte, 86 × 54 mm",
    upright: "Bankkarte, hochkant",
    round: "Rund, 30 mm",
    square: "Quadrat, 40 mm",
  },
  print: "Drucken",

  writeMany: "Viele Karten beschreiben",
  writeManyHow:
    "Wählen Sie, was die Karten starten sollen. Legen Sie dann eine Karte nach der anderen auf den Leser.",
  add: "Dazu",
  addOf: (name) => `${name} dazunehmen`,
  addText: "Text dazunehmen",
  copiesOf: (name) => `Anzahl von ${name}`,
  remove: "Entfernen",
  removeOf: (name) => `${name} entfernen`,
  startWriting: (count) => `${counted(count, "Karte", "Karten")} beschreiben`,
  later: "Später, mit anderen",
  queued: (name, count) =>
    `${name} ist vorgemerkt. Insgesamt ${counted(count, "Karte", "Karten")}, im Bereich Karten.`,
  place: (at, count) => `${number(at)} von ${number(count)}`,
  layNext: "Legen Sie eine Karte auf den Leser.",
  layAnother: "Geschrieben. Nehmen Sie die Karte weg, und legen Sie die nächste auf.",
  skip: "Überspringen",
  tryAgain: "Noch einmal",
  wroteMany: (written, left) =>
    `${counted(written, "Karte", "Karten")} geschrieben${left === 0 ? "." : `, ${number(left)} nicht.`}`,
  causes: {
    locked: "Diese Karte ist gesperrt. Nehmen Sie eine andere.",
    "too-small": "Der Text passt nicht auf diese Karte. Nehmen Sie eine mit mehr Speicher.",
    gone: "Die Karte wurde zu früh weggenommen. Legen Sie sie noch einmal auf, und lassen Sie sie liegen.",
    mismatch: "Diese Karte behält nicht, was geschrieben wird. Nehmen Sie eine andere.",
    password: "Ein Passwort schützt diese Karte. Nehmen Sie eine andere.",
    foreign: "Auf dieser Karte sind Daten anderer Art. Nehmen Sie eine andere.",
    unsupported: "Karten dieser Art lassen sich nicht beschreiben. Nehmen Sie eine andere.",
  },

  mappings: "Regeln für Karten",
  mappingsHow:
    "Eine Regel gibt Karten eine andere Bedeutung, ohne sie zu beschreiben. Die Befehlszeile nennt sie „mapping“.",
  noMappings: "Es gibt noch keine Regel.",
  findMapping: "Regel suchen",
  mappingCount: (count, idle) =>
    counted(count, "Regel", "Regeln") + (idle === 0 ? "" : `, ${number(idle)} ohne Wirkung`),
  newMapping: "Neue Regel",
  editMapping: "Regel ändern",
  fields: { uid: "Ihre Nummer (UID)", text: "Ihr Text", data: "Ihre Daten" },
  ways: { exact: "ist", partial: "enthält", regex: "passt zum Ausdruck" },
  starts: (name) => `startet ${name}`,
  runs: (text) => `führt ${text} aus`,
  acts: { stop: "stoppt, was läuft", next: "spielt das Nächste", previous: "spielt das Vorige" },
  shadowed: (name) => `Ohne Wirkung: „${name}“ kommt vorher und passt auf dasselbe.`,
  inFile: (file) => `Sie steht in der Datei ${file} auf dem Gerät. Ändern Sie sie dort.`,
  enabledOf: (name) => `${name} gilt`,
  delete: "Löschen",
  deleteOf: (name) => `${name} löschen`,
  deletedOf: (name) => `${name} ist gelöscht.`,
  undo: "Rückgängig",
  save: "Speichern",
  label: "Name, wenn Sie möchten",
  compare: "Was von der Karte zählt",
  how: "Wie verglichen wird",
  pattern: "Wert",
  instead: "Was sie stattdessen startet",
  takeCard: "Letzte Karte übernehmen",
  noCard: "Es lag noch keine Karte auf einem Leser.",
  test: "Testen",
  testHow: "Legen Sie eine Karte auf einen Leser, oder tippen Sie ihren Wert:",
  thisMapping: "diese Regel",
  wouldStart: (what, by) => `Sie ${what}. Grund: ${by}.`,
  wouldOwn: (what) => `Keine Regel passt. Sie ${what}.`,
  wouldNothing: "Keine Regel passt, und die Karte hat keinen Text.",
  wouldFail: "Zurzeit startet das nichts.",
  idleToo: (names) => `Ohne Wirkung: ${names}.`,

  files: "Als Datei",
  saveAs: (format) => `Als ${format} speichern`,
  readFile: "Aus einer Datei lesen",
  readHow: (name, count) =>
    `Die Regeln aus ${name} dazunehmen, oder alle ${number(count)} durch sie ersetzen?`,
  replaceAll: "Ersetzen",
  imported: (added, removed) =>
    `${counted(added, "Regel", "Regeln")} dazugekommen${removed === 0 ? "" : `, ${number(removed)} gelöscht`}.`,
  notImported: "Es wurde nichts geändert.",
  inLine: (line, sentence) => `Zeile ${number(line)}: ${sentence}`,
  tooLong: "Die Datei ist zu lang. Teilen Sie sie auf.",

  history: "Verlauf",
  tapped: "Karten",
  played: "Gespielt",
  noneYet: "Noch nichts.",
  playAgain: "Noch einmal starten",
  onlyThis: "Nur diese Karte",
  allCards: "Alle Karten",
  playedFor: (minutes) => (minutes < 1 ? "weniger als eine Minute" : counted(minutes, "Minute", "Minuten")),

  limits: "Grenzen",
  today: "Heute",
  session: "Diese Sitzung",
  usedOf: (used, left) =>
    `${counted(used, "Minute", "Minuten")} gespielt${left === undefined ? ", ohne Grenze" : `, ${number(left)} übrig`}`,
  uncounted: "ohne Grenze, daher nicht gezählt",
  noClock: "Das Gerät kennt die Uhrzeit noch nicht, daher beginnt kein neuer Tag.",
  limitsCount: "Die Grenzen gelten",
  perDay: "Minuten pro Tag (0: ohne Grenze)",
  perSession: "Minuten pro Sitzung (0: ohne Grenze)",
  newSession: "Minuten Pause bis zu einer neuen Sitzung",
  warnings: "So viele Minuten vor dem Ende warnen",
  timeLeft: (minutes) =>
    minutes === 0
      ? "Die Spielzeit ist aufgebraucht."
      : `Noch ${counted(minutes, "Minute", "Minuten")} Spielzeit.`,
});
