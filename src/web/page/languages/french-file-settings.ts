/** The French explanations of the settings that only the file has, by their keys. */
export const frenchFileSettings = {
  "api.port": "Le port de la commande et de cette page. Valable au prochain démarrage.",
  "api.listen":
    'Les adresses d’écoute, par exemple "127.0.0.1" ; une liste vide signifie toutes. Valable au prochain démarrage.',
  "api.tls_port": "Le port pour TLS ; 0 le désactive. Valable au prochain démarrage.",
  "api.allow_launch":
    'Démarrages par d’autres machines qui ouvrent une adresse comme http://this-device:7497/l/SNES/Game.sfc : aucun (false), tous (true), ou seulement ce qui correspond en entier à l’un de ces motifs, par exemple ["SNES/.*"]. L’appareil lui-même le peut toujours. De plusieurs commandes avec ||, chacune doit correspondre. Un texte avec .., ^ ou [[ ne correspond jamais. Un navigateur demande d’abord une confirmation.',
  "api.allowed_hosts":
    "D’autres noms par lesquels les navigateurs et programmes peuvent s’adresser à cet appareil.",
  "api.allowed_origins":
    'Les sites web qui peuvent utiliser la commande de cet appareil, par exemple "https://deck.example".',
  "api.allow_anonymous_local":
    "Si les programmes de tous les utilisateurs de cet appareil peuvent commander le service lorsqu’il s’exécute en root.",
  "api.anonymous":
    'Ce qui est permis depuis le réseau par TLS sans association : "none" rien, "look" regarder, "play" aussi démarrer et arrêter les médias, "change" aussi les cartes, les règles et les réglages. Sur l’image, anonymous= dans tapdeck.conf l’emporte.',
  "api.metrics":
    "Si GET /metrics montre des compteurs et états à Prometheus. Désactivé, car sur la plupart des appareils tous peuvent regarder. Valable au prochain démarrage.",
  "api.allow_v1_clients":
    "Si les applications qui ne connaissent que l’ancien chiffrement, plus faible (version 1), peuvent être associées par PIN. Celui qui vole plus tard la clé d’un téléphone peut lire les sessions enregistrées.",
  "systems.folders":
    'Dossiers de certains systèmes qui sont ailleurs, par exemple { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.',
  "systems.removable_folders":
    'Dossiers où apparaissent les clés USB, par exemple "/run/media/alex". Chaque clé y est un dossier de médias tant qu’elle est branchée. Sur l’image, c’est /media/usb.',
  "systems.prefer_regions":
    "Si plusieurs fichiers ont le titre d’une carte : les régions préférées, la meilleure d’abord, comme dans les noms de fichiers.",
  "systems.prefer_languages": "De même pour les langues ; les régions passent d’abord.",
  "script.allow_execute":
    "Commandes que les cartes peuvent exécuter avec **execute : des motifs pour toute la ligne de commande. Une liste vide signifie aucune.",
  "script.allow_http":
    "Adresses que les cartes peuvent appeler avec **http.get et **http.post : des motifs pour toute l’adresse. Une liste vide signifie aucune.",
  "script.allow_stream":
    'Hôtes dont les radios et podcasts sont lus par une adresse sur la carte : "radio.example.org", tous ceux d’un domaine avec "*.example.org", ou avec un port. Un appareil du réseau local doit être nommé sans étoile. Une liste vide signifie aucun.',
  "script.allow_input":
    "Si les cartes et appelants peuvent presser les touches d’un clavier et d’une manette virtuels. Elles vont à la fenêtre active, même un terminal.",
  "retroarch.resume":
    "Si un jeu continue là où il s’est arrêté : sa fin enregistre l’état, et le prochain démarrage le charge. Une carte le change avec ?resume=no ou ?resume=yes.",
  "retroarch.saves":
    "Le dossier des sauvegardes. Avec lui, une coupure de courant laisse chaque fichier comme avant ou après un changement, vieux de dix secondes au plus. Sans lui, les réglages de RetroArch décident.",
  "light.brightness":
    "La luminosité maximale des voyants du boîtier, en pour cent ; avec 0, ils restent éteints. Ce sont les LED du noyau dont le nom commence par tapdeck.",
  "hooks.on_scan":
    "Scripts exécutés autour de vos cartes ; un script vide ne fait rien. S’il échoue, le journal le dit et rien d’autre n’arrive, sauf pour before_start. Celui-ci s’exécute quand une carte est posée.",
  "hooks.on_remove": "S’exécute quand une carte est retirée.",
  "hooks.before_start":
    "S’exécute avant le démarrage des médias, qui l’attendent ; s’il échoue, rien ne démarre.",
  "hooks.on_start": "S’exécute après le démarrage des médias.",
  "hooks.on_stop": "S’exécute après la fin des médias.",
  "mqtt.url":
    'L’adresse d’un broker MQTT, par exemple "mqtts://broker.lan:8883" ou "mqtt://192.168.1.5" ; vide signifie aucun. Le broker apprend ce qui se passe ici, y compris les textes et UID des cartes.',
  "mqtt.user": "Le nom du compte de cet appareil auprès du broker.",
  "mqtt.password_file":
    'Un fichier avec le mot de passe de ce compte, par exemple "mqtt-password" dans le dossier de données, ou un chemin complet.',
  "mqtt.ca": "Les certificats (PEM) qui vérifient celui du broker ; vide signifie ceux du système.",
  "mqtt.id":
    "Le nom de cet appareil dans les sujets : lettres, chiffres, - et _. Vide signifie le nom de l’appareil. Deux appareils ont besoin de deux noms.",
  "mqtt.role":
    'Ce que les commandes du broker peuvent faire : "player" regarder, démarrer et arrêter ; "member" aussi les cartes, règles et réglages ; "owner" aussi administrer l’appareil : redémarrer, mettre à jour, sauvegarder et associer des téléphones.',
  "mqtt.discovery":
    "Le préfixe sous lequel l’appareil se décrit à Home Assistant ; vide signifie pas du tout.",
  "mqtt.certificate":
    'Un certificat client (PEM) pour le broker, par exemple "mqtt-certificate.pem" dans le dossier de données, ou un chemin complet.',
  "mqtt.key": "Sa clé, par exemple mqtt-key.pem.",
  "mqtt.base": 'La première partie de tous les sujets : "tapdeck" donne tapdeck/<id>/tap et ainsi de suite.',
  "cards.url":
    'L’adresse d’un paquet de règles, de lanceurs et de limites partagés, par exemple "https://cards.example/all.cards". Il est lu chaque heure ; les réglages et règles de cet appareil passent d’abord. Cette section est valable au prochain démarrage.',
  "cards.key":
    "La clé publique qui doit avoir signé le paquet. Son propriétaire peut démarrer tout programme sur cet appareil.",
  "cards.ca_file":
    'Une autorité (PEM) qui peut aussi signer le certificat du serveur, par exemple "cards-ca.pem" dans le dossier de données, ou un chemin complet.',
  "update.url":
    'L’adresse d’un index de versions, par exemple "https://updates.example/index.json" ; vide signifie aucun. Il est lu chaque jour. Une version plus récente est installée quand rien n’est en cours et qu’aucune carte n’est venue depuis dix minutes. Pour l’image seulement ; fleet.hawkbit_url l’emporte. Valable au prochain démarrage.',
  "fleet.hawkbit_url":
    'L’adresse d’un serveur hawkBit qui met cet appareil à jour, par exemple "https://updates.example" ; un chemin nomme un autre client que DEFAULT. Vide signifie aucun. Cette section est valable au prochain démarrage.',
  "fleet.id":
    "Le nom de cet appareil là-bas (controllerId) : lettres, chiffres, - et _. Vide signifie le nom de l’appareil.",
  "fleet.token_file":
    'Un fichier avec le jeton de sécurité de cette cible, par exemple "hawkbit-token" dans le dossier de données, ou un chemin complet. Sans lui, le certificat client doit suffire au serveur.',
  "fleet.certificate_file":
    'Un certificat client (PEM) pour ce serveur et celui d’update.url, par exemple "fleet-certificate.pem", ou un chemin complet.',
  "fleet.key_file": "Sa clé, par exemple fleet-key.pem.",
  "fleet.ca_file":
    "L’autorité (PEM) qui doit avoir signé le certificat de hawkBit ; vide signifie celles du système.",
  "fleet.interrupt": "Si un déploiement forcé de hawkBit peut arrêter ce qui est en cours. Sinon il attend.",
  "device.site": 'Le lieu de cet appareil, par exemple "library-north" ; les métriques le montrent.',
};
