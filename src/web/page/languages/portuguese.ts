/** The page in Portuguese. */
import type { Numbers, PageTexts } from "../page-texts.ts";

export const portuguese = ({ number, counted }: Numbers): PageTexts => ({
  language: "Idioma",

  connecting: "Conectando …",
  connected: "Conectado",
  lost: "Conexão perdida, nova tentativa …",
  noAnswer: "O dispositivo não responde",
  notPaired: "Não pareado",
  revoked: "O dispositivo não reconhece mais este telefone: o acesso dele foi revogado.",
  pairFirst: "Pareie este telefone com o dispositivo para usá-lo daqui.",
  roleNow: (isPaired, canPlay) =>
    `${isPaired ? "Pareado como jogador" : "Sem pareamento"}, este telefone pode ${canPlay ? "iniciar e parar mídias" : "apenas consultar"}. Pareado como membro, também pode gravar cartões e ver os últimos cartões e os leitores.`,

  navigation: "Telas",
  screens: { now: "Agora", library: "Biblioteca", cards: "Cartões", device: "Dispositivo" },

  now: "Em reprodução",
  nothingPlays: (canPlay) =>
    canPlay ? "Nada em reprodução. Aproxime um cartão ou procure algo abaixo." : "Nada em reprodução.",
  playingSince: (system, time) => `${system || "Mídia"} · desde ${time}`,
  state: { loading: "Iniciando …", buffering: "Carregando …", playing: "", paused: "Em pausa" },
  stop: "Parar",
  pause: "Pausar",
  resume: "Continuar",
  next: "Próximo",
  previous: "Anterior",
  position: "Posição",
  positionOf: (position, duration) => `${position} de ${duration}`,
  volume: "Volume do som",
  chooseOne: "Escolha um",
  playlistFacts: (name, count) => `${name} · ${number(count)} no total`,
  guarded: (name) => `${name} está em reprodução.`,
  switchNow: "Trocar mesmo assim",
  notStarted: "Não foi iniciado.",

  library: "Coleção",
  indexing: "Procurando mídias",
  index: "Procurar mídias",
  indexAlmost: (files) => `Quase pronto: ${counted(files, "arquivo", "arquivos")}`,
  indexAt: (step, files) => `Examinando ${step || "pastas"}: ${counted(files, "arquivo", "arquivos")}`,
  indexed: (files) => `${counted(files, "arquivo", "arquivos")}, pronto para a busca.`,
  notIndexed: "Ainda não se procuraram mídias.",

  find: "Procure um jogo, uma música ou um filme",
  play: "Reproduzir algo",
  search: "Busca",
  starting: (name) => `Iniciando ${name}`,
  asked: "O início foi pedido ao dispositivo.",
  card: "Cartão",
  writeCard: (name) => `Gravar ${name} em um cartão`,
  nothingFits: "Nada encontrado.",
  shownOf: (shown, total) =>
    shown < total
      ? `${number(shown)} de ${number(total)} resultados`
      : counted(total, "resultado", "resultados"),
  foundInstead: (words, shown) => `Nada encontrado. Em vez disso, para “${words}”: ${shown}`,
  showMore: "Mostrar mais",
  write: "Gravar um cartão",
  writeTo: (name) => `Coloque um cartão sobre o leitor para gravar “${name}” nele.`,
  written: (name) => `Gravado: ${name}`,
  cancel: "Cancelar",
  done: "Concluído",

  newCard: "Cartão novo",
  newCardIs: (uid, isLocked) =>
    `O cartão ${uid} ainda não tem função. Escolha o que ele inicia.${isLocked ? " Ele está bloqueado, por isso o dispositivo guarda a escolha." : ""}`,
  chooseFor: (name) => `Pôr ${name} no cartão`,
  tryIt: "Testar",
  tryOf: (name) => `Testar ${name}`,
  ownText: "Texto próprio",
  ownTextExample: "SNES/Jogo.sfc",
  typeFirst: "Digite primeiro um texto.",
  saveText: "Salvar no cartão",
  notNow: "Agora não",
  mapped: (name) =>
    `O cartão não pode ser gravado, por isso o dispositivo guarda: ${name}. Aproxime o cartão de novo para iniciar.`,

  browse: "Explorar",
  back: "Voltar",
  nextPage: "Próxima página",
  previousPage: "Página anterior",
  startingWith: "Nomes que começam com",
  allLetters: "Todos os nomes",
  nothingHere: "Não há nada aqui.",
  browsed: (place, count) =>
    place === ""
      ? counted(count, "sistema", "sistemas")
      : `${place} · ${counted(count, "arquivo ou pasta", "arquivos e pastas")}`,
  files: (count) => counted(count, "arquivo", "arquivos"),

  taps: "Últimos cartões",
  noTaps: "Nenhum cartão foi aproximado ainda.",
  again: "Iniciar de novo",
  cardOf: (uid) => `Cartão ${uid}`,
  failedAt: (time, reason) => `${time} · ${reason}`,
  readers: "Leitores",
  noReaders: "Nenhum leitor está conectado.",
  notConnected: (path) => `${path} · não conectado`,
  noToken: "Nenhum cartão está sobre ele.",
  tokenHere: (name) => `Agora aqui: ${name}`,
  emptyCard: (uid) => `Cartão vazio ${uid}`,

  reasons: {
    blank: "Este cartão está vazio.",
    unformatted: "Este cartão está vazio e ainda não formatado. A gravação o formata.",
    cutShort: "O texto deste cartão está incompleto. Grave-o de novo.",
    otherKind: "Este cartão contém dados de outro tipo.",
    locked: "Este cartão está bloqueado.",
    unreadable: "Não foi possível ler este cartão. Coloque-o de novo.",
    noMeaning: "Este cartão ainda não tem função.",
  },

  phones: "Telefones",
  noPhones: "Nenhum telefone está pareado ainda.",
  whose: "De quem é o telefone?",
  whatMay: "O que ele pode fazer?",
  roles: { member: "Membro", player: "Jogador" },
  member: "Membro: mídias, cartões e configurações",
  player: "Jogador: apenas mídias",
  pairPhone: "Parear um telefone",
  shortCode: "Mostrar um código curto",
  phoneOf: (id) => `Telefone ${id}`,
  notUsed: "ainda não usado",
  lastUsed: (ago, address) => `último uso ${ago} de ${address}`,
  paired: (ago) => `pareado ${ago}`,
  revoke: "Revogar",
  revokeOf: (name) => `Revogar ${name}`,
  revokedOf: (name) => `${name} não pode mais se conectar.`,
  noNetwork: "Não há rede em que um telefone possa estar: veja api.listen nas configurações.",
  scanLink:
    "Aponte a câmera do telefone para o código em até dez minutos. Qualquer pessoa com este link pode usar o dispositivo: crie um para cada telefone.",
  qrCode: "Código QR do link de pareamento",
  pairByCode: "Parear com um código",
  openAndType: (address) => `Abra ${address} no telefone e digite:`,
  goodUntil: (time) => `Válido até ${time}, para três tentativas.`,
  phonePaired: "O telefone está pareado.",
  threeWrong:
    "Três códigos errados: talvez alguém esteja tentando adivinhar. Abra o pareamento de novo para continuar.",

  pairThis: "Parear este telefone",
  pairMore: "Parear este telefone para fazer mais",
  howToPair: [
    "Na página aberta no próprio dispositivo, pressione “Parear um telefone”, ou execute “tapdeck pair”, e aponte a câmera do telefone para o código QR.",
    "Ou pressione ali “Mostrar um código curto”, execute “tapdeck pair --code” ou aproxime um cartão que diga **pair, e digite aqui os seis dígitos:",
  ],
  digits: "Os seis dígitos",
  pair: "Parear",

  cards: {},
  device: {},
  upload: {},
  backup: {},
});
