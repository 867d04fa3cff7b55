/** The Japanese texts of the graphical screen. */
import { japaneseFaults } from "../../core/languages/japanese-faults.ts";
import type { ScreenTexts } from "../texts.ts";

export const japaneseScreen: ScreenTexts = {
  headline: {
    ready: "カードを置いてください",
    "no-reader": "リーダーをつないでください",
    "reader-broken": "リーダーが動きません",
    empty: "このカードは空です",
    "not-found": "見つかりません",
    failed: "開始できませんでした",
    starting: "開始しています",
    playlist: "スマホで選んでください",
    "stick-away": "USB メモリーをつないでください",
    "stick-gone": "USB メモリーがありません",
    "time-over": "プレイ時間が終わりました",
    "switching-off": "電源を切っています",
    restarting: "再起動しています",
    pairing: "スマホをつなぐ",
  },
  below: {
    ready: "ここで始まります",
    "no-reader": "カードにはリーダーが必要です",
    "reader-broken": "抜いて、もう一度つないでください",
    empty: "何を始めるかスマホで選んでください",
    "not-found": "このカードの中身はここにありません",
    failed: "別のカードを試してください",
    starting: "",
    playlist: "",
    "stick-away": "このカードの中身はその中にあります",
    "stick-gone": "つないで、カードをもう一度置いてください",
    "time-over": "また今度",
    "switching-off": "基板のランプが消えたら、電源を抜いてください",
    restarting: "少しお待ちください",
    pairing: "カメラをコードに向けてください",
  },
  openPage: "スマホで開く",
  causes: {
    ...japaneseFaults.reasons,
    "player-failed": "このファイルは再生できません。壊れているか、途中で切れているかもしれません。",
    "player-not-ready": "このファイルの開始に時間がかかりすぎました。もう一度試してください。",
    "launcher-missing": "このファイルのプレーヤーがありません。",
    "core-missing": "このシステムのエミュレーターがありません。",
    "bios-missing": "このゲームには BIOS ファイルが足りません。",
    uploading: "このファイルはアップロード中です。",
    busy: "いまは処理が多すぎます。",
  },
  faults: {
    ...japaneseFaults.faults,
    "disk-full":
      "メモリーカードがいっぱいで、プレイ内容は保存されません。スマホでページを開き、何か削除してください。",
    "saves-not-kept": "セーブデータを保存できません：{why}",
    "saves-memory-full": "セーブ用のメモリーがいっぱいです。ゲームを終了し、もう一度開始してください。",
  },
  noNetwork:
    "ネットワークがありません。ケーブルをつなぐか、メモリーカードの tapdeck.conf に Wi-Fi を書いてください。カードはこのままで使えます。",
  joinWifi: "この Wi-Fi に接続",
  wifiPassword: "パスワード",
  noWifi:
    "ネットワークがありません。スマホをこの Wi-Fi に接続して設定するか、ケーブルをつないでください。カードはこのままで使えます。",
  joiningWifi: "「{network}」に接続しています。最大 1 分かかります。",
  wifiLater:
    "ネットワークがありません。起動後しばらくすると、スマホで Wi-Fi を設定できます。ケーブルもつなげます。カードはこのままで使えます。",
  wifiFaults: {
    "wrong-password": "Wi-Fi のパスワードが違います。",
    "not-found": "Wi-Fi が届きません。",
    refused: "Wi-Fi がこの機器を受け付けないか、電波が弱すぎます。",
    "no-address": "Wi-Fi がアドレスをくれません。ルーターを再起動してください。",
  },
  acts: {
    backup: (name) => `${name} がバックアップを作りました。`,
    restore: (name) => `${name} がバックアップを復元しています。`,
    "device.update": (name) => `${name} が更新をインストールしています。`,
    "device.restart": (name) => `${name} がこの機器を再起動しています。`,
    "device.shutdown": (name) => `${name} がこの機器の電源を切っています。`,
  },
  endGame: "コントローラーの Select + Start でゲームが終わります",
  typeDigits: "または入力",
  atAddress: "アドレス",
};
