/** The page: connects, shows the cards that its rights allow, and updates them by notifications. */
import type { Client, Notification } from "../../client/client.ts";
import { moveFocusByArrows } from "./arrow-keys.ts";
import { assignCard } from "./assign-card.ts";
import { browseCard } from "./browse-card.ts";
import { button, byId, el, note } from "./dom.ts";
import { createPictures } from "./page-pictures.ts";
import { playRows, searchCard } from "./page-search.ts";
import { type Entry, enter, forget, kept, takeCodeFromAddress, takeFromAddress } from "./page-session.ts";
import { indexCard, readersCard, tapsCard } from "./page-status.ts";
import { say } from "./page-texts.ts";
import { phonesCard } from "./phones.ts";
import { playingCard, playlistCard } from "./playing-card.ts";
import { pairMoreCard, unpairedCard } from "./unpaired.ts";

const againMs = 3000;
let current: Client | undefined;
/** Counts the starts; only the latest one may change the page. */
let starts = 0;

moveFocusByArrows();
takeFromAddress();
let code = takeCodeFromAddress();
// A link of a card or a QR code may open in this page, which then gets the new address without a load.
addEventListener("hashchange", () => {
  const hasSecret = takeFromAddress();
  code = takeCodeFromAddress();
  if (hasSecret || code !== undefined) restart();
});
void start();

function restart(): void {
  current?.close();
  current = undefined;
  void start();
}

async function start(): Promise<void> {
  starts += 1;
  const mine = starts;
  state("", say.connecting);
  try {
    const entry = await enter(kept());
    if (mine !== starts) return entry.kind === "in" ? entry.client.close() : undefined;
    switch (entry.kind) {
      case "in":
        return await show(entry);
      case "unknown":
        forget();
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

function ask(why: string): void {
  state("off", say.notPaired);
  const main = byId("main");
  main.classList.remove("wide");
  main.replaceChildren(unpairedCard({ why, known: takeCode(), onPaired: restart }));
}

function takeCode(): string | undefined {
  const taken = code;
  code = undefined;
  return taken;
}

const playbackEvents = new Set<Notification["method"]>([
  "media.started",
  "media.paused",
  "media.resumed",
  "media.stopped",
]);
const readerEvents = new Set<Notification["method"]>([
  "readers.added",
  "readers.removed",
  "tokens.added",
  "tokens.removed",
]);

type Inside = Extract<Entry, { kind: "in" }>;

async function show(entry: Inside): Promise<void> {
  const { client, rights } = entry;
  current = client;
  const cards = makeCards(entry);
  client.onNotification(cards.hear);
  client.onState((now) => {
    if (now === "lost") return state("off", say.lost);
    const resume = async () => {
      // The rights may have changed. They are a prefix of one list, so their number identifies them.
      if ((await client.call("rights")).rights.length !== rights.length) return restart();
      state("on", say.connected);
      await cards.refresh();
    };
    resume().catch(restart);
  });
  await cards.refresh();
  const main = byId("main");
  main.classList.add("wide");
  main.replaceChildren(...cards.columns);
  state("on", say.connected);
  await client.closed;
  if (current === client) restart();
}

/** Makes the cards that the rights allow, so that none calls a method that the device would refuse. */
function makeCards({ client, rights, isPaired }: Inside) {
  const [canPlay, canChange] = [rights.includes("play"), rights.includes("change")];
  let canWrite = false;
  const pictures = createPictures(client);
  const playing = playingCard(client, canPlay, pictures);
  const playlist = playlistCard(client, canPlay);
  const library = indexCard(client, canChange);
  const abilities = { canPlay, canChange, canWrite: () => canWrite };
  const find = searchCard(client, pictures, abilities);
  const browse = browseCard(client, playRows(client, pictures, abilities));
  const taps = canChange ? tapsCard(client) : undefined;
  const onReaders = (can: boolean) => {
    if (can === canWrite) return;
    canWrite = can;
    void find.search();
    void browse.refresh();
  };
  const readers = canChange ? readersCard(client, onReaders) : undefined;
  const assign = canChange ? assignCard(client, pictures) : undefined;
  const phones = rights.includes("own") ? phonesCard(client) : undefined;
  const why = say.roleNow(isPaired, canPlay);
  const more = canChange ? undefined : pairMoreCard({ why, known: takeCode(), onPaired: restart });

  let guarded = "";
  const hear = ({ method, params }: Notification) => {
    if (method === "media.indexing") {
      library.show(params);
      if (!params.indexing) {
        find.forget();
        void browse.refresh();
      }
    }
    if (method === "media.started" || method === "media.stopped") void playlist.refresh();
    if (playbackEvents.has(method)) void playing.refresh();
    if (method === "playlist.opened") playlist.show(params);
    if (readerEvents.has(method)) {
      void readers?.refresh();
      void assign?.refresh();
    }
    if (method === "launch.guarded") {
      guarded = params.time;
      const confirm = button(say.switchNow, () => client.call("confirm"));
      note(say.guarded(params.playing), confirm);
    }
    if (method !== "launch.finished") return;
    void taps?.refresh();
    void assign?.refresh();
    // A launch that the guard holds back has its own note.
    if (!params.success && params.time !== guarded) note(say.reason(params.error ?? say.notStarted));
  };
  return {
    columns: [
      el("div", { class: "column" }, assign?.card, playing.card, playlist.card, find.card, browse.card),
      el("div", { class: "column" }, taps?.card, phones?.card, readers?.card, library.card, more),
    ],
    hear,
    refresh: () =>
      Promise.all(
        [playing, playlist, library, browse, taps, readers, assign, phones].map((card) => card?.refresh()),
      ),
  };
}

function state(name: "" | "on" | "off", text: string): void {
  const line = byId("line");
  line.dataset.state = name;
  line.textContent = text;
}
