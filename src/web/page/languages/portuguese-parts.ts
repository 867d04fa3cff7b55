/** Buttons, the picture of the screen, the broker and backups in Portuguese. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

type Parts = Pick<PageTexts, "buttons" | "picture" | "broker" | "backup" | "share">;

export const portugueseParts = ({
  counted,
  moment,
  number,
}: Pick<Numbers, "counted" | "moment" | "number">): Parts => ({
  buttons: {
    how: "Botões do gabinete, rodas e teclados iniciam algo, como um cartão.",
    none: "Nenhum botão foi ensinado ainda.",
    add: "Adicionar um botão",
    pressNow: "Aperte agora o botão ou gire a roda.",
    pressHow: "Durante meio minuto o aparelho escuta tudo o que está conectado. Só o primeiro toque conta.",
    nonePressed: "Nenhum botão foi apertado.",
    choose: "O que este botão faz?",
    everyDevice: "qualquer aparelho",
    chooseFor: (name) => `O botão deve iniciar ${name}`,
    saveText: "Salvar para o botão",
    removed: (key) => `${key} não faz mais nada.`,
  },
  picture: {
    title: "Imagem da tela",
    what: "O que a televisão mostra agora. Sem tela não há imagem enquanto nada está em reprodução. Cada imagem também fica no aparelho.",
    take: "Capturar uma imagem",
    again: "Capturar outra",
    alt: "O que o aparelho mostra",
    takenAt: (time) => `Capturada às ${time}.`,
  },
  broker: {
    title: "Broker MQTT",
    what: "O Home Assistant e outros programas recebem ali os toques de cartões e controlam este aparelho.",
    url: "Endereço",
    user: "Conta",
    password: "Senha",
    kept: "guardada, vazia a mantém",
    ca: "Certificado da autoridade (PEM), só para mqtts://",
    role: "O que ele pode fazer aqui",
    roleWhat:
      "Um jogador inicia e para mídias, o que basta para o Home Assistant. Um membro também muda cartões e configurações. Um dono também reinicia e atualiza este aparelho: só se ninguém mais puder escrever nesse broker.",
    save: "Salvar",
    test: "Testar",
    testing: "Conectando…",
    connected: "Conectado.",
    trying: "Ainda sem conexão.",
    unconnected: "Salvo, mas sem conexão.",
    none: "Nenhum broker está definido.",
    byImage: "O tapdeck.conf do cartão de memória define o broker.",
    wrong: "Digite o endereço do broker, como 192.168.1.5 ou mqtt://homeassistant.local:1883.",
    faults: {
      "broker-absent":
        "Nada responde em {subject}, porta {port}. Verifique o endereço e se o broker está rodando.",
      "broker-unknown":
        "Não há {subject} na rede. Verifique o endereço, ou digite o do computador em números, como 192.168.1.5.",
      "broker-silent":
        "O broker fecha a conexão sem resposta. A porta dele costuma ser 1883, ou 8883 se o endereço começar com mqtts://.",
      "broker-silent-tls":
        "O broker fecha a conexão sem resposta. Se a porta dele não tem TLS, o endereço deve começar com mqtt://.",
      "broker-not-mqtt":
        "A resposta de {subject}, porta {port}, não é MQTT. A porta costuma ser 1883, ou 8883 se o endereço começar com mqtts://.",
      "broker-certificate-host":
        "O certificado do broker é de outro computador e não de {subject}. Verifique o endereço.",
      "broker-certificate-untrusted":
        "O certificado do broker não é confiável. Escolha o da autoridade dele em “Para especialistas”.",
      "broker-password": "O broker recusa a conta ou a senha.",
      "broker-refuses":
        "O broker recusa este aparelho. Verifique a conta, a senha e a lista de acesso do broker.",
    },
  },
  backup: {
    title: "Cópia de segurança",
    what: "Um arquivo com as configurações, as regras, o histórico e as posições; com uma frase secreta, também os telefones e as chaves. Sem mídias nem jogos salvos.",
    passphrase: "Frase secreta (opcional)",
    download: "Baixar uma cópia",
    made: "A cópia está pronta e está sendo baixada.",
    choose: "Restaurar uma cópia",
    restore: "Restaurar esta cópia",
    restoreSure:
      "A reprodução termina e o serviço reinicia. O estado atual fica guardado como cópia no dispositivo.",
    restored: "A cópia foi restaurada. O serviço reinicia.",
    madeAt: (time, version) => `Criada em ${moment(time)} pelo Tapdeck ${version}.`,
    insteadOf: (count, now) => `${number(count)} em vez de ${number(now)}`,
    mappings: "Regras",
    mappingFiles: "Arquivos de regras",
    history: "Cartões lidos",
    positions: "Posições",
    settings: "Configurações que mudam",
    same: "sem mudança",
    locked: "só com a frase secreta",
    warning: "Nota",
    leftOut: (count) =>
      `${counted(count, "arquivo de regras ilegível", "arquivos de regras ilegíveis")}, fora do backup.`,
    notes: {
      "mapping-file-invalid": (file) => `O arquivo de regras ${file} tem um erro e não é usado.`,
      "settings-kept": (names) => `Só uma restauração no próprio aparelho altera isto: ${names}.`,
      "media-folder-missing": (path) => `Este aparelho não tem a pasta de mídias ${path}.`,
      "reader-missing": (path) => `Este aparelho não tem leitor em ${path}.`,
    },
  },
  share: {
    title: "Copiar mídia de um PC",
    off: "Os PCs não podem copiar nada para este aparelho até que você defina uma senha.",
    starting: "O compartilhamento está iniciando…",
    on: "Os PCs desta rede podem abrir a pasta de mídia, com qualquer nome de usuário e a senha.",
    fault: "O compartilhamento está desligado porque seu servidor não funciona: defina a senha de novo.",
    windows: "Windows: {place}",
    others: "Mac, Linux, celular: {place}",
    password: "Senha, de 8 a 63 caracteres",
    switchOn: "Ligar",
    change: "Alterar a senha",
    switchOff: "Desligar",
    offAsk: "Desligar o compartilhamento?",
    ends: "Os PCs que estiverem copiando serão desconectados.",
  },
});
