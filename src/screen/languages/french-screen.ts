/** The French texts of the graphical screen. */
import { frenchFaults } from "../../core/languages/french-faults.ts";
import type { ScreenTexts } from "../texts.ts";

export const frenchScreen: ScreenTexts = {
  headline: {
    ready: "Posez une carte",
    "no-reader": "Branchez un lecteur",
    "reader-broken": "Le lecteur ne marche pas",
    empty: "Cette carte est vide",
    "not-found": "Introuvable",
    failed: "Cela n’a pas démarré",
    starting: "Démarrage",
    playlist: "Choisissez sur le téléphone",
    "stick-away": "Branchez la clé USB",
    "stick-gone": "La clé USB est partie",
    "time-over": "Le temps de jeu est fini",
    "switching-off": "Extinction",
    restarting: "Redémarrage",
    pairing: "Connectez un téléphone",
  },
  below: {
    ready: "et tout démarre ici",
    "no-reader": "Les cartes ont besoin d’un lecteur",
    "reader-broken": "Débranchez-le, puis rebranchez-le",
    empty: "Choisissez sur le téléphone ce qu’elle démarre",
    "not-found": "Ce que cette carte démarre n’est pas ici",
    failed: "Essayez une autre carte",
    starting: "",
    playlist: "",
    "stick-away": "Ce que cette carte démarre est dessus",
    "stick-gone": "Branchez-la et reposez la carte",
    "time-over": "À la prochaine fois",
    "switching-off": "Débranchez quand la lumière de la carte mère est éteinte",
    restarting: "Cela prend un moment",
    pairing: "Pointez sa caméra vers le code",
  },
  openPage: "Ouvrez sur le téléphone",
  causes: {
    ...frenchFaults.reasons,
    "player-failed": "Ce fichier ne se lit pas. Il est peut-être abîmé ou incomplet.",
    "player-not-ready": "Ce fichier a mis trop de temps. Réessayez.",
    "launcher-missing": "Il n’y a pas de lecteur pour ce fichier.",
    "core-missing": "Il n’y a pas d’émulateur pour ce système.",
    "bios-missing": "Il manque un fichier BIOS à ce jeu.",
    uploading: "Ce fichier est en cours d’envoi.",
    busy: "L’appareil a trop à faire en ce moment.",
  },
  faults: {
    ...frenchFaults.faults,
    "disk-full":
      "La carte mémoire est pleine : vos parties ne sont pas enregistrées. Ouvrez la page sur un téléphone et supprimez quelque chose.",
    "saves-not-kept": "Les sauvegardes ne peuvent pas être gardées : {why}",
    "saves-memory-full": "La mémoire des sauvegardes est pleine : quittez le jeu et relancez-le.",
  },
  noNetwork:
    "Pas de réseau : branchez un câble, ou écrivez le Wi-Fi dans tapdeck.conf sur la carte mémoire. Les cartes marchent quand même.",
  joinWifi: "Rejoignez ce Wi-Fi",
  wifiPassword: "mot de passe",
  noWifi:
    "Pas de réseau : rejoignez ce Wi-Fi avec le téléphone pour en régler un, ou branchez un câble. Les cartes marchent quand même.",
  joiningWifi: "Connexion à « {network} ». Cela prend jusqu’à une minute.",
  wifiLater:
    "Pas de réseau. Peu après un démarrage, le téléphone peut régler le Wi-Fi ici, ou branchez un câble. Les cartes marchent quand même.",
  wifiFaults: {
    "wrong-password": "Le mot de passe du Wi-Fi est faux.",
    "not-found": "Le Wi-Fi est hors de portée.",
    refused: "Le Wi-Fi n’accepte pas cet appareil, ou son signal est trop faible.",
    "no-address": "Le Wi-Fi ne donne pas d’adresse : redémarrez sa box.",
  },
  acts: {
    backup: (name) => `${name} a fait une sauvegarde.`,
    restore: (name) => `${name} restaure une sauvegarde.`,
    "device.update": (name) => `${name} installe une mise à jour.`,
    "device.restart": (name) => `${name} redémarre cet appareil.`,
    "device.shutdown": (name) => `${name} éteint cet appareil.`,
  },
  endGame: "Select + Start sur la manette quitte un jeu",
  typeDigits: "ou tapez",
  atAddress: "sur",
};
