/** The texts of the page by which a phone sets up the Wi-Fi, in the languages of the page. */
import type { WifiFault } from "../core/wifi-shapes.ts";

export interface WifiTexts {
  readonly title: string;
  readonly hint: string;
  readonly password: string;
  readonly connect: string;
  readonly other: string;
  readonly name: string;
  readonly search: string;
  readonly nothing: string;
  readonly open: string;
  readonly notHere: string;
  readonly passwordRule: string;
  readonly nameRule: string;
  /** The headline and the text while a network is tried. */
  readonly trying: string;
  readonly tryingHint: string;
  readonly searching: string;
  readonly searchingHint: string;
  readonly faults: Readonly<Record<WifiFault, string>>;
}

const english: WifiTexts = {
  title: "Set up Wi-Fi",
  hint: "Choose your Wi-Fi. Cards work without it; the page for phones needs it.",
  password: "Password",
  connect: "Connect",
  other: "Another network",
  name: "Name of the network",
  search: "Search again",
  nothing: "No network was found here.",
  open: "without a password",
  notHere: "cannot be used",
  passwordRule: "A Wi-Fi password has 8 to 63 characters.",
  nameRule: "Enter the name of the network, at most 32 characters.",
  trying: "Trying {network}",
  tryingHint:
    "This Wi-Fi goes away meanwhile. The television shows the result. If the network does not work, this page is back in about a minute.",
  searching: "Searching",
  searchingHint: "This Wi-Fi goes away for ten seconds. Join it again, and this page is back.",
  faults: {
    "wrong-password": "The password of {network} is wrong.",
    "not-found": "{network} is not in reach.",
    refused: "{network} does not let this device in, or its signal is too weak.",
    "no-address": "{network} gives no address: restart its router.",
  },
};

const german: WifiTexts = {
  title: "WLAN einrichten",
  hint: "Wähle dein WLAN. Karten gehen auch ohne; die Seite für Handys braucht es.",
  password: "Passwort",
  connect: "Verbinden",
  other: "Anderes Netz",
  name: "Name des Netzes",
  search: "Noch einmal suchen",
  nothing: "Hier wurde kein Netz gefunden.",
  open: "ohne Passwort",
  notHere: "geht nicht",
  passwordRule: "Ein WLAN-Passwort hat 8 bis 63 Zeichen.",
  nameRule: "Gib den Namen des Netzes ein, höchstens 32 Zeichen.",
  trying: "{network} wird versucht",
  tryingHint:
    "Dieses WLAN ist solange weg. Der Fernseher zeigt das Ergebnis. Wenn es nicht geht, ist diese Seite nach etwa einer Minute wieder da.",
  searching: "Es wird gesucht",
  searchingHint: "Dieses WLAN ist zehn Sekunden lang weg. Verbinde dich dann wieder damit.",
  faults: {
    "wrong-password": "Das Passwort von {network} ist falsch.",
    "not-found": "{network} ist nicht in Reichweite.",
    refused: "{network} lässt dieses Gerät nicht hinein, oder das Signal ist zu schwach.",
    "no-address": "{network} gibt keine Adresse: starte den Router neu.",
  },
};

const french: WifiTexts = {
  title: "Configurer le Wi-Fi",
  hint: "Choisissez votre Wi-Fi. Les cartes marchent sans ; la page pour téléphones en a besoin.",
  password: "Mot de passe",
  connect: "Connecter",
  other: "Autre réseau",
  name: "Nom du réseau",
  search: "Chercher encore",
  nothing: "Aucun réseau n’a été trouvé ici.",
  open: "sans mot de passe",
  notHere: "inutilisable",
  passwordRule: "Un mot de passe Wi-Fi a 8 à 63 caractères.",
  nameRule: "Entrez le nom du réseau, 32 caractères au plus.",
  trying: "Essai de {network}",
  tryingHint:
    "Ce Wi-Fi disparaît entre-temps. Le téléviseur montre le résultat. Si le réseau ne marche pas, cette page revient après une minute environ.",
  searching: "Recherche",
  searchingHint: "Ce Wi-Fi disparaît pendant dix secondes. Connectez-vous-y de nouveau ensuite.",
  faults: {
    "wrong-password": "Le mot de passe de {network} est faux.",
    "not-found": "{network} n’est pas à portée.",
    refused: "{network} refuse cet appareil, ou son signal est trop faible.",
    "no-address": "{network} ne donne pas d’adresse : redémarrez sa box.",
  },
};

