/** The page in Spanish, with the formal address. */
import type { Numbers, PageTexts } from "../page-texts.ts";

export const spanish = ({ number, counted }: Numbers): PageTexts => ({
  language: "Idioma",

  connecting: "Conectando …",
  connected: "Conectado",
  lost: "Conexión perdida, nuevo intento …",
  noAnswer: "El dispositivo no responde",
  notPaired: "Sin vincular",
  revoked: "El dispositivo ya no reconoce este teléfono: alguien ha retirado su acceso.",
  pairFirst: "Vincule este teléfono con el dispositivo para usarlo desde aquí.",
  roleNow: (isPaired, canPlay) =>
    `${isPaired ? "Vinculado como jugador" : "Sin vincular"}, este teléfono puede ${canPlay ? "iniciar y detener contenidos" : "solo consultar"}. Vinculado como miembro, también puede escribir tarjetas y ver las últimas tarjetas y los lectores.`,

  navigation: "Pantallas",
  screens: { now: "Ahora", library: "Biblioteca", cards: "Tarjetas", device: "Dispositivo" },

  now: "En reproducción",
  nothingPlays: (canPlay) =>
    canPlay ? "No se reproduce nada. Acerque una tarjeta o busque algo abajo." : "No se reproduce nada.",
  playingSince: (system, time) => `${system || "Contenido"} · desde las ${time}`,
  state: { loading: "Iniciando …", buffering: "Cargando …", playing: "", paused: "En pausa" },
  stop: "Detener",
  pause: "Pausar",
  resume: "Continuar",
  next: "Siguiente",
  previous: "Anterior",
  position: "Posición",
  positionOf: (position, duration) => `${position} de ${duration}`,
  volume: "Volumen",
  chooseOne: "Elija uno",
  playlistFacts: (name, count) => `${name} · ${number(count)} en total`,
  guarded: (name) => `Se está reproduciendo ${name}.`,
  switchNow: "Cambiar de todos modos",
  notStarted: "No se ha iniciado.",

  library: "Colección",
  indexing: "Buscando contenidos",
  index: "Buscar contenidos",
  indexAlmost: (files) => `Casi listo: ${counted(files, "archivo", "archivos")}`,
  indexAt: (step, files) => `Examinando ${step || "carpetas"}: ${counted(files, "archivo", "archivos")}`,
  indexed: (files) => `${counted(files, "archivo", "archivos")}, ya se puede buscar.`,
  notIndexed: "Todavía no se han buscado contenidos.",

  find: "Busque un juego, una canción o una película",
  play: "Reproducir algo",
  search: "Buscar",
  starting: (name) => `Iniciando ${name}`,
  asked: "Se ha pedido al dispositivo que lo inicie.",
  card: "Tarjeta",
  writeCard: (name) => `Escribir ${name} en una tarjeta`,
  nothingFits: "Sin resultados.",
  shownOf: (shown, total) =>
    shown < total
      ? `${number(shown)} de ${number(total)} resultados`
      : counted(total, "resultado", "resultados"),
  foundInstead: (words, shown) => `Sin resultados. En su lugar, para «${words}»: ${shown}`,
  showMore: "Mostrar más",
  write: "Escribir una tarjeta",
  writeTo: (name) => `Coloque una tarjeta sobre el lector para escribir «${name}» en ella.`,
  written: (name) => `Escrito: ${name}`,
  cancel: "Cancelar",
  done: "Listo",

  newCard: "Tarjeta nueva",
  newCardIs: (uid, isLocked) =>
    `La tarjeta ${uid} todavía no tiene función. Elija qué inicia.${isLocked ? " Está bloqueada, así que el dispositivo recordará la elección." : ""}`,
  chooseFor: (name) => `Poner ${name} en la tarjeta`,
  tryIt: "Probar",
  tryOf: (name) => `Probar ${name}`,
  ownText: "Texto propio",
  ownTextExample: "SNES/Juego.sfc",
  typeFirst: "Escriba primero un texto.",
  saveText: "Guardar en la tarjeta",
  notNow: "Ahora no",
  mapped: (name) =>
    `No se puede escribir en la tarjeta, así que el dispositivo recuerda: ${name}. Acerque la tarjeta otra vez para iniciarlo.`,

  browse: "Explorar",
  back: "Atrás",
  nextPage: "Página siguiente",
  previousPage: "Página anterior",
  startingWith: "Nombres que empiezan por",
  allLetters: "Todos los nombres",
  nothingHere: "Aquí no hay nada.",
  browsed: (place, count) =>
    place === ""
      ? counted(count, "sistema", "sistemas")
      : `${place} · ${counted(count, "archivo o carpeta", "archivos y carpetas")}`,
  files: (count) => counted(count, "archivo", "archivos"),

  taps: "Últimas tarjetas",
  noTaps: "Todavía no se ha acercado ninguna tarjeta.",
  again: "Iniciar de nuevo",
  cardOf: (uid) => `Tarjeta ${uid}`,
  failedAt: (time, reason) => `${time} · ${reason}`,
  readers: "Lectores",
  noReaders: "No hay ningún lector conectado.",
  notConnected: (path) => `${path} · sin conexión`,
  noToken: "No hay ninguna tarjeta encima.",
  tokenHere: (name) => `Encima ahora: ${name}`,
  emptyCard: (uid) => `Tarjeta vacía ${uid}`,

  reasons: {
    blank: "Esta tarjeta está vacía.",
    unformatted: "Esta tarjeta está vacía y aún sin formato. Al escribirla se le da formato.",
    cutShort: "El texto de esta tarjeta está incompleto. Escríbala de nuevo.",
    otherKind: "Esta tarjeta contiene datos de otro tipo.",
    locked: "Esta tarjeta está bloqueada.",
    unreadable: "No se ha podido leer esta tarjeta. Colóquela de nuevo.",
    noMeaning: "Esta tarjeta todavía no tiene función.",
  },

  phones: "Teléfonos",
  noPhones: "Todavía no hay ningún teléfono vinculado.",
  whose: "¿De quién es el teléfono?",
  whatMay: "¿Qué puede hacer?",
  roles: { member: "Miembro", player: "Jugador" },
  member: "Miembro: contenidos, tarjetas y ajustes",
  player: "Jugador: solo contenidos",
  pairPhone: "Vincular un teléfono",
  shortCode: "Mostrar un código corto",
  phoneOf: (id) => `Teléfono ${id}`,
  notUsed: "sin usar todavía",
  lastUsed: (ago, address) => `usado por última vez ${ago} desde ${address}`,
  paired: (ago) => `vinculado ${ago}`,
  revoke: "Retirar acceso",
  revokeOf: (name) => `Retirar el acceso a ${name}`,
  revokedOf: (name) => `${name} ya no puede conectarse.`,
  noNetwork: "No hay ninguna red en la que pueda estar un teléfono: consulte api.listen en los ajustes.",
  scanLink:
    "Apunte con la cámara del teléfono en los próximos diez minutos. Cualquiera con este enlace puede usar el dispositivo: cree uno para cada teléfono.",
  qrCode: "Código QR del enlace de vinculación",
  pairByCode: "Vincular con un código",
  openAndType: (address) => `Abra ${address} en el teléfono y escriba:`,
  goodUntil: (time) => `Válido hasta las ${time}, para tres intentos.`,
  phonePaired: "El teléfono está vinculado.",
  threeWrong:
    "Tres códigos erróneos: quizá alguien intenta adivinarlos. Vuelva a abrir la vinculación para continuar.",

  pairThis: "Vincular este teléfono",
  pairMore: "Vincular este teléfono para hacer más",
  howToPair: [
    "En la página abierta en el propio dispositivo, pulse «Vincular un teléfono», o ejecute «tapdeck pair», y apunte al código QR con la cámara del teléfono.",
    "O pulse allí «Mostrar un código corto», ejecute «tapdeck pair --code» o acerque una tarjeta que diga **pair, y escriba aquí las seis cifras:",
  ],
  digits: "Las seis cifras",
  pair: "Vincular",

  cards: {},
  device: {},
  upload: {},
  backup: {},
});
