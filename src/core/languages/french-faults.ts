/** The French texts of faults and of failed launches. */
import type { FaultedTexts } from "../faults.ts";

export const frenchFaults: FaultedTexts = {
  reasons: {
    blank: "Cette carte est vide.",
    unformatted: "Cette carte est vide et pas encore formatée. L’écriture la formate.",
    "half-written": "Le texte de cette carte est incomplet. Écrivez-la à nouveau.",
    "other-message": "Cette carte contient des données d’un autre type.",
    locked: "Cette carte est verrouillée.",
    unreadable: "Cette carte n’a pas pu être lue. Posez-la à nouveau.",
    "no-text": "Cette carte n’a pas encore de fonction.",
    "pairing-card": "Cette carte associe un téléphone. Approchez le téléphone de la carte.",
    "taken-over": "Autre chose a été lancé.",
  },
  faults: {
    "reader-failed": "{subject} : {why}",
    "database-failed": "{why}",
    "disk-full": "Il ne reste que {kib} Kio libres pour le dossier des données.",
    "saves-not-kept": "Les sauvegardes ne peuvent pas être gardées dans {subject} : {why}",
    "saves-memory-full":
      "La mémoire des sauvegardes, {subject}, est pleine : terminez le jeu et relancez-le.",
    "players-unconfined":
      "Les lecteurs de médias ne sont pas isolés et pourraient lire les secrets de ce service : {why}",
    "data-damaged":
      "La partition des données est abîmée. Elle est lisible, mais les changements seront perdus au prochain démarrage. Copiez ce qu’il vous faut et réécrivez la carte SD.",
    "data-lost":
      "La partition des données est illisible. Tout sera perdu au prochain démarrage. Réécrivez la carte SD ou essayez-en une autre.",
    "boot-unreadable": "La partition de démarrage est illisible, donc tapdeck.conf ne compte pas.",
    "update-not-kept":
      "La mise à jour vers {subject} n’a pas été gardée : elle n’a pas démarré, ou n’a pas été sans défaut pendant une minute. La version précédente fonctionne à nouveau.",
    "service-restarted": "Le chien de garde a relancé le service : {why}",
    "service-silent": "Le chien de garde n’a pas eu de réponse : {why}",
    "machine-resetting": "Le chien de garde va réinitialiser cet appareil : {why}",
    "machine-reset": "Le chien de garde a réinitialisé cet appareil : {why}",
    "machine-reset-again": "Le chien de garde a réinitialisé cet appareil {times} fois de suite : {why}",
    "machine-unguarded": "Rien ne réinitialise cet appareil s’il se bloque : {why}",
    "check-failed": "{why}",
    "reader-unknown": "{why}",
    "settings-invalid": "{why}",
    "reader-silent": "Aucun lecteur ne répond sur {subject}, et aucun autre n’est connecté : {why}",
    "imager-invalid": "Dans les réglages de Raspberry Pi Imager (firstrun.sh) : {why}",
    "override-invalid": "Dans l’environnement ou tapdeck.conf : {why}",
    "conf-invalid": "Dans tapdeck.conf sur la partition de démarrage : {why}",
    "conf-file-missing":
      "{key} dans tapdeck.conf nomme {subject}, et ce fichier n’est pas sur la partition de démarrage.",
    "conf-reader-refused": "Le lecteur {subject} de tapdeck.conf a été refusé.",
    "cards-key-missing": "cards.key n’est pas défini, donc aucun lot ne peut être vérifié.",
    "media-missing":
      "Il n’y a aucun média dans {subject} : le dossier manque ou est vide, ou son disque n’est pas branché.",
    "media-silent": "Il n’y a aucun média dans {subject} : pas de réponse en {seconds} s.",
    "program-missing":
      "Il manque le programme {subject}, dont le lanceur {launcher} a besoin pour {systems}.",
    "mqtt-invalid": "{why}",
    "certificate-ends":
      "Le certificat de {subject} expire bientôt (jours restants : {days}) : renouvelez-le.",
    "certificate-ended": "Le certificat de {subject} a expiré : renouvelez-le.",
    "cards-refused": "Les cartes partagées du serveur ne sont pas utilisées : {why}",
    "broker-absent":
      "Aucun broker ne répond à {subject}, port {port} : vérifiez mqtt.url, et si le broker fonctionne.",
    "broker-unknown":
      "Aucun broker ne répond, car le nom {subject} est inconnu : vérifiez mqtt.url et le réseau.",
    "broker-unreachable": "Pas de connexion au broker : {why}",
    "broker-lost": "La connexion au broker a été coupée.",
    "broker-silent":
      "Le broker a fermé la connexion sans réponse : si son port est celui avec TLS, mqtt.url doit commencer par mqtts://.",
    "broker-silent-tls":
      "Le broker a fermé la connexion sans réponse : vérifiez mqtt.certificate, mqtt.key, et si le port est celui du TLS.",
    "broker-not-mqtt":
      "La réponse de {subject}, port {port}, n’est pas du MQTT : vérifiez le port de mqtt.url ; s’il est avec TLS, elle commence par mqtts://.",
    "broker-handshake":
      "Le broker a interrompu l’échange TLS ({why}) : vérifiez mqtt.certificate, mqtt.key et le port.",
    "broker-certificate-host":
      "Le certificat du broker est celui d’un autre hôte que {subject} : vérifiez mqtt.url.",
    "broker-certificate-time":
      "Le certificat du broker n’est pas valable maintenant : vérifiez l’horloge de cet appareil, ou renouvelez le certificat.",
    "broker-certificate-ends":
      "Le certificat du broker {subject} expire bientôt (jours restants : {days}) : renouvelez-le sur ce serveur.",
    "broker-certificate-untrusted":
      "Le certificat du broker n’est pas reconnu ({why}) : mqtt.ca doit nommer l’autorité qui l’a signé.",
    "broker-version": "Le broker ne connaît pas MQTT 5 : il faut au moins mosquitto 1.6.",
    "broker-password":
      "Le broker refuse le nom ou le mot de passe : vérifiez mqtt.user et mqtt.password_file.",
    "broker-refuses":
      "Le broker refuse cet appareil : vérifiez mqtt.user, mqtt.password_file et sa liste d’accès.",
    "broker-refuses-name": "Le broker refuse le nom de cet appareil : choisissez un autre mqtt.id.",
    "broker-refuses-topic":
      "Le broker refuse {topic} : autorisez cet appareil à y écrire dans la liste d’accès du broker, ou donnez dans mqtt.id le nom de cette liste.",
    "broker-refuses-subscription": "Le broker refuse l’abonnement à {topic} : {why}",
    "broker-busy": "Le broker est surchargé.",
    "broker-ban": "Le broker a banni cet appareil.",
    "broker-stopping": "Le broker s’arrête.",
    "broker-same-name":
      "Le broker a coupé la connexion, car un autre appareil a le même nom : donnez à chacun son propre mqtt.id.",
    "broker-ended": "Le broker a coupé la connexion (raison {reason}).",
  },
};
