/** Buttons, the picture of the screen, the broker and backups in French. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

type Parts = Pick<PageTexts, "buttons" | "picture" | "broker" | "backup" | "share">;

export const frenchParts = ({
  counted,
  moment,
  number,
}: Pick<Numbers, "counted" | "moment" | "number">): Parts => ({
  buttons: {
    how: "Les boutons du boîtier, les molettes et les pavés de touches démarrent quelque chose, comme une carte.",
    none: "Aucun bouton n’est encore appris.",
    add: "Ajouter un bouton",
    pressNow: "Appuyez maintenant sur le bouton, ou tournez la molette.",
    pressHow:
      "Pendant une demi-minute, l’appareil écoute tout ce qui est branché. Seul le premier appui compte.",
    nonePressed: "Aucun bouton n’a été pressé.",
    choose: "Que fait ce bouton ?",
    everyDevice: "tout appareil",
    chooseFor: (name) => `Le bouton doit démarrer ${name}`,
    saveText: "Enregistrer pour le bouton",
    removed: (key) => `${key} ne fait plus rien.`,
  },
  picture: {
    title: "Image de l’écran",
    what: "Ce que montre le téléviseur maintenant. Sans écran, il n’y en a pas tant que rien n’est en cours. Chaque image est aussi gardée sur l’appareil.",
    take: "Prendre une image",
    again: "En prendre une autre",
    alt: "Ce que montre l’appareil",
    takenAt: (time) => `Prise à ${time}.`,
  },
  broker: {
    title: "Broker MQTT",
    what: "Home Assistant et d’autres programmes y apprennent les passages de cartes et pilotent cet appareil.",
    url: "Adresse",
    user: "Compte",
    password: "Mot de passe",
    kept: "enregistré, vide le conserve",
    ca: "Certificat de son autorité (PEM), seulement pour mqtts://",
    role: "Ce qu’il peut faire ici",
    roleWhat:
      "Un joueur lance et arrête les médias, ce qui suffit à Home Assistant. Un membre modifie aussi les cartes et les réglages. Un propriétaire redémarre et met aussi à jour cet appareil : seulement si personne d’autre ne peut écrire sur ce broker.",
    save: "Enregistrer",
    test: "Tester",
    testing: "Connexion…",
    connected: "Connecté.",
    trying: "Pas encore connecté.",
    unconnected: "Enregistré, mais pas connecté.",
    none: "Aucun broker n’est réglé.",
    byImage: "Le fichier tapdeck.conf de la carte mémoire fixe le broker.",
    wrong: "Saisissez l’adresse du broker, par exemple 192.168.1.5 ou mqtt://homeassistant.local:1883.",
    faults: {
      "broker-absent":
        "Rien ne répond à {subject}, port {port}. Vérifiez l’adresse, et si le broker fonctionne.",
      "broker-unknown":
        "Il n’y a pas de {subject} sur le réseau. Vérifiez l’adresse, ou saisissez celle de l’ordinateur en chiffres, par exemple 192.168.1.5.",
      "broker-silent":
        "Le broker ferme la connexion sans réponse. Son port est en général 1883, ou 8883 si l’adresse commence par mqtts://.",
      "broker-silent-tls":
        "Le broker ferme la connexion sans réponse. Si son port est sans TLS, l’adresse doit commencer par mqtt://.",
      "broker-not-mqtt":
        "La réponse de {subject}, port {port}, n’est pas du MQTT. Le port est en général 1883, ou 8883 si l’adresse commence par mqtts://.",
      "broker-certificate-host":
        "Le certificat du broker est celui d’un autre hôte que {subject}. Vérifiez l’adresse.",
      "broker-certificate-untrusted":
        "Le certificat du broker n’est pas reconnu. Choisissez celui de son autorité sous « Pour les experts ».",
      "broker-password": "Le broker refuse le compte ou son mot de passe.",
      "broker-refuses":
        "Le broker refuse cet appareil. Vérifiez le compte, son mot de passe et la liste d’accès du broker.",
    },
  },
  backup: {
    title: "Sauvegarde",
    what: "Un fichier avec les réglages, les règles, l’historique et les positions ; avec une phrase secrète, aussi les téléphones et les clés. Sans les médias ni les parties enregistrées.",
    passphrase: "Phrase secrète (facultative)",
    download: "Télécharger une sauvegarde",
    made: "La sauvegarde est prête et se télécharge.",
    choose: "Restaurer une sauvegarde",
    restore: "Restaurer cette sauvegarde",
    restoreSure:
      "La lecture s’arrête et le service redémarre. L’état actuel est conservé comme sauvegarde sur l’appareil.",
    restored: "La sauvegarde est restaurée. Le service redémarre.",
    madeAt: (time, version) => `Créée le ${moment(time)} par Tapdeck ${version}.`,
    insteadOf: (count, now) => `${number(count)} au lieu de ${number(now)}`,
    mappings: "Règles",
    mappingFiles: "Fichiers de règles",
    history: "Cartes posées",
    positions: "Positions",
    settings: "Réglages modifiés",
    same: "inchangés",
    locked: "seulement avec la phrase secrète",
    warning: "Remarque",
    leftOut: (count) =>
      `${counted(count, "fichier de règles illisible", "fichiers de règles illisibles")}, non compris dans la sauvegarde.`,
    notes: {
      "mapping-file-invalid": (file) =>
        `Le fichier de règles ${file} contient une erreur et n’est pas utilisé.`,
      "settings-kept": (names) => `Seule une restauration sur l’appareil lui-même change ceci : ${names}.`,
      "media-folder-missing": (path) => `Cet appareil n’a pas de dossier de médias ${path}.`,
      "reader-missing": (path) => `Cet appareil n’a pas de lecteur sur ${path}.`,
    },
  },
  share: {
    title: "Copier des médias depuis un PC",
    off: "Les PC ne peuvent rien copier sur cet appareil tant que vous n’avez pas défini de mot de passe.",
    starting: "Le partage démarre…",
    on: "Les PC de ce réseau peuvent ouvrir le dossier des médias, avec n’importe quel nom d’utilisateur et le mot de passe.",
    fault:
      "Le partage est désactivé, car son serveur ne fonctionne pas : définissez de nouveau le mot de passe.",
    windows: "Windows : {place}",
    others: "Mac, Linux, téléphone : {place}",
    password: "Mot de passe, 8 à 63 caractères",
    switchOn: "Activer",
    change: "Changer le mot de passe",
    switchOff: "Désactiver",
    offAsk: "Désactiver le partage ?",
    ends: "Les PC qui copient en ce moment seront coupés.",
  },
});
