/** Buttons, the picture of the screen, the broker and backups in German. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

type Parts = Pick<PageTexts, "buttons" | "picture" | "broker" | "backup" | "share">;

export const germanParts = ({
  counted,
  moment,
  number,
}: Pick<Numbers, "counted" | "moment" | "number">): Parts => ({
  buttons: {
    how: "Tasten am Gehäuse, Drehknöpfe und Tastenblöcke starten etwas, so wie eine Karte.",
    none: "Es ist noch keine Taste angelernt.",
    add: "Taste hinzufügen",
    pressNow: "Drücken Sie jetzt die Taste, oder drehen Sie den Knopf.",
    pressHow:
      "Eine halbe Minute lang hört das Gerät auf alles, was angeschlossen ist. Nur der erste Druck zählt.",
    nonePressed: "Es wurde keine Taste gedrückt.",
    choose: "Was tut diese Taste?",
    everyDevice: "jedes Gerät",
    chooseFor: (name) => `Die Taste soll ${name} starten`,
    saveText: "Für die Taste speichern",
    removed: (key) => `${key} tut nichts mehr.`,
  },
  picture: {
    title: "Bild des Bildschirms",
    what: "Was der Fernseher jetzt zeigt. Ohne Bildschirm gibt es keines, solange nichts läuft. Jedes Bild bleibt auch auf dem Gerät.",
    take: "Bild aufnehmen",
    again: "Noch eines aufnehmen",
    alt: "Was das Gerät zeigt",
    takenAt: (time) => `Aufgenommen um ${time}.`,
  },
  broker: {
    title: "MQTT-Broker",
    what: "Home Assistant und andere Programme erfahren dort von Karten und steuern dieses Gerät.",
    url: "Adresse",
    user: "Konto",
    password: "Passwort",
    kept: "gespeichert, leer lässt es so",
    ca: "Zertifikat seiner Stelle (PEM), nur für mqtts://",
    role: "Was er hier darf",
    roleWhat:
      "Ein Spieler startet und beendet Medien, und das genügt für Home Assistant. Ein Mitglied ändert auch Karten und Einstellungen. Ein Besitzer startet und aktualisiert auch dieses Gerät: nur, wenn sonst niemand an diesen Broker schreiben darf.",
    save: "Speichern",
    test: "Prüfen",
    testing: "Verbindet …",
    connected: "Verbunden.",
    trying: "Noch nicht verbunden.",
    unconnected: "Gespeichert, aber nicht verbunden.",
    none: "Es ist kein Broker eingestellt.",
    byImage: "Die tapdeck.conf auf der Speicherkarte legt den Broker fest.",
    wrong: "Geben Sie die Adresse des Brokers ein, etwa 192.168.1.5 oder mqtt://homeassistant.local:1883.",
    faults: {
      "broker-absent":
        "An {subject}, Port {port}, antwortet nichts. Prüfen Sie die Adresse, und ob der Broker läuft.",
      "broker-unknown":
        "Im Netz gibt es kein {subject}. Prüfen Sie die Adresse, oder geben Sie die des Rechners in Zahlen ein, etwa 192.168.1.5.",
      "broker-silent":
        "Der Broker beendet die Verbindung ohne Antwort. Sein Port ist meist 1883, oder 8883, wenn die Adresse mit mqtts:// beginnt.",
      "broker-silent-tls":
        "Der Broker beendet die Verbindung ohne Antwort. Wenn sein Port kein TLS hat, muss die Adresse mit mqtt:// beginnen.",
      "broker-not-mqtt":
        "Die Antwort von {subject}, Port {port}, ist kein MQTT. Der Port ist meist 1883, oder 8883, wenn die Adresse mit mqtts:// beginnt.",
      "broker-certificate-host":
        "Das Zertifikat des Brokers gehört zu einem anderen Rechner als {subject}. Prüfen Sie die Adresse.",
      "broker-certificate-untrusted":
        "Dem Zertifikat des Brokers wird nicht vertraut. Wählen Sie das seiner Stelle unter „Für Fachleute“.",
      "broker-password": "Der Broker lehnt das Konto oder sein Passwort ab.",
      "broker-refuses":
        "Der Broker lehnt dieses Gerät ab. Prüfen Sie das Konto, sein Passwort und die Zugriffsliste des Brokers.",
    },
  },
  backup: {
    title: "Sicherung",
    what: "Eine Datei mit Einstellungen, Regeln, Verlauf und Stellen; mit einer Passphrase auch Handys und Schlüssel. Medien und Spielstände sind nicht darin.",
    passphrase: "Passphrase (freiwillig)",
    download: "Sicherung herunterladen",
    made: "Die Sicherung ist fertig und wird heruntergeladen.",
    choose: "Sicherung zurückspielen",
    restore: "Diese Sicherung zurückspielen",
    restoreSure:
      "Die Wiedergabe endet, und der Dienst startet neu. Der jetzige Stand bleibt als Sicherung auf dem Gerät.",
    restored: "Die Sicherung ist zurückgespielt. Der Dienst startet neu.",
    madeAt: (time, version) => `Erstellt am ${moment(time)} von Tapdeck ${version}.`,
    insteadOf: (count, now) => `${number(count)} statt ${number(now)}`,
    mappings: "Regeln",
    mappingFiles: "Dateien mit Regeln",
    history: "Aufgelegte Karten",
    positions: "Stellen",
    settings: "Geänderte Einstellungen",
    same: "bleiben, wie sie sind",
    locked: "nur mit der Passphrase",
    warning: "Hinweis",
    leftOut: (count) => `${counted(count, "Regeldatei", "Regeldateien")} nicht lesbar und weggelassen.`,
    notes: {
      "mapping-file-invalid": (file) => `Die Regeldatei ${file} hat einen Fehler und wird nicht benutzt.`,
      "settings-kept": (names) => `Nur eine Wiederherstellung am Gerät selbst ändert: ${names}.`,
      "media-folder-missing": (path) => `Dieses Gerät hat keinen Medienordner ${path}.`,
      "reader-missing": (path) => `Dieses Gerät hat keinen Leser an ${path}.`,
    },
  },
  share: {
    title: "Medien von einem PC kopieren",
    off: "PCs können nichts auf dieses Gerät kopieren, bis Sie ein Passwort setzen.",
    starting: "Die Freigabe startet …",
    on: "PCs in diesem Netzwerk können den Medienordner öffnen, mit einem beliebigen Benutzernamen und dem Passwort.",
    fault: "Die Freigabe ist aus, weil ihr Server nicht läuft: Setzen Sie das Passwort noch einmal.",
    windows: "Windows: {place}",
    others: "Mac, Linux, Handy: {place}",
    password: "Passwort, 8 bis 63 Zeichen",
    switchOn: "Einschalten",
    change: "Passwort ändern",
    switchOff: "Ausschalten",
    offAsk: "Die Freigabe ausschalten?",
    ends: "PCs, die gerade kopieren, werden getrennt.",
  },
});
