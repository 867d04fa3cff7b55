/** The page in French, with the formal address. */
import type { Numbers, PageTexts } from "../page-texts.ts";

export const french = ({ number, counted }: Numbers): PageTexts => ({
  language: "Langue",

  connecting: "Connexion …",
  connected: "Connecté",
  lost: "Connexion perdue, nouvel essai …",
  noAnswer: "L’appareil ne répond pas",
  notPaired: "Non associé",
  revoked: "L’appareil ne connaît plus ce téléphone : son accès a été révoqué.",
  pairFirst: "Associez ce téléphone à l’appareil pour l’utiliser d’ici.",
  roleNow: (isPaired, canPlay) =>
    `${isPaired ? "Associé comme joueur" : "Sans association"}, ce téléphone peut ${canPlay ? "lancer et arrêter des médias" : "seulement consulter"}. Associé comme membre, il peut aussi écrire des cartes et voir les passages de cartes et les lecteurs.`,

  navigation: "Écrans",
  screens: { now: "En cours", library: "Médias", cards: "Cartes", device: "Appareil" },

  now: "Lecture en cours",
  nothingPlays: (canPlay) =>
    canPlay
      ? "Rien n’est lancé. Passez une carte, ou cherchez quelque chose ci-dessous."
      : "Rien n’est lancé.",
  playingSince: (system, time) => `${system || "Média"} · depuis ${time}`,
  state: { loading: "Lancement …", buffering: "Chargement …", playing: "", paused: "En pause" },
  stop: "Arrêter",
  pause: "Mettre en pause",
  resume: "Reprendre",
  next: "Suivant",
  previous: "Précédent",
  position: "Position de lecture",
  positionOf: (position, duration) => `${position} sur ${duration}`,
  volume: "Volume sonore",
  chooseOne: "Choisissez",
  playlistFacts: (name, count) => `${name} · ${number(count)} au total`,
  guarded: (name) => `${name} est en cours.`,
  switchNow: "Changer quand même",
  notStarted: "Le lancement a échoué.",

  library: "Médiathèque",
  indexing: "Recherche de médias",
  index: "Rechercher des médias",
  indexAlmost: (files) => `Presque terminé : ${counted(files, "fichier", "fichiers")}`,
  indexAt: (step, files) => `Examen de ${step || "dossiers"} : ${counted(files, "fichier", "fichiers")}`,
  indexed: (files) => `${counted(files, "fichier", "fichiers")}, la recherche est possible.`,
  notIndexed: "Aucune recherche de médias n’a encore eu lieu.",

  find: "Chercher un jeu, une chanson ou un film",
  play: "Lancer quelque chose",
  search: "Recherche",
  starting: (name) => `Lancement de ${name}`,
  asked: "Le lancement a été demandé à l’appareil.",
  card: "Carte",
  writeCard: (name) => `Écrire ${name} sur une carte`,
  nothingFits: "Aucun résultat.",
  shownOf: (shown, total) =>
    shown < total
      ? `${number(shown)} résultats sur ${number(total)}`
      : counted(total, "résultat", "résultats"),
  foundInstead: (words, shown) => `Aucun résultat. À la place, pour « ${words} » : ${shown}`,
  showMore: "Afficher plus",
  write: "Écrire une carte",
  writeTo: (name) => `Posez une carte sur le lecteur pour y écrire « ${name} ».`,
  written: (name) => `Écrit : ${name}`,
  cancel: "Annuler",
  done: "Terminé",

  newCard: "Nouvelle carte",
  newCardIs: (uid, isLocked) =>
    `La carte ${uid} n’a pas encore de fonction. Choisissez ce qu’elle lance.${isLocked ? " Elle est verrouillée : l’appareil retient donc ce choix." : ""}`,
  chooseFor: (name) => `Mettre ${name} sur la carte`,
  tryIt: "Essayer",
  tryOf: (name) => `Essayer ${name}`,
  ownText: "Texte libre",
  ownTextExample: "SNES/Jeu.sfc",
  typeFirst: "Saisissez d’abord un texte.",
  saveText: "Enregistrer sur la carte",
  notNow: "Pas maintenant",
  mapped: (name) =>
    `Cette carte ne peut pas être écrite, l’appareil retient donc : ${name}. Passez la carte à nouveau pour la lancer.`,

  browse: "Parcourir",
  back: "Retour",
  nextPage: "Page suivante",
  previousPage: "Page précédente",
  startingWith: "Noms commençant par",
  allLetters: "Tous les noms",
  nothingHere: "Il n’y a rien ici.",
  browsed: (place, count) =>
    place === ""
      ? counted(count, "système", "systèmes")
      : `${place} · ${counted(count, "fichier ou dossier", "fichiers et dossiers")}`,
  files: (count) => counted(count, "fichier", "fichiers"),

  taps: "Dernières cartes",
  noTaps: "Aucune carte n’a encore été passée.",
  again: "Relancer",
  cardOf: (uid) => `Carte ${uid}`,
  failedAt: (time, reason) => `${time} · ${reason}`,
  readers: "Lecteurs",
  noReaders: "Aucun lecteur n’est branché.",
  notConnected: (path) => `${path} · non connecté`,
  noToken: "Aucune carte n’est posée dessus.",
  tokenHere: (name) => `Posée dessus : ${name}`,
  emptyCard: (uid) => `Carte vide ${uid}`,

  reasons: {
    blank: "Cette carte est vide.",
    unformatted: "Cette carte est vide et pas encore formatée. L’écriture la formate.",
    cutShort: "Le texte de cette carte est incomplet. Écrivez-la à nouveau.",
    otherKind: "Cette carte contient des données d’un autre type.",
    locked: "Cette carte est verrouillée.",
    unreadable: "Cette carte n’a pas pu être lue. Posez-la à nouveau.",
    noMeaning: "Cette carte n’a pas encore de fonction.",
  },

  phones: "Téléphones",
  noPhones: "Aucun téléphone n’est encore associé.",
  whose: "À qui est ce téléphone ?",
  whatMay: "Que peut-il faire ?",
  roles: { member: "Membre", player: "Joueur" },
  member: "Membre : médias, cartes et réglages",
  player: "Joueur : médias seulement",
  pairPhone: "Associer un téléphone",
  shortCode: "Afficher un code court",
  phoneOf: (id) => `Téléphone ${id}`,
  notUsed: "pas encore utilisé",
  lastUsed: (ago, address) => `dernière utilisation ${ago} depuis ${address}`,
  paired: (ago) => `associé ${ago}`,
  revoke: "Révoquer",
  revokeOf: (name) => `Révoquer ${name}`,
  revokedOf: (name) => `${name} ne peut plus se connecter.`,
  noNetwork: "Aucun réseau où un téléphone pourrait se trouver : voir api.listen dans les réglages.",
  scanLink:
    "Visez ce code avec l’appareil photo du téléphone dans les dix minutes. Toute personne qui a ce lien peut utiliser l’appareil : créez-en un par téléphone.",
  qrCode: "Code QR du lien d’association",
  pairByCode: "Associer avec un code",
  openAndType: (address) => `Ouvrez ${address} sur le téléphone et saisissez :`,
  goodUntil: (time) => `Valable jusqu’à ${time}, pour trois essais.`,
  phonePaired: "Le téléphone est associé.",
  threeWrong:
    "Trois codes erronés : quelqu’un essaie peut-être de deviner. Rouvrez l’association pour continuer.",

  pairThis: "Associer ce téléphone",
  pairMore: "Associer ce téléphone pour en faire plus",
  howToPair: [
    "Sur la page ouverte sur l’appareil lui-même, appuyez sur « Associer un téléphone », ou exécutez « tapdeck pair », puis visez le code QR avec l’appareil photo du téléphone.",
    "Ou bien appuyez-y sur « Afficher un code court », exécutez « tapdeck pair --code » ou passez une carte qui contient **pair, puis saisissez ici les six chiffres :",
  ],
  digits: "Les six chiffres",
  pair: "Associer",

  cards: {},
  device: {},
  upload: {},
  backup: {},
});
