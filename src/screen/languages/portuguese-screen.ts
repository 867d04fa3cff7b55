/** The Portuguese texts of the graphical screen. */
import { portugueseFaults } from "../../core/languages/portuguese-faults.ts";
import type { ScreenTexts } from "../texts.ts";

export const portugueseScreen: ScreenTexts = {
  headline: {
    ready: "Encoste um cartão",
    "no-reader": "Ligue um leitor",
    "reader-broken": "O leitor não funciona",
    empty: "Este cartão está vazio",
    "not-found": "Não encontrado",
    failed: "Não começou",
    starting: "A começar",
    playlist: "Escolha no telemóvel",
    "stick-away": "Ligue a pen USB",
    "stick-gone": "A pen USB saiu",
    "time-over": "O tempo de jogo acabou",
    "switching-off": "A desligar",
    restarting: "A reiniciar",
    pairing: "Ligue um telemóvel",
  },
  below: {
    ready: "e começa aqui",
    "no-reader": "Os cartões precisam de um leitor",
    "reader-broken": "Desligue-o e volte a ligá-lo",
    empty: "Escolha no telemóvel o que começa",
    "not-found": "O que este cartão começa não está aqui",
    failed: "Experimente outro cartão",
    starting: "",
    playlist: "",
    "stick-away": "O que este cartão começa está nela",
    "stick-gone": "Ligue-a e encoste o cartão outra vez",
    "time-over": "Até à próxima",
    "switching-off": "Desligue da corrente quando a luz da placa se apagar",
    restarting: "Demora um momento",
    pairing: "Aponte a câmara para o código",
  },
  openPage: "Abra no telemóvel",
  causes: {
    ...portugueseFaults.reasons,
    "player-failed": "Este ficheiro não toca. Talvez esteja danificado ou incompleto.",
    "player-not-ready": "Este ficheiro demorou demasiado. Tente outra vez.",
    "launcher-missing": "Não há leitor para este ficheiro.",
    "core-missing": "Não há emulador para este sistema.",
    "bios-missing": "Falta um ficheiro de BIOS a este jogo.",
    uploading: "Este ficheiro ainda está a ser enviado.",
    busy: "O aparelho tem demasiado que fazer agora.",
  },
  faults: {
    ...portugueseFaults.faults,
    "disk-full":
      "O cartão de memória está cheio: o que joga não é guardado. Abra a página num telemóvel e apague algo.",
    "saves-not-kept": "Os jogos guardados não podem ser mantidos: {why}",
    "saves-memory-full": "A memória dos jogos guardados está cheia: termine o jogo e comece-o outra vez.",
  },
  noNetwork:
    "Sem rede: ligue um cabo, ou escreva o Wi-Fi em tapdeck.conf no cartão de memória. Os cartões funcionam na mesma.",
  joinWifi: "Ligue-se a este Wi-Fi",
  wifiPassword: "palavra-passe",
  noWifi:
    "Sem rede: ligue o telemóvel a este Wi-Fi para configurar um, ou ligue um cabo. Os cartões funcionam na mesma.",
  joiningWifi: "A ligar a «{network}». Demora até um minuto.",
  wifiLater:
    "Sem rede. Pouco depois de um arranque o telemóvel pode configurar o Wi-Fi aqui, ou ligue um cabo. Os cartões funcionam na mesma.",
  wifiFaults: {
    "wrong-password": "A palavra-passe do Wi-Fi está errada.",
    "not-found": "O Wi-Fi está fora de alcance.",
    refused: "O Wi-Fi não deixa entrar este aparelho, ou o sinal é fraco.",
    "no-address": "O Wi-Fi não dá nenhum endereço: reinicie o router.",
  },
  acts: {
    backup: (name) => `${name} fez uma cópia de segurança.`,
    restore: (name) => `${name} repõe uma cópia de segurança.`,
    "device.update": (name) => `${name} instala uma atualização.`,
    "device.restart": (name) => `${name} reinicia este aparelho.`,
    "device.shutdown": (name) => `${name} desliga este aparelho.`,
  },
  endGame: "Select + Start no comando termina um jogo",
  typeDigits: "ou escreva",
  atAddress: "em",
};
