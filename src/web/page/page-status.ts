/** The cards for playing media, the index, the last taps, and the readers; buttons appear if the rights allow them. */
import type { Client } from "../../client/client.ts";
import type { ActiveMedia, IndexStatus } from "../../core/media.ts";
import type { LaunchEntry } from "../../core/playback.ts";
import { el, section, telling } from "./dom.ts";

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
    const onclick = telling(() => client.call("stop"));
    const stop = canPlay ? el("button", { type: "button", class: "main", onclick }, "Stop") : undefined;
    const what = el(
      "div",
      { class: "what" },
      el("span", { class: "name" }, media.mediaName),
      el("span", { class: "more" }, `${media.systemName || "Media"} · since ${since}`),
    );
    body.replaceChildren(el("div", { class: "playing rows" }, what, stop));
  };
  return { card, refresh: async () => show(await client.call("media.active")) };
}

export function indexCard(client: Client, canStart: boolean) {
  const text = el("p", { class: "quiet" });
  const bar = el("progress", { "aria-label": "Indexing" });
  const start = el(
    "button",
    { type: "button", onclick: telling(() => client.call("media.index", {})) },
    "Look for media",
  );
  const card = section("Library", bar, text, canStart ? el("div", { class: "bar" }, start) : undefined);
  const show = ({ indexing, optimizing, exists, ...counts }: IndexStatus) => {
    const {
      totalSteps = 0,
      currentStep = 0,
      currentStepDisplay = "",
      totalFiles = 0,
      totalMedia = 0,
    } = counts;
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
  const list = el("ul", { class: "rows" });
  const card = section("Last taps", list);
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
        el("span", { class: "name" }, text || `Card ${uid}`),
        el("span", { class: success ? "more" : "more bad" }, outcome),
      ),
    );
  };
  const refresh = async () => {
    const { entries } = await client.call("tokens.history", { limit: shownMax });
    list.replaceChildren(
      ...(entries.length === 0
        ? [el("li", { class: "quiet" }, "No card was tapped yet.")]
        : entries.map(row)),
    );
  };
  return { card, refresh };
}

export function readersCard(client: Client, onChange: (canWrite: boolean) => void) {
  const list = el("ul", { class: "rows" });
  const card = section("Readers", list);
  const refresh = async () => {
    const { readers } = await client.call("readers");
    const rows = readers.map(({ connected, info, driver, path }) =>
      el(
        "li",
        {},
        el("span", { class: connected ? "dot on" : "dot" }),
        el(
          "div",
          { class: "what" },
          el("span", { class: "name" }, info || driver),
          el("span", { class: "more" }, connected ? path : `${path} · not connected`),
        ),
      ),
    );
    list.replaceChildren(
      ...(rows.length === 0 ? [el("li", { class: "quiet" }, "No reader is plugged in.")] : rows),
    );
    onChange(readers.some(({ connected, capabilities }) => connected && capabilities.includes("write")));
  };
  return { card, refresh };
}
