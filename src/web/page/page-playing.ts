/** What plays, and how far the index is, with the buttons for callers that may use them. */
import type { Client } from "../../client/client.ts";
import type { ActiveMedia, IndexStatus } from "../../core/media.ts";
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
