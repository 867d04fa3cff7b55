/** The page: comes in, shows the cards, and keeps them as the device tells. */
import type { Client } from "../../client/client.ts";
import { forget, kept, takeCodeFromAddress, takeFromAddress } from "./credentials.ts";
import { byId, el, note, telling } from "./dom.ts";
import { phonesCard } from "./phones.ts";
import { indexCard, playingCard } from "./playing.ts";
import { searchCard } from "./search.ts";
import { enter } from "./session.ts";
import { readersCard, tapsCard } from "./taps.ts";
import { unpairedCard } from "./unpaired.ts";

const againMs = 3000;
let current: Client | undefined;

takeFromAddress();
let code = takeCodeFromAddress();
// The same page may be open already when a card or a QR code is followed.
addEventListener("hashchange", () => {
  const hasSecret = takeFromAddress();
  code = takeCodeFromAddress();
  if (!hasSecret && code === undefined) return;
  current?.close();
  void start();
});
void start();

async function start(): Promise<void> {
  state("", "Connecting …");
  try {
    const entry = await enter(kept());
    switch (entry.kind) {
      case "in":
        return await show(entry.client, entry.isDevice);
      case "unknown":
        forget();
        return ask("This device no longer knows this phone: somebody has revoked it.");
      case "unpaired":
        return ask("To use this device from here, it must know this phone.");
    }
  } catch {
    state("off", "The device does not answer");
    setTimeout(() => void start(), againMs);
  }
}

function ask(why: string): void {
  state("off", "Not paired");
  const main = byId("main");
  main.classList.remove("wide");
  main.replaceChildren(unpairedCard(why, code, () => void start()));
  code = undefined;
}

async function show(client: Client, isDevice: boolean): Promise<void> {
  current = client;
  let canWrite = false;
  let guarded = "";
  const playing = playingCard(client);
  const library = indexCard(client);
  const find = searchCard(client, () => canWrite);
  const taps = tapsCard(client);
  const readers = readersCard(client, (can) => {
    if (can === canWrite) return;
    canWrite = can;
    void find.search();
  });
  const phones = isDevice ? phonesCard(client) : undefined;
  const refreshing = [playing, library, taps, readers, ...(phones === undefined ? [] : [phones])];
  const refresh = () => Promise.all(refreshing.map((card) => card.refresh()));

  client.onNotification(({ method, params }) => {
    if (method === "media.indexing") library.show(params);
    if (method === "media.started" || method === "media.stopped") void playing.refresh();
    if (method === "readers.added" || method === "readers.removed") void readers.refresh();
    if (method === "launch.guarded") {
      guarded = params.time;
      const confirm = telling(() => client.call("confirm"));
      note(
        `${params.playing} plays.`,
        el("button", { type: "button", onclick: confirm }, "Switch all the same"),
      );
    }
    if (method !== "launch.finished") return;
    void taps.refresh();
    // What the guard holds back has had its note.
    if (!params.success && params.time !== guarded) note(params.error ?? "It did not start.");
  });
  client.onState((now) => {
    if (now === "lost") return state("off", "Connection lost, trying again …");
    state("on", "Connected");
    void refresh();
  });
  await refresh();
  const main = byId("main");
  main.classList.add("wide");
  main.replaceChildren(
    el("div", { class: "column" }, playing.card, find.card),
    el("div", { class: "column" }, taps.card, phones?.card, readers.card, library.card),
  );
  state("on", "Connected");
  await client.closed;
  if (current !== client) return;
  current = undefined;
  void start();
}

function state(name: "" | "on" | "off", text: string): void {
  const line = byId("line");
  line.dataset.state = name;
  line.textContent = text;
}
