/** The Japanese texts of faults and of failed launches. */
import type { FaultedTexts } from "../faults.ts";

export const japaneseFaults: FaultedTexts = {
  reasons: {
    blank: "このカードは空です。",
    unformatted: "このカードは空で、まだフォーマットされていません。書き込むとフォーマットされます。",
    "half-written": "このカードのテキストは途中で切れています。もう一度書き込んでください。",
    "other-message": "このカードには別の種類のデータが入っています。",
    locked: "このカードはロックされています。",
    unreadable: "このカードを読み取れませんでした。もう一度置いてください。",
    "no-text": "このカードにはまだ内容がありません。",
    "pairing-card":
      "このカードはスマートフォンのペアリング用です。スマートフォンをカードに近づけてください。",
    "taken-over": "別のものが開始されました。",
  },
  faults: {
    "reader-failed": "{subject}：{why}",
    "database-failed": "{why}",
    "disk-full": "データフォルダーの空きは残り {kib} KiB です。",
    "saves-not-kept": "セーブデータを {subject} に保存できません：{why}",
    "saves-memory-full":
      "セーブデータ用のメモリー {subject} がいっぱいです。ゲームを終了し、もう一度開始してください。",
    "players-unconfined": "プレーヤーが隔離されておらず、このサービスの秘密を読めるおそれがあります：{why}",
    "data-damaged":
      "データパーティションが壊れています。読み取れますが、変更は次の起動で失われます。必要なものをコピーし、SD カードを書き込み直してください。",
    "data-lost":
      "データパーティションを読み取れません。次の起動ですべて失われます。SD カードを書き込み直すか、別のカードを試してください。",
    "boot-unreadable": "ブートパーティションを読み取れないため、tapdeck.conf は無効です。",
    "update-not-kept":
      "{subject} への更新は採用されませんでした。起動しなかったか、1 分間正常ではありませんでした。前のバージョンが動いています。",
    "service-restarted": "ウォッチドッグがサービスを再開しました：{why}",
    "service-silent": "ウォッチドッグは応答を得られませんでした：{why}",
    "machine-resetting": "ウォッチドッグがまもなくこの機器をリセットします：{why}",
    "machine-reset": "ウォッチドッグがこの機器をリセットしました：{why}",
    "machine-reset-again": "ウォッチドッグがこの機器を {times} 回続けてリセットしました：{why}",
    "machine-unguarded": "この機器が止まっても、リセットするものがありません：{why}",
    "check-failed": "{why}",
    "reader-unknown": "{why}",
    "settings-invalid": "{why}",
    "reader-silent": "{subject} のリーダーが応答せず、ほかに接続されたリーダーもありません：{why}",
    "imager-invalid": "Raspberry Pi Imager の設定（firstrun.sh）：{why}",
    "override-invalid": "環境変数または tapdeck.conf：{why}",
    "conf-invalid": "ブートパーティションの tapdeck.conf：{why}",
    "conf-file-missing":
      "tapdeck.conf の {key} にある {subject} というファイルが、ブートパーティションにありません。",
    "conf-reader-refused": "tapdeck.conf のリーダー {subject} は受け付けられませんでした。",
    "cards-key-missing": "cards.key が未設定のため、カードの束を確認できません。",
    "media-missing":
      "{subject} にメディアがありません。フォルダーがないか空です。またはドライブが接続されていません。",
    "media-silent": "{subject} にメディアがありません。{seconds} 秒以内に応答がありませんでした。",
    "program-missing":
      "プログラム {subject} がありません。ランチャー {launcher} が {systems} のために使います。",
    "mqtt-invalid": "{why}",
    "certificate-ends":
      "{subject} の証明書はまもなく期限切れになります（残り {days} 日）。更新してください。",
    "certificate-ended": "{subject} の証明書は期限切れです。更新してください。",
    "cards-refused": "サーバーの共有カードは使われていません：{why}",
    "broker-absent":
      "{subject} のポート {port} でブローカーが応答しません。mqtt.url と、ブローカーが動いているかを確認してください。",
    "broker-unknown":
      "名前 {subject} が見つからず、ブローカーが応答しません。mqtt.url とネットワークを確認してください。",
    "broker-unreachable": "ブローカーに接続できません：{why}",
    "broker-lost": "ブローカーとの接続が切れました。",
    "broker-silent":
      "ブローカーは応答せずに接続を閉じました。TLS のポートの場合は、mqtt.url を mqtts:// で始めてください。",
    "broker-silent-tls":
      "ブローカーは応答せずに接続を閉じました。mqtt.certificate と mqtt.key、TLS のポートかどうかを確認してください。",
    "broker-not-mqtt":
      "{subject} のポート {port} からの応答は MQTT ではありません。mqtt.url のポートを確認してください。TLS のポートの場合は mqtts:// で始めてください。",
    "broker-handshake":
      "ブローカーが TLS の開始を中断しました（{why}）。mqtt.certificate、mqtt.key、ポートを確認してください。",
    "broker-certificate-host":
      "ブローカーの証明書は {subject} のものではありません。mqtt.url を確認してください。",
    "broker-certificate-time":
      "ブローカーの証明書は今は有効ではありません。この機器の時計を確認するか、証明書を更新してください。",
    "broker-certificate-ends":
      "ブローカー {subject} の証明書はまもなく期限切れになります（残り {days} 日）。ブローカー側で更新してください。",
    "broker-certificate-untrusted":
      "ブローカーの証明書は信頼されていません（{why}）。署名した認証局を mqtt.ca に指定してください。",
    "broker-version": "ブローカーは MQTT 5 に対応していません。mosquitto 1.6 以上が必要です。",
    "broker-password":
      "ブローカーが名前かパスワードを拒否しました。mqtt.user と mqtt.password_file を確認してください。",
    "broker-refuses":
      "ブローカーがこの機器を拒否しました。mqtt.user、mqtt.password_file、アクセスリストを確認してください。",
    "broker-refuses-name": "ブローカーがこの機器の名前を拒否しました。別の mqtt.id を設定してください。",
    "broker-refuses-topic":
      "ブローカーが {topic} を拒否しました。ブローカーのアクセスリストでこの機器の書き込みを許可するか、mqtt.id をそのリストの名前にしてください。",
    "broker-refuses-subscription": "ブローカーが {topic} の購読を拒否しました：{why}",
    "broker-busy": "ブローカーが混み合っています。",
    "broker-ban": "ブローカーがこの機器を禁止しました。",
    "broker-stopping": "ブローカーは停止中です。",
    "broker-same-name":
      "同じ名前の機器がほかにあるため、ブローカーが接続を切りました。それぞれに別の mqtt.id を付けてください。",
    "broker-ended": "ブローカーが接続を切りました（理由 {reason}）。",
  },
};
