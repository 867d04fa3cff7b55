/** The cards for playing media, the index, the last taps, and the readers; buttons appear if the rights allow them. */
import type { Calls, Client } from "../../client/client.ts";
import type { ActiveMedia, IndexStatus } from "../../core/media.ts";
import type { LaunchEntry } from "../../core/playback.ts";
import { button, el, listCard, named, section, telling } from "./dom.ts";

export function playingCard(client: Client, canPlay: boolean) {
  const body = el("div", { "aria-live": "polite" });
  const card = section("Now playing", body);
  const show = (media: ActiveMedia | null) => {
    if (media === null) {
      const what = canPlay ? "Nothing plays. Tap a card, or find something below." : "Nothing plays.";
      body.replaceChildren(el("p", { class: "quiet" }, what));
      return;
    }
    const since = new Date(media.started).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const stop = canPlay ? button("Stop", () => client.call("stop"), { class: "main" }) : undefined;
    const facts = `${media.systemName || "Media"} · since ${since}`;
    const what = el("div", { class: "what" }, ...named(media.mediaName, facts));
    body.replaceChildren(el("div", { class: "playing rows" }, what, stop));
  };
  return { card, refresh: async () => show(await client.call("media.active")) };
}

type Playlist = Calls["media"]["result"]["playlists"][number];

/** The items of a playlist that a card opened, to choose from; hidden without one. */
export function playlistCard(client: Client, canPlay: boolean) {
  const list = el("ul", { class: "rows" });
  const name = el("p", { class: "quiet" });
  const card = section("Choose one", name, list);
  const row = ({ place, name }: { readonly place: number; readonly name: string }) => {
    const start = telling(() => client.call("launch", `**playlist.goto:${place}`));
    const what = el("span", { class: "name" }, `${place}. ${name}`);
    return el(
      "li",
      {},
      canPlay ? el("button", { type: "button", class: "row", onclick: start }, what) : what,
    );
  };
  const show = (playlist: Playlist | undefined) => {
    const { items, count = 0 } = playlist ?? {};
    card.hidden = items === undefined;
    name.textContent = `${playlist?.name ?? ""} · ${count.toLocaleString()} in all`;
    list.replaceChildren(...(items ?? []).map(row));
  };
  card.hidden = true;
  return { card, show, refresh: async () => show((await client.call("media")).playlists[0]) };
}

export function indexCard(client: Client, canStart: boolean) {
  const text = el("p", { class: "quiet" });
  const bar = el("progress", { "aria-label": "Indexing" });
  const start = button("Look for media", () => client.call("media.index", {}));
  const card = section("Library", bar, text, canStart ? el("div", { class: "bar" }, start) : undefined);
  const show = ({ indexing, optimizing, exists, currentStepDisplay, ...counts }: IndexStatus) => {
    const { totalSteps = 0, currentStep = 0, totalFiles = 0, totalMedia = 0 } = counts;
    bar.hidden = !indexing;
    start.hidden = indexing;
    if (totalSteps > 0) {
      bar.max = totalSteps;
      bar.value = currentStep;
    }
    text.textContent = indexing
      ? `${optimizing ? "Almost done" : `Looking through ${currentStepDisplay || "folders"}`}: ${totalFiles} files`
      : exists
        ? `${totalMedia.toLocaleString()} files, ready to search.`
        : "No media were looked for yet.";
  };
  return { card, show, refresh: async () => show((await client.call("media")).database) };
}

const shownMax = 10;

export function tapsCard(client: Client) {
  const { card, show } = listCard("Last taps", "No card was tapped yet.");
  const row = ({ time, text, uid, data, success, error }: LaunchEntry) => {
    const when = new Date(time).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    const again = telling(() => client.call("launch", { text, uid, data }));
    const outcome = success ? when : `${when} · ${error ?? "it did not start"}`;
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "row", title: "Launch it again", onclick: again },
        ...named(text || `Card ${uid}`, outcome, !success),
      ),
    );
  };
  const refresh = async () => {
    const { entries } = await client.call("tokens.history", { limit: shownMax });
    show(entries.map(row));
  };
  return { card, refresh };
}

export function readersCard(client: Client, onChange: (canWrite: boolean) => void) {
  const { card, show } = listCard("Readers", "No reader is plugged in.");
  const refresh = async () => {
    const { readers } = await client.call("readers");
    const rows = readers.map(({ connected, info, driver, path }) => {
      const facts = connected ? path : `${path} · not connected`;
      const dot = el("span", { class: connected ? "dot on" : "dot" });
      return el("li", {}, dot, el("div", { class: "what" }, ...named(info || driver, facts)));
    });
    show(rows);
    onChange(readers.some(({ connected, capabilities }) => connected && capabilities.includes("write")));
  };
  return { card, refresh };
}
