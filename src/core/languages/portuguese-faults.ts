/** The Portuguese texts of faults and of failed launches. */
import type { FaultedTexts } from "../faults.ts";

export const portugueseFaults: FaultedTexts = {
  reasons: {
    blank: "Este cartão está vazio.",
    unformatted: "Este cartão está vazio e ainda não formatado. A gravação o formata.",
    "half-written": "O texto deste cartão está incompleto. Grave-o de novo.",
    "other-message": "Este cartão contém dados de outro tipo.",
    locked: "Este cartão está bloqueado.",
    unreadable: "Não foi possível ler este cartão. Coloque-o de novo.",
    "no-text": "Este cartão ainda não tem função.",
    "pairing-card": "Este cartão pareia um telefone. Aproxime o telefone do cartão.",
    "taken-over": "Outra coisa foi iniciada.",
  },
  faults: {
    "reader-failed": "{subject}: {why}",
    "database-failed": "{why}",
    "disk-full": "Restam só {kib} KiB livres para a pasta de dados.",
    "saves-not-kept": "Os jogos salvos não podem ser guardados em {subject}: {why}",
    "saves-memory-full":
      "A memória dos jogos salvos, {subject}, está cheia: termine o jogo e inicie-o de novo.",
    "players-unconfined":
      "Os reprodutores não estão isolados e poderiam ler os segredos deste serviço: {why}",
    "data-damaged":
      "A partição de dados está danificada. Ela pode ser lida, mas as mudanças se perdem na próxima inicialização. Copie o que precisar e grave o cartão SD de novo.",
    "data-lost":
      "A partição de dados não pode ser lida. Tudo se perde na próxima inicialização. Grave o cartão SD de novo ou tente outro.",
    "boot-unreadable": "A partição de inicialização não pode ser lida, então tapdeck.conf não vale.",
    "update-not-kept":
      "A atualização para {subject} não foi mantida: ela não iniciou, ou não ficou um minuto sem falhas. A versão anterior voltou.",
    "service-restarted": "O vigia reiniciou o serviço: {why}",
    "service-silent": "O vigia não teve resposta: {why}",
    "machine-resetting": "O vigia vai reiniciar este aparelho: {why}",
    "machine-reset": "O vigia reiniciou este aparelho: {why}",
    "machine-reset-again": "O vigia reiniciou este aparelho {times} vezes seguidas: {why}",
    "machine-unguarded": "Nada reinicia este aparelho se ele travar: {why}",
    "check-failed": "{why}",
    "reader-unknown": "{why}",
    "settings-invalid": "{why}",
    "reader-silent": "Nenhum leitor responde em {subject}, e não há outro conectado: {why}",
    "imager-invalid": "Nas configurações do Raspberry Pi Imager (firstrun.sh): {why}",
    "override-invalid": "No ambiente ou em tapdeck.conf: {why}",
    "conf-invalid": "Em tapdeck.conf na partição de inicialização: {why}",
    "conf-file-missing":
      "{key} em tapdeck.conf nomeia {subject}, e esse arquivo não está na partição de inicialização.",
    "conf-reader-refused": "O leitor {subject} de tapdeck.conf foi recusado.",
    "cards-key-missing": "cards.key não está definido, então nenhum pacote pode ser verificado.",
    "media-missing":
      "Não há mídias em {subject}: a pasta falta ou está vazia, ou a unidade não está conectada.",
    "media-silent": "Não há mídias em {subject}: sem resposta em {seconds} s.",
    "program-missing": "Falta o programa {subject}, que o lançador {launcher} precisa para {systems}.",
    "mqtt-invalid": "{why}",
    "certificate-ends": "O certificado de {subject} expira em breve (dias restantes: {days}): renove-o.",
    "certificate-ended": "O certificado de {subject} expirou: renove-o.",
    "cards-refused": "Os cartões compartilhados do servidor não são usados: {why}",
    "broker-absent":
      "Nenhum broker responde em {subject}, porta {port}: verifique mqtt.url e se o broker está rodando.",
    "broker-unknown":
      "Nenhum broker responde, porque o nome {subject} não é conhecido: verifique mqtt.url e a rede.",
    "broker-unreachable": "Sem conexão com o broker: {why}",
    "broker-lost": "A conexão com o broker caiu.",
    "broker-silent":
      "O broker fechou a conexão sem resposta: se a porta dele é uma com TLS, mqtt.url deve começar com mqtts://.",
    "broker-silent-tls":
      "O broker fechou a conexão sem resposta: verifique mqtt.certificate, mqtt.key e se a porta é a do TLS.",
    "broker-not-mqtt":
      "A resposta de {subject}, porta {port}, não é MQTT: verifique a porta de mqtt.url; se for uma com TLS, ela começa com mqtts://.",
    "broker-handshake":
      "O broker interrompeu a negociação TLS ({why}): verifique mqtt.certificate, mqtt.key e a porta.",
    "broker-certificate-host":
      "O certificado do broker é de outro computador e não de {subject}: verifique mqtt.url.",
    "broker-certificate-time":
      "O certificado do broker não é válido agora: verifique o relógio deste aparelho ou renove o certificado.",
    "broker-certificate-ends":
      "O certificado do broker {subject} expira em breve (dias restantes: {days}): renove-o nesse servidor.",
    "broker-certificate-untrusted":
      "O certificado do broker não é confiável ({why}): mqtt.ca deve nomear a autoridade que o assinou.",
    "broker-version": "O broker não conhece MQTT 5: ele precisa de pelo menos mosquitto 1.6.",
    "broker-password": "O broker recusa o nome ou a senha: verifique mqtt.user e mqtt.password_file.",
    "broker-refuses":
      "O broker recusa este aparelho: verifique mqtt.user, mqtt.password_file e a lista de acesso dele.",
    "broker-refuses-name": "O broker recusa o nome deste aparelho: defina outro mqtt.id.",
    "broker-refuses-topic":
      "O broker recusa {topic}: permita que este aparelho escreva ali na lista de acesso do broker, ou ponha em mqtt.id o nome dessa lista.",
    "broker-refuses-subscription": "O broker recusa a assinatura de {topic}: {why}",
    "broker-busy": "O broker está ocupado.",
    "broker-ban": "O broker baniu este aparelho.",
    "broker-stopping": "O broker está desligando.",
    "broker-same-name":
      "O broker encerrou a conexão, porque outro aparelho tem o mesmo nome: dê a cada um seu próprio mqtt.id.",
    "broker-ended": "O broker encerrou a conexão (motivo {reason}).",
  },
};
