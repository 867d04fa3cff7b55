/** The page: connects, shows the cards that its rights allow, and updates them by notifications. */
import type { Client, Identity, Notification } from "../../client/client.ts";
import { meantMedia } from "../../client/finding.ts";
import { moveFocusByArrows } from "./arrow-keys.ts";
import { assignCard } from "./assign-card.ts";
import { backupCard } from "./backup-card.ts";
import { bluetoothCard } from "./bluetooth-card.ts";
import { brokerCard } from "./broker-card.ts";
import { browseCard } from "./browse-card.ts";
import { buttonsCard } from "./buttons-card.ts";
import { cardsCard } from "./cards-card.ts";
import { aboutCard, healthCard, logCard, networkCard, powerCard } from "./device-cards.ts";
import { button, byId, drawn, note } from "./dom.ts";
import { firstStepsCard } from "./first-steps.ts";
import { historyCard } from "./history-card.ts";
import { favouritesCard, recentCard, searchCard, systemsCard } from "./home-cards.ts";
import { limitsCard } from "./limits-card.ts";
import { mappingsCard } from "./mappings-card.ts";
import { languageChoice, loadLanguage } from "./page-language.ts";
import { createPictures } from "./page-pictures.ts";
import {
  type Entry,
  enter,
  forget,
  keep,
  kept,
  takeCodeFromAddress,
  takeFromAddress,
} from "./page-session.ts";
import { indexCard, readerPlacesCard, readersCard, tapsCard } from "./page-status.ts";
import { reasonOf, say } from "./page-texts.ts";
import { phonesCard } from "./phones.ts";
import { playingCard, playlistCard } from "./playing-card.ts";
import { screenCard } from "./screen-card.ts";
import { type CardEntry, type PageCard, type PageScreen, type Shared, showScreens } from "./screens.ts";
import { fileSettingsCard, type SettingsPlace, settingsCard } from "./settings-card.ts";
import { shareCard } from "./share-card.ts";
import { pairMoreCard, unpairedCard } from "./unpaired.ts";
import { ignoreStrayFiles, uploadCard } from "./upload-card.ts";
import { wifiCard } from "./wifi-card.ts";
import { writeManyCard } from "./write-many.ts";

const settings = (place: SettingsPlace): CardEntry => ({
  needs: "change",
  make: (shared) => settingsCard(shared, place),
});

/**
 * The screens in the order of the bar. A card is one line here; without the right that `needs` names, the card is not
 * made.
 */
const screens: readonly PageScreen[] = [
  {
    id: "now",
    icon: "M5 4v16l14-8z",
    cards: [
      { needs: "change", make: firstStepsCard },
      { needs: "change", make: assignCard },
      { make: playingCard },
      { make: playlistCard },
      { make: searchCard },
      { needs: "change", make: recentCard },
      { make: favouritesCard },
      { make: systemsCard },
    ],
    aside: [{ needs: "change", make: tapsCard }, { needs: "change", make: readersCard }, { make: pairMore }],
  },
  {
    id: "library",
    icon: "M4 4v16M9 4v16M14 4l5 16",
    cards: [{ make: browseCard }],
    aside: [{ needs: "change", make: uploadCard }, { make: indexCard }],
  },
  {
    id: "cards",
    icon: "M3 6h18v12H3zM3 10h18",
    cards: [
      { needs: "change", make: cardsCard },
      { needs: "change", make: writeManyCard },
      { needs: "change", make: mappingsCard },
    ],
    aside: [{ needs: "change", make: historyCard }],
  },
  {
    id: "device",
    icon: "M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4",
    cards: [{ needs: "change", make: healthCard }],
    places: [
      {
        id: "sound",
        cards: [
          settings("sound"),
          settings("quiet"),
          settings("television"),
          { needs: "change", make: screenCard },
        ],
      },
      { id: "readers", cards: [{ needs: "change", make: readerPlacesCard }, settings("readers")] },
      { id: "media", cards: [settings("media"), { needs: "own", make: shareCard }] },
      { id: "buttons", cards: [{ needs: "own", make: buttonsCard }] },
      {
        id: "network",
        cards: [
          { needs: "change", make: networkCard },
          { needs: "own", make: wifiCard },
          { needs: "own", make: bluetoothCard },
          { needs: "own", make: brokerCard },
        ],
      },
      { id: "time", cards: [{ needs: "change", make: limitsCard }, settings("time")] },
      { id: "phones", cards: [{ needs: "own", make: phonesCard }] },
      { id: "backup", cards: [{ needs: "own", make: backupCard }] },
      { id: "update", cards: [{ needs: "own", make: powerCard }] },
      { id: "log", cards: [{ needs: "change", make: logCard }, settings("log")] },
      {
        id: "about",
        cards: [
          { needs: "change", make: aboutCard },
          { needs: "change", make: fileSettingsCard },
        ],
      },
    ],
  },
];