const spanish: WifiTexts = {
  title: "Configurar el wifi",
  hint: "Elige tu wifi. Las tarjetas funcionan sin él; la página para móviles lo necesita.",
  password: "Contraseña",
  connect: "Conectar",
  other: "Otra red",
  name: "Nombre de la red",
  search: "Buscar otra vez",
  nothing: "Aquí no se ha encontrado ninguna red.",
  open: "sin contraseña",
  notHere: "no se puede usar",
  passwordRule: "Una contraseña de wifi tiene de 8 a 63 caracteres.",
  nameRule: "Escribe el nombre de la red, 32 caracteres como máximo.",
  trying: "Probando {network}",
  tryingHint:
    "Este wifi desaparece mientras tanto. El televisor muestra el resultado. Si la red no funciona, esta página vuelve en un minuto más o menos.",
  searching: "Buscando",
  searchingHint: "Este wifi desaparece durante diez segundos. Después, vuelve a conectarte a él.",
  faults: {
    "wrong-password": "La contraseña de {network} no es correcta.",
    "not-found": "{network} no está al alcance.",
    refused: "{network} no deja entrar a este aparato, o su señal es demasiado débil.",
    "no-address": "{network} no da ninguna dirección: reinicia el router.",
  },
};

const portuguese: WifiTexts = {
  title: "Configurar o Wi-Fi",
  hint: "Escolha o seu Wi-Fi. Os cartões funcionam sem ele; a página para telefones precisa dele.",
  password: "Senha",
  connect: "Conectar",
  other: "Outra rede",
  name: "Nome da rede",
  search: "Procurar de novo",
  nothing: "Não foi encontrada nenhuma rede aqui.",
  open: "sem senha",
  notHere: "não se pode usar",
  passwordRule: "Uma senha de Wi-Fi tem de 8 a 63 caracteres.",
  nameRule: "Digite o nome da rede, no máximo 32 caracteres.",
  trying: "Testando {network}",
  tryingHint:
    "Este Wi-Fi some enquanto isso. A televisão mostra o resultado. Se a rede não funcionar, esta página volta em cerca de um minuto.",
  searching: "Procurando",
  searchingHint: "Este Wi-Fi some por dez segundos. Depois, conecte-se a ele de novo.",
  faults: {
    "wrong-password": "A senha de {network} está errada.",
    "not-found": "{network} não está ao alcance.",
    refused: "{network} não deixa este aparelho entrar, ou o sinal é fraco demais.",
    "no-address": "{network} não dá nenhum endereço: reinicie o roteador.",
  },
};

const japanese: WifiTexts = {
  title: "Wi-Fiの設定",
  hint: "Wi-Fiを選んでください。カードはWi-Fiなしでも使えます。スマートフォンのページには必要です。",
  password: "パスワード",
  connect: "接続",
  other: "ほかのネットワーク",
  name: "ネットワークの名前",
  search: "もう一度探す",
  nothing: "ここではネットワークが見つかりませんでした。",
  open: "パスワードなし",
  notHere: "使えません",
  passwordRule: "Wi-Fiのパスワードは8文字から63文字です。",
  nameRule: "ネットワークの名前を32文字以内で入力してください。",
  trying: "{network}に接続しています",
  tryingHint:
    "その間、このWi-Fiは切れます。結果はテレビに出ます。つながらないときは、1分ほどでこのページに戻れます。",
  searching: "探しています",
  searchingHint: "このWi-Fiは10秒ほど切れます。その後、もう一度つないでください。",
  faults: {
    "wrong-password": "{network}のパスワードが違います。",
    "not-found": "{network}は届く範囲にありません。",
    refused: "{network}に接続を断られたか、電波が弱すぎます。",
    "no-address": "{network}からアドレスが来ません。ルーターを再起動してください。",
  },
};

const languages: Readonly<Record<string, WifiTexts>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  pt: portuguese,
  ja: japanese,
};

/** The first known language of a browser's Accept-Language (RFC 9110, 12.5.4), with its code. */
export function wifiTexts(accepted: string | null): { readonly code: string; readonly texts: WifiTexts } {
  const asked = (accepted ?? "").split(",").map((entry) => {
    const [tag = "", ...options] = entry
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const quality = options.find((option) => option.startsWith("q="))?.slice(2);
    return { code: tag.split("-")[0] ?? "", quality: quality === undefined ? 1 : Number(quality) || 0 };
  });
  const wanted = asked.filter(({ quality }) => quality > 0).toSorted((a, b) => b.quality - a.quality);
  const code = wanted.find((one) => Object.hasOwn(languages, one.code))?.code ?? "en";
  return { code, texts: languages[code] ?? english };
}
