/** The Japanese explanations of the settings that only the file has, by their keys. */
export const japaneseFileSettings = {
  "api.port": "操作とこのページのポートです。次の起動から有効です。",
  "api.listen":
    '待ち受けるアドレスです（例："127.0.0.1"）。空のリストはすべてを意味します。次の起動から有効です。',
  "api.tls_port": "TLS のポートです。0 で無効になります。次の起動から有効です。",
  "api.allow_launch":
    'ほかの機器が http://this-device:7497/l/SNES/Game.sfc のようなアドレスを開いたときの開始：なし（false）、すべて（true）、または ["SNES/.*"] のようなパターンに全体が一致するものだけ。この機器自身はいつでもできます。|| でつないだコマンドは、それぞれが一致しなければなりません。..、^、[[ を含むテキストは一致しません。ブラウザーでは先に一度確認します。',
  "api.allowed_hosts": "ブラウザーやプログラムがこの機器を呼べる、ほかの名前です。",
  "api.allowed_origins": 'この機器の操作を使えるウェブサイトです（例："https://deck.example"）。',
  "api.allow_anonymous_local":
    "サービスが root で動くとき、この機器のすべてのユーザーのプログラムが操作できるかどうかです。",
  "api.anonymous":
    'ペアリングなしでネットワークから TLS で許すこと："none" なし、"look" 見るだけ、"play" メディアの開始と停止も、"change" カード・ルール・設定も。イメージでは tapdeck.conf の anonymous= が優先します。',
  "api.metrics":
    "GET /metrics で Prometheus に数値と状態を見せるかどうかです。多くの機器では誰でも見られるため、既定では無効です。次の起動から有効です。",
  "api.allow_v1_clients":
    "古く弱い暗号（バージョン 1）しか知らないアプリを PIN でペアリングできるかどうかです。後でスマートフォンの鍵を盗んだ人は、記録された通信を読めます。",
  "systems.folders":
    '別の場所にあるシステムのフォルダーです（例：{ SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }）。',
  "systems.removable_folders":
    'USB メモリが現れるフォルダーです（例："/run/media/alex"）。接続中のメモリはそこでメディアのフォルダーになります。イメージでは /media/usb です。',
  "systems.prefer_regions":
    "カードのタイトルに複数のファイルが合うとき、優先する地域です。よいものから順に、ファイル名の書き方で指定します。",
  "systems.prefer_languages": "言語についても同じです。地域が先に見られます。",
  "script.allow_execute":
    "カードが **execute で実行できるコマンド：コマンド行全体に一致するパターンです。空のリストはなしを意味します。",
  "script.allow_http":
    "カードが **http.get と **http.post で呼べるアドレス：全体に一致するパターンです。空のリストはなしを意味します。",
  "script.allow_stream":
    'カードのアドレスでウェブラジオやポッドキャストを再生できるホスト："radio.example.org"、その下すべては "*.example.org"、ポート付きも可能です。自分のネットワークの機器は星印なしで指定します。空のリストはなしを意味します。',
  "script.allow_input":
    "カードや呼び出し元が仮想キーボードと仮想ゲームパッドのキーを押せるかどうかです。キーは前面のウィンドウに届き、端末にも届きます。",
  "retroarch.resume":
    "ゲームを終わったところから続けるかどうかです。終了時に状態を保存し、次の開始で読み込みます。カードの ?resume=no または ?resume=yes で変えられます。",
  "retroarch.saves":
    "セーブデータのフォルダーです。指定すると、停電しても各ファイルは変更の前か後のまま残ります（最大 10 秒前）。指定しないと RetroArch の設定に従います。",
  "light.brightness":
    "ケースのランプの最大の明るさ（パーセント）。0 なら消えたままです。名前が tapdeck で始まるカーネルの LED が使われます。",
  "hooks.on_scan":
    "カードの前後に実行するスクリプトです。空なら何もしません。失敗するとログに残り、before_start 以外ではほかに何も起きません。これはカードが置かれたときに実行されます。",
  "hooks.on_remove": "カードが取り除かれたときに実行されます。",
  "hooks.before_start": "メディアの開始前に実行され、メディアはそれを待ちます。失敗すると何も始まりません。",
  "hooks.on_start": "メディアの開始後に実行されます。",
  "hooks.on_stop": "メディアの終了後に実行されます。",
  "mqtt.url":
    'MQTT ブローカーのアドレスです（例："mqtts://broker.lan:8883"、"mqtt://192.168.1.5"）。空ならなしです。ここで起きたことが、カードのテキストと UID も含めてブローカーに届きます。',
  "mqtt.user": "ブローカーでのこの機器のアカウント名です。",
  "mqtt.password_file":
    'そのアカウントのパスワードのファイルです。データフォルダーの "mqtt-password" など、または完全なパスです。',
  "mqtt.ca": "ブローカーの証明書を確かめる証明書（PEM）です。空ならシステムのものです。",
  "mqtt.id":
    "トピックでのこの機器の名前：文字、数字、-、_。空なら機器のホスト名です。2 台には 2 つの名前が必要です。",
  "mqtt.role":
    'ブローカーからの命令に許すこと："player" は見る・開始・停止、"member" はカード・ルール・設定も、"owner" は機器の管理（再起動、更新、バックアップ、スマートフォンのペアリング）も。',
  "mqtt.discovery": "Home Assistant に機器を知らせるときの接頭辞です。空なら知らせません。",
  "mqtt.certificate":
    'ブローカー用のクライアント証明書（PEM）です。データフォルダーの "mqtt-certificate.pem" など、または完全なパスです。',
  "mqtt.key": "その鍵です（例：mqtt-key.pem）。",
  "mqtt.base": 'すべてのトピックの先頭です。"tapdeck" なら tapdeck/<id>/tap などになります。',
  "cards.url":
    '共有のルール・ランチャー・制限をまとめたパッケージのアドレスです（例："https://cards.example/all.cards"）。1 時間ごとに読み、この機器の設定とルールが優先します。この節は次の起動から有効です。',
  "cards.key": "パッケージの署名に使う公開鍵です。その持ち主は、この機器でどのプログラムでも開始できます。",
  "cards.ca_file":
    'サーバーの証明書に署名できる認証局（PEM）です。データフォルダーの "cards-ca.pem" など、または完全なパスです。',
  "update.url":
    'バージョン一覧のアドレスです（例："https://updates.example/index.json"）。空ならなしです。毎日読みます。何も再生しておらず、10 分間カードがないときに新しいバージョンを入れます。イメージ専用で、fleet.hawkbit_url が優先します。次の起動から有効です。',
  "fleet.hawkbit_url":
    'この機器を更新する hawkBit サーバーのアドレスです（例："https://updates.example"）。パスは DEFAULT 以外のテナントを示します。空ならなしです。この節は次の起動から有効です。',
  "fleet.id": "そこでのこの機器の名前（controllerId）：文字、数字、-、_。空なら機器のホスト名です。",
  "fleet.token_file":
    'この対象のセキュリティトークンのファイルです。データフォルダーの "hawkbit-token" など、または完全なパスです。なければクライアント証明書だけで足りる必要があります。',
  "fleet.certificate_file":
    'このサーバーと update.url のサーバー用のクライアント証明書（PEM）です（例："fleet-certificate.pem"）。完全なパスも使えます。',
  "fleet.key_file": "その鍵です（例：fleet-key.pem）。",
  "fleet.ca_file": "hawkBit の証明書に署名した認証局（PEM）です。空ならシステムのものです。",
  "fleet.interrupt":
    "hawkBit の強制配布が再生中のものを終わらせてよいかどうかです。そうでなければ、何も再生しなくなるまで待ちます。",
  "device.site": 'この機器の場所です（例："library-north"）。メトリクスに表示されます。',
};
