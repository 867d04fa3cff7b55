/** The German texts of faults and of failed launches. */
import type { FaultedTexts } from "../faults.ts";

export const germanFaults: FaultedTexts = {
  reasons: {
    blank: "Diese Karte ist leer.",
    unformatted: "Diese Karte ist leer und noch nicht formatiert. Beim Schreiben wird sie formatiert.",
    "half-written": "Der Text auf dieser Karte ist unvollständig. Beschreiben Sie sie neu.",
    "other-message": "Auf dieser Karte sind Daten anderer Art.",
    locked: "Diese Karte ist gesperrt.",
    unreadable: "Diese Karte war nicht lesbar. Legen Sie sie noch einmal auf.",
    "no-text": "Diese Karte hat noch keine Bedeutung.",
    "pairing-card": "Diese Karte koppelt ein Handy. Halten Sie das Handy daran.",
    "taken-over": "Etwas anderes wurde gestartet.",
  },
  faults: {
    "reader-failed": "{subject}: {why}",
    "database-failed": "{why}",
    "disk-full": "Für den Datenordner sind nur noch {kib} KiB frei.",
    "saves-not-kept": "Spielstände können nicht in {subject} gespeichert werden: {why}",
    "saves-memory-full":
      "Der Speicher für Spielstände, {subject}, ist voll: Beenden Sie das Spiel, und starten Sie es neu.",
    "players-unconfined":
      "Player sind nicht abgeschirmt und könnten die Geheimnisse dieses Dienstes lesen: {why}",
    "data-damaged":
      "Die Datenpartition ist beschädigt. Sie ist lesbar, aber Änderungen gehen beim nächsten Start verloren. Sichern Sie Ihre Daten, und beschreiben Sie die SD-Karte neu.",
    "data-lost":
      "Die Datenpartition ist nicht lesbar. Alles geht beim nächsten Start verloren. Beschreiben Sie die SD-Karte neu, oder nehmen Sie eine andere.",
    "boot-unreadable": "Die Boot-Partition ist nicht lesbar, deshalb gilt tapdeck.conf nicht.",
    "update-not-kept":
      "Die Aktualisierung auf {subject} wurde nicht behalten: Sie startete nicht, oder war keine Minute lang fehlerfrei. Die Version davor läuft wieder.",
    "service-restarted": "Der Watchdog hat den Dienst neu gestartet: {why}",
    "service-silent": "Der Watchdog bekam keine Antwort: {why}",
    "machine-resetting": "Der Watchdog setzt dieses Gerät gleich zurück: {why}",
    "machine-reset": "Der Watchdog hat dieses Gerät zurückgesetzt: {why}",
    "machine-reset-again": "Der Watchdog hat dieses Gerät {times}-mal nacheinander zurückgesetzt: {why}",
    "machine-unguarded": "Nichts setzt dieses Gerät zurück, falls es hängt: {why}",
    "check-failed": "{why}",
    "reader-unknown": "{why}",
    "settings-invalid": "{why}",
    "reader-silent": "An {subject} antwortet kein Leser, und kein anderer ist verbunden: {why}",
    "imager-invalid": "In den Einstellungen des Raspberry Pi Imager (firstrun.sh): {why}",
    "override-invalid": "In der Umgebung oder in tapdeck.conf: {why}",
    "conf-invalid": "In tapdeck.conf auf der Boot-Partition: {why}",
    "conf-file-missing":
      "{key} in tapdeck.conf nennt {subject}, und diese Datei ist nicht auf der Boot-Partition.",
    "conf-reader-refused": "Der Leser {subject} aus tapdeck.conf wurde abgelehnt.",
    "cards-key-missing": "cards.key ist nicht gesetzt, deshalb kann kein Paket geprüft werden.",
    "media-missing":
      "In {subject} sind keine Medien: Der Ordner fehlt oder ist leer, oder sein Laufwerk ist nicht angeschlossen.",
    "media-silent": "In {subject} sind keine Medien: Der Ordner antwortet nicht innerhalb von {seconds} s.",
    "program-missing": "Das Programm {subject} fehlt, das der Launcher {launcher} für {systems} braucht.",
    "mqtt-invalid": "{why}",
    "certificate-ends": "Das Zertifikat von {subject} endet bald (Tage übrig: {days}): Erneuern Sie es.",
    "certificate-ended": "Das Zertifikat von {subject} ist abgelaufen: Erneuern Sie es.",
    "cards-refused": "Die geteilten Karten des Servers werden nicht benutzt: {why}",
    "broker-absent":
      "An {subject}, Port {port}, antwortet kein Broker: Prüfen Sie mqtt.url, und ob der Broker läuft.",
    "broker-unknown":
      "Es antwortet kein Broker, weil der Name {subject} unbekannt ist: Prüfen Sie mqtt.url und das Netz.",
    "broker-unreachable": "Keine Verbindung zum Broker: {why}",
    "broker-lost": "Die Verbindung zum Broker ist abgebrochen.",
    "broker-silent":
      "Der Broker hat die Verbindung ohne Antwort geschlossen: Ist sein Port einer mit TLS, muss mqtt.url mit mqtts:// beginnen.",
    "broker-silent-tls":
      "Der Broker hat die Verbindung ohne Antwort geschlossen: Prüfen Sie mqtt.certificate, mqtt.key, und ob der Port einer mit TLS ist.",
    "broker-not-mqtt":
      "Die Antwort von {subject}, Port {port}, ist kein MQTT: Prüfen Sie den Port von mqtt.url; bei einem mit TLS beginnt sie mit mqtts://.",
    "broker-handshake":
      "Der Broker hat den TLS-Aufbau abgebrochen ({why}): Prüfen Sie mqtt.certificate, mqtt.key und den Port.",
    "broker-certificate-host":
      "Das Zertifikat des Brokers gehört zu einem anderen Rechner als {subject}: Prüfen Sie mqtt.url.",
    "broker-certificate-time":
      "Das Zertifikat des Brokers gilt jetzt nicht: Prüfen Sie die Uhr dieses Geräts, oder erneuern Sie das Zertifikat.",
    "broker-certificate-ends":
      "Das Zertifikat des Brokers {subject} endet bald (Tage übrig: {days}): Erneuern Sie es dort.",
    "broker-certificate-untrusted":
      "Dem Zertifikat des Brokers wird nicht vertraut ({why}): mqtt.ca muss die Stelle nennen, die es unterschrieben hat.",
    "broker-version": "Der Broker kennt MQTT 5 nicht: Er braucht mindestens mosquitto 1.6.",
    "broker-password": "Der Broker lehnt Name oder Passwort ab: Prüfen Sie mqtt.user und mqtt.password_file.",
    "broker-refuses":
      "Der Broker lehnt dieses Gerät ab: Prüfen Sie mqtt.user, mqtt.password_file und seine Zugriffsliste.",
    "broker-refuses-name": "Der Broker lehnt den Namen dieses Geräts ab: Setzen Sie eine andere mqtt.id.",
    "broker-refuses-topic":
      "Der Broker lehnt {topic} ab: Erlauben Sie diesem Gerät in der Zugriffsliste des Brokers, dort zu schreiben, oder geben Sie in mqtt.id den Namen aus dieser Liste an.",
    "broker-refuses-subscription": "Der Broker lehnt das Abonnement von {topic} ab: {why}",
    "broker-busy": "Der Broker ist überlastet.",
    "broker-ban": "Der Broker hat dieses Gerät gesperrt.",
    "broker-stopping": "Der Broker fährt herunter.",
    "broker-same-name":
      "Der Broker hat die Verbindung beendet, weil ein anderes Gerät denselben Namen hat: Geben Sie jedem eine eigene mqtt.id.",
    "broker-ended": "Der Broker hat die Verbindung beendet (Grund {reason}).",
  },
};
