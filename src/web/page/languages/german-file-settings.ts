/** The German explanations of the settings that only the file has, by their keys. */
export const germanFileSettings = {
  "api.port": "Der Port der Steuerung und dieser Seite. Gilt ab dem nächsten Start.",
  "api.listen":
    'Die Adressen, an denen das Gerät erreichbar ist, etwa "127.0.0.1". Eine leere Liste heißt: alle. Gilt ab dem nächsten Start.',
  "api.tls_port": "Der Port für TLS; 0 schaltet es ab. Gilt ab dem nächsten Start.",
  "api.allow_launch":
    'Starts durch andere Geräte, die eine Adresse wie http://this-device:7497/l/SNES/Game.sfc öffnen: keine (false), alle (true), oder nur, was eines dieser Muster ganz trifft, etwa ["SNES/.*"]. Das Gerät selbst darf das immer. Von mehreren Befehlen mit || muss jeder für sich passen. Texte mit .., ^ oder [[ passen nie. Ein Browser fragt vorher einmal nach.',
  "api.allowed_hosts": "Weitere Namen, unter denen Browser und Programme dieses Gerät ansprechen dürfen.",
  "api.allowed_origins":
    'Webseiten, die die Steuerung dieses Geräts benutzen dürfen, etwa "https://deck.example".',
  "api.allow_anonymous_local":
    "Ob Programme aller Benutzer dieses Geräts den Dienst steuern dürfen, wenn er als root läuft.",
  "api.anonymous":
    'Was ohne Kopplung aus dem Netzwerk über TLS erlaubt ist: "none" nichts, "look" zusehen, "play" auch Medien starten und stoppen, "change" auch Karten, Regeln und Einstellungen. Auf dem Image hat anonymous= in tapdeck.conf Vorrang.',
  "api.metrics":
    "Ob GET /metrics Prometheus Zähler und Zustände zeigt. Aus, weil auf den meisten Geräten auch ungekoppelte Aufrufer zusehen dürfen. Gilt ab dem nächsten Start.",
  "api.allow_v1_clients":
    "Ob Apps, die nur die ältere, schwächere Verschlüsselung (Version 1) kennen, per PIN gekoppelt werden dürfen. Wer später den Schlüssel eines Handys stiehlt, kann aufgezeichnete Sitzungen lesen.",
  "systems.folders":
    'Ordner einzelner Systeme, die woanders liegen, etwa { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.',
  "systems.removable_folders":
    'Ordner, in denen USB-Sticks erscheinen, etwa "/run/media/alex". Jeder Stick ist dort ein Medienordner, solange er angeschlossen ist. Auf dem Image ist es /media/usb.',
  "systems.prefer_regions":
    "Wenn mehrere Dateien zum Titel einer Karte passen: die bevorzugten Regionen, die beste zuerst, wie in den Dateinamen.",
  "systems.prefer_languages": "Dasselbe für Sprachen; Regionen haben Vorrang.",
  "script.allow_execute":
    "Befehle, die Karten mit **execute ausführen dürfen: Muster, die die ganze Befehlszeile treffen. Eine leere Liste heißt: keine.",
  "script.allow_http":
    "Adressen, die Karten mit **http.get und **http.post aufrufen dürfen: Muster, die die ganze Adresse treffen. Eine leere Liste heißt: keine.",
  "script.allow_stream":
    'Rechner, deren Webradio und Podcasts über eine Adresse auf der Karte spielen: "radio.example.org", alle darunter als "*.example.org", oder mit Port. Geräte im eigenen Netz müssen ohne Stern genannt sein. Eine leere Liste heißt: keine.',
  "script.allow_input":
    "Ob Karten und Aufrufer Tasten einer virtuellen Tastatur und eines virtuellen Gamepads drücken dürfen. Sie erreichen das Fenster im Vordergrund, auch ein Terminal.",
  "retroarch.resume":
    "Ob ein Spiel dort weitergeht, wo es endete: Sein Ende speichert den Zustand, der nächste Start lädt ihn. Eine Karte ändert das mit ?resume=no oder ?resume=yes.",
  "retroarch.saves":
    "Der Ordner für Spielstände. Mit ihm bleibt bei Stromausfall jede Datei wie vor oder nach einer Änderung, höchstens zehn Sekunden alt. Ohne ihn gelten die Einstellungen von RetroArch.",
  "light.brightness":
    "Die höchste Helligkeit der Leuchten des Gehäuses in Prozent; mit 0 bleiben sie dunkel. Es sind die LEDs des Kernels, deren Namen mit tapdeck beginnen.",
  "hooks.on_scan":
    "Skripte, die rund um Ihre Karten laufen; ein leeres tut nichts. Schlägt eines fehl, steht das im Protokoll, und sonst geschieht nichts, außer bei before_start. Dieses läuft, wenn eine Karte aufgelegt wird.",
  "hooks.on_remove": "Läuft, wenn eine Karte weggenommen wird.",
  "hooks.before_start":
    "Läuft, bevor Medien starten, und sie warten darauf. Schlägt es fehl, startet nichts.",
  "hooks.on_start": "Läuft, nachdem Medien gestartet sind.",
  "hooks.on_stop": "Läuft, nachdem Medien geendet haben.",
  "mqtt.url":
    'Die Adresse eines MQTT-Brokers, etwa "mqtts://broker.lan:8883" oder "mqtt://192.168.1.5"; leer heißt: keiner. Der Broker erfährt, was hier geschieht, auch Texte und UIDs von Karten.',
  "mqtt.user": "Der Name des Kontos dieses Geräts beim Broker.",
  "mqtt.password_file":
    'Eine Datei mit dem Passwort dieses Kontos, etwa "mqtt-password" im Datenordner, oder ein voller Pfad.',
  "mqtt.ca": "Die Zertifikate (PEM), mit denen das des Brokers geprüft wird; leer heißt: die des Systems.",
  "mqtt.id":
    "Der Name dieses Geräts in Themen: Buchstaben, Ziffern, - und _. Leer heißt: der Name des Geräts. Zwei Geräte brauchen zwei Namen.",
  "mqtt.role":
    'Was Befehle vom Broker dürfen: "player" zusehen, starten und stoppen; "member" auch Karten, Regeln und Einstellungen; "owner" auch das Gerät verwalten: neu starten, aktualisieren, sichern und Handys koppeln.',
  "mqtt.discovery":
    "Das Präfix, unter dem sich das Gerät bei Home Assistant beschreibt; leer heißt: gar nicht.",
  "mqtt.certificate":
    'Ein Client-Zertifikat (PEM) für den Broker, etwa "mqtt-certificate.pem" im Datenordner, oder ein voller Pfad.',
  "mqtt.key": "Sein Schlüssel, etwa mqtt-key.pem.",
  "mqtt.base": 'Der erste Teil aller Themen: "tapdeck" ergibt tapdeck/<id>/tap und so weiter.',
  "cards.url":
    'Die Adresse eines Pakets geteilter Regeln, Launcher und Grenzen, etwa "https://cards.example/all.cards". Es wird stündlich gelesen; eigene Einstellungen und Regeln haben Vorrang. Dieser Abschnitt gilt ab dem nächsten Start.',
  "cards.key":
    "Der öffentliche Schlüssel, mit dem das Paket unterschrieben sein muss. Sein Besitzer kann auf diesem Gerät jedes Programm starten.",
  "cards.ca_file":
    'Eine Zertifizierungsstelle (PEM), die auch das Zertifikat des Servers unterschreiben darf, etwa "cards-ca.pem" im Datenordner, oder ein voller Pfad.',
  "update.url":
    'Die Adresse eines Verzeichnisses von Versionen, etwa "https://updates.example/index.json"; leer heißt: keines. Es wird täglich gelesen. Eine neuere Version wird installiert, wenn nichts läuft und zehn Minuten lang keine Karte kam. Nur für das Image; fleet.hawkbit_url hat Vorrang. Gilt ab dem nächsten Start.',
  "fleet.hawkbit_url":
    'Die Adresse eines hawkBit-Servers, der dieses Gerät aktualisiert, etwa "https://updates.example"; ein Pfad nennt einen anderen Mandanten als DEFAULT. Leer heißt: keiner. Dieser Abschnitt gilt ab dem nächsten Start.',
  "fleet.id":
    "Der Name dieses Geräts dort (controllerId): Buchstaben, Ziffern, - und _. Leer heißt: der Name des Geräts.",
  "fleet.token_file":
    'Eine Datei mit dem Sicherheitstoken dieses Ziels, etwa "hawkbit-token" im Datenordner, oder ein voller Pfad. Ohne sie muss dem Server das Client-Zertifikat genügen.',
  "fleet.certificate_file":
    'Ein Client-Zertifikat (PEM) für diesen Server und den von update.url, etwa "fleet-certificate.pem", oder ein voller Pfad.',
  "fleet.key_file": "Sein Schlüssel, etwa fleet-key.pem.",
  "fleet.ca_file":
    "Die Zertifizierungsstelle (PEM), die das Zertifikat von hawkBit unterschrieben haben muss; leer heißt: die des Systems.",
  "fleet.interrupt":
    "Ob eine erzwungene Aktualisierung von hawkBit das Laufende beenden darf. Sonst wartet sie, bis nichts läuft.",
  "device.site": 'Der Standort dieses Geräts, etwa "library-north"; die Metriken zeigen ihn.',
};