const againMs = 3000;
const undoneMs = 12_000; // An owner can take a revocation back for ten seconds.
let current: { readonly client: Client; readonly end: () => void } | undefined;
/** Counts the starts; only the latest one may change the page. */
let starts = 0;

new Worker("/number-forms.js");
moveFocusByArrows();
ignoreStrayFiles();
takeFromAddress();
let code = takeCodeFromAddress();
// A link of a card or a QR code may open in this page, which then gets the new address without a load.
addEventListener("hashchange", () => {
  const hasSecret = takeFromAddress();
  code = takeCodeFromAddress();
  if (hasSecret || code !== undefined) restart();
});
// The first paint shows the page's own HTML; the rest follows in tasks of its own.
await drawn();
await loadLanguage().catch(() => {});
byId("foot").replaceChildren(languageChoice(restart));
void start();

function restart(): void {
  current?.end();
  current?.client.close();
  current = undefined;
  void start();
}

async function start(): Promise<void> {
  starts += 1;
  const mine = starts;
  state("", say.connecting);
  try {
    const identity = kept();
    const entry = await enter(identity);
    if (mine !== starts) return entry.kind === "in" ? entry.client.close() : undefined;
    switch (entry.kind) {
      case "in":
        return await show(entry);
      case "unknown":
        forget();
        setTimeout(() => mine === starts && identity !== undefined && comeBack(identity), undoneMs);
        return ask(say.revoked);
      case "unpaired":
        return ask(say.pairFirst);
    }
  } catch {
    if (mine !== starts) return;
    state("off", say.noAnswer);
    setTimeout(() => mine === starts && restart(), againMs);
  }
}

/** Continues as before if the owner has taken the revocation back. */
async function comeBack(identity: Identity): Promise<void> {
  const entry = await enter(identity).catch(() => undefined);
  if (entry?.kind !== "in") return;
  entry.client.close();
  if (!entry.isPaired) return;
  keep(identity);
  restart();
}

function ask(why: string): void {
  state("off", say.notPaired);
  const main = byId("main");
  main.replaceChildren(unpairedCard({ why, known: takeCode(), onPaired: restart }));
}

function takeCode(): string | undefined {
  const taken = code;
  code = undefined;
  return taken;
}

type Inside = Extract<Entry, { kind: "in" }>;

async function show(entry: Inside): Promise<void> {
  const { client, rights } = entry;
  const shown = showScreens(screens, share(entry), rights);
  current = { client, end: shown.end };
  client.onNotification((notification) => {
    shown.hear(notification);
    hear(client, notification);
  });
  client.onState((now) => {
    if (now === "lost") return state("off", say.lost);
    const resume = async () => {
      // The rights may have changed. The cards are a prefix of one list, so their number identifies them.
      if ((await client.call("rights")).rights.length !== rights.length) return restart();
      state("on", say.connected);
      await shown.refresh();
    };
    resume().catch(restart);
  });
  await shown.show();
  state("on", say.connected);
  await client.closed;
  if (current?.client === client) restart();
}

function share({ client, rights, isPaired }: Inside): Shared {
  let canWrite = false;
  return {
    client,
    pictures: createPictures(client),
    isPaired,
    rights,
    canPlay: rights.includes("play"),
    canChange: rights.includes("change"),
    canWrite: () => canWrite,
    async lookForWriters() {
      if (!rights.includes("change")) return;
      const { readers } = await client.call("readers");
      canWrite = readers.some(({ connected, capabilities }) => connected && capabilities.includes("write"));
    },
  };
}

function pairMore({ isPaired, canPlay, canChange }: Shared): PageCard | undefined {
  if (canChange) return undefined;
  const why = say.roleNow(isPaired, canPlay);
  return { card: pairMoreCard({ why, known: takeCode(), onPaired: restart }) };
}

let guarded = "";
type LaunchFailure = Extract<Notification, { method: "launch.finished" }>["params"];

/** The notes that every screen shows. */
function hear(client: Client, { method, params }: Notification): void {
  if (method === "launch.guarded") {
    guarded = params.time;
    const confirm = button(say.switchNow, () => client.call("confirm"));
    note(say.guarded(params.playing), confirm);
  }
  if (method === "playtime.warning") note(say.cards.timeLeft(params.minutesLeft));
  // A launch that the guard holds back has its own note.
  if (method === "launch.finished" && !params.success && params.time !== guarded)
    void tellFailure(client, params);
}

/** Shows why a launch failed, with a button for the media that its path may mean. */
async function tellFailure(client: Client, failure: LaunchFailure): Promise<void> {
  const isMissing = failure.reason === "media-not-found";
  const meant = isMissing ? await meantMedia(client, failure.text).catch(() => undefined) : undefined;
  const start = async (text: string) => client.call("launch", text);
  const act = meant === undefined ? undefined : button(say.meant(meant.name), () => start(meant.zapScript));
  note(reasonOf(failure), act);
}

function state(name: "" | "on" | "off", text: string): void {
  const line = byId("line");
  line.dataset.state = name;
  line.textContent = text;
}
