/** Buttons, the picture of the screen, the broker and backups in Japanese. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

type Parts = Pick<PageTexts, "buttons" | "picture" | "broker" | "backup" | "share">;

export const japaneseParts = ({ moment, number }: Pick<Numbers, "moment" | "number">): Parts => ({
  buttons: {
    how: "本体のボタン、つまみ、テンキーは、カードと同じように何かを始めます。",
    none: "登録されたボタンはまだありません。",
    add: "ボタンを追加",
    pressNow: "今、ボタンを押すか、つまみを回してください。",
    pressHow: "30 秒間、接続されているすべての機器の入力を待ちます。最初の 1 回だけが使われます。",
    nonePressed: "ボタンは押されませんでした。",
    choose: "このボタンで何をしますか。",
    everyDevice: "すべての機器",
    chooseFor: (name) => `このボタンで ${name} を始める`,
    saveText: "ボタンに保存",
    removed: (key) => `${key} は何もしなくなりました。`,
  },
  picture: {
    title: "画面の画像",
    what: "テレビに今映っているものです。画面のない機器では、何も再生していない間はありません。画像は機器にも保存されます。",
    take: "画像を撮る",
    again: "もう一度撮る",
    alt: "機器が映しているもの",
    takenAt: (time) => `${time} に撮影`,
  },
  broker: {
    title: "MQTT ブローカー",
    what: "Home Assistant などのプログラムがカードの読み取りを受け取り、この機器を操作します。",
    url: "アドレス",
    user: "アカウント",
    password: "パスワード",
    kept: "保存済み（空欄なら変更なし）",
    ca: "認証局の証明書（PEM）、mqtts:// のときだけ",
    role: "ここでできること",
    roleWhat:
      "「プレーヤー」はメディアの開始と停止だけができ、Home Assistant にはこれで十分です。「メンバー」はカードと設定の変更もできます。「オーナー」はこの機器の再起動と更新もできるので、ほかの誰もそのブローカーに書き込めない場合にだけ選んでください。",
    save: "保存",
    test: "テスト",
    testing: "接続中…",
    connected: "接続しました。",
    trying: "まだ接続していません。",
    unconnected: "保存しましたが、接続できません。",
    none: "ブローカーは設定されていません。",
    byImage: "メモリーカードの tapdeck.conf で設定されています。",
    wrong: "ブローカーのアドレスを入力してください。例：192.168.1.5、mqtt://homeassistant.local:1883",
    faults: {
      "broker-absent":
        "{subject} のポート {port} で応答がありません。アドレスと、ブローカーが動いているかを確認してください。",
      "broker-unknown":
        "{subject} はネットワークにありません。アドレスを確認するか、192.168.1.5 のように数字で入力してください。",
      "broker-silent":
        "ブローカーは応答せずに接続を閉じました。ポートは通常 1883、アドレスが mqtts:// で始まる場合は 8883 です。",
      "broker-silent-tls":
        "ブローカーは応答せずに接続を閉じました。ポートが TLS でない場合は、アドレスを mqtt:// で始めてください。",
      "broker-not-mqtt":
        "{subject} のポート {port} からの応答は MQTT ではありません。ポートは通常 1883、アドレスが mqtts:// で始まる場合は 8883 です。",
      "broker-certificate-host":
        "ブローカーの証明書は {subject} のものではありません。アドレスを確認してください。",
      "broker-certificate-untrusted":
        "ブローカーの証明書を信頼できません。「上級者向け」で認証局の証明書を選んでください。",
      "broker-password": "ブローカーがアカウントかパスワードを拒否しました。",
      "broker-refuses":
        "ブローカーがこの機器を拒否しました。アカウント、パスワード、ブローカーのアクセスリストを確認してください。",
    },
  },
  backup: {
    title: "バックアップ",
    what: "設定、ルール、履歴、再生位置を 1 つのファイルに保存します。パスフレーズを付けると、スマートフォンと鍵も含みます。メディアとゲームのセーブは含まれません。",
    passphrase: "パスフレーズ（任意）",
    download: "バックアップをダウンロード",
    made: "バックアップができました。ダウンロードを始めます。",
    choose: "バックアップを復元",
    restore: "このバックアップを復元",
    restoreSure: "再生は終了し、サービスが再起動します。現在の状態はバックアップとして機器に残ります。",
    restored: "バックアップを復元しました。サービスが再起動します。",
    madeAt: (time, version) => `${moment(time)} に Tapdeck ${version} で作成。`,
    insteadOf: (count, now) => `${number(count)} 件（現在は ${number(now)} 件）`,
    mappings: "ルール",
    mappingFiles: "ルールのファイル",
    history: "タップの履歴",
    positions: "再生位置",
    settings: "変わる設定",
    same: "変更なし",
    locked: "パスフレーズがある場合のみ",
    warning: "注意",
    leftOut: (count) => `読めないルールファイル ${number(count)} 件は含まれていません。`,
    notes: {
      "mapping-file-invalid": (file) => `ルールファイル ${file} に誤りがあり、使われません。`,
      "settings-kept": (names) => `次の設定は機器自身での復元でだけ変わります：${names}`,
      "media-folder-missing": (path) => `この機器にはメディアのフォルダー ${path} がありません。`,
      "reader-missing": (path) => `この機器の ${path} にリーダーがありません。`,
    },
  },
  share: {
    title: "PCからメディアをコピー",
    off: "パスワードを設定するまで、PCからこの本体にコピーできません。",
    starting: "共有を開始しています…",
    on: "このネットワークのPCは、任意のユーザー名とこのパスワードでメディアフォルダーを開けます。",
    fault: "サーバーが動かないため、共有はオフです。パスワードをもう一度設定してください。",
    windows: "Windows：{place}",
    others: "Mac・Linux・スマートフォン：{place}",
    password: "パスワード（8～63文字）",
    switchOn: "オンにする",
    change: "パスワードを変更",
    switchOff: "オフにする",
    offAsk: "共有をオフにしますか？",
    ends: "コピー中のPCは切断されます。",
  },
});
