/** The Portuguese explanations of the settings that only the file has, by their keys. */
export const portugueseFileSettings = {
  "api.port": "A porta do controle e desta página. Vale a partir do próximo início.",
  "api.listen":
    'Os endereços em que o aparelho escuta, como "127.0.0.1"; uma lista vazia significa todos. Vale a partir do próximo início.',
  "api.tls_port": "A porta para TLS; 0 a desliga. Vale a partir do próximo início.",
  "api.allow_launch":
    'Inícios por outras máquinas que abrem um endereço como http://this-device:7497/l/SNES/Game.sfc: nenhum (false), todos (true), ou só o que combina por inteiro com um destes padrões, como ["SNES/.*"]. O próprio aparelho sempre pode. De vários comandos com ||, cada um deve combinar. Um texto com .., ^ ou [[ nunca combina. Um navegador pergunta antes uma vez.',
  "api.allowed_hosts": "Outros nomes pelos quais navegadores e programas podem chamar este aparelho.",
  "api.allowed_origins": 'Sites que podem usar o controle deste aparelho, como "https://deck.example".',
  "api.allow_anonymous_local":
    "Se os programas de todos os usuários deste aparelho podem controlar o serviço quando ele roda como root.",
  "api.anonymous":
    'O que é permitido pela rede via TLS sem pareamento: "none" nada, "look" olhar, "play" também iniciar e parar mídias, "change" também cartões, regras e configurações. Na imagem, anonymous= em tapdeck.conf tem prioridade.',
  "api.metrics":
    "Se GET /metrics mostra contadores e estados ao Prometheus. Desligado, porque na maioria dos aparelhos todos podem olhar. Vale a partir do próximo início.",
  "api.allow_v1_clients":
    "Se aplicativos que só conhecem a criptografia antiga e mais fraca (versão 1) podem ser pareados por PIN. Quem roubar mais tarde a chave de um telefone pode ler sessões gravadas.",
  "systems.folders":
    'Pastas de sistemas que ficam em outro lugar, como { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.',
  "systems.removable_folders":
    'Pastas em que aparecem pendrives, como "/run/media/alex". Cada pendrive é ali uma pasta de mídias enquanto está conectado. Na imagem é /media/usb.',
  "systems.prefer_regions":
    "Se vários arquivos têm o título de um cartão: as regiões preferidas, a melhor primeiro, como nos nomes dos arquivos.",
  "systems.prefer_languages": "O mesmo para idiomas; as regiões vêm primeiro.",
  "script.allow_execute":
    "Comandos que cartões podem executar com **execute: padrões para a linha inteira. Uma lista vazia significa nenhum.",
  "script.allow_http":
    "Endereços que cartões podem chamar com **http.get e **http.post: padrões para o endereço inteiro. Uma lista vazia significa nenhum.",
  "script.allow_stream":
    'Servidores cujas rádios e podcasts tocam por um endereço no cartão: "radio.example.org", todos de um domínio como "*.example.org", ou com porta. Um aparelho da sua rede deve ser indicado sem asterisco. Uma lista vazia significa nenhum.',
  "script.allow_input":
    "Se cartões e outros podem apertar teclas de um teclado e de um controle virtuais. Elas chegam à janela ativa, até a um terminal.",
  "retroarch.resume":
    "Se um jogo continua onde terminou: o fim grava o estado e o próximo início o carrega. Um cartão muda isso com ?resume=no ou ?resume=yes.",
  "retroarch.saves":
    "A pasta dos jogos salvos. Com ela, uma queda de energia deixa cada arquivo como antes ou depois de uma mudança, com dez segundos no máximo. Sem ela, valem as configurações do RetroArch.",
  "light.brightness":
    "O brilho máximo das luzes da caixa, em percentagem; com 0 ficam apagadas. São os LED do núcleo cujo nome começa por tapdeck.",
  "hooks.on_scan":
    "Scripts que rodam em torno dos seus cartões; um vazio não faz nada. Se falhar, o registro diz e nada mais acontece, exceto com before_start. Este roda quando um cartão é colocado.",
  "hooks.on_remove": "Roda quando um cartão é retirado.",
  "hooks.before_start": "Roda antes do início das mídias, que esperam por ele; se falhar, nada inicia.",
  "hooks.on_start": "Roda depois do início das mídias.",
  "hooks.on_stop": "Roda depois do fim das mídias.",
  "mqtt.url":
    'O endereço de um broker MQTT, como "mqtts://broker.lan:8883" ou "mqtt://192.168.1.5"; vazio significa nenhum. O broker recebe o que acontece aqui, também textos e UIDs de cartões.',
  "mqtt.user": "O nome da conta deste aparelho no broker.",
  "mqtt.password_file":
    'Um arquivo com a senha dessa conta, como "mqtt-password" na pasta de dados, ou um caminho completo.',
  "mqtt.ca": "Os certificados (PEM) com que o do broker é verificado; vazio significa os do sistema.",
  "mqtt.id":
    "O nome deste aparelho nos tópicos: letras, dígitos, - e _. Vazio significa o nome do aparelho. Dois aparelhos precisam de dois nomes.",
  "mqtt.role":
    'O que os comandos do broker podem: "player" olhar, iniciar e parar; "member" também cartões, regras e configurações; "owner" também administrar o aparelho: reiniciar, atualizar, fazer backups e parear telefones.',
  "mqtt.discovery":
    "O prefixo com que o aparelho se descreve ao Home Assistant; vazio significa que não se descreve.",
  "mqtt.certificate":
    'Um certificado de cliente (PEM) para o broker, como "mqtt-certificate.pem" na pasta de dados, ou um caminho completo.',
  "mqtt.key": "A chave dele, como mqtt-key.pem.",
  "mqtt.base": 'A primeira parte de todos os tópicos: "tapdeck" dá tapdeck/<id>/tap e assim por diante.',
  "cards.url":
    'O endereço de um pacote de regras, lançadores e limites compartilhados, como "https://cards.example/all.cards". É lido a cada hora; configurações e regras deste aparelho vêm primeiro. Esta seção vale a partir do próximo início.',
  "cards.key":
    "A chave pública com que o pacote deve estar assinado. O dono dela pode iniciar qualquer programa neste aparelho.",
  "cards.ca_file":
    'Uma autoridade (PEM) que também pode assinar o certificado do servidor, como "cards-ca.pem" na pasta de dados, ou um caminho completo.',
  "update.url":
    'O endereço de um índice de versões, como "https://updates.example/index.json"; vazio significa nenhum. É lido todo dia. Uma versão mais nova é instalada quando nada está em reprodução e nenhum cartão veio por dez minutos. Só para a imagem; fleet.hawkbit_url tem prioridade. Vale a partir do próximo início.',
  "fleet.hawkbit_url":
    'O endereço de um servidor hawkBit que atualiza este aparelho, como "https://updates.example"; um caminho indica outro inquilino que DEFAULT. Vazio significa nenhum. Esta seção vale a partir do próximo início.',
  "fleet.id":
    "O nome deste aparelho lá (controllerId): letras, dígitos, - e _. Vazio significa o nome do aparelho.",
  "fleet.token_file":
    'Um arquivo com o token de segurança deste alvo, como "hawkbit-token" na pasta de dados, ou um caminho completo. Sem ele, o certificado de cliente deve bastar ao servidor.',
  "fleet.certificate_file":
    'Um certificado de cliente (PEM) para esse servidor e o de update.url, como "fleet-certificate.pem", ou um caminho completo.',
  "fleet.key_file": "A chave dele, como fleet-key.pem.",
  "fleet.ca_file":
    "A autoridade (PEM) que deve ter assinado o certificado do hawkBit; vazio significa as do sistema.",
  "fleet.interrupt":
    "Se uma implantação forçada do hawkBit pode encerrar o que está em reprodução. Senão, ela espera.",
  "device.site": 'O lugar deste aparelho, como "library-north"; as métricas o mostram.',
};
