/** What plays, with its stop button, and how far the index is. */
import type { Client } from "../../client/client.ts";
import type { ActiveMedia, IndexStatus } from "../../core/media.ts";
import { el, section, telling } from "./dom.ts";

export function playingCard(client: Client) {
  const body = el("div", { "aria-live": "polite" });
  const card = section("Now playing", body);
  const show = (media: ActiveMedia | null) => {
    if (media === null) {
      body.replaceChildren(
        el("p", { class: "quiet" }, "Nothing plays. Tap a card, or find something below."),
      );
      return;
    }
    const since = new Date(media.started).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const stop = el(
      "button",
      { type: "button", class: "main", onclick: telling(() => client.call("stop")) },
      "Stop",
    );
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

export function indexCard(client: Client) {
  const text = el("p", { class: "quiet" });
  const bar = el("progress", { "aria-label": "Indexing" });
  const start = el(
    "button",
    { type: "button", onclick: telling(() => client.call("media.index", {})) },
    "Look for media",
  );
  const card = section("Library", text, bar, el("div", { class: "bar" }, start));
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
