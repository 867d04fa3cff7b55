/** The German texts of the graphical screen. */
import { germanFaults } from "../../core/languages/german-faults.ts";
import type { ScreenTexts } from "../texts.ts";

export const germanScreen: ScreenTexts = {
  headline: {
    ready: "Leg eine Karte auf",
    "no-reader": "Schließ ein Lesegerät an",
    "reader-broken": "Das Lesegerät geht nicht",
    empty: "Diese Karte ist leer",
    "not-found": "Nicht gefunden",
    failed: "Das ging nicht",
    starting: "Startet",
    playlist: "Such es auf dem Handy aus",
    "stick-away": "Steck den USB-Stick ein",
    "stick-gone": "Der USB-Stick ist weg",
    "time-over": "Die Spielzeit ist um",
    "switching-off": "Schaltet aus",
    restarting: "Startet neu",
    pairing: "Verbinde ein Handy",
  },
  below: {
    ready: "und hier geht es los",
    "no-reader": "Karten brauchen ein Lesegerät",
    "reader-broken": "Zieh es ab, und steck es wieder an",
    empty: "Wähl auf dem Handy, was sie startet",
    "not-found": "Was diese Karte startet, ist nicht da",
    failed: "Nimm eine andere Karte",
    starting: "",
    playlist: "",
    "stick-away": "Was diese Karte startet, ist darauf",
    "stick-gone": "Steck ihn ein, und leg die Karte noch einmal auf",
    "time-over": "Bis zum nächsten Mal",
    "switching-off": "Zieh den Stecker, wenn das Licht auf der Platine aus ist",
    restarting: "Das dauert einen Moment",
    pairing: "Richte seine Kamera auf den Code",
  },
  openPage: "Öffne es auf dem Handy",
  causes: {
    ...germanFaults.reasons,
    "player-failed":
      "Diese Datei lässt sich nicht abspielen. Sie ist vielleicht beschädigt oder unvollständig.",
    "player-not-ready": "Diese Datei brauchte zu lange. Versuch es noch einmal.",
    "launcher-missing": "Für diese Datei ist kein Player da.",
    "core-missing": "Für dieses System ist kein Emulator da.",
    "bios-missing": "Diesem Spiel fehlt eine BIOS-Datei.",
    uploading: "Diese Datei wird noch hochgeladen.",
    busy: "Das Gerät hat gerade zu viel zu tun.",
  },
  faults: {
    ...germanFaults.faults,
    "disk-full":
      "Die Speicherkarte ist voll: Was du spielst, wird nicht gespeichert. Öffne die Seite auf einem Handy, und lösche etwas.",
    "saves-not-kept": "Spielstände können nicht gespeichert werden: {why}",
    "saves-memory-full": "Der Speicher für Spielstände ist voll: Beende das Spiel, und starte es neu.",
  },
  noNetwork:
    "Kein Netz: Steck ein Kabel ein, oder schreib das WLAN in tapdeck.conf auf der Speicherkarte. Karten gehen auch so.",
  joinWifi: "Verbinde dich mit diesem WLAN",
  wifiPassword: "Passwort",
  noWifi:
    "Kein Netz: Verbinde dein Handy mit diesem WLAN, um eins einzurichten, oder steck ein Kabel ein. Karten gehen auch so.",
  joiningWifi: "Verbindet mit „{network}“. Das dauert bis zu einer Minute.",
  wifiLater:
    "Kein Netz. Bald nach einem Start kann dein Handy hier das WLAN einrichten, oder steck ein Kabel ein. Karten gehen auch so.",
  wifiFaults: {
    "wrong-password": "Das Passwort des WLANs ist falsch.",
    "not-found": "Das WLAN ist nicht in Reichweite.",
    refused: "Das WLAN nimmt das Gerät nicht an, oder ist zu schwach.",
    "no-address": "Das WLAN gibt keine Adresse: Starte den Router neu.",
  },
  acts: {
    backup: (name) => `${name} hat ein Backup gemacht.`,
    restore: (name) => `${name} stellt ein Backup wieder her.`,
    "device.update": (name) => `${name} installiert eine Aktualisierung.`,
    "device.restart": (name) => `${name} startet dieses Gerät neu.`,
    "device.shutdown": (name) => `${name} schaltet dieses Gerät aus.`,
  },
  endGame: "Select + Start auf dem Controller beendet ein Spiel",
  typeDigits: "oder tippe",
  atAddress: "unter",
};
